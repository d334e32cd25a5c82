"""Queries that are graded, and of which nothing is known to be right: no pass hides them."""

from __future__ import annotations

import pytest

from tests.conftest import Project

TWO = """\
metrics: [ndcg@10]
queries:
  - {query: chair, relevant: [c1]}
  - {query: desk, relevant: {d1: 0, d2: 0, d3: 0}}
"""
ANSWERS = {"chair": ["c1"], "desk": ["d1", "d2", "d3"]}


def test_a_query_whose_results_are_all_graded_bad_is_named(project: Project) -> None:
    project.suite(TWO)
    project.answers(ANSWERS)
    result = project.run("-v", "--ir-update-baseline")
    assert result.ret == 0
    remedy = "grade the document that is right, write 'expect_no_results: true', or leave it out"
    result.stdout.fnmatch_lines(
        [
            f"*1 of 2 (50 %) queries are graded without any relevant document and are in no mean of relevance: 'desk'; {remedy}",
            "*but graded without any relevant document, so in no mean: 'desk'*",
        ]
    )
    result.stdout.fnmatch_lines(
        [
            "*shop.ir.yaml:4: IRQualityWarning: graded, and nothing of it relevant (in no mean): 'desk'*"
        ]
    )


def test_of_judged_zero_it_scores_0_and_a_floor_sees_it(project: Project) -> None:
    floor = "thresholds: {ndcg@10: 0.9}\n"
    project.suite(f"{floor}{TWO}")
    project.answers(ANSWERS)
    assert project.run().ret == 0
    project.suite(f"undefined: judged_zero\n{floor}{TWO}")
    result = project.run()
    assert result.ret == 1
    assert project.data["suites"][0]["means"][0]["value"] == 0.5
    result.stdout.fnmatch_lines(["*and score 0: 'desk'; grade the document*"])


@pytest.mark.parametrize(
    ("undefined", "mean"), [("skip", 1.0), ("judged_zero", 0.5), ("zero", 0.25)]
)
def test_what_nobody_graded_is_left_out_of_means(
    project: Project, undefined: str, mean: float
) -> None:
    """Of a suite that is half graded `zero` would dilute every change."""
    project.suite(f"undefined: {undefined}\n{TWO}  - {{query: lamp}}\n  - {{query: sofa}}\n")
    project.answers({**ANSWERS, "lamp": ["l1"], "sofa": ["s1"]})
    project.run()
    assert project.data["suites"][0]["means"][0]["value"] == mean


def test_a_first_suite_says_so(project: Project) -> None:
    project.answers(ANSWERS)
    (project.path / "queries.txt").write_text("chair\ndesk\n", encoding="utf-8")
    project.run("--ir-init=queries.txt")
    written = (project.path / "queries.ir.yaml").read_text(encoding="utf-8")
    assert "\nundefined: judged_zero " in written
    assert project.run("queries.ir.yaml").ret == 0
