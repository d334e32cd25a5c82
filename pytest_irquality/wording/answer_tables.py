"""Tables of several answers: what other wordings lose, and which queries waver."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.findings import Robustness
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.answers import (
    asked,
    common,
    interval,
    lost_by,
    sides,
    span,
)
from pytest_irquality.wording.block import Column, Row, Table
from pytest_irquality.wording.numbers import counted, signed

LOSSES = (
    Column("other wordings"),
    Column("measure"),
    Column("n", number=True, rank=4, about="queries"),
    Column("queries", number=True),
    Column("variants", number=True),
    Column("difference", number=True),
    Column("90 % interval", rank=3),
    Column("lost most", rank=1, room=40),
)


def wordings(result: SuiteResult) -> Table:
    """A row for each measure shown."""
    rows = _losses(result, result.robustness) if result.robustness else ()
    return Table(LOSSES, tuple(rows)).without_empty()


def _losses(result: SuiteResult, variants: Robustness) -> Iterator[Row]:
    for place, loss in enumerate(variants.losses):
        unit, change = result.unit(loss.measure), loss.change
        texts = "; ".join(f"{worst.text} {lost_by(worst, unit)}" for worst in loss.worst)
        numbers = str(change.queries), *sides(result, loss), signed(change.difference, unit)
        cells = (asked(variants), loss.measure, *numbers, interval(change, unit), texts)
        yield Row(cells, rank=place)


def wavering(result: SuiteResult) -> Table:
    """The queries that are not answered alike each time."""
    noise, measure = result.noise, next(iter(result.shown), "")
    columns = (
        Column("query that wavers"),
        Column("in common", number=True),
        Column(measure, number=True),
    )
    rows = []
    for one in noise.wavering if noise else ():
        values = span(one.low, one.high, result.unit(measure))
        text = result.query(one.query).text
        rows.append(Row((text, common(one), values)))
    more = noise.total - len(rows) if noise else 0
    left = f"{counted(more, 'more query', 'more queries')} waver" if more > 0 else ""
    return Table(columns, tuple(rows), left)
