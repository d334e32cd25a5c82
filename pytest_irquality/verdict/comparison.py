"""Changes between the baseline and today, by measure, and how sure one can be of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import NamedTuple

from pytest_irquality.metrics import Judgments, Measure
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.by_default import first_mean
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.findings import Change, Lack, RankedDocument
from pytest_irquality.verdict.scoring import ScoredSides, Scoring, counts, counts_zero
from pytest_irquality.verdict.sides import Sides
from pytest_irquality.verdict.statistics import (
    EQUAL,
    detectable,
    holm,
    interval,
    sign_flip,
    win_tie_loss,
)
from pytest_irquality.verdict.wavering import drop_noise, unit_means

SIGNIFICANT = 0.05

Of = tuple[Measure, "str | None"]


@dataclass(frozen=True)
class Then:
    """The queries of then, as the base's suite has them.

    ``judgments`` are those of the queries that today's suite asks, too, by today's ids,
    ``reworded`` the ids of those that it asks in other words, ``moved`` of those that another suite
    asked; ``left`` counts the others by class.
    """

    judgments: Mapping[str, Judgments]
    left: Mapping[str, int]
    reworded: Collection[str] = ()
    moved: Collection[str] = ()

    def asked(self, id: str) -> bool:
        """Tell whether a query of today was asked then."""
        return id in self.judgments or id in self.moved


class Pair(NamedTuple):
    """One query on both sides."""

    query: str
    before: float
    now: float
    weight: float


@dataclass(frozen=True)
class Comparison:
    """Both sides, and what changed between them; what they score, and their documents.

    ``baseline`` is what is known of the side before.
    """

    sides: Sides
    scoring: Scoring
    baseline: Baseline | None = None

    @property
    def suite(self) -> Suite:
        """The suite that asks, judges and limits."""
        return self.sides.suite

    @cached_property
    def scores(self) -> ScoredSides:
        """The scores of both sides."""
        return ScoredSides(self.sides, self.scoring)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of documents, as today's results have them or else the baseline's."""
        run = self.sides.run
        runs = (*run.stages.values(), self.sides.baseline_run, run)
        known = [one.first.titles for one in runs if one and one.first.titles]
        if len(known) == 1:
            return known[0]
        return {id: title for titles in known for id, title in titles.items() if title}

    def document(
        self, id: str, rank: int | None = None, before: int | None = None
    ) -> RankedDocument:
        """A document that a fact or a finding speaks of, with its title."""
        return RankedDocument(id, rank, before, title=self.titles.get(id) or None)

    # -- what lacks --------------------------------------------------------------------------------

    def missing_baseline(self, measure: Measure) -> Lack | None:
        """Say why the measure cannot be compared, if it cannot."""
        if self.sides.baseline_run is None:
            return Lack("baseline")
        stage = self.sides.stage_of(measure)
        run = stage.baseline_run if stage else None
        if stage is None or run is None:
            return Lack("kept candidates")
        needed = measure.depth(self.suite.most_relevant) or stage.depth
        depth = run.depth if run.read is None else run.read
        if depth is not None and depth < needed:
            return Lack("depth", needed, depth)
        return Lack("documents") if self.sides.renumbered else None

    def known_then(self, query: Query) -> tuple[float | None, ...]:
        """The values of a query in the baseline, as far as what is kept of it tells."""
        row = self.scores.before.values[query.id]
        if not self._unknown:
            return row
        return tuple(None if at in self._unknown else value for at, value in enumerate(row))

    @cached_property
    def _unknown(self) -> Set[int]:
        """The places of the measures that cannot be compared."""
        measures = enumerate(self.suite.measures)
        return {at for at, measure in measures if self.missing_baseline(measure)}

    def nothing_compared(self, queries: Iterable[Query], measure: Measure | None = None) -> Lack:
        """Say why none of some queries could be compared.

        Only where all of them are new that is no fault of anybody's.
        """
        ids = [query.id for query in queries]
        if not ids:
            return Lack("defined")
        edited = tuple(id for id in ids if self.baseline and id in self.baseline.edited)
        if edited:
            return Lack("edited", queries=edited)
        stage = (self.sides.stage_of(measure) if measure else None) or self.sides
        both = self.sides.before.keys() & ids
        if not stage.before.keys() >= both:
            return Lack("kept candidates")
        by_ranking = measure is None or not measure.counts
        if both and by_ranking and stage.changed.keys().isdisjoint(both):
            return Lack("unchanged")
        return Lack("new" if self._are_new(ids) else "compared")

    def _are_new(self, queries: Iterable[str]) -> bool:
        """Tell whether these are in no baseline that holds others, or all of the suite is new."""
        holds_others = bool(self.sides.before) and self.suite.baseline_retriever is None
        is_new_suite = self.baseline is not None and self.baseline.new != ""
        run = self.sides.baseline_run
        known = run.answered | run.faults.keys() if run else frozenset()
        is_known = not known.isdisjoint(queries)
        return (holds_others or is_new_suite) and not is_known

    def limited(self, measure: Measure, queries: Iterable[Query]) -> int:
        """The number of some queries that a limit on the measure's change is on.

        These are the ones that have a value today.
        """
        column = self.suite.column_of[measure]
        values = self.scores.now.values
        return sum(
            values[query.id][column] is not None
            for query in queries
            if query.id in values and counts(measure, query) and _weight(measure, query)
        )

    @cached_property
    def worse(self) -> Sequence[str]:
        """The queries whose results are graded, and that lost some of the first mean."""
        measure = first_mean(self.suite)
        if measure is None or self.missing_baseline(measure):
            return ()
        graded = () if self.suite.by_text else self.suite.queries
        return [
            pair.query for pair in self.pairs(measure, graded) if pair.now < pair.before - EQUAL
        ]

    # -- changes -----------------------------------------------------------------------------------

    def as_returned(self, measure: Measure, queries: Iterable[Query]) -> Comparison | None:
        """The comparison with ties as they were returned; None where that makes no difference."""
        stage = self.sides.stage_of(measure)
        if stage is None or stage.reordered.isdisjoint(query.id for query in queries):
            return None
        return self._as_returned

    @cached_property
    def _as_returned(self) -> Comparison:
        return replace(self, sides=replace(self.sides, as_returned=True))

    def pairs(self, measure: Measure, queries: Iterable[Query]) -> Sequence[Pair]:
        """The values of the queries that have one on both sides."""
        column = self.suite.column_of[measure]
        then, today = self.scores.before.values, self.scores.compared.values
        may_expect_nothing, weighted = counts_zero(measure), measure.weighted
        found = []
        for query in queries:
            id = query.id
            if id in then and (may_expect_nothing or not query.expects_nothing):
                before, now = then[id][column], today[id][column]
                if before is not None and now is not None:
                    found.append(Pair(id, before, now, query.weight if weighted else 1.0))
        return found

    def change(
        self,
        measure: Measure,
        queries: Iterable[Query],
        tested: bool = False,
    ) -> Change | None:
        """The measure's change over some queries.

        None where no query has it on both sides, or it is no mean.
        """
        is_no_mean = measure.unit == "seconds" or measure.definition.compares
        if is_no_mean or self.missing_baseline(measure):
            return None
        pairs = self.pairs(measure, queries)
        change = change_of(measure, pairs, tested=tested)
        if change is None or not (change.better or change.worse):
            return change
        return replace(change, noise=self.noise(measure, pairs))

    def noise(self, measure: Measure, pairs: Iterable[Pair]) -> float | None:
        """The largest worsening that unchanged code gives nineteen times in twenty.

        None where too few answers tell.
        """
        before, now = self.units(measure, pairs)
        return drop_noise(before, now) if before and now else None

    def units(self, measure: Measure, pairs: Iterable[Pair]) -> tuple[list[float], list[float]]:
        """The mean of each unit of both sides; none where each side has a single answer."""
        sides, scores = self.sides, self.scores
        weights = {pair.query: pair.weight for pair in pairs if pair.weight}
        if not sides.tells_noise or measure.stage or not weights:
            return [], []
        before = sides.answers_before.units(scores.answers_before)
        now = sides.answers.units(scores.answers_compared)
        return unit_means(before, measure, weights), unit_means(now, measure, weights)

    def over(self, measure: Measure, tag: str | None) -> Change | None:
        """The change over the suite or a tag.

        It is tested over the suite, and wherever a limit rests on the test.
        """
        if (measure, tag) in self._tested:
            return self._tested[measure, tag]
        if (measure, tag) not in self._known:
            queries = self.suite.tagged(tag)
            self._known[measure, tag] = self.change(measure, queries, tested=tag is None)
        return self._known[measure, tag]

    @cached_property
    def _known(self) -> dict[Of, Change | None]:
        return {}

    @cached_property
    def _tested(self) -> Mapping[Of, Change]:
        """The changes under every ``max_significant_drop`` of the suite, Holm-corrected together.

        Selected or not, as far as their queries were asked: no verdict is another one under ``-k``.
        """
        changes: dict[Of, Change] = {}
        for measure, tag in self._under_tests():
            if change := self.change(measure, self.suite.tagged(tag), tested=True):
                changes[measure, tag] = change
        corrected = holm([1.0 if change.p is None else change.p for change in changes.values()])
        return {
            of: change if change.p is None else replace(change, adjusted=adjusted)
            for (of, change), adjusted in zip(changes.items(), corrected, strict=True)
        }

    def _under_tests(self) -> Iterator[Of]:
        """Every measure of the suite, or of a tag, that a limit rests on a test of."""
        asked = {query.id for query in self.sides.asked}
        for check in self.suite.checks:
            if check.limits and check.limits.tested:
                needed = (query.id for query in self.suite.needed(check))
                if asked.issuperset(needed):
                    for tag in self.suite.tags if check.over.each_tag else [check.tag]:
                        yield check.limits.measure, tag


