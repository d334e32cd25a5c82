"""The history of a project's builds (``--ir-history``): one line of JSON for a suite and build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class HistoryEntry:
    """What one build measured for a suite and retriever.

    Attributes:
        suite_path: The suite, relative to the root.
        retriever: The retriever as reports name it.
        commit: The commit, or empty.
        date: ISO 8601 in UTC.
        values: The means of the metrics by name.
        changes: The changes of the metrics since the baseline, by name.
        baseline: A digest of the rankings that were compared with (``compute_digest``).
        outcome: The outcome of the build.
    """

    suite_path: str
    retriever: str = ""
    commit: str = ""
    date: str = ""
    values: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[str, float] = field(default_factory=dict)
    baseline: str = ""
    outcome: str = ""


def read_history(path: Path) -> tuple[HistoryEntry, ...]:
    """Read a history, oldest entry first. A missing file is an empty history.

    Raises:
        BaselineError: The file is not a history. The message starts with ``path:line:``.
    """
    raise NotImplementedError


def append_history(path: Path, entries: Iterable[HistoryEntry]) -> None:
    """Append entries atomically. An entry of a rerun replaces the last one of its build.

    Raises:
        BaselineError: The file is not a history; it is left as it is.
        OSError: The file cannot be written.
    """
    raise NotImplementedError


def select_series(
    entries: Sequence[HistoryEntry], suite_path: str, retriever: str, metric: str
) -> tuple[tuple[HistoryEntry, float], ...]:
    """Return the entries of a suite and retriever that have a metric, with its values."""
    raise NotImplementedError
