"""Measures of how long the calls took."""

from __future__ import annotations

from typing import get_args

from pytest_irquality.metrics.definition import Aggregation, Compute, Definition


def latency() -> Compute:
    """Seconds from the call to its results."""
    return lambda hits: hits.seconds


def over_queries(aggregate: Aggregation) -> Definition:
    """Latency, drawn together over the queries in one way."""
    rank = aggregate.removeprefix("p")
    nearest = f"the time at rank ⌈{rank}/100 · n⌉ of n, fastest first (nearest rank)"
    return Definition(
        name=f"latency_{aggregate}",
        title=f"Latency, {rank}th percentile",
        formula=nearest,
        make=latency,
        takes_cutoff=False,
        needs="",
        reach="nothing",
        range=(0, float("inf")),
        higher_is_better=False,
        aggregate=aggregate,
        unit="seconds",
        undefined="for a query that was answered in a batch",
        source="ours",
    )


DEFINITIONS = tuple(
    over_queries(aggregate) for aggregate in get_args(Aggregation) if aggregate.startswith("p")
)
