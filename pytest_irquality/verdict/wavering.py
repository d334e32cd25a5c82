"""Several answers to a query: what each unit scores, and how far units differ.

They tell how many queries were lost in all of them, and what differs while the code is the same.

A unit is a build of the index or, where a side has one build, an answer; the rules are in
``noise.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import NamedTuple

from pytest_irquality.metrics import Measure, Scores
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Noise
from pytest_irquality.verdict.noise import exceeds_wavering
from pytest_irquality.verdict.sides import JudgedAnswer, Sides

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
