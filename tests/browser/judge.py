"""Whoever grades: what is done on the page, and a judge who knows the truth of a collection."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

Truth = Mapping[str, Mapping[str, float]]
"""Grades above 0, by document by query id."""

ACTIVE = """() => {
  const card = document.querySelector(".card.active");
  const done = !document.querySelector("#done").hidden;
  if (done || !card) return null;
  const document_ = card.querySelector(".id") ?? card.querySelector("h2");
  return [document.querySelector("#query").textContent, card.querySelector("#find") ? "" : document_.textContent];
}"""


def start(page: Page, name: str = "Anna", which: str = "") -> Page:
    """Begin as a judge of that name."""
    page.fill("#name", name)
    page.wait_for_timeout(50)  # what there is to grade follows the name
    if which:
        page.check(f"[name=which][value={which}]")
    page.click("#go")
    page.wait_for_selector(".card.active, #done:not([hidden])")
    return page


def saved(page: Page) -> str:
    """What the button writes."""
    with page.expect_download() as download:
        page.click("#save")
    return download.value.path().read_text(encoding="utf-8")


def table(text: str) -> list[Mapping[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def grades(text: str) -> dict[tuple[str, str], str]:
    return {(row["query_id"], row["doc_id"]): row["rating"] for row in table(text)}


def kept(page: Page) -> None:
    """Until the browser says that everything is on the disk."""
    page.wait_for_selector("html[data-kept]", state="attached")


def active(page: Page) -> str:
    return page.inner_text(".card.active h2")


@dataclass
class Judge:
    """Grades by keyboard what the truth says. ``adds``: also looks for what is missing, where the
    page asks for it; otherwise such a query is skipped.
    """

    truth: Truth
    ids: Mapping[str, str]
    adds: bool = True

    def works_through(self, page: Page) -> str:
        """All that the page asks for; gives the file that is saved."""
        while (where := page.evaluate(ACTIVE)) is not None:
            query, document = where
            relevant = self.truth.get(self.ids[query], {})
            if document:
                page.keyboard.press(f"{relevant.get(document, 0):g}")
            elif relevant and self.adds:
                page.keyboard.press("a")
                page.keyboard.type(next(iter(relevant)))
                page.keyboard.press("Enter")
            else:
                page.keyboard.press("s")
                page.locator("#skip button[value='nothing fits']").press("Enter")
        return saved(page)
