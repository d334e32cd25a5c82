"""``--ir-judge=todo.csv``: what to judge next, in the order in which it could matter, ready to be filled in."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from tests.conftest import Project

SUITE = """\
top_k: 3
queries:
  - {query: sure, relevant: {a: 1}, thresholds: {ndcg@3: 0.1}}
  - {query: 'near, "the" limit', relevant: {a: 1}, thresholds: {ndcg@3: 0.49}, tags: [one]}
  - {query: free, relevant: {a: 1, b: 0}}
  - {query: none, expect_no_results: true}
thresholds: {zero_results: 3}
"""


def rows(project: Project) -> list[Mapping[str, str]]:
    with (project.path / "todo.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_what_could_move_a_verdict_most_comes_first_and_goes_back_in_as_judgments(
    project: Project,
) -> None:
    suite = project.suite(SUITE)
    project.conftest(
        "ANSWERS = {'sure': ['a', 'x'], 'near, \"the\" limit': ['x', 'y', 'a'], 'free': ['y', 'b', 'a'], 'none': ['z']}\n"
        "@pytest.fixture(params=['one', 'two'])\ndef retriever(request):\n"
        "    return lambda query: [{'id': d, 'title': f'T, {d}'} for d in ANSWERS[query]]\n"
    )
    result = project.run("--ir-judge=todo.csv")
    result.stdout.fnmatch_lines(
        ["to grade: todo.csv: 4 documents of 3 queries that nobody has graded"]
    )
    assert [
        (row["query"], row["docid"], row["rating"], row["rank"], row["title"])
        for row in rows(project)
    ] == [
        ('near, "the" limit', "x", "", "1", "T, x"),
        ('near, "the" limit', "y", "", "2", "T, y"),
        ("sure", "x", "", "2", "T, x"),
        ("free", "y", "", "1", "T, y"),
    ]
    text = (project.path / "todo.csv").read_text("utf-8").replace(",x,,1", ",x,2,1")
    (project.path / "todo.csv").write_text(text, encoding="utf-8")
    suite.write_text(SUITE + "judgments: todo.csv\n", encoding="utf-8")
    project.run("--ir-judge=more.csv")
    more = (project.path / "more.csv").read_text("utf-8")
    assert '"near, ""the"" limit",x' not in more
    assert '"near, ""the"" limit",y' in more


def test_a_suite_that_matches_by_text_has_nothing_unjudged(project: Project) -> None:
    project.suite("match: text\nqueries: [{query: a, relevant: [some words]}]\n")
    project.answers({"a": [{"id": "1", "text": "Some words here"}, {"id": "2", "text": "others"}]})
    project.run("--ir-judge=todo.csv")
    assert rows(project) == []


def test_a_grade_that_could_turn_a_failing_verdict_comes_before_all_others(
    project: Project,
) -> None:
    project.suite(
        "top_k: 3\nqueries:\n"
        "  - {query: near, relevant: {a: 1}, thresholds: {ndcg@3: 0.5001}}\n"
        "  - {query: fails, relevant: {a: 1}, thresholds: {ndcg@3: 0.9}}\n"
    )
    project.answers({"near": ["x", "y", "a"], "fails": ["a0", "b0", "a"]})
    project.run("--ir-judge=todo.csv")
    assert [row["query"] for row in rows(project)] == ["near", "near", "fails", "fails"]
    project.suite(
        "top_k: 3\nqueries:\n"
        "  - {query: near, relevant: {a: 1}, thresholds: {ndcg@3: 0.4999}}\n"
        "  - {query: fails, relevant: {a: 1}, thresholds: {ndcg@3: 0.9}}\n"
    )
    project.run("--ir-judge=todo.csv")
    assert [row["query"] for row in rows(project)] == ["fails", "fails", "near", "near"]


def test_a_query_that_lost_everything_relevant_stands_first(project: Project) -> None:
    project.suite(
        "queries:\n  - {query: fine, relevant: [a]}\n  - {query: lost, relevant: [a]}\n"
        "thresholds: {mrr@10: {min: 0.4}}\n"
    )
    project.answers({"fine": ["x", "a"], "lost": ["a"]})
    project.run("--ir-update-baseline")
    project.answers({"fine": ["x", "a"], "lost": ["new", "y"]})
    assert project.run("--ir-judge=todo.csv").ret == 1
    assert [row["docid"] for row in rows(project)] == ["new", "y", "x"]


def test_what_only_the_baseline_returned_is_to_be_graded_too(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}]\n")
    project.answers({"a": ["d", "old", "deep"]})
    project.run("--ir-update-baseline")
    project.answers({"a": ["new", "d"]})
    project.run("--ir-judge=todo.csv", "--ir-judge-depth=2")
    assert [row["docid"] for row in rows(project)] == ["new", "old"]


def test_workers_send_home_what_there_is_to_grade(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}, {query: b, relevant: [d]}]\n")
    project.answers({"a": ["x", "d"], "b": ["y", "z"]})
    project.run("--ir-judge=todo.csv", "-n1")
    assert [row["docid"] for row in rows(project)] == ["x", "y", "z"]


def test_the_suffix_says_whether_it_is_a_page_or_a_list(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}]\n")
    project.answers({"a": ["d", "x"]})
    result = project.run("--ir-judge=judge.html")
    result.stdout.fnmatch_lines(
        ["to grade: judge.html: 1 document of 1 query that nobody has graded"]
    )
    assert (project.path / "judge.html").read_text("utf-8").startswith("<!doctype html>")
    result = project.run("--ir-judge=judge.xlsx")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ir-judge: it must end in .html or .csv, not be 'judge.xlsx'"])


def test_a_depth_that_is_no_number_is_one_line(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}]\n")
    project.answers({"a": ["d"]})
    result = project.run("--ir-judge-depth=0")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*--ir-judge-depth: it must be a whole number of at least 1, not '0'"]
    )
