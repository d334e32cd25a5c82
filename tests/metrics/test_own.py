"""A user's own measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from docs.tools.measures import page
from pytest_irquality.metrics import Judgments, MeasureError, evaluate, own_measure, parse_measure
from pytest_irquality.metrics.catalogue import DEFINITIONS, with_own


def best_grade(ranking: Sequence[str], grades: Mapping[str, float], k: int) -> float:
    """The best grade among the first k results."""
    return max((grades.get(document, 0) for document in ranking), default=0)


def value_of(function: Any, name: str = "mine@2", **options: Any) -> float | None:
    definitions = with_own([own_measure("mine", function, **options)])
    measure = parse_measure(name, definitions=definitions)
    qrels = {"q7": Judgments({"a": 1, "b": 3, "c": -1})}
    return evaluate(qrels, {"q7": ["a", "a", "b", "c"]}, [measure]).value("q7", measure)


def test_in_a_suite_like_any_other() -> None:
    best = own_measure("best_grade", best_grade, range=(0, 3))
    definitions = {**DEFINITIONS, best.name: best}
    measures = [
        parse_measure(name, 5, definitions)
        for name in ("Best_Grade@1", "best_grade", "weighted best_grade@2")
    ]
    assert [str(measure) for measure in measures] == [
        "best_grade@1",
        "best_grade@5",
        "weighted best_grade@2",
    ]
    qrels = {"q1": Judgments({"a": 1, "b": 3}), "q2": Judgments({"a": 0})}
    scores = evaluate(qrels, {"q1": ["a", "b"], "q2": ["a"]}, measures)
    assert scores.values == {"q1": (1, 3, 3), "q2": (None, None, None)}
    assert measures[0].range == (0, 3)
    assert measures[0].higher_is_better is True


def test_the_function_sees_the_first_k_without_copies_and_grades_as_written() -> None:
    seen: list[Any] = []
    value_of(lambda ranking, grades, k: seen.append((list(ranking), dict(grades), k)))
    assert seen == [(["a", "b"], {"a": 1, "b": 3, "c": -1}, 2)]


def test_without_a_cutoff_it_sees_everything() -> None:
    seen: list[Any] = []
    value_of(lambda ranking, grades, k: seen.append((list(ranking), k)), name="mine", cutoff=False)
    assert seen == [(["a", "b", "c"], 3)]
    with pytest.raises(MeasureError, match="mine takes no cutoff"):
        value_of(best_grade, name="mine@3", cutoff=False)


def test_direction_and_need_of_judgments() -> None:
    slower = own_measure(
        "price", lambda ranking, grades, k: 0.5, better="lower", needs_relevant=False
    )
    measure = parse_measure("price@3", definitions=with_own([slower]))
    assert measure.higher_is_better is False
    assert evaluate({}, {"q": []}, [measure]).values == {"q": (0.5,)}


def test_it_may_be_undefined() -> None:
    assert value_of(lambda ranking, grades, k: None) is None


def test_a_truth_value_is_a_number_and_the_last_bit_is_forgiven() -> None:
    assert value_of(lambda ranking, grades, k: "b" in ranking) == 1
    assert value_of(lambda ranking, grades, k: 1 + 1e-12) == 1


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (1.5, "returned 1.5, which is outside 0 to 1"),
        (-0.1, "returned -0.1, which is outside 0 to 1"),
        (float("nan"), "returned nan, which is outside 0 to 1"),
        ("0.5", "returned '0.5', which is no number"),
        ([0.5], r"returned \[0.5\], which is no number"),
    ],
)
def test_a_wrong_value_names_measure_and_query(returned: Any, said: str) -> None:
    with pytest.raises(MeasureError, match=f"mine@2, query 'q7': the function {said}"):
        value_of(lambda ranking, grades, k: returned)


def test_nan_is_no_value_even_without_bounds() -> None:
    with pytest.raises(MeasureError, match="which is outside -inf to inf"):
        value_of(lambda ranking, grades, k: float("nan"), range=(float("-inf"), float("inf")))


def test_a_function_that_raises_is_named_and_kept_as_cause() -> None:
    with pytest.raises(
        MeasureError, match="mine@2, query 'q7': the function raised ZeroDivisionError"
    ) as caught:
        value_of(lambda ranking, grades, k: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("name", ["ndcg", "p", "recip_rank", "latency_p95"])
def test_a_known_name_is_taken(name: str) -> None:
    with pytest.raises(MeasureError, match=f"the measure name '{name}' is taken"):
        own_measure(name, best_grade)


def test_two_of_one_name() -> None:
    with pytest.raises(MeasureError, match="the measure name 'mine' is taken"):
        with_own([own_measure("mine", best_grade), own_measure("mine", best_grade)])


@pytest.mark.parametrize("name", ["Mine", "my measure", "mine@10", "", "9th", "mine_10"])
def test_a_name_that_no_suite_could_write(name: str) -> None:
    with pytest.raises(MeasureError, match="cannot name a measure"):
        own_measure(name, best_grade)


def test_wrong_direction_or_range() -> None:
    with pytest.raises(MeasureError, match="'higher' or 'lower'"):
        own_measure("mine", best_grade, better="up")
    with pytest.raises(MeasureError, match="must run upwards"):
        own_measure("mine", best_grade, range=(1, 0))


def test_the_page_describes_it_by_its_docstring_or_doc() -> None:
    assert "> The best grade among the first k results." in page(
        {"mine": own_measure("mine", best_grade)}
    )
    assert "> Told otherwise." in page(
        {"mine": own_measure("mine", best_grade, doc="Told otherwise.")}
    )


@pytest.mark.parametrize(
    ("cutoff", "name", "depth"), [(True, "mine@25", 25), (False, "mine", None)]
)
def test_it_reads_as_far_down_as_its_cutoff(cutoff: bool, name: str, depth: int | None) -> None:
    """So far down a suite asks, and a baseline must hold."""
    definitions = with_own([own_measure("mine", best_grade, range=(0, 3), cutoff=cutoff)])
    assert parse_measure(name, definitions=definitions).depth(3) == depth
