"""The documents of a query in both rankings, and why an expected one is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.evaluation import constants
from pytest_irquality.evaluation.comparison import Comparison, sort_by_grade
from pytest_irquality.io import dataclass
from pytest_irquality.io.text import DataPart, DocPart, Part, Text, join, write
from pytest_irquality.passages.diagnosis import FindingKind, PassageFinding, diagnose_passage
from pytest_irquality.passages.matching import find_ranks
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import Query

MAX_LISTED_DOCUMENTS = 20  # of each ranking


@dataclass(frozen=True, slots=True)  # A report has a dozen for each of thousands of queries.
class DocChange:
    """A document of a query, with its ranks in the baseline and now.

    With repeats, a rank is the median over the repeats, and the score is from the first repeat.

    Attributes:
        doc_id: The document, or the passage or chunk with ``match: text``.
        grade: Its grade, or ``None`` if it is unjudged.
        rank_before: Its rank in the baseline from 1, or ``None``.
        rank_now: Its current rank in the order returned, or ``None``.
        score: The retriever's current score.
        finding: Why an expected document is missing or ranked lower, such as ``no longer in the
            index``.
    """

    doc_id: str
    title: str = ""
    grade: float | None = None
    is_relevant: bool = False
    rank_before: int | None = None
    rank_now: int | None = None
    score: float | None = None
    finding: Text | None = None


def list_documents(comparison: Comparison, query_id: str) -> tuple[DocChange, ...]:
    """List the first documents of both rankings of a query, then missing expected ones."""
    query = comparison.suite.queries_by_id[query_id]
    change = comparison.changes_by_id.get(query_id)
    now = comparison.answers.get(query_id, ())
    before = change.before if change else ()
    top_k = comparison.suite.settings.top_k
    limit = min(max(constants.TOP, top_k), MAX_LISTED_DOCUMENTS)
    expected = list_expected_doc_ids(query)
    ranks_before, ranks_now = find_median_ranks(before, limit), find_median_ranks(now, limit)
    listed = {doc_id: None for doc_id, rank in ranks_now.items() if rank <= limit}
    listed |= {doc_id: None for doc_id, rank in ranks_before.items() if rank <= limit}
    listed |= expected
    # The score is of the first repeat, in which a document may have another rank.
    first = now[0] if now else Ranking()
    ranks_in_first = find_ranks(first) if len(now) > 1 else {}
    documents = []
    for doc_id in listed:
        rank_before = _find_rank(before, ranks_before, doc_id)
        rank_now = _find_rank(now, ranks_now, doc_id)
        finding = None
        if doc_id in expected and (rank_now is None or rank_now > top_k):
            finding = _explain_absence(comparison, query, doc_id, rank_before, rank_now)
        rank_in_first = ranks_in_first.get(doc_id) if len(now) > 1 else rank_now
        score = first.scores[rank_in_first - 1] if first.scores and rank_in_first else None
        documents.append(
            DocChange(
                doc_id=doc_id,
                title=comparison.titles.get(doc_id, ""),
                grade=query.judgments.grades.get(doc_id),
                is_relevant=doc_id in query.judgments.relevant,
                rank_before=rank_before,
                rank_now=rank_now,
                score=score,
                finding=finding,
            )
        )
    return tuple(documents)


def iter_unreturned_doc_ids(comparison: Comparison) -> Iterator[str]:
    """Yield the expected documents that no current answer has. ``exists`` is called with them.

    For a compared query, only relevant documents of the baseline and documents that rules want are
    expected, because most documents of a large judgment file were never returned.
    """
    if comparison.suite.settings.match == "text":
        return
    for query in comparison.answered_queries:
        change = comparison.changes_by_id.get(query.id)
        if change and change.is_unchanged and not query.rules:
            continue
        expected = list_expected_doc_ids(query)
        if change:
            named = change.doc_ids_before
            for rule in query.rules:
                named.update(rule.wanted_doc_ids)
            expected = dict.fromkeys(doc_id for doc_id in expected if doc_id in named)
        for doc_id in expected:
            if not any(doc_id in ranking.doc_ids for ranking in comparison.answers[query.id]):
                yield doc_id


def list_expected_doc_ids(query: Query) -> dict[str, None]:
    """Return the relevant documents, best first, and then the documents that rules want."""
    expected = dict.fromkeys(sort_by_grade(query.judgments.relevant, query.judgments))
    for rule in query.rules:
        expected.update(dict.fromkeys(rule.wanted_doc_ids))
    return expected


# -- Ranks -----------------------------------------------------------------------------------------


def find_median_ranks(rankings: Sequence[Ranking], limit: int | None = None) -> dict[str, int]:
    """Return the median rank of every document over the repeats, best first.

    A repeat without the document counts as a rank below all others, so a document in fewer than
    half of the repeats is left out.

    Args:
        rankings: One ranking for each repeat.
        limit: The number of results to read. With repeats or passages, all are read.
    """
    if len(rankings) == 1:
        return find_ranks(rankings[0], limit)
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


def _find_rank(rankings: Sequence[Ranking], first_ranks: dict[str, int], doc_id: str) -> int | None:
    """Return the rank of a document, which may be below the first documents."""
    rank = first_ranks.get(doc_id)
    # Searching for a few documents is faster than finding the ranks of a thousand.
    if rank is None and len(rankings) == 1 and doc_id in rankings[0].doc_ids:
        return rankings[0].doc_ids.index(doc_id) + 1
    return rank


# -- Reasons ---------------------------------------------------------------------------------------


def _explain_absence(
    comparison: Comparison, query: Query, doc_id: str, rank_before: int | None, rank_now: int | None
) -> Text:
    """Explain why an expected document is not among the first results."""
    if comparison.suite.settings.match == "text":
        return _describe_finding(diagnose(comparison, query, doc_id))
    if doc_id in comparison.run.missing_doc_ids:
        return write("no longer in the index" if rank_before else "not in the index")
    if rank_now is not None:
        return write("ranked lower")
    for name, ranking in reversed(_get_stage_rankings(comparison, query).items()):
        if doc_id in ranking.doc_ids:
            rank = ranking.doc_ids.index(doc_id) + 1
            return write("not retrieved, but at rank ", rank, " of ", DataPart(name))
    return write("not retrieved")


def diagnose(comparison: Comparison, query: Query, passage: str) -> PassageFinding:
    """Find out what happened to a relevant passage."""
    returned = comparison.run.answers.get(query.request, (Ranking(),))
    return diagnose_passage(
        passage,
        returned[0],
        top_k=comparison.suite.settings.top_k,
        stages=_get_stage_rankings(comparison, query),
        corpus=comparison.corpus,
    )


def _get_stage_rankings(comparison: Comparison, query: Query) -> dict[str, Ranking]:
    """Return the rankings of earlier stages by name, in their order."""
    stages = {}
    for name, stage_run in comparison.run.stages.items():
        if query.request in stage_run.answers:
            stages[name] = stage_run.answers[query.request][0]
    return stages


def _describe_finding(finding: PassageFinding) -> Text:
    """Describe what happened to a passage, with chunks, ranks and stages."""
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
