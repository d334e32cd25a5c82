"""Write what the example prints into pages, and take the pictures of its report.

The search of the example gets worse, pytest runs, and parts of its output become the text blocks
below the lines ``<!-- from the example: NAME -->``. Pictures need Chromium and playwright. Each has
a digest of the report that it shows, so a test can notice that it is out of date.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from docs.tools import ROOT

PAGES = ("README.md", "example_project/README.md")
PICTURES = ("docs/report-failed.png", "docs/report-query.png")
EXAMPLE = ROOT / "example_project"
COLUMNS = 100
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
VIEWPORT = {"width": 1440, "height": 900}
WORST_QUERY = "mechanical-keyboard"
FAILED_THRESHOLD = "ndcg-10"

# The change of the example: titles count less.
WEIGHT_BEFORE, WEIGHT_NOW = '"title": 8.0', '"title": 1.0'

_BLOCK = re.compile(r"(<!-- from the example: (\w+) -->\n+```text\n)(.*?)(```)", re.DOTALL)
_HEADING = re.compile(r"^[_=]{3,} (.+?) [_=]{3,}$", re.MULTILINE)
_PNG_HEAD_BYTES = 8 + 25  # the signature and the first chunk
_STAMP_KEY = b"Shows\0"


class ExampleRun(NamedTuple):
    """What a run of the example printed and wrote."""

    output: str
    report: str
    json_report: str


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the pages with the current output of the example."""
    parts = split_output(run_broken_example().output)
    for name in PAGES:
        path = ROOT / name
        yield path, insert_output(path.read_text("utf-8"), parts)


@cache
def run_broken_example() -> ExampleRun:
    """Run the example after its search got worse."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ignored = shutil.ignore_patterns("__pycache__", "ir-report.html", ".pytest_cache")
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=ignored)
        # Without a file of settings, those of a folder above would count.
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        search = folder / "shop_search.py"
        text = search.read_text("utf-8")
        assert text.count(WEIGHT_BEFORE) == 1
        search.write_text(text.replace(WEIGHT_BEFORE, WEIGHT_NOW), encoding="utf-8")
        completed = subprocess.run(
            [str(Path(sys.executable).with_name("pytest")), "--ir-suite", "--ir-json=report.json"],
            cwd=folder,
            env=_make_environment(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        report = folder / "ir-report.html"
        assert report.exists(), completed.stdout + completed.stderr
        json_report = folder / "report.json"
        return ExampleRun(
            completed.stdout, report.read_text("utf-8"), json_report.read_text("utf-8")
        )


def _make_environment() -> dict[str, str]:
    """Return an environment without CI services and without other plugins of pytest."""
    environment = {}
    for name, value in os.environ.items():
        if not name.startswith(("GITHUB_", "PYTEST_", "CI")):
            environment[name] = value
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["PYTEST_PLUGINS"] = "pytest_irquality.plugin.entry"
    environment["PYTHONPATH"] = str(ROOT)
    environment["PYTHONUTF8"] = "1"
    environment["COLUMNS"] = str(COLUMNS)
    return environment


def split_output(output: str) -> Mapping[str, str]:
    """Return the parts of the output that pages show, by name."""
    sections = _HEADING.split(output)
    by_title = dict(zip(sections[1::2], sections[2::2], strict=True))
    return {
        "query": by_title[WORST_QUERY].strip("\n") + "\n",
        "threshold": by_title[FAILED_THRESHOLD].strip("\n") + "\n",
        "summary": by_title["search quality"].strip("\n") + "\n",
    }


def insert_output(page: str, parts: Mapping[str, str]) -> str:
    """Replace the blocks of a page."""
    return _BLOCK.sub(lambda match: f"{match[1]}{parts[match[2]]}{match[4]}", page)


# -- Pictures --------------------------------------------------------------------------------------


class _OverviewParser(HTMLParser):
    """Collects the text of a report's overview."""

    depth = 0
    text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section" and (self.depth or ("id", "overview") in attrs):
            self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "section" and self.depth:
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.text += f"{data} "


def compute_digest(report: str) -> str:
    """Compute a digest of what the first screen of a report says."""
    parser = _OverviewParser()
    parser.feed(report)
    text = " ".join(parser.text.split())
    return hashlib.sha256(text.encode()).hexdigest()


def renew_pictures() -> Iterator[str]:
    """Take the pictures again if they are out of date, and yield their names."""
    report = run_broken_example().report
    digest = compute_digest(report)
    if all(read_stamp(ROOT / name) == digest for name in PICTURES):
        return
    browser = os.environ.get("IRQUALITY_CHROMIUM") or next(
        filter(None, map(shutil.which, BROWSERS)), ""
    )
    if not browser:
        print(f"not written, because Chromium is not installed: {', '.join(PICTURES)}")
        return
    for name, png in zip(PICTURES, take_pictures(report, browser), strict=True):
        (ROOT / name).write_bytes(add_stamp(png, digest))
        yield name


def take_pictures(report: str, browser: str) -> list[bytes]:
    """Take pictures of the first screen and of the worst query."""
    from playwright.sync_api import sync_playwright  # not installed everywhere

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder, "ir-report.html")
        path.write_text(report, encoding="utf-8")
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=VIEWPORT)  # type: ignore[arg-type]
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        first_screen = page.screenshot()
        page.locator("[data-tab=queries]").click()
        page.locator("table.queries button.query-text").first.click()
        query = page.locator("table.queries tr.detail").screenshot()
        chromium.close()
    return [first_screen, query]


def add_stamp(png: bytes, text: str) -> bytes:
    """Insert a text into a picture, as a chunk behind the first one."""
    data = _STAMP_KEY + text.encode("ascii")
    checksum = zlib.crc32(b"tEXt" + data).to_bytes(4, "big")
    chunk = len(data).to_bytes(4, "big") + b"tEXt" + data + checksum
    return png[:_PNG_HEAD_BYTES] + chunk + png[_PNG_HEAD_BYTES:]


def read_stamp(path: Path) -> str:
    """Return the text that ``add_stamp`` inserted, or an empty string."""
    png = path.read_bytes() if path.exists() else b""
    length = int.from_bytes(png[_PNG_HEAD_BYTES : _PNG_HEAD_BYTES + 4], "big")
    start = _PNG_HEAD_BYTES + 8
    data = png[start : start + length]
    return data.removeprefix(_STAMP_KEY).decode() if data.startswith(_STAMP_KEY) else ""


if __name__ == "__main__":
    for path, text in generate():
        path.write_text(text, encoding="utf-8")
    list(renew_pictures())
