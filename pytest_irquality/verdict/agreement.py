"""Krippendorff's alpha for ordered labels, with a bootstrap interval.

It counts how many grades lie between two labels, so that the distance from ``ok`` to ``good`` is
nobody's guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, permutations, product
from math import fsum
from random import Random

Pattern = tuple[float, ...]
"""The grades that one pair of a query and a document was given, a judge each."""

SEED = 20
RESAMPLES, DRAWS = 1000, 2_000_000
ENOUGH = 100  # resamples in which the figure is defined, for an interval to mean something


def alpha(times: Mapping[Pattern, int]) -> float | None:
    """Agreement of judges: 1 where all agree, 0 where they agree as by chance.

    ``times`` says how often a pair was given each pattern of grades.

    Pairs that fewer than two judges graded say nothing. None where no label differs from another.
    """
    fractions: dict[tuple[float, float], list[float]] = {}
    for pattern, count in times.items():
        if len(pattern) > 1:
            for two, often in Counter(permutations(pattern, 2)).items():
                fractions.setdefault(two, []).append(count * often / (len(pattern) - 1))
    met = {two: fsum(parts) for two, parts in fractions.items()}  # Krippendorff's coincidences
    labels = sorted({one for one, _ in met})
    if len(labels) < 2:
        return None
    of = {label: fsum(met.get((label, other), 0) for other in labels) for label in labels}
    up_to = dict(zip(labels, accumulate(of.values()), strict=True))

    def distance(one: float, other: float) -> float:
        low, high = sorted((one, other))
        return float((up_to[high] - up_to[low] + (of[low] - of[high]) / 2) ** 2)

    seen = fsum(count * distance(*two) for two, count in met.items())
    expected = fsum(of[one] * of[other] * distance(one, other) for one, other in product(of, of))
    return 1 - seen * (fsum(of.values()) - 1) / expected


def interval(times: Mapping[Pattern, int]) -> tuple[float, float] | None:
    """The middle 95 % of alpha over resamples of the pairs; None where too few define it."""
    patterns, n = [*times], sum(times.values())
    if n < 2:
        return None
    upto, draw = [*accumulate(times.values())], Random(SEED).choices
    resamples = min(RESAMPLES, max(ENOUGH, DRAWS // n))
    found = sorted(
        value
        for _ in range(resamples)
        if (value := alpha(Counter(draw(patterns, cum_weights=upto, k=n)))) is not None
    )
    if len(found) < ENOUGH:
        return None
    return quantile(found, 0.025), quantile(found, 0.975)


def quantile(ordered: Sequence[float], share: float) -> float:
    """A quantile of sorted values, between neighbours where it falls there."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def patterns_of(graded: Iterable[Sequence[float]]) -> Counter[Pattern]:
    """Count how often each pattern of grades was given."""
    return Counter(map(tuple, graded))
