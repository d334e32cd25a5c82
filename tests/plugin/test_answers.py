"""Several answers to a query, through ``pytest --ir-suite``: whatever else calls and runs go
through works as with one.
"""

from __future__ import annotations

import re

import pytest

from tests.conftest import Project
from tests.report.made import data_of

SUITE = """\
repeat: 3
metrics: [mrr@10]
queries:
  - {query: office chair, relevant: [a], must_find: {a: 1}}
  - {query: garden hose, relevant: [b]}
  - {query: tap, relevant: [c]}
"""
# The n-th answer to a query is the same whoever asks, in whichever order and thread.
ENGINE = """\
import collections, threading
TURN = {'office chair': [['a'], ['a', 'x'], ['x', 'a']], 'garden hose': [['b'], ['x', 'b'], ['b']]}
@pytest.fixture(scope='session')
def retriever():
    asked, lock = collections.Counter(), threading.Lock()
    def search(query):
        with lock:
            turn = asked[query]
            asked[query] += 1
        return TURN[query][turn % 3] if query in TURN else ['c']
    yield search
    print('ASKED', sum(asked.values()))
"""


def figures(project: Project) -> dict[str, float]:
    (suite,) = project.data["suites"]
    return {mean["measure"]: mean["value"] for mean in suite["means"] if mean["tag"] is None}


MEANS = {
    "mrr@10": pytest.approx(((1 + 1 + 1 / 2) / 3 + (1 + 1 / 2 + 1) / 3 + 1) / 3),
}


@pytest.mark.parametrize("options", [(), ("--ir-concurrency=4",)])
def test_however_many_calls_are_in_flight(project: Project, options: tuple[str, ...]) -> None:
    project.suite(SUITE)
    project.conftest(ENGINE)
    result = project.run("-s", *options)
    assert result.ret == 0
    assert "ASKED 9" in result.stdout.str()
    assert figures(project) == MEANS


@pytest.mark.slow
def test_beside_xdist(project: Project) -> None:
    pytest.importorskip("xdist")
    project.suite(SUITE)
    project.conftest(ENGINE)
    project.run()
    alone = project.data["suites"]
    project.run("-n2", "--dist=loadfile")
    assert project.data["suites"] == alone
    assert figures(project) == MEANS


def test_shares_of_several_answers_are_joined(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(ENGINE)
    project.run()
    alone = project.data["suites"]
    for share in (1, 2):
        project.run(f"--ir-save-runs=kept,shard={share}/2")
    project.conftest("@pytest.fixture\ndef retriever(): raise AssertionError('not called')\n")
    project.run("--ir-runs=kept")
    joined = project.data["suites"]
    assert [suite["noise"] for suite in joined] == [suite["noise"] for suite in alone]
    assert [suite["queries"] for suite in joined] == [suite["queries"] for suite in alone]


def test_a_kept_run_is_judged_as_it_was(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(ENGINE)
    project.run("--ir-save-runs=kept")
    asked = project.data["suites"]
    project.run("--ir-runs=kept")
    assert [suite["queries"] for suite in project.data["suites"]] == [
        suite["queries"] for suite in asked
    ]


BROKEN = """\
@pytest.fixture
def retriever():
    asked = []
    def search(query):
        asked.append(query)
        if asked.count('tap') == 2 and query == 'tap':
            {fails}
        return ['a', 'b', 'c']
    return search
"""


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("raise OSError('engine is down')", "engine is down"),
        ("import threading; threading.Event().wait()", "no answer within 1 s"),
    ],
)
def test_one_failed_call_leaves_its_query_unanswered(
    project: Project, fails: str, said: str
) -> None:
    timeout = "timeout: 1s\n" if "wait" in fails else ""
    project.suite(SUITE + timeout)
    project.conftest(BROKEN.format(fails=fails))
    result = project.run()
    assert result.ret == 1
    assert project.outcomes()["tap"] == "error"
    assert said in result.stdout.str()
    (suite,) = project.data["suites"]
    assert [query["id"] for query in suite["queries"] if query["fault"]] == ["tap"]
    mean = suite["means"][0]
    assert (mean["queries"], mean["value"]) == (2, pytest.approx((1 + 1 / 2) / 2))
    project.suite(SUITE + timeout + "errors: {max: 1}\n")
    assert project.run("--deselect=shop.ir.yaml::tap").ret == 0


def test_a_call_that_is_retried_is_one_answer(project: Project) -> None:
    project.suite(SUITE + "retry: {times: 1, on: [5xx]}\n")
    fails = "error = OSError('HTTP 503'); error.retry_after = 0; raise error"
    project.conftest(BROKEN.format(fails=fails))
    assert project.run().ret == 0
    assert project.data["suites"][0]["noise"]["answers"] == 3


