"""What changed between the baseline and today, measure by measure, and how sure one can be of
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import NamedTuple

from pytest_irquality.metrics import Measure
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.model import Check, Query
from pytest_irquality.verdict.findings import Change, Lack
from pytest_irquality.verdict.measured import Measured, counts, counts_zero
from pytest_irquality.verdict.noise import drop_noise
from pytest_irquality.verdict.statistics import detectable, holm, interval, sign_flip, win_tie_loss
from pytest_irquality.verdict.wavering import unit_means, units_before, units_now

SIGNIFICANT = 0.05
ROUNDED = 1e-5  # values that a baseline keeps are rounded to six digits

Of = tuple[Measure, "str | None"]


class Pair(NamedTuple):
    """One query on both sides."""

    query: str
    before: float
    now: float
    weight: float


@dataclass(frozen=True)
class Comparison:
    """Both sides of a measured run, and the limits on significant drops that it is tested for.

    ``baseline`` is what is known of the side before.
    """

    measured: Measured
    checks: tuple[Check, ...] = ()
    baseline: Baseline | None = None

    def missing_baseline(self, measure: Measure) -> Lack | None:
        """Why the measure cannot be compared."""
        if self.measured.baseline_run is None:
            return Lack("baseline")
        staged = self.measured.staged(measure)
        run = staged.baseline_run if staged else None
        if staged is None or run is None:
            return Lack("kept candidates")
        needed = measure.depth(self.measured.most_relevant) or staged.depth
        if run.depth is not None and run.depth < needed:
            return Lack("depth", needed, run.depth)
        return Lack("documents") if self.measured.renumbered else None

    def nothing_compared(self, queries: Iterable[Query], measure: Measure | None = None) -> Lack:
        """Why none of some queries could be compared. Only where all of them are new that is no
        fault of anybody's.
        """
        staged = (self.measured.staged(measure) if measure else None) or self.measured
        run, baseline, queries = self.measured.baseline_run, self.baseline, [*queries]
        if not queries:
            return Lack("defined")
        edited = {*baseline.edited} if baseline else set()
        if found := tuple(query.id for query in queries if query.id in edited):
            return Lack("edited", queries=found)
        known = run.answered if run else ()
        both = [query.id for query in queries if query.id in self.measured.before]
        if any(id not in staged.before for id in both):
            return Lack("kept candidates")
        if both and staged.moved.keys().isdisjoint(both):
            return Lack("unchanged")
        others = bool(self.measured.before) and self.measured.suite.baseline_retriever is None
        new_suite = baseline is not None and baseline.new != ""
        if (others or new_suite) and not any(query.id in known for query in queries):
            return Lack("new")
        return Lack("compared")

    def limited(self, measure: Measure, queries: Iterable[Query]) -> int:
        """How many of some queries a limit on the measure's change is on: those that have a value
        today.
        """
        column = self.measured.suite.column_of[measure]
        values = self.measured.scores.values
        return sum(
            values[query.id][column] is not None
            for query in queries
            if query.id in values and counts(measure, query) and _weight(measure, query)
        )

    @cached_property
    def _reordered(self) -> Mapping[str, frozenset[str]]:
        """The queries in another order as returned, by stage."""
        candidates = self.measured.candidates
        of_candidates = candidates.reordered if candidates else ()
        return {"": frozenset(self.measured.reordered), CANDIDATES: frozenset(of_candidates)}

    def as_returned(self, measure: Measure, queries: Iterable[Query]) -> Change | None:
        """The change where no tie is put in the baseline's order; None where that makes no
        difference.
        """
        queries, moved = [*queries], self._reordered[measure.stage]
        if not any(query.id in moved for query in queries):
            return None
        return self.change(measure, queries, tested=True, returned=True)

    def agreement_as_returned(self, measure: Measure, queries: Iterable[Query]) -> float | None:
        """A measure that compares both rankings, in the order as returned; None where that makes no
        difference.
        """
        if not measure.definition.compares:
            return None
        moved = self._reordered[measure.stage]
        if not any(query.id in moved for query in queries):
            return None
        ids = [query.id for query in queries if query.id in self.measured.before]
        weights = self.measured.suite.weights
        return self.measured.scores_returned.aggregate(measure, ids, weights).value

    def pairs(
        self, measure: Measure, queries: Iterable[Query], returned: bool = False
    ) -> Sequence[Pair]:
        """The values of the queries that have one on both sides. ``returned``: ties in today's
        order.
        """
        measured = self.measured
        column = measured.suite.column_of[measure]
        then = measured.scores_before.values
        today = (measured.scores_returned if returned else measured.scores_compared).values
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
        returned: bool = False,
    ) -> Change | None:
        """What the measure did over some queries; None where no query has it on both sides, or it
        is no mean.
        """
        if (
            measure.unit == "seconds"
            or measure.definition.compares
            or self.missing_baseline(measure)
        ):
            return None
        pairs = self.pairs(measure, queries, returned)
        change = change_of(measure, pairs, tested=tested)
        if change is None or not (change.better or change.worse):
            return change
        return replace(change, noise=self.noise(measure, pairs))

    def noise(self, measure: Measure, pairs: Iterable[Pair]) -> float | None:
        """The largest worsening that unchanged code gives nineteen times in twenty, where answers
        tell.
        """
        if not self.measured.several or measure.stage:
            return None
        now, before = units_now(self.measured), units_before(self.measured)
        weights = {pair.query: pair.weight for pair in pairs if pair.weight}
        return drop_noise(unit_means(before, measure, weights), unit_means(now, measure, weights))

    def judged_otherwise(self, measure: Measure) -> Change | None:
        """What changed judgments alone did: the baseline's rankings as they scored when they were
        saved, and today.
        """
        measured, name = self.measured, str(measure)
        scored = measured.baseline_run.scored if measured.baseline_run else {}
        column = measured.suite.column_of[measure]
        pairs = []
        for id, row in measured.scores_before.values.items():
            today, then = row[column], scored.get(id, {}).get(name)
            if today is not None and then is not None:
                weight = measured.suite.by_id[id].weight if measure.weighted else 1.0
                pairs.append(Pair(id, then, today, weight))
        total = fsum(pair.weight for pair in pairs)
        if not total:
            return None
        before = fsum(pair.before * pair.weight for pair in pairs) / total
        today = fsum(pair.now * pair.weight for pair in pairs) / total
        differences = [pair.now - pair.before for pair in pairs]
        better, equal, worse = win_tie_loss(differences, tolerance=ROUNDED)
        return Change(before, today, len(pairs), better, worse, equal)

    def over(self, measure: Measure, tag: str | None) -> Change | None:
        """The change over the suite or a tag; tested over the suite, and wherever a limit rests on
        the test.
        """
        if (measure, tag) in self._tested:
            return self._tested[measure, tag]
        if (measure, tag) not in self._known:
            queries = self.measured.suite.tagged(tag)
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
        suite, asked = self.measured.suite, {query.id for query in self.measured.asked}
        subjects: dict[Of, Change] = {}
        for check in suite.checks:
            if (
                check.limits
                and check.limits.tested
                and asked.issuperset(query.id for query in suite.needed(check))
            ):
                tags = list(suite.tags) if check.over.each_tag else [check.tag]
                for tag in tags:
                    measure = check.limits.measure
                    if change := self.change(measure, suite.tagged(tag), tested=True):
                        subjects[measure, tag] = change
        corrected = holm([1.0 if change.p is None else change.p for change in subjects.values()])
        return {
            subject: replace(change, adjusted=None if change.p is None else adjusted)
            for (subject, change), adjusted in zip(subjects.items(), corrected, strict=True)
        }


def _weight(measure: Measure, query: Query) -> float:
    return query.weight if measure.weighted else 1.0


def _ends(
    measure: Measure, gains: Sequence[float], before: float, p: float | None
) -> tuple[float, float] | tuple[None, None]:
    """An interval for the change: never beyond what the measure can be, nor one that contradicts
    the test.
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
    """What a measure did over pairs of values, one pair a query; None where there are none."""
    pairs = [pair for pair in pairs if pair.weight]
    if not pairs:
        return None
    total = 1.0 if measure.aggregate == "sum" else fsum(pair.weight for pair in pairs)
    before = fsum(pair.before * pair.weight for pair in pairs) / total
    now = fsum(pair.now * pair.weight for pair in pairs) / total
    # What each query adds to the change, scaled so that their mean is the whole change, for the
    # better if positive.
    scale = measure.sign * len(pairs) / total
    gains = [scale * pair.weight * (pair.now - pair.before) for pair in pairs]
    better, equal, worse = win_tie_loss(gains)
    change = Change(before, now, len(pairs), better, worse, equal)
    if not better and not worse:
        return change
    p = sign_flip(gains) if tested and measure.higher_is_better is not None else None
    low, high = _ends(measure, gains, before, p)
    return replace(change, p=p, low=low, high=high, detectable=detectable(gains))
