"""What a query's other wordings lose: its variants measured beside the query itself, kind by kind.

The variants of a kind are measured as a suite of their own, by the same means as every suite. What
is compared is one pair a query: its own value, and the mean over its variants, whose noise is the
query's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.model import Limits, Query, Suite
from pytest_irquality.verdict.comparison import Comparison, Pair, change_of
from pytest_irquality.verdict.findings import Finding, Lack, Robustness, VariantLoss, WorstVariant
from pytest_irquality.verdict.limits import Subject, hold
from pytest_irquality.verdict.measured import Measured, counts
from pytest_irquality.verdict.statistics import EQUAL

WORST = 5


@dataclass(frozen=True)
class Variants:
    """The variants of one kind, measured, beside the queries that they are of."""

    kind: str
    queries: Measured
    variants: Measured

    @cached_property
    def of(self) -> Mapping[str, Sequence[Query]]:
        """The variants of each query that were answered, by the query's id."""
        found: dict[str, list[Query]] = {}
        for variant in self.variants.suite.queries:
            if variant.id in self.variants.rankings and variant.of in self.queries.rankings:
                found.setdefault(variant.of, []).append(variant)
        return found

    def pairs(self, measure: Measure, queries: Iterable[Query]) -> Sequence[Pair]:
        """Each query's own value, and the mean over its variants. One that scores 0 itself has
        nothing to lose.
        """
        column = self.queries.suite.column_of[measure]
        own, reworded = self.queries.scores.values, self.variants.scores.values
        pairs = []
        for query in queries:
            if query.id not in self.of or not counts(measure, query):
                continue
            value = own[query.id][column]
            values = [reworded[variant.id][column] for variant in self.of[query.id]]
            known = [found for found in values if found is not None]
            if value is None or not known:
                continue
            if value > EQUAL or measure.higher_is_better is not True:
                weight = query.weight if measure.weighted else 1.0
                pairs.append(Pair(query.id, value, fsum(known) / len(known), weight))
        return pairs

    def hold(self, limits: Limits, subject: str, queries: Iterable[Query]) -> Iterator[Finding]:
        """A finding for each bound: drops are from the queries themselves, floors and ceilings hold
        the variants.
        """
        queries = list(queries)
        pairs = self.pairs(limits.measure, queries)
        change = change_of(limits.measure, pairs)
        wanted = [variant for query in queries for variant in self.of.get(query.id, ())]
        about = Subject(subject, wanted, change)
        unanswered = self._unanswered(queries)
        for finding in hold(Comparison(self.variants), limits, about):
            lacks = finding.lacks
            if change is None and lacks:
                lacks = Lack("variants")
            if len(unanswered) > self.queries.suite.max_errors:
                lacks = Lack("unanswered", len(unanswered), len(unanswered) + len(wanted))
            lost: Sequence[WorstVariant] = ()
            if lacks:
                lost = unanswered
            elif not finding.ok:
                lost = self._lost(limits.measure, pairs)
            yield replace(
                finding,
                ok=finding.ok and not lacks,
                lacks=lacks,
                variants=self.kind,
                of=0,
                worst=tuple(lost[:WORST]),
                lost=len(lost),
            )

    def _unanswered(self, queries: Iterable[Query]) -> Sequence[WorstVariant]:
        """The variants of some queries that were not answered, or that a kept run does not have. A
        limit over the others alone could pass although these would break it.
        """
        ids = {query.id for query in queries if query.id in self.queries.rankings}
        return [
            WorstVariant(variant.of, variant.text, 0.0, 0.0)
            for variant in self.variants.suite.queries
            if variant.of in ids and variant.id not in self.variants.rankings
        ]

    def loss(self, measure: Measure) -> VariantLoss | None:
        """What the kind loses of a measure, and what it did since the baseline."""
        pairs = self.pairs(measure, self.queries.suite.queries)
        change = change_of(measure, pairs)
        since = Comparison(self.variants).change(measure, self.variants.suite.queries)
        if change is None:
            return None
        worst = tuple(self._lost(measure, pairs)[:WORST])
        return VariantLoss(str(measure), change, worst, since)

    def robustness(self) -> Robustness:
        """All that reports show of the kind."""
        # Times and comparisons with the baseline are no loss by rewording.
        measures = [
            measure
            for measure in self.queries.suite.metrics
            if measure.unit != "seconds" and not measure.definition.compares
        ]
        texts: dict[str, list[str]] = {}
        for variant in self.variants.asked:
            texts.setdefault(variant.of, []).append(variant.text)
        return Robustness(
            self.kind,
            sum(map(len, texts.values())),
            len(texts),
            tuple(filter(None, map(self.loss, measures))),
            tuple(WorstVariant(variant.of, variant.text, 1.0, 0.0) for variant in self.empty),
            len(self.variants.run.faults),
            {query: tuple(of) for query, of in texts.items()},
            next((cause.message for cause in self.variants.causes), ""),
        )

    def _lost(self, measure: Measure, pairs: Iterable[Pair]) -> Sequence[WorstVariant]:
        """The variants that lose anything, each with its text, those that lose most first."""
        column = self.queries.suite.column_of[measure]
        lost = []
        for pair in pairs:
            for variant in self.of[pair.query]:
                value = self.variants.scores.values[variant.id][column]
                loss = 0.0 if value is None else measure.sign * (pair.before - value)
                if loss > EQUAL and value is not None:
                    lost.append((-loss, WorstVariant(pair.query, variant.text, pair.before, value)))
        lost.sort(key=lambda found: found[0])
        return [variant for _, variant in lost]

    @property
    def empty(self) -> tuple[Query, ...]:
        """The variants that find nothing, of queries that find something."""
        return tuple(
            variant for variant in self.variants.empty if self.queries.returned(variant.of)
        )


def measured_variants(measured: Measured) -> Mapping[str, Variants]:
    """The variants of each kind that was asked."""
    run, before = measured.run.variants, measured.baseline_run and measured.baseline_run.variants
    if run is None:
        return {}
    return {
        kind: Variants(kind, measured, Measured(_suite_of(measured.suite, queries), run, before))
        for kind, queries in measured.suite.variants_of.items()
    }


def _suite_of(suite: Suite, variants: tuple[Query, ...]) -> Suite:
    """Variants as a suite of their own, with the same measures."""
    return replace(suite, queries=variants, reworded=(), checks=(), metrics=suite.measures)
