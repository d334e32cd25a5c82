"""Measures over the last changes, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.block import Series
from pytest_irquality.wording.numbers import counted, figure


def over_time(result: SuiteResult) -> Iterator[Series]:
    """A line for each measure that is shown, with the floor or ceiling of the suite."""
    for measure in result.shown:
        values = [one.values[measure] for one in result.past if measure in one.values]
        if len(values) > 1:
            yield _series(measure, result.unit(measure), values, _level(result, measure))


def _level(result: SuiteResult, measure: str) -> float | None:
    """The number that a mean of all queries is held to."""
    levels = (
        finding.limit
        for verdict in result.verdicts
        if verdict.over.suite
        for finding in verdict.findings
        if finding.demand.fixed and finding.measure == measure
        if finding.unit == result.unit(measure)  # a share of the queries is no number of them
    )
    return next(levels, None)


def _series(measure: str, unit: str, values: Sequence[float], limit: float | None) -> Series:
    low, high = min(values), max(values)
    span = f"{figure(low, unit)} to {figure(high, unit)} over {counted(len(values), 'change')}"
    held = "" if limit is None else f", limit {figure(limit, unit)}"
    known = values if limit is None else [*values, limit]
    low, high = min(known), max(known)

    def height(value: float) -> float:
        return (value - low) / (high - low) if high > low else 0.5

    return Series(
        f"{measure}: now {figure(values[-1], unit)}, {span}{held}",
        tuple((n / (len(values) - 1), height(value)) for n, value in enumerate(values)),
        None if limit is None else height(limit),
    )
