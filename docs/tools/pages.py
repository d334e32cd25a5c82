"""Examples of a red build in the README and the docs: ``python -m docs.tools.pages`` writes them.

The example loses its title boost, pytest runs over it, and what it prints takes the place of every
block of text under a line ``<!-- from the example: NAME -->``. With Chromium and playwright the two
pictures of docs/ are taken, too; each holds the text that it shows, so that a test can tell when it
no longer shows what the report says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "example_project/README.md", "docs/start/reading.md")
COLUMNS = 110
PICTURES = ("docs/report-red.png", "docs/report-query.png")
BLOCK = re.compile(r"(<!-- from the example: (\w+) -->\n+```text\n)(.*?)(```)", re.DOTALL)


def red_example(folder: Path) -> str:
    """What pytest prints of the example without its title boost; its reports are in ``folder``."""
    shutil.copytree(ROOT / "example_project", folder, dirs_exist_ok=True)
    search = folder / "shop_search.py"
    text = search.read_text(encoding="utf-8")
    search.write_text(text.replace('"title": 8.0', '"title": 1.0'), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("pytest")), "--ir-suite"]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT)}
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI"):
        environment.pop(name, None)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def blocks(printed: str) -> Mapping[str, str]:
    """The parts that pages show: the failures told in full, a limit, and the summary."""
    sections = re.split(r"^[_=]{3,} (.+?) [_=]{3,}$", printed, flags=re.MULTILINE)
    named = dict(zip(sections[1::2], sections[2::2], strict=False))
    return {
        "query": named["mechanical-keyboard"].strip("\n") + "\n",
        "brief": named["office-chair"].strip("\n") + "\n",
        "limit": named["ndcg-10"].strip("\n") + "\n",
        "summary": named["search quality"].strip("\n") + "\n",
    }


def renewed(page: str, shown: Mapping[str, str]) -> str:
    """A page with today's texts in its blocks."""
    return BLOCK.sub(lambda found: f"{found[1]}{shown[found[2]]}{found[4]}", page)


class _Header(HTMLParser):
    """Gathers the text of a page's header, without that of drawings."""

    within: tuple[str, ...] = ()
    text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("header", "svg"):
            self.within += (tag,)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("header", "svg"):
            self.within = self.within[:-1]

    def handle_data(self, data: str) -> None:
        if self.within == ("header",):
            self.text += f"{data} "


def first_screen(report: Path) -> str:
    """The first words of a report, without what differs from run to run.

    Those are times and the baseline's age.
    """
    page = _Header()
    page.feed(report.read_text(encoding="utf-8"))
    said = re.sub(
        r"\((?:\d+ \w+ old|just made)(?:, |\))|\([^()]*commit[^()]*, |[\d.]+ m?s retrieving",
        "",
        page.text,
    )
    return " ".join(
        said.replace("→", "to").replace("−", "-").encode("ascii", "ignore").decode().split()
    )


def stamped(png: bytes, text: str) -> bytes:
    """A picture with a text in it, in a chunk of its own behind the head."""
    data = b"Shows\0" + text.encode()
    chunk = (
        len(data).to_bytes(4, "big")
        + b"tEXt"
        + data
        + zlib.crc32(b"tEXt" + data).to_bytes(4, "big")
    )
    head = 8 + 25  # the signature and the first chunk
    return png[:head] + chunk + png[head:]


def stamp_of(png: bytes) -> str:
    """The text that ``stamped`` put into a picture."""
    length = int.from_bytes(png[33:37], "big")
    return png[41 : 41 + length].removeprefix(b"Shows\0").decode()


def pictures(report: Path) -> None:
    """The first screen, and a query opened."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where it is installed

    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("IRQUALITY_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-ready]")
        screens = [page.screenshot()]
        page.locator("[data-go=Queries]").click()
        page.locator("table.rows button.text").first.click()
        screens.append(page.locator(".rows tr.more").screenshot())
        browser.close()
    for name, png in zip(PICTURES, screens, strict=True):
        (ROOT / name).write_bytes(stamped(png, first_screen(report)))


def main() -> None:
    """Renew every page, and the pictures where a browser is at hand."""
    with tempfile.TemporaryDirectory() as folder:
        shown = blocks(red_example(Path(folder)))
        for name in PAGES:
            page = ROOT / name
            page.write_text(renewed(page.read_text(encoding="utf-8"), shown), encoding="utf-8")
        if "--no-pictures" not in sys.argv:
            pictures(Path(folder, "ir-report.html"))


if __name__ == "__main__":
    main()
