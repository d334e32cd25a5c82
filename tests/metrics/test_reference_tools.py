"""Values of trec_eval, pytrec_eval and ir_measures."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given

from pytest_irquality.metrics import Judgments, aggregate_values, parse_metric, score_rankings

from .helpers import (
    EXAMPLE_COUNT,
    Case,
    batches,
    draw_batch,
    find_shared,
    make_scores,
    score_cases,
    seeds,
)

# A cutoff below every ranking, for metrics that have none in trec_eval.
WHOLE_RANKING = 1_000_000

CUTOFFS = (1, 3, 5, 10, 20)
CUTOFF_METRICS = {
    "P": "precision",
    "recall": "recall",
    "success": "success",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "relative_P": "r_cap",
}
TREC_EVAL_NAMES = {
    "Rprec": "rprec",
    "recip_rank": "mrr@1000",
    "map": "map@1000",
    "ndcg": "ndcg@1000",
}
for theirs, ours in CUTOFF_METRICS.items():
    for cutoff in CUTOFFS:
        TREC_EVAL_NAMES[f"{theirs}_{cutoff}"] = f"{ours}@{cutoff}"


def draw_answerable_batch(seed: int) -> list[Case]:
    """Draw cases that every tool can score.

    trec_eval leaves out queries without results or judgments, and pytrec_eval crashes if all grades
    are negative.
    """
    cases = draw_batch(seed)
    return [case for case in cases if case.ranking and max(case.grades.values(), default=-1) >= 0]


def number_cases(cases: Iterable[Case]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the qrels and the run of cases, by query id."""
    qrels, run = {}, {}
    for index, case in enumerate(cases):
        qrels[str(index)] = case.grades
        run[str(index)] = make_scores(case.ranking)
    return qrels, run


def is_close(value: float | None, other: float) -> bool:
    return value is not None and abs(value - other) < 1e-12


def test_there_are_two_thousand_cases() -> None:
    assert sum(len(draw_answerable_batch(seed)) for seed in range(EXAMPLE_COUNT)) >= 2000


@pytest.mark.parametrize("relevant_from", [1, 2])
@batches
@given(seeds)
def test_pytrec_eval_has_the_same_values(relevant_from: int, seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is missing")
    cases = draw_answerable_batch(seed)
    qrels, run = number_cases(cases)
    metrics = {theirs: parse_metric(ours) for theirs, ours in TREC_EVAL_NAMES.items()}
    names = {name.replace("_cut_", "_cut.") for name in metrics}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=relevant_from)

    expected = evaluator.evaluate(run)
    values = score_cases(cases, metrics.values(), relevant_from=relevant_from, undefined="zero")

    for index, case in enumerate(cases):
        for name, metric in metrics.items():
            assert is_close(values[index][metric], expected[str(index)][name]), (name, case)


