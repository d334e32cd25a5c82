"""Drops that a change accepts in the open: its own committed baseline says that they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, islice
from math import fsum, sqrt
from statistics import fmean

from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.run import Run
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.findings import Finding, RankedDocument
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.noise import squares
from pytest_irquality.verdict.statistics import EQUAL, student

NAMED = 5  # queries that are told with their documents


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
    """Whether a finding is on a change. ``compares`` are the measures that read the baseline's
    ranking. What variants lose, they lose from today's queries.
    """
    if finding.variants:
        return False
    return finding.demand.on_change or finding.measure in compares


def judged_with(now: Measured, committed: Run) -> Run:
    """The merge base's answers, with those that are committed anew where today's are just these.

    Where the merge base cannot be compared with at all, or not as deep, all of the committed ones.
    """
    base = now.baseline_run
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
    if now.candidates and CANDIDATES in committed.stages:
        stages[CANDIDATES] = judged_with(now.candidates, committed.stages[CANDIDATES])
    return replace(base, answers=answers, stages=stages)


def as_committed(now: Measured, committed: Run) -> Sequence[str]:
    """The queries that return what HEAD committed for them, ties aside, in the suite's order.

    Where a side has several answers, of which none is like another, a query counts whose values are
    not lower than the committed ones by more than the noise.
    """
    beside = replace(now, baseline_run=committed)
    if not beside.several:
        return [id for id in beside.before if id not in beside.moved]
    sides = [_Column(beside, place) for place in range(len(beside.suite.measures))]
    columns = [side for side in sides if side.better]
    return [id for id in beside.before if _returned_so(beside, columns, id)]


def _returned_so(beside: Measured, columns: Sequence[_Column], id: str) -> bool:
    told = [column.no_worse(id) for column in columns if column.has(id)]
    if told:
        return all(told)
    # Nobody judged anything of it: then each answer must be one of those that were committed.
    depth = beside.compared_depth
    known = {answer.aligned[id][:depth] for answer in beside.answers_before}
    return all(answer.aligned[id][:depth] in known for answer in beside.answers)


@dataclass(frozen=True)
class _Column:
    """The values of one measure over all answers of both sides."""

    beside: Measured
    place: int

    @property
    def better(self) -> int:
        """1 where a high value is good, -1 where a low one is, 0 where neither is or it is time."""
        measure = self.beside.suite.measures[self.place]
        if measure.unit == "seconds" or measure.higher_is_better is None:
            return 0
        return 1 if measure.higher_is_better else -1

    def values(self, answers: Sequence[Measured], id: str) -> list[float]:
        rows = (answer.scores_compared.values.get(id) for answer in answers)
        values = (row[self.place] for row in rows if row)
        return [value for value in values if value is not None]

    def has(self, id: str) -> bool:
        """Whether the query has a value on both sides."""
        now, then = self.beside.answers, self.beside.answers_before
        return bool(self.values(now, id) and self.values(then, id))

    @cached_property
    def spread(self) -> tuple[float, int]:
        """The variance of what was committed within a query, over all of them; its degrees of
        freedom.

        Today's own answers are not asked: what wavers only since the change is no noise.
        """
        rows = [self.values(self.beside.answers_before, id) for id in self.beside.before]
        freedom = sum(len(row) - 1 for row in rows if row)
        return fsum(map(squares, filter(None, rows))) / max(freedom, 1), freedom

    def no_worse(self, id: str) -> bool:
        """Whether today's mean of a query is not lower than the committed one by more than the
        noise.
        """
        now = self.values(self.beside.answers, id)
        then = self.values(self.beside.answers_before, id)
        drop = self.better * (fmean(then) - fmean(now))
        variance, freedom = self.spread
        if len(then) > 1:
            variance = max(variance, squares(then) / (len(then) - 1))
        noise = 0.0
        if variance:
            noise = student(freedom) * sqrt(variance * (1 / len(then) + 1 / len(now)))
        return drop <= noise + EQUAL


def acceptance(now: Measured, accepting: Accepting, source: str) -> facts.Accepted:
    """What is accepted: the queries that were committed with another ranking, the documents that
    moved in the first.
    """
    base = now.baseline_run.answered if now.baseline_run else ()
    beside = Measured(now.suite, now.run, now.baseline_run)
    queries = tuple(
        id for id in as_committed(now, accepting.run) if id not in base or id in beside.moved
    )
    moved = tuple((id, tuple(_moved(beside, id))) for id in queries[:NAMED] if id in base)
    return facts.Accepted(source, queries, moved, accepting.lacks, accepting.refused)


def _moved(beside: Measured, id: str) -> Iterator[RankedDocument]:
    """The documents that people judged relevant and that stand elsewhere now, or else the first
    that do.
    """
    then, now = (
        {document: rank for rank, document in enumerate(ranking, 1)}
        for ranking in (beside.before[id], beside.aligned[id])
    )
    relevant = beside.suite.by_id[id].judgments.relevant
    elsewhere = [document for document in [*then, *now] if then.get(document) != now.get(document)]
    shown = [document for document in elsewhere if document in relevant] or elsewhere
    for document in list(dict.fromkeys(shown))[:3]:
        yield RankedDocument(
            document, now.get(document), then.get(document), title=beside.title(document)
        )
