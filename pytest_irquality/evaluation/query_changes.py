"""Changes of single queries: the rankings of both sides, and the values of metrics for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from statistics import fmean

from pytest_irquality.evaluation import constants
from pytest_irquality.metrics import Judgments, Metric, RankingBatch, compute_overlap
from pytest_irquality.passages.location import has_shared_hits, score_passages
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
        return delta if abs(delta) > constants.ROUNDING_ERROR else 0.0

    @property
    def gain(self) -> float:
        """Return the change for the better: positive if the metric improved, negative if not."""
        return self.delta if self.metric.higher_is_better else -self.delta

    @property
    def is_within_baseline(self) -> bool:
        """Return whether the current mean is within the range of the baseline's answers."""
        is_low = self.now < self.lowest_before - constants.ROUNDING_ERROR
        is_high = self.now > self.highest_before + constants.ROUNDING_ERROR
        return not (is_low or is_high)


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


class MetricColumns:
    """The rankings of all queries of a suite, and the values of metrics for them.

    An unchanged ranking is scored once for both sides. A column is computed when it is first read,
    and ``RankingBatch`` finds the judged documents of all rankings once for all metrics.

    Rows of ``RETURNED`` are answered queries. Rows of ``BEFORE`` and ``NOW`` are compared ones.

    Args:
        metrics: The metrics that will be read, so that rankings are searched only once.
        undefined: What a query without relevant documents scores (see ``RankingBatch.score``).
    """

    def __init__(self, metrics: Sequence[Metric], undefined: str) -> None:
        self._metrics = metrics
        self._undefined = undefined
        self._judgments: list[Judgments] = []
        self._rankings: list[Ranking] = []
        self._rows: dict[Side, list[tuple[int, ...]]] = {side: [] for side in Side}
        self._sides_with_repeats: set[Side] = set()
        self._baseline_rows: list[tuple[Judgments, Sequence[Ranking]]] = []
        self._batch: RankingBatch | None = None
        self._scores: dict[Metric, list[float | None]] = {}
        self._columns: dict[tuple[Metric, Side], list[float | None]] = {}

    def add(self, judgments: Judgments, rankings: Sequence[Ranking]) -> tuple[int, ...]:
        """Add the rankings of a query and return their positions."""
        start = len(self._rankings)
        self._rankings += rankings
        if len(rankings) == 1:
            self._judgments.append(judgments)
            return (start,)
        self._judgments += [judgments] * len(rankings)
        return tuple(range(start, len(self._rankings)))

    def add_row(self, side: Side, positions: tuple[int, ...]) -> None:
        """Add the next row of a side."""
        self._rows[side].append(positions)
        if len(positions) > 1:
            self._sides_with_repeats.add(side)

    def add_baseline(self, judgments: Judgments, before: Sequence[Ranking]) -> None:
        """Add the baseline's rankings of the next compared row."""
        self._baseline_rows.append((judgments, before))

    def get_column(self, metric: Metric, side: Side) -> list[float | None]:
        """Return the value of each row, the mean over its repeats."""
        # Weights do not change the values of queries, so both spellings share a column.
        plain = replace(metric, weighted=False) if metric.weighted else metric
        key = (plain, side)
        if key not in self._columns:
            self._columns[key] = self._compute_column(plain, side)
        return self._columns[key]

    def _compute_column(self, metric: Metric, side: Side) -> list[float | None]:
        rows = self._rows[side]
        if side is Side.BEFORE:
            if metric.compares:
                return [None] * len(rows)
            if metric.unit == "seconds" or metric.budget:
                return self._baseline_columns.get_column(metric, Side.RETURNED)
        scores = self._score(metric)
        if not self.has_repeats(side):
            return [scores[positions[0]] for positions in rows]
        column: list[float | None] = []
        for positions in rows:
            values = [scores[position] for position in positions]
            defined = [value for value in values if value is not None]
            column.append(fmean(defined) if defined else None)
        return column

    def get_repeats(self, metric: Metric, side: Side, row: int) -> list[float | None]:
        """Return the value of each repeat of a row."""
        plain = replace(metric, weighted=False) if metric.weighted else metric
        if side is Side.BEFORE and (plain.unit == "seconds" or plain.budget):
            return self._baseline_columns.get_repeats(plain, Side.RETURNED, row)
        scores = self._score(plain)
        return [scores[position] for position in self._rows[side][row]]

    def score(self, metric: Metric, row: int) -> MetricChange | None:
        """Return the change of a compared query, or ``None`` if the metric is undefined."""
        before = self.get_column(metric, Side.BEFORE)[row]
        now = self.get_column(metric, Side.NOW)[row]
        if before is None or now is None:
            return None
        lowest = highest = before
        if len(self._rows[Side.BEFORE][row]) > 1:
            repeats = self.get_repeats(metric, Side.BEFORE, row)
            values = [value for value in repeats if value is not None]
            lowest, highest = min(values), max(values)
        return MetricChange(metric, before, now, lowest, highest)

    def list_rows_with_duplicates(self) -> list[int]:
        """Return the current rows with a document twice, as deep as metrics read."""
        if self._batch is None:
            self._batch = self._create_batch()
        distinct = self._batch.judged_rankings.rankings
        rows = []
        for row, positions in enumerate(self._rows[Side.RETURNED]):
            # The search for judged documents copies only rankings with duplicates.
            if any(distinct[at] is not self._rankings[at].doc_ids for at in positions):
                rows.append(row)
        return rows

    def has_repeats(self, side: Side) -> bool:
        """Return whether any query of a side has several answers."""
        return side in self._sides_with_repeats

    @cached_property
    def _baseline_columns(self) -> MetricColumns:
        """The baseline's rankings by themselves, for what equal rankings may differ in."""
        columns = MetricColumns(self._metrics, self._undefined)
        for judgments, rankings in self._baseline_rows:
            columns.add_row(Side.RETURNED, columns.add(judgments, rankings))
        return columns

    def _score(self, metric: Metric) -> list[float | None]:
        """Return the value of every ranking, by position."""
        if metric not in self._scores:
            if self._batch is None:
                self._batch = self._create_batch()
            scores = self._batch.score(metric, self._undefined)
            if metric.needs_judgments and not metric.budget:
                self._score_shared_hits(metric, scores)
            self._scores[metric] = scores
        return self._scores[metric]

    def _create_batch(self) -> RankingBatch:
        baseline_rankings: list[Sequence[str] | None] = [None] * len(self._rankings)
        for row, (_, before) in enumerate(self._baseline_rows):
            for position in self._rows[Side.NOW][row]:
                baseline_rankings[position] = before[0].doc_ids
        batch = RankingBatch(
            self._judgments,
            [ranking.doc_ids for ranking in self._rankings],
            seconds=[ranking.seconds for ranking in self._rankings],
            baseline_rankings=baseline_rankings,
            sizes=[ranking.sizes for ranking in self._rankings],
        )
        batch.prepare(self._metrics)
        return batch

    def _score_shared_hits(self, metric: Metric, scores: list[float | None]) -> None:
        """Score rankings in which a hit contains several passages, which a batch cannot know."""
        for position, ranking in enumerate(self._rankings):
            if ranking.passages and has_shared_hits(ranking):
                judgments = self._judgments[position]
                values = score_passages([metric], judgments, ranking, undefined=self._undefined)
                scores[position] = values[0]


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
    _columns: MetricColumns = field(repr=False)

    @property
    def doc_ids_before(self) -> set[str]:
        """Return the documents of all rankings of the baseline."""
        return {doc_id for ranking in self.before for doc_id in ranking.doc_ids}

    def score(self, metric: Metric) -> MetricChange | None:
        """Score both sides, or return ``None`` if the metric is undefined."""
        return self._columns.score(metric, self.row)

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
        return fmean(
            compute_overlap(ranking.doc_ids, reference, constants.TOP) for ranking in self.aligned
        )

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
        if _compute_fraction_with(doc_id, tops_now) >= constants.MAX_ABSENT_FRACTION:
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
    top = set(ranking.doc_ids[: constants.TOP])
    for index, passages in ranking.passages.items():
        if index < constants.TOP:
            top.update(passages)
    return top


def _is_present(doc_id: str, tops: Sequence[set[str]]) -> bool:
    return _compute_fraction_with(doc_id, tops) > constants.MIN_PRESENT_FRACTION


def _compute_fraction_with(doc_id: str, tops: Sequence[set[str]]) -> float:
    return sum(doc_id in top for top in tops) / len(tops)
