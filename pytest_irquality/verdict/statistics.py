"""Paired tests on the differences of single queries, in the standard library."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import sqrt
from operator import mul
from random import Random
from statistics import fmean, stdev

FLIPS = 10_000
ENUMERATED = 12


def sign_flip(differences: Sequence[float]) -> float:
    """One-sided p of a sign-flip test that the mean got worse; negative differences are worse."""
    differing = [difference for difference in differences if difference]
    if not differing:
        return 1.0
    observed = sum(differing) + 1e-12
    if len(differing) <= ENUMERATED:
        signs = product((1.0, -1.0), repeat=len(differing))
        count = sum(dot(differing, sign) <= observed for sign in signs)
        return count / (1 << len(differing))
    flip = Random(0).choices
    count = sum(dot(differing, flip((1.0, -1.0), k=len(differing))) <= observed for _ in range(FLIPS))
    return (1 + count) / (1 + FLIPS)


def dot(differences: Sequence[float], signs: Sequence[float]) -> float:
    """The sum of the differences under these signs."""
    return float(sum(map(mul, differences, signs)))


def holm(ps: Sequence[float]) -> list[float]:
    """P-values corrected for their number, in the order given."""
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = highest
    return adjusted


def interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """A 95 % interval for the mean difference."""
    if len(differences) < 2:
        return None
    mean, half = fmean(differences), 1.96 * stdev(differences) / sqrt(len(differences))
    return mean - half, mean + half


def detectable(differences: Sequence[float]) -> float | None:
    """The smallest worsening that so many queries would show, four times in five."""
    return 2.49 * stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else None


def win_tie_loss(differences: Sequence[float], tolerance: float = 1e-9) -> tuple[int, int, int]:
    """How many are better, equal and worse."""
    better = sum(difference > tolerance for difference in differences)
    worse = sum(difference < -tolerance for difference in differences)
    return better, len(differences) - better - worse, worse
