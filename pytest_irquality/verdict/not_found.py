"""Fates of relevant passages and documents: where each was lost, and how.

They are facts for a person, worked out after all verdicts, and never credited. Each has one place,
the first that is true.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, get_args

from pytest_irquality.passages import Normal, nearest, normal, parts, sought
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import (
    Fate,
    FateCount,
    Fated,
    Fates,
    Finding,
    Holder,
    Loss,
    RankedDocument,
)
from pytest_irquality.verdict.result import QueryResult, ShownDocument, Verdict
from pytest_irquality.verdict.sides import Side

MOST = 2_000  # passages, of both sides, whose parts and other words are looked for


class Shown(NamedTuple):
    """A side of a comparison: its ranking, what the stages before it gave, and its corpus.

    ``nowhere`` are the passages that stand whole in no chunk of the corpus; None: it is not known.
    """

    run: Run
    answers: Side
    stages: Mapping[str, tuple[Run, Side]]
    nowhere: Mapping[str, Loss] | None

    def in_stage(self, query: str, document: str) -> Loss | None:
        """The fate of what a stage gave, by the last that did; None where none did."""
        for name, (_, stage) in reversed(tuple(self.stages.items())):
            rank = stage.ranks(query).get(document) if stage.to(query) else None
            if rank is not None:
                of = stage.returned[query]
                return Loss("in stage", stage=name, rank=rank, of=of)
        return None

    def knows_stages(self, query: str) -> bool:
        """Tell whether all stages have answered a query."""
        return bool(self.stages) and all(stage.to(query) for _, stage in self.stages.values())


@dataclass
class Losses:
    """Looks into each passage and document once.

    ``nowhere`` are the passages that stand whole in no chunk of the corpus; None: it is not known.
    """

    comparison: Comparison
    nowhere: Mapping[str, Loss] | None = None
    known: dict[tuple[str, str], Loss] = field(default_factory=dict)
    looked: int = 0

    @cached_property
    def now(self) -> Shown:
        """Today's side."""
        sides = self.comparison.sides
        stages = {name: (stage.run, stage.answers) for name, stage in sides.stages.items()}
        return Shown(sides.run, sides.answers, stages, self.nowhere)

    @cached_property
    def then(self) -> Shown | None:
        """The baseline's side: its corpus is never known, and its stages only where all are."""
        sides = self.comparison.sides
        if sides.baseline_run is None:
            return None
        stages = {
            name: (stage.baseline_run, stage.answers_before)
            for name, stage in sides.stages.items()
            if stage.baseline_run
        }
        known = stages if len(stages) == len(sides.stages) else {}
        return Shown(sides.baseline_run, sides.answers_before, known, None)

    def tells(self, query: Query) -> bool:
        """Tell whether passages or stages say what became of the documents of a query."""
        return self.comparison.suite.by_text or bool(self.now.stages)

    def of(self, query: Query, document: str) -> Loss | None:
        """Say why a query's top results lack a passage or a document.

        None for what is there, and where neither passages nor stages tell.
        """
        if not self.tells(query):
            return None
        loss = self._today(query, document)
        return None if loss.fate == "found" else loss

    def fates(self, query: Query) -> tuple[Fated, ...]:
        """The fates of all that is relevant to a query, on both sides."""
        if not self.tells(query):
            return ()
        then = self.then if query.id in self.comparison.sides.before else None
        return tuple(
            Fated(
                document,
                self._today(query, document).fate,
                self._place(query, document, then).fate if then else None,
            )
            for document in sorted(query.judgments.relevant)
        )

    def _today(self, query: Query, document: str) -> Loss:
        key = query.id, document
        if key not in self.known:
            self.known[key] = self._place(query, document, self.now)
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

    def _place(self, query: Query, document: str, side: Shown) -> Loss:
        """The first place that is true of a passage or document on one side."""
        id = query.id
        if not side.answers.to(id):
            return Loss("unanswered")
        rank = side.answers.ranks(id).get(document)
        if rank is not None:
            held_by = side.run.first.rankings[id].holders.get(document)
            holders = (Holder(held_by, rank),) if held_by else ()
            return Loss("found" if rank <= self.comparison.suite.top_k else "further down", holders)
        return self._not_returned(query, document, side)

    def _not_returned(self, query: Query, document: str, side: Shown) -> Loss:
        """The first place that is true of what no result holds."""
        by_text, id = self.comparison.suite.by_text, query.id
        if by_text and self._half_read(query, side):
            return Loss("unknown")
        if in_stage := side.in_stage(id, document):
            return in_stage
        in_texts = self._in_texts(query, document, side) if by_text else None
        return in_texts or Loss("in no stage" if side.knows_stages(id) else "not returned")

    def _half_read(self, query: Query, side: Shown) -> bool:
        """Tell whether a passage may stand in a result whose text was not kept."""
        results = side.run.first.rankings[query.id].raw[: self.comparison.suite.depth]
        return any(id not in side.run.first.texts for id in results)

    def _in_texts(self, query: Query, passage: str, side: Shown) -> Loss | None:
        """The fate of a passage that no result holds, as texts tell it; None where they do not.

        What stands whole in a chunk of the corpus is neither cut nor changed.
        """
        if side.nowhere is None:
            return min(self._altered(query.id, passage, side), key=_by_certainty, default=None)
        in_corpus = side.nowhere.get(passage)
        if in_corpus is None:
            return None
        results, _ = _texts(side.run, query.id, self.comparison.suite.depth)
        ranked = {holder.id: holder for holder in results}
        holders = tuple(ranked.get(holder.id, holder) for holder in in_corpus.holders)
        return replace(in_corpus, holders=holders)

    def _altered(self, query: str, passage: str, side: Shown) -> list[Loss]:
        """The passage as results, and then the stages, hold it in parts or in other words."""
        if self.looked >= MOST:
            return []
        self.looked += 1
        pools = [_texts(side.run, query, self.comparison.suite.depth)]
        pools += [_texts(run, query, None) for run, _ in side.stages.values()]
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


