"""How tall the Markdown report is where a pull request shows it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.conftest import ROOT, Open
from tests.conftest import Project

markdown_it = pytest.importorskip("markdown_it")

# As a comment on a pull request is set there: its width, its type, the room around its parts.
STYLE = """
body { margin: 0; width: 780px; font: 14px/1.5 system-ui, "Noto Sans", sans-serif; }
body > :first-child { margin-top: 0 !important; }
h2 { margin: 24px 0 16px; padding-bottom: .3em; font-size: 1.5em; line-height: 1.25; border-bottom: 1px solid; }
p, ul, table, details { margin: 0 0 16px; }
ul { padding-left: 2em; }
table { border-collapse: collapse; display: block; width: max-content; max-width: 100%; }
th, td { padding: 6px 13px; border: 1px solid; }
code { padding: .2em .4em; font-size: 85%; }
"""

FOLD = 670
"""Pixels of a comment that a laptop shows below the bars of the browser and of the pull request."""


def height_before_the_fold(show: Open, text: str) -> float:
    """How many pixels stand above the first part that is folded."""
    drawn = markdown_it.MarkdownIt("commonmark").enable("table").render(text)
    page = show(f"<!doctype html><html data-ready><style>{STYLE}</style>{drawn}")
    box = page.locator("details").first.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.parametrize(
    ("file", "was", "now"),
    [
        ("shop_search.py", '"title": 8.0', '"title": 1.0'),
        ("shop_search.py", '" OR ".join', '" AND ".join'),
        ("catalog.jsonl", '{"id": "sku-1', '{"id": "other-1'),
    ],
)
def test_a_red_suite_stands_above_the_fold_with_a_tenth_of_room(
    project: Project, show: Open, file: str, was: str, now: str
) -> None:
    shutil.copytree(ROOT / "example_project", project.path, dirs_exist_ok=True)
    broken = project.path / file
    text = broken.read_text("utf-8")
    assert was in text
    broken.write_text(text.replace(was, now), "utf-8")
    os.utime(broken)
    project.run("--ir-markdown=report.md")
    text = Path(project.path, "report.md").read_text("utf-8")
    assert "| Lost most ndcg@10" in text.partition("<details>")[0]
    assert height_before_the_fold(show, text) < FOLD * 0.9
