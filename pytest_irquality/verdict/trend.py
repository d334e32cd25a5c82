"""Sums of many changes, each of which was small enough to pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import fsum

from pytest_irquality.metrics import Measure
from pytest_irquality.storage.history import (
    Entry,
    judgments_digest,
    place_of,
    rankings_digest,
)
from pytest_irquality.storage.stored import digest
from pytest_irquality.suite.model import Bound, Query
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Finding, Point, Trail

SHOWN = 50
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Past:
    """The entries of a suite and retriever, oldest first.

    ``commit`` and ``time`` are those of what is judged now.
    """

    entries: Sequence[Entry]
    commit: str
    time: str

    def with_now(self, now: Entry) -> Sequence[Entry]:
        """The entries with today's at the end, without an earlier run of its change."""
        place = place_of(self.entries, now)
        return [*self.entries[:place], *self.entries[place + 1 :], now]


def measured_now(comparison: Comparison, past: Past) -> Entry:
    """An entry with what is known of today's run before anything is judged."""
    suite, run = comparison.suite, comparison.sides.run
    measures = [measure for measure in suite.measures if measure.unit != "seconds"]

    def values(queries: Sequence[Query]) -> dict[str, tuple[float, int]]:
        totals = {
            str(measure): comparison.scores.aggregate(measure, queries) for measure in measures
        }
        return {name: (t.value, t.n) for name, t in totals.items() if t.value is not None}

    changes = {str(measure): comparison.over(measure, None) for measure in measures}
    base = comparison.sides.baseline_run
    return Entry(
        suite.path,
        run.retriever,
        past.commit,
        past.time,
        digest(suite),
        judgments_digest(suite),
        suite.depth,
        values(suite.queries),
        {tag: values(queries) for tag, queries in suite.tags.items()},
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


def trails(entries: Sequence[Entry], limits: Mapping[str, float | None]) -> Sequence[Trail]:
    """The measures that are held to limits, over the last changes."""
    found = []
    last = entries[-SHOWN:]
    for measure, limit in limits.items():
        points: list[Point] = []
        before: Entry | None = None
        for entry in last:
            if measure in entry.values:
                apart = before is not None and not entry.like(before)
                points.append(Point(entry.commit, entry.values[measure][0], apart))
                before = entry
        if len(points) > 1:
            found.append(Trail(measure, tuple(points), limit))
    return found
