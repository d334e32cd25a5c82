"""The queries without a relevant document, and which of them changed without anything noticing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.demands import NewZeroResults
from pytest_irquality.suite.model import Check, Guard, Limits, Query
from pytest_irquality.suite.rules import Rule
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.scoring import counts_zero, defined_for


def without_relevant(comparison: Comparison) -> Iterator[facts.Fact]:
    """Queries without a relevant document, graded or not, or that the suite has no grade at all."""
    if comparison.suite.says_nothing:
        yield facts.NothingExpected()
        return
    for graded in (False, True):
        some = [q for q in _undefined(comparison) if bool(q.judgments.grades) == graded]
        if some:
            ids, of = tuple(query.id for query in some), len(comparison.sides.asked)
            unseen = 0 if graded else _unseen(comparison, some)
            score_0 = comparison.suite.defines(some[0])
            yield facts.WithoutRelevant(ids, of, score_0, graded, unseen)


def _undefined(comparison: Comparison) -> Sequence[Query]:
    asked = comparison.sides.asked
    return [query for query in asked if not (query.expects_nothing or query.judgments.relevant)]


def _unseen(comparison: Comparison, ungraded: Iterable[Query]) -> int:
    """The number of queries that changed, and that no limit, guard or rule looks at."""
    changed = comparison.sides.changed
    some = [query for query in ungraded if query.id in changed and not query.demands]
    checks = comparison.suite.checks
    return sum(not any(_sees_results(comparison, one, query) for one in checks) for query in some)


def _sees_results(comparison: Comparison, check: Check, query: Query) -> bool:
    """Tell whether a check over many could fail by what an ungraded query returns now."""
    if not _is_over(check, query):
        return False
    demand, sides = check.demand, comparison.sides
    if not isinstance(demand, (Guard, Limits)):
        return isinstance(demand, Rule)
    if demand.needs_relevant or not demand.can_fail:
        return False
    if _sees_only_whether_any(demand) and sides.rankings[query.id] and sides.before[query.id]:
        return False
    return isinstance(demand, Guard) or _reads_ranking(demand.measure, comparison, query)


def _is_over(check: Check, query: Query) -> bool:
    return bool(query.tags) if check.over.each_tag else check.tag in (None, *query.tags)


def _sees_only_whether_any(demand: Guard | Limits) -> bool:
    """Tell whether it is all one to a demand which results come, if any does."""
    if isinstance(demand, Guard):
        return isinstance(demand, NewZeroResults)
    return counts_zero(demand.measure)


def _reads_ranking(measure: Measure, comparison: Comparison, query: Query) -> bool:
    return measure.unit != "seconds" and defined_for(comparison.suite, measure, query)
