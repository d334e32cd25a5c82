"""Several answers to a query: what each unit scores, and how far units differ.

They tell how many queries were lost in all of them, and what differs while the code is the same.

A unit is a build of the index or, where a side has one build, an answer; the rules are in
``noise.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import NamedTuple

from pytest_irquality.metrics import Measure, Scores
from pytest_irquality.metrics.families.overlaps import shared
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.findings import Noise, Spread, Wavering
from pytest_irquality.verdict.noise import exceeds_wavering
from pytest_irquality.verdict.scoring import ScoredSides, counts_zero
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

MOST_LISTED = 10


def unchanged_code(scores: ScoredSides) -> Noise | None:
    """The differences among the answers of a side; None where each query has one answer."""
    sides = scores.sides
    if not sides.tells_noise:
        return None
    of_queries = (_wavering(scores, query) for query in sides.asked)
    wavering = [found for found in of_queries if found is not None]
    wavering.sort(key=lambda found: found.overlap)
    now, before, k = sides.answers, sides.answers_before, sides.suite.top_k
    units = now.units(scores.answers)
    scored = scores.scoring.scores
    units_before = before.units(scored(one.given, one.rankings) for one in before)
    return Noise(
        len(now),
        now.builds,
        len(before),
        before.builds,
        tuple(_spread(scores, measure, units, units_before) for measure in _shown(sides.suite)),
        tuple(wavering[:MOST_LISTED]),
        len(wavering),
        sum(len({one.rankings[id][:k] for one in before}) > 1 for id in sides.before),
    )


def _shown(suite: Suite) -> Iterator[Measure]:
    """The measures of which a unit has a mean of its own.

    What is empty in every answer no unit knows.
    """
    for measure in suite.metrics:
        of_more = measure.stage or measure.definition.compares or measure.unit == "seconds"
        if not of_more and not counts_zero(measure):
            yield measure


def _spread(scores: ScoredSides, measure: Measure, now: Units, before: Units) -> Spread:
    suite = scores.sides.suite
    means = _means(suite, measure, now, scores.now)
    then = _means(suite, measure, before, scores.before)
    return Spread(
        str(measure),
        len(now),
        min(means, default=0.0),
        max(means, default=0.0),
        len(before),
        min(then, default=None),
        max(then, default=None),
    )


def _means(suite: Suite, measure: Measure, units: Units, means: Scores) -> list[float]:
    """The score of each unit over the queries that define the measure in every answer."""
    defined = (
        query
        for query in suite.queries
        if query.id in means.values and means.value(query.id, measure) is not None
    )
    weights = {query.id: query.weight if measure.weighted else 1.0 for query in defined}
    counted = {id: weight for id, weight in weights.items() if weight}
    return unit_means(units, measure, counted) if counted else []


def _wavering(scores: ScoredSides, query: Query) -> Wavering | None:
    """A query whose answers of today differ."""
    sides, k = scores.sides, scores.sides.suite.top_k
    tops = [answer.rankings[query.id][:k] for answer in sides.answers.to(query.id)]
    if len(set(tops)) < 2:
        return None
    pairs = list(combinations(tops, 2))
    overlap = fsum(shared(one, other) for one, other in pairs) / len(pairs)
    values = _values_of_first_measure(scores, query)
    return Wavering(
        query.id,
        overlap,
        min(values, default=None),
        max(values, default=None),
    )


def _values_of_first_measure(scores: ScoredSides, query: Query) -> Sequence[float]:
    """The values of the first measure shown of each answer to a query, where it is defined."""
    metrics = scores.sides.suite.metrics
    if not metrics:
        return []
    values = (answer.value(query.id, metrics[0]) for answer in scores.answers)
    return [value for value in values if value is not None]
