"""The history of a target, which limits on many changes together are held against."""

from __future__ import annotations

from pathlib import Path

from pytest_irquality.edges.git import now
from pytest_irquality.edges.project import Project
from pytest_irquality.storage.history import HistoryError, read_history
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target
from pytest_irquality.verdict.trend import Past


def past_of(history: Path, project: Project, target: Target) -> Past:
    """Read the entries of a target. Raises ``StoredRunError``."""
    try:
        entries = read_history(history, history.name)
    except HistoryError as error:
        raise StoredRunError(str(error)) from None
    name = (target.suite.path, target.retriever)
    mine = [entry for entry in entries if (entry.suite, entry.retriever) == name]
    return Past(mine, project.commit or now())
