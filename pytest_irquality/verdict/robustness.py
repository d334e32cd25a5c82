"""Losses by other wordings: variants measured beside their queries.

The variants are measured as a suite of their own, by the same means as every suite. What is
compared is one pair a query: its own value, and the mean over its variants, whose noise is the
query's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.model import Limits, Query
from pytest_irquality.verdict.comparison import Comparison, Pair, change_of, compare
from pytest_irquality.verdict.findings import Finding, Lack, Robustness, VariantLoss, WorstVariant
from pytest_irquality.verdict.limits import Subject, hold
from pytest_irquality.verdict.scoring import counts
from pytest_irquality.verdict.sides import causes_of
from pytest_irquality.verdict.statistics import EQUAL

WORST = 5


@dataclass(frozen=True)
class Variants:
    """The variants, measured, beside the queries that they are of."""

    queries: Comparison
    variants: Comparison

    @cached_property
    def of(self) -> Mapping[str, Sequence[Query]]:
        """The variants of each query that were answered, by the query's id."""
        found: dict[str, list[Query]] = {}
        for variant in self.variants.suite.queries:
            asked = variant.of in self.queries.sides.rankings
            if asked and variant.id in self.variants.sides.rankings:
                found.setdefault(variant.of, []).append(variant)
        return found

    def pairs(self, measure: Measure) -> Sequence[Pair]:
        """Each query's own value, and the mean over its variants.

        One that scores 0 itself has nothing to lose.
        """
        column = self.queries.suite.column_of[measure]
        own, reworded = self.queries.scores.now.values, self.variants.scores.now.values
        pairs = []
        for query in self.queries.suite.queries:
            if query.id not in self.of or not counts(measure, query):
                continue
            value = own[query.id][column]
            values = [reworded[variant.id][column] for variant in self.of[query.id]]
            known = [found for found in values if found is not None]
            if value is None or not known:
                continue
            if value > EQUAL or not measure.higher_is_better:
                weight = query.weight if measure.weighted else 1.0
                pairs.append(Pair(query.id, value, fsum(known) / len(known), weight))
        return pairs

    def hold(self, limits: Limits) -> Iterator[Finding]:
        """A finding for each bound.

        Drops are from the queries themselves, floors and ceilings hold the variants.
        """
        pairs = self.pairs(limits.measure)
        change = change_of(limits.measure, pairs)
        wanted = [variant for variants in self.of.values() for variant in variants]
        about = Subject("", wanted, change)
        unanswered = self._unanswered()
        for finding in hold(self.variants, limits, about):
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
                variants=True,
                of=0,
                worst=tuple(lost[:WORST]),
                lost=len(lost),
            )

    def _unanswered(self) -> Sequence[WorstVariant]:
        """The variants that were not answered, or that a kept run lacks.

        A limit over the others alone could pass although these would break it.
        """
        return [
            WorstVariant(variant.of, variant.text, 0.0, 0.0)
            for variant in self.variants.suite.queries
            if variant.of in self.queries.sides.rankings
            and variant.id not in self.variants.sides.rankings
        ]

    def loss(self, measure: Measure) -> VariantLoss | None:
        """The loss of a measure."""
        pairs = self.pairs(measure)
        change = change_of(measure, pairs)
        if change is None:
            return None
        worst = tuple(self._lost(measure, pairs)[:WORST])
        return VariantLoss(str(measure), change, worst)

    def robustness(self) -> Robustness:
        """All that reports show of them."""
        # Times and comparisons with the baseline are no loss by rewording.
        measures = [
            measure
            for measure in self.queries.suite.metrics
            if measure.unit != "seconds" and not measure.definition.compares
        ]
        faults = self.variants.sides.run.faults
        asked = self.variants.sides.asked
        return Robustness(
            len(asked),
            len({variant.of for variant in asked}),
            tuple(filter(None, map(self.loss, measures))),
            tuple(WorstVariant(variant.of, variant.text, 1.0, 0.0) for variant in self.empty),
            len(faults),
            next((cause.message for cause in causes_of(faults)), ""),
        )

    def _lost(self, measure: Measure, pairs: Iterable[Pair]) -> Sequence[WorstVariant]:
        """The variants that lose anything, each with its text, those that lose most first."""
        column = self.queries.suite.column_of[measure]
        lost = []
        for pair in pairs:
            for variant in self.of[pair.query]:
                value = self.variants.scores.now.values[variant.id][column]
                loss = 0.0 if value is None else measure.sign * (pair.before - value)
                if loss > EQUAL and value is not None:
                    lost.append((-loss, WorstVariant(pair.query, variant.text, pair.before, value)))
        lost.sort(key=lambda found: found[0])
        return [variant for _, variant in lost]

    @property
    def empty(self) -> tuple[Query, ...]:
        """The variants that find nothing, of queries that find something."""
        return tuple(
            variant
            for variant in self.variants.sides.empty
            if self.queries.sides.answers.returned.get(variant.of)
        )


def measured_variants(queries: Comparison) -> Variants | None:
    """The variants as a suite of their own, with the same measures, where any were asked."""
    run, suite = queries.sides.run.variants, queries.suite
    if run is None or not suite.reworded:
        return None
    suite = replace(suite, queries=suite.reworded, reworded=(), checks=(), metrics=suite.measures)
    return Variants(queries, compare(suite, run, None))
