"""Damage: what got worse and by how much, in the order in which every report tells it.

The worst comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from pytest_irquality.verdict.findings import Finding, RankedDocument
from pytest_irquality.verdict.limits import margin
from pytest_irquality.verdict.result import (
    BAD,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from pytest_irquality.verdict.statistics import EQUAL

SEVERAL = 3
"""In how many queries a document moved that is worth naming as a cause."""


@dataclass(frozen=True)
class Damage:
    """The losses and gains of each query of a result.

    They are those of the first measure under ``metrics`` that has a good side.
    """

    result: SuiteResult

    @cached_property
    def column(self) -> int | None:
        """The measure's place in every query's values; None where no measure is shown."""
        result = self.result
        return result.measures.index(result.shown[0]) if result.shown else None

    @property
    def measure(self) -> str:
        """The measure's name, "" where there is none."""
        return "" if self.column is None else self.result.measures[self.column]

    @cached_property
    def sign(self) -> int:
        """1 where more is better, -1 where less is."""
        return 1 if self.result.higher_is_better(self.measure) else -1

    def gain(self, query: QueryResult) -> float | None:
        """By how much the measure got better, 0 for rounding errors; None without a side."""
        change = query.change(self.column)
        return self.sign * change if change else change

    def loss(self, query: QueryResult) -> float:
        """The loss of a query, times its weight where the measure has weights.

        Where nothing is compared, it is the distance from the best value, 1.
        """
        gain = self.gain(query)
        if gain is not None:
            return max(0.0, -gain) * self.weight(query)
        return 0.0 if self.result.baseline else self.shortfall(query)

    def shortfall(self, query: QueryResult) -> float:
        """A query's distance from the best value, 1, weighed as a loss is."""
        value = query.values[self.column] if self.column is not None and query.values else None
        if value is None or self.sign < 0 or not 0 <= value <= 1:
            return 0.0
        return (1 - value) * self.weight(query)

    def weight(self, query: QueryResult) -> float:
        """The number of times that the measure counts a query."""
        return query.weight if self.measure.startswith("weighted ") else 1.0

    # -- all queries -------------------------------------------------------------------------------

    @cached_property
    def losses(self) -> Sequence[float]:
        """The loss of each query."""
        return [*map(self.loss, self.result.queries)]

    @cached_property
    def gains(self) -> Sequence[float]:
        """The gain of each compared query, negative where it lost."""
        gains = map(self.gain, self.result.queries)
        return [gain for gain in gains if gain is not None]

    @cached_property
    def worse(self) -> Sequence[QueryResult]:
        """The queries that lost, worst first; those that lost alike in the suite's order."""
        lost = [query for query in self.result.queries if (self.gain(query) or 0.0) < 0]
        return sorted(lost, key=self.loss, reverse=True)

    @cached_property
    def lost(self) -> float:
        """The loss of all queries together."""
        return sum(map(self.loss, self.worse))

    @property
    def lowest(self) -> Sequence[QueryResult]:
        """The queries with the lowest value, where no query lost, the lowest first.

        They are those that failed, or else all that are below the best value.
        """
        if self.worse:
            return []
        failed = {verdict.query for verdict in self.result.verdicts if verdict.outcome == "failed"}
        queries = [query for query in self.result.queries if query.id in failed]
        below = [q for q in queries or self.result.queries if self.shortfall(q) > EQUAL]
        return sorted(below, key=self.shortfall, reverse=True)

    # -- failures ----------------------------------------------------------------------------------

    def of(self, verdict: Verdict) -> float:
        """The loss of the queries that a check is about.

        These are its own, those of its broken tags, or those that break it.
        """
        if verdict.query is not None:
            return self._of_query(verdict.query)
        if verdict.over.queries:
            broken = dict.fromkeys(finding.subject for finding in verdict.broken)
            return sum(map(self._of_query, broken))
        if all(finding.variants for finding in verdict.broken):  # lost from today's queries
            return 0.0
        return self._of_tags({finding.subject for finding in verdict.broken} - {""})

    def _of_tags(self, tags: AbstractSet[str]) -> float:
        """The loss of the queries of some tags, or of all queries where there is no tag."""
        if not tags:
            return sum(self.losses)
        each = zip(self.result.queries, self.losses, strict=True)
        return sum(loss for query, loss in each if not tags.isdisjoint(query.tags))

    def broken(self, verdict: Verdict) -> Sequence[Finding]:
        """The findings that a check broke; of a limit on each tag or query the worst first."""
        if len(verdict.broken) < 2:
            return verdict.broken
        if verdict.over.each_tag:
            return sorted(verdict.broken, key=margin)
        if verdict.over.queries:
            return sorted(verdict.broken, key=lambda finding: -self._of_query(finding.subject))
        return verdict.broken

    def _of_query(self, id: str) -> float:
        query = self.result.by_id.get(id)
        return self.loss(query) if query else 0.0

    def place(self, verdict: Verdict) -> tuple[str, int]:
        """The file and line that a failure is shown at.

        Of a limit on each query they are those of the query that lost most by it.
        """
        at: Verdict | QueryResult = verdict
        if verdict.over.queries:
            named = (self.result.by_id.get(finding.subject) for finding in self.broken(verdict))
            at = next(filter(None, named), verdict)
        return at.file or self.result.path, at.line

    @cached_property
    def failures(self) -> Sequence[Verdict]:
        """The checks that ended badly, most damage first.

        Those that lost nothing follow in the file's order.
        """
        bad = [verdict for verdict in self.result.verdicts if verdict.outcome in BAD]
        return sorted(bad, key=self.of, reverse=True)

    @property
    def failed_queries(self) -> Sequence[Verdict]:
        """Those of them that are a query's own."""
        return [verdict for verdict in self.failures if verdict.query is not None]

    @property
    def failed_limits(self) -> Sequence[Verdict]:
        """Those of them that are over many queries."""
        return [verdict for verdict in self.failures if verdict.query is None]

    # -- what may have done it ---------------------------------------------------------------------

    @cached_property
    def risen(self) -> Sequence[tuple[RankedDocument, int]]:
        """Documents that rose above better ones in several worse queries, with how many."""
        return _often(
            document
            for query in self.worse
            for document in query.ranking
            if not document.relevant and _rose(document)
        )


def _rose(document: ShownDocument) -> bool:
    if document.rank is None:
        return False
    return document.before is None or document.rank < document.before


def _often(documents: Iterator[ShownDocument]) -> Sequence[tuple[RankedDocument, int]]:
    """The documents that come several times, the most frequent first."""
    seen: dict[str, list[ShownDocument]] = {}
    for document in documents:
        seen.setdefault(document.id, []).append(document)
    often = [
        (RankedDocument(id, title=some[0].title), len(some))
        for id, some in seen.items()
        if len(some) >= SEVERAL
    ]
    return sorted(often, key=lambda pair: -pair[1])
