"""Metrics that count relevant documents up to a cutoff: precision, recall and others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from pytest_irquality.metrics.judged_rankings import JudgedRankings
from pytest_irquality.metrics.metric import RELEVANT_FROM, Definition, ScoreFunction


def make_precision(cutoff: int) -> ScoreFunction:
    """Return a function that computes relevant results among the first k, divided by k."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return [bisect_right(ranks, cutoff) / cutoff for ranks in batch.relevant_ranks]

    return score


def make_recall(cutoff: int) -> ScoreFunction:
    """Return a function that computes the fraction of relevant documents in the first k."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        return bisect_right(ranks, cutoff) / relevant_count if ranks else 0.0

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.relevant_counts))

    return score


def make_f1(cutoff: int) -> ScoreFunction:
    """Return a function that computes the harmonic mean of precision@k and recall@k."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        return 2 * bisect_right(ranks, cutoff) / (relevant_count + cutoff)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.relevant_counts))

    return score


def make_success(cutoff: int) -> ScoreFunction:
    """Return a function that gives 1 if any of the first k results is relevant, otherwise 0."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return [1.0 if ranks and ranks[0] <= cutoff else 0.0 for ranks in batch.relevant_ranks]

    return score


def make_complete(cutoff: int) -> ScoreFunction:
    """Return a function that gives 1 if every relevant document is in the first k, otherwise 0."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        # Without relevant documents there is nothing to complete, so 0 equals 0 does not count.
        return float(bool(ranks) and bisect_right(ranks, cutoff) == relevant_count)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.relevant_counts))

    return score


def make_capped_recall(cutoff: int) -> ScoreFunction:
    """Return a function that divides the relevant results by the most that k results can have."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        return bisect_right(ranks, cutoff) / min(cutoff, relevant_count) if ranks else 0.0

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.relevant_counts))

    return score


def make_r_precision() -> ScoreFunction:
    """Return a function that computes precision at the number of relevant documents."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        return bisect_right(ranks, relevant_count) / relevant_count if relevant_count else 0.0

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.relevant_counts))

    return score


DEFINITIONS = (
    Definition(
        name="precision",
        aliases=("p", "prec"),
        title="Precision",
        formula="relevant results in the first k ÷ k",
        parameters=(RELEVANT_FROM,),
        make=make_precision,
        source="trec_eval `P`",
    ),
    Definition(
        name="recall",
        aliases=("r", "context_recall"),
        title="Recall",
        formula="relevant results in the first k ÷ R, the number of relevant documents",
        parameters=(RELEVANT_FROM,),
        make=make_recall,
        source="trec_eval `recall`, ir_measures `R@k`",
        differences=(
            "some papers write recall@k for `success@k`. `context_recall` of ragas and DeepEval "
            "is the same if they compare ids or passages, and not if a model decides"
        ),
    ),
    Definition(
        name="f1",
        title="F measure of precision and recall",
        formula="2 · P · R ÷ (P + R), where P is precision@k and R is recall@k",
        parameters=(RELEVANT_FROM,),
        make=make_f1,
        source="ranx `f1@k`",
        differences="trec_eval computes F over all results",
    ),
    Definition(
        name="success",
        aliases=("hit_rate", "hit", "hits", "accuracy"),
        title="Success, or hit rate",
        formula="1 if any of the first k results is relevant, otherwise 0",
        parameters=(RELEVANT_FROM,),
        make=make_success,
        source="trec_eval `success`, ranx `hit_rate@k`, BEIR `Accuracy@k`",
        differences="ranx `hits@k` is the number of documents",
    ),
    Definition(
        name="complete",
        aliases=("complete_recall", "full_recall", "all_relevant"),
        title="Complete evidence",
        formula="1 if all relevant documents are in the first k results, otherwise 0",
        parameters=(RELEVANT_FROM,),
        make=make_complete,
        source="Asai et al., ICLR 2020, paragraph exact match",
        differences=(
            "MRecall@k (Min et al., EMNLP 2021) is 1, too, if there are more than k relevant "
            "documents and all k results are relevant"
        ),
    ),
    Definition(
        name="r_cap",
        aliases=("capped_recall", "recall_cap", "relative_p"),
        title="Capped recall",
        formula="relevant results in the first k ÷ min(k, R)",
        parameters=(RELEVANT_FROM,),
        make=make_capped_recall,
        source="Thakur et al., BEIR, NeurIPS 2021, `R_cap@k`; trec_eval `relative_P`",
    ),
    Definition(
        name="rprec",
        aliases=("r_precision", "r-precision"),
        title="R-precision",
        formula="relevant results in the first R ÷ R, the number of relevant documents",
        parameters=(RELEVANT_FROM,),
        make=make_r_precision,
        has_cutoff=False,
        reach="relevant",
        source="trec_eval `Rprec`",
    ),
)
