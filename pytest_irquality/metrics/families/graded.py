"""Measures that credit a document by its grade: nDCG, DCG, CG, ERR."""

from __future__ import annotations

from collections.abc import Callable
from math import log2

from pytest_irquality.metrics.definition import Compute, Definition, Parameter
from pytest_irquality.metrics.hits import Gains
from pytest_irquality.metrics.judgments import Judgments, exponential

GAIN = Parameter(
    "gains",
    "lin",
    "gain of a grade g: `lin` is g, `exp` is 2^g − 1",
    choices=("lin", "exp"),
)
SCALE = Parameter("max", 4.0, "highest grade of the scale that the judges used")
LARGEST_EXPONENT = 1000.0  # 2^1024 is beyond a float


def discounted(k: int, gains: str) -> Callable[[Gains], float]:
    """The sum of gains, each divided by the logarithm of its rank."""
    linear = gains == "lin"

    def total_of(found: Gains) -> float:
        total = 0.0
        for rank, grade in found:
            if rank > k:
                break
            total += (grade if linear else exponential(grade)) / log2(rank + 1)
        return total

    return total_of


def dcg(k: int, gains: str) -> Compute:
    """Gains discounted by the logarithm of their ranks."""
    total_of = discounted(k, gains)
    return lambda hits: [*map(total_of, hits.gains)]


def ndcg(k: int, gains: str) -> Compute:
    """DCG as a share of the best that any ranking could have."""
    total_of, linear = discounted(k, gains), gains == "lin"

    def of_one(found: Gains, judgments: Judgments) -> float:
        total = total_of(found)
        if not total:
            return 0.0
        ideal = judgments.ideal if linear else judgments.ideal_exponential
        best = ideal[k] if k < len(ideal) else ideal[-1]
        return total / best if total < best else 1.0  # in another order a sum may pass the best

    return lambda hits: [*map(of_one, hits.gains, hits.judgments)]


def expected_reciprocal_rank(k: int, max: float) -> Compute:
    """The reciprocal rank of the result that satisfies a reader.

    A reader is the likelier content the higher a result's grade.
    """
    scale = 2.0**max

    def of_one(found: Gains) -> float:
        total, still_reading = 0.0, 1.0
        for rank, grade in found:
            if rank > k:
                break
            content = (2.0**grade - 1) / scale
            total += still_reading * content / rank
            still_reading *= 1 - content
        return total

    return lambda hits: [*map(of_one, hits.gains)]


def largest_exponent(gains: str) -> float:
    """Exponential gains end where floats do."""
    return LARGEST_EXPONENT if gains == "exp" else float("inf")


def top_of_scale(max: float) -> float:
    """No document can be better than the top of the scale."""
    return max


DEFINITIONS = (
    Definition(
        name="ndcg",
        aliases=("ndcg_cut",),
        title="Normalised discounted cumulated gain",
        formula="DCG@k ÷ the DCG@k of the best possible ranking, of all documents with a positive"
        " grade",
        parameters=(GAIN,),
        make=ndcg,
        needs="gain",
        top_grade=largest_exponent,
        undefined=("for a query without a positive grade"),
        source=(
            "Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; Burges et al., ICML 2005; trec_eval "
            "`ndcg_cut`"
        ),
        differs=(
            "ranx calls `gains=exp` `ndcg_burges`, ir_measures `dcg='exp-log2'`, which has "
            "five digits and grades up to 4. scikit-learn averages over ties"
        ),
    ),
    Definition(
        name="dcg",
        title="Discounted cumulated gain",
        formula="Σ gain ÷ log2(i + 1) over the first k results, i being the rank",
        parameters=(GAIN,),
        make=dcg,
        needs="gain",
        top_grade=largest_exponent,
        range=(0, float("inf")),
        undefined=("for a query without a positive grade"),
        source=("as `ndcg`"),
    ),
    Definition(
        name="err",
        title="Expected reciprocal rank",
        formula="Σ (1 ÷ i) · cᵢ · Π (1 − cⱼ) over the first k results, i being the rank and j every"
        " rank above it, with c = (2^grade − 1) ÷ 2^max",
        parameters=(SCALE,),
        make=expected_reciprocal_rank,
        needs="gain",
        top_grade=top_of_scale,
        undefined=("for a query without a positive grade"),
        source=("Chapelle et al., CIKM 2009; ir_measures `ERR@k`"),
        differs=("ir_measures takes a scale that ends at 4, and prints five digits"),
    ),
)
