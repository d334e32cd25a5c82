"""Several answers to a query: what each unit of a side scores and finds, and what of it may be
wavering.

A unit is a build of the index or, where a side has one build, an answer; the rules are in
``noise.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum

from pytest_irquality.metrics import Measure, Scores
from pytest_irquality.metrics.families.overlaps import biased_overlap, shared
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Noise, RankedDocument, Spread, Wavering
from pytest_irquality.verdict.measured import Measured, counts, counts_zero
from pytest_irquality.verdict.medians import counted_in
from pytest_irquality.verdict.noise import exceeds_wavering

Units = Sequence[Sequence[Measured]]

Scored = Callable[[Measured], Scores]


def in_baseline_order(answer: Measured) -> Scores:
    """What drops are measured by."""
    return answer.scores_compared


def as_returned(answer: Measured) -> Scores:
    """What users see."""
    return answer.scores


def units_now(measured: Measured) -> Units:
    """Today's answers, unit by unit."""
    return _units(measured.answers)


def units_before(measured: Measured) -> Units:
    """The baseline's."""
    return _units(measured.answers_before)


def _units(answers: Sequence[Measured]) -> Units:
    builds: dict[int, list[Measured]] = {}
    for answer in answers:
        builds.setdefault(answer.run.first.build, []).append(answer)
    return list(builds.values()) if len(builds) > 1 else [[answer] for answer in answers]


def unit_means(
    units: Units, measure: Measure, weights: Mapping[str, float], scored: Scored = in_baseline_order
) -> list[float]:
    """What each unit scores over some queries, each with its weight."""
    total = 1.0 if measure.aggregate == "sum" else fsum(weights.values())
    means = []
    for unit in units:
        column = unit[0].suite.column_of[measure]
        rows = [scored(answer).values for answer in unit]
        weighed = (
            weight * (row[id][column] or 0.0) for row in rows for id, weight in weights.items()
        )
        means.append(fsum(weighed) / total / len(unit))
    return means


# -- guards ----------------------------------------------------------------------------------------

Finds = Callable[[Measured, Query], bool]
"""Whether an answer has what a guard watches over."""


@dataclass(frozen=True)
class Lost:
    """The queries that were found in every unit of the baseline and in none of today's.

    ``wavering`` others were found in as many units as the baseline has, scattered over both sides.
    ``beyond_chance`` is False where as many losses may be wavering alone.
    """

    queries: tuple[Query, ...]
    wavering: int
    beyond_chance: bool


def lost(measured: Measured, finds: Finds) -> Lost:
    """What a guard sees over all units of both sides."""
    now, before = units_now(measured), units_before(measured)
    gone, wavering = [], 0
    for query in measured.suite.queries:
        if query.id not in measured.before or query.expects_nothing:
            continue
        then = [any(finds(answer, query) for answer in unit) for unit in before]
        today = [any(finds(answer, query) for answer in unit) for unit in now]
        found = sum(then) + sum(today)
        if all(then) and not any(today):
            gone.append(query)
        elif found == len(before) and (any(then) or not all(today)):
            # All but those found in no unit before and in all of today's: these only got better.
            wavering += 1
    beyond = exceeds_wavering(len(gone), wavering, len(before), len(now))
    return Lost(tuple(gone), wavering, beyond)


# -- what unchanged code does ----------------------------------------------------------------------

MOST_LISTED = 10


def unchanged_code(measured: Measured) -> Noise | None:
    """How far the answers of a side differ among themselves; None where each query has one
    answer.
    """
    if not measured.several:
        return None
    now, before = units_now(measured), units_before(measured)
    of_queries = [_wavering(measured, query) for query in measured.asked]
    wavering = [found for found in of_queries if found is not None]
    wavering.sort(key=lambda found: found.overlap)
    return Noise(
        len(measured.answers),
        len({answer.run.first.build for answer in measured.answers}),
        len(measured.answers_before),
        len({answer.run.first.build for answer in measured.answers_before}),
        tuple(_spread(measured, measure, now, before) for measure in _shown(measured)),
        tuple(wavering[:MOST_LISTED]),
        len(wavering),
    )


def _shown(measured: Measured) -> Iterator[Measure]:
    """Those of which a unit has a mean of its own: what is empty in every answer no unit knows."""
    for measure in measured.suite.metrics:
        other = measure.definition.compares or bool(measure.stage)
        if measure.unit != "seconds" and not other and not counts_zero(measure):
            yield measure


def _spread(measured: Measured, measure: Measure, now: Units, before: Units) -> Spread:
    means = _plain_means(measured, measure, now)
    then = _plain_means(measured, measure, before)
    return Spread(
        str(measure),
        len(now),
        min(means, default=0.0),
        max(means, default=0.0),
        len(before),
        min(then, default=None),
        max(then, default=None),
    )


def _plain_means(measured: Measured, measure: Measure, units: Units) -> list[float]:
    """What each unit scores over the queries that define the measure on all sides."""
    column = measured.suite.column_of[measure]
    answers = [answer.scores.values for unit in units for answer in unit]
    weights = {}
    for query in measured.suite.queries:
        defined = all(
            query.id in values and values[query.id][column] is not None for values in answers
        )
        weight = query.weight if measure.weighted else 1.0
        if defined and weight and counts(measure, query):
            weights[query.id] = weight
    return unit_means(units, measure, weights, as_returned) if weights else []


def _values_of_first_measure(measured: Measured, query: Query) -> Sequence[float]:
    """What each answer to a query scores of the first measure shown, where it is defined."""
    if not measured.suite.metrics:
        return []
    first = measured.suite.column_of[measured.suite.metrics[0]]
    values = [answer.scores.values[query.id][first] for answer in measured.answers]
    return [value for value in values if value is not None]


def _wavering(measured: Measured, query: Query) -> Wavering | None:
    """A query whose answers of today differ."""
    k = measured.suite.top_k
    tops = [
        answer.rankings[query.id][:k] for answer in measured.answers if query.id in answer.rankings
    ]
    if len(set(tops)) < 2:
        return None
    pairs = list(combinations(tops, 2))
    overlap = fsum(shared(one, other) for one, other in pairs) / len(pairs)
    rbo = fsum(biased_overlap(one, other) for one, other in pairs) / len(pairs)
    values = _values_of_first_measure(measured, query)
    often = counted_in(tops)
    come_and_go = [id for id, times in often.items() if times < len(tops)]
    return Wavering(
        query.id,
        len(tops),
        overlap,
        rbo,
        min(values, default=None),
        max(values, default=None),
        tuple(
            RankedDocument(id, title=measured.title(id), in_answers=often[id])
            for id in come_and_go[:MOST_LISTED]
        ),
    )
