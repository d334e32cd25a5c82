"""Tiles: the value of each metric with its change, its threshold and its baseline."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.reports.numbers import Number


@dataclass(frozen=True)
class Tile:
    """A metric over a suite or a tag.

    Attributes:
        label: What the tile is about, such as ``ndcg@10`` or ``head ndcg@10``.
        status: How the value compares with its threshold: ``below 0.87``, ``holds``, or empty.
        bound: The minimum, or the maximum if a lower value is better.
        gain: The change for the better, negative for the worse.
        positions: Where value, bound and baseline are on the bar, from 0 to 1.
    """

    label: str
    metric: str
    tag: str
    outcome: Outcome
    status: str = ""
    value: Number | None = None
    change: Number | None = None
    baseline: Number | None = None
    bound: Number | None = None
    bound_name: str = "minimum"
    gain: float = 0.0
    positions: tuple[float | None, float | None, float | None] = (None, None, None)


def build_tiles(evaluation: Evaluation) -> tuple[Tile, ...]:
    """Build the tiles of a suite: broken thresholds first, then every metric shown."""
    raise NotImplementedError
