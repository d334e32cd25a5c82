"""The queries without a relevant document, and which of them changed without anything noticing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.suite.demands import NewZeroResults
from pytest_irquality.suite.model import Check, Guard, Limits, Query, Suite
from pytest_irquality.suite.rules import Rule
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.scoring import counts_zero


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
    if check.tag not in (None, *query.tags) or (check.over.each_tag and not query.tags):
        return False
    sides = comparison.sides
    returns_any = bool(sides.rankings[query.id] and sides.before[query.id])
    match check.demand:
        case Rule():
            return True
        case Guard() as guard:
            blind = guard.needs_relevant or (returns_any and isinstance(guard, NewZeroResults))
            return guard.can_fail and not blind
        case Limits() as limits:
            measure = limits.measure
            blind = limits.needs_relevant or (returns_any and counts_zero(measure))
            return not blind and measure.unit != "seconds" and any(b.fails for b in limits.bounds)
    return False
