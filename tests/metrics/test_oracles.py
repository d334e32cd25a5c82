"""Thousands of random cases, beside the tools that the field trusts.

Each example is a batch of queries, scored by us and in one call by the other tool.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given

from pytest_irquality.metrics import Judgments, Measure, evaluate, parse_measure

from .cases import EXAMPLES, Case, answerable, batch, scored, seeds, thousands

pytrec_eval = pytest.importorskip(
    "pytrec_eval", reason="pytrec_eval-terrier, the oracle, is not installed"
)
CUTOFFS = (1, 3, 5, 10, 20)
AT_CUTOFFS = {
    "P": "precision",
    "recall": "recall",
    "success": "success",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "relative_P": "r_cap",
}
WHOLE = {
    "Rprec": "rprec",
    "bpref": "bpref",
    "recip_rank": "mrr@1000",
    "map": "map@1000",
    "ndcg": "ndcg@1000",
}
TREC_EVAL = {
    f"{theirs}_{k}": f"{our}@{k}" for theirs, our in AT_CUTOFFS.items() for k in CUTOFFS
} | WHOLE


def test_there_are_two_thousand_cases_a_measure() -> None:
    assert sum(len(answerable(seed)) for seed in range(EXAMPLES)) >= 2000


def our_values(
    batch: Mapping[str, Case], measures: Iterable[Measure], relevant_from: float = 1
) -> dict[str, dict[Measure, float | None]]:
    """Every query and measure, as trec_eval would have it."""
    qrels = {query: Judgments(case.grades, relevant_from) for query, case in batch.items()}
    run = {query: case.ranking for query, case in batch.items()}
    scores = evaluate(qrels, run, [*measures], undefined="zero")
    return {
        query: dict(zip(scores.measures, row, strict=True)) for query, row in scores.values.items()
    }


def near(one: float | None, other: float) -> bool:
    return one is not None and abs(one - other) < 1e-12


def trec_eval_says(
    batch: Mapping[str, Case],
    grades: Mapping[str, dict[str, int]],
    names: Iterable[str],
    level: int,
) -> Any:
    evaluator = pytrec_eval.RelevanceEvaluator(grades, set(names), relevance_level=level)
    return evaluator.evaluate({query: scored(case.ranking) for query, case in batch.items()})


def exponential(grades: Mapping[str, int]) -> dict[str, int]:
    """Grades that give trec_eval, which takes a grade for a gain, the gain 2^grade - 1."""
    return {document: 2 ** max(grade, 0) - 1 for document, grade in grades.items()}


@pytest.mark.parametrize("level", [1, 2])
@thousands
@given(seeds)
def test_pytrec_eval_agrees(level: int, seed: int) -> None:
    batch = answerable(seed)
    names = {name.replace("_cut_", "_cut.") for name in TREC_EVAL}
    linear = trec_eval_says(
        batch, {query: case.grades for query, case in batch.items()}, names, level
    )
    powers = {query: exponential(case.grades) for query, case in batch.items()}
    exponentials = trec_eval_says(batch, powers, {f"ndcg_cut.{k}" for k in CUTOFFS}, level)
    linear_measures = {theirs: parse_measure(ours) for theirs, ours in TREC_EVAL.items()}
    exponential_measures = {f"ndcg_cut_{k}": parse_measure(f"ndcg(gains=exp)@{k}") for k in CUTOFFS}
    ours = our_values(batch, [*linear_measures.values(), *exponential_measures.values()], level)
    for query, case in batch.items():
        for name, measure in linear_measures.items():
            assert near(ours[query][measure], linear[query][name]), (str(measure), case)
        for name, measure in exponential_measures.items():
            assert near(ours[query][measure], exponentials[query][name]), (str(measure), case)


def of_ir_measures(ir: Any) -> list[Any]:
    """Measures made as objects: its parser needs `ast.Num`, which Python 3.12 deprecates and 3.14 no longer has."""
    return [
        *(
            ir.RR @ 1,
            ir.RR @ 3,
            ir.RR @ 10,
            ir.RR(rel=2) @ 5,
            ir.Judged @ 1,
            ir.Judged @ 5,
            ir.Judged @ 20,
        ),
        *(
            ir.nDCG @ 5,
            ir.Success @ 3,
            ir.Success(rel=2) @ 3,
            ir.AP @ 5,
            ir.AP(rel=2) @ 10,
            ir.AP(rel=3) @ 5,
        ),
        *(
            ir.P(rel=2) @ 5,
            ir.R @ 5,
            ir.R(rel=2) @ 10,
            ir.Rprec,
        ),
        *(
            ir.Rprec(rel=2),
            ir.Bpref,
            ir.Bpref(rel=2),
        ),
    ]


@thousands
@given(seeds)
def test_ir_measures_agrees_and_so_do_its_names(seed: int) -> None:
    batch = answerable(seed)
    ir_measures = pytest.importorskip(
        "ir_measures", reason="ir_measures, the oracle, is not installed"
    )
    qrels = {query: case.grades for query, case in batch.items()}
    run = {query: scored(case.ranking) for query, case in batch.items()}
    pairs = {theirs: parse_measure(str(theirs)) for theirs in of_ir_measures(ir_measures)}
    ours = our_values(batch, pairs.values())
    compared = 0
    for metric in ir_measures.iter_calc([*pairs], qrels, run):
        measure = pairs[metric.measure]
        assert near(ours[metric.query_id][measure], metric.value), (
            str(measure),
            batch[metric.query_id],
        )
        compared += 1
    assert compared >= len(batch) * (
        len(pairs) - 3
    )  # its RR says nothing of queries without a relevant document


@thousands
@given(seeds)
def test_rank_biased_overlap_is_that_of_ir_measures_compatibility(seed: int) -> None:
    compat: Any = pytest.importorskip(
        "ir_measures.providers.compat_provider", reason="ir_measures is not installed"
    )
    cases = batch(seed)
    now = {query: case.ranking for query, case in cases.items()}
    before = {query: [*case.grades] for query, case in cases.items()}
    for p, k in product((0.5, 0.9), (1, 3, 20)):
        measure = parse_measure(f"rbo(p={p})@{k}")
        scores = evaluate({}, now, [measure], before=before)
        for query in cases:
            one, other = now[query][:k], before[query][:k]
            depth = max(len(one), len(other))
            theirs = compat.rbo(one, other, p, depth) if depth else 1
            assert near(scores.value(query, measure), theirs), (one, other)


def test_expected_reciprocal_rank_is_that_of_gdeval() -> None:
    """A Perl script of the TREC Web track, which prints five digits; one call for 2,000 cases."""
    ir_measures = pytest.importorskip(
        "ir_measures", reason="ir_measures, which carries gdeval, is not installed"
    )
    if not shutil.which("perl"):
        pytest.skip("perl, which runs gdeval, is not installed")
    draw = random.Random(7)
    batch = {}
    for number in range(1, 2001):
        documents = [f"d{place}" for place in range(10)]
        grades = {d: draw.choice((0, 0, 1, 2, 3, 4)) for d in documents[: draw.randint(1, 9)]} | {
            "never": 1
        }
        batch[str(number)] = Case(grades, draw.sample(documents, 10))
    ir = ir_measures
    pairs = {
        ir.ERR @ 5: parse_measure("err@5"),
        ir.ERR @ 20: parse_measure("err@20"),
        ir.nDCG(dcg="exp-log2") @ 5: parse_measure("ndcg(gains=exp)@5"),
    }
    ours = our_values(batch, pairs.values())
    qrels = {query: case.grades for query, case in batch.items()}
    run = {query: scored(case.ranking) for query, case in batch.items()}
    compared = 0
    for metric in ir_measures.gdeval.iter_calc([*pairs], qrels, run):
        assert ours[metric.query_id][pairs[metric.measure]] == pytest.approx(
            metric.value, abs=5.1e-6
        )
        compared += 1
    assert compared == len(batch) * len(pairs)
