"""Names of metrics: spellings, the canonical name, and messages for a wrong one."""

from __future__ import annotations

import pytest

from pytest_irquality.metrics import METRICS, MetricError, parse_metric

CANONICAL_NAMES = {
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
    "MAP@100": "map@100",
    "map_cut_100": "map@100",
    "AP(rel=2)@100": "map(rel=2)@100",
    "map(rel=0.5)@100": "map(rel=0.5)@100",
    "map(rel=2, by=min)@10": "map(by=min,rel=2)@10",
    "map(by=all)@10": "map@10",
    "RR@10": "mrr@10",
    "recip_rank": "mrr@7",
    "mean_reciprocal_rank@5": "mrr@5",
    "P_5": "precision@5",
    "R@100": "recall@100",
    "context_recall@5": "recall@5",
    "hit_rate@3": "success@3",
    "accuracy@3": "success@3",
    "Rprec": "rprec",
    "r-precision": "rprec",
    "relative_P_10": "r_cap@10",
    "rprec(rel=2)": "rprec(rel=2)",
    "complete_recall@4": "complete@4",
    "overlap": "overlap@7",
    "latency_p95": "latency_p95",
    "recall(tokens=2000)": "recall(tokens=2000)",
    "weighted ndcg@10": "weighted ndcg@10",
    "Weighted  AP(rel=2)@10": "weighted map(rel=2)@10",
    "BM25 Candidates weighted recall@10": "weighted BM25 candidates recall@10",
    "candidates recall": "candidates recall@7",
}

MESSAGES = {
    "ndgc@10": "Unknown metric 'ndgc@10'. Did you mean 'ndcg@10'?",
    "nDGC(gains=exp)@10": "Did you mean 'ndcg(gains=exp)@10'?",
    "weighted ndgc@10": "Did you mean 'weighted ndcg@10'?",
    "ndgc_cut_10": "Did you mean 'ndcg_cut@10'?",
    "ndcg5": "Did you mean 'ndcg@5'?",
    "precison": "Did you mean 'precision'?",
    "hit_rat@3": "Did you mean 'hit_rate@3'?",
    "rprex@10": "Did you mean 'rprec'?",
    "ndgc@ten": "Did you mean 'ndcg'?",
    "color": "Unknown metric 'color'. Known metrics: complete, dcg, judged,",
    "ndcg@": "the cutoff must be an integer from 1 to 1,000,000, not ''",
    "ndcg@0": "the cutoff must be an integer from 1 to 1,000,000, not '0'",
    "ndcg@-1": "not '-1'",
    "ndcg@10.5": "not '10.5'",
    "ndcg@١٠": "not '١٠'",
    "ndcg@1000001": "not '1000001'",
    "ndcg@10 mrr@10": "not '10 mrr@10'",
    "rprec@10": "'rprec@10': 'rprec' has no cutoff. Write 'rprec'.",
    "rprec_10": "'rprec' has no cutoff",
    "ndcg(gain=exp)@10": "'ndcg' has no parameter 'gain'. Did you mean 'gains'?",
    "ndcg(rel=2)@10": "'ndcg' has no parameter 'rel'. Its parameters: gains.",
    "judged(tokens=4)": "'judged' has no parameter 'tokens'. Its parameters: none.",
    "rank_of_first(words=40)": "'rank_of_first' has no parameter 'words'",
    "ndcg(exp)@10": "write a parameter as name=value, not 'exp'",
    "ndcg(gains=exq)@10": "'gains' must be one of 'lin', 'exp', not 'exq'",
    "map(rel=two)@10": "'rel' must be a number above 0, not 'two'",
    "map(rel=0)@10": "'rel' must be a number above 0, not '0'",
    "map(rel=inf)@10": "'rel' must be a number above 0, not 'inf'",
    "map(rel=nan)@10": "'rel' must be a number above 0, not 'nan'",
    "map(rel=1,rel=2)@10": "'rel' occurs twice",
    "recall(tokens=9)@5": "use either a cutoff or one budget",
    "recall(tokens=9,words=9)": "use either a cutoff or one budget",
    "recall(tokens=1.5)": "'tokens' must be an integer",
    "candidates recall(tokens=9)": "a stage cannot have a budget",
    "weighted zero_results": "'zero_results' cannot be weighted, because it is not a mean",
    "weighted weighted mrr": "'weighted' occurs twice",
    "candidates dense recall": "'candidates dense recall' is not a metric. Write, for example,",
    "dense recall": "'dense recall' is not a metric",
    "": "'' is not a metric",
    "n" * 1001: "The name of a metric has more than 1000 characters",
}


@pytest.mark.parametrize("text", CANONICAL_NAMES)
def test_a_name_is_parsed_and_printed(text: str) -> None:
    metric = parse_metric(text, top_k=7)

    assert str(metric) == CANONICAL_NAMES[text]
    assert parse_metric(str(metric), top_k=99) == metric


@pytest.mark.parametrize("name", METRICS)
def test_aliases_name_the_same_metric(name: str) -> None:
    for alias in METRICS[name].aliases:
        assert parse_metric(alias.upper()) == parse_metric(name)


@pytest.mark.parametrize("text", MESSAGES)
def test_a_wrong_name_is_explained(text: str) -> None:
    with pytest.raises(MetricError) as error:
        parse_metric(text)

    assert MESSAGES[text] in str(error.value)


@pytest.mark.parametrize(
    "text", ["answer_relevancy", "faithfulness", "f2", "mmr@10", "context_precision", "infAP"]
)
def test_a_metric_of_another_tool_is_not_confused_with_ours(text: str) -> None:
    with pytest.raises(MetricError) as error:
        parse_metric(text)

    assert "Did you mean" not in str(error.value)


def test_equal_metrics_are_one_key() -> None:
    metric = parse_metric("ndcg(gains=exp)@10")

    assert parse_metric("nDCG(gains='exp')@10") == metric
    assert len({metric, parse_metric("NDCG(gains=exp)@10"), parse_metric("ndcg@10")}) == 2
    assert parse_metric("weighted ndcg(gains=exp)@10") != metric


@pytest.mark.parametrize(
    ("name", "rates_relevance", "can_be_primary"),
    [
        ("ndcg@10", True, True),
        ("weighted ndcg@10", True, True),
        ("complete@10", True, True),
        ("rprec", True, True),
        ("dcg@10", True, False),
        ("recall(tokens=500)", True, False),
        ("rank_of_first@10", False, False),
        ("candidates recall@10", False, False),
        ("judged@10", False, False),
        ("overlap@10", False, False),
        ("zero_results", False, False),
        ("latency_p95", False, False),
    ],
)
def test_only_relevance_between_zero_and_one_can_be_primary(
    name: str, rates_relevance: bool, can_be_primary: bool
) -> None:
    metric = parse_metric(name)

    assert metric.rates_relevance == rates_relevance
    assert metric.can_be_primary == can_be_primary


def test_the_parts_of_a_metric() -> None:
    metric = parse_metric("weighted dense candidates map(rel=2)@3")

    assert (metric.definition.name, metric.cutoff, metric.relevant_from) == ("map", 3, 2)
    assert (metric.is_weighted, metric.stage) == (True, "dense")
    assert metric.formula_parameters == {"by": "all"}
    assert parse_metric("recall(words=300)").budget == ("words", 300)
    assert (
        parse_metric("zero_results").definition.aggregate,
        parse_metric("zero_results").unit,
    ) == ("sum", "count")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented(name: str) -> None:
    definition = METRICS[name]

    assert definition.title
    assert definition.formula
    assert definition.source
    assert definition.undefined
