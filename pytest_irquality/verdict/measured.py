"""What was measured: a run as the measures see it, and what it scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_irquality.metrics import Aggregate, Measure, Scores, evaluate
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.numbers import NAMED


@dataclass(frozen=True)
class Measured:
    """A run cut to depth, with duplicates collapsed and queries with faults left out, and its scores."""

    suite: Suite
    run: Run

    @cached_property
    def faults(self) -> Mapping[str, str]:
        """Why a query has no ranking, by its id."""
        faults = {id: fault.message for id, fault in self.run.faults.items()}
        if self.suite.duplicates == "error":
            for id, twice in self.duplicated.items():
                faults[id] = f"returned {', '.join(twice[:NAMED])} more than once ('duplicates: error')"
        return faults

    @cached_property
    def duplicated(self) -> Mapping[str, list[str]]:
        """The documents that a query's ranking holds more than once, for the queries that have any."""
        found = {}
        for id, ranking in self.run.rankings.items():
            ids = ranking.ids[: self.suite.depth]
            if len(set(ids)) < len(ids):
                found[id] = [document for document, times in Counter(ids).items() if times > 1]
        return found

    @cached_property
    def rankings(self) -> Mapping[str, tuple[str, ...]]:
        """What is judged, in the suite's order."""
        return {
            query.id: self.run.rankings[query.id].collapsed(self.suite.depth)
            for query in self.suite.queries
            if query.id in self.run.rankings and query.id not in self.faults
        }

    @cached_property
    def asked(self) -> Sequence[Query]:
        """The queries that were asked, answered or not."""
        return [query for query in self.suite.queries if query.id in self.run.rankings or query.id in self.faults]

    @cached_property
    def empty(self) -> Sequence[Query]:
        """The queries that returned nothing and should have."""
        return [q for q in self.asked if not q.expects_nothing and not self.rankings.get(q.id, "-")]

    @cached_property
    def scores(self) -> Scores:
        """Every measure of the suite for every answered query."""
        return score(self.suite, self.rankings, seconds=self.run.rankings)

    def aggregate(self, measure: Measure, queries: Iterable[Query]) -> Aggregate:
        """A measure over the answered ones of some queries."""
        ids = [query.id for query in queries if query.id in self.rankings and counts(measure, query)]
        return self.scores.aggregate(measure, ids, self.suite.weights)

    def ranks(self, query: Query) -> dict[str, int]:
        """The rank of each document that a query returned."""
        return {document: rank for rank, document in enumerate(self.rankings[query.id], 1)}

    def name(self, document: str) -> str:
        """A document's id with its title, where one is known."""
        title = self.run.titles.get(document)
        return f"{document} ({title})" if title and title != document else document


def score(
    suite: Suite,
    rankings: Mapping[str, Sequence[str]],
    *,
    seconds: Mapping[str, object] | None = None,
    before: Mapping[str, Sequence[str]] | None = None,
) -> Scores:
    """The scores of rankings under today's judgments.

    A query that expects nothing is in no mean; it counts in zero_results only if it wrongly finds something.
    """
    ranked = {id: ids for id, ids in rankings.items() if not suite.by_id[id].expects_nothing}
    took = {id: s for id in ranked if (s := getattr((seconds or {}).get(id), "seconds", None)) is not None}
    scores = evaluate(suite.qrels, ranked, suite.measures, undefined=suite.undefined, seconds=took, before=before)
    empty = {
        id: tuple(float(bool(ids)) if counts_zero(measure) else None for measure in suite.measures)
        for id, ids in rankings.items()
        if suite.by_id[id].expects_nothing
    }
    return Scores(scores.measures, {**scores.values, **empty})


def counts_zero(measure: Measure) -> bool:
    """Whether it counts the queries that returned nothing."""
    return measure.definition.name == "zero_results"


def counts(measure: Measure, query: Query) -> bool:
    """Whether a query's value enters the measure's mean."""
    return counts_zero(measure) or not query.expects_nothing
