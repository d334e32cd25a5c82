"""The history of a project's suites, kept outside the change.

It has one line of JSON for each suite, retriever and commit.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_irquality.edges.codec import as_dict, fits, restored
from pytest_irquality.edges.git import now
from pytest_irquality.edges.open import Unreadable, bounded_lines, open_bytes
from pytest_irquality.edges.project import Project
from pytest_irquality.edges.write import alone_in, write
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target

FORMAT = "pytest-irquality history"


class HistoryError(StoredRunError):
    """A file that holds no history: one line, ``path:line: what is wrong``."""


@dataclass(frozen=True)
class Entry:
    """One line of the history: what one run measured.

    ``values`` are those of measures, ``changes`` what each did since the ``baseline``, which is a
    digest of the rankings compared with. ``accepted``: a drop was accepted in this change.
    """

    suite: str
    retriever: str
    commit: str
    values: Mapping[str, float]
    baseline: str = ""
    changes: Mapping[str, float] = field(default_factory=dict)
    accepted: bool = False


def rankings_digest(run: Run) -> str:
    """A short hash of the rankings of a run."""
    rankings = sorted((id, list(ranking.ids)) for id, ranking in run.first.rankings.items())
    text = json.dumps(rankings).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:16]


def read_history(path: Path, shown: str) -> Sequence[Entry]:
    """The entries of a file, oldest first; none where there is no file yet.

    Raises ``HistoryError``, ``OSError``.
    """
    if not path.exists():
        return []
    entries: list[Entry] = []
    try:
        with open_bytes(path) as file:
            entries += (_entry(line) for line in bounded_lines(file) if line.strip())
    except Unreadable as error:
        raise HistoryError(f"{shown}:{error.line}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        line = len(entries) + 1
        raise HistoryError(
            f"{shown}:{line}: not a line of a history that pytest-irquality wrote"
        ) from None
    return entries


def _entry(line: bytes) -> Entry:
    data = json.loads(line)
    if data.pop("format") != FORMAT or not fits(data, Entry):
        raise ValueError
    return restored(data, Entry)


def record(path: Path, shown: str, new: Iterable[Entry]) -> None:
    """Add entries; a rerun's takes the place of the one before.

    Raises ``HistoryError`` and leaves the file as it is where that holds something else,
    ``OSError``.
    """
    with alone_in(Path(os.path.realpath(path)).parent):
        entries = [*read_history(path, shown)]
        for entry in new:
            place = place_of(entries, entry)
            entries[place : place + 1] = [entry]
        lines = (
            json.dumps({"format": FORMAT, **as_dict(entry)}, ensure_ascii=True).encode() + b"\n"
            for entry in entries
        )
        write(path, lines)


def place_of(entries: Sequence[Entry], new: Entry) -> int:
    """The place where an entry belongs: that of the last of its commit, or the end.

    The last is replaced where it was compared with the same baseline. What asks changing data every
    night may do so for weeks at one commit, each time compared with the night before.
    """
    asked = (new.suite, new.retriever, new.commit)
    alike = [
        place
        for place, entry in enumerate(entries)
        if (entry.suite, entry.retriever, entry.commit) == asked
    ]
    rerun = alike and entries[alike[-1]].baseline == new.baseline
    return alike[-1] if rerun else len(entries)


@dataclass(frozen=True)
class Past:
    """The entries of a suite and retriever, oldest first.

    ``commit`` is that of what is judged now.
    """

    entries: Sequence[Entry]
    commit: str

    def with_now(self, now: Entry) -> Sequence[Entry]:
        """The entries with today's at the end, without an earlier run of its change."""
        place = place_of(self.entries, now)
        return [*self.entries[:place], *self.entries[place + 1 :], now]


def past_of(history: Path, project: Project, target: Target) -> Past:
    """Read the entries of a target. Raises ``HistoryError``."""
    name = (target.suite.path, target.retriever)
    entries = read_history(history, history.name)
    mine = [entry for entry in entries if (entry.suite, entry.retriever) == name]
    return Past(mine, project.commit or now())
