"""Sums of many changes, each of which was small enough to pass."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import fsum

from pytest_irquality.metrics import Measure
from pytest_irquality.storage.history import Entry, Past, rankings_digest
from pytest_irquality.suite.model import Bound
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Finding

TOLERANCE = 1e-9


def measured_now(comparison: Comparison, past: Past) -> Entry:
    """An entry with what is known of today's run before anything is judged."""
    suite, sides = comparison.suite, comparison.sides
    measures = [measure for measure in suite.measures if measure.unit != "seconds"]
    values = {str(one): comparison.scores.aggregate(one, suite.queries).value for one in measures}
    changes = {str(one): comparison.over(one, None) for one in measures}
    base = sides.baseline_run
    return Entry(
        suite.path,
        sides.run.retriever,
        past.commit,
        {name: value for name, value in values.items() if value is not None},
        rankings_digest(base) if base else "",
        {name: change.difference for name, change in changes.items() if change},
    )


def steps(entries: Sequence[Entry], measure: str, over: int) -> Sequence[tuple[str, float]]:
    """The effect of each of the last changes on a measure, with its commit.

    Only those since the last that was accepted.

    Runs that were compared with one and the same baseline count once, as the last of them: their
    changes hold each other.
    """
    accepted = max((place for place, entry in enumerate(entries) if entry.accepted), default=-1)
    since = [entry for entry in entries[accepted + 1 :] if measure in entry.changes]
    found = []
    for _, some in groupby(since, key=lambda entry: entry.baseline):
        *_, last = some
        found.append((last.commit, last.changes[measure]))
    return found[-over:]


def trend(entries: Sequence[Entry], measure: Measure, bound: Bound, over: int) -> Finding:
    """A finding on the sum of the last changes.

    ``since`` is the first of them that lost anything.
    """
    losses = [
        (commit, -measure.sign * change) for commit, change in steps(entries, str(measure), over)
    ]
    lost = fsum(loss for _, loss in losses)
    return Finding(
        "",
        "trend",
        lost <= bound.value + TOLERANCE,
        True,
        str(measure),
        lost,
        bound.value,
        queries=len(losses),
        unit=measure.unit,
        since=next((commit for commit, loss in losses if loss > TOLERANCE), ""),
    )
