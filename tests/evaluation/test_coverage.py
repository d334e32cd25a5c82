"""Coverage: every query has one status, and the counts add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_irquality.evaluation.decide import decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.evaluation.results import Coverage
from pytest_irquality.retrieval.run import QueryError, Run
from pytest_irquality.suite.model import RetrieverId, RunKey
from tests.builders import GOOD, make_query, make_run, make_suite
from tests.evaluation.decision_builders import decide_on, make_branch, make_runs

SHOP = make_suite("shop")


def test_every_query_has_one_status() -> None:
    """Of 20 queries, one has no answer, two did not run, three have no baseline."""
    answers = {query.request: (GOOD,) for query in SHOP.queries[3:]}
    run = Run(answers, {SHOP.queries[0].request: QueryError("boom")})
    baseline_run = Run({query.request: (GOOD,) for query in SHOP.queries[:17]})

    coverage = decide_on([SHOP], run, baseline_run).coverage

    assert coverage == Coverage(compared=14, new=3, no_answer=1, not_run=2, comparable=17)
    assert coverage.total == 20


def test_query_that_moved_is_not_removed() -> None:
    base = make_branch([SHOP], make_run(SHOP))
    moved = [make_suite("shop", SHOP.queries[2:]), make_suite("other", SHOP.queries[:1])]

    coverage = decide_on(moved, make_run(SHOP), make_run(SHOP), base=base).coverage

    assert (coverage.compared, coverage.removed, coverage.base_only) == (19, 1, 1)


def test_reworded_query_is_new_and_removed() -> None:
    """S34: the broken queries get another text."""
    reworded = [replace(query, text=f"{query.text}!") for query in SHOP.queries[:8]]
    suite = make_suite("shop", [*reworded, *SHOP.queries[8:]])
    base = make_branch([SHOP], make_run(SHOP))

    coverage = decide_on([suite], make_run(suite, SHOP), make_run(suite), base=base).coverage

    assert (coverage.compared, coverage.new, coverage.removed) == (12, 8, 8)


def test_suite_counts_once_for_each_retriever() -> None:
    other = RetrieverId("other")
    suites = (SHOP, replace(SHOP, retriever=other))
    runs = {**make_runs(make_run(SHOP)), RunKey(other): make_run(SHOP)}

    coverage = decide(Branch(suites=suites), runs).coverage

    assert coverage.new == 40


def test_suite_that_could_not_run_is_not_run() -> None:
    coverage = decide(make_branch([SHOP], make_run(SHOP)), {}).coverage

    assert (coverage.not_run, coverage.comparable) == (20, 20)
    assert coverage.has_large_gap


@pytest.mark.parametrize(
    ("coverage", "text"),
    [
        (Coverage(compared=20), "20 queries: 20 compared"),
        (Coverage(new=1), "1 query: 1 new"),
        (
            Coverage(compared=1200, new=1, no_answer=2, not_run=3, removed=4),
            "1,206 queries: 1,200 compared, 1 new, 2 no answer, 3 not run (and 4 removed)",
        ),
        (Coverage(removed=20), "0 queries (and 20 removed)"),
    ],
)
def test_description_adds_up(coverage: Coverage, text: str) -> None:
    assert str(coverage.describe()) == text


def test_copy_of_a_query_counts_as_a_query() -> None:
    suite = make_suite("shop", [*SHOP.queries, make_query("shop 0", id="again")])

    coverage = decide_on([suite], make_run(suite), make_run(suite)).coverage

    assert coverage.compared == 21
