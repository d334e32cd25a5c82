"""Batches of rankings, budgets, and the combination of values over queries."""

from __future__ import annotations

import pytest

from pytest_irquality.metrics import (
    Judgments,
    MetricError,
    RankingBatch,
    aggregate_values,
    parse_metric,
    score_rankings,
)

MRR = parse_metric("mrr@10")
WEIGHTED_MRR = parse_metric("weighted mrr@10")
VALUES = [1.0, 0.5, 0.0, None]


def test_a_batch_scores_one_metric_after_another() -> None:
    batch = RankingBatch([Judgments({"a": 1, "b": 2})] * 2, ["ab", "xxab"])

    values = [batch.score(parse_metric(name)) for name in ("mrr@1", "map@4", "rprec")]

    assert values[0] == [1, 0]
    assert values[1] == [1, (1 / 2 + 2 / 3) / 2]
    assert values[2] == [1, 1 / 2]


def test_rankings_and_judgments_must_be_aligned() -> None:
    with pytest.raises(ValueError, match="zip"):
        score_rankings([MRR], [Judgments({"a": 1})], ["a", "b"])


def test_zero_results_counts_queries() -> None:
    metric = parse_metric("zero_results")

    columns = score_rankings([metric], [Judgments({})] * 3, ["", "a", ""])

    assert columns == [[1, 0, 1]]
    assert aggregate_values(metric, columns[0]) == 2


@pytest.mark.parametrize(
    ("budget", "expected"), [(5, 0), (10, 1 / 3), (24, 1 / 3), (25, 2 / 3), (1000, 1)]
)
def test_a_budget_counts_the_results_that_fit(budget: int, expected: float) -> None:
    metric = parse_metric(f"recall(tokens={budget})")
    judgments = [Judgments(dict.fromkeys("abc", 1))] * 2
    sizes = [{"tokens": [10, 5, 10, 50]}, {"words": [1, 1, 1, 1]}]

    columns = score_rankings([metric], judgments, ["aabc", "aabc"], sizes=sizes)

    assert columns == [[expected, None]]


def test_a_budget_without_sizes_has_no_value() -> None:
    metric = parse_metric("recall(words=5)")

    assert score_rankings([metric], [Judgments({"a": 1})], ["a"]) == [[None]]


def test_the_mean_leaves_undefined_values_out() -> None:
    assert aggregate_values(MRR, VALUES) == 0.5
    assert aggregate_values(MRR, [None]) is None
    assert aggregate_values(MRR, []) is None


def test_weights_count_only_for_weighted_metrics() -> None:
    weights = [3, 2, 1, 5]

    assert aggregate_values(WEIGHTED_MRR, VALUES, weights) == (3 * 1 + 2 * 0.5) / (3 + 2 + 1)
    assert aggregate_values(MRR, VALUES, weights) == 0.5
    assert aggregate_values(WEIGHTED_MRR, VALUES) == 0.5


def test_a_weight_of_zero_leaves_a_query_out() -> None:
    assert aggregate_values(WEIGHTED_MRR, VALUES, [1, 0, 1, 0]) == 0.5
    assert aggregate_values(WEIGHTED_MRR, [1.0], [0]) is None


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_must_be_a_number_of_zero_or_more(weight: float) -> None:
    with pytest.raises(MetricError, match="is not a number of 0 or more"):
        aggregate_values(WEIGHTED_MRR, [1.0], [weight])


def test_a_mean_is_exact() -> None:
    # Added one after another, ten times 0.1 is less than 1.
    assert aggregate_values(MRR, [0.1] * 10) == 0.1


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("latency_p50", 10, 5),
        ("latency_p95", 10, 10),
        ("latency_p50", 100, 50),
        ("latency_p95", 100, 95),
        ("latency_p95", 1, 1),
    ],
)
def test_percentiles_are_those_of_the_nearest_rank(name: str, count: int, expected: float) -> None:
    metric = parse_metric(name)
    seconds = [float(number) for number in range(count, 0, -1)]

    assert aggregate_values(metric, seconds) == expected


def test_a_ranking_has_no_latency() -> None:
    assert score_rankings([parse_metric("latency_p95")], [Judgments({})], ["a"]) == [[None]]
