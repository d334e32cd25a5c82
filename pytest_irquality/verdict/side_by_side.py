"""The retrievers of one suite beside each other.

What each scored, which is best, and whether by more than chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_irquality.verdict.pool import NEEDS_NO_GRADE
from pytest_irquality.verdict.result import QueryResult, SuiteResult
from pytest_irquality.verdict.statistics import EQUAL, holm, sign_flip, win_tie_loss


@dataclass(frozen=True)
class Side:
    """One retriever's value, over the ``queries`` that it has one for.

    All retrievers that share the best value are ``best``. The others are held against it (the
    first, where several share it) over the queries that both define, of which ``better``, ``equal``
    and ``worse`` count those on which they are that. ``p`` is that of a two-sided sign-flip test of
    these, corrected by Holm's method for the number of retrievers so compared; None for the best,
    for times, and where nothing can be compared.
    """

    value: float | None
    queries: int
    best: bool = False
    better: int = 0
    equal: int = 0
    worse: int = 0
    p: float | None = None


@dataclass(frozen=True)
class MeasureSides:
    """One measure over the whole suite, a side for each retriever.

    No side is best where no direction is better, or where it says how alike two sides are.
    """

    measure: str
    unit: str
    higher_is_better: bool | None
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class SideBySide:
    """A suite judged for several retrievers.

    It has a row for each measure shown, in each a side for every retriever.
    """

    suite: str
    path: str
    retrievers: tuple[str, ...]
    rows: tuple[MeasureSides, ...]


def side_by_side(results: Iterable[SuiteResult]) -> tuple[SideBySide, ...]:
    """A table for each suite that has results of more than one retriever.

    Both are in the order of the results.
    """
    suites: dict[str, list[SuiteResult]] = {}
    for result in results:
        if result.is_of_a_test:  # whose search is its own affair
            continue
        suites.setdefault(result.path, []).append(result)
    return tuple(_table(some) for some in suites.values() if len(some) > 1)


def _table(results: Sequence[SuiteResult]) -> SideBySide:
    first = results[0]
    rows = tuple(_row(measure, first.measures.index(measure), results) for measure in first.shown)
    return SideBySide(first.suite, first.path, tuple(result.retriever for result in results), rows)


def _row(measure: str, column: int, results: Sequence[SuiteResult]) -> MeasureSides:
    means = [mean for result in results if (mean := result.mean(measure))]
    of, sign = means[0], -1.0 if means[0].higher_is_better is False else 1.0
    sides = [Side(mean.value, mean.queries) for mean in means]
    ranked = [sign * mean.value for mean in means if mean.value is not None]
    ranks_sides = of.higher_is_better is not None and not measure.startswith(NEEDS_NO_GRADE)
    if ranks_sides and len(ranked) > 1:
        sides = [
            replace(side, best=side.value is not None and sign * side.value >= max(ranked) - EQUAL)
            for side in sides
        ]
        if of.unit != "seconds":
            sides = _compared(sides, [_gains(result, column, sign) for result in results])
    return MeasureSides(measure, of.unit, of.higher_is_better, tuple(sides))


def _compared(sides: Sequence[Side], gains: Sequence[Mapping[str, float]]) -> list[Side]:
    """The sides with the test of each against the best."""
    best = gains[next(place for place, side in enumerate(sides) if side.best)]
    held, ps = list(sides), {}
    for place, side in enumerate(sides):
        differences = [gain - best[query] for query, gain in gains[place].items() if query in best]
        if not side.best and differences:
            better, equal, worse = win_tie_loss(differences)
            held[place] = replace(side, better=better, equal=equal, worse=worse)
            ps[place] = sign_flip(differences, two_sided=True)
    for place, p in zip(ps, holm(list(ps.values())), strict=True):
        held[place] = replace(held[place], p=p)
    return held


def _gains(result: SuiteResult, column: int, sign: float) -> dict[str, float]:
    """The contribution of every query to the mean, more being better."""
    weighted = result.measures[column].startswith("weighted ")

    def weight(query: QueryResult) -> float:
        return query.weight if weighted else 1.0

    values = ((query, query.values[column]) for query in result.queries)
    return {
        query.id: sign * weight(query) * value
        for query, value in values
        if value is not None and weight(query)
    }
