"""Metrics that compare a ranking with one of the baseline and need no judgments."""

from __future__ import annotations

from itertools import islice

from pytest_irquality.metrics.judged_rankings import DocIds, JudgedRankings
from pytest_irquality.metrics.metric import Definition, Parameter, ScoreFunction

PERSISTENCE = Parameter(
    "p",
    0.9,
    "weight of each rank relative to the rank above it",
    upper_bound=1,
    is_always_shown=True,
)


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
    # Nothing of an empty baseline can be missing, but a new result is not what it had either.
    if not baseline_top:
        return 0.0 if top else 1.0
    return len(top & baseline_top) / len(baseline_top)


def compute_rbo(doc_ids: DocIds, baseline_doc_ids: DocIds, cutoff: int, p: float = 0.9) -> float:
    """Compute the rank-biased overlap of two rankings, 1 if both are empty.

    The overlap at every depth counts, and the first depths count most (Webber, Moffat and Zobel,
    2010). The sum is divided by its maximum, so equal rankings of any length have 1.
    """
    top = _get_top(doc_ids, cutoff)
    baseline_top = _get_top(baseline_doc_ids, cutoff)
    seen: set[str] = set()
    seen_in_baseline: set[str] = set()
    total, total_weight, weight = 0.0, 0.0, 1.0
    for index in range(max(len(top), len(baseline_top))):
        seen.update(top[index : index + 1])
        seen_in_baseline.update(baseline_top[index : index + 1])
        total += weight * len(seen & seen_in_baseline) / (index + 1)
        total_weight += weight
        weight *= p
    return total / total_weight if total_weight else 1.0


def make_overlap(cutoff: int) -> ScoreFunction:
    """Return a function that computes the overlap with the baseline at a cutoff."""

    def score_one(ranking: DocIds, baseline_ranking: DocIds | None) -> float | None:
        if baseline_ranking is None:
            return None
        return compute_overlap(ranking, baseline_ranking, cutoff)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.rankings, batch.baseline_rankings))

    return score


def make_rbo(cutoff: int, p: float) -> ScoreFunction:
    """Return a function that computes the rank-biased overlap with the baseline."""

    def score_one(ranking: DocIds, baseline_ranking: DocIds | None) -> float | None:
        if baseline_ranking is None:
            return None
        return compute_rbo(ranking, baseline_ranking, cutoff, p)

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.rankings, batch.baseline_rankings))

    return score


def _get_top(doc_ids: DocIds, cutoff: int) -> list[str]:
    """Return the first different documents."""
    return list(islice(dict.fromkeys(doc_ids), cutoff))


DEFINITIONS = (
    Definition(
        name="overlap",
        title="Overlap with the baseline",
        formula=(
            "documents in the first k of both rankings ÷ the documents in the first k of the "
            "baseline's. If the baseline has none: 1 if nothing is returned, otherwise 0"
        ),
        make=make_overlap,
        needs="",
        compares=True,
        undefined="for a query without a baseline answer",
        source="ann-benchmarks (Aumüller et al., Information Systems 87, 2020), recall",
    ),
    Definition(
        name="rbo",
        title="Rank-biased overlap with the baseline",
        formula=(
            "Σ p^(d − 1) · (documents in the first d of both rankings ÷ d) ÷ Σ p^(d − 1), over "
            "depths d from 1 to the length of the longer ranking, up to k; 1 if both are empty"
        ),
        parameters=(PERSISTENCE,),
        make=make_rbo,
        needs="",
        compares=True,
        undefined="for a query without a baseline answer",
        source=(
            "Webber, Moffat and Zobel, ACM TOIS 28(4), 2010, normalized as in Clarke, Vtyurina "
            "and Smucker, ACM TOIS 39(3), 2021"
        ),
    ),
)
