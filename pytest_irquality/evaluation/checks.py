"""The checks of a suite: rules, thresholds, and the default checks that need one suite only."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_irquality.evaluation.comparison import QueryChange


def count_lost_and_gained(changes: Iterable[QueryChange]) -> tuple[int, int]:
    """Count the queries that lost all their relevant documents, and those that gained the first.

    Queries with a known issue do not count.
    """
    raise NotImplementedError
