"""Measures over the last changes, as lines of a small chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_irquality.report.views import Chart
from pytest_irquality.verdict.findings import Trail
from pytest_irquality.wording.numbers import counted, figure
from pytest_irquality.wording.words import revision

WIDTH, HEIGHT, EDGE = 300.0, 40.0, 3.0


def charts(trails: Iterable[Trail]) -> tuple[Chart, ...]:
    """A chart for each measure."""
    return tuple(map(_chart, trails))


def _chart(trail: Trail) -> Chart:
    values = [point.value for point in trail.points]
    around = values if trail.limit is None else [*values, trail.limit]
    low, high = min(around), max(around)

    def height(value: float) -> float:
        share = 0.5 if high == low else (value - low) / (high - low)
        return HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE)

    step = WIDTH / (len(values) - 1)
    places = [f"{number * step:.1f},{height(value):.1f}" for number, value in enumerate(values)]
    parts: list[list[str]] = []
    for point, place in zip(trail.points, places, strict=True):
        if point.apart or not parts:
            parts.append([])
        parts[-1].append(place)
    changes = counted(len(values), "change")
    said = (
        f"{trail.measure} over the last {changes}: {figure(min(values))} to {figure(max(values))}"
    )
    limit = "" if trail.limit is None else f"{height(trail.limit):.1f}"
    points = tuple((revision(point.commit), figure(point.value)) for point in trail.points)
    return Chart(trail.measure, said, _drawn(parts), points, limit)


def _drawn(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The points of each line. One point alone is drawn as a short line."""
    return tuple(" ".join(part if len(part) > 1 else [part[0], part[0]]) for part in parts)
