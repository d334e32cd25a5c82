"""The class of each query in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.comparison import Comparison, Then
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.ledger import QUERIES, in_order


@dataclass(frozen=True)
class Skipped(Fact):
    """Queries (ids) of ``total`` that their calls skipped."""

    queries: tuple[str, ...]
    total: int


def classes_of(
    comparison: Comparison, then: Then | None = None, unsettled: Collection[str] = ()
) -> Mapping[str, int]:
    """The number of queries in each class.

    Without ``then``, what the base's suite says, the baseline tells which queries left, and nothing
    is known of judgments. ``unsettled`` are the ids of the queries of which nobody knows how a tie
    fell.
    """
    baseline = comparison.baseline
    if then is None:
        edited = baseline.edited if baseline else ()
        then = Then({}, {"removed": len(baseline.left) if baseline else 0}, edited)
    elif baseline:
        then = replace(then, reworded={*then.reworded, *baseline.edited})
    found = Counter(then.left)
    for query in comparison.suite.queries:
        found[_class(comparison, query, then, unsettled)] += 1
    return in_order(found, QUERIES)


def _class(comparison: Comparison, query: Query, then: Then, unsettled: Collection[str]) -> str:
    run, before, id = comparison.sides.run, comparison.sides.baseline_run, query.id
    if (missing := _why_unanswered(run, id)) in ("not asked", "skipped"):
        return missing
    if id in then.reworded:
        return "reworded"
    if missing:
        return missing
    if before is None:
        return "other"
    if id not in before.answered:
        return "unanswered then" if then.asked(id) or id in before.faults else "new"
    return _compared(query, then, id in unsettled)


def _why_unanswered(run: Run, id: str) -> str:
    """The class of a query that has no answer; "" of another."""
    if fault := run.faults.get(id):
        return "skipped" if fault.skipped else "unanswered now"
    return "" if id in run.answered else "not asked"


def _compared(query: Query, then: Then, unsettled: bool) -> str:
    now = query.judgments
    was = then.judgments.get(query.id, now)
    if was.relevant and not now.relevant:
        return "unjudged now"
    if unsettled:
        return "tie unsettled"
    if query.id in then.moved:
        return "moved"
    same = (was.grades, was.relevant) == (now.grades, now.relevant)
    return "compared" if same else "compared with other judgments"
