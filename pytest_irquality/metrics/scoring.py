"""Score rankings with metrics, and combine the values of several queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, fsum, inf
from sys import maxsize

from pytest_irquality.metrics.judgments import (
    DocIds,
    JudgedRankings,
    Judgments,
    MetricError,
    RankedGains,
    find_gains,
    find_relevant_ranks,
)
from pytest_irquality.metrics.metric import Metric

Sizes = Mapping[str, Sequence[float]]


class RankingBatch:
    """Rankings whose judged documents are found only once for all metrics.

    ``score_rankings`` is the short way. Use a batch if you do not score all metrics at once.

    Args:
        judgments: The judgments for each ranking, repeated if a query has several answers.
        rankings: The document ids of each ranking, best first. Only the first occurrence of a
            repeated document counts.
        baseline_rankings: A ranking to compare each with, or ``None`` for those without one, for
            metrics that compare.
        sizes: The size of every result (duplicates included) by unit, ``words`` or ``tokens``, for
            metrics with a budget.
    """

    def __init__(
        self,
        judgments: Sequence[Judgments],
        rankings: Sequence[DocIds],
        *,
        baseline_rankings: Sequence[DocIds | None] | None = None,
        sizes: Sequence[Sizes] | None = None,
    ) -> None:
        self._judgments = judgments
        self._rankings = rankings
        self._baseline_rankings = baseline_rankings or [None] * len(rankings)
        self._sizes = sizes
        self._depth = 0
        self._reads_all_relevant = False
        self._judged_rankings: JudgedRankings | None = None

    def prepare(self, metrics: Sequence[Metric]) -> None:
        """Set the depth that these metrics need, so that one lookup serves all of them."""
        depth = self._depth
        reads_all_relevant = self._reads_all_relevant
        for metric in metrics:
            if not metric.needs_judgments or metric.budget:
                continue
            reach = metric.compute_depth()
            depth = max(depth, maxsize if reach is None else reach)
            if metric.definition.reach == "relevant":
                reads_all_relevant = True
        # A deeper lookup contains a shallower one, so the depth only ever grows.
        if (depth, reads_all_relevant) != (self._depth, self._reads_all_relevant):
            self._depth, self._reads_all_relevant = depth, reads_all_relevant
            self._judged_rankings = None

    def score(self, metric: Metric, undefined: str = "skip") -> list[float | None]:
        """Score every ranking with one metric.

        Args:
            metric: The metric. Its stage and weights do not matter here.
            undefined: ``skip`` gives ``None`` if a query has no relevant document, ``zero`` the
                score of a ranking without relevant documents, as in trec_eval.

        Raises:
            MetricError: A grade is too high for the metric, or a project's own metric failed.
        """
        if undefined not in ("skip", "zero"):
            raise MetricError(f"'undefined' must be 'skip' or 'zero', not {undefined!r}")
        if metric.budget:
            return self._score_with_budget(metric, *metric.budget, undefined)
        self.prepare([metric])
        rankings = self.judged_rankings
        if metric.relevant_from is not None:
            rankings = rankings.with_relevant_from(metric.relevant_from)
        compute_scores = metric.make_score_function()
        if undefined == "zero" or not metric.needs_judgments or all(rankings.relevant_counts):
            return list(compute_scores(rankings))
        # Without relevant documents there is no value, so formulas never see such a query.
        is_defined = [metric.is_defined_for(judgments) for judgments in rankings.judgments]
        scores = iter(compute_scores(rankings.select(is_defined)))
        return [next(scores) if defined else None for defined in is_defined]

    @property
    def judged_rankings(self) -> JudgedRankings:
        """Return the rankings with the places of their judged documents."""
        if self._judged_rankings is None:
            self._judged_rankings = self._find_judged_documents()
        return self._judged_rankings

    def _find_judged_documents(self) -> JudgedRankings:
        rankings: list[DocIds] = []
        gains: list[RankedGains] = []
        depth = self._depth
        for judgments, ranking in zip(self._judgments, self._rankings, strict=True):
            gain_by_doc_id = judgments.gains
            reach = max(depth, len(gain_by_doc_id)) if self._reads_all_relevant else depth
            distinct, ranked_gains = find_gains(ranking, gain_by_doc_id, reach)
            rankings.append(distinct)
            gains.append(ranked_gains)
        return JudgedRankings(
            rankings=rankings,
            judgments=self._judgments,
            gains=gains,
            relevant_ranks=list(map(find_relevant_ranks, self._judgments, gains)),
            relevant_counts=[judgments.relevant_count for judgments in self._judgments],
            baseline_rankings=self._baseline_rankings,
        )

    def _score_with_budget(
        self, metric: Metric, unit: str, size: int, undefined: str
    ) -> list[float | None]:
        """Score each ranking at the number of documents that fit into the budget."""
        positions_by_cutoff: dict[int, list[int]] = {}
        for position, sizes in enumerate(self._sizes or ()):
            if unit in sizes:
                cutoff = _count_fitting_documents(self._rankings[position], sizes[unit], size)
                positions_by_cutoff.setdefault(cutoff, []).append(position)
        scores: list[float | None] = [None] * len(self._rankings)
        for cutoff, positions in positions_by_cutoff.items():
            batch = RankingBatch(
                [self._judgments[position] for position in positions],
                [self._rankings[position] if cutoff else () for position in positions],
            )
            values = batch.score(metric.with_cutoff(max(cutoff, 1)), undefined)
            for position, value in zip(positions, values, strict=True):
                scores[position] = value
        return scores


def score_rankings(
    metrics: Sequence[Metric],
    judgments: Sequence[Judgments],
    rankings: Sequence[DocIds],
    *,
    undefined: str = "skip",
    baseline_rankings: Sequence[DocIds | None] | None = None,
    sizes: Sequence[Sizes] | None = None,
) -> list[list[float | None]]:
    """Score rankings with several metrics.

    All sequences but ``metrics`` are aligned: the entry at an index belongs to the same ranking.

    Args:
        metrics: The metrics.
        judgments: The judgments for each ranking.
        rankings: The document ids of each ranking, best first.
        undefined: ``skip`` gives ``None`` if a query has no relevant document, ``zero`` the score
            of a ranking without relevant documents.
        baseline_rankings: The ranking of the baseline, for metrics that compare with it.
        sizes: The size of every result of each ranking, by unit, for budgets.

    Returns:
        One list for each metric, aligned with the rankings. A value is ``None`` if the metric is
        undefined.

    Raises:
        MetricError: A grade is too high for a metric, or a project's own metric failed.
    """
    batch = RankingBatch(judgments, rankings, baseline_rankings=baseline_rankings, sizes=sizes)
    batch.prepare(metrics)
    return [batch.score(metric, undefined) for metric in metrics]


def aggregate_values(
    metric: Metric, values: Sequence[float | None], weights: Sequence[float] | None = None
) -> float | None:
    """Combine the values of several queries into one, as the metric defines.

    Args:
        metric: Decides between mean, weighted mean, sum and percentile.
        values: The value of each query. ``None`` values are left out.
        weights: The weight of each query, read only if the metric is weighted.

    Returns:
        The combined value, or ``None`` if no query has one (or if all weights are 0).
    """
    if metric.is_weighted and weights is not None:
        return _compute_weighted_mean(values, weights)
    defined = [value for value in values if value is not None]
    if not defined:
        return None
    # fsum is exact, so the order of queries cannot change the last digit.
    if metric.definition.aggregate == "mean":
        return fsum(defined) / len(defined)
    if metric.definition.aggregate == "sum":
        return fsum(defined)
    # A percentile is the value at the nearest rank.
    percent = int(metric.definition.aggregate.removeprefix("p"))
    rank = ceil(percent * len(defined) / 100)
    return sorted(defined)[rank - 1]


def _compute_weighted_mean(
    values: Sequence[float | None], weights: Sequence[float]
) -> float | None:
    products: list[float] = []
    divisors: list[float] = []
    for value, weight in zip(values, weights, strict=True):
        if not 0 <= weight < inf:
            raise MetricError(f"The weight {weight} of a query is not a number of 0 or more")
        # A weight of 0 leaves a query out, defined or not.
        if weight and value is not None:
            products.append(value * weight)
            divisors.append(weight)
    return fsum(products) / fsum(divisors) if divisors else None


def _count_fitting_documents(ranking: DocIds, sizes: Sequence[float], budget: int) -> int:
    """Count the documents in the results before the first one that does not fit."""
    total, count = 0.0, 0
    for size in sizes:
        total += size
        if total > budget:
            break
        count += 1
    return len(set(ranking[:count]))
