"""trec_eval's own test collection and the tricky cases: the numbers that trec_eval itself printed."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from typing import Any

import pytest

from pytest_irquality.metrics import Judgments, MeasureError, evaluate, parse_measure

from .shared import shared, trec_order

WHOLE = 1_000_000  # a cutoff below every ranking, for measures that trec_eval takes without one
ONLY_TREC_EVAL_HAS = (
    *(
        "runid",
        "num_q",
        "num_rel",
        "num_rel_ret",
        "gm_map",
        "gm_bpref",
        "infAP",
        "utility",
        "binG",
        "G",
        "relstring",
    ),
    *("11pt_avg", "num_ret", "set_P", "set_recall", "set_F"),
    *("ndcg_rel", "Rndcg", "set_relative_P", "set_map", "num_nonrel_judged_ret", "rbp_resid"),
)


def ours(name: str) -> bool:
    """Whether we have the measure; `rbp` is another one there: graded, and with p = 0.9."""
    return (
        name not in ONLY_TREC_EVAL_HAS
        and name != "rbp"
        and not name.startswith(("Rprec_mult", "unj_", "iprec_at_recall"))
    )


def test_trec_eval_collection() -> None:
    qrels: dict[str, dict[str, float]] = defaultdict(dict)
    for line in shared("trec_eval/qrels.test").read_text().splitlines():
        query, _, document, grade = line.split()
        qrels[query][document] = int(grade)
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    with gzip.open(shared("trec_eval/results.test.gz"), "rt") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            scores[query][document] = float(score)
    run = {query: trec_order(found) for query, found in scores.items()}
    judgments = {query: Judgments(grades) for query, grades in qrels.items()}
    compared = set()
    for line in shared("trec_eval/out.test.aq").read_text().splitlines():
        name, query, expected = line.split()
        if not ours(name):
            continue
        measure = parse_measure(name, top_k=WHOLE)
        result = evaluate(judgments, run, [measure])
        value = result.aggregate(measure).value if query == "all" else result.value(query, measure)
        assert value is not None
        assert f"{value:.{len(expected.partition('.')[2])}f}" == expected, (name, query)
        compared.add(str(measure))
    assert len(compared) == 53


def cases() -> list[Any]:
    try:
        return [
            pytest.param(case, id=case["name"])
            for case in json.loads(shared("conformance.json").read_text())
            if any(map(ours, case["mean"]))
        ]
    except pytest.skip.Exception as reason:
        return [pytest.param(None, marks=pytest.mark.skip(reason=str(reason)))]


@pytest.mark.parametrize("case", cases())
def test_tricky_case(case: dict[str, Any]) -> None:
    """Where versions of trec_eval differ, 9.x is right, as pytrec_eval carries it."""
    version_9 = case.get("trec_eval_differs", {}).get("9.0.8", {})
    qrels = {query: Judgments(grades, case["level"]) for query, grades in case["qrels"].items()}
    run = {query: trec_order(case["run"].get(query, {})) for query in qrels}
    compared = 0
    for place, values in [*case["per_query"].items(), ("all", case["mean"])]:
        for name, expected in (values | version_9.get(place, {})).items():
            if not ours(name):
                continue
            measure = parse_measure(name, top_k=WHOLE)
            result = evaluate(qrels, run, [measure], undefined="zero")
            value = (
                result.aggregate(measure).value if place == "all" else result.value(place, measure)
            )
            assert value == pytest.approx(expected, abs=1e-12, rel=0), (name, place)
            compared += 1
    assert compared


@pytest.mark.parametrize("name", ["infAP", "gm_map", "utility", "binG"])
def test_a_measure_that_only_trec_eval_has_is_unknown(name: str) -> None:
    with pytest.raises(MeasureError, match="unknown measure"):
        parse_measure(name)
