"""How measures are named: spellings read, the one name printed, and what is said of a wrong one."""

from __future__ import annotations

import re

import pytest

from pytest_irquality.metrics import Measure, MeasureError, parse_measure
from pytest_irquality.metrics.catalogue import DEFINITIONS

READ = {
    "ndcg@10": "ndcg@10",
    "nDCG@10": "ndcg@10",
    "NDCG @ 10": "ndcg@10",
    " ndcg ( gains = exp ) @ 5 ": "ndcg(gains=exp)@5",
    "nDCG(gains='exp')@5": "ndcg(gains=exp)@5",
    "ndcg(gains=lin)@5": "ndcg@5",
    "ndcg()@5": "ndcg@5",
    "ndcg": "ndcg@7",
    "ndcg_cut_10": "ndcg@10",
    "ndcg_cut.10": "ndcg@10",
    "dcg@3": "dcg@3",
    "AP@100": "map@100",
    "MAP@100": "map@100",
    "map_cut_100": "map@100",
    "AP(rel=2)@100": "map(rel=2)@100",
    "map(rel=0.5)@100": "map(rel=0.5)@100",
    "map(rel=2, by=min)@10": "map(by=min,rel=2)@10",
    "map(by=all)@10": "map@10",
    "RR@10": "mrr@10",
    "MRR@10": "mrr@10",
    "RR": "mrr@7",
    "recip_rank": "mrr@7",
    "P@5": "precision@5",
    "p@5": "precision@5",
    "P_5": "precision@5",
    "precision@5": "precision@5",
    "R@100": "recall@100",
    "recall_100": "recall@100",
    "f1@10": "f1@10",
    "f1": "f1@7",
    "F1(rel=2)@10": "f1(rel=2)@10",
    "success@3": "success@3",
    "success_3": "success@3",
    "hit_rate@3": "success@3",
    "hit@3": "success@3",
    "hits@3": "success@3",
    "Rprec": "rprec",
    "r-precision": "rprec",
    "R_cap@100": "r_cap@100",
    "relative_P_10": "r_cap@10",
    "ERR@20": "err@20",
    "err(max=3)@20": "err(max=3)@20",
    "err(max=4)@20": "err@20",
    "RBP(p=0.8)": "rbp(p=0.8)@7",
    "RBP(rel=1,p=0.95)@100": "rbp(p=0.95,rel=1)@100",
    "rbp@10": "rbp(p=0.8)@10",
    "Bpref": "bpref",
    "bpref(rel=2)": "bpref(rel=2)",
    "Judged@10": "judged@10",
    "rank_of_first@10": "rank_of_first@10",
    "zero_results": "zero_results",
    "latency_p95": "latency_p95",
    "rbo@10": "rbo(p=0.9)@10",
    "weighted ndcg@10": "weighted ndcg@10",
    "Weighted  AP(rel=2)@10": "weighted map(rel=2)@10",
    "BM25 Candidates weighted recall@10": "weighted BM25 candidates recall@10",
    "candidates recall": "candidates recall@7",
}


@pytest.mark.parametrize("text", READ)
def test_read_and_printed(text: str) -> None:
    measure = parse_measure(text, top_k=7)
    assert str(measure) == READ[text]
    assert parse_measure(str(measure), top_k=99) == measure


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_family_is_read_by_its_name_and_aliases(name: str) -> None:
    for alias in (name, *DEFINITIONS[name].aliases):
        assert parse_measure(alias.upper()).definition is DEFINITIONS[name]


