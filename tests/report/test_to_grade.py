"""``--ir-judge=todo.csv``: what to judge next, in the order in which it could matter, ready to be filled in."""

from __future__ import annotations

import csv
from collections.abc import Mapping

import pytest

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


def test_a_list_has_a_row_a_document_and_goes_back_in_as_judgments(
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
    assert [(row["query"], row["docid"], row["rating"], row["title"]) for row in rows(project)] == [
        ("sure", "x", "", "T, x"),
        ('near, "the" limit', "x", "", "T, x"),
        ('near, "the" limit', "y", "", "T, y"),
        ("free", "y", "", "T, y"),
    ]
    text = (project.path / "todo.csv").read_text("utf-8").replace('limit",x,,', 'limit",x,2,')
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
    project.run("--ir-judge=todo.csv,depth=2")
    assert [row["docid"] for row in rows(project)] == ["old", "new"], "whoever returned it"


@pytest.mark.slow
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
        ["to grade: judge.html: 1 document of 1 query that nobody has graded*"]
    )
    assert (project.path / "judge.html").read_text("utf-8").startswith("<!doctype html>")
    result = project.run("--ir-judge=judge.xlsx")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ir-judge: it must end in .html or .csv, not be 'judge.xlsx'"])


def test_a_depth_that_is_no_number_is_one_line(project: Project) -> None:
    project.suite("queries: [{query: a, relevant: [d]}]\n")
    project.answers({"a": ["d"]})
    result = project.run("--ir-judge=todo.csv,depth=0")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*--ir-judge: depth: it must be a whole number of at least 1, not '0'"]
    )


# -- whose results are in the pool -----------------------------------------------------------------


def test_the_pool_has_every_retriever_the_baseline_and_every_kept_run_that_is_named(
    project: Project,
) -> None:
    project.suite("queries: [{query: a}, {query: b}]\n")
    for name in ("old", "older"):
        project.answers({"a": [name, "both"], "b": []})
        project.run(f"--ir-save-runs=kept/{name}")
    (project.path / "other.run").write_text("a Q0 trec 1 2 x\na Q0 both 2 1 x\n")
    project.answers({"a": ["committed"], "b": []})
    project.run("--ir-update-baseline")
    project.conftest(
        "@pytest.fixture(params=['one', 'two'])\ndef retriever(request):\n"
        "    return lambda query: [request.param, 'both'] if query == 'a' else []\n"
    )
    project.run("--ir-judge=todo.csv")
    assert {row["docid"] for row in rows(project)} == {"one", "two", "both", "committed"}
    project.run("--ir-judge=todo.csv", "--ir-baseline=kept")
    assert {row["docid"] for row in rows(project)} == {"one", "two", "both", "old", "older"}
    project.answers({"a": ["today"], "b": []})
    project.run("--ir-judge=todo.csv")
    assert {row["docid"] for row in rows(project)} == {"today", "committed"}
    project.run("--ir-judge=todo.csv", "--ir-runs=kept/old", "--ir-baseline=other.run")
    assert {row["docid"] for row in rows(project)} == {"old", "both", "trec"}
    result = project.run("--ir-judge=judge.html", "--ir-runs=kept/old")
    result.stdout.fnmatch_lines(
        ["to grade: judge.html: 3 documents of 1 query that nobody has graded;"
         " nothing good is known for 1 query*"]
    )  # fmt: skip


def test_nothing_in_a_list_or_a_page_tells_which_engine_found_what(project: Project) -> None:
    def written(*rankings: list[str]) -> tuple[str, str]:
        for name, ids in zip(("kept", "now"), rankings, strict=True):
            project.answers({"a": ids})
            project.run(f"--ir-save-runs={name}")
        found = []
        for name in ("todo.csv", "judge.html"):
            project.run(f"--ir-judge={name}", "--ir-runs=now", "--ir-baseline=kept")
            found.append((project.path / name).read_text("utf-8"))
        return found[0], found[1]

    project.suite("queries: [{query: a, relevant: [other]}]\n")
    assert written(["a", "b", "c"], ["z", "d", "e"]) == written(["e", "d", "z"], ["c", "b", "a"])


def test_what_a_judge_skipped_is_not_asked_again(project: Project) -> None:
    project.suite("judgments: j.csv\nqueries: [{query: a}, {query: b, relevant: [z]}]\n")
    (project.path / "j.csv").write_text("query,doc_id,rating,judge,note\na,,,anna,unclear\n")
    project.answers({"a": ["d"], "b": ["e"]})
    result = project.run("--ir-judge=todo.csv")
    result.stdout.fnmatch_lines(
        ["to grade: todo.csv: 1 document of 1 query that nobody has graded"]
    )
    assert [row["docid"] for row in rows(project)] == ["e"]


def test_a_judged_document_that_nothing_returns_is_a_second_opinion_where_a_judge_is_named(
    project: Project,
) -> None:
    project.suite(
        "judgments: j.csv\ncorpus: {files: c.jsonl}\nqueries: [{query: a, relevant: [nobodys]}]\n"
    )
    (project.path / "j.csv").write_text("query_id,doc_id,rating,judge\na,added,3,anna\n")
    (project.path / "c.jsonl").write_text('{"id": "added", "title": "An added one", "text": "x"}\n')
    project.answers({"a": ["d"]})
    project.run("--ir-judge=judge.html")
    page = (project.path / "judge.html").read_text("utf-8")
    assert '["added","An added one","x"]' in page
    assert '"id":"added"' in page
    assert "nobodys" not in page
    (project.path / "c.jsonl").write_text('{"id": "added"}\nno JSON\n')
    result = project.run("--ir-judge=judge.html")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*c.jsonl:2:1: a corpus has a chunk a line, as JSON*"])


def test_where_the_build_passed_the_queries_that_could_turn_it_red_decide(project: Project) -> None:
    project.suite(
        "top_k: 3\nqueries:\n"
        "  - {query: near, relevant: {a: 1}, thresholds: {ndcg@3: 0.49}}\n"
        "  - {query: far, relevant: {a: 1}}\n"
        "  - {query: safe, relevant: {a: 1}, thresholds: {ndcg@3: 0.1}}\n"
    )
    project.answers({"near": ["x", "y", "a"], "far": ["a", "b"], "safe": ["a", "x"]})
    result = project.run("--ir-judge=judge.html")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*; judge.html#decides has 1 query that could turn the verdict*"])
    project.answers({"near": ["a"], "far": ["a", "b"], "safe": ["a", "x"]})
    result = project.run("--ir-judge=judge.html")
    result.stdout.no_fnmatch_line("*#decides*")
