"""Measures of all that was returned, whatever its order."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.metrics.definition import REL, Compute, Definition
from pytest_irquality.metrics.families.binary import BETA
from pytest_irquality.metrics.hits import Ranking


def set_precision() -> Compute:
    """Relevant results, of all results."""

    def of_one(ranks: Sequence[int], ranking: Ranking) -> float:
        return len(ranks) / len(ranking) if ranks else 0.0

    return lambda hits: [*map(of_one, hits.relevant, hits.rankings)]


def set_recall() -> Compute:
    """Relevant results, of all relevant documents."""

    def of_one(ranks: Sequence[int], wanted: int) -> float:
        return len(ranks) / wanted if ranks else 0.0

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts)]


def set_f(beta: float) -> Compute:
    """The weighted harmonic mean of set precision and set recall."""
    weight = beta**2

    def of_one(ranks: Sequence[int], wanted: int, ranking: Ranking) -> float:
        return (1 + weight) * len(ranks) / (weight * wanted + len(ranking)) if ranks else 0.0

    return lambda hits: [*map(of_one, hits.relevant, hits.relevant_counts, hits.rankings)]


DEFINITIONS = (
    Definition(
        name="set_precision",
        aliases=("set_p", "setp"),
        title="Set precision",
        formula="relevant results ÷ results, over all that was returned; 0 where nothing was",
        parameters=(REL,),
        make=set_precision,
        at="",
        reach="all",
        source="trec_eval `set_P`, ir_measures `SetP`",
        differs="pytrec_eval, ir_measures and ranx (`precision` without a cutoff) agree",
    ),
    Definition(
        name="set_recall",
        aliases=("set_r", "setr"),
        title="Set recall",
        formula="relevant results ÷ R, the number of relevant documents, over all returned",
        parameters=(REL,),
        make=set_recall,
        at="",
        reach="all",
        source="trec_eval `set_recall`, ir_measures `SetR`",
        differs="pytrec_eval, ir_measures and ranx (`recall` without a cutoff) agree",
    ),
    Definition(
        name="set_f",
        aliases=("setf", "set_f1"),
        title="Set F measure",
        formula="(1 + β²) · P · R ÷ (β² · P + R), of set_precision and set_recall",
        parameters=(BETA, REL),
        make=set_f,
        at="",
        reach="all",
        source="van Rijsbergen, Information Retrieval, 1979; trec_eval `set_F`, ir_measures `SetF`",
        differs="the same for β = 1. trec_eval's parameter x of `set_F.x` is β²; ir_measures hands"
        " its `beta` over as that x, so that its `SetF(beta=2)` is `set_f(beta=1.41421…)`"
        " here",
    ),
)
