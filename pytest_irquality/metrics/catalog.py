"""All metrics: how each built-in one is computed, and how a project defines its own.

To add a metric, write the function that scores one ranking, and add its definition below.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from math import inf, log2
from numbers import Real
from types import MappingProxyType
from typing import Literal

from pytest_irquality.metrics.judgments import (
    DocIds,
    JudgedRankings,
    Judgments,
    MetricError,
    RankedGains,
    compute_exponential_gain,
)
from pytest_irquality.metrics.metric import RELEVANT_FROM, Definition, Parameter, ScoreFunction


def _score_each(score_one: Callable[..., float | None], *names: str) -> ScoreFunction:
    """Return a function that scores each ranking of a batch by the fields of the batch."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, *(getattr(batch, name) for name in names)))

    return score


# -- Grades ----------------------------------------------------------------------------------------

GAINS = Parameter(
    "gains", "lin", "gain of a grade g: `lin` is g, `exp` is 2^g − 1", choices=("lin", "exp")
)


def make_dcg(cutoff: int, gains: str) -> ScoreFunction:
    """Return a function that sums gains, discounted by the logarithm of their ranks."""
    return _score_each(_make_discounted_sum(cutoff, gains), "gains")


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
        # The same sum in another order may exceed the best sum by rounding.
        return dcg / best if dcg < best else 1.0

    return _score_each(score_one, "gains", "judgments")


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


_GRADE_METRICS = (
    Definition(
        name="ndcg",
        aliases=("ndcg_cut",),
        title="Normalized discounted cumulative gain",
        formula="DCG@k ÷ DCG@k of the best possible ranking of all documents with a positive grade",
        parameters=(GAINS,),
        make=make_ndcg,
        needs="gain",
        undefined="for a query without a positive grade",
        source="Järvelin and Kekäläinen, 2002; Burges et al., 2005; trec_eval `ndcg_cut`",
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
        range=(0, inf),
        undefined="for a query without a positive grade",
        source="as `ndcg`",
    ),
)


# -- Relevant documents ----------------------------------------------------------------------------


def _make_from_count(compute: Callable[[int, int, int], float]) -> Callable[[int], ScoreFunction]:
    """Return a function that makes the score function of a metric which counts relevant results.

    Args:
        compute: Receives the number of relevant results in the first k, the number of relevant
            documents and k. The first number is 0 if the second is.
    """

    def make(cutoff: int) -> ScoreFunction:
        def score_one(ranks: Sequence[int], relevant_count: int) -> float:
            return compute(bisect_right(ranks, cutoff), relevant_count, cutoff)

        return _score_each(score_one, "relevant_ranks", "relevant_counts")

    return make


def _compute_recall(found: int, relevant_count: int, cutoff: int) -> float:
    return found / relevant_count if found else 0.0


def _compute_capped_recall(found: int, relevant_count: int, cutoff: int) -> float:
    return found / min(cutoff, relevant_count) if found else 0.0


