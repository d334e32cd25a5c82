"""The calls that a session would make, reckoned before the first of them: engines may be paid."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import pytest

from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.plugin.internals import looks_only
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.outcomes import Judging
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.retrieval.run import deeper_than
from pytest_irquality.storage.commits import RUN
from pytest_irquality.suite import Suite

MOST = 100_000
RESULTS = 100  # of each call


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a session that would make too many."""
    config, plan = session.config, session.config.stash[PLAN]
    if plan.kept or looks_only(config):
        return
    options = Options(config)
    sides = 1 + any(given.startswith(RUN) for given in options.baseline)
    by_suite = [*_calls(plan, session.items)]
    calls = sides * sum(number for _, number in by_suite)
    results = sides * sum(number * suite.depth for suite, number in by_suite)
    most = options.max_calls or MOST
    if calls > most or results > RESULTS * most:
        plan.over_budget = (
            f"these suites ask for {calls:,} calls for {results:,} results, and the ini key"
            f" ir_max_calls allows {most:,} calls for {RESULTS * most:,}; raise it if that is meant"
        )
        if not hasattr(config, "workerinput"):  # of pytest-xdist, whose items say it
            raise pytest.UsageError(plan.over_budget)


def _calls(plan: Plan, items: Sequence[pytest.Item]) -> Iterator[tuple[Suite, int]]:
    """The calls of each suite and retriever on one side, at most.

    They are those for every wording, answer, stage, tie and retry.
    """
    queries: dict[tuple[Judging, str], set[str]] = {}
    for item in items:
        if isinstance(item, CheckItem):
            needed = plan.part(item.judging.suite).needed(item.check)
            asked = queries.setdefault((item.judging, item.retriever), set())
            asked.update(query.id for query in needed)
            if item.check.over.exam and plan.exams:
                for left in plan.exams.left(item.judging.suite, item.judging.path):
                    yield left, _number(left, {query.id for query in left.queries})
    for (judging, _), ids in queries.items():
        suite = judging.suite
        yield suite, _number(suite, ids)
        if plan.compares(suite, judging.path):  # each may be asked once more, to settle a tie
            deeper = replace(suite, depth=deeper_than(suite.depth))
            yield deeper, len(ids) * (1 + suite.retry.times)


def _number(suite: Suite, ids: Collection[str]) -> int:
    """The number of calls for some queries of a suite."""
    wordings = len(ids) + sum(variant.of in ids for variant in suite.reworded)
    first_stage = len(ids) if suite.stages else 0
    return (wordings * suite.repeat + first_stage) * (1 + suite.retry.times)
