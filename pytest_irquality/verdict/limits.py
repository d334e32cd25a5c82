"""Limits: the value of a measure, or its change, held against each bound of a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, NamedTuple

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.demands import Bound
from pytest_irquality.suite.model import Limits, Query
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.findings import Change, Finding, Lack
from pytest_irquality.verdict.statistics import EQUAL


class Subject(NamedTuple):
    """The subject of a limit: the whole suite (name ""), a tag or a query.

    No ``queries``: there are none that the judgments could define the measure for.
    """

    name: str
    queries: Sequence[Query]
    change: Change | None = None


def hold(comparison: Comparison, limits: Limits, subject: Subject) -> Iterator[Finding]:
    """A finding for each bound of a line on one subject."""
    for bound in limits.bounds:
        held = _hold_change if bound.on_change else _hold_value
        yield held(comparison, limits.measure, bound, subject)


def nothing_to_compare(comparison: Comparison, limits: Limits) -> Iterator[Finding]:
    """Findings in place of bounds on a change, where there is no baseline to take it from.

    There is one for each bound, once a line.
    """
    lacks = comparison.missing_baseline(limits.measure)
    for bound in limits.bounds:
        if lacks and (bound.on_change or limits.measure.definition.compares):
            yield undecided(limits.measure, bound, "", lacks)


def margin(finding: Finding) -> float:
    """The distance of a finding from breaking, the worst lowest."""
    if finding.value is None or finding.limit is None:
        return -inf if not finding.ok else inf
    return finding.demand.left(finding.value, finding.limit)


def undecided(measure: Measure, bound: Bound, subject: str, lacks: Lack, of: int = 0) -> Finding:
    """A limit that has no value to be held against.

    It holds only where there is nothing yet that it could be.
    """
    return _finding(measure, bound, subject, lacks.why.excused, lacks=lacks, of=of)


def _finding(measure: Measure, bound: Bound, subject: str, ok: bool, **more: Any) -> Finding:
    unit = "share" if bound.share or bound.relative else measure.unit
    more.update(measure=str(measure), limit=bound.value, unit=unit)
    return Finding(subject, bound.key, ok, bound.fails, **more)


def _hold_value(
    comparison: Comparison, measure: Measure, bound: Bound, subject: Subject
) -> Finding:
    queries, compares = subject.queries, measure.definition.compares
    total = comparison.scores.aggregate(measure, queries)
    value = total.value
    if value is None:
        lacks = comparison.nothing_compared(queries, measure) if compares else Lack("defined")
        return undecided(measure, bound, subject.name, lacks, len(queries))
    if bound.share:
        value /= max(total.n, 1)
    ok = bound.left(value, bound.value) >= -EQUAL
    return _finding(
        measure,
        bound,
        subject.name,
        ok,
        value=value,
        queries=total.n,
        of=len(queries) if compares else 0,
    )


def _hold_change(
    comparison: Comparison, measure: Measure, bound: Bound, subject: Subject
) -> Finding:
    change = subject.change
    of = comparison.limited(measure, subject.queries)
    if change is None:
        lacks = comparison.nothing_compared(subject.queries, measure)
        return undecided(measure, bound, subject.name, lacks, of)
    value, ok = bound.worsening(change.before, change.now), within(bound, change)
    return _finding(
        measure,
        bound,
        subject.name,
        ok,
        value=None if value == inf else value,
        queries=change.queries,
        change=change,
        of=of,
    )


def within(bound: Bound, change: Change) -> bool:
    """Tell whether a change is allowed.

    One that may be chance is, where the bound asks for a test.
    """
    if bound.left(bound.worsening(change.before, change.now), bound.value) >= -EQUAL:
        return True
    if not bound.tested:
        return False
    p = change.judged_p
    return p is None or p >= SIGNIFICANT or -change.difference <= (change.noise or 0.0)
