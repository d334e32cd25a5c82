"""What became of each document: its ranks on both sides, and why it is missing."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_irquality.io.text import Text


@dataclass(frozen=True)
class DocChange:
    """A document of a query in both rankings.

    With repeats, a rank is the median over the repeats, and the score is of the first repeat.

    Attributes:
        doc_id: The document, or the passage or chunk with ``match: text``.
        grade: Its grade, or ``None`` if it is unjudged.
        rank_before: Its rank in the baseline from 1, or ``None``.
        rank_now: Its current rank in the order as returned, or ``None``.
        score: The retriever's current score.
        finding: Why an expected document is missing or lower, such as ``no longer in the index``.
    """

    doc_id: str
    title: str = ""
    grade: float | None = None
    is_relevant: bool = False
    rank_before: int | None = None
    rank_now: int | None = None
    score: float | None = None
    finding: Text | None = None
