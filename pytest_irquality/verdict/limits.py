"""Limits: the value of a measure, or its change since the baseline, held against each bound of a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.model import Bound, Limits, Query
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.facts import Change, Finding, Lack
from pytest_irquality.verdict.statistics import EQUAL

# How far within its bound a value is, negative where it is beyond. What rises too far is above its bound, as a ceiling.
WITHIN: Mapping[str, Callable[[float, float], float]] = {
    "min": lambda value, limit: value - limit,
    "max": lambda value, limit: limit - value,
    "warn_below": lambda value, limit: value - limit,
    "warn_above": lambda value, limit: limit - value,
}


class Subject(NamedTuple):
    """What a limit is held against: the whole suite (name ""), a tag or a query.

    No ``queries``: there are none that the judgments could define the measure for.
    """

    name: str
    queries: Sequence[Query]
    change: Change | None = None


def hold(sides: Comparison, limits: Limits, subject: Subject) -> Iterator[Finding]:
    """A finding for each bound of a line on one subject."""
    for bound in limits.bounds:
        if bound.on_change:
            yield _hold_change(limits.measure, bound, subject)
        else:
            yield _hold_value(sides, limits.measure, bound, subject)


def nothing_to_compare(sides: Comparison, limits: Limits) -> Iterator[Finding]:
    """What stands in place of the bounds on a change, once a line, where there is no baseline to take it from."""
    lacks = sides.missing_baseline(limits.measure)
    for bound in limits.bounds:
        if lacks and (bound.on_change or limits.measure.definition.compares):
            yield undecided(limits.measure, bound, "", lacks)


def margin(finding: Finding) -> float:
    """How far a finding is from breaking, the worst lowest."""
    if finding.value is None or finding.limit is None:
        return -inf if not finding.ok else inf
    within = WITHIN.get(finding.kind, WITHIN["max"])
    return within(finding.value, finding.limit)


def undecided(
    measure: Measure, bound: Bound, subject: str, lacks: Lack, *, ok: bool = False
) -> Finding:
    """A limit that has no value to be held against."""
    return Finding(
        subject,
        bound.kind,
        ok,
        bound.fails,
        str(measure),
        limit=bound.value,
        unit=_unit(measure, bound),
        lacks=lacks,
    )


def _unit(measure: Measure, bound: Bound) -> str:
    return "share" if bound.share or bound.relative else measure.unit


def _hold_value(sides: Comparison, measure: Measure, bound: Bound, subject: Subject) -> Finding:
    total = sides.measured.aggregate(measure, subject.queries)
    value = total.value
    if value is None:
        # New queries have nothing to agree with; what no judgment defines is no pass.
        compares = bool(measure.definition.compares and subject.queries)
        lacks = Lack("compared") if compares else Lack("defined")
        return undecided(measure, bound, subject.name, lacks, ok=compares)
    if bound.share:
        value /= max(total.n, 1)
    return Finding(
        subject.name,
        bound.kind,
        WITHIN[bound.kind](value, bound.value) >= -EQUAL,
        bound.fails,
        str(measure),
        value,
        bound.value,
        total.n,
        _unit(measure, bound),
    )


def _hold_change(measure: Measure, bound: Bound, subject: Subject) -> Finding:
    change = subject.change
    if change is None:
        lacks = Lack("compared") if subject.queries else Lack("defined")
        return undecided(measure, bound, subject.name, lacks, ok=bool(subject.queries))
    worsened = change.difference if bound.kind == "max_rise" else -change.difference
    value = worsened
    if bound.relative:
        value = worsened / abs(change.before) if change.before else (0.0 if worsened <= 0 else inf)
    ok = value <= bound.value + EQUAL
    if not ok and bound.kind == "max_significant_drop":
        p = change.adjusted if change.adjusted is not None else change.p
        ok = p is None or p >= SIGNIFICANT or worsened <= (change.noise or 0.0)
    return Finding(
        subject.name,
        bound.kind,
        ok,
        bound.fails,
        str(measure),
        None if value == inf else value,
        bound.value,
        change.queries,
        _unit(measure, bound),
        change=change,
    )
