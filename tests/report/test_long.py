"""Long lists: what is told of the first twenty, and how many more there are."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from pathlib import Path

from pytest_irquality import check as check_suite
from pytest_irquality.report.failure import explain
from pytest_irquality.report.html import html_report
from pytest_irquality.report.markdown import markdown_report
from pytest_irquality.verdict.findings import Finding, RankedDocument
from pytest_irquality.verdict.result import Outcome, ShownDocument, SuiteResult, Verdict
from pytest_irquality.wording.block import Documents, Pair, Placed
from tests.report.made import check, compared, moved, query, suite

NAMES = string.ascii_lowercase[:23]


def guarded() -> SuiteResult:
    findings = tuple(
        Finding(name, "must_not_find", False, ranked=(RankedDocument("banned", 3, limit=10),))
        for name in NAMES
    )
    guard = Verdict("guard", "each_query must_not_find", 8, "failed", findings, "each_query")
    return suite(*map(query, NAMES), verdicts=(guard,))


def test_a_failure_tells_twenty_tags_and_counts_the_rest() -> None:
    findings = tuple(
        Finding(f"tag-{name}", "min", False, True, "ndcg@10", 0.1, 0.5, 20) for name in NAMES
    )
    verdict = Verdict("each", "each_tag ndcg@10", 7, "failed", findings, "each_tag")
    text = explain(suite(query("q")), verdict)
    assert len(set(re.findall(r"\btag-[a-z]\b", text))) == 20
    assert "\n  and 3 more, all in the report\n" in text


def test_where_no_script_runs_the_page_lists_200_queries_20_in_full_and_counts_the_rest() -> None:
    page = html_report([suite(*(query(f"query {n}") for n in range(203)))])
    listed = re.search(r'<table class="queries.*?class="muted legend"', page, re.S)
    assert listed is not None
    assert listed[0].count('id="s1-q') == 200
    assert listed[0].count("<details") == 20
    assert "and 3 more: seen where scripts may run." in page
    few = html_report([suite(*(query(f"query {n}") for n in range(200)))])
    assert "seen where scripts may run" not in few


def test_the_page_lists_a_hundred_missing_documents_of_a_query_and_says_of_how_many() -> None:
    missing = tuple(ShownDocument(None, f"lost-{n}", relevant=True) for n in range(1_250))
    page = html_report([suite(replace(query("desk"), missing=missing))])
    assert "lost-99" in page
    assert "lost-100" not in page
    assert "the first 100 of 1\u202f250" in page
    few = html_report([suite(replace(query("desk"), missing=missing[:100]))])
    assert "lost-99" in few
    assert "the first 100" not in few


def test_markdown_lists_twenty_of_each() -> None:
    text = markdown_report([guarded()], not_evaluated=[*NAMES])
    assert text.count("✗ not evaluated: ") == 20
    warned = tuple(
        Finding(tag, "warn_below", False, False, "judged@10", 0.4, 0.8, 20) for tag in NAMES
    )
    line = Verdict("judged", "each_tag judged@10", 7, "passed", warned, "each_tag")
    assert (
        markdown_report([suite(query("a"), verdicts=(line,))]).count("- ⚠ ") == 21
    )  # the last says how many more
    came = tuple(ShownDocument(rank, f"came-{rank}", None) for rank in range(1, 23))
    demands = tuple(
        Finding("desk", "must_find", False, ranked=(RankedDocument(f"want-{name}", limit=1),))
        for name in NAMES
    )
    desk = moved("desk", 0.9, 0.1, ranking=came, returned=22)
    text = markdown_report([compared(desk, verdicts=(check("desk", "failed", findings=demands),))])
    fold = text.partition("<details><summary>desk</summary>")[2].partition("</details>")[0]
    assert len(re.findall(r"^- ✗ want", fold, re.M)) == 20
    assert len(re.findall(r"^\| .* came-\d+ ", fold, re.M)) == 20


def test_a_result_holds_twenty_documents_of_a_query_however_deep_it_is_measured(
    tmp_path: Path,
) -> None:
    file = tmp_path / "deep.ir.yaml"
    file.write_text("top_k: 50\nqueries: [{query: a, relevant: [d0]}]\n", encoding="utf-8")
    found = check_suite(file, lambda query: [f"d{rank}" for rank in range(40)])
    (asked,) = found.results[0].queries
    assert len(asked.ranking) == 20
    assert asked.returned == 40


def test_the_page_lists_500_limits_broken_ones_first() -> None:
    def limit(n: int, value: float) -> Verdict:
        finding = Finding(f"t{n}", "min", value >= 0.5, True, "ndcg@10", value, 0.5, 2)
        outcome: Outcome = "passed" if finding.ok else "failed"
        return Verdict(f"t{n}-ndcg-10", f"tag t{n}: ndcg@10", n + 2, outcome, (finding,), "tag")

    verdicts = tuple(limit(n, 0.4 if n % 2 else 0.6) for n in range(1200))
    page = html_report([suite(query("q"), verdicts=verdicts)])
    table = page.partition('<section class="card limits"')[2].partition('data-tab="Slices"')[0]
    assert table.count('<th scope="row"') == 500
    assert "tag t1199: ndcg@10" not in table
    assert "tag t1: ndcg@10" in table
    assert "tag t2: ndcg@10" not in table
    assert re.search(r"and 70\d more", table)


def test_ids_that_are_alike_as_far_as_they_are_shown_are_still_two_documents() -> None:
    def placed(rank: int | None, other: int | None) -> Placed:
        return Placed(rank, other, "https://shop.example/x…", "", "", "", "")

    now = Documents("This run", "", 1, (placed(1, 2),))
    then = Documents("Baseline", "", 2, (placed(1, None), placed(2, 1)))
    rows = Pair(then, now, None, 10).as_table(20).rows
    assert [(row.over, row.cells[:2]) for row in rows] == [
        ("", ("1", "2")),
        ("above before, but not now:", ("–", "1")),
    ]
