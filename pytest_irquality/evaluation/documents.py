"""What became of each document: its ranks on both sides, and why it is missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_irquality.evaluation.constants import TOP
from pytest_irquality.io.text import DataPart, DocPart, Part, Text, join, write
from pytest_irquality.passages.diagnosis import (
    CorpusTexts,
    FindingKind,
    PassageFinding,
    diagnose_passage,
)
from pytest_irquality.passages.location import find_ranks
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import Query

MAX_LISTED_DOCUMENTS = 20  # of each ranking


@dataclass(frozen=True)
class DocChange:
    """A document of a query in both rankings.

    With repeats, a rank is the median over the repeats, and the score is of the first repeat.

    Attributes:
        doc_id: The document, or the passage or chunk with ``match: text``.
        grade: Its grade, or ``None`` if it is unjudged.
        rank_before: Its rank in the baseline from 1, or ``None``.
        rank_now: Its current rank in the order as returned, or ``None``.
        score: The retriever's current score.
        finding: Why an expected document is missing or lower, such as ``no longer in the index``.
    """

    doc_id: str
    title: str = ""
    grade: float | None = None
    is_relevant: bool = False
    rank_before: int | None = None
    rank_now: int | None = None
    score: float | None = None
    finding: Text | None = None


@dataclass(frozen=True)
class QueryAnswers:
    """All that is known about the answers to a query, to explain its documents.

    Attributes:
        before: The rankings of the baseline, as they are compared.
        now: The current rankings, as they are compared, in the order as returned.
        returned: The first current ranking as the retriever gave it, with texts.
        stages: The rankings of earlier stages by name, in their order.
        missing_doc_ids: The documents that the index lacks.
    """

    query: Query
    before: Sequence[Ranking] = ()
    now: Sequence[Ranking] = ()
    returned: Ranking = field(default=Ranking())
    stages: Mapping[str, Ranking] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    missing_doc_ids: Collection[str] = ()
    corpus: CorpusTexts | None = None
    top_k: int = 10
    finds_passages: bool = False

    def list_documents(self) -> tuple[DocChange, ...]:
        """List the first documents of both rankings, then expected ones that are missing."""
        limit = min(max(TOP, self.top_k), MAX_LISTED_DOCUMENTS)
        ranks_before = find_median_ranks(self.before)
        ranks_now = find_median_ranks(self.now)
        listed = [doc_id for doc_id, rank in ranks_now.items() if rank <= limit]
        listed += [doc_id for doc_id, rank in ranks_before.items() if rank <= limit]
        expected = list_expected_doc_ids(self.query)
        listed += expected
        judgments = self.query.judgments
        scores = self._collect_scores()
        documents = []
        for doc_id in dict.fromkeys(listed):
            rank_before, rank_now = ranks_before.get(doc_id), ranks_now.get(doc_id)
            finding = None
            if doc_id in expected and (rank_now is None or rank_now > self.top_k):
                finding = self.explain(doc_id, rank_before, rank_now)
            documents.append(
                DocChange(
                    doc_id=doc_id,
                    title=self.titles.get(doc_id, ""),
                    grade=judgments.grades.get(doc_id),
                    is_relevant=doc_id in judgments.relevant,
                    rank_before=rank_before,
                    rank_now=rank_now,
                    score=scores.get(doc_id),
                    finding=finding,
                )
            )
        return tuple(documents)

    def explain(self, doc_id: str, rank_before: int | None, rank_now: int | None) -> Text:
        """Say why an expected document is not among the first results."""
        if self.finds_passages:
            return describe_finding(self.diagnose(doc_id))
        if doc_id in self.missing_doc_ids:
            return write("no longer in the index" if rank_before else "not in the index")
        if rank_now is not None:
            return write("ranked lower")
        for name, ranking in reversed(list(self.stages.items())):
            if doc_id in ranking.doc_ids:
                rank = ranking.doc_ids.index(doc_id) + 1
                return write("not returned, but at rank ", rank, " of ", DataPart(name))
        return write("not returned")

    def diagnose(self, passage: str) -> PassageFinding:
        """Say what happened to a relevant passage."""
        return diagnose_passage(
            passage, self.returned, top_k=self.top_k, stages=self.stages, corpus=self.corpus
        )

    def _collect_scores(self) -> Mapping[str, float]:
        if not self.now or self.now[0].scores is None:
            return {}
        first = self.now[0]
        scores = {}
        for doc_id, rank in find_ranks(first).items():
            scores[doc_id] = first.scores[rank - 1] if first.scores else 0.0
        return scores


def list_expected_doc_ids(query: Query) -> list[str]:
    """Return the relevant documents, best first, and then those that rules want."""
    grades = query.judgments.grades
    expected = sorted(query.judgments.relevant)
    expected.sort(key=lambda doc_id: grades.get(doc_id, 0), reverse=True)
    for rule in query.rules:
        expected += rule.wanted_doc_ids
    return list(dict.fromkeys(expected))


def find_median_ranks(rankings: Sequence[Ranking]) -> dict[str, int]:
    """Return the median rank of every document over the repeats, best first.

    A repeat without the document counts as a rank below all others, so a document that fewer than
    half of the repeats have is left out.
    """
    if len(rankings) == 1:
        return find_ranks(rankings[0])
    ranks_by_doc_id: dict[str, list[int]] = {}
    for ranking in rankings:
        for doc_id, rank in find_ranks(ranking).items():
            ranks_by_doc_id.setdefault(doc_id, []).append(rank)
    middle = (len(rankings) - 1) // 2
    medians = {}
    for doc_id, ranks in ranks_by_doc_id.items():
        if len(ranks) > middle:
            medians[doc_id] = sorted(ranks)[middle]
    return dict(sorted(medians.items(), key=lambda item: item[1]))


def describe_finding(finding: PassageFinding) -> Text:
    """Word what happened to a passage, with chunks, ranks and stages."""
    text = write(finding.kind.value)
    if finding.kind in (FindingKind.FOUND, FindingKind.RANKED_LOWER) and finding.rank:
        text += f" at rank {finding.rank}"
    if finding.kind is FindingKind.SPLIT:
        chunks: list[Part | Text] = []
        for chunk in finding.chunks:
            rank = f" at rank {chunk.rank}" if chunk.rank else ""
            chunks.append(write(DocPart(chunk.chunk_id), rank))
        text += write(" (", join(chunks), "" if finding.is_complete else ", and a part is missing")
        text += ")"
    if finding.stage:
        text += write(", at rank ", finding.stage_rank or 0, " of ", DataPart(finding.stage))
    elif finding.corpus_chunk:
        text += write(", but in the index as chunk ", DocPart(finding.corpus_chunk))
    return text


def make_doc_parts(doc_ids: Iterable[str], titles: Mapping[str, str]) -> list[DocPart]:
    """Return parts of a text that name documents."""
    return [DocPart(doc_id, titles.get(doc_id, "")) for doc_id in doc_ids]
