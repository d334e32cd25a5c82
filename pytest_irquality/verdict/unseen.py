"""The queries without a relevant document, and which of them changed without anything noticing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.suite.demands import NewZeroResults
from pytest_irquality.suite.lint import unmatched
from pytest_irquality.suite.model import Check, Guard, Limits, Query, Suite
from pytest_irquality.suite.rules import Rule
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.scoring import counts_zero
from pytest_irquality.verdict.sides import Sides


def of_files(suite: Suite) -> Iterator[facts.Fact]:
    """The notes on what a suite's files hold; a wrong id in one of them is no footnote."""
    missed = unmatched(suite)
    if missed:
        yield facts.Unmatched(missed, missed)
    yield from (
        facts.Remark(note) for note in suite.notes if not (missed and note in suite.unasked)
    )


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
    sides = comparison.sides
    changed = [query for query in ungraded if query.id in sides.changed and not query.demands]
    checks = comparison.suite.checks
    return sum(not any(_could_break(one, query, sides) for one in checks) for query in changed)


def _could_break(check: Check, query: Query, sides: Sides) -> bool:
    """Tell whether a check over many could break by what an ungraded query returns now."""
    if check.tag not in (None, *query.tags) or (check.over.each_tag and not query.tags):
        return False
    if not sides.rankings[query.id] or not sides.before[query.id]:
        return _looks_at_results(check)
    return _looks_at_results(check) and not _asks_for_any(check)


def _looks_at_results(check: Check) -> bool:
    """Tell whether a check can fail by results that nobody graded."""
    match check.demand:
        case Rule():
            return True
        case Guard() as guard:
            return guard.can_fail and not guard.needs_relevant
        case Limits(measure=measure) as limits:
            return limits.can_fail and not measure.needs_relevant and measure.unit != "seconds"
    return False


def _asks_for_any(check: Check) -> bool:
    """Tell whether any result does for a check."""
    if check.limits:
        return counts_zero(check.limits.measure)
    return isinstance(check.demand, NewZeroResults)