# -- all of them -----------------------------------------------------------------------------------


def together(suite: Suite, queries: Sequence[QueryResult], losses: Losses) -> Fates | None:
    """The fates of all relevant passages or documents; None where nothing tells."""
    told = [query for query in queries if query.fates]
    if not told:
        return None
    compared = [query for query in told if query.fates[0].before is not None]
    counted = compared or told
    stored = _told_of_then(losses) if compared else set[str]()
    return Fates(
        "passages" if suite.by_text else "documents",
        tuple(_counts(counted, stored)),
        len(counted),
        len(told),
        compared=bool(compared),
    )


def _told_of_then(losses: Losses) -> set[str]:
    """The fates that are known of the baseline."""
    stored: set[str] = {*get_args(Fate)} - {"not in the corpus"}
    if losses.then is None or not losses.then.stages:
        stored -= {"in stage", "in no stage"}
    return stored


def recounted(fates: Fates, queries: Sequence[QueryResult]) -> Fates:
    """The counts of the same queries, of which more is known by now."""
    counted = [query for query in queries if query.fates]
    if fates.compared:
        counted = [query for query in counted if query.fates[0].before is not None]
    stored = {count.fate for count in fates.counts if count.before is not None}
    return replace(fates, counts=tuple(_counts(counted, stored)))


def _counts(queries: Sequence[QueryResult], stored: Collection[str]) -> Iterator[FateCount]:
    """The count of each fate, also of those that nothing has. ``stored``: known of the baseline."""
    fates = [fated for query in queries for fated in query.fates]
    if any(one.before == "unknown" for one in fates):
        stored = {"found", "unanswered"}
    for fate in get_args(Fate)[:-1]:
        before = sum(one.before == fate for one in fates) if fate in stored else None
        yield FateCount(fate, sum(one.now == fate for one in fates), before)
