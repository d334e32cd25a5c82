"""The change of every query since the baseline, drawn: a bar for each, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from pytest_irquality.report.views import ChangeBar, Changes
from pytest_irquality.wording.mean_tables import coloured
from pytest_irquality.wording.numbers import counted, figure, signed
from pytest_irquality.wording.query_table import Queries
from pytest_irquality.wording.words import cut

NAMED = 3
STEPS, ROW, FALL = 120, 560.0, 70.0
"""The row of all changes: its bars, its width, and how far the largest reaches up or down."""


def changes(views: Queries, of_all: Iterable[Queries]) -> Changes | None:
    """The bars of a suite, on the scale that all of the page with the same measure share.

    None where nothing is compared, or nothing changed.
    """
    damage = views.damage
    worse, better = sum(gain < 0 for gain in damage.gains), sum(gain > 0 for gain in damage.gains)
    if not worse and not better:
        return None
    said = f"{worse} worse, {better} better of {counted(len(damage.gains), 'query', 'queries')}"
    most = max(_largest(one) for one in of_all if one.damage.measure == damage.measure)
    unit = views.result.unit(damage.measure)
    return Changes(damage.measure, said, figure(most, unit), tuple(_steps(views, most)))


def _largest(views: Queries) -> float:
    return max(map(abs, views.damage.gains), default=0.0)


def _steps(views: Queries, most: float) -> Iterator[ChangeBar]:
    """A bar for each query, from the worst change to the best.

    Neighbours share one where there are more than there is room.
    """
    measure, sign, column = views.damage.measure, views.damage.sign, views.damage.column
    changes = [(by, q) for q in views.ordered if (by := q.change(column)) is not None]
    changes.sort(key=lambda one: sign * one[0])
    unit, each = views.result.unit(measure), ceil(len(changes) / STEPS)
    groups = [changes[at : at + each] for at in range(0, len(changes), each)]
    width = ROW / len(groups)
    for at, group in enumerate(groups):
        mean = sum(by for by, _ in group) / len(group)
        tall = round(FALL * abs(mean) / most, 1)
        low, high = sorted((group[0][0], group[-1][0]))
        named = ", ".join(cut(query.text, 40) for _, query in group[:NAMED])
        yield ChangeBar(
            css=coloured(views.result, measure, mean) or "quiet",
            x=round(at * width, 1),
            y=round(FALL if sign * mean < 0 else FALL - tall, 1),
            width=round(max(width - 1, width * 0.8), 1),
            height=max(tall, 1.0),
            title=f"{named}: {signed(mean, unit)}",
            find=f"change:{low:.6g}..{high:.6g}",
        )
