"""Bounds on the values of queries, held against builds whose rankings were scored before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import fsum
from typing import NamedTuple

from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Answer
from pytest_irquality.suite.demands import Bound
from pytest_irquality.suite.model import Check
from pytest_irquality.verdict.comparison import Pair, change_of
from pytest_irquality.verdict.findings import Change
from pytest_irquality.verdict.limits import within
from pytest_irquality.verdict.noise import drop_noise
from pytest_irquality.verdict.scoring import counts_zero
from pytest_irquality.verdict.statistics import EQUAL, holm
from pytest_irquality.verdict.together import SMALL, fails

Unit = tuple[Answer, ...]
"""A build of the index: all its answers."""
Units = Sequence[Unit]
Values = Callable[[Answer, Answer, Measure], Sequence[float]]


class Held(NamedTuple):
    """A bound of a check on one subject; ``weights`` are those of its queries, by their place."""

    check: Check
    measure: Measure
    bound: Bound
    subject: str
    weights: Mapping[int, float]


class Columns:
    """The means of both sides of one judging.

    ``values`` gives what an answer scores, with ties in the order of another.
    """

    def __init__(self, values: Values, before: Units, now: Units) -> None:
        self.values, self.first = values, before[0][0]
        self.before, self.now = units_of(before), units_of(now)
        self.means: dict[tuple[str, Measure], Sequence[float]] = {}

    def mean(self, side: str, measure: Measure) -> Sequence[float]:
        """The mean of each query over a side's answers: before, now, or now as returned."""
        if (side, measure) not in self.means:
            units = self.before if side == "before" else self.now
            columns = [self._values(answer, measure, side) for answer in chain.from_iterable(units)]
            many = len(columns)
            if many == 1:
                mean = columns[0]
            elif counts_zero(measure):
                mean = [*map(min, *columns)]
            else:
                mean = [fsum(values) / many for values in zip(*columns, strict=True)]
            self.means[side, measure] = mean
        return self.means[side, measure]

    def _values(self, answer: Answer, measure: Measure, side: str) -> Sequence[float]:
        first = answer if side == "returned" else self.first
        return self.values(first, answer, measure)

    def of(self, side: str, held: Held) -> float:
        """The value of a subject."""
        return _over(held, self.mean(side, held.measure))

    def worsening(self, held: Held) -> float:
        """By how much a subject got worse."""
        return held.bound.worsening(self.of("before", held), self.of("now", held))

    def holds(self, held: Held) -> bool:
        """Tell whether a bound holds, whatever a test says."""
        if held.bound.on_change:
            value = self.worsening(held)
        else:
            value = self.of("returned", held) / (len(held.weights) if held.bound.share else 1)
        return held.bound.left(value, held.bound.value) >= -EQUAL

    def change(self, held: Held) -> Change:
        """The tested change of a subject, with what unchanged code does."""
        before, now = self.mean("before", held.measure), self.mean("now", held.measure)
        pairs = [Pair("", before[at], now[at], weight) for at, weight in held.weights.items()]
        change = change_of(held.measure, pairs, tested=True)
        assert change is not None
        units = ([self._of_unit(held, unit) for unit in side] for side in (self.before, self.now))
        return replace(change, noise=drop_noise(*units))

    def _of_unit(self, held: Held, unit: Unit) -> float:
        of_each = (_over(held, self._values(answer, held.measure, "now")) for answer in unit)
        return fsum(of_each) / len(unit)


def units_of(builds: Units) -> Units:
    """The units of a side: its builds, or the answers of a single one."""
    return builds if len(builds) > 1 else [(answer,) for answer in builds[0]]


def _over(held: Held, column: Sequence[float]) -> float:
    total = fsum(column[place] * weight for place, weight in held.weights.items())
    return total if held.measure.aggregate == "sum" else total / fsum(held.weights.values())


def broken(every: Sequence[Held], columns: Columns) -> Iterator[Check]:
    """The checks of which a bound breaks."""
    plain, tested = ([held for held in every if held.bound.tested is of] for of in (False, True))
    yield from (held.check for held in plain if not columns.holds(held))
    if not all(map(columns.holds, tested)):
        yield from _broken_by_tests(tested, columns)
    yield from _broken_by_default([held for held in every if held.check.over_suites], columns)


def _broken_by_default(every: Sequence[Held], columns: Columns) -> Iterator[Check]:
    """Those that fail by what a retriever's suites may lose together."""
    for held in every:
        if columns.worsening(held) > SMALL and fails(columns.change(held)):
            yield held.check


def _broken_by_tests(tested: Sequence[Held], columns: Columns) -> Iterator[Check]:
    """Those of the bounds that rest on tests, Holm-corrected together."""
    changes = {(held.measure, held.subject): columns.change(held) for held in tested}
    ps = holm([1.0 if one.p is None else one.p for one in changes.values()])
    corrected = dict(zip(changes, ps, strict=True))
    for held in tested:
        of = held.measure, held.subject
        if not within(held.bound, replace(changes[of], adjusted=corrected[of])):
            yield held.check
