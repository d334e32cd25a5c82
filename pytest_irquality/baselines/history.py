"""The history of a project's builds (``--ir-history``): one line of JSON for a suite and build.

Every build appends to the file, which is outside the repository, in a cache or an artifact.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.io.decoding import JsonError, encode_json_line, open_lines, parse_json
from pytest_irquality.io.files import FileError, lock_folder, write_atomically
from pytest_irquality.retrieval.run import Run

FORMAT = "pytest-irquality history"


class HistoryEntry(NamedTuple):
    """The values of a suite and retriever in one build.

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
    values: Mapping[str, float] = {}
    changes: Mapping[str, float] = {}
    baseline: str = ""
    outcome: str = ""


def compute_digest(run: Run) -> str:
    """Compute a short digest of the rankings of a run."""
    rankings = []
    for request in sorted(run.answers):
        rankings.append([request, [list(ranking.doc_ids) for ranking in run.answers[request]]])
    text = json.dumps(rankings).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]


def read_history(path: Path) -> tuple[HistoryEntry, ...]:
    """Read a history, oldest entry first. A missing file is an empty history.

    Raises:
        BaselineError: The file is not a history. The message starts with ``path:line:``.
    """
    if not path.exists():
        return ()
    entries = []
    try:
        for number, line in open_lines(path):
            if line.strip():
                entries.append(_parse_entry(line, f"{path}:{number}"))
    except FileError as error:
        raise BaselineError(str(error)) from None
    return tuple(entries)


def append_history(path: Path, entries: Iterable[HistoryEntry]) -> None:
    """Append entries atomically. An entry of a rerun replaces the one of its build.

    Raises:
        BaselineError: The file is not a history; it is left as it is.
        OSError: The file cannot be written.
    """
    with lock_folder(Path(os.path.realpath(path)).parent):
        by_build: dict[object, HistoryEntry] = {}
        for number, entry in enumerate([*read_history(path), *entries]):
            # The same commit may be measured every night against the night before, because its
            # data changes. Such an entry has another baseline, so it is another build.
            build = (entry.suite_path, entry.retriever, entry.commit, entry.baseline)
            by_build[build if entry.commit else number] = entry
        lines = []
        for entry in by_build.values():
            lines.append(encode_json_line({"format": FORMAT, **entry._asdict()}))
        write_atomically(path, lines)


def select_series(
    entries: Sequence[HistoryEntry], suite_path: str, retriever: str, metric: str
) -> tuple[tuple[HistoryEntry, float], ...]:
    """Return the entries of a suite and retriever that have a metric, with its values."""
    series = []
    for entry in entries:
        is_of_suite = (entry.suite_path, entry.retriever) == (suite_path, retriever)
        if is_of_suite and metric in entry.values:
            series.append((entry, entry.values[metric]))
    return tuple(series)


def _parse_entry(line: str, place: str) -> HistoryEntry:
    try:
        data = parse_json(line)
    except JsonError as error:
        raise BaselineError(f"{place}: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise BaselineError(f"{place}: This is not a line of a history of pytest-irquality")
    values: dict[str, Any] = {}
    for name in HistoryEntry._fields:
        value = data.get(name)
        is_table = name in ("values", "changes")
        is_valid = _is_number_table(value) if is_table else isinstance(value, str)
        if value is not None and not is_valid:
            raise BaselineError(f"{place}: '{name}' is not valid")
        if value is not None:
            values[name] = value
    if "suite_path" not in values:
        raise BaselineError(f"{place}: 'suite_path' is missing")
    return HistoryEntry(**values)


def _is_number_table(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    numbers = value.values()
    # An integer may be too large for `isfinite`.
    return all(type(each) in (int, float) and abs(each) <= sys.float_info.max for each in numbers)
