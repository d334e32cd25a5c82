"""Tests of paired differences, compared with scipy and with all sign combinations written out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import log2, sqrt

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from pytest_irquality.evaluation.statistics import (
    MAX_EXACT_CHANGES,
    SAMPLE_COUNT,
    SignificanceTest,
    compute_interval,
    compute_sign_flip_p_value,
    compute_sign_p_value,
    create_drop_test,
    create_sign_test,
    format_p_value,
    select_significant,
)

many_filtered = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])

# Differences of precision@10 and of reciprocal ranks are multiples of 1/2520.
STEPS = 2520
tenths = st.integers(-10, 10).map(lambda number: number * STEPS // 10)
reciprocal_ranks = st.builds(
    lambda now, before: STEPS // now - STEPS // before, st.integers(1, 10), st.integers(1, 10)
)
UNCHANGED = [0.0] * 20
MIXED = [-0.5, 0.5] * 5


def make_drop(worse: int) -> list[float]:
    return [-0.5] * worse + [0.0] * (20 - worse)


def count_low_sums(steps: Sequence[int]) -> float:
    """Compute the p-value from the number of sign combinations with each sum."""
    combinations = Counter({0: 1})
    for step in steps:
        extended: Counter[int] = Counter()
        for total, times in combinations.items():
            extended[total + step] += times
            extended[total - step] += times
        combinations = extended
    low = sum(times for total, times in combinations.items() if total <= sum(steps))
    return float(low / sum(combinations.values()))


@pytest.mark.parametrize(
    ("deltas", "p_value"),
    [
        ([], 1.0),
        (UNCHANGED, 1.0),
        ([0.0, 1e-17], 1.0),
        ([0.5] * 5, 1.0),
        (make_drop(5), 1 / 32),
        ([-0.5, 0.5], 3 / 4),
        # Of all eight sums, only -0.6 and -0.4 are as low as -0.4.
        ([-0.3, -0.2, 0.1], 2 / 8),
    ],
)
def test_exact_p_values(deltas: list[float], p_value: float) -> None:
    assert compute_sign_flip_p_value(deltas) == p_value


@many_filtered
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_p_value_is_the_fraction_of_sign_combinations_with_as_low_a_sum(
    deltas: list[float],
) -> None:
    assume(all(abs(delta) > 1e-6 for delta in deltas))
    observed = sum(deltas)
    sums = []
    for signs in product((1, -1), repeat=len(deltas)):
        sums.append(sum(sign * delta for sign, delta in zip(signs, deltas, strict=True)))
    assume(all(abs(total - observed) < 1e-12 or abs(total - observed) > 1e-6 for total in sums))

    p_value = compute_sign_flip_p_value(deltas)

    assert p_value == sum(total <= observed + 1e-12 for total in sums) / len(sums)


@many_filtered
@given(st.lists(tenths, max_size=24) | st.lists(reciprocal_ranks, max_size=24))
def test_equal_sums_are_equal(steps: list[int]) -> None:
    p_value = compute_sign_flip_p_value([step / STEPS for step in steps])

    assert p_value == pytest.approx(count_low_sums(steps), rel=1e-12)


@pytest.mark.parametrize("queries", [9, 17, 24])
def test_rounding_never_makes_a_drop_more_significant(queries: int) -> None:
    """Single documents move among three ranks, so one of three differences is a sum of others."""
    third, half = 1 - 1 / log2(3), 1 / 2
    generator = random.Random(queries)
    kinds = [(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)]
    moves = [generator.choice(kinds) for _ in range(queries)]
    sums = Counter({(0, 0): 1})
    for one, two in moves:
        extended: Counter[tuple[int, int]] = Counter()
        for (a, b), count in sums.items():
            extended[a + one, b + two] += count
            extended[a - one, b - two] += count
        sums = extended
    deltas = [one * third + two * half for one, two in moves]
    limit = sum(deltas) + 1e-9
    low = sum(count for (a, b), count in sums.items() if a * third + b * half <= limit)
    exact = low / 2**queries

    p_value = compute_sign_flip_p_value(deltas)

    assert exact <= p_value * (1 + 1e-12) <= exact + 1e-9


@pytest.mark.parametrize("queries", [25, 51, 300])
def test_sampled_p_value_is_accurate(queries: int) -> None:
    assert queries > MAX_EXACT_CHANGES
    generator = random.Random(queries)
    for mean in (0.0, -0.03, -0.06):
        steps = [round(generator.gauss(mean, 0.2) * 10) * STEPS // 10 for _ in range(queries)]
        exact = count_low_sums(steps)

        p_value = compute_sign_flip_p_value([step / STEPS for step in steps])

        error = sqrt(exact * (1 - exact) / SAMPLE_COUNT)
        assert p_value == pytest.approx(exact, abs=4 * error + 1e-3)


@pytest.mark.parametrize("queries", [3, 24, 25, 300])
def test_p_value_is_never_zero_and_1_if_all_queries_rose(queries: int) -> None:
    lowest = 0.5**queries if queries <= MAX_EXACT_CHANGES else 1 / (SAMPLE_COUNT + 1)

    assert compute_sign_flip_p_value([-0.1] * queries) == lowest
    assert create_drop_test([0.1] * queries, 0.05) == SignificanceTest(1.0, lowest, 0.05)


@pytest.mark.parametrize("queries", [7, 40, 90])
def test_order_scale_and_unchanged_queries_do_not_matter(queries: int) -> None:
    generator = random.Random(queries)
    deltas = [generator.gauss(-0.02, 0.1) for _ in range(queries)]
    shuffled = generator.sample([*deltas, 0.0, 0.0, 0.0], queries + 3)

    assert compute_sign_flip_p_value(shuffled) == compute_sign_flip_p_value(deltas)
    assert compute_sign_flip_p_value([4 * delta for delta in deltas]) == compute_sign_flip_p_value(
        deltas
    )


def test_sampling_is_repeatable_and_leaves_the_global_generator_alone() -> None:
    random.seed(3)
    expected = random.random()
    random.seed(3)
    deltas = [0.1 * (place % 7 - 3) for place in range(100)]

    assert compute_sign_flip_p_value(deltas) == compute_sign_flip_p_value(deltas)
    assert random.random() == expected


def test_p_value_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    generator = random.Random(5)
    for queries in (6, 12, 80):
        now = [round(generator.random(), 1) for _ in range(queries)]
        before = [round(generator.random() + 0.05, 1) for _ in range(queries)]
        is_exact = queries < 20
        reference = stats.permutation_test(
            (now, before),
            lambda one, other, axis: (one - other).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=2**queries if is_exact else 9_999,
            alternative="less",
            rng=1,
        )

        p_value = compute_sign_flip_p_value([a - b for a, b in zip(now, before, strict=True)])

        assert p_value == pytest.approx(reference.pvalue, abs=1e-12 if is_exact else 0.025)


@pytest.mark.parametrize(
    ("lost", "gained", "p_value"),
    [(0, 0, 1.0), (4, 0, 1 / 16), (5, 0, 1 / 32), (5, 1, 7 / 64), (1, 5, 63 / 64)],
)
def test_sign_test(lost: int, gained: int, p_value: float) -> None:
    assert compute_sign_p_value(lost, gained) == p_value
    assert create_sign_test(lost, gained, 0.05).min_p_value == 0.5 ** (lost + gained)


def make_tests(*deltas_of_tests: list[float]) -> dict[int, SignificanceTest]:
    return {number: create_drop_test(deltas, 0.04) for number, deltas in enumerate(deltas_of_tests)}


@pytest.mark.parametrize(
    ("tests", "rejected"),
    [
        pytest.param(make_tests(make_drop(6)), [0], id="one test"),
        pytest.param(make_tests(make_drop(6), *[UNCHANGED] * 4), [0], id="others unchanged"),
        pytest.param(make_tests(make_drop(6), *[make_drop(1)] * 4), [0], id="others cannot reject"),
        pytest.param(make_tests(make_drop(6), MIXED), [0], id="another can reject"),
        pytest.param(make_tests(make_drop(6), *[MIXED] * 4), [], id="many others can reject"),
        pytest.param(make_tests(*[make_drop(6)] * 5), [0, 1, 2, 3, 4], id="five equal drops"),
    ],
)
def test_shared_level(tests: dict[int, SignificanceTest], rejected: list[int]) -> None:
    """Six drops have p = 0.016, and the tests share a level of 0.04."""
    assert sorted(select_significant(tests)) == rejected


def test_interval_is_that_of_a_paired_t_test_and_longer_at_a_long_tail() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    generator = random.Random(6)
    for queries in (*range(5, 12), 30, 100, 300):
        deltas = [generator.expovariate(1) - 2 for _ in range(queries)]
        interval = stats.ttest_1samp(deltas, 0).confidence_interval(0.90)
        t, skewness = stats.t.ppf(0.95, queries - 1), stats.skew(deltas, bias=False)
        longer = 2.5 * skewness * (1 + 2 * t**2) / (6 * queries**0.5) * stats.sem(deltas)
        tolerance = 0.002 * (interval.high - interval.low)

        low, high = compute_interval(deltas) or (0, 0)

        assert low == pytest.approx(interval.low + min(longer, 0), abs=tolerance)
        assert high == pytest.approx(interval.high + max(longer, 0), abs=tolerance)
        symmetric = [*deltas, *(-4 - delta for delta in deltas)]
        reference = stats.ttest_1samp(symmetric, 0).confidence_interval(0.90)
        assert compute_interval(symmetric) == pytest.approx(reference, abs=tolerance)


@pytest.mark.parametrize(
    "deltas", [[], [0.1], [0.1, 0.3, -0.2, 0.4], [0.0] * 5, [-0.2] * 5, [-0.2, -0.1, 0.1, 0.2, 0]]
)
def test_few_or_equal_differences_have_no_interval(deltas: list[float]) -> None:
    assert compute_interval(deltas) is None


@pytest.mark.parametrize(
    ("p_value", "text"), [(0.0001, "p < 0.001"), (0.0157, "p = 0.016"), (0.25, "p = 0.25")]
)
def test_p_value(p_value: float, text: str) -> None:
    assert format_p_value(p_value) == text
