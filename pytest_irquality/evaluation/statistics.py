"""Statistical tests that distinguish a drop from chance."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from math import comb, fsum, sqrt
from random import Random
from statistics import NormalDist, fmean
from sys import byteorder
from typing import TypeVar

from pytest_irquality.evaluation.constants import ROUNDING_ERROR
from pytest_irquality.io import dataclass

MAX_EXACT_CHANGES = 24  # needs two lists of 2**12 sums, see _count_low_sums
SAMPLE_COUNT = 10_000
SEED = 0

# Sampled sums are integers of SUM_BYTES bytes, so one big integer can add all samples at once.
SUM_BYTES = 4
GRID_STEPS = 2 ** (8 * SUM_BYTES - 1)
CHANGES_PER_TABLE = 8  # One random byte picks one of the 2 to the 8th sums of so many changes.

INTERVAL_CONFIDENCE = 0.9
MIN_INTERVAL_QUERIES = 5
SKEWNESS_CORRECTION = 2.5  # times the correction of Johnson (1978), see compute_interval

MIN_SHOWN_P_VALUE = 0.001

TestName = TypeVar("TestName", bound=Hashable)


def select_changed(deltas: Sequence[float]) -> list[float]:
    """Return the differences that are not zero, except for rounding errors."""
    return [delta for delta in deltas if abs(delta) > ROUNDING_ERROR]


# -- Tests -----------------------------------------------------------------------------------------


def compute_sign_flip_p_value(deltas: Sequence[float]) -> float:
    """Compute the p-value of a one-sided paired sign-flip test for a drop.

    If a change has no effect, the sign of every difference is as likely to be the opposite. The
    p-value is the fraction of all sign combinations with a sum as low as the observed one.

    Args:
        deltas: The difference of each query, negative for a drop.

    Returns:
        The p-value, which is never 0. It is exact for up to ``MAX_EXACT_CHANGES`` nonzero
        differences. Otherwise it is sampled with a fixed seed, so every machine computes the same
        value.
    """
    changed = sorted(select_changed(deltas))
    if not changed:
        return 1.0
    sizes, observed = _round_to_grid(changed)
    if len(changed) > MAX_EXACT_CHANGES:
        return _sample_p_value(sizes, observed)
    return float(_count_low_sums(sizes, observed) / 2 ** len(sizes))


def _round_to_grid(changed: Sequence[float]) -> tuple[list[int], int]:
    """Return the sizes of all changes as integers, and the sum of the sizes that rose.

    A sign combination chooses which sizes rise. Its sum is as low as the observed one if the sum of
    its rising sizes is. Rounding may put the observed sum below an equal one, so the rounding error
    is added to it, and the p-value is never too low.
    """
    unit = sum(map(abs, changed)) / GRID_STEPS
    exact = [abs(delta) / unit for delta in changed]
    sizes = [round(size) for size in exact]
    observed = 0
    error = 0.0
    for size, exact_size, delta in zip(sizes, exact, changed, strict=True):
        observed += size if delta > 0 else 0
        error += abs(exact_size - size)
    return sizes, observed + round(error)


def _count_low_sums(sizes: Sequence[int], observed: int) -> int:
    """Count the choices of sizes with a sum of at most ``observed``.

    Every sum is one of the first half of the sizes plus one of the second (meet in the middle).
    """
    first_sums = sorted(_list_sums(sizes[::2]))
    count = 0
    for second_sum in _list_sums(sizes[1::2]):
        count += bisect_right(first_sums, observed - second_sum)
    return count


def _list_sums(sizes: Sequence[int]) -> list[int]:
    """Return the sum of every choice of the sizes."""
    sums = [0]
    for size in sizes:
        sums += [size + other for other in sums]
    return sums


def _sample_p_value(sizes: Sequence[int], observed: int) -> float:
    """Estimate the fraction of choices with a sum of at most ``observed``.

    The sums of all samples are the digits of one big integer. For every few changes a table has all
    their sums, a random byte picks one for each sample, and ``bytes.translate`` looks up one byte
    of all of them at a time. A loop over samples takes a hundred times as long.
    """
    generator = Random(SEED)
    totals = 0
    digits = bytearray(SUM_BYTES * SAMPLE_COUNT)
    for start in range(0, len(sizes), CHANGES_PER_TABLE):
        table = _list_sums(sizes[start : start + CHANGES_PER_TABLE])
        table *= 2**CHANGES_PER_TABLE // len(table)  # Every byte has a place in a short table, too.
        table_bytes = array("I", table).tobytes()
        picks = generator.randbytes(SAMPLE_COUNT)
        for place in range(SUM_BYTES):
            digits[place::SUM_BYTES] = picks.translate(table_bytes[place::SUM_BYTES])
        totals += int.from_bytes(digits, byteorder)
    sums = memoryview(totals.to_bytes(SUM_BYTES * SAMPLE_COUNT, byteorder)).cast("I")
    low_count = sum(total <= observed for total in sums)
    # The observed signs are themselves a combination, so the p-value is never 0.
    return (low_count + 1) / (SAMPLE_COUNT + 1)


def compute_min_p_value(deltas: Sequence[float]) -> float:
    """Compute the p-value that the test would have if every changed query had dropped."""
    changed_count = len(select_changed(deltas))
    if changed_count <= MAX_EXACT_CHANGES:
        return float(0.5**changed_count)
    return 1 / (SAMPLE_COUNT + 1)


def compute_sign_p_value(lost_count: int, gained_count: int) -> float:
    """Compute the p-value of a one-sided sign test for more losses than gains.

    Returns:
        The probability of at least as many losses if a loss is as likely as a gain.
    """
    total = lost_count + gained_count
    as_many = sum(comb(total, count) for count in range(lost_count, total + 1))
    return float(as_many / 2**total)


@dataclass(frozen=True)
class SignificanceTest:
    """A test, with the significance level that it shares with the others of its kind.

    Attributes:
        min_p_value: The p-value if every change had been for the worse.
    """

    p_value: float
    min_p_value: float
    alpha: float


def create_drop_test(deltas: Sequence[float], alpha: float) -> SignificanceTest:
    """Create a sign-flip test for a drop."""
    return SignificanceTest(compute_sign_flip_p_value(deltas), compute_min_p_value(deltas), alpha)


def create_sign_test(lost_count: int, gained_count: int, alpha: float) -> SignificanceTest:
    """Create a sign test for more losses than gains."""
    p_value = compute_sign_p_value(lost_count, gained_count)
    return SignificanceTest(p_value, 0.5 ** (lost_count + gained_count), alpha)


def select_significant(tests: Mapping[TestName, SignificanceTest]) -> list[TestName]:
    """Return the names of the tests that reject, with the lowest p-value first.

    A test that cannot reject, because too few of its queries changed, does not count: a retriever
    with one changed query must not make the drop of another retriever harder to detect.

    The correction is Hochberg's step-up procedure (1988) rather than Holm's or a division of the
    level. All control the family-wise error rate here, because the tests of a build are independent
    or positively dependent. But with the others, five retrievers that share a drop with p = 0.016
    pass at 4%, while one such retriever fails.
    """
    # Tests may have different levels, so compare p-values divided by the level.
    ratios = {}
    for name, test in tests.items():
        if test.min_p_value <= test.alpha:
            ratios[name] = test.p_value / test.alpha
    names = sorted(ratios, key=lambda name: ratios[name])
    for count in range(len(names), 0, -1):
        if ratios[names[count - 1]] <= 1 / (len(names) - count + 1):
            return names[:count]
    return []


def format_p_value(p_value: float) -> str:
    """Format a p-value: ``p < 0.001``, ``p = 0.016``, ``p = 0.25``."""
    if p_value < MIN_SHOWN_P_VALUE:
        return f"p < {MIN_SHOWN_P_VALUE}"
    return f"p = {p_value:.3f}" if p_value < 0.1 else f"p = {p_value:.2f}"


# -- Interval --------------------------------------------------------------------------------------


def compute_interval(deltas: Sequence[float]) -> tuple[float, float] | None:
    """Compute a 90% confidence interval of the mean difference.

    This is Student's interval, made longer on the side of a long tail. For a skewed distribution,
    Student's is too short at one end, by about skewness · (1 + 2t²) ÷ 6√n standard errors (Johnson,
    1978). Few differences show less skewness than there is, so that end is moved further, by the
    factor with which nine in ten intervals contain the true mean.

    Returns:
        The lower and upper end, or ``None`` if fewer than five differences are not zero, or if all
        are equal.
    """
    count = len(deltas)
    # Unchanged queries say nothing about how far the others vary.
    changed_count = len(select_changed(deltas))
    if changed_count < MIN_INTERVAL_QUERIES or max(deltas) - min(deltas) <= ROUNDING_ERROR:
        return None
    mean = fmean(deltas)
    deviation = sqrt(fsum((delta - mean) ** 2 for delta in deltas) / (count - 1))
    error = deviation / sqrt(count)
    cubes = fsum((delta - mean) ** 3 for delta in deltas)
    skewness = cubes * count / (count - 1) / (count - 2) / deviation**3
    t = _compute_t_quantile(changed_count - 1)
    correction = SKEWNESS_CORRECTION * skewness * (1 + 2 * t * t) / (6 * sqrt(count))
    return mean - (t - min(correction, 0)) * error, mean + (t + max(correction, 0)) * error


def _compute_t_quantile(degrees_of_freedom: int) -> float:
    """Compute the two-sided quantile of Student's t at the confidence of the interval.

    This is the expansion of Cornish and Fisher around the normal distribution (Abramowitz and
    Stegun, 26.7.5), which is off by less than 0.2% from four degrees of freedom.
    """
    z = NormalDist().inv_cdf((1 + INTERVAL_CONFIDENCE) / 2)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return fsum(term / degrees_of_freedom**power for power, term in enumerate(terms))
