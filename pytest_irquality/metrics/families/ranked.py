"""Measures of where in the ranking relevant documents stand: MRR, MAP, RBP, bpref."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.metrics.definition import REL, Compute, Definition, Parameter
from pytest_irquality.metrics.hits import Ranking
from pytest_irquality.metrics.judgments import Judgments

BY = Parameter(
    "by",
    "all",
    "what the sum is divided by: `all` relevant documents, `min` of k and their number, those"
    " `found` in the first k",
    choices=("all", "min", "found"),
)
PERSISTENCE = Parameter(
    "p", 0.8, "chance that the reader goes on to the next result", high=1, always_shown=True
)


def reciprocal_rank(k: int) -> Compute:
    """1 ÷ the rank of the first relevant result."""

    def of_one(ranks: Sequence[int]) -> float:
        return 1 / ranks[0] if ranks and ranks[0] <= k else 0.0

    return lambda hits: [*map(of_one, hits.relevant)]


def average_precision(k: int, by: str) -> Compute:
    """Mean of the precision at every relevant result."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        found, total = 0, 0.0
        for rank in ranks:
            if rank > k:
                break
            found += 1
            total += found / rank
        if not found:
            return 0.0
        if by == "all":
            return total / wanted
        return total / (found if by == "found" else min(k, wanted))

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


def rank_of_first(k: int) -> Compute:
    """The rank of the first relevant result; k + 1 if there is none in the first k."""
    return lambda hits: [float(min([*ranks[:1], k + 1])) for ranks in hits.relevant]


def rank_biased_precision(k: int, p: float) -> Compute:
    """The gain of a reader who goes on to the next result with probability p."""

    def of_one(ranks: Sequence[int]) -> float:
        return (1 - p) * sum(p ** (rank - 1) for rank in ranks if rank <= k)

    return lambda hits: [*map(of_one, hits.relevant)]


def bpref() -> Compute:
    """The share of judged pairs that stand in the right order."""

    def of_one(ranks: Sequence[int], ranking: Ranking, judgments: Judgments) -> float:
        if not ranks:
            return 0.0
        wanted, nonrelevant = judgments.relevant_count, judgments.nonrelevant
        pairs = min(len(nonrelevant), wanted)
        total, done, misplaced = 0.0, 0, 0
        for rank in ranks:
            misplaced += sum(map(nonrelevant.__contains__, ranking[done : rank - 1]))
            total += 1 - min(misplaced, wanted) / pairs if misplaced else 1
            done = rank
        return total / wanted

    return lambda hits: [*map(of_one, hits.relevant, hits.rankings, hits.judgments)]


DEFINITIONS = (
    Definition(
        name="mrr",
        aliases=("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
        title="Reciprocal rank (its mean: MRR)",
        formula="1 ÷ rank of the first relevant result, if it is in the first k, else 0",
        parameters=(REL,),
        make=reciprocal_rank,
        source=("trec_eval `recip_rank`, ir_measures `RR@k`"),
        differs=("trec_eval's has no cutoff; ir_measures computes `RR@k` with MS MARCO's script"),
    ),
    Definition(
        name="map",
        aliases=("ap", "map_cut", "average_precision", "mean_average_precision"),
        title="Average precision (its mean: MAP)",
        formula="Σ precision@i over every relevant result, at rank i ≤ k, ÷ R, the number of"
        " relevant documents",
        parameters=(BY, REL),
        make=average_precision,
        source=("trec_eval `map_cut`, ir_measures `AP@k`"),
        differs=(
            "they divide as `by=all` does. `by=min` is the AP@k of recommender papers and "
            "Kaggle, `by=found` that of many tutorials. scikit-learn gives tied scores one "
            "precision"
        ),
    ),
    Definition(
        name="rank_of_first",
        aliases=("first_relevant", "rank_of_first_relevant"),
        title="Rank of the first relevant result",
        formula="rank of the first relevant result; k + 1 if none is in the first k",
        parameters=(REL,),
        make=rank_of_first,
        range=(1, float("inf")),
        higher_is_better=False,
        source="ours",
    ),
    Definition(
        name="rbp",
        title="Rank-biased precision",
        formula="(1 − p) · Σ p^(i − 1) over every relevant result, at rank i ≤ k",
        parameters=(PERSISTENCE, REL),
        make=rank_biased_precision,
        source=("Moffat and Zobel, ACM TOIS 27(1), 2008; ir_measures `RBP(p,rel)@k`"),
        differs=(
            "trec_eval 10 has p = 0.9 and takes grades for gains; ranx (`rbp.80`) multiplies by "
            "the grade; ranx and ir_measures know no cutoff"
        ),
    ),
    Definition(
        name="bpref",
        title="Binary preference",
        formula="Σ (1 − min(n, R) ÷ min(N, R)) over every relevant result ÷ R, where n judged"
        " nonrelevant results stand above it and N documents are judged nonrelevant (1 where"
        " n = 0)",
        parameters=(REL,),
        make=bpref,
        takes_cutoff=False,
        reach="all",
        source=("Buckley and Voorhees, SIGIR 2004; trec_eval `bpref`"),
        differs=("ranx counts negative grades"),
    ),
)
