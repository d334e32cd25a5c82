"""Statistics of paired differences, one a query: now less before, negative where it got worse."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from math import atan, cos, fsum, pi, sin, sqrt
from random import Random
from statistics import NormalDist, fmean
from sys import byteorder

EQUAL = 1e-9  # two values that differ by no more are the same
ENUMERATED = 24  # differing queries up to which every pattern of signs is looked at
FLIPS = 10_000  # patterns drawn where there are more
TABLE = 8  # differences of which every combination is in a table, so that one random byte picks one
WIDTH = 4  # bytes that hold the sum of all differences on the grid that patterns are on
GRID = 2 ** (8 * WIDTH - 1)  # steps of the grid up to the sum of all
SEED = 0

MANY = 100  # degrees of freedom
FEWEST = 5  # differences that an interval rests on
SKEWED = 2.5  # the times that a long tail counts for an interval
SMALLEST_SHOWN = (
    2.49  # a drop so many standard errors large is found at 5 %, one-sided, four times in five
)


def sign_flip(differences: Sequence[float]) -> float:
    """The p of a paired sign-flip test that the mean got worse.

    If nothing but chance was at work, each difference might as well have had the other sign: p is
    the share of all patterns of signs whose mean is as low as the one observed. Up to 24 queries
    that differ it is exact. Above, it is estimated from 10,000 patterns drawn with a fixed seed. It
    is never 0, and 1 where no query differs.
    """
    differing = sorted(difference for difference in differences if abs(difference) > EQUAL)
    if not differing:
        return 1.0
    sizes, better = on_grid(differing, sum(map(abs, differing)) / GRID)
    return (enumerated if len(differing) <= ENUMERATED else drawn)(sizes, better)


def on_grid(differences: Sequence[float], unit: float) -> tuple[list[int], int]:
    """Sizes of the differences in whole units, and the sum of those for the better.

    The sum is what the patterns must not pass.

    A pattern of signs is a choice of sizes that count for the better; its mean is as low as the
    observed one where their sum is. The sum is raised by all that rounding may have taken from an
    equal one: p is never too low.
    """
    sizes = [abs(difference) / unit for difference in differences]
    rounded = list(map(round, sizes))
    better = sum(
        size for size, difference in zip(rounded, differences, strict=True) if difference > 0
    )
    slack = sum(abs(size - whole) for size, whole in zip(sizes, rounded, strict=True))
    return rounded, better + round(slack)


def enumerated(sizes: Sequence[int], better: int) -> float:
    """The share of all patterns: those of one half meet the sorted ones of the other."""
    half = sorted(sums(sizes[::2]))
    count = sum(bisect_right(half, better - rest) for rest in sums(sizes[1::2]))
    return float(count / 2 ** len(sizes))


def drawn(sizes: Sequence[int], better: int) -> float:
    """An estimate of the share, which counts the pattern observed among those drawn.

    The sums of all patterns are the digits of one big number, ``WIDTH`` bytes each. A table has
    every sum of a few sizes, and a random byte picks one for a pattern: what it adds to the number
    is put together from the first bytes of the sums picked, their second bytes, and so on.
    """
    pick, totals, picked = Random(SEED).randbytes, 0, bytearray(WIDTH * FLIPS)
    for start in range(0, len(sizes), TABLE):
        table = sums(sizes[start : start + TABLE])
        table *= 2**TABLE // len(table)  # any byte finds its place in a short table too
        digits = array("I", table).tobytes()
        patterns = pick(FLIPS)
        for place in range(WIDTH):
            picked[place::WIDTH] = patterns.translate(digits[place::WIDTH])
        totals += int.from_bytes(picked, byteorder)
    each = memoryview(totals.to_bytes(WIDTH * FLIPS, byteorder)).cast("I")
    return (1 + sum(total <= better for total in each)) / (1 + FLIPS)


def sums(sizes: Sequence[int]) -> list[int]:
    """The sum of every choice of them."""
    found = [0]
    for size in sizes:
        found += [size + rest for rest in found]
    return found


def holm(ps: Sequence[float]) -> list[float]:
    """P-values corrected for their number, in the order given (Holm's step-down method)."""
    adjusted, highest = [0.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = highest
    return adjusted


def interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """The 90 % interval of Student's t for the mean, longer on the side of a long tail.

    None for fewer than five differences, where all are the same, or all but one are zero. Only
    those that are not zero are degrees of freedom: the others say nothing of how far these spread.

    Of a skewed distribution Student's interval is too short at one end, by about skewness
    · (1 + 2t²) ÷ 6√n errors (Johnson 1978). Few differences show less skewness than there is, so
    that end is moved by more, as far as it takes to hold nine times in ten (`benchmarks/gauge.py`).
    """
    error = standard_error(differences)
    n, freedom = len(differences), sum(abs(difference) > EQUAL for difference in differences) - 1
    if error is None or n < FEWEST or freedom < 1:
        return None
    mean, t = fmean(differences), student(freedom, 0.90)
    cubes = fsum((difference - mean) ** 3 for difference in differences)
    skewness = cubes * n / (n - 1) / (n - 2) / (error * sqrt(n)) ** 3
    longer = SKEWED * skewness * (1 + 2 * t * t) / (6 * sqrt(n))
    return mean - (t - min(longer, 0)) * error, mean + (t + max(longer, 0)) * error


def detectable(differences: Sequence[float]) -> float | None:
    """The smallest worsening of the mean that so many queries show, four times in five.

    None as in `interval`.
    """
    error = standard_error(differences)
    return None if error is None else SMALLEST_SHOWN * error


def standard_error(differences: Sequence[float]) -> float | None:
    """The standard error of the mean, where there is one."""
    if len(differences) < 2 or max(differences) - min(differences) <= EQUAL:
        return None
    mean = fmean(differences)
    squares = fsum((difference - mean) ** 2 for difference in differences)
    return sqrt(squares / (len(differences) - 1) / len(differences))


@lru_cache(maxsize=256)
def student(freedom: int, confidence: float = 0.95) -> float:
    """The two-sided quantile of Student's t.

    It is found by halving an interval until the numbers are one; of many degrees of freedom by
    Fisher and Cornish's expansion around the normal.
    """
    if freedom > MANY:
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        return z + first / freedom + second / freedom**2
    low, high = 0.0, 1.0
    while student_within(high, freedom) < confidence:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        if student_within(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return high


def student_within(t: float, freedom: int) -> float:
    """P(|T| < t), from the closed form for whole degrees of freedom.

    (Abramowitz and Stegun, 26.7.3 and 26.7.4.)
    """
    angle = atan(t / sqrt(freedom))
    squared = cos(angle) ** 2
    odd = freedom % 2
    term = cos(angle) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(2 + odd, freedom - 1, 2):
        term *= squared * (k - 1) / k
        total += term
    return (angle + sin(angle) * total) * 2 / pi if odd else sin(angle) * total


def win_tie_loss(differences: Sequence[float]) -> tuple[int, int, int]:
    """The numbers of differences that are better, equal and worse."""
    better = sum(difference > EQUAL for difference in differences)
    worse = sum(difference < -EQUAL for difference in differences)
    return better, len(differences) - better - worse, worse
