"""What to grade: the documents that retrievers returned and nobody has graded.

``--ir-grade`` writes them as one HTML file to grade in, or as a CSV to fill in. Neither shows which
retriever returned a document, nor at which rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.io.text import Text


def render_grading(decision: Decision, path: str) -> str:
    """Render the grading page, or a CSV if the path ends with ``.csv``.

    Args:
        decision: The decision on the build, whose runs and baselines have the documents.
        path: The path of the file to write.

    """
    raise NotImplementedError


def describe_grading(decision: Decision, path: str) -> Text:
    """Describe how much there is to grade."""
    raise NotImplementedError


def list_graded_columns() -> Sequence[str]:
    """Return the columns of the CSV that the grading page saves."""
    raise NotImplementedError
