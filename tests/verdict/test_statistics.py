"""Statistics of paired differences, beside scipy and beside every pattern of signs written out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import log2, sqrt
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from pytest_irquality.verdict.statistics import detectable, holm, interval, sign_flip, win_tie_loss

often = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much],
)
TENTH, WHOLE = (
    252,
    2520,
)  # differences of precision@10 and of reciprocal ranks are multiples of 1/2520
tenths = st.integers(-10, 10).map(lambda number: number * TENTH)
reciprocal_ranks = st.builds(
    lambda now, before: WHOLE // now - WHOLE // before, *[st.integers(1, 10)] * 2
)


def share_as_low(units: Sequence[int]) -> float:
    """The p of the test, from the number of patterns for every sum."""
    patterns = Counter({0: 1})
    for unit in units:
        found: Counter[int] = Counter()
        for total, times in patterns.items():
            found[total + unit] += times
            found[total - unit] += times
        patterns = found
    return sum(times for total, times in patterns.items() if total <= sum(units)) / patterns.total()


@often
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_p_is_the_share_of_sign_patterns_with_as_low_a_mean(differences: list[float]) -> None:
    assume(all(abs(difference) > 1e-6 for difference in differences))
    patterns = [
        sum(sign * abs(difference) for sign, difference in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    observed = sum(differences)
    assume(all(abs(total - observed) < 1e-12 or abs(total - observed) > 1e-6 for total in patterns))
    assert sign_flip(differences) == sum(total <= observed + 1e-12 for total in patterns) / len(
        patterns
    )


@often
@given(st.lists(tenths, max_size=24) | st.lists(reciprocal_ranks, max_size=24))
def test_equal_sums_are_equal_up_to_24_queries(units: list[int]) -> None:
    assert sign_flip([unit / WHOLE for unit in units]) == pytest.approx(
        share_as_low(units), rel=1e-12
    )


@pytest.mark.parametrize("queries", [9, 17, 24])
def test_differences_of_no_common_unit_are_never_made_more_significant(queries: int) -> None:
    """Single relevant documents moving among the first three ranks: three nDCG differences, one the sum of the others."""
    third, half = 1 - 1 / log2(3), 1 / 2
    draw = Random(queries)
    moves = [
        draw.choice([(1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1)]) for _ in range(queries)
    ]
    sums: Counter[tuple[int, int]] = Counter({(0, 0): 1})
    for one, two in moves:
        sums = sum(
            (
                Counter({(a + s * one, b + s * two): n for (a, b), n in sums.items()})
                for s in (1, -1)
            ),
            Counter(),
        )
    differences = [one * third + two * half for one, two in moves]
    as_low = sum(n for (a, b), n in sums.items() if a * third + b * half <= sum(differences) + 1e-9)
    exact = as_low / 2**queries
    assert exact <= sign_flip(differences) * (1 + 1e-12) <= exact + 1e-9


@pytest.mark.parametrize("queries", [25, 51, 300])
def test_above_24_it_is_estimated_well(queries: int) -> None:
    draw = Random(queries)
    for mean in (0.0, -0.03, -0.06):
        units = [round(draw.gauss(mean, 0.2) * 10) * TENTH for _ in range(queries)]
        exact, estimate = share_as_low(units), sign_flip([unit / WHOLE for unit in units])
        assert abs(estimate - exact) < 4 * sqrt(exact * (1 - exact) / 10_000) + 1e-3


def test_scipy_agrees() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy, the oracle, is not installed")
    draw = Random(5)
    for queries in (6, 12, 80):
        now = [round(draw.random(), 1) for _ in range(queries)]
        before = [round(draw.random() + 0.05, 1) for _ in range(queries)]
        differences = [new - old for new, old in zip(now, before, strict=True)]
        exact = queries < 20
        theirs = stats.permutation_test(
            (now, before),
            lambda one, other, axis: (one - other).mean(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=2**queries if exact else 9_999,
            alternative="less",
            rng=1,
        )
        assert sign_flip(differences) == pytest.approx(theirs.pvalue, abs=1e-12 if exact else 0.025)


def test_the_interval_is_that_of_a_paired_t_test_and_longer_at_a_long_tail() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy, the oracle, is not installed")
    draw = Random(6)
    for queries in (*range(5, 16), 30, 100, 1000):
        differences = [draw.expovariate(1) - 2 for _ in range(queries)]
        low, high = interval(differences) or (0, 0)
        theirs = stats.ttest_1samp(differences, 0).confidence_interval(0.90)
        t, skewness = stats.t.ppf(0.95, queries - 1), stats.skew(differences, bias=False)
        longer = 2.5 * skewness * (1 + 2 * t**2) / (6 * queries**0.5) * stats.sem(differences)
        near = 1e-5 * (theirs.high - theirs.low)
        assert low == pytest.approx(theirs.low + min(longer, 0), abs=near)
        assert high == pytest.approx(theirs.high + max(longer, 0), abs=near)
        mirrored = [*differences, *(-4 - each for each in differences)]  # of no skewness
        theirs = stats.ttest_1samp(mirrored, 0).confidence_interval(0.90)
        assert interval(mirrored) == pytest.approx((theirs.low, theirs.high), abs=near)


def test_nothing_can_be_said_of_one_query_or_of_equal_differences() -> None:
    assert interval([0.1, 0.3, -0.2, 0.4]) is None  # four say next to nothing
    for differences in ([], [0.1], [0.0, 0.0], [-0.2, -0.2, -0.2], [0.3, 0.1 + 0.2]):
        assert interval(differences) is None
        assert detectable(differences) is None


def test_no_difference_no_doubt() -> None:
    assert sign_flip([]) == sign_flip([0.0] * 30) == sign_flip([0.0, 1e-17]) == 1


@pytest.mark.parametrize("queries", [3, 30, 300])
def test_p_is_never_zero_and_one_where_all_got_better(queries: int) -> None:
    assert sign_flip([-0.1] * queries) == (2**-queries if queries < 25 else 1 / 10_001)
    assert sign_flip([0.1] * queries) == 1


@pytest.mark.parametrize("queries", [7, 40, 90])
def test_neither_order_nor_scale_nor_unchanged_queries_matter(queries: int) -> None:
    draw = Random(queries)
    differences = [draw.gauss(-0.02, 0.1) for _ in range(queries)]
    shuffled = draw.sample([*differences, 0.0, 0.0, 0.0], queries + 3)
    assert sign_flip(shuffled) == sign_flip(differences)
    assert sign_flip([4 * difference for difference in differences]) == sign_flip(differences)


def test_an_estimate_is_the_same_every_time_and_leaves_other_randomness_alone() -> None:
    import random

    random.seed(3)
    expected = random.random()
    random.seed(3)
    differences = [0.1 * (place % 7 - 3) for place in range(100)]
    assert sign_flip(differences) == sign_flip(differences)
    assert random.random() == expected


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@often
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_order_and_raises_no_less_than_nothing_and_no_more_than_bonferroni(
    ps: list[float],
) -> None:
    adjusted = holm(ps)
    for p, corrected in zip(ps, adjusted, strict=True):
        assert p <= corrected <= min(1, p * len(ps))
    assert sorted(adjusted) == [
        adjusted[place] for place in sorted(range(len(ps)), key=ps.__getitem__)
    ]


def test_what_a_suite_can_detect_is_found_four_times_in_five() -> None:
    draw = Random(8)
    runs = [[draw.gauss(0, 0.2) for _ in range(40)] for _ in range(300)]
    drop = 2.49 * 0.2 / sqrt(40)
    assert detectable(runs[0]) == pytest.approx(drop, rel=0.4)
    found = sum(sign_flip([difference - drop for difference in run]) < 0.05 for run in runs)
    assert 0.75 < found / len(runs) < 0.85


def test_win_tie_loss() -> None:
    assert win_tie_loss([0.5, -0.1, 0.0, 1e-12, -1e-12, 0.2]) == (2, 3, 1)
    assert win_tie_loss([]) == (0, 0, 0)
