"""Measures of how much of the baseline's ranking is there; no judgments needed."""

from __future__ import annotations

from itertools import islice

from pytest_irquality.metrics.definition import Compute, Definition, Parameter
from pytest_irquality.metrics.hits import Ranking

PERSISTENCE = Parameter(
    "p", 0.9, "weight of each rank relative to the one above it", high=1, always_shown=True
)


def top(ranking: Ranking, k: int) -> list[str]:
    """The first k different documents."""
    return [*islice(dict.fromkeys(ranking), k)]


def shared(one: Ranking, other: Ranking) -> float:
    """The documents of both, as a share of the longer ranking; 1 where both are empty."""
    longer = max(len(one), len(other))
    return len({*one} & {*other}) / longer if longer else 1.0


def rank_biased_overlap(k: int, p: float) -> Compute:
    """The overlap at every depth, the topmost weighing most."""

    def of_one(ranking: Ranking, before: Ranking | None) -> float | None:
        return None if before is None else biased_overlap(top(ranking, k), top(before, k), p)

    return lambda hits: [*map(of_one, hits.rankings, hits.before)]


def biased_overlap(one: Ranking, other: Ranking, p: float = 0.9) -> float:
    """The documents of both at every depth, the topmost weighing most; 1 where both are empty."""
    seen: set[str] = set()
    seen_in_other: set[str] = set()
    total, weights, weight = 0.0, 0.0, 1.0
    for depth in range(max(len(one), len(other))):
        seen.update(one[depth : depth + 1])
        seen_in_other.update(other[depth : depth + 1])
        total += weight * len(seen & seen_in_other) / (depth + 1)
        weights += weight
        weight *= p
    return total / weights if weights else 1.0


DEFINITIONS = (
    Definition(
        name="rbo",
        title="Rank-biased overlap with the baseline",
        formula="Σ p^(d − 1) · (documents in the first d of both rankings ÷ d) ÷ Σ p^(d − 1), over"
        " depths d from 1 to the length of the longer ranking, up to k; 1 where both are"
        " empty",
        parameters=(PERSISTENCE,),
        make=rank_biased_overlap,
        needs="",
        compares=True,
        undefined="for a query that the baseline does not have",
        source=(
            "Webber, Moffat and Zobel, ACM TOIS 28(4), 2010, normalised as in Clarke, Vtyurina "
            "and Smucker, ACM TOIS 39(3), 2021"
        ),
    ),
)
