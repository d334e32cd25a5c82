"""Messages between the processes, as files of JSON: today's suites, and the base's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from pytest_irquality.edges.codec import decode, encode
from pytest_irquality.storage.target import run_name

COLLECTED, FROM_BASE, ANSWERS, NOTES, RUNS = "collected", "from-base", "answers", "notes", "runs"
M = TypeVar("M", bound="Message")


class Message:
    """Something that one process leaves in a file for another."""

    def write(self, path: Path) -> None:
        """Leave it. Raises ``OSError``."""
        path.write_text(encode(self), encoding="utf-8")

    @classmethod
    def read(cls: type[M], path: Path) -> M:
        """Take it up again. Raises ``OSError`` where nothing was left, ``ValueError``."""
        return decode(path.read_text(encoding="utf-8"), cls)


class RunOf(NamedTuple):
    """A suite, by its path from git's top folder, and one retriever."""

    suite: str
    retriever: str

    def __str__(self) -> str:
        return run_name(self.suite, self.retriever)


@dataclass(frozen=True)
class Collected(Message):
    """Today's suites and retrievers, and the files that the suites are made of (absolute paths).

    ``retrievers`` are all there are of these suites, ``keys`` those of them that were selected.
    """

    keys: Sequence[RunOf]
    retrievers: Sequence[RunOf]
    files: Sequence[str]

    def of(self, suite: str) -> Sequence[str]:
        """The retrievers of a suite."""
        return [key.retriever for key in self.retrievers if key.suite == suite]


@dataclass(frozen=True)
class FromBase(Message):
    """The last words of the base's process.

    ``runs`` are the files it kept, with the suite and retriever of each; ``without`` the suites
    whose fixture it lacks; ``guarded``: no code of the head could answer in it.
    """

    runs: Sequence[tuple[RunOf, str]] = ()
    without: Sequence[str] = ()
    guarded: bool = False

    @classmethod
    def read(cls, path: Path) -> FromBase:
        """Take it up; nothing was said where the process ended before it could."""
        try:
            return super().read(path)
        except (OSError, ValueError):
            return cls()


@dataclass(frozen=True)
class BaseAnswer:
    """The file of the base's ``run`` for a suite and retriever, or the reason why it is ``new``."""

    key: RunOf
    run: str | None = None
    new: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class BaseAnswers(Message):
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
