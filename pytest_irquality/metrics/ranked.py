"""Metrics of the ranks of relevant documents: MRR, MAP, RBP, bpref, rank of the first."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from pytest_irquality.metrics.judged_rankings import DocIds, JudgedRankings
from pytest_irquality.metrics.judgments import Judgments
from pytest_irquality.metrics.metric import RELEVANT_FROM, Definition, Parameter, ScoreFunction

DIVISOR = Parameter(
    "by",
    "all",
    "divisor of the sum: `all` relevant documents, the `min` of k and their number, or those "
    "`found` in the first k",
    choices=("all", "min", "found"),
)
PERSISTENCE = Parameter(
    "p",
    0.8,
    "probability that the reader continues with the next result",
    upper_bound=1,
    is_always_shown=True,
)


def make_reciprocal_rank(cutoff: int) -> ScoreFunction:
    """Return a function that computes 1 ÷ the rank of the first relevant result."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return [
            1 / ranks[0] if ranks and ranks[0] <= cutoff else 0.0 for ranks in batch.relevant_ranks
        ]

    return score


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

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.relevant_counts))

    return score


def make_rank_of_first(cutoff: int) -> ScoreFunction:
    """Return a function that gives the rank of the first relevant result, or k + 1."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return [float(min([*ranks[:1], cutoff + 1])) for ranks in batch.relevant_ranks]

    return score


def make_rank_biased_precision(cutoff: int, p: float) -> ScoreFunction:
    """Return a function that computes the gain of a reader who continues with probability p."""

    def score_one(ranks: Sequence[int]) -> float:
        return (1 - p) * sum(p ** (rank - 1) for rank in ranks if rank <= cutoff)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks))

    return score


def make_bpref() -> ScoreFunction:
    """Return a function that computes the fraction of judged pairs that are in the right order."""

    def score_one(ranks: Sequence[int], ranking: DocIds, judgments: Judgments) -> float:
        if not ranks:
            return 0.0
        relevant_count, nonrelevant = judgments.relevant_count, judgments.nonrelevant
        # trec_eval counts at most as many nonrelevant documents as there are relevant ones.
        pair_count = min(len(nonrelevant), relevant_count)
        total, start, misplaced = 0.0, 0, 0
        for rank in ranks:
            misplaced += sum(map(nonrelevant.__contains__, ranking[start : rank - 1]))
            total += 1 - min(misplaced, relevant_count) / pair_count if misplaced else 1
            start = rank
        return total / relevant_count

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.relevant_ranks, batch.rankings, batch.judgments))

    return score


DEFINITIONS = (
    Definition(
        name="mrr",
        aliases=("rr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
        title="Reciprocal rank (its mean is MRR)",
        formula="1 ÷ rank of the first relevant result if it is in the first k, otherwise 0",
        parameters=(RELEVANT_FROM,),
        make=make_reciprocal_rank,
        source="trec_eval `recip_rank`, ir_measures `RR@k`",
        differences=(
            "trec_eval has no cutoff. ir_measures computes `RR@k` with the script of MS MARCO"
        ),
    ),
    Definition(
        name="map",
        aliases=("ap", "map_cut", "average_precision", "mean_average_precision"),
        title="Average precision (its mean is MAP)",
        formula=(
            "Σ precision@i over every relevant result at a rank i ≤ k, ÷ R, the number of relevant "
            "documents"
        ),
        parameters=(DIVISOR, RELEVANT_FROM),
        make=make_average_precision,
        source="trec_eval `map_cut`, ir_measures `AP@k`",
        differences=(
            "both divide as `by=all` does. `by=min` is the AP@k of papers on recommender systems "
            "and of Kaggle, `by=found` that of many tutorials. scikit-learn gives tied scores one "
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
    Definition(
        name="rbp",
        title="Rank-biased precision",
        formula="(1 − p) · Σ p^(i − 1) over every relevant result at a rank i ≤ k",
        parameters=(PERSISTENCE, RELEVANT_FROM),
        make=make_rank_biased_precision,
        source="Moffat and Zobel, ACM TOIS 27(1), 2008; ir_measures `RBP(p,rel)@k`",
        differences=(
            "trec_eval 10 has p = 0.9 and uses grades as gains. ranx (`rbp.80`) multiplies by the "
            "grade. ranx and ir_measures have no cutoff"
        ),
    ),
    Definition(
        name="bpref",
        title="Binary preference",
        formula=(
            "Σ (1 − min(n, R) ÷ min(N, R)) over every relevant result ÷ R, where n judged "
            "nonrelevant results rank above it and N documents are judged nonrelevant (1 if n = 0)"
        ),
        parameters=(RELEVANT_FROM,),
        make=make_bpref,
        has_cutoff=False,
        reach="all",
        source="Buckley and Voorhees, SIGIR 2004; trec_eval `bpref`",
        differences="ranx counts negative grades",
    ),
)
