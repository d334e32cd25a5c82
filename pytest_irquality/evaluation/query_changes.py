"""Changes of single queries: their rankings on both sides, and what became of their documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from statistics import fmean
from typing import Protocol

from pytest_irquality.evaluation.columns import MetricColumns, Side
from pytest_irquality.evaluation.constants import (
    MAX_ABSENT_FRACTION,
    MIN_PRESENT_FRACTION,
    ROUNDING_ERROR,
    TOP,
)
from pytest_irquality.evaluation.documents import DocChange, QueryAnswers
from pytest_irquality.metrics import Metric, compute_overlap
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import Query


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


class ChangeSource(Protocol):
    """What a change of a query needs of the comparison that it belongs to."""

    @property
    def columns(self) -> MetricColumns:
        """Return the values of metrics."""

    def find_stage_change(self, stage: str, query_id: str) -> QueryChange | None:
        """Return the change of the same query in a stage of the retriever."""

    def explain(self, query: Query) -> QueryAnswers:
        """Return what is known about the answers to a query."""


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
        row: The row of the query in the columns of compared queries.
    """

    query: Query
    before: tuple[Ranking, ...]
    now: tuple[Ranking, ...]
    aligned: tuple[Ranking, ...]
    test_unit: str
    restored: Mapping[str, int] = field(repr=False)
    is_unchanged: bool
    row: int
    _source: ChangeSource = field(repr=False)

    def score(self, metric: Metric) -> MetricChange | None:
        """Score both sides, or return ``None`` if the metric is undefined."""
        if metric.stage:
            change = self._source.find_stage_change(metric.stage, self.query.id)
            return change.score(replace(metric, stage="")) if change else None
        columns = self._source.columns
        before = columns.get_column(metric, Side.BEFORE)[self.row]
        now = columns.get_column(metric, Side.NOW)[self.row]
        if before is None or now is None:
            return None
        lowest = highest = before
        if len(self.before) > 1:
            repeats = columns.get_repeats(metric, Side.BEFORE, self.row)
            values = [value for value in repeats if value is not None]
            lowest, highest = min(values), max(values)
        return MetricChange(metric, before, now, lowest, highest)

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

    def list_documents(self) -> tuple[DocChange, ...]:
        """List the documents of both rankings, as ``Comparison.list_documents`` does."""
        return self._source.explain(self.query).list_documents()


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
