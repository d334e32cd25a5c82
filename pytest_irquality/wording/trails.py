"""Measures over the last changes, as lines."""

from __future__ import annotations

from collections.abc import Callable

from pytest_irquality.verdict.findings import Trail
from pytest_irquality.wording.block import Column, Row, Series, Table
from pytest_irquality.wording.numbers import counted, figure
from pytest_irquality.wording.words import revision


def over_time(trail: Trail, unit: str) -> Series:
    """A measure over the last changes: a line, broken where others were measured."""
    values = [point.value for point in trail.points]
    around = values if trail.limit is None else [*values, trail.limit]
    low, high = min(around), max(around)

    def height(value: float) -> float:
        return 0.5 if high == low else (value - low) / (high - low)

    changes = counted(len(values), "change")
    span = f"{figure(min(values), unit)} to {figure(max(values), unit)}"
    held = "" if trail.limit is None else f", limit {figure(trail.limit, unit)}"
    rows = (Row((revision(point.commit), figure(point.value, unit))) for point in trail.points)
    return Series(
        f"{trail.measure}: now {figure(values[-1], unit)}, {span} over {changes}{held}",
        _lines(trail, height),
        Table((Column("Change"), Column(trail.measure, number=True)), tuple(rows)),
        None if trail.limit is None else height(trail.limit),
    )


def _lines(
    trail: Trail, height: Callable[[float], float]
) -> tuple[tuple[tuple[float, float], ...], ...]:
    lines: list[list[tuple[float, float]]] = []
    for number, point in enumerate(trail.points):
        if point.apart or not lines:
            lines.append([])
        lines[-1].append((number / (len(trail.points) - 1), height(point.value)))
    # one point alone is a short line
    return tuple(tuple(line if len(line) > 1 else line * 2) for line in lines)
