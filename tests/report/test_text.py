"""What a terminal shows: nothing wider than it is, nothing longer than a screen or two."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.report.text import summary
from pytest_irquality.verdict.facts import Remark
from pytest_irquality.wording.words import cells, fit, wrapped
from tests.conftest import Project
from tests.report.made import check, compared, floor, moved

EXAMPLE = Path(__file__).parents[2] / "example_project"
WIDTHS = (80, 100, 120, 200)


def red_example(project: Project, monkeypatch: pytest.MonkeyPatch, width: int, *args: str) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    shutil.copytree(EXAMPLE, project.path, dirs_exist_ok=True)
    search = project.path / "shop_search.py"
    text = search.read_text("utf-8").replace('"title": 8.0', '"title": 1.0')
    search.write_text(text, "utf-8")
    os.utime(search)
    return project.run(*args).stdout.str()


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(
    project: Project, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    text = red_example(project, monkeypatch, width)
    ours = text[text.index("= FAILURES =") : text.index("short test summary info")]
    for line in ours.splitlines()[1:-1]:
        alone = line.startswith(("  at ", "    pytest ", "report: "))
        assert alone or cells(line) <= width, line


def test_the_worst_three_are_told_in_full_and_the_others_in_three_lines(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = red_example(project, monkeypatch, 100)
    failures = text[text.index("= FAILURES =") : text.index("= search quality =")].rstrip("= \n")
    parts = re.split(r"^_+ (.+?) _+$", failures, flags=re.M)
    told = dict(zip(parts[1::2], parts[2::2], strict=True))
    full = [name for name, part in told.items() if "  rank" in part]
    assert full == ["mechanical-keyboard", "hiking-boots", "bookshelf-speakers"]
    for name, part in told.items():
        assert name in full or len(part.strip().splitlines()) <= 3
    assert "FAILED shop.ir.yaml::office-chair - sku-101 (Aero" in text
    assert "Broken:" not in text


def test_under_v_and_in_junit_everything_is_told_in_full(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = red_example(project, monkeypatch, 100, "-v", "--junitxml=junit.xml")
    failures = text[text.index("= FAILURES =") : text.index("= search quality =")]
    assert failures.count("  rank  was") == 19
    assert (project.path / "junit.xml").read_text("utf-8").count("  rank  was") == 19


def test_junit_has_in_full_what_the_terminal_shortens(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = red_example(project, monkeypatch, 100, "--junitxml=junit.xml")
    assert text.count("  rank  was") == 3
    assert (project.path / "junit.xml").read_text("utf-8").count("  rank  was") == 19


def test_the_headline_ends_the_section_alike_with_and_without_workers(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def section(text: str) -> list[str]:
        return text[
            text.index("= search quality =") : text.index("short test summary")
        ].splitlines()[1:-1]

    alone = section(red_example(project, monkeypatch, 100))
    assert alone == section(red_example(project, monkeypatch, 100, "-n2"))
    assert alone[-2].startswith("✗ FAILED  Shop search (shop.ir.yaml): Search got worse: 19 of 70")
    assert len(alone) <= 60


def test_quiet_is_one_line_with_the_figures(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = red_example(project, monkeypatch, 200, "-q")
    section = text[text.index("= search quality =") : text.index("short test summary")]
    (line,) = [line for line in section.splitlines() if line.startswith("shop.ir.yaml: ")]
    assert "FAILED" in line
    assert "ndcg@10 0.897 → 0.821; 23 worse, 6 better, 40 unchanged" in line


def test_a_green_build_names_the_queries_that_got_worse() -> None:
    text = "\n".join(summary([compared(moved("office chair", 1.0, 0.6), verdicts=())], 120))
    assert "1.000 → 0.600" in text
    assert "lost (Lost one) 2 → left the index" in text


@pytest.mark.parametrize(("suites", "most"), [(1, 60), (5, 120), (30, 160)])
def test_the_section_stays_short_whatever_broke(suites: int, most: int) -> None:
    queries = [moved(f"query {n}", 0.9, n / 900, tags=(f"t{n}",)) for n in range(400)]
    verdicts = [check(q.id, "failed") for q in queries]
    verdicts += [floor(0.5, 0.8, "failed", check=f"l{n}", label=f"limit {n}") for n in range(300)]
    made = compared(*queries, verdicts=tuple(verdicts), facts=(Remark("a note " * 40),) * 50)
    several = [replace(made, path=f"s{n}.ir.yaml") for n in range(suites)]
    lines = list(summary(several, 80))
    assert len(lines) <= most
    assert all(cells(line) <= 80 for line in lines)
    assert "FAILED" in lines[-2] + lines[-1]


def test_wide_and_combining_characters_are_measured_in_cells() -> None:
    assert (cells("椅子"), cells("e\u0301"), cells("chair")) == (4, 1, 5)
    assert fit("椅子と机", 5) == "椅子…"
    assert list(wrapped("one two three", 7)) == ["one two", "three"]
    assert all(cells(line) <= 10 for line in wrapped("会議室の椅子 " * 9, 10))
