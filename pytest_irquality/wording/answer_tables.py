"""The table of what other wordings lose."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict.findings import Robustness
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.answers import (
    asked,
    interval,
    lost_by,
    sides,
)
from pytest_irquality.wording.block import Column, Row, Table
from pytest_irquality.wording.numbers import signed

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
