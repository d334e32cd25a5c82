"""What a red build shows first, in Chromium: how far down things stand, what a screen reader is told, what is printed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from pytest_irquality.report.html import html_report
from tests.browser.conftest import ROOT, Open
from tests.browser.test_report import report
from tests.conftest import Project
from tests.report.made import check, compared, moved

SCREEN = {"width": 1440, "height": 900}


@pytest.fixture
def red(project: Project) -> str:
    """The page of the example without its title boost."""
    shutil.copytree(ROOT / "example_project", project.path, dirs_exist_ok=True)
    search = project.path / "shop_search.py"
    text = search.read_text("utf-8").replace('"title": 8.0', '"title": 1.0')
    search.write_text(text, "utf-8")
    os.utime(search)
    project.run("--ir-report=report.html")
    return Path(project.path, "report.html").read_text("utf-8")


def test_the_story_stands_on_the_first_screen_and_the_queries_one_press_away(
    show: Open, red: str
) -> None:
    page = show(red, viewport=SCREEN)
    tops = [
        page.locator(part).first.evaluate("it => it.getBoundingClientRect().top")
        for part in ("header h1", ".said", ".story table.worst", "svg.steps")
    ]
    assert tops == sorted(tops) or tops[2] == pytest.approx(tops[3], abs=40)
    assert tops[-1] < 600
    assert page.locator(".story table.worst").first.locator("tbody tr").count() == 5
    told = page.locator("header").inner_text()
    for words in (
        "Search got worse",
        "23 worse, 6 better, 40 unchanged",
        "1 → 3",
        "run what failed again",
    ):
        assert words in told
    page.locator("[data-go=Queries]").click()
    assert page.locator("tr.row").nth(10).evaluate("it => it.getBoundingClientRect().top") < 900


@pytest.mark.parametrize("queries", [225, 7000])
def test_however_many_queries_the_table_begins_on_the_first_screen(
    show: Open, queries: int
) -> None:
    many = [moved(f"a query of some words {n}", 0.9, 0.1 + n / 1e5) for n in range(queries)]
    failed = tuple(check(query.id, "failed") for query in many[: queries // 2])
    page = show(html_report([compared(*many, verdicts=failed)]), "#tab=Queries", viewport=SCREEN)
    table = page.locator("table.rows tbody tr.row").first
    assert table.evaluate("it => it.getBoundingClientRect().top") < 400


def test_a_screen_reader_is_told_names_and_states(show: Open, red: str) -> None:
    page = show(red, viewport=SCREEN)
    header = page.locator("header").aria_snapshot()
    assert re.search(r'heading "Search got worse .*" \[level=1\]', header)
    assert 'heading "Lost most ndcg@10, the worst of 23" [level=2]' in header
    assert "the worst first: 23 worse, 6 better, 40 unchanged" in header
    assert re.search(r'row "mechanical keyboard −0.500 .*"', header)
    page.locator("[data-go=Queries]").click()
    queries = page.locator("section.suite").aria_snapshot()
    assert 'button "All 70" [pressed]' in queries
    assert 'button "New 0" [disabled]' in queries
    assert "searchbox" in queries
    assert "status: 70 queries" in queries
    name = page.get_by_role("button", name="mechanical keyboard", exact=True)
    assert name.get_attribute("aria-expanded") == "false"
    name.click()
    assert 'button "mechanical keyboard" [expanded]' in page.locator("table.rows").aria_snapshot()


def test_seventy_queries_are_printed_on_at_most_eight_pages(show: Open, red: str) -> None:
    page = show(red)
    printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8


def test_a_hand_holds_the_story_without_scrolling_sideways(show: Open, red: str) -> None:
    page = show(red, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".story table.worst").first.bounding_box()["y"] < 844  # type: ignore[index]


def test_the_worst_suite_is_the_one_that_is_open(show: Open) -> None:
    from dataclasses import replace

    slight = compared(moved("a", 0.9, 0.8), suite="slight", path="a.ir.yaml")
    page = show(html_report([slight, replace(report(), suite="grave")]), viewport=SCREEN)
    assert page.locator("section.suite:visible h2").first.inner_text() == "✗ fail grave"
    assert page.locator("nav.card tbody tr").first.inner_text().startswith("grave")
