"""Random judgments and rankings, a batch at a time.

Hypothesis draws the seed of a batch, and the seed its cases: to draw each case by itself would take longer than to score it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hypothesis import settings, strategies as st

DOCUMENTS = [f"d{number}" for number in range(14)]
GRADES = (-2, -1, 0, 0, 1, 1, 2, 3, 4)
BATCH = 500
EXAMPLES = 5  # times BATCH: 2,500 cases, of which the other tools can score 2,000

thousands = settings(max_examples=EXAMPLES)
seeds = st.integers(0, 2**32)


@dataclass(frozen=True)
class Case:
    """One query: integer grades, negative ones too, and different documents, best first."""

    grades: dict[str, int]
    ranking: list[str]


def some_of(documents: list[str], draw: Random) -> list[str]:
    """None to all of them, in any order."""
    return draw.sample(documents, draw.randint(0, len(documents)))


def case(draw: Random) -> Case:
    """Few grades and few documents, so that ties and gaps are common."""
    grades = {document: draw.choice(GRADES) for document in some_of(DOCUMENTS, draw)}
    return Case(grades, some_of(DOCUMENTS, draw))


def batch(seed: int) -> dict[str, Case]:
    """Queries, numbered from 1."""
    draw = Random(seed)
    return {str(number): case(draw) for number in range(1, BATCH + 1)}


def answerable(seed: int) -> dict[str, Case]:
    """The queries of a batch that every tool can score.

    trec_eval leaves out a query without results or judgments; pytrec_eval crashes where all grades are negative.
    """
    return {
        number: case
        for number, case in batch(seed).items()
        if case.ranking and max(case.grades.values(), default=-1) >= 0
    }


def scored(ranking: list[str]) -> dict[str, float]:
    """The ranking as a tool wants it that sorts by score."""
    return {document: float(len(ranking) - place) for place, document in enumerate(ranking)}
