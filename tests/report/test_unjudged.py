"""``--ir-unjudged``: what to judge next, in the order in which it could matter, ready to be filled in."""

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
    result = project.run("--ir-unjudged=todo.csv")
    result.stdout.fnmatch_lines(["report: todo.csv"])
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
    project.run("--ir-unjudged=more.csv")
    more = (project.path / "more.csv").read_text("utf-8")
    assert '"near, ""the"" limit",x' not in more
    assert '"near, ""the"" limit",y' in more


def test_a_suite_that_matches_by_text_has_nothing_unjudged(project: Project) -> None:
    project.suite("match: text\nqueries: [{query: a, relevant: [some words]}]\n")
    project.answers({"a": [{"id": "1", "text": "Some words here"}, {"id": "2", "text": "others"}]})
    project.run("--ir-unjudged=todo.csv")
    assert rows(project) == []
