"""Doubts about a suite: warnings of a public class, at the line they arise, and never an error by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_irquality import IRQualityWarning, load_suite
from pytest_irquality.suite.lint import lint
from tests.conftest import Project

ROOT = Path(__file__).parents[2]
FIVE = "".join(f"  - {{query: q{n}, tags: [big], relevant: [d]}}\n" for n in range(5))


def doubts(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "s.ir.yaml"
    path.write_text(text, encoding="utf-8")
    return [f"{place.line}: {text}" for place, text in lint(load_suite(path))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("queries:\n  - query: a\n", []),
        ("queries:\n" + "".join(f"  - query: q{n}\n" for n in range(5)) + "  - {query: b, relevant: [d]}\n", ["2: neither judgments nor rules: 'q0', 'q1', 'q2' and 2 more"]),
        ("queries: [{query: a}, {query: b, relevant: [d]}]\nthresholds: {zero_results: 0}\n", ["1: neither judgments nor rules: 'a'"]),
        ("queries: [{query: a}]\nthresholds: {zero_results: 0}\n", []),
        ("queries: [{query: a, must_find: {d: 3}, must_not_find: {d: 3}}]\n", ["1: the rules of 'a' contradict each other: 'd' must be in the top 3, and cannot be above rank 4"]),
        ("queries: [{query: a, must_find: {d: 4}, must_not_find: {d: 3}}]\n", []),
        ("queries: [{query: a, must_find: {d: 4}}]\neach_query: {must_not_find: [d]}\n", ["1: the rules of 'a' contradict each other: 'd' must be in the top 4, and cannot be above rank 11"]),
        ("queries: [{query: a, must_find: {y: 1}, in_order: [x, y]}]\n", ["1: the rules of 'a' contradict each other: 'y' must be in the top 1, and cannot be above rank 2"]),
        ("queries: [{query: a, must_find: {y: 2}, in_order: [x, y]}]\n", []),
        ("queries: [{query: a, must_find: {y: 4}, must_not_find: {x: 5}, in_order: [x, y]}]\n", ["1: the rules of 'a' contradict each other: 'y' must be in the top 4, and cannot be above rank 7"]),
        ("queries: [{query: a, must_find: {x: 1, y: 1}}]\n", ["1: the rules of 'a' contradict each other: 2 documents must be in the top 1"]),
        ("queries: [{query: a, must_find_any: {x: 2}, must_not_find: {x: 2}}]\n", ["1: the rules of 'a' contradict each other: must_find_any names only documents that other rules keep below those ranks"]),
        ("queries: [{query: a, relevant: [b, c, d], thresholds: {recall@2: 0.7}}]\n", ["1: recall@2 cannot reach 0.7: more than 2 documents are relevant, so this query can have at most 0.667"]),
        ("queries: [{query: a, relevant: [b, c, d]}, {query: b, relevant: [c]}]\nthresholds: {recall@2: 0.84}\n", ["2: recall@2 cannot reach 0.84: more than 2 documents are relevant, so this suite can have at most 0.833"]),
        ("queries: [{query: a, relevant: [b, c, d]}, {query: b, relevant: [c]}]\nthresholds: {recall@2: 0.83}\n", []),
        ("queries: [{query: a, relevant: [b, c, d]}, {query: b, relevant: [c]}]\neach_query: {recall@1: 0.5}\n", ["2: recall@1 cannot reach 0.5: more than 1 documents are relevant, so 'a' can have at most 0.333"]),
        (f"queries:\n{FIVE}  - {{query: a, tags: [head], relevant: [d]}}\ntags: {{head: {{mrr: 0.5}}, big: {{mrr: 0.5}}}}\n", ["8: mrr@10: under 5 queries, where one query moves it a lot: tag head (1)"]),
        (f"queries:\n{FIVE}  - {{query: a, tags: [head, x], relevant: [d]}}\neach_tag: {{mrr: {{max_drop: 0.1}}}}\n", ["8: mrr@10: under 5 queries, where one query moves it a lot: tag head (1), tag x (1)"]),
        (f"queries:\n{FIVE}thresholds: {{mrr: {{max_significant_drop: 0.1}}}}\n", []),
        ("queries: [{query: a, relevant: [d]}]\nthresholds: {mrr: {max_significant_drop: 0.1, min: 0.5}}\n", ["2: max_significant_drop of mrr@10: under 5 queries, too few to test: this suite (1)"]),
        (f"queries:\n{FIVE}  - {{query: a, tags: [head], relevant: [d]}}\ntags: {{head: {{mrr: {{warn_below: 0.5}}}}}}\n", []),
    ],
)  # fmt: skip
def test_each_doubt_has_its_place(tmp_path: Path, text: str, said: list[str]) -> None:
    assert doubts(tmp_path, text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("grades: {good: 3, ok: 1}\nqueries:\n  - {query: q, relevant: {a: 30, b: good}}\n",
         ["3: 'a' has the grade 30, and the words under 'grades' end at 3"]),
        ("queries:\n  - {query: q, relevant: {a: 30, b: 3, c: 1}}\n",
         ["2: 'a' has the grade 30, and the highest other grade is 3"]),
        ("queries:\n  - {query: q, relevant: {a: 15, b: 7, c: 3, d: 1, e: 0}}\n", []),
        ("queries:\n  - {query: q, relevant: {a: 100, b: 0}}\n", []),
    ],
)  # fmt: skip
def test_a_grade_off_the_scale(tmp_path: Path, text: str, said: list[str]) -> None:
    assert doubts(tmp_path, text) == said


def test_the_example_project_leaves_no_doubt() -> None:
    assert list(lint(load_suite(ROOT / "example_project" / "shop.ir.yaml"))) == []


def test_they_are_warnings_that_can_be_made_errors(project: Project) -> None:
    assert issubclass(IRQualityWarning, UserWarning)
    project.answers({"a": ["d"], "b": ["d"]})
    project.suite("queries:\n\n  - query: a\n  - {query: b, relevant: [d]}\n")
    result = project.run()
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        ["*shop.ir.yaml:3: IRQualityWarning: neither judgments nor rules: 'a'"]
    )
    result = project.run("-W", "error::pytest_irquality.IRQualityWarning")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["shop.ir.yaml:3:5: neither judgments nor rules: 'a'"])
    result.stdout.no_fnmatch_line("*collection.py*")


def test_a_wrong_id_in_a_file_of_judgments_stands_behind_the_pass(project: Project) -> None:
    """The query without judgments and the judgments without a query are one mistake."""
    project.answers({"red": ["d"], "dragons": ["d"]})
    qrels = project.path / "qrels.trec"
    qrels.write_text("1 0 d 1\nq2 0 d 1\n", encoding="utf-8")
    asked = "judgments: qrels.trec\nqueries:\n  - {query: red, id: 1}\n"
    path = project.suite(f"{asked}  - {{query: dragons, id: 2}}\n")
    said = (
        "qrels.trec judges what the suite does not ask: 'q2'; without judgments: 'dragons' (id 2);"
        " do their ids match?"
    )
    (doubt,) = lint(load_suite(path))
    assert doubt[1].endswith(said)
    result = project.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"! passed *, but *{said}*"])
    for other in ("", "  - {query: dragons, id: 2, must_find: d}\n"):
        assert list(lint(load_suite(project.suite(asked + other)))) == []
    qrels.write_text("1 0 d 1\n", encoding="utf-8")
    (doubt,) = lint(load_suite(project.suite(f"{asked}  - {{query: dragons, id: 2}}\n")))
    assert doubt[1] == "neither judgments nor rules: 'dragons'"


def test_of_each_kind_ten_stand_and_the_last_counts_the_rest(tmp_path: Path) -> None:
    queries = "".join(f"  - {{query: q{n}, tags: [t{n}], relevant: [d]}}\n" for n in range(400))
    limits = "".join(f"  t{n}: {{ndcg: 0.5, mrr: 0.5, recall: 0.5}}\n" for n in range(400))
    said = doubts(tmp_path, f"queries:\n{queries}tags:\n{limits}")
    assert len(said) == 10
    assert said[-1].endswith("tag t3 (1) (and 1,190 more such lines)")


def test_collecting_only_is_a_check_that_needs_no_retriever(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}]\nthresholds: {mrr: 0.5}\n", "good.ir.yaml")
    result = project.run("--collect-only", "-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["good.ir.yaml::a", "good.ir.yaml::mrr-10"])
    project.suite("queries: [{query: a, relevant: [d]}]\nthresholds: {ndgc: 0.5}\n", "bad.ir.yaml")
    result = project.run("--collect-only", "-q")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["bad.ir.yaml:2:14: unknown measure 'ndgc'; did you mean 'ndcg'?"])
    assert sorted(path.name for path in project.path.glob("[!.]*") if path.is_file()) == [
        "bad.ir.yaml",
        "good.ir.yaml",
    ]
