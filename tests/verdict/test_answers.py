"""Several answers to each query: what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_irquality.metrics import Judgments, parse_measure
from pytest_irquality.retrieval import Ranking, Run
from pytest_irquality.suite import Query, Suite
from pytest_irquality.verdict import judge

MEASURES = tuple(map(parse_measure, ("mrr@10", "zero_results", "latency_p95", "stability@2")))
SUITE = Suite(
    "s",
    "s.ir.yaml",
    (Query("q1", "chair", Judgments({"good": 1})), Query("q2", "hose", Judgments({"good": 1}))),
    metrics=MEASURES,
)


def side(*answers: Mapping[str, Sequence[str]], builds: Sequence[int] = ()) -> Run:
    runs = [
        Run(
            "",
            {id: Ranking((*ids,), seconds=0.1 * number) for id, ids in answer.items()},
            build=builds[number - 1] if builds else 0,
        )
        for number, answer in enumerate(answers, 1)
    ]
    return replace(runs[0], again=tuple(runs[1:]))


def values(run: Run, before: Run | None = None) -> dict[str, float | None]:
    result = judge(SUITE, run, before=before)
    return {mean.measure: mean.value for mean in result.means if mean.tag is None}


def test_a_value_is_the_mean_over_the_answers() -> None:
    run = side({"q1": ["good"], "q2": []}, {"q1": ["x", "good"], "q2": []}, {"q1": [], "q2": []})
    assert values(run) == {
        "mrr@10": pytest.approx((1 + 0.5 + 0) / 3 / 2),
        "zero_results": 1.0,  # q1 is empty in one answer of three, q2 in all
        "latency_p95": pytest.approx(0.3),  # over all six calls
        "stability@2": pytest.approx((1 / 6 + 1) / 2),
    }


def test_both_sides_may_have_several() -> None:
    now = side({"q1": ["good"], "q2": ["x"]}, {"q1": ["x", "good"], "q2": ["x"]})
    before = side({"q1": ["good"], "q2": ["good"]}, {"q1": ["good"], "q2": ["x", "good"]})
    result = judge(SUITE, now, before=before)
    change = result.means[0].change
    assert change is not None
    assert change.before == pytest.approx(0.875)
    assert change.now == pytest.approx(0.375)
    assert (change.worse, change.better) == (2, 0)
    assert change.queries == 2


def test_the_baseline_may_know_more_queries() -> None:
    before = side({"q1": ["good"], "q2": ["good"]}, {"q1": ["good"], "q2": ["good"]})
    change = judge(SUITE, side({"q1": ["good"]}), before=before).means[0].change
    assert change is not None
    assert (change.before, change.now, change.queries) == (1.0, 1.0, 1)
