"""Interpolated precision: the best precision still to be had at a recall or beyond."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from pytest_irquality.metrics.definition import REL, Compute, Definition, Parameter

RECALL = Parameter(
    "recall", None, "the recall, from 0 to 1, written behind the `@`", high=1, closed=True
)
ELEVEN_POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def best_from(ranks: Sequence[int]) -> list[float]:
    """The best precision at or below the first relevant result, the second, and so on."""
    at_each = [found / rank for found, rank in enumerate(ranks, 1)]
    return [*accumulate(reversed(at_each), max)][::-1]


def at_recall(best: list[float], recall: float, relevant_count: int) -> float:
    """Interpolated precision; the relevant results a recall asks for are counted as trec_eval 9
    does.
    """
    wanted = int(recall * relevant_count + 0.9)
    return best[max(wanted, 1) - 1] if best and wanted <= len(best) else 0.0


def interpolated_precision(recall: float) -> Compute:
    """The best precision at any rank where that recall is reached."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        return at_recall(best_from(ranks), recall, wanted)

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


def eleven_points() -> Compute:
    """The mean of interpolated precision at recall 0, 0.1, ... 1."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        best = best_from(ranks)
        return sum(at_recall(best, point, wanted) for point in ELEVEN_POINTS) / 11

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


DEFINITIONS = (
    Definition(
        name="iprec",
        aliases=("iprec_at_recall",),
        title="Interpolated precision at a recall",
        formula="max precision@i over every rank i at which ⌊recall · R + 0.9⌋ relevant results"
        " have been seen",
        parameters=(RECALL, REL),
        make=interpolated_precision,
        at="recall",
        reach="all",
        source="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, 8.4;"
        " trec_eval 9 `iprec_at_recall`, ir_measures `IPrec@recall`",
        differs="trec_eval 9, pytrec_eval, ir_measures and ranx agree; trec_eval 10 rounds recall ·"
        " R to the nearest whole number instead, which can ask for one result fewer."
        " pytrec_eval gives NaN at recall 0 for a query without results, here 0",
    ),
    Definition(
        name="11pt",
        aliases=("11pt_avg", "11pt_average"),
        title="Eleven-point average precision",
        formula="mean of iprec at recall 0, 0.1, 0.2, … 1",
        parameters=(REL,),
        make=eleven_points,
        at="",
        reach="all",
        source="Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, 8.4; "
        "trec_eval 9 `11pt_avg`",
        differs="trec_eval 9 and pytrec_eval agree; trec_eval 10 rounds otherwise (see iprec)",
    ),
)
