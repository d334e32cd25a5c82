"""The whole texts of results in the page: folded, passages marked, text always as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_irquality import judge
from pytest_irquality.report.html import html_report
from tests.browser.conftest import Open
from tests.verdict.test_texts import BEFORE, NOW, run, suite

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_a_text_opens_with_its_passages_marked(show: Open, tmp_path: Path) -> None:
    page: Page = show(
        html_report([judge(suite(tmp_path), run(NOW), before=run(BEFORE))]), "#tab=Queries"
    )
    page.locator("tr.row button.text").first.click()
    chunks = page.locator(".detail details.chunk")
    assert chunks.count() == 5
    assert chunks.locator("summary").all_inner_texts() == [
        "text of b1, with a passage",
        "text of c4",
        "text of c1, with a passage",
        "text of c2, with a passage",
        "text of c3, with a passage",
    ]
    assert [chunk.get_attribute("open") for chunk in chunks.all()] == ["", None, "", "", ""]
    assert not chunks.nth(1).locator("p").inner_text()  # drawn once it is opened
    led = page.locator(".detail .sides .document").all_inner_texts()
    assert led[:2] == ["in b1 paid within 14 days", "Nothing about it. c4"]
    page.locator("details.chunk mark").nth(3).wait_for()
    assert page.locator("details.chunk mark").all_text_contents() == [
        "paid within 14 days", "keep the receipt", "paid** within 14\ndays", "keep the", "receipt",
    ]  # fmt: skip
    assert page.locator("mark.part").all_text_contents() == ["keep the", "receipt"]
    assert "Refunds 😀 are **paid**" in chunks.nth(2).inner_text()
    assert "⟨U+202E⟩Evil </script>" in chunks.nth(4).inner_text()
    lost = page.locator("table.rows li.lost", has_text="keep the receipt")
    assert "cut: parts of it are in c2 (rank 2) and c3 (rank 3)" in lost.inner_text()
    title, row = (part.bounding_box() for part in (lost.locator(".document"), lost))
    assert title
    assert row
    assert title["width"] > row["width"] / 3  # the reason stands below it
