"""Why documents and passages were not found: facts for a person, worked out after all verdicts,
and never credited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pytest_irquality.passages import nearest, normal, parts
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Finding, Holder, Loss, RankedDocument
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.result import Verdict

MOST = 300  # passages of a suite that are looked into; the first that failures name come first


@dataclass
class Losses:
    """Looks into each passage once. ``nowhere`` are those that stand in no chunk of the corpus,
    where that is known.
    """

    now: Measured
    nowhere: Mapping[str, Loss] = field(default_factory=dict)
    known: dict[tuple[str, str], Loss | None] = field(default_factory=dict)

    def of(self, query: Query, passage: str) -> Loss | None:
        """Why a query's top results hold no such passage; None for ids, for what is there, and
        beyond the first many.
        """
        if not self.now.suite.reads_texts(query):
            return None
        key = query.id, passage
        if key not in self.known:
            if len(self.known) >= MOST:
                return None
            self.known[key] = self._look(query, passage)
        return self.known[key]

    def named(self, verdict: Verdict) -> Verdict:
        """The verdict with why for each passage that a failure names and that was not found, and
        with what the first stage made of each document.
        """
        if all(finding.ok for finding in verdict.findings):
            return verdict
        return replace(verdict, findings=tuple(map(self._named, verdict.findings)))

    def _named(self, finding: Finding) -> Finding:
        query = self.now.suite.by_id.get(finding.subject)
        if finding.ok or query is None:
            return finding
        return replace(
            finding, ranked=tuple(self._why(query, document) for document in finding.ranked)
        )

    def _why(self, query: Query, document: RankedDocument) -> RankedDocument:
        reads_texts = self.now.suite.reads_texts(query)
        loss = self.of(query, document.id) if reads_texts else None
        return replace(document, loss=loss, candidate=self.now.candidate(query, document.id))

    def _look(self, query: Query, passage: str) -> Loss | None:
        suite, answer = self.now.suite, self.now.run.first
        ranking = answer.rankings.get(query.id)
        is_passage = suite.by_text(query) or passage in query.passages
        if ranking is None or not is_passage or query.id not in self.now.rankings:
            return None
        rank = self.now.ranks(query).get(passage)
        if rank is not None:
            holder = Holder(ranking.holders.get(passage, passage), rank)
            return Loss("further down", (holder,)) if rank > suite.top_k else None
        results = [*dict.fromkeys(ranking.raw[: suite.depth])]
        ranks = {id: place for place, id in enumerate(results, 1)}
        texts = [normal(answer.texts.get(id, "")) for id in results]
        words = normal(passage)
        if cut := parts(words, texts):
            holders = tuple(Holder(results[part.text], ranks[results[part.text]]) for part in cut)
            is_whole = cut[0].start == 0 and cut[-1].end == len(words.words)
            return Loss("cut", holders, is_whole)
        if passage in self.nowhere:
            return self.nowhere[passage]
        if near := nearest(words, texts):
            holder = Holder(results[near.text], ranks[results[near.text]])
            return Loss("changed", (holder,), True, near.share, near.missing, near.added)
        return Loss("not retrieved")
