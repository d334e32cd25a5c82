"""Metrics that credit a document by its grade: nDCG, DCG and ERR."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log2

from pytest_irquality.metrics.judged_rankings import JudgedRankings, RankedGains
from pytest_irquality.metrics.judgments import Judgments, compute_exponential_gain
from pytest_irquality.metrics.metric import Definition, Parameter, ScoreFunction

MAX_EXPONENT = 1000.0  # 2^1024 overflows a float

GAINS = Parameter(
    "gains", "lin", "gain of a grade g: `lin` is g, `exp` is 2^g − 1", choices=("lin", "exp")
)
SCALE = Parameter("max", 4.0, "highest grade of the scale that the assessors used")


def make_dcg(cutoff: int, gains: str) -> ScoreFunction:
    """Return a function that sums gains, discounted by the logarithm of their ranks."""
    compute_dcg = _make_discounted_sum(cutoff, gains)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(compute_dcg, batch.gains))

    return score


def make_ndcg(cutoff: int, gains: str) -> ScoreFunction:
    """Return a function that divides DCG by the DCG of the best possible ranking."""
    compute_dcg = _make_discounted_sum(cutoff, gains)
    is_linear = gains == "lin"

    def score_one(ranked_gains: RankedGains, judgments: Judgments) -> float:
        dcg = compute_dcg(ranked_gains)
        if not dcg:
            return 0.0
        # Rankings are compared with all judged documents, returned or not, as trec_eval does.
        ideal = judgments.ideal_dcg if is_linear else judgments.ideal_exponential_dcg
        best = ideal[cutoff] if cutoff < len(ideal) else ideal[-1]
        # The same sum in another order may exceed the best by its last bits.
        return dcg / best if dcg < best else 1.0

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.gains, batch.judgments))

    return score


def make_err(cutoff: int, max: float) -> ScoreFunction:
    """Return a function that computes the expected reciprocal rank of a satisfying result."""
    scale = 2.0**max

    def score_one(ranked_gains: RankedGains) -> float:
        # The cascade model: a reader continues only if no result above was satisfying.
        total, still_reading = 0.0, 1.0
        for rank, grade in ranked_gains:
            if rank > cutoff:
                break
            satisfaction = (2.0**grade - 1) / scale
            total += still_reading * satisfaction / rank
            still_reading *= 1 - satisfaction
        return total

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.gains))

    return score


def _make_discounted_sum(cutoff: int, gains: str) -> Callable[[RankedGains], float]:
    is_linear = gains == "lin"

    def compute_sum(ranked_gains: RankedGains) -> float:
        total = 0.0
        for rank, grade in ranked_gains:
            if rank > cutoff:
                break
            gain = grade if is_linear else compute_exponential_gain(grade)
            total += gain / log2(rank + 1)
        return total

    return compute_sum


def _get_max_grade(gains: str) -> float:
    return MAX_EXPONENT if gains == "exp" else inf


def _get_top_of_scale(max: float) -> float:
    return max


DEFINITIONS = (
    Definition(
        name="ndcg",
        aliases=("ndcg_cut",),
        title="Normalized discounted cumulative gain",
        formula="DCG@k ÷ DCG@k of the best possible ranking of all documents with a positive grade",
        parameters=(GAINS,),
        make=make_ndcg,
        needs="gain",
        max_grade=_get_max_grade,
        undefined="for a query without a positive grade",
        source=(
            "Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; Burges et al., ICML 2005; trec_eval "
            "`ndcg_cut`"
        ),
        differences=(
            "ranx calls `gains=exp` `ndcg_burges`. ir_measures calls it `dcg='exp-log2'`, rounds "
            "to five digits and has grades up to 4. scikit-learn averages over ties"
        ),
    ),
    Definition(
        name="dcg",
        title="Discounted cumulative gain",
        formula="Σ gain ÷ log2(i + 1) over the first k results, where i is the rank",
        parameters=(GAINS,),
        make=make_dcg,
        needs="gain",
        max_grade=_get_max_grade,
        range=(0, inf),
        undefined="for a query without a positive grade",
        source="as `ndcg`",
    ),
    Definition(
        name="err",
        title="Expected reciprocal rank",
        formula=(
            "Σ (1 ÷ i) · cᵢ · Π (1 − cⱼ) over the first k results, where i is the rank, j every "
            "rank above it, and c = (2^grade − 1) ÷ 2^max"
        ),
        parameters=(SCALE,),
        make=make_err,
        needs="gain",
        max_grade=_get_top_of_scale,
        undefined="for a query without a positive grade",
        source="Chapelle et al., CIKM 2009; ir_measures `ERR@k`",
        differences="ir_measures has a scale that ends at 4, and rounds to five digits",
    ),
)