@batches
@given(seeds)
def test_exponential_gains_are_linear_gains_of_exponential_grades(seed: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is missing")
    cases = draw_answerable_batch(seed)
    qrels, run = number_cases(cases)
    for grades in qrels.values():
        grades.update({doc_id: 2 ** max(grade, 0) - 1 for doc_id, grade in grades.items()})
    metrics = {f"ndcg_cut_{k}": parse_metric(f"ndcg(gains=exp)@{k}") for k in CUTOFFS}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{k}" for k in CUTOFFS})
    original = draw_answerable_batch(seed)

    expected = evaluator.evaluate(run)
    values = score_cases(original, metrics.values(), undefined="zero")

    for index, case in enumerate(original):
        for name, metric in metrics.items():
            assert is_close(values[index][metric], expected[str(index)][name]), (name, case)


def make_ir_measures(ir: Any) -> list[Any]:
    """Make metrics as objects, because the parser of ir_measures fails on Python 3.14."""
    return [
        *(ir.RR @ 1, ir.RR @ 3, ir.RR @ 10, ir.RR(rel=2) @ 5, ir.nDCG @ 5),
        *(ir.Success @ 3, ir.Success(rel=2) @ 3, ir.AP @ 5, ir.AP(rel=2) @ 10, ir.AP(rel=3) @ 5),
        *(ir.P(rel=2) @ 5, ir.R @ 5, ir.R(rel=2) @ 10),
        *(ir.Rprec, ir.Rprec(rel=2)),
    ]


@batches
@given(seeds)
def test_ir_measures_has_the_same_values_and_names(seed: int) -> None:
    ir = pytest.importorskip("ir_measures", reason="ir_measures is missing")
    cases = draw_answerable_batch(seed)
    qrels, run = number_cases(cases)
    metrics = {theirs: parse_metric(str(theirs)) for theirs in make_ir_measures(ir)}

    values = score_cases(cases, metrics.values(), undefined="zero")

    compared_count = 0
    for result in ir.iter_calc(list(metrics), qrels, run):
        index = int(result.query_id)
        metric = metrics[result.measure]
        assert is_close(values[index][metric], result.value), (str(metric), cases[index])
        compared_count += 1
    # Its RR leaves out queries without relevant documents.
    assert compared_count >= len(cases) * (len(metrics) - 4)


@batches
@given(seeds)
def test_judged_equals_that_of_ir_measures_without_negative_grades(seed: int) -> None:
    ir = pytest.importorskip("ir_measures", reason="ir_measures is missing")
    cases = []
    for case in draw_answerable_batch(seed):
        grades = {doc_id: grade for doc_id, grade in case.grades.items() if grade >= 0}
        cases.append(Case(grades, case.ranking))
    qrels, run = number_cases(cases)
    metrics = {ir.Judged @ k: parse_metric(f"judged@{k}") for k in (1, 5, 20)}

    values = score_cases(cases, metrics.values())

    for result in ir.iter_calc(list(metrics), qrels, run):
        index = int(result.query_id)
        assert is_close(values[index][metrics[result.measure]], result.value), cases[index]


def test_exponential_gains_equal_those_of_gdeval() -> None:
    """gdeval is a Perl script of the TREC Web Track that prints five digits."""
    ir = pytest.importorskip("ir_measures", reason="ir_measures, which contains gdeval, is missing")
    if not shutil.which("perl"):
        pytest.skip("perl, which runs gdeval, is missing")
    draw = random.Random(7)
    doc_ids = [f"d{number}" for number in range(10)]
    cases = []
    for _ in range(2000):
        judged = doc_ids[: draw.randint(1, 9)]
        grades = {doc_id: draw.choice((0, 0, 1, 2, 3, 4)) for doc_id in judged}
        cases.append(Case({**grades, "missing": 1}, draw.sample(doc_ids, 10)))
    qrels, run = number_cases(cases)
    metrics = {ir.nDCG(dcg="exp-log2") @ 5: parse_metric("ndcg(gains=exp)@5")}

    values = score_cases(cases, metrics.values())

    results = list(ir.gdeval.iter_calc(list(metrics), qrels, run))
    assert len(results) == len(cases) * len(metrics)
    for result in results:
        value = values[int(result.query_id)][metrics[result.measure]]
        assert value == pytest.approx(result.value, abs=5.1e-6)


# Numbers that trec_eval itself printed

ONLY_IN_TREC_EVAL = (
    *("runid", "num_q", "num_rel", "num_rel_ret", "num_ret", "gm_map", "gm_bpref", "infAP"),
    *("utility", "binG", "G", "relstring", "11pt_avg", "set_P", "set_recall", "set_F"),
    *(
        "bpref",
        "ndcg_rel",
        "Rndcg",
        "set_relative_P",
        "set_map",
        "num_nonrel_judged_ret",
        "rbp_resid",
    ),
)


def has_metric(name: str) -> bool:
    """Return whether we have a metric of trec_eval."""
    if name in ONLY_IN_TREC_EVAL or name == "rbp":
        return False
    return not name.startswith(("Rprec_mult", "unj_", "iprec_at_recall"))


def sort_like_trec_eval(scores: Mapping[str, float]) -> list[str]:
    def make_key(doc_id: str) -> tuple[float, str]:
        (score,) = struct.unpack("f", struct.pack("f", scores[doc_id]))
        return score, doc_id

    return sorted(scores, key=make_key, reverse=True)


def score_trec_metric(
    name: str, judgments: Sequence[Judgments], rankings: Sequence[Sequence[str]], **options: Any
) -> tuple[list[float | None], float | None]:
    """Return the values of a metric of trec_eval and their mean."""
    metric = parse_metric(name, top_k=WHOLE_RANKING)
    values = score_rankings([metric], judgments, rankings, **options)[0]
    return values, aggregate_values(metric, values)


def test_the_collection_of_trec_eval() -> None:
    qrels: dict[str, dict[str, float]] = defaultdict(dict)
    for line in find_shared("trec_eval/qrels.test").read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        qrels[query_id][doc_id] = int(grade)
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    with gzip.open(find_shared("trec_eval/results.test.gz"), "rt") as lines:
        for line in lines:
            query_id, _, doc_id, _, score, _ = line.split()
            scores[query_id][doc_id] = float(score)
    query_ids = list(scores)
    rankings = [sort_like_trec_eval(scores[query_id]) for query_id in query_ids]
    judgments = [Judgments(qrels[query_id]) for query_id in query_ids]
    results: dict[str, Any] = {}

    for line in find_shared("trec_eval/out.test.aq").read_text().splitlines():
        name, query_id, expected = line.split()
        if not has_metric(name):
            continue
        if name not in results:
            results[name] = score_trec_metric(name, judgments, rankings)
        values, mean = results[name]
        value = mean if query_id == "all" else values[query_ids.index(query_id)]
        digits = len(expected.partition(".")[2])
        assert f"{value:.{digits}f}" == expected, (name, query_id)

    assert len(results) == 52


def test_tricky_cases_of_trec_eval() -> None:
    """Where its versions differ, 9.0.8 is right, which is also the version in pytrec_eval."""
    compared_count = 0
    for case in json.loads(find_shared("conformance.json").read_text()):
        corrections = case.get("trec_eval_differs", {}).get("9.0.8", {})
        query_ids = list(case["qrels"])
        judgments = [Judgments(case["qrels"][query_id], case["level"]) for query_id in query_ids]
        rankings = [sort_like_trec_eval(case["run"].get(query_id, {})) for query_id in query_ids]
        for query_id, printed in [*case["per_query"].items(), ("all", case["mean"])]:
            for name, expected in (printed | corrections.get(query_id, {})).items():
                if not has_metric(name):
                    continue
                values, mean = score_trec_metric(name, judgments, rankings, undefined="zero")
                value = mean if query_id == "all" else values[query_ids.index(query_id)]
                assert value == pytest.approx(expected, abs=1e-12, rel=0), (case["name"], name)
                compared_count += 1
    assert compared_count
