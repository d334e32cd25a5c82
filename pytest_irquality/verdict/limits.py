"""Limits: the value of a measure, or its change since the baseline, held against each bound of a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.model import Bound, Limits, Query
from pytest_irquality.verdict.comparison import SIGNIFICANT, Comparison
from pytest_irquality.verdict.measured import counts_zero
from pytest_irquality.verdict.result import Change, Finding
from pytest_irquality.wording.numbers import apart, count, probability, shown, told_apart

TOLERANCE = 1e-9

# How far within its bound a value is, negative where it is beyond; how a value that holds is told, and one that breaks.
BOUNDS: Mapping[str, tuple[Callable[[float, float], float], str, str]] = {
    "min": (lambda value, limit: value - limit, "at or above its floor", "below its floor"),
    "max": (lambda value, limit: limit - value, "at or below its ceiling", "above its ceiling"),
    "warn_below": (lambda value, limit: value - limit, "not below", "below"),
    "warn_above": (lambda value, limit: limit - value, "not above", "above"),
}


class Subject(NamedTuple):
    """What a limit is held against: the whole suite (name ""), a tag or a query; ``said`` begins every text on it.

    No ``queries``: there are none that the judgments could define the measure for.
    """

    name: str
    said: str
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
    """What is said in place of the bounds on a change, once a line, where there is no baseline to take it from."""
    reason = sides.missing_baseline(limits.measure)
    for bound in limits.bounds:
        if reason and (bound.on_change or limits.measure.definition.compares):
            text = (
                f"{limits.measure}: {bound.kind} {bound.text} has nothing to compare with: {reason}"
            )
            yield Finding(
                "", bound.kind, text, False, bound.fails, str(limits.measure), None, bound.value
            )


def margin(finding: Finding) -> float:
    """How far a finding is from breaking, the worst lowest."""
    if finding.value is None or finding.limit is None:
        return -inf if not finding.ok else inf
    within = BOUNDS[finding.kind][0] if finding.kind in BOUNDS else BOUNDS["max"][0]
    return within(finding.value, finding.limit)


def _hold_value(sides: Comparison, measure: Measure, bound: Bound, subject: Subject) -> Finding:
    name, said, queries, _ = subject
    total = sides.measured.aggregate(measure, queries)
    value, unit = total.value, "share" if bound.share else measure.unit
    if value is None:
        if measure.definition.compares and queries:  # new queries have nothing to agree with
            text = f"{said}{measure} is undefined: no query here is in the baseline"
            return Finding(
                name, bound.kind, text, True, bound.fails, str(measure), None, bound.value, 0, unit
            )
        text = (
            f"{said}{measure} is undefined: no query here has a relevant document or was answered"
        )
        return Finding(
            name, bound.kind, text, False, bound.fails, str(measure), None, bound.value, 0, unit
        )
    if bound.share:
        value /= max(total.n, 1)
    within, holds, breaks = BOUNDS[bound.kind]
    now, limit = told_apart(value, bound.value, unit)
    # Wording a pass as "below its floor" would be wrong, so a limit that holds says so in its own words.
    ok = within(value, bound.value) >= -TOLERANCE
    text = f"{said}{measure} is {now}, {holds if ok else breaks} {limit}"
    if name == "" and counts_zero(measure) and not ok:
        text += f": {sides.measured.empty_texts}"
    return Finding(
        name, bound.kind, text, ok, bound.fails, str(measure), value, bound.value, total.n, unit
    )


def _hold_change(measure: Measure, bound: Bound, subject: Subject) -> Finding:
    name, said, queries, change = subject
    unit = "share" if bound.relative else measure.unit
    if change is None and not queries:
        text = (
            f"{said}{measure} is undefined, now and before: no query here has a relevant document"
        )
        return Finding(
            name, bound.kind, text, False, bound.fails, str(measure), None, bound.value, 0, unit
        )
    if change is None:
        text = f"{said}{measure} has no baseline here: {bound.kind} does not apply"
        return Finding(
            name, bound.kind, text, True, bound.fails, str(measure), None, bound.value, 0, unit
        )
    worsened = (
        change.now - change.before if bound.kind == "max_rise" else change.before - change.now
    )
    value = worsened
    if bound.relative:
        value = worsened / abs(change.before) if change.before else (0.0 if worsened <= 0 else inf)
    beyond = value > bound.value + TOLERANCE
    ok = not beyond
    tested = bound.kind == "max_significant_drop"
    if tested and beyond:
        p = change.adjusted if change.adjusted is not None else change.p
        ok = p is None or p >= SIGNIFICANT
    text = f"{said}{_moved(measure, change)}"
    if beyond or worsened > TOLERANCE:
        by, limit = (
            told_apart(value, bound.value, unit)
            if value != inf
            else ("everything", shown(bound.value, unit))
        )
        verb = "more than" if beyond else "within"
        text += f", by {by}: {verb} {bound.kind} {limit}"
    if tested and beyond:
        text += f", {_certainty(change, ok)}"
    if change.queries > 1 and worsened > TOLERANCE:
        text += f" ({change.worse} worse, {change.better} better of {count(change.queries, 'query', 'queries')})"
    finite = None if value == inf else value
    return Finding(
        name,
        bound.kind,
        text,
        ok,
        bound.fails,
        str(measure),
        finite,
        bound.value,
        change.queries,
        unit,
    )


def _moved(measure: Measure, change: Change) -> str:
    before, now = apart(change.before, change.now, measure.unit)
    if abs(change.difference) <= TOLERANCE:
        return f"{measure} is unchanged at {now}"
    return f"{measure} {'rose' if change.difference > 0 else 'fell'} {before} → {now}"


def _certainty(change: Change, ok: bool) -> str:
    if change.p is None:
        return "but no test could be made"
    corrected = ""
    if change.adjusted is not None and change.adjusted != change.p:
        corrected = f" ({probability(change.adjusted)} corrected for several limits)"
    verb = "which may be chance" if ok else "which chance does not explain"
    return f"{verb}: {probability(change.p)}{corrected}"
