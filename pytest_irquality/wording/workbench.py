"""The sections that a page has of a suite: what every report has, and what takes its room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from pytest_irquality.wording.block import (
    ChangeBar,
    Changes,
    Part,
    Section,
)
from pytest_irquality.wording.mean_tables import coloured
from pytest_irquality.wording.numbers import figure, signed
from pytest_irquality.wording.query_table import Queries
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import PAGE, told
from pytest_irquality.wording.words import cut

BARS, NAMED = 120, 3
"""The bars of the row of all changes, and how many queries of each are named."""


def workbench(story: Story, queries: Queries) -> Sequence[Section]:
    """All sections of a page: every query's change, the queries, and what every report has."""
    failed = queries.table.filters["failed"][1]
    note = f"{failed} failed" if failed else ""
    return [
        *_drawn(queries),
        Section("Queries, worst first", (Part(PAGE, queries.listed()),), "Queries", note=note),
        *told(story),
    ]


def _drawn(queries: Queries) -> Iterator[Section]:
    """Every query's change as bars; nothing where nothing is compared, or nothing changed."""
    damage, unit = queries.damage, queries.result.unit(queries.damage.measure)
    if not any(damage.gains):
        return
    largest = max(map(abs, damage.gains))
    bars, said = tuple(_bars(queries, largest)), Story(queries.result).tally
    drawn = Changes(damage.measure, said, figure(largest, unit), bars)
    yield Section(f"Every query's change in {damage.measure}", (Part(PAGE, drawn),), beside=True)


def _bars(queries: Queries, largest: float) -> Iterator[ChangeBar]:
    """A bar for each query, from the worst change to the best.

    Neighbours share one where there are more than there is room.
    """
    measure, sign, column = queries.damage.measure, queries.damage.sign, queries.damage.column
    changes = [(by, q) for q in queries.ordered if (by := q.change(column)) is not None]
    changes.sort(key=lambda one: sign * one[0])
    each = ceil(len(changes) / BARS)
    for group in (changes[at : at + each] for at in range(0, len(changes), each)):
        mean = sum(by for by, _ in group) / len(group)
        low, high = sorted((group[0][0], group[-1][0]))
        named = ", ".join(cut(query.text, 40) for _, query in group[:NAMED])
        yield ChangeBar(
            coloured(queries.result, measure, mean) or "quiet",
            sign * mean / largest,
            f"{named}: {signed(mean, queries.result.unit(measure))}",
            f"change:{low:.6g}..{high:.6g}",
        )
