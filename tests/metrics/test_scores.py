"""From many queries' values to one."""

from __future__ import annotations

import pytest

from pytest_irquality.metrics import (
    Aggregate,
    Judgments,
    MeasureError,
    Scores,
    evaluate,
    parse_measure,
)

MRR = parse_measure("mrr@10")
WEIGHTED = parse_measure("weighted mrr@10")
SCORES = Scores(
    (MRR, WEIGHTED), {"a": (1.0, 1.0), "b": (0.5, 0.5), "c": (0.0, 0.0), "d": (None, None)}
)


def test_mean_counts_defined_and_undefined() -> None:
    assert SCORES.aggregate(MRR) == Aggregate(0.5, 3, 1)


def test_over_some_queries() -> None:
    assert SCORES.aggregate(MRR, ["a", "b"]) == Aggregate(0.75, 2, 0)
    assert SCORES.aggregate(MRR, iter(["b", "d"])) == Aggregate(0.5, 1, 1)


def test_over_none() -> None:
    assert SCORES.aggregate(MRR, []) == Aggregate(None, 0, 0)
    assert SCORES.aggregate(MRR, ["d"]) == Aggregate(None, 0, 1)
    assert SCORES.aggregate(WEIGHTED, ["d"]) == Aggregate(None, 0, 1)
    assert evaluate({}, {}, [MRR]).aggregate(MRR) == Aggregate(None, 0, 0)


def test_a_query_that_was_not_scored_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        SCORES.aggregate(MRR, ["a", "z"])


def test_weights() -> None:
    assert SCORES.aggregate(WEIGHTED, weights={"a": 3, "b": 2}) == Aggregate(
        (3 * 1 + 2 * 0.5) / (3 + 2 + 1), 3, 1
    )
    assert SCORES.aggregate(WEIGHTED) == SCORES.aggregate(MRR)
    assert SCORES.aggregate(MRR, weights={"a": 3}) == SCORES.aggregate(MRR)


def test_weight_zero_takes_a_query_out() -> None:
    assert SCORES.aggregate(WEIGHTED, weights={"b": 0, "d": 0}) == Aggregate(0.5, 2, 0)
    assert SCORES.aggregate(WEIGHTED, ["a"], {"a": 0}) == Aggregate(None, 0, 0)


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_is_a_number_of_zero_or_more(weight: float) -> None:
    with pytest.raises(MeasureError, match="the weight of 'a' is"):
        SCORES.aggregate(WEIGHTED, weights={"a": weight})


def test_value_of_one_query() -> None:
    assert SCORES.value("b", MRR) == 0.5
    assert SCORES.value("d", MRR) is None


def test_means_lose_no_digit() -> None:
    """Summed one by one, 0.1 ten times is not 1."""
    scores = Scores((MRR,), {str(number): (0.1,) for number in range(10)})
    assert scores.aggregate(MRR).value == 0.1


@pytest.mark.parametrize(
    ("name", "expected"),
    [("latency_p50", 5), ("latency_p95", 10)],
)
def test_latency_of_ten(name: str, expected: float) -> None:
    measure = parse_measure(name)
    run: dict[str, list[str]] = {str(number): [] for number in range(1, 11)}
    seconds = {str(number): float(number) for number in range(10, 0, -1)}
    assert evaluate({}, run, [measure], seconds=seconds).aggregate(measure) == Aggregate(
        expected, 10, 0
    )


@pytest.mark.parametrize(("name", "rank"), [("latency_p50", 50), ("latency_p95", 95)])
def test_percentiles_of_a_hundred_are_nearest_rank(name: str, rank: int) -> None:
    measure = parse_measure(name)
    seconds = {str(number): number / 1000 for number in range(1, 101)}
    scores = evaluate({}, dict.fromkeys(seconds, ()), [measure], seconds=seconds)
    assert scores.aggregate(measure).value == rank / 1000
    assert scores.aggregate(measure, ["7"]).value == 0.007


def test_latency_that_nobody_measured() -> None:
    measure = parse_measure("latency_p95")
    assert evaluate({}, {"q": ["a"]}, [measure]).aggregate(measure) == Aggregate(None, 0, 1)
    partly = evaluate({}, {"q": ["a"], "r": ["a"]}, [measure], seconds={"q": 2.0})
    assert partly.aggregate(measure) == Aggregate(2.0, 1, 1)


def test_undefined_zero_enters_the_mean() -> None:
    qrels = {"a": Judgments({"x": 1}), "b": Judgments({"x": 0})}
    run = {"a": ["x"], "b": ["x"]}
    assert evaluate(qrels, run, [MRR]).aggregate(MRR) == Aggregate(1.0, 1, 1)
    assert evaluate(qrels, run, [MRR], undefined="zero").aggregate(MRR) == Aggregate(0.5, 2, 0)
