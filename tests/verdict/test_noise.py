"""What unchanged code does: against SciPy, and the table that the rules were chosen by."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_irquality.verdict.statistics import student
from pytest_irquality.verdict.wavering import (
    drop_noise,
    exceeds_wavering,
    poisson_at_least,
)


@pytest.fixture
def stats() -> Any:
    """SciPy, imported for its own tests only: that takes as long as all the files of tests together."""
    return pytest.importorskip("scipy.stats", reason="scipy, the oracle, is not installed")


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 11, 30, 98])
def test_students_quantile(stats: Any, freedom: int) -> None:
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), abs=1e-9)


def test_the_noise_of_a_drop_is_half_of_students_interval(stats: Any) -> None:
    before, now = [0.80, 0.82, 0.81], [0.79, 0.75, 0.78, 0.77]
    interval = stats.ttest_ind(before, now).confidence_interval(0.95)
    assert drop_noise(before, now) == pytest.approx((interval.high - interval.low) / 2)


@pytest.mark.parametrize(("before", "now"), [([0.8], [0.7]), ([], [0.7, 0.8, 0.9])])
def test_too_few_units_know_no_noise(before: list[float], now: list[float]) -> None:
    assert drop_noise(before, now) is None


def test_one_unit_against_two_is_enough(stats: Any) -> None:
    assert drop_noise([0.8], [0.7, 0.8]) == pytest.approx(
        stats.t.ppf(0.975, 1) * 0.005**0.5 * 1.5**0.5
    )


@pytest.mark.parametrize(("lost", "most"), [(1, 1), (2, 7), (3, 15)])
def test_three_against_three(lost: int, most: int) -> None:
    assert exceeds_wavering(lost, most, 3, 3)
    assert not exceeds_wavering(lost, most + 1, 3, 3)


def test_one_answer_a_side_knows_no_wavering() -> None:
    assert exceeds_wavering(1, 0, 1, 1)
    assert not exceeds_wavering(0, 0, 1, 1)
    assert not exceeds_wavering(0, 0, 3, 3)


@pytest.mark.parametrize(("count", "mean"), [(0, 0.0), (1, 0.0), (1, 0.05), (3, 1.5), (20, 4.0)])
def test_the_tail_of_poisson(stats: Any, count: int, mean: float) -> None:
    assert poisson_at_least(count, mean) == pytest.approx(
        stats.poisson.sf(count - 1, mean), abs=1e-12
    )
