"""Measures of what the reader of the results is given."""

from __future__ import annotations

from pytest_irquality.metrics.definition import Compute, Definition

INFINITE = float("inf")


def nothing(**settings: float) -> Compute:
    """No value: whoever has the texts counts them."""
    return lambda hits: [None] * len(hits.queries)


def length(counts: str) -> Definition:
    """The number of words or tokens of the first results."""
    return Definition(
        name=counts,
        title=f"Number of {counts}",
        formula=f"{counts} of the first k results, as returned, repetitions and all",
        make=nothing,
        needs="",
        range=(0, INFINITE),
        higher_is_better=None,
        unit="count",
        counts=counts,
        undefined="where a kept run has no such numbers",
        source="ours",
    )


DEFINITIONS = (
    length("words"),
    length("tokens"),
)
