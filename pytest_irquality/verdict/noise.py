"""Rules on how far answers of unchanged code differ, and on what exceeds that.

A *unit* is a build of a side, or, where a side has one build, a repeated answer. ``b`` and ``n``
count the units of the baseline and of today. Each rule here was simulated on real engines
(``docs/why/statistics.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, exp, fsum, sqrt

from pytest_irquality.verdict.statistics import student

CHANCE = 0.06  # how likely what a guard fails on may be by wavering alone
ENOUGH_UNITS = 3  # of both sides together, to know how far they spread


def drop_noise(before: Sequence[float], now: Sequence[float]) -> float | None:
    """The drop of the mean that unchanged code gives once in twenty.

    None where too few units tell.

    ``before`` and ``now`` are the means of each unit. Student's two-sample interval with pooled
    variance.
    """
    b, n = len(before), len(now)
    freedom = b + n - 2
    if b + n < ENOUGH_UNITS or not b or not n:
        return None
    variance = (squares(before) + squares(now)) / freedom
    return student(freedom) * sqrt(variance * (1 / b + 1 / n))


def squares(values: Sequence[float]) -> float:
    """The sum of squared distances from the mean."""
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values)


def exceeds_wavering(lost: int, wavering: int, b: int, n: int) -> bool:
    """Tell whether more queries were lost than wavering alone would lose.

    ``lost`` were found in every unit of the baseline and in none of today's. ``wavering`` others
    were found in exactly ``b`` of the ``b + n`` units, and could by chance have fallen so; each
    split of units is as likely as another.
    """
    splits = comb(b + n, b) - (2 if b == n else 1)
    if splits <= 0:
        return lost > 0
    return poisson_at_least(lost, wavering / splits) <= CHANCE


def poisson_at_least(count: int, mean: float) -> float:
    """P(X ≥ count) of a Poisson variable."""
    if count <= 0:
        return 1.0
    term = exp(-mean)
    below = [term]
    for k in range(1, count):
        term *= mean / k
        below.append(term)
    return max(0.0, 1.0 - fsum(below))
