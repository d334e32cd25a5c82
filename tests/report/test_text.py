"""What a terminal shows: nothing wider than it is, nothing longer than a screen or two."""

from __future__ import annotations

import html
import os
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from pytest_irquality.report.failure import explain, laid_out, told_in_full
from pytest_irquality.report.markdown import markdown_report
from pytest_irquality.report.text import summary
from pytest_irquality.verdict.facts import Remark
from pytest_irquality.verdict.findings import Finding, RankedDocument
from pytest_irquality.verdict.result import ShownDocument, Verdict
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.words import cells, fit, hanging, wrapped
from tests.conftest import Project
from tests.report.made import check, compared, floor, moved, query, suite
from tests.verdict.test_comparison import FIRST, judged, run_of, sunk, twenty

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
        alone = line.startswith(("  at ", "    pytest ", "    python -m pytest ", "report: "))
        assert alone or cells(line) <= width, line


def test_the_worst_three_are_told_in_full_and_the_others_in_short(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = red_example(project, monkeypatch, 100)
    failures = text[text.index("= FAILURES =") : text.index("= search quality =")].rstrip("= \n")
    parts = re.split(r"^_+ (.+?) _+$", failures, flags=re.M)
    told = dict(zip(parts[1::2], parts[2::2], strict=True))
    full = [name for name, part in told.items() if "  rank" in part]
    assert full == ["mechanical-keyboard", "hiking-boots", "bookshelf-speakers"]
    for name, part in told.items():
        assert name in full or len(part.strip().splitlines()) <= 5
    assert "…" not in failures
    assert (
        "FAILED shop.ir.yaml::office-chair - sku-101 must be in the top 3: it is at rank 7" in text
    )
    assert "Broken:" not in text


@given(
    st.text("ab 漢é  ✗(", min_size=1, max_size=120),
    st.integers(24, 60),
    st.sampled_from(("", "  ")),
)
@example("5 queries return nothing now", 24, "")
def test_a_wrapped_line_loses_nothing_and_fits(text: str, width: int, indent: str) -> None:
    line = f"{indent}{text}".rstrip()
    lines = list(hanging(line, width))
    assert "".join("".join(lines).split()) == "".join(line.split())
    assert all(cells(one) <= width for one in lines)
    if all(cells(word) < width // 2 for word in line.split()):
        assert " ".join(lines).split() == line.split()


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


@pytest.mark.slow
def test_the_headline_ends_the_section_alike_with_and_without_workers(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def section(text: str) -> list[str]:
        said = text[text.index("= search quality =") : text.index("short test summary")]
        return said.replace(" -p xdist", "").splitlines()[1:-1]  # a way to run again names it

    alone = section(red_example(project, monkeypatch, 100))
    assert alone == section(red_example(project, monkeypatch, 100, "-n2"))
    assert alone[-2].startswith("✗ FAILED  Shop search (shop.ir.yaml): Search got worse: 19 of 70")
    assert len(alone) <= 60


def test_quiet_is_one_line_with_the_change(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = red_example(project, monkeypatch, 200, "-q")
    section = text[text.index("= search quality =") : text.index("short test summary")]
    (line,) = [line for line in section.splitlines() if "shop.ir.yaml" in line]
    assert line.startswith("✗ FAILED  Shop search (shop.ir.yaml): ")
    assert "; 23 worse, 6 better, 40 unchanged; the mean fell 0.897 → 0.821" in line


def test_a_green_build_names_the_queries_that_got_worse() -> None:
    text = "\n".join(summary([compared(moved("office chair", 1.0, 0.6), verdicts=())], 120))
    assert "1.000 → 0.600" in text
    assert "Lost one (lost) 2 → left the index" in text


@pytest.mark.parametrize(
    ("suites", "most"), [(1, 60), (5, 120), pytest.param(30, 160, marks=pytest.mark.slow)]
)
def test_the_section_stays_short_whatever_broke(suites: int, most: int) -> None:
    queries = [moved(f"query {n}", 0.9, n / 900, tags=(f"t{n}",)) for n in range(400)]
    verdicts = [check(q.id, "failed") for q in queries]
    verdicts += [floor(0.5, 0.8, "failed", check=f"l{n}", label=f"limit {n}") for n in range(300)]
    made = compared(*queries, verdicts=tuple(verdicts), facts=(Remark("a note " * 40),) * 50)
    several = [replace(made, path=f"s{n}.ir.yaml") for n in range(suites)]
    lines = list(summary(several, 80))
    assert len(lines) <= most
    assert all(cells(line) <= 80 for line in lines if not line.startswith("    pytest "))
    assert "FAILED" in lines[-2] + lines[-1]


def test_a_limit_on_each_query_counts_those_that_break_it_and_names_the_worst() -> None:
    queries = [moved(f"query {n}", 0.9, 0.9 - n / 300) for n in range(1, 201)]
    lost = tuple(
        Finding(q.id, "lost_all_relevant", False, ranked=(RankedDocument("d", None, 1),))
        for q in queries
    )
    guard = Verdict("guard", "each_query: lost_all_relevant", 1, "failed", lost, "each_query")
    made = compared(*queries, verdicts=(guard,))
    said = (
        "200 queries lost all their relevant documents: 'query 200', 'query 199', 'query 198',"
        " 'query 197', 'query 196' and 195 more"
    )
    assert reason(made, guard) == said
    assert any("200 broken" in line for line in summary([made], 100))
    worst = replace(queries[-1], line=777)
    placed = compared(*queries[:-1], worst, verdicts=(guard,))
    told = laid_out(placed, guard, 200, told_in_full(placed)).splitlines()
    assert (told[0], told[-1]) == (said, "  at shop.ir.yaml:777")
    assert told[5].startswith("  ✗ 'query 196' lost")
    assert "  and 180 more, all in the report" in told


def test_of_a_limit_on_each_tag_the_one_furthest_beyond_it_comes_first() -> None:
    queries = [moved("a", 0.9, 0.8, tags=("x",)), moved("b", 0.9, 0.1, tags=("y",))]
    findings = tuple(
        Finding(tag, "min", False, True, "ndcg@10", value, 0.8, 1)
        for tag, value in (("x", 0.7), ("y", 0.5))
    )
    each = Verdict("tags", "each_tag: ndcg@10", 3, "failed", findings, "each_tag")
    assert reason(compared(*queries, verdicts=(each,)), each) == (
        "tag y: ndcg@10 is 0.500, below its floor 0.800 (and x)"
    )


def test_without_a_baseline_the_lowest_queries_are_named_with_what_they_miss() -> None:
    missed = ShownDocument(None, "chair", "A chair", 3.0, True)
    low = query("office chair", 0.2, ranking=(ShownDocument(4, "mat", "A mat", 1.0, True),),
                missing=(missed,))  # fmt: skip
    made = suite(query("sofa"), low, verdicts=(floor(0.5, 0.8, "failed"),))
    lines = list(summary([made], 120))
    at = lines.index("  Lowest ndcg@10:")
    assert lines[at + 1].split("  ")[-3:] == [
        "office chair", "0.200", "A mat (mat) at rank 4, A chair (chair) not returned"
    ]  # fmt: skip
    green = suite(query("sofa"), low, verdicts=(floor(0.9, 0.8, "passed"),))
    assert "  Lowest ndcg@10:" not in list(summary([green], 120))


def test_moves_that_do_not_fit_go_without_titles() -> None:
    wide, narrow = (
        "\n".join(summary([compared(moved("desk", 0.9, 0.1))], width)) for width in (120, 80)
    )
    assert "Lost one (lost) 2 → left the index, The best one (best) 1 → 2" in wide
    assert "lost 2 → left the index, best 1 → 2" in narrow


def test_nothing_is_said_twice(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    text = red_example(project, monkeypatch, 200)
    lines = text[text.index("= FAILURES =") :].splitlines()
    said = [re.sub(r"^(FAILED \S+ - |[\s✗]+)", "", line) for line in lines]
    long = [line for line in said if len(line) > 40 and not line.startswith(("_", "="))]
    limits = [line for line in long if " floor " in line]  # the short summary's reason is its own
    assert len({*long} - {*limits}) == len([line for line in long if line not in limits])


def test_errors_are_laid_out_in_three_lines_and_name_no_exception_of_ours(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    project.suite(
        "metrics: [ndcg@10]\nthresholds: {ndcg@10: 0.5}\nqueries:\n"
        + "".join(f"  - {{query: a rather long query {n}, relevant: {{d: 1}}}}\n" for n in range(9))
    )
    project.conftest(
        "@pytest.fixture\ndef retriever():\n    def search(query): raise OSError('shard 3 did not"
        " answer')\n    return search\n"
    )
    text = project.run().stdout.str()
    errors = text[text.index("= ERRORS =") : text.index("= search quality =")]
    (limit,) = re.findall(r"^_+ ERROR at setup of ndcg-10 _+\n(.*)", errors, re.M | re.S)
    part = limit.split("\n_")[0].rstrip("= \n").splitlines()
    assert len(part) == 3
    assert all(cells(line) <= 80 for line in part)
    assert "ERROR shop.ir.yaml::ndcg-10 - undecided, because of" in text
    assert "Failed:" not in text


def test_wide_and_combining_characters_are_measured_in_cells() -> None:
    assert (cells("椅子"), cells("e\u0301"), cells("chair")) == (4, 1, 5)
    assert fit("椅子と机", 5) == "椅子…"
    assert list(wrapped("one two three", 7)) == ["one two", "three"]
    assert all(cells(line) <= 10 for line in wrapped("会議室の椅子 " * 9, 10))


def test_a_limit_of_a_tag_names_the_queries_it_rests_on(project: Project) -> None:
    project.suite(
        """
tags:
  head: {mrr@10: {max_drop: 0.1}}
queries:
  - {query: desk, relevant: [d1], tags: head}
  - {query: office chair, relevant: [d2]}
"""
    )
    found = "@pytest.fixture\ndef retriever(): return lambda query: {found}[query]\n"
    project.conftest(found.format(found={"desk": ["d1"], "office chair": ["d2"]}))
    assert project.run("--ir-update-baseline").ret == 0
    project.conftest(found.format(found={"desk": ["x"], "office chair": ["d2"]}))
    text = project.run().stdout.str()
    failure = text[text.index("_ head-mrr-10 _") : text.index("_ each_query-")]
    assert "desk  −1.000  1.000 → 0.000  now first: x; d1 1 → not returned" in failure
    assert "office chair" not in failure


def test_where_room_is_short_the_least_weighty_lines_go(tmp_path: Path) -> None:
    text = twenty("thresholds: {mrr: {max_drop: 0.01}}\n")
    result = judged(tmp_path, text, run_of(sunk(3)), run_of(FIRST))
    many = [replace(result, suite=f"s{n}", path=f"s{n}.ir.yaml") for n in range(12)]
    told = "\n".join(summary(many, 100)).split("s0 (s0.ir.yaml)\n")[1].split("✗ FAILED")[0]
    lines = told.splitlines()
    assert lines[0].startswith("  3 worse, 0 better")
    assert lines[1:3] == ["  Lost most mrr@10:", "    q0  −0.667  1.000 → 0.333  d0 1 → 3"]
    assert "rankings changed" not in told
    whole = "\n".join(summary([result], 100)).split("✗ FAILED")[0].splitlines()
    assert any(line.split()[:3] == ["measure", "before", "now"] for line in whole)
    left = int(re.findall(r"… (\d+) more lines in the report", told)[0])
    assert len(lines) - 1 + left == len(whole)


def test_what_is_listed_and_what_is_left_add_up(tmp_path: Path) -> None:
    ids = [f"q{n}" for n in range(8)]
    limits = "".join(
        f"  {measure}@{k}: {{max_drop: 0.01}}\n" for measure in ("mrr", "ndcg") for k in (1, 2, 5)
    )
    text = twenty(f"thresholds:\n{limits}")
    result = judged(tmp_path, text, run_of(sunk(8)), run_of(FIRST))
    terminal = "\n".join(summary([result], 120))
    listed = re.findall(r"^ +(q\d+) +−", terminal, re.M)
    assert (listed, re.findall(r"^  Lost most \S+, the worst of (\d+):$", terminal, re.M)) == (
        ids[:5],
        ["8"],
    )
    told = explain(result, next(v for v in result.verdicts if "Lost most" in explain(result, v)))
    assert re.findall(r"^ +(q\d+) +−", told, re.M) == ids[:5]
    (broken,) = re.findall(r"^(✗ .* · .*)$", markdown_report([result]), re.M)
    named, rest = broken.count("✗"), re.findall(r"and (\d+) more limits?$", broken)
    assert named + sum(map(int, rest)) == 6
    assert rest


@pytest.mark.parametrize(("many", "left"), [(20, []), (21, ["1"]), (23, ["3"])])
def test_of_many_demands_and_documents_the_first_are_told(many: int, left: list[str]) -> None:
    found = [RankedDocument(f"d{n}", limit=1) for n in range(many)]
    broken = tuple(Finding("desk", "must_find", False, ranked=(one,)) for one in found)
    missing = tuple(ShownDocument(None, one.id, None, 1.0, True) for one in found)
    result = suite(
        query("desk", missing=missing), verdicts=(check("desk", "failed", findings=broken),)
    )
    told = explain(result, result.verdicts[0])
    more = re.findall(r"^ +and (\d+) more, all in the report$", told, re.M)
    assert more == left
    assert (f"expected, but not above, the first 20 of {many}:" in told) == (many > 20)
    assert len(re.findall(r"must be in the top 1", told)) == min(many, 20) + told.splitlines()[
        0
    ].count("must be")


@pytest.mark.parametrize(("many", "left"), [(3, []), (4, ["1"]), (9, ["6"])])
def test_of_many_warnings_the_first_are_told(many: int, left: list[str]) -> None:
    low = (
        Finding(f"q{n}", "warn_below", False, False, "ndcg@10", 0.1, 0.5, 1) for n in range(many)
    )
    line = Verdict("each", "each_query: ndcg@10", 4, "passed", tuple(low), "each_query")
    told = "\n".join(summary([suite(query("a"), verdicts=(line,))], 200))
    assert re.findall(r"^  ! and (\d+) more, all in the report$", told, re.M) == left


def test_what_was_compared_with_is_told_with_its_day() -> None:
    told = "\n".join(summary([compared()], 200))
    assert (
        "  compared with .ir-baseline/shop.jsonl (commit 9e01b77aa01b, 2026-01-01, version v1, now v2)"
        in told
    )


@pytest.mark.parametrize("width", [20, 41, 80])
def test_every_line_but_the_last_is_full(width: int) -> None:
    text = " ".join(f"word{n}"[: 3 + n % 4] for n in range(60))
    lines = [line.strip() for line in hanging(text, width)]
    for line, after in pairwise(lines[1:]):
        assert len(line) + 1 + len(after.split()[0]) > width - 2


@pytest.mark.usefixtures("pages")
def test_a_tag_with_a_quote_leads_to_its_queries(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: desk, relevant: [d], tags: ['wo\"od', 'oak tree']}\n"
        "  - {query: lamp, relevant: [d]}\n"
    )
    project.conftest("@pytest.fixture\ndef retriever():\n    return lambda query: ['d']\n")
    project.run()
    page = html.unescape((project.path / "ir-report.html").read_text("utf-8"))
    assert 'data-find="tag:wo"od"' in page
    assert 'data-find="tag:"oak tree""' in page
