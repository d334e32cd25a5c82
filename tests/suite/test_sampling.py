"""Samples of query logs: drawn by frequency, and weighted so that means are those over searches."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_irquality.suite.sampling import certainties, draw, sample, systematic

LOG = [round(20_000 / (rank + 1)) for rank in range(3000)]  # as logs are: few often, most once


@pytest.mark.parametrize("size", [3, 7, 200, 2999])
def test_a_sample_has_its_size_each_query_once_and_stands_for_all_searches(size: int) -> None:
    drawn = sample(LOG, size)
    assert len({one.place for one in drawn.drawn}) == len(drawn.drawn) == size
    assert sum(one.weight for one in drawn.drawn) == pytest.approx(sum(LOG))
    assert drawn == sample(LOG, size)
    assert all(one.weight >= LOG[one.place] * (1 - 1e-9) for one in drawn.drawn)
    assert all(one.weight == LOG[one.place] for one in drawn.drawn if one.certain)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=2, max_size=12), st.integers(1, 8))
def test_every_query_is_drawn_as_often_as_its_weight_says(counts: list[int], size: int) -> None:
    """Exactly, over every start there is: its chance times its weight is its count, which is all
    that an unbiased total needs.
    """
    counts = sorted(counts, reverse=True)
    size = min(size, len(counts))
    certain = certainties(counts, size)
    rest, steps = [Fraction(count) for count in counts[certain:]], size - certain
    assert all(count * (size - n) >= sum(counts[n:]) for n, count in enumerate(counts[:certain]))
    if not steps:
        return
    step = sum(rest) / steps
    assert max(rest) < step or steps == len(rest)
    chance = [Fraction(0)] * len(rest)
    numbers: list[Any] = [*rest]  # exact ones
    turns: list[Fraction] = sorted(
        {Fraction(0), Fraction(1), *(Fraction(end / step) % 1 for end in accumulate(rest))}
    )
    for low, high in pairwise(turns):
        start: Any = (low + high) / 2
        drawn = systematic(numbers, steps, start)
        assert len(set(drawn)) == steps
        for place in drawn:
            chance[place] += high - low
    weight = step
    assert [one * weight for one in chance] == rest


def test_weighted_means_centre_on_the_mean_over_all_searches() -> None:
    value = [Random(place).random() * (1 if count > 20 else 0.5) for place, count in enumerate(LOG)]
    truth = sum(v * count for v, count in zip(value, LOG, strict=True)) / sum(LOG)
    means = []
    for n in range(60):
        drawn = [*draw(LOG, range(len(LOG)), 60, n / 60)]
        total = sum(one.weight for one in drawn)
        means.append(sum(value[one.place] * one.weight for one in drawn) / total)
    assert sum(means) / len(means) == pytest.approx(truth, abs=0.01)
    plain = sum(value) / len(value)
    assert abs(plain - truth) > 0.03  # the mean over queries is another one


def test_a_short_log_is_taken_whole_and_what_nobody_searched_is_left_out() -> None:
    drawn = sample([5, 0, 3], 10)
    assert drawn.everything
    assert [(one.place, one.weight) for one in drawn.drawn] == [(0, 5), (2, 3)]
    assert sample([0, 0], 10).drawn == ()
