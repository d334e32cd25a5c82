"""Reasons why documents and passages were not found.

They are facts for a person, worked out after all verdicts, and never credited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_irquality.passages import nearest, normal, parts
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Finding, Holder, Loss, RankedDocument
from pytest_irquality.verdict.result import Verdict

MOST = 300  # passages of a suite that are looked into; the first that failures name come first


@dataclass
class Losses:
    """Looks into each passage once.

    ``nowhere`` are those that stand in no chunk of the corpus, where that is known.
    """

    comparison: Comparison
    nowhere: Mapping[str, Loss] = field(default_factory=dict)
    known: dict[tuple[str, str], Loss | None] = field(default_factory=dict)

    def of(self, query: Query, passage: str) -> Loss | None:
        """Say why a query's top results hold no such passage.

        None for ids, for what is there, and beyond the first many.
        """
        if not self.comparison.suite.reads_texts(query):
            return None
        key = query.id, passage
        if key not in self.known:
            if len(self.known) >= MOST:
                return None
            self.known[key] = self._look(query, passage)
        return self.known[key]

    def named(self, verdict: Verdict) -> Verdict:
        """The verdict with why each passage that a failure names was not found.

        Each document is told with what the first stage made of it.
        """
        if all(finding.ok for finding in verdict.findings):
            return verdict
        return replace(verdict, findings=tuple(map(self._named, verdict.findings)))

    def _named(self, finding: Finding) -> Finding:
        query = self.comparison.suite.by_id.get(finding.subject)
        if finding.ok or query is None:
            return finding
        return replace(
            finding, ranked=tuple(self._why(query, document) for document in finding.ranked)
        )

    def _why(self, query: Query, document: RankedDocument) -> RankedDocument:
        candidate = self.comparison.standing.candidate(query, document.id)
        return replace(document, loss=self.of(query, document.id), candidate=candidate)

    def _look(self, query: Query, passage: str) -> Loss | None:
        suite, sides = self.comparison.suite, self.comparison.sides
        is_passage = suite.by_text(query) or passage in query.passages
        if not is_passage or query.id not in sides.rankings:
            return None
        answer = sides.run.first
        ranking = answer.rankings[query.id]
        rank = sides.answers.ranks(query.id).get(passage)
        if rank is not None:
            holder = Holder(ranking.holders.get(passage, passage), rank)
            return Loss("further down", (holder,)) if rank > suite.top_k else None
        results = [*dict.fromkeys(ranking.raw[: suite.depth])]
        return self._in_part(passage, results, answer.texts)

    def _in_part(self, passage: str, results: Sequence[str], texts: Mapping[str, str]) -> Loss:
        """Say why none of the results of a query, best first, holds a passage whole."""
        words, normal_texts = normal(passage), [normal(texts.get(id, "")) for id in results]
        holders = [Holder(id, rank) for rank, id in enumerate(results, 1)]
        if cut := parts(words, normal_texts):
            is_whole = cut[0].start == 0 and cut[-1].end == len(words.words)
            return Loss("cut", tuple(holders[part.text] for part in cut), is_whole)
        if passage in self.nowhere:
            return self.nowhere[passage]
        if near := nearest(words, normal_texts):
            holder = holders[near.text]
            return Loss("changed", (holder,), True, near.share, near.missing, near.added)
        return Loss("not retrieved")
