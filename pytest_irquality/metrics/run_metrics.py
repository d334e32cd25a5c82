"""Metrics of the run itself: latency, queries without results, and the fraction that is judged."""

from __future__ import annotations

from itertools import islice
from math import inf
from typing import Literal

from pytest_irquality.metrics.judged_rankings import DocIds, JudgedRankings
from pytest_irquality.metrics.judgments import Judgments
from pytest_irquality.metrics.metric import Definition, ScoreFunction


def make_judged(cutoff: int) -> ScoreFunction:
    """Return a function that computes the fraction of the first k results that are judged."""

    def score_one(ranking: DocIds, judgments: Judgments) -> float | None:
        # The search for judged documents covers positive grades only, so this reads the ranking.
        top = list(islice(dict.fromkeys(ranking), cutoff))
        return sum(map(judgments.judged_doc_ids.__contains__, top)) / len(top) if top else None

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(map(score_one, batch.rankings, batch.judgments))

    return score


def make_zero_results() -> ScoreFunction:
    """Return a function that gives 1 for a query that returned nothing, otherwise 0."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return [0.0 if ranking else 1.0 for ranking in batch.rankings]

    return score


def make_latency() -> ScoreFunction:
    """Return a function that gives the seconds of each call."""

    def score(batch: JudgedRankings) -> list[float | None]:
        return list(batch.seconds)

    return score


def _define_latency(percentile: Literal["p50", "p95"]) -> Definition:
    number = percentile.removeprefix("p")
    return Definition(
        name=f"latency_{percentile}",
        title=f"Latency, {number}th percentile",
        formula=f"the time at rank ⌈{number}/100 · n⌉ of n calls, fastest first (nearest rank)",
        make=make_latency,
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


DEFINITIONS = (
    Definition(
        name="judged",
        title="Fraction of judged results",
        formula=(
            "results in the first k with a grade of 0 or more ÷ the number of results, up to k"
        ),
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
        make=make_zero_results,
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
