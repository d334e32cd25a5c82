"""What every query did since the baseline, drawn: a bar for each, from the worst to the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import NamedTuple

from pytest_irquality.report.query_view import QueryViews, side
from pytest_irquality.report.views import ChangeBar, Changes
from pytest_irquality.verdict.result import QueryResult
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.numbers import counted, signed
from pytest_irquality.wording.words import cut

NAMED = 3
STEPS, ROW, FALL = 120, 560.0, 70.0
"""The row of all changes: its bars, its width, and how far the largest reaches up or down."""


class Changed(NamedTuple):
    """A query, and by how much its value rose."""

    query: QueryResult
    by: float


def changes(views: QueryViews) -> Changes | None:
    """None where nothing is compared, or nothing changed."""
    if views.main is None:
        return None
    measure = views.result.measures[views.main]
    compared = list(_compared(views, views.main))
    worse = sum(views.sign * one.by < -EQUAL for one in compared)
    better = sum(views.sign * one.by > EQUAL for one in compared)
    if not worse and not better:
        return None
    said = f"{worse} worse, {better} better of {counted(len(compared), 'query', 'queries')}"
    return Changes(measure, said, tuple(_steps(compared, views, measure)))


def _compared(views: QueryViews, column: int) -> Iterator[Changed]:
    for query in views.ordered:
        then = query.before[column] if query.before is not None else None
        now = query.compared[column] if query.compared is not None else None
        if then is not None and now is not None:
            yield Changed(query, now - then)


def _steps(compared: Sequence[Changed], views: QueryViews, measure: str) -> Iterator[ChangeBar]:
    """Every query's change from the worst to the best, neighbours together where there are more
    than there is room.
    """
    changes = sorted(compared, key=lambda one: views.sign * one.by)
    unit, each = views.result.unit(measure), ceil(len(changes) / STEPS)
    groups = [changes[at : at + each] for at in range(0, len(changes), each)]
    most = max(abs(one.by) for one in changes)
    width = ROW / len(groups)
    for at, group in enumerate(groups):
        mean = sum(one.by for one in group) / len(group)
        tall = round(FALL * abs(mean) / most, 1)
        low, high = sorted((group[0].by, group[-1].by))
        named = ", ".join(cut(one.query.text, 40) for one in group[:NAMED])
        yield ChangeBar(
            css=side(mean, views, measure) or "quiet",
            x=round(at * width, 1),
            y=round(FALL if views.sign * mean < 0 else FALL - tall, 1),
            width=round(max(width - 1, width * 0.8), 1),
            height=max(tall, 1.0),
            title=f"{named}: {signed(mean, unit)}",
            find=f"change:{low:.6g}..{high:.6g}",
        )