def test_passages_are_looked_for_in_every_answer(project: Project) -> None:
    project.suite(
        "repeat: 3\nmatch: text\nmetrics: [recall@5]\n"
        "queries:\n  - query: rent\n    relevant: [the rent is due on the third]\n"
        "    must_find: {the rent is due on the third: 5}\n"
    )
    project.conftest(
        "TURNS = [['The rent is due on the third.'], ['The rent is due', 'on the third.'],\n"
        "         ['no', 'we say: the rent is due on the third']]\n"
        "@pytest.fixture\ndef retriever():\n"
        "    turns = iter(TURNS)\n"
        "    return lambda query: [{'id': text, 'text': text} for text in next(turns)]\n"
    )
    result = project.run()
    assert result.ret == 0, result.stdout.str()
    assert figures(project) == {"recall@5": pytest.approx(2 / 3)}
    assert "it was not returned" in result.stdout.str()
    assert "(in 1 of 3 answers)" in result.stdout.str()
    project.run("--ir-update-baseline")
    project.run("--ir-save-runs=kept")
    project.run("--ir-runs=kept")
    assert figures(project) == {"recall@5": pytest.approx(2 / 3)}


def test_a_passage_without_text_in_one_answer(project: Project) -> None:
    """Then there is no text to look in, and the query is not answered."""
    project.suite(
        "repeat: 2\nmatch: text\nmetrics: [recall@5]\n"
        "queries: [{query: rent, relevant: [the rent is due on the third]},\n"
        "          {query: tax, relevant: [the tax is due on the fifth]}]\n"
    )
    project.conftest(
        "N = []\n"
        "@pytest.fixture\ndef retriever():\n"
        "    def search(query):\n"
        "        N.append(query)\n"
        "        if len(N) == 3:\n"
        "            return [{'id': 'chunk', 'text': None}]\n"
        "        return [{'id': 'k', 'text': f'the {query} is due on the third'}]\n"
        "    return search\n"
    )
    result = project.run()
    assert result.ret == 1
    assert project.outcomes()["rent"] == "error"
    assert "INTERNALERROR" not in result.stdout.str()


def test_ranks_are_medians_with_how_often(project: Project) -> None:
    project.suite(SUITE.replace("must_find: {a: 1}", "must_not_find: [x]"))
    project.conftest(ENGINE)
    result = project.run()
    assert result.ret == 1
    text = result.stdout.str()
    assert "x must not be in the top 10: it is at rank 1 (in 2 of 3 answers)" in text
    (chair, *_) = project.data["suites"][0]["queries"]
    shown = [(d["id"], d["rank"], d["in_answers"]) for d in chair["ranking"]]
    assert shown == [("a", 1, 3), ("x", 2, 2)]
    assert re.search(r"^ +2  \S+  x .*← in 2 of 3 answers$", text, re.M)
    assert chair["answers"] == 3


def test_what_some_answers_break_is_a_warning_with_its_count(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(ENGINE)
    result = project.run()
    assert result.ret == 0
    assert "a must be in the top 1: it is at rank 2 (in 1 of 3 answers)" in result.stdout.str()


def test_a_known_issue_that_wavers_is_neither_broken_nor_mended(project: Project) -> None:
    project.suite(SUITE.replace("must_find: {a: 1}", "must_find: {a: 1}, known_issue: S-1"))
    project.conftest(ENGINE)
    result = project.run()
    assert result.ret == 0
    assert project.outcomes()["office-chair"] == "known"


def test_zero_results_are_those_of_every_answer(project: Project) -> None:
    project.suite(
        "repeat: 2\nmetrics: [zero_results]\nthresholds: {zero_results: {max: 1}}\n"
        "queries: [{query: a, relevant: [d]}, {query: b, relevant: [d]}, {query: c, relevant: [d]}]\n"
    )
    project.conftest(
        "TURN = {'a': [[], ['d']], 'b': [[], []], 'c': [['d'], []]}\n"
        "@pytest.fixture\ndef retriever(): return lambda query: TURN[query].pop(0)\n"
    )
    result = project.run()
    assert result.ret == 0
    assert figures(project) == {"zero_results": 1.0}
    assert "1 of 3 (33 %) queries returned nothing and score 0: 'b'" in result.stdout.str()


def test_nothing_is_said_unchanged_that_another_answer_changed(project: Project) -> None:
    """The first answers of both sides may be alike where the others are not."""
    project.suite("repeat: 2\nmetrics: [mrr@10]\nqueries: [{query: a, relevant: [d]}]\n")
    one = "@pytest.fixture\ndef retriever():\n    turns = iter({})\n    return lambda query: next(turns)\n"
    project.conftest(one.format("[['d'], ['d']]"))
    project.run("-v", "--ir-update-baseline")
    project.conftest(one.format("[['d'], ['x', 'y', 'd']]"))
    text = project.run("-v").stdout.str()
    assert "none of 1" not in text
    assert "1 of 1 (100 %) rankings changed" in text


@pytest.mark.usefixtures("pages")
def test_the_medians_reach_the_page(project: Project) -> None:
    project.suite(
        "repeat: 3\nmetrics: [mrr@10]\nqueries: [{query: q, relevant: [a], must_find: {a: 1}}]\n"
    )
    project.conftest(
        "TURNS = [['x', 'y', 'a'], ['y', 'x', 'a'], ['a', 'y', 'x']]\n"
        "@pytest.fixture\ndef retriever():\n"
        "    turns = iter(TURNS)\n    return lambda query: next(turns)\n"
    )
    project.run()
    (query,) = project.data["suites"][0]["queries"]
    assert [(d["id"], d["rank"]) for d in query["ranking"]] == [("x", 2), ("y", 2), ("a", 3)]
    (section,) = data_of((project.path / "ir-report.html").read_text(encoding="utf-8"))["sections"]
    assert section["details"][0]["ranks"] == [2, 2, 3]
