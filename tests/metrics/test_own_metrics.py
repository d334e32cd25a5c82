"""Metrics that a project defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_irquality.metrics import (
    Judgments,
    MetricError,
    make_own_metric,
    parse_metric,
    score_rankings,
)


def get_best_grade(ranking: list[str], grades: Mapping[str, float], k: int) -> float:
    """Return the best grade among the first k results."""
    return max((grades.get(doc_id, 0) for doc_id in ranking), default=0)


def score_own(function: Callable[..., Any], name: str = "mine@2", **options: Any) -> float | None:
    metric = parse_metric(name, [make_own_metric("mine", function, **options)])
    judgments = Judgments({"a": 1, "b": 3, "c": -1})
    return score_rankings([metric], [judgments], [["a", "a", "b", "c"]])[0][0]


def test_an_own_metric_is_named_like_any_other() -> None:
    own = [make_own_metric("best_grade", get_best_grade, range=(0, 3))]
    names = ("Best_Grade@1", "best_grade", "weighted best_grade@2")

    metrics = [parse_metric(name, own, top_k=5) for name in names]

    assert list(map(str, metrics)) == ["best_grade@1", "best_grade@5", "weighted best_grade@2"]
    judgments = [Judgments({"a": 1, "b": 3}), Judgments({"a": 0})]
    columns = score_rankings(metrics, judgments, ["ab", "a"])
    assert columns == [[1, None], [3, None], [3, None]]
    assert not metrics[0].can_be_primary


def test_the_function_receives_the_first_documents_without_duplicates() -> None:
    calls: list[Any] = []

    score_own(lambda ranking, grades, k: calls.append((ranking, dict(grades), k)))

    assert calls == [(["a", "b"], {"a": 1, "b": 3, "c": -1}, 2)]


def test_without_a_cutoff_the_function_receives_all_documents() -> None:
    calls: list[Any] = []

    score_own(lambda ranking, grades, k: calls.append((ranking, k)), name="mine", cutoff=False)

    assert calls == [(["a", "b", "c"], 3)]
    with pytest.raises(MetricError, match="'mine' has no cutoff"):
        score_own(get_best_grade, name="mine@3", cutoff=False)


def test_direction_and_need_of_judgments() -> None:
    own = [make_own_metric("price", lambda *_: 0.5, better="lower", needs_relevant=False)]
    metric = parse_metric("price@3", own)

    assert not metric.higher_is_better
    assert score_rankings([metric], [Judgments({})], [[]]) == [[0.5]]


def test_a_function_may_return_none_or_a_boolean() -> None:
    assert score_own(lambda *_: None) is None
    assert score_own(lambda ranking, grades, k: "b" in ranking) == 1


def test_the_last_bit_of_a_sum_is_tolerated() -> None:
    assert score_own(lambda *_: 1 + 1e-12) == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, "returned 1.5, which is not in its range of 0 to 1"),
        (-0.1, "returned -0.1, which is not in its range"),
        (float("nan"), "returned nan, which is not in its range"),
        ("0.5", "returned '0.5', which is not a number"),
        ([0.5], "returned [0.5], which is not a number"),
    ],
)
def test_a_wrong_value_is_refused(value: Any, message: str) -> None:
    with pytest.raises(MetricError) as error:
        score_own(lambda *_: value)

    assert str(error.value) == f"The function of 'mine' {message}" or message in str(error.value)


def test_a_failing_function_is_named() -> None:
    def fail(ranking: list[str], grades: Mapping[str, float], k: int) -> float:
        return 1 / 0 if "x" in ranking else 1

    metric = parse_metric("mine@2", [make_own_metric("mine", fail)])
    judgments = [Judgments({}), Judgments({"a": 1}), Judgments({"a": 1})]

    with pytest.raises(MetricError, match="'mine' raised ZeroDivisionError") as error:
        score_rankings([metric], judgments, ["a", "a", "x"])

    assert isinstance(error.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("name", ["ndcg", "p", "recip_rank", "latency_p95"])
def test_a_name_of_ours_is_taken(name: str) -> None:
    with pytest.raises(MetricError, match=f"The metric name '{name}' is taken"):
        make_own_metric(name, get_best_grade)


def test_two_metrics_of_one_name_are_refused() -> None:
    own = [make_own_metric("mine", get_best_grade), make_own_metric("mine", get_best_grade)]

    with pytest.raises(MetricError, match="The metric name 'mine' is taken"):
        parse_metric("mine@1", own)


@pytest.mark.parametrize("name", ["Mine", "my metric", "mine@10", "", "9th", "mine_10"])
def test_a_name_that_no_suite_can_write_is_refused(name: str) -> None:
    with pytest.raises(MetricError, match="cannot name a metric"):
        make_own_metric(name, get_best_grade)


def test_a_wrong_direction_or_range_is_refused() -> None:
    with pytest.raises(MetricError, match="'higher' or 'lower'"):
        make_own_metric("mine", get_best_grade, better="up")  # type: ignore[arg-type]
    with pytest.raises(MetricError, match="must ascend"):
        make_own_metric("mine", get_best_grade, range=(1, 0))


def test_the_formula_is_the_docstring_or_the_given_text() -> None:
    own = make_own_metric("mine", get_best_grade)

    assert own.formula == "Return the best grade among the first k results."
    assert make_own_metric("mine", get_best_grade, doc="Best grade").formula == "Best grade"


@pytest.mark.parametrize(
    ("cutoff", "name", "depth"), [(True, "mine@25", 25), (False, "mine", None)]
)
def test_the_needed_depth(cutoff: bool, name: str, depth: int | None) -> None:
    metric = parse_metric(name, [make_own_metric("mine", get_best_grade, cutoff=cutoff)])

    assert metric.compute_depth(3) == depth
