"""Values of metrics, computed once for all queries of a side and kept as columns.

An unchanged ranking is scored once for both sides. A column is computed when it is first read, and
``RankingBatch`` finds the judged documents of all rankings once for all metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from statistics import fmean

from pytest_irquality.metrics import Judgments, Metric, RankingBatch
from pytest_irquality.passages.location import has_shared_hits, score_passages
from pytest_irquality.retrieval.run import Ranking


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
        return any(len(positions) > 1 for positions in self._rows[side])

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
