"""Comparison of a run with a baseline: pairs of rankings, and how every metric changed.

A metric is computed once for all queries of a side and kept as a column, so a threshold on recall
and a headline on nDCG are certain to read the same rankings, and large suites are scored in one
pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pytest_irquality.evaluation.documents import DocChange
from pytest_irquality.metrics import Metric
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query, Suite


class QueryStatus(Enum):
    """The status of a query in a comparison."""

    COMPARED = "compared"
    NEW = "new"
    NO_ANSWER = "no answer"
    NOT_RUN = "not run"


class Side(Enum):
    """The rankings that a value is computed from.

    Attributes:
        BEFORE: Those of the baseline. Only queries with a baseline have values.
        NOW: The current ones of the same queries, with ties in the baseline's order.
        RETURNED: The current ones of all answered queries, in the order as returned.
    """

    BEFORE = "before"
    NOW = "now"
    RETURNED = "returned"


@dataclass(frozen=True)
class MetricChange:
    """A metric before and now: the mean over repeats and, for a suite, over queries.

    A median over repeats would hide a search that returns nothing every third time.

    Attributes:
        lowest_before: The lowest value among the repeats of the baseline.
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
        raise NotImplementedError

    @property
    def gain(self) -> float:
        """Return the change for the better: positive if the metric improved, negative if not."""
        raise NotImplementedError

    @property
    def is_within_baseline(self) -> bool:
        """Return whether the current mean is within the range of the baseline's answers."""
        raise NotImplementedError


class QueryChange:
    """The answers to a query in the baseline and in the current run.

    Attributes:
        query: The query.
        before: The rankings of the baseline, one for each repeat, cut to the compared depth and,
            with ``match: text``, in terms of passages.
        now: The current rankings as returned, cut alike.
        aligned: The current rankings with ties in the baseline's order.
        test_unit: What the query shares with its variants and copies (see ``Comparison``).
    """

    query: Query
    before: tuple[Ranking, ...]
    now: tuple[Ranking, ...]
    aligned: tuple[Ranking, ...]
    test_unit: str

    def score(self, metric: Metric) -> MetricChange | None:
        """Score both sides, or return ``None`` if the metric is undefined."""
        raise NotImplementedError

    def is_undecided(self, metric: Metric) -> bool:
        """Return whether the metric changed, and an unfinished tie may be the only reason."""
        raise NotImplementedError

    @property
    def lost_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents of the baseline's top 10, if none is in the top 10 now."""
        raise NotImplementedError

    @property
    def gained_doc_ids(self) -> tuple[str, ...]:
        """Return the relevant documents in the top 10 now, if the baseline had none there."""
        raise NotImplementedError

    @property
    def can_lose(self) -> bool:
        """Return whether the baseline has a relevant document in its top 10."""
        raise NotImplementedError

    @property
    def overlap(self) -> float:
        """Return the mean overlap@10 of the current rankings with the first of the baseline."""
        raise NotImplementedError

    @property
    def is_first_hit_new(self) -> bool:
        """Return whether no current ranking starts with a document that the baseline had first."""
        raise NotImplementedError

    @property
    def is_newly_empty(self) -> bool:
        """Return whether the query returns nothing now, but always returned hits before."""
        raise NotImplementedError

    @property
    def is_reordered(self) -> bool:
        """Return whether a current ranking differs from every ranking of the baseline."""
        raise NotImplementedError

    def is_outdated(self, metric: Metric) -> bool:
        """Return whether the baseline no longer describes the current answers.

        With repeats, no ranking may ever recur, so only its value has to be within the range.
        """
        raise NotImplementedError

    def list_documents(self) -> tuple[DocChange, ...]:
        """List the documents of both rankings, as ``Comparison.list_documents`` does."""
        raise NotImplementedError


@dataclass(frozen=True)
class Comparison:
    """The status of every query of a suite, and the changes of those with a baseline.

    A query and its variants are one test unit, named by the request of the query, so copies in
    other suites have the same name.

    Attributes:
        changes: One for each answered query with a baseline answer, in the order of the suite.
        statuses: The status of every query of the suite, by id.
        comparable_count: How many queries have a baseline answer, whether they ran or not.
        is_new: Whether the suite has new queries only. They are compared with the answers that
            come with them, and nothing else depends on the result.
        compared_depth: To which depth both sides are compared.
    """

    suite: Suite
    run: Run
    baseline_run: Run | None
    changes: tuple[QueryChange, ...]
    statuses: Mapping[str, QueryStatus]
    comparable_count: int = 0
    is_new: bool = False
    compared_depth: int = 10

    @property
    def changes_by_id(self) -> Mapping[str, QueryChange]:
        """Return the changes by the id of their query."""
        raise NotImplementedError

    def list_query_ids(self, status: QueryStatus) -> tuple[str, ...]:
        """Return the ids of queries with a status, in the order of the suite."""
        raise NotImplementedError

    def values(self, metric: Metric, side: Side) -> Mapping[str, float | None]:
        """Return the value of each query, the mean over its repeats, by query id."""
        raise NotImplementedError

    def score(self, metric: Metric, tag: str = "") -> MetricChange | None:
        """Return the metric over the compared queries of the suite or of a tag.

        Suite means leave variants out, and those of the tag ``variant`` do not.
        """
        raise NotImplementedError

    def suite_value(self, metric: Metric, tag: str = "") -> float | None:
        """Return the metric over all answered queries, with hits in the order as returned."""
        raise NotImplementedError

    def collect_deltas(self, metric: Metric) -> dict[str, list[float]]:
        """Return the changes of all decided queries by test unit, negative for the worse.

        Weights are scaled to a mean of 1, so deltas of several suites can be pooled.
        """
        raise NotImplementedError

    def list_undecided(self, metric: Metric) -> tuple[QueryChange, ...]:
        """Return the changes that a tie at the end of the rankings leaves undecided."""
        raise NotImplementedError

    def list_documents(self, query_id: str) -> tuple[DocChange, ...]:
        """List the documents of both rankings of a query, and relevant ones that are missing."""
        raise NotImplementedError

    def list_unreturned_doc_ids(self) -> tuple[str, ...]:
        """Return the expected documents that no current answer has, to ask ``exists`` about."""
        raise NotImplementedError


def compare_runs(
    suite: Suite,
    run: Run,
    baseline_run: Run | None = None,
    *,
    is_new: bool = False,
    corpus_texts: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare the answers to the queries of a suite with a baseline.

    Args:
        suite: The queries to compare.
        run: The current answers.
        baseline_run: The answers to compare with.
        is_new: Whether the base branch has an answer to none of the queries.
        corpus_texts: The text of every document or chunk by id, to explain missing passages.
    """
    raise NotImplementedError


def compute_weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Compute a mean. ``statistics.fmean`` takes weights only since Python 3.11."""
    raise NotImplementedError