def make_r_precision() -> ScoreFunction:
    """Return a function that computes precision at the number of relevant documents."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        return bisect_right(ranks, relevant_count) / relevant_count if relevant_count else 0.0

    return _score_each(score_one, "relevant_ranks", "relevant_counts")


_COUNT_METRICS = (
    Definition(
        name="precision",
        aliases=("p", "prec"),
        title="Precision",
        formula="relevant results in the first k ÷ k",
        parameters=(RELEVANT_FROM,),
        make=_make_from_count(lambda found, _, k: found / k),
        source="trec_eval `P`",
    ),
    Definition(
        name="recall",
        aliases=("r", "context_recall"),
        title="Recall",
        formula="relevant results in the first k ÷ R, the number of relevant documents",
        parameters=(RELEVANT_FROM,),
        make=_make_from_count(_compute_recall),
        source="trec_eval `recall`, ir_measures `R@k`",
        differences=(
            "some papers write recall@k for `success@k`. `context_recall` of ragas and DeepEval "
            "is the same if they compare ids or passages, and not if a model decides"
        ),
    ),
    Definition(
        name="success",
        aliases=("hit_rate", "hit", "hits", "accuracy"),
        title="Success, or hit rate",
        formula="1 if any of the first k results is relevant, otherwise 0",
        parameters=(RELEVANT_FROM,),
        make=_make_from_count(lambda found, _, k: float(found > 0)),
        source="trec_eval `success`, ranx `hit_rate@k`, BEIR `Accuracy@k`",
        differences="ranx `hits@k` counts relevant documents",
    ),
    Definition(
        name="complete",
        aliases=("complete_recall", "full_recall", "all_relevant"),
        title="Complete evidence",
        formula="1 if all relevant documents are in the first k results, otherwise 0",
        parameters=(RELEVANT_FROM,),
        make=_make_from_count(lambda found, count, k: float(0 < found == count)),
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
        make=_make_from_count(_compute_capped_recall),
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


# -- Ranks -----------------------------------------------------------------------------------------

DIVISOR = Parameter(
    "by",
    "all",
    "divisor of the sum: `all` relevant documents, the `min` of k and their number, or those "
    "`found` in the first k",
    choices=("all", "min", "found"),
)


def make_reciprocal_rank(cutoff: int) -> ScoreFunction:
    """Return a function that computes 1 ÷ the rank of the first relevant result."""

    def score_one(ranks: Sequence[int]) -> float:
        return 1 / ranks[0] if ranks and ranks[0] <= cutoff else 0.0

    return _score_each(score_one, "relevant_ranks")


def make_average_precision(cutoff: int, by: str) -> ScoreFunction:
    """Return a function that averages the precision at every relevant result."""

    def score_one(ranks: Sequence[int], relevant_count: int) -> float:
        count, total = 0, 0.0
        for rank in ranks:
            if rank > cutoff:
                break
            count += 1
            total += count / rank
        # Also avoids a division by zero if no document is relevant.
        if not count:
            return 0.0
        if by == "all":
            return total / relevant_count
        return total / (count if by == "found" else min(cutoff, relevant_count))

    return _score_each(score_one, "relevant_ranks", "relevant_counts")


def make_rank_of_first(cutoff: int) -> ScoreFunction:
    """Return a function that gives the rank of the first relevant result, or k + 1."""

    def score_one(ranks: Sequence[int]) -> float:
        return float(min([*ranks[:1], cutoff + 1]))

    return _score_each(score_one, "relevant_ranks")


_RANK_METRICS = (
    Definition(
        name="mrr",
        aliases=("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
        title="Reciprocal rank (its mean is MRR)",
        formula="1 ÷ rank of the first relevant result if it is in the first k, otherwise 0",
        parameters=(RELEVANT_FROM,),
        make=make_reciprocal_rank,
        source="trec_eval `recip_rank`, ir_measures `RR@k`",
        differences="trec_eval has no cutoff. ir_measures uses the script of MS MARCO for `RR@k`",
    ),
    Definition(
        name="map",
        aliases=("ap", "map_cut", "average_precision", "mean_average_precision"),
        title="Average precision (its mean is MAP)",
        formula="Σ precision@i over every relevant result at a rank i ≤ k, ÷ R relevant documents",
        parameters=(DIVISOR, RELEVANT_FROM),
        make=make_average_precision,
        source="trec_eval `map_cut`, ir_measures `AP@k`",
        differences=(
            "both divide as `by=all` does. Kaggle and papers on recommender systems use "
            "`by=min`, many tutorials `by=found`. scikit-learn gives tied scores one "
            "precision"
        ),
    ),
    Definition(
        name="rank_of_first",
        aliases=("first_relevant", "rank_of_first_relevant"),
        title="Rank of the first relevant result",
        formula="rank of the first relevant result, or k + 1 if none is in the first k",
        parameters=(RELEVANT_FROM,),
        make=make_rank_of_first,
        range=(1, inf),
        higher_is_better=False,
        source="ours",
    ),
)


# -- The run itself --------------------------------------------------------------------------------


def make_judged(cutoff: int) -> ScoreFunction:
    """Return a function that computes the fraction of the first k results that are judged."""

    def score_one(ranking: DocIds, judgments: Judgments) -> float | None:
        top, grades = _get_top(ranking, cutoff), judgments.grades
        # A negative grade means that nobody has judged the document.
        judged_count = sum(grades[doc_id] >= 0 for doc_id in top if doc_id in grades)
        return judged_count / len(top) if top else None

    return _score_each(score_one, "rankings", "judgments")


def _define_latency(percentile: Literal["p50", "p95"]) -> Definition:
    number = percentile.removeprefix("p")
    return Definition(
        name=f"latency_{percentile}",
        title=f"Latency, {number}th percentile",
        formula=f"the time at rank ⌈{number}/100 · n⌉ of n calls, fastest first (nearest rank)",
        # A time belongs to a call and not to a ranking, so ``Comparison`` reads it from the calls.
        make=lambda: _score_each(lambda ranking: None, "rankings"),
        has_cutoff=False,
        needs="",
        reach="nothing",
        range=(0, inf),
        higher_is_better=False,
        aggregate=percentile,
        unit="seconds",
        undefined="for a query that was answered in a batch",
        source="ours",
    )


_RUN_METRICS = (
    Definition(
        name="judged",
        title="Fraction of judged results",
        formula="results in the first k with a grade of 0 or more ÷ results in the first k",
        make=make_judged,
        needs="",
        undefined="for a query without results",
        source="ir_measures `Judged@k`",
        differences=(
            "ir_measures counts negative grades and fails for a query without results. BEIR's "
            "`Hole@k` is the complement"
        ),
    ),
    Definition(
        name="zero_results",
        aliases=("no_results",),
        title="Queries without results",
        formula="1 for a query that returned nothing, otherwise 0; the sum over several queries",
        make=lambda: _score_each(lambda ranking: 0.0 if ranking else 1.0, "rankings"),
        has_cutoff=False,
        needs="",
        reach="first",
        range=(0, inf),
        higher_is_better=False,
        aggregate="sum",
        unit="count",
        undefined="never",
        source="ours",
    ),
    _define_latency("p50"),
    _define_latency("p95"),
)


# -- Comparison with the baseline ------------------------------------------------------------------


def compute_overlap(doc_ids: DocIds, baseline_doc_ids: DocIds, cutoff: int = 10) -> float:
    """Compute the fraction of the baseline's first documents that are still among the first.

    Args:
        doc_ids: The current ranking, best first. A repeated document counts once.
        baseline_doc_ids: The ranking to compare with.
        cutoff: How many documents of each ranking count.

    Returns:
        A value from 0 to 1. If the baseline has no results, 1 if the current ranking has none
        either, otherwise 0.
    """
    top = set(_get_top(doc_ids, cutoff))
    baseline_top = set(_get_top(baseline_doc_ids, cutoff))
    # No result of an empty baseline can be missing, but a new result differs from it.
    if not baseline_top:
        return 0.0 if top else 1.0
    return len(top & baseline_top) / len(baseline_top)


def _compare_each(compare: Callable[[DocIds, DocIds], float]) -> ScoreFunction:
    """Return a function that compares each ranking with its baseline ranking, if there is one."""

    def score_one(ranking: DocIds, baseline_ranking: DocIds | None) -> float | None:
        return None if baseline_ranking is None else compare(ranking, baseline_ranking)

    return _score_each(score_one, "rankings", "baseline_rankings")


def _get_top(doc_ids: DocIds, cutoff: int) -> list[str]:
    """Return the first documents without duplicates."""
    return list(islice(dict.fromkeys(doc_ids), cutoff))


_COMPARISON_METRICS = (
    Definition(
        name="overlap",
        title="Overlap with the baseline",
        formula=(
            "documents in the first k of both rankings ÷ documents in the first k of the "
            "baseline. If the baseline has none: 1 if nothing is returned, otherwise 0"
        ),
        make=lambda cutoff: _compare_each(partial(compute_overlap, cutoff=cutoff)),
        needs="",
        compares=True,
        undefined="for a query without a baseline answer",
        source="ann-benchmarks (Aumüller et al., Information Systems 87, 2020), recall",
    ),
)


# -- Catalog ---------------------------------------------------------------------------------------


def index_definitions(own: Iterable[Definition] = ()) -> Mapping[str, Definition]:
    """Return the built-in metrics and a project's own by name and alias.

    Raises:
        MetricError: Two definitions have the same name or alias.
    """
    # Aliases count, too: a project's "rr" would change what suites mean by it.
    definitions: dict[str, Definition] = {}
    for definition in (*METRICS.values(), *own):
        for name in (definition.name, *definition.aliases):
            if name in definitions:
                raise MetricError(
                    f"The metric name '{name}' is taken: it means '{definitions[name].name}'"
                )
            definitions[name] = definition
    return definitions


_DEFINITIONS = (
    *_GRADE_METRICS,
    *_COUNT_METRICS,
    *_RANK_METRICS,
    *_RUN_METRICS,
    *_COMPARISON_METRICS,
)
METRICS = MappingProxyType({definition.name: definition for definition in _DEFINITIONS})


# -- Own metrics -----------------------------------------------------------------------------------

# Sums of floats may exceed the range by rounding.
RANGE_TOLERANCE = 1e-9

MetricFunction = Callable[[list[str], Mapping[str, float], int], "float | None"]

# A name must not look like trec_eval's name with a cutoff, such as `recall_100`.
_NAME = re.compile(r"(?!.*_\d+$)[a-z][a-z0-9_]*")


def make_own_metric(
    name: str,
    function: MetricFunction,
    *,
    better: Literal["higher", "lower"] = "higher",
    range: tuple[float, float] = (0, 1),
    needs_relevant: bool = True,
    doc: str = "",
    cutoff: bool = True,
) -> Definition:
    """Define a metric for one project.

    Suites use it by name if the hook ``pytest_ir_metrics`` returns it, and ``check()`` accepts it
    under ``metrics``.

    Args:
        name: The name in suites, in lower-case letters, digits and underscores.
        function: Called with the documents (best first, without duplicates, cut at k), the grades
            of the query as written, and k. Returns a number within ``range``, or ``None`` if the
            metric is undefined for the query.
        better: Whether a ``higher`` or ``lower`` value is better.
        range: The lowest and the highest value.
        needs_relevant: Whether the metric is undefined for queries without a relevant document.
        doc: The formula in words, for reports. The function's docstring by default.
        cutoff: Whether names have a cutoff (``dwell@10``). Without one the function receives all
            documents, and their number as k.

    Raises:
        MetricError: The name is invalid or taken, or another argument is invalid.
    """
    if not _NAME.fullmatch(name):
        raise MetricError(
            f"'{name}' cannot name a metric. Use lower-case letters, digits and '_', and do not end"
            " with '_' and digits."
        )
    if better not in ("higher", "lower"):
        raise MetricError(f"'{name}': 'better' must be 'higher' or 'lower', not {better!r}")
    low, high = range
    if not low < high:
        raise MetricError(f"'{name}': 'range' must ascend, but it is {low} to {high}")
    undefined = "if its function returns None"
    if needs_relevant:
        undefined += ", or for a query without a relevant document"
    definition = Definition(
        name=name,
        title=name,
        formula=doc or function.__doc__ or "",
        source="this project",
        make=partial(_make_own_score_function, name, function, range),
        undefined=undefined,
        has_cutoff=cutoff,
        needs="relevant" if needs_relevant else "",
        reach="cutoff" if cutoff else "all",
        range=range,
        higher_is_better=better == "higher",
        is_own=True,
    )
    index_definitions([definition])  # raises MetricError if the name is taken
    return definition


def _make_own_score_function(
    name: str, function: MetricFunction, range: tuple[float, float], cutoff: int | None = None
) -> ScoreFunction:
    """Return a function that scores a batch with a project's function, and checks the values."""
    low, high = range
    subject = f"The function of '{name}'"

    def score_one(ranking: DocIds, judgments: Judgments) -> float | None:
        doc_ids = list(dict.fromkeys(ranking))
        k = len(doc_ids) if cutoff is None else cutoff
        try:
            value = function(doc_ids[:k], judgments.grades, k)
        except Exception as error:
            cause = f"{type(error).__name__}: {error}"
            raise MetricError(f"{subject} raised {cause}") from error
        if value is None:
            return None
        # Booleans are numbers here, because `doc_id in ranking` is a natural result.
        if not isinstance(value, Real):
            raise MetricError(f"{subject} returned {value!r}, which is not a number")
        if not low - RANGE_TOLERANCE <= value <= high + RANGE_TOLERANCE:
            message = f"{subject} returned {value!r}, which is not in its range of {low} to {high}"
            raise MetricError(message)
        return min(max(float(value), low), high)

    return _score_each(score_one, "rankings", "judgments")
