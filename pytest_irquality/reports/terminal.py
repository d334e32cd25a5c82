"""The section of the terminal, and the text of a failed item."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult
from pytest_irquality.reports.view import View

TERMINAL_COLUMNS = 80


def render_terminal(view: View, *, verbosity: int = 0, columns: int = TERMINAL_COLUMNS) -> str:
    """Render our section of the terminal.

    Args:
        view: The content.
        verbosity: As pytest counts ``-v`` and ``-q``: 0 gives at most fifteen lines, 1 everything,
            and -1 the last paragraph only.
        columns: The width of tables and paragraphs.

    Returns:
        Lines that end with the last paragraph, which begins with the outcome. Its continuation
        lines are indented by two spaces.
    """
    raise NotImplementedError


def format_failure(results: Sequence[CheckResult], evaluation: Evaluation) -> str:
    """Format why an item failed: a short line, then the ranks of the documents.

    Args:
        results: The results of the item that did not pass.
        evaluation: The evaluation of the suite.
    """
    raise NotImplementedError
