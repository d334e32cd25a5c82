"""Measures that count relevant documents above a cutoff: precision, recall and their kin."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from pytest_irquality.metrics.definition import REL, Compute, Definition


def precision(k: int) -> Compute:
    """Relevant results among the first k, of k."""
    return lambda hits: [bisect_right(ranks, k) / k for ranks in hits.relevant]


def recall(k: int) -> Compute:
    """Relevant results among the first k, of all relevant documents."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        return bisect_right(ranks, k) / wanted if ranks else 0.0

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


def f1(k: int) -> Compute:
    """The harmonic mean of precision@k and recall@k."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        return 2 * bisect_right(ranks, k) / (wanted + k)

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


def success(k: int) -> Compute:
    """1 if any of the first k results is relevant, else 0."""
    return lambda hits: [1.0 if ranks and ranks[0] <= k else 0.0 for ranks in hits.relevant]


def capped_recall(k: int) -> Compute:
    """Relevant results among the first k, of the most that k results could hold."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        return bisect_right(ranks, k) / min(k, wanted) if ranks else 0.0

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


def r_precision() -> Compute:
    """Precision at the cutoff R, where it equals recall."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        return bisect_right(ranks, wanted) / wanted if wanted else 0.0

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


DEFINITIONS = (
    Definition(
        name="precision",
        aliases=("p", "prec"),
        title="Precision",
        formula="relevant results in the first k ÷ k",
        parameters=(REL,),
        make=precision,
        source=("trec_eval `P`"),
    ),
    Definition(
        name="recall",
        aliases=("r", "context_recall"),
        title="Recall",
        formula="relevant results in the first k ÷ R, the number of all relevant ones",
        parameters=(REL,),
        make=recall,
        source=("trec_eval `recall`, ir_measures `R@k`"),
        differs=(
            "some papers say recall@k for `success@k`. `context_recall` of ragas and DeepEval "
            "is the same with ids or passages, not with a model as judge"
        ),
    ),
    Definition(
        name="f1",
        title="F measure of precision and recall",
        formula="2 · P · R ÷ (P + R), of precision@k and recall@k",
        parameters=(REL,),
        make=f1,
        source=("ranx `f1@k`"),
        differs=("trec_eval's F covers all that was returned"),
    ),
    Definition(
        name="success",
        aliases=("hit_rate", "hit", "hits", "accuracy"),
        title="Success, or hit rate",
        formula="1 if any of the first k results is relevant, else 0",
        parameters=(REL,),
        make=success,
        source=("trec_eval `success`, ranx `hit_rate@k`, BEIR `Accuracy@k`"),
        differs=("ranx `hits@k` is a number of documents"),
    ),
    Definition(
        name="r_cap",
        aliases=("capped_recall", "recall_cap", "relative_p"),
        title="Capped recall",
        formula="relevant results in the first k ÷ min(k, R)",
        parameters=(REL,),
        make=capped_recall,
        source="Thakur et al., BEIR, NeurIPS 2021, `R_cap@k`; trec_eval `relative_P`",
    ),
    Definition(
        name="rprec",
        aliases=("r_precision", "r-precision"),
        title="R-precision",
        formula="relevant results in the first R ÷ R, the number of all relevant ones",
        parameters=(REL,),
        make=r_precision,
        takes_cutoff=False,
        reach="relevant",
        source=("trec_eval `Rprec`"),
    ),
)
