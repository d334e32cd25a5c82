"""Fates of relevant passages and documents: where each was lost, and how.

They are facts for a person, worked out after all verdicts, and never credited. Each has one place,
the first that is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_irquality.passages import Normal, nearest, normal, parts, sought
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import (
    Fated,
    Finding,
    Holder,
    Loss,
    RankedDocument,
)
from pytest_irquality.verdict.result import ShownDocument, Verdict
from pytest_irquality.verdict.sides import Sides

MOST = 2_000  # passages whose parts and other words are looked for


@dataclass
class Losses:
    """Looks into each passage and document once.

    ``nowhere`` are the passages that stand whole in no chunk of the corpus; None: it is not known.
    """

    comparison: Comparison
    nowhere: Mapping[str, Loss] | None = None
    known: dict[tuple[str, str], Loss] = field(default_factory=dict)
    looked: int = 0

    @property
    def sides(self) -> Sides:
        """The rankings of today and of the baseline."""
        return self.comparison.sides

    def tells(self, query: Query) -> bool:
        """Tell whether passages or stages say what became of the documents of a query."""
        return self.comparison.suite.by_text or bool(self.sides.stages)

    def of(self, query: Query, document: str) -> Loss | None:
        """Say why a query's top results lack a passage or a document.

        None for what is there, and where neither passages nor stages tell.
        """
        if not self.tells(query):
            return None
        loss = self._today(query, document)
        return None if loss.fate == "found" else loss

    def fates(self, query: Query) -> tuple[Fated, ...]:
        """The fates of all that is relevant to a query."""
        if not self.tells(query):
            return ()
        found = None
        if query.id in self.sides.before:
            ranks = self.sides.answers_before.ranks(query.id)
            found = {id for id, rank in ranks.items() if rank <= self.comparison.suite.top_k}
        return tuple(
            Fated(id, self._today(query, id).fate, None if found is None else id in found)
            for id in sorted(query.judgments.relevant)
        )

    def _today(self, query: Query, document: str) -> Loss:
        key = query.id, document
        if key not in self.known:
            self.known[key] = self._place(query, document)
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
        loss = self.of(query, document.id)
        return replace(document, loss=loss, title=self.title(query, document, loss))

    def title(
        self, query: Query, document: RankedDocument | ShownDocument, loss: Loss | None
    ) -> str | None:
        """The title; none of a passage that is not returned, whose title is the chunk that had it.

        That was another query's, a stage's or the baseline's.
        """
        is_lost = loss is not None and document.rank is None
        return None if is_lost and self.comparison.suite.by_text else document.title

    def _place(self, query: Query, document: str) -> Loss:
        """The first place that is true of a passage or document."""
        id, sides = query.id, self.sides
        if not sides.answers.to(id):
            return Loss("unanswered")
        rank = sides.answers.ranks(id).get(document)
        if rank is not None:
            held_by = sides.run.first.rankings[id].holders.get(document)
            holders = (Holder(held_by, rank),) if held_by else ()
            return Loss("found" if rank <= self.comparison.suite.top_k else "further down", holders)
        return self._in_stage(id, document) or self._in_texts(id, document) or self._nowhere(id)

    def _nowhere(self, query: str) -> Loss:
        """The fate of what nothing is known of, if not that no stage gave it."""
        stages = self.sides.stages.values()
        knows = bool(stages) and all(stage.answers.to(query) for stage in stages)
        return Loss("in no stage" if knows else "not returned")

    def _in_stage(self, query: str, document: str) -> Loss | None:
        """The fate of what a stage gave, by the last that did; None where none did."""
        for name, sides in reversed(tuple(self.sides.stages.items())):
            stage = sides.answers
            rank = stage.ranks(query).get(document) if stage.to(query) else None
            if rank is not None:
                return Loss("in stage", stage=name, rank=rank, of=stage.returned[query])
        return None

    def _in_texts(self, query: str, passage: str) -> Loss | None:
        """The fate of a passage that no result holds, as texts tell it; None where they do not.

        What stands whole in a chunk of the corpus is neither cut nor changed.
        """
        if not self.comparison.suite.by_text:
            return None
        if self.nowhere is None:
            return min(self._altered(query, passage), key=_by_certainty, default=None)
        in_corpus = self.nowhere.get(passage)
        if in_corpus is None:
            return None
        results, _ = _texts(self.sides.run, query, self.comparison.suite.depth)
        ranked = {holder.id: holder for holder in results}
        holders = tuple(ranked.get(holder.id, holder) for holder in in_corpus.holders)
        return replace(in_corpus, holders=holders)

    def _altered(self, query: str, passage: str) -> list[Loss]:
        """The passage as results, and then the stages, hold it in parts or in other words."""
        if self.looked >= MOST:
            return []
        self.looked += 1
        pools = [_texts(self.sides.run, query, self.comparison.suite.depth)]
        pools += [_texts(stage.run, query, None) for stage in self.sides.stages.values()]
        return [loss for pool in pools if (loss := altered(sought(passage), *pool))]


def _by_certainty(loss: Loss) -> tuple[bool, bool]:
    """The order of what results and candidates tell: cut first, and all parts before one."""
    return loss.fate != "cut", not loss.whole


def _texts(run: Run, query: str, depth: int | None) -> tuple[list[Holder], list[Normal]]:
    """The results of a query with their ranks, and their texts."""
    ranking = run.first.rankings.get(query)
    results = [*dict.fromkeys(ranking.raw[:depth])] if ranking else []
    ranked = [Holder(id, rank if depth else None) for rank, id in enumerate(results, 1)]
    return ranked, [normal(run.first.texts.get(id, "")) for id in results]


def altered(words: Normal, holders: Sequence[Holder], texts: Sequence[Normal]) -> Loss | None:
    """A passage that these texts hold in parts, or in other words; None where they do neither."""
    if cut := parts(words, texts):
        is_whole = cut[0].start == 0 and cut[-1].end == len(words.words)
        return Loss("cut", tuple(holders[part.text] for part in cut), is_whole)
    near = nearest(words, texts)
    if near and near.is_same:
        return Loss("changed", (holders[near.text],), True, near.share, near.missing, near.added)
    return None
