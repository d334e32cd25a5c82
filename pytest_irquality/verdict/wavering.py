"""Several answers to a query: what each unit scores, and how far units differ.

They tell how many queries were lost in all of them, and what differs while the code is the same.

A *unit* is a build of the index or, where a side has one build, an answer; ``b`` and ``n`` count
those of the baseline and of today. Each rule here was simulated on real engines
(``docs/why/statistics.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import comb, exp, fsum, sqrt
from typing import NamedTuple

from pytest_irquality.metrics import Measure, Scores
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Noise
from pytest_irquality.verdict.sides import JudgedAnswer, Sides
from pytest_irquality.verdict.statistics import student

CHANCE = 0.06  # how likely what a guard fails on may be by wavering alone
ENOUGH_UNITS = 3  # of both sides together, to know how far they spread

Units = Sequence[Sequence[Scores]]


def unit_means(units: Units, measure: Measure, weights: Mapping[str, float]) -> list[float]:
    """The score of each unit over some queries, each with its weight."""
    total = 1.0 if measure.aggregate == "sum" else fsum(weights.values())
    means = []
    for unit in units:
        column = unit[0].column_of[measure]
        weighed = (
            weight * (scores.values[id][column] or 0.0)
            for scores in unit
            for id, weight in weights.items()
        )
        means.append(fsum(weighed) / total / len(unit))
    return means


Finds = Callable[[JudgedAnswer, Query], bool]
"""Whether an answer has what a guard watches over."""


class Lost(NamedTuple):
    """The queries that were found in every unit of the baseline and in none of today's.

    ``wavering`` others were found in as many units as the baseline has, scattered over both sides.
    ``beyond_chance`` is False where as many losses may be wavering alone. Of the ``found`` queries,
    which any unit of the baseline found, ``steady`` were found by all of them: only these can be
    seen lost.
    """

    queries: Sequence[Query]
    wavering: int
    beyond_chance: bool
    found: int
    steady: int


def lost(sides: Sides, finds: Finds) -> Lost:
    """The queries that a guard sees lost over all units of both sides."""
    now = sides.answers.units(sides.answers)
    before = sides.answers_before.units(sides.answers_before)
    gone, wavering, ever, steady = [], 0, 0, 0
    for query in sides.suite.queries:
        if query.id not in sides.before or query.expects_nothing:
            continue
        then, today = _found(before, finds, query), _found(now, finds, query)
        ever, steady = ever + any(then), steady + all(then)
        if all(then) and not any(today):
            gone.append(query)
        elif _wavers(then, today):
            wavering += 1
    beyond = exceeds_wavering(len(gone), wavering, len(before), len(now))
    return Lost(gone, wavering, beyond, ever, steady)


def _found(units: Sequence[Sequence[JudgedAnswer]], finds: Finds, query: Query) -> Sequence[bool]:
    return [any(finds(answer, query) for answer in unit) for unit in units]


def _wavers(then: Sequence[bool], today: Sequence[bool]) -> bool:
    """Tell whether chance could have lost what was found so, had it fallen otherwise."""
    only_got_better = not any(then) and all(today)
    return sum(then) + sum(today) == len(then) and not only_got_better


# -- what unchanged code does ----------------------------------------------------------------------


def unchanged_code(sides: Sides) -> Noise | None:
    """The differences among the answers of a side; None where each query has one answer."""
    if not sides.tells_noise:
        return None
    now, before, k = sides.answers, sides.answers_before, sides.suite.top_k
    return Noise(
        len(now),
        now.builds,
        len(before),
        before.builds,
        sum(len({one.rankings[q.id][:k] for one in now.to(q.id)}) > 1 for q in sides.asked),
        sum(len({one.rankings[id][:k] for one in before}) > 1 for id in sides.before),
    )


# -- how far answers of unchanged code differ, and what exceeds that -------------------------------


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