WRONG = {
    "ndgc@10": "unknown measure 'ndgc@10'; did you mean 'ndcg'?",
    "nDGC(gains=exp)@10": "unknown measure 'nDGC(gains=exp)@10'; did you mean 'ndcg'?",
    "weighted ndgc@10": "unknown measure 'weighted ndgc@10'; did you mean 'ndcg'?",
    "ndgc_cut_10": "unknown measure 'ndgc_cut_10'; did you mean 'ndcg_cut'?",
    "P_10_5": "unknown measure 'P_10_5'",
    "ndcg5": "unknown measure 'ndcg5'; did you mean 'ndcg'?",
    "ndgc-10": "unknown measure 'ndgc-10'",
    "precison": "unknown measure 'precison'; did you mean 'precision'?",
    "colour": "unknown measure 'colour'",
    "ndcg@": "'ndcg@': a cutoff is a whole number of 1 or more, not ''",
    "ndcg@0": "'ndcg@0': a cutoff is a whole number of 1 or more, not '0'",
    "ndcg@-1": "'ndcg@-1': a cutoff is a whole number of 1 or more, not '-1'",
    "ndcg@ten": "'ndcg@ten': a cutoff is a whole number of 1 or more, not 'ten'",
    "ndcg@10.5": "'ndcg@10.5': a cutoff is a whole number of 1 or more, not '10.5'",
    "ndcg@١٠": "'ndcg@١٠': a cutoff is a whole number of 1 or more, not '١٠'",
    "rprec@10": "'rprec@10': rprec takes no cutoff; write 'rprec'",
    "bpref_10": "'bpref_10': bpref takes no cutoff; write 'bpref'",
    "ndcg(gain=exp)@10": "'ndcg(gain=exp)@10': ndcg has no parameter 'gain'; did you mean 'gains'?",
    "ndcg(rel=2)@10": "'ndcg(rel=2)@10': ndcg has no parameter 'rel' (it has: gains)",
    "ndcg(exp)@10": "'ndcg(exp)@10': a parameter is written name=value, not 'exp'",
    "ndcg(gains=exq)@10": "'ndcg(gains=exq)@10': gains cannot be 'exq'; did you mean 'exp'?",
    "map(by=k)@10": "'map(by=k)@10': by cannot be 'k' (one of: all, min, found)",
    "map(rel=two)@10": "'map(rel=two)@10': rel is a number, not 'two'",
    "map(rel=0)@10": "'map(rel=0)@10': rel is a number above 0, not 0",
    "map(rel=inf)@10": "'map(rel=inf)@10': rel is a number above 0, not inf",
    "map(rel=nan)@10": "'map(rel=nan)@10': rel is a number above 0, not nan",
    "map(rel=1,rel=2)@10": "'map(rel=1,rel=2)@10': rel is written twice",
    "judged(tokens=4)": "'judged(tokens=4)': judged has no parameter 'tokens' (it has: none)",
    "rank_of_first(words=40)": "'rank_of_first(words=40)': rank_of_first has no parameter 'words' (it has: rel)",
    "rprec(words=9)": "'rprec(words=9)': rprec has no parameter 'words' (it has: rel)",
    "rbp(p=1)@10": "'rbp(p=1)@10': p is a number above 0 and below 1, not 1",
    "judged(rel=1)@10": "'judged(rel=1)@10': judged has no parameter 'rel' (it has: none)",
    "weighted zero_results": "'weighted zero_results': only means can be weighted, and zero_results is none",
    "weighted latency_p95": "'weighted latency_p95': only means can be weighted, and latency_p95 is none",
    "candidates dense recall": "cannot read the measure 'candidates dense recall': write it like 'ndcg@10' or 'map(rel=2)@100'",
    "dense recall": "cannot read the measure 'dense recall': write it like 'ndcg@10' or 'map(rel=2)@100'",
    "": "cannot read the measure '': write it like 'ndcg@10' or 'map(rel=2)@100'",
    "ndcg@10 mrr@10": "'ndcg@10 mrr@10': a cutoff is a whole number of 1 or more, not '10 mrr@10'",
    "weighted weighted mrr": "'weighted weighted mrr': weighted is written twice",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_said_of_a_wrong_one(text: str) -> None:
    with pytest.raises(MeasureError, match=f"^{re.escape(WRONG[text])}$"):
        parse_measure(text)


ALIASES = {
    "context_recall@5": "recall@5",
    "accuracy@3": "success@3",
    "mean_reciprocal_rank@5": "mrr@5",
}


@pytest.mark.parametrize("text", ALIASES)
def test_names_of_other_tools(text: str) -> None:
    assert str(parse_measure(text, top_k=7)) == ALIASES[text]


@pytest.mark.parametrize(
    "text",
    ["answer_relevancy", "faithfulness", "f2", "mmr@10", "context_precision", "context_x"],
)
def test_no_suggestion_leads_to_another_measure(text: str) -> None:
    with pytest.raises(MeasureError) as error:
        parse_measure(text)
    assert "did you mean" not in str(error.value)


def test_a_measure_is_a_key() -> None:
    one, other = parse_measure("nDCG(gains='exp')@10"), parse_measure("ndcg(gains=exp)@10")
    assert one == other
    assert len({one, other, parse_measure("ndcg@10")}) == 2
    assert one != parse_measure("weighted ndcg(gains=exp)@10")


@pytest.mark.parametrize(
    ("name", "better", "aggregate", "unit", "needs_relevant"),
    [
        ("ndcg@10", True, "mean", "", True),
        ("rank_of_first@10", False, "mean", "", True),
        ("zero_results", False, "sum", "count", False),
        ("judged@10", True, "mean", "", False),
    ],
)
def test_what_a_measure_says_of_itself(
    name: str, better: bool, aggregate: str, unit: str, needs_relevant: bool
) -> None:
    measure: Measure = parse_measure(name)
    assert measure.higher_is_better is better
    assert (measure.aggregate, measure.unit, measure.needs_relevant) == (
        aggregate,
        unit,
        needs_relevant,
    )


def test_cutoff_and_weight_are_fields() -> None:
    assert (parse_measure("weighted mrr@3").k, parse_measure("weighted mrr@3").weighted) == (
        3,
        True,
    )
    assert (parse_measure("rprec").k, parse_measure("rprec").weighted) == (None, False)
