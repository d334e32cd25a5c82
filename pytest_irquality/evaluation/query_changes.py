"""Changes of single queries: their rankings on both sides, and what became of their documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from statistics import fmean

from pytest_irquality.evaluation.constants import (
    MAX_ABSENT_FRACTION,
    MIN_PRESENT_FRACTION,
    ROUNDING_ERROR,
    TOP,
)
from pytest_irquality.io.text import DataPart, DocPart, Part, Text, join, write
from pytest_irquality.metrics import Metric, compute_overlap
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


class QueryStatus(Enum):
    """The status of a query in a comparison."""

    COMPARED = "compared"
    NEW = "new"
    NO_ANSWER = "no answer"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class MetricChange:
    """A metric before and now: the mean over repeats and, for a suite, over queries.

    A median over repeats would hide a search that returns nothing every third time.

    Attributes:
        lowest_before: The lowest value among the repeats of the baseline. Current repeats do not
            count, or a search that became nondeterministic would excuse itself.
        highest_before: The highest value among them.
        query_count: Over how many queries the values are.
    """

    metric: Metric
    before: float
    now: float
    lowest_before: float
    highest_before: float
    query_count: int = 1

    @property
    def delta(self) -> float:
        """Return ``now - before``, and 0 if they differ by rounding only."""
        delta = self.now - self.before
        # The mean of equal values can differ from them in the last digit.
        return delta if abs(delta) > ROUNDING_ERROR else 0.0

    @property
    def gain(self) -> float:
        """Return the change for the better: positive if the metric improved, negative if not."""
        return self.delta if self.metric.higher_is_better else -self.delta

    @property
    def is_within_baseline(self) -> bool:
        """Return whether the current mean is within the range of the baseline's answers."""
        is_low = self.now < self.lowest_before - ROUNDING_ERROR
        is_high = self.now > self.highest_before + ROUNDING_ERROR
        return not (is_low or is_high)


@dataclass(frozen=True, eq=False)
class QueryChange:
    """The answers to a query in the baseline and in the current run.

    Attributes:
        query: The query.
        before: The rankings of the baseline, one for each repeat, cut to the compared depth and,
            with ``match: text``, in terms of passages.
        now: The current rankings as returned, cut alike.
        aligned: The current rankings with ties in the baseline's order.
        test_unit: What the query shares with its variants and copies (see ``Comparison``).
        restored: The relevant documents that are taken to be in their old place, because a tie at
            the end of the current ranking may hide them, with this rank.
        is_unchanged: Whether both sides have one and the same ranking.
        row: The row of the query among compared ones.
        score_row: Scores both sides of a row.
    """

    query: Query
    before: tuple[Ranking, ...]
    now: tuple[Ranking, ...]
    aligned: tuple[Ranking, ...]
    test_unit: str
    restored: Mapping[str, int] = field(repr=False)
    is_unchanged: bool
    row: int
    score_row: Callable[[Metric, int], MetricChange | None] = field(repr=False)

    def score(self, metric: Metric) -> MetricChange | None:
        """Score both sides, or return ``None`` if the metric is undefined."""
        return self.score_row(metric, self.row)

    def is_undecided(self, metric: Metric) -> bool:
        """Return whether a tie at the end of the rankings decides the value of the metric."""
        depth = metric.cutoff or len(self.now[0].doc_ids)
        return any(rank <= depth for rank in self.restored.values())

    @cached_property
    def lost_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents of the baseline's top 10, if none is in the top 10 now."""
        return _list_vanished_doc_ids(self, self.before, self.now)

    @cached_property
    def gained_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents in the top 10 now, if the baseline had none there."""
        return _list_vanished_doc_ids(self, self.now, self.before)

    @property
    def can_lose(self) -> bool:
        """Return whether the baseline has a relevant document in its top 10."""
        relevant = self.query.judgments.relevant
        tops = [_get_top(ranking) for ranking in self.before]
        return any(_is_present(doc_id, tops) for doc_id in relevant)

    @property
    def overlap(self) -> float:
        """Return the mean overlap@10 of the current rankings with the first of the baseline."""
        if self.is_unchanged:
            return 1.0
        reference = self.before[0].doc_ids
        return fmean(compute_overlap(ranking.doc_ids, reference, TOP) for ranking in self.aligned)

    @property
    def is_first_hit_new(self) -> bool:
        """Return whether no current ranking starts with a document that the baseline had first."""
        known = {ranking.doc_ids[:1] for ranking in self.before}
        return all(ranking.doc_ids[:1] not in known for ranking in self.aligned)

    @property
    def is_newly_empty(self) -> bool:
        """Return whether the query returns nothing now, but always returned hits before."""
        was_empty = not all(ranking.doc_ids for ranking in self.before)
        return not was_empty and not any(ranking.doc_ids for ranking in self.now)

    @property
    def is_reordered(self) -> bool:
        """Return whether a current ranking differs from every ranking of the baseline."""
        if self.is_unchanged:
            return False
        known = {ranking.doc_ids for ranking in self.before}
        return any(ranking.doc_ids not in known for ranking in self.aligned)

    def is_outdated(self, metric: Metric) -> bool:
        """Return whether the baseline no longer describes the current answers.

        With repeats, no ranking may ever recur, so only its value has to be within the range.
        """
        score = self.score(metric) if len(self.before) > 1 else None
        return self.is_reordered if score is None else not score.is_within_baseline


# -- Lost and gained documents ---------------------------------------------------------------------


def _list_vanished_doc_ids(
    change: QueryChange, before: Sequence[Ranking], now: Sequence[Ranking]
) -> tuple[str, ...]:
    """Return the relevant documents that were present, if all relevant documents are absent."""
    if change.is_unchanged:
        return ()
    tops_now = [_get_top(ranking) for ranking in now]
    tops_before = [_get_top(ranking) for ranking in before]
    vanished = []
    for doc_id in _list_relevant(change.query):
        if _compute_fraction_with(doc_id, tops_now) >= MAX_ABSENT_FRACTION:
            return ()
        if _is_present(doc_id, tops_before):
            vanished.append(doc_id)
    return tuple(vanished)


def _list_relevant(query: Query) -> list[str]:
    """Return the relevant documents, those with the best grade first."""
    grades = query.judgments.grades
    relevant = query.judgments.relevant
    return sorted((doc_id for doc_id in grades if doc_id in relevant), key=lambda d: -grades[d])


def _get_top(ranking: Ranking) -> set[str]:
    """Return the first documents, and the passages in them."""
    top = set(ranking.doc_ids[:TOP])
    for index, passages in ranking.passages.items():
        if index < TOP:
            top.update(passages)
    return top


def _is_present(doc_id: str, tops: Sequence[set[str]]) -> bool:
    return _compute_fraction_with(doc_id, tops) > MIN_PRESENT_FRACTION


def _compute_fraction_with(doc_id: str, tops: Sequence[set[str]]) -> float:
    return sum(doc_id in top for top in tops) / len(tops)


# -- Documents -------------------------------------------------------------------------------------


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
                return write("not retrieved, but at rank ", rank, " of ", DataPart(name))
        return write("not retrieved")

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
