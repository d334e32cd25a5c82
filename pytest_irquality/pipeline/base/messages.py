"""Messages between the processes, as files of JSON: today's suites, and the base's answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.storage.target import run_name

COLLECTED, FROM_BASE, ANSWERS, NOTES, RUNS = "collected", "from-base", "answers", "notes", "runs"


class RunOf(NamedTuple):
    """A suite, by its path from git's top folder, and one retriever."""

    suite: str
    retriever: str

    def __str__(self) -> str:
        return run_name(self.suite, self.retriever)


@dataclass(frozen=True)
class Collected:
    """Today's suites and retrievers, and the files that the suites are made of (absolute paths).

    ``retrievers`` are all there are of these suites, ``keys`` those of them that were selected.
    """

    keys: Sequence[RunOf]
    retrievers: Sequence[RunOf]
    files: Sequence[str]

    def of(self, suite: str) -> Sequence[str]:
        """The retrievers of a suite."""
        return [key.retriever for key in self.retrievers if key.suite == suite]

    def write(self, path: Path) -> None:
        """Keep it for another process."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Collected:
        """Read it where another process wrote it. Raises ``OSError``, ``ValueError``."""
        data = json.loads(path.read_text(encoding="utf-8"))
        keys, retrievers = ([RunOf(*key) for key in data[name]] for name in ("keys", "retrievers"))
        return cls(keys, retrievers, data["files"])


@dataclass(frozen=True)
class FromBase:
    """The last words of the base's process.

    ``runs`` are the files it kept, with the suite and retriever of each; ``without`` the suites
    whose fixture it lacks; ``guarded``: no code of the head could answer in it.
    """

    runs: Sequence[tuple[RunOf, str]] = ()
    without: Sequence[str] = ()
    guarded: bool = False

    def write(self, path: Path) -> None:
        """Keep it for the head."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> FromBase:
        """Read it where the base wrote it; without a file the base said nothing."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return cls()
        runs = [(RunOf(*key), file) for key, file in data["runs"]]
        return cls(runs, data["without"], data["guarded"])


@dataclass(frozen=True)
class BaseAnswer:
    """The file of the base's ``run`` for a suite and retriever, or the reason why it is ``new``."""

    key: RunOf
    run: str | None = None
    new: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class BaseAnswers:
    """All that the base answered.

    ``commit`` and ``time`` are the merge base's, ``notes`` hold for every suite. ``differing``
    counts the files, other than tests and suites, that differ between both sides.
    """

    ref: str
    commit: str
    time: str | None
    answers: Sequence[BaseAnswer]
    notes: Sequence[str] = ()
    differing: int = 0

    def of(self, key: RunOf) -> BaseAnswer | None:
        """The answer for a suite and retriever."""
        return next((answer for answer in self.answers if answer.key == key), None)

    def write(self, folder: Path) -> None:
        """Keep it for whoever judges."""
        (folder / ANSWERS).write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> BaseAnswers:
        """Read them in the folder of the base. Raises ``OSError`` where it was not run."""
        data = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
        answers = [
            BaseAnswer(**{**answer, "key": RunOf(*answer["key"])}) for answer in data.pop("answers")
        ]
        return cls(answers=answers, **data)