def compare(
    suite: Suite, run: Run, before: Run | None, baseline: Baseline | None = None
) -> Comparison:
    """A run beside the baseline's, if there is one."""
    return Comparison(Sides(suite, run, before), Scoring(suite), baseline)


def _weight(measure: Measure, query: Query) -> float:
    return query.weight if measure.weighted else 1.0


def _values(pairs: Sequence[Pair], total: float) -> tuple[float, float]:
    """The values of both sides over some pairs."""
    return (
        fsum(pair.before * pair.weight for pair in pairs) / total,
        fsum(pair.now * pair.weight for pair in pairs) / total,
    )


def _ends(
    measure: Measure, gains: Sequence[float], before: float, p: float | None
) -> tuple[float, float] | tuple[None, None]:
    """An interval for the change.

    It never goes beyond what the measure can be, and never contradicts the test.
    """
    ends = interval(gains) if measure.aggregate == "mean" else None
    if ends is None:
        return None, None
    if p is not None and (p < SIGNIFICANT) != (ends[1] < 0):
        return None, None
    lowest, highest = measure.range
    low, high = sorted(measure.sign * end for end in ends)
    return max(low, lowest - before), min(high, highest - before)


def change_of(measure: Measure, pairs: Iterable[Pair], *, tested: bool = False) -> Change | None:
    """The change of a measure over pairs, one a query; None where there are none."""
    pairs = [pair for pair in pairs if pair.weight]
    if not pairs:
        return None
    total = 1.0 if measure.aggregate == "sum" else fsum(pair.weight for pair in pairs)
    before, now = _values(pairs, total)
    # What each query adds to the change, scaled so that their mean is the whole change, for the
    # better if positive.
    scale = measure.sign * len(pairs) / total
    gains = [scale * pair.weight * (pair.now - pair.before) for pair in pairs]
    better, equal, worse = win_tie_loss(gains)
    change = Change(before, now, len(pairs), better, worse, equal)
    if not better and not worse:
        return change
    p = sign_flip(gains) if tested else None
    low, high = _ends(measure, gains, before, p)
    return replace(change, p=p, low=low, high=high, detectable=detectable(gains))
