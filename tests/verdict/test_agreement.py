"""Agreement of judges, held to the krippendorff package."""

from __future__ import annotations

from math import nan
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from pytest_irquality.verdict.agreement import alpha, interval, patterns_of

LABELS = (0.0, 1.0, 2.0, 5.0)
grades = st.sampled_from(LABELS)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.none() | grades] * 4), min_size=1, max_size=40))
def test_alpha_is_that_of_the_krippendorff_package(
    units: list[tuple[float | None, ...]],
) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    given_ones = [[grade for grade in unit if grade is not None] for unit in units]
    paired = {grade for unit in given_ones if len(unit) > 1 for grade in unit}
    ours = alpha(patterns_of(given_ones))
    if len(paired) < 2:
        assert ours is None
        return
    table = [
        [nan if grade is None else grade for grade in judge] for judge in zip(*units, strict=True)
    ]
    theirs = krippendorff.alpha(
        reliability_data=table, level_of_measurement="ordinal", value_domain=LABELS
    )
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_full_agreement_is_one_and_one_label_says_nothing() -> None:
    assert alpha({(0.0, 0.0): 4, (1.0, 1.0): 3}) == 1
    assert alpha({(1.0, 1.0): 9}) is None
    assert alpha({(1.0,): 5, (0.0,): 5}) is None
    assert alpha({}) is None


def test_intervals_are_the_same_every_time_and_hold_the_figure_they_are_of() -> None:
    draw = Random(7)
    pairs = [(grade, max(0.0, grade - draw.choice((0, 0, 0, 1)))) for grade in LABELS * 30]
    times = patterns_of(pairs)
    low, high = interval(times) or (nan, nan)
    assert (low, high) == interval(times)
    assert low < (alpha(times) or nan) < high < 1
    assert high - low < 0.2
    assert interval({(0.0, 1.0): 1}) is None
