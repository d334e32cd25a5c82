"""Beside pytest-xdist: the same verdicts and reports in every mode, and what a worker's death leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.joined import joined
from pytest_irquality.verdict.result import Outcome, QueryResult, ShownDocument
from pytest_irquality.wording.notes import notes
from tests.conftest import QUIET, Project

pytest.importorskip("xdist")

QUERIES = "queries:\n" + "".join(f"  - {{query: q{i}, relevant: [d{i}], must_find: [d{i}], tags: [t{i % 2}]}}\n" for i in range(9))  # fmt: skip
LINES = "thresholds: {ndcg@10: 0.9, recall@10: 0.1}\neach_tag: {recall@10: 0.9}\n"
RETRIEVER = (
    "import pathlib\n"
    "@pytest.fixture(params=['old', 'new'])\ndef retriever(request):\n"
    "    with pathlib.Path(__file__).with_name('built.txt').open('a') as file: file.write(request.param)\n"
    "    def ask(query, k):\n"
    "        if query == 'q3': raise ConnectionError('down')\n"
    "        return ['x', 'd' + query[1:]] if request.param == 'old' else ['d' + str(int(query[1:]) % 6)]\n"
    "    return ask\n"
)


@pytest.mark.slow
def test_s13_every_mode_gives_the_same_report_and_the_same_outcomes(project: Project) -> None:
    project.suite(QUERIES + LINES + "errors: {max: 1}\n")
    project.suite(QUERIES + LINES, "deep/b.ir.yaml")
    project.conftest(RETRIEVER)
    built = project.path / "built.txt"
    seen, outcomes, builds = [], [], {}
    modes = ("", "load", "loadfile", "loadscope", "worksteal")
    for mode in modes:
        built.unlink(missing_ok=True)
        result = project.run(*(["-n2", f"--dist={mode}"] if mode else []), "--ir-report=none")
        data = project.data
        del data["timing"]
        seen.append(data)
        outcomes.append(result.parseoutcomes())
        builds[mode] = len(built.read_text()) // 3
        assert result.ret == 1
        assert (
            result.stdout.str().count("b [new] (deep/b.ir.yaml)") == 1
        )  # once, from the controller
    for outcome in outcomes:
        outcome.pop("warnings", None)
    assert all(data == seen[0] for data in seen), modes
    assert all(outcome == outcomes[0] for outcome in outcomes), outcomes
    assert builds[""] == builds["loadfile"] == builds["loadscope"] == 4


@pytest.mark.slow
def test_a_suite_that_is_named_is_summed_up_without_an_option(project: Project) -> None:
    project.suite(QUERIES)
    project.answers({f"q{i}": [f"d{i}"] for i in range(9)})
    result = project.pytester.runpytest("-p", "xdist", "-n1", *QUIET, "shop.ir.yaml")
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(["*= search quality =*", "*9 queries*"])


@pytest.mark.slow
def test_a_worker_that_dies_is_reported_and_what_was_finished_is_kept(project: Project) -> None:
    project.suite(QUERIES, "a.ir.yaml")
    project.suite(QUERIES, "b.ir.yaml")
    project.suite(QUERIES, "c.ir.yaml")
    project.conftest(
        "import os\n@pytest.fixture\ndef retriever(request):\n"
        "    def ask(query):\n"
        "        if query == 'q5' and request.path.name == 'b.ir.yaml': os._exit(3)\n"
        "        return ['d' + query[1:]]\n"
        "    return ask\n"
    )
    result = project.run("-n1", "--dist=loadfile", "--max-worker-restart=0")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*worker 'gw0' crashed while running 'b.ir.yaml::q0'*"])
    result.stdout.fnmatch_lines(["b.ir.yaml: NOT EVALUATED", "c.ir.yaml: NOT EVALUATED"])
    assert [suite["path"] for suite in project.data["suites"]] == ["a.ir.yaml"]
    assert project.data["not_evaluated"] == ["b.ir.yaml", "c.ir.yaml"]
    assert project.data["outcome"] == "failed"


@pytest.mark.slow
def test_a_retriever_that_answers_otherwise_elsewhere_fails_and_is_said(project: Project) -> None:
    project.suite(QUERIES)
    project.conftest(
        # two workers begin with q0 and q8 (each gets two items first); q8 runs where it passes, and only the other worker knows better
        "@pytest.fixture\ndef retriever(request):\n"
        "    good = request.node.name == 'q8'\n"
        "    return lambda query: ['d' + query[1:]] if good or query != 'q8' else []\n"
        "@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_collection_modifyitems(items): items.insert(2, items.pop())\n"
    )
    result = project.run("-v", "-n2", "--dist=load")
    result.assert_outcomes(passed=9)
    assert result.ret == 1
    assert project.outcomes()["q8"] == "failed"
    result.stdout.fnmatch_lines(
        ["*1 query had other answers in another worker: *; the worse verdict stands for 'q8'"]
    )


def result_of(*outcomes: Outcome, ranking: str = "d") -> SuiteResult:
    return SuiteResult(
        suite="s", path="s", retriever="", top_k=10, measures=(), formulas=(), shown=(), means=(),
        queries=(QueryResult("q", "q", 1, (), ranking=(ShownDocument(1, ranking),)),),
        verdicts=tuple(Verdict(f"c{n}", f"c{n}", n, outcome) for n, outcome in enumerate(outcomes)),
    )  # fmt: skip


def test_equal_results_join_without_a_word_but_for_their_times() -> None:
    one, two = result_of("passed", "failed"), replace(result_of("passed", "failed"), seconds=7.0)
    assert joined([one, two]) == (one, ()) or joined([one, two]) == (two, ())


def test_the_worse_verdict_stands_in_whatever_order_results_come() -> None:
    one = result_of("passed", "failed", "error", "known", "not evaluated", "error")
    two = result_of("error", "passed", "failed", "passed", "passed", "not evaluated", ranking="e")
    first, disputed = joined([one, two])
    assert joined([two, one])[0] == first
    assert [verdict.outcome for verdict in first.verdicts] == [
        "error",
        "failed",
        "failed",
        "known",
        "not evaluated",
        "error",
    ]
    assert [verdict.check for verdict in disputed] == ["c0", "c1", "c2", "c3", "c4", "c5"]
    assert notes(first)[0].endswith("the worse verdict stands for 'c0', 'c1', 'c2' and 3 more")
