"""Drops that a change accepts in the open: its own committed baseline says that they are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, islice
from math import fsum, sqrt
from statistics import fmean

from pytest_irquality.metrics import Measure, Scores
from pytest_irquality.retrieval.run import Run
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.scoring import ScoredSides
from pytest_irquality.verdict.sides import Sides
from pytest_irquality.verdict.statistics import EQUAL, student
from pytest_irquality.verdict.wavering import squares


@dataclass(frozen=True)
class Accepting:
    """The baseline that HEAD commits, where it is another than that of the merge base.

    ``lacks`` is why nothing can be compared with the merge base's. ``refused``: the project has a
    drop accepted by nobody but who merges it (``ir_accepted = fail``).
    """

    run: Run
    lacks: str = ""
    refused: bool = False


def may_be_accepted(finding: Finding, compares: frozenset[str]) -> bool:
    """Tell whether a finding is on a change.

    ``compares`` are the measures that read the baseline's ranking. What variants lose, they lose
    from today's queries.
    """
    if finding.variants:
        return False
    return finding.demand.on_change or finding.measure in compares


def judged_with(now: Comparison, committed: Run) -> Run:
    """The merge base's answers, with those that are committed anew where today's are just these.

    Where the merge base cannot be compared with at all, or not as deep, all of the committed ones.
    """
    base = now.sides.baseline_run
    shallow = base and base.depth and committed.depth and base.depth < committed.depth
    if base is None or shallow or not base.answered:
        return committed
    taken = {*as_committed(now, committed), *(committed.answered - base.answered)}
    many = max(len(base.answers), len(committed.answers))
    # The answers of the side that has fewer are repeated.
    pairs = islice(zip(cycle(base.answers), cycle(committed.answers)), many)
    answers = tuple(
        replace(answer, rankings={**answer.rankings, **anew.only(taken).rankings})
        for answer, anew in pairs
    )
    stages = dict(base.stages)
    for name in now.sides.stages.keys() & committed.stages.keys():
        stage = replace(now, sides=now.sides.stages[name])
        stages[name] = judged_with(stage, committed.stages[name])
    return replace(base, answers=answers, stages=stages)


def as_committed(now: Comparison, committed: Run) -> Sequence[str]:
    """The queries that return what HEAD committed for them, ties aside, in the suite's order.

    Where a side has several answers, of which none is like another, a query counts whose values are
    not lower than the committed ones by more than the noise.
    """
    sides = replace(now.sides, baseline_run=committed)
    if not sides.tells_noise:
        return [id for id in sides.before if id not in sides.changed]
    scores = ScoredSides(sides, now.scoring)
    measures = [measure for measure in sides.suite.measures if measure.unit != "seconds"]
    columns = [_column(scores, measure) for measure in measures]
    return [id for id in sides.before if _returned_so(sides, columns, id)]


def _returned_so(sides: Sides, columns: Sequence[_Column], id: str) -> bool:
    judged = [column for column in columns if column.now[id] and column.then[id]]
    if judged:
        return all(column.no_worse(id) for column in judged)
    # Nobody judged anything of it: then each answer must be one of those that were committed.
    depth = sides.compared_depth
    known = {answer.aligned[id][:depth] for answer in sides.answers_before}
    return all(answer.aligned[id][:depth] in known for answer in sides.answers)


Values = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class _Column:
    """The values of one measure in all answers of both sides, by query id, more being better."""

    now: Values
    then: Values

    @cached_property
    def spread(self) -> tuple[float, int]:
        """The variance of what was committed within a query, and its degrees of freedom.

        It is over all queries.

        Today's own answers are not asked: what wavers only since the change is no noise.
        """
        rows = [*filter(None, self.then.values())]
        freedom = sum(len(row) - 1 for row in rows)
        return fsum(map(squares, rows)) / max(freedom, 1), freedom

    def no_worse(self, id: str) -> bool:
        """Tell whether a query's mean fell by no more than the noise since it was committed."""
        now, then = self.now[id], self.then[id]
        variance, freedom = self.spread
        if len(then) > 1:
            variance = max(variance, squares(then) / (len(then) - 1))
        noise = 0.0
        if variance:
            noise = student(freedom) * sqrt(variance * (1 / len(then) + 1 / len(now)))
        return fmean(then) - fmean(now) <= noise + EQUAL


def _column(scores: ScoredSides, measure: Measure) -> _Column:
    sign = measure.sign

    def values(answers: Sequence[Scores]) -> Values:
        given = {id: [one.value(id, measure) for one in answers] for id in scores.sides.before}
        return {id: [sign * one for one in row if one is not None] for id, row in given.items()}

    return _Column(values(scores.answers_compared), values(scores.answers_before))


def acceptance(now: Comparison, accepting: Accepting, source: str) -> facts.Accepted:
    """The drops that are accepted, by the queries that were committed with another ranking."""
    sides = now.sides
    base = sides.baseline_run.answered if sides.baseline_run else ()
    returned = as_committed(now, accepting.run)
    queries = tuple(id for id in returned if id not in base or id in sides.changed)
    return facts.Accepted(
        source, queries, accepting.lacks, accepting.refused, for_noise=sides.tells_noise
    )
