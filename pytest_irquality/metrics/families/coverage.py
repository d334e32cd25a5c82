"""Measures of whether anything came back, and how much of it anybody has judged."""

from __future__ import annotations

from itertools import islice

from pytest_irquality.metrics.definition import Compute, Definition
from pytest_irquality.metrics.hits import Ranking
from pytest_irquality.metrics.judgments import Judgments

INFINITE = float("inf")


def judged(k: int) -> Compute:
    """The share of the first k results that carry a grade."""

    def of_one(ranking: Ranking, judgments: Judgments) -> float | None:
        seen = [*islice(dict.fromkeys(ranking), k)]
        return sum(map(judgments.grades.__contains__, seen)) / len(seen) if seen else None

    return lambda hits: [*map(of_one, hits.rankings, hits.judgments)]


def zero_results() -> Compute:
    """1 where nothing came back."""
    return lambda hits: [0.0 if ranking else 1.0 for ranking in hits.rankings]


DEFINITIONS = (
    Definition(
        name="judged",
        title="Share of judged results",
        formula="results in the first k that carry a grade, any grade ÷ the results returned, up"
        " to k",
        make=judged,
        needs="",
        undefined="for a query with no results",
        source=("ir_measures `Judged@k`"),
        differs=(
            "ir_measures fails on a query without results. BEIR's `Hole@k` is about its complement"
        ),
    ),
    Definition(
        name="zero_results",
        aliases=("no_results",),
        title="Queries without results",
        formula="1 for a query that returned nothing, else 0; over many queries their number",
        make=zero_results,
        takes_cutoff=False,
        needs="",
        reach="first",
        range=(0, INFINITE),
        higher_is_better=False,
        aggregate="sum",
        unit="count",
        undefined="never",
        source=("ours"),
    ),
)
