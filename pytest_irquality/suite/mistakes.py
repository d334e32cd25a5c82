"""Mistakes in suites and their files, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pytest_irquality.io.escaping import clip, escape_log_line
from pytest_irquality.io.text import format_count

MAX_LISTED_MISTAKES = 10
MAX_COLLECTED_MISTAKES = 100
MAX_QUOTED_LENGTH = 60  # characters


class Location(NamedTuple):
    """A place in a suite or one of its files. ``str()`` gives a clickable ``path:line``."""

    path: str = ""
    line: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Mistake(Exception):
    """One mistake in a file.

    Attributes:
        path: The file, or an empty string for the file that is being read.
    """

    def __init__(self, line: int, message: str, path: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.path = path


class SuiteError(Exception):
    """A suite cannot be read. The message has one line ``path:line: message`` for each mistake.

    Attributes:
        location: The place of the first mistake.
    """

    def __init__(self, mistakes: Sequence[Mistake], path: str) -> None:
        lines = []
        for mistake in mistakes[:MAX_LISTED_MISTAKES]:
            lines.append(f"{Location(mistake.path or path, mistake.line)}: {mistake}")
        hidden = len(mistakes) - MAX_LISTED_MISTAKES
        if hidden > 0:
            lines.append(f"{path}: and {format_count(hidden, 'more mistake')}")
        super().__init__("\n".join(map(escape_log_line, lines)))
        self.location: Location = Location(mistakes[0].path or path, mistakes[0].line)


class MistakeList:
    """The mistakes of a suite and its files, which are reported together.

    Attributes:
        path: The suite.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._mistakes: list[Mistake] = []

    def add(self, mistake: Mistake, path: str = "") -> None:
        """Add a mistake in the suite or in another file.

        Raises:
            SuiteError: There are too many mistakes to go on.
        """
        mistake.path = mistake.path or path
        if mistake.path == self.path:
            mistake.path = ""
        self._mistakes.append(mistake)
        if len(self._mistakes) >= MAX_COLLECTED_MISTAKES:
            raise self.make_error()

    @contextmanager
    def collect(self, path: str = "") -> Iterator[None]:
        """Add a mistake that the block raises, and go on after the block."""
        try:
            yield
        except Mistake as mistake:
            self.add(mistake, path)

    def make_error(self) -> SuiteError:
        """Make the error with all mistakes. Those of the suite come first, by line."""
        ordered = sorted(self._mistakes, key=lambda mistake: (mistake.path, mistake.line))
        return SuiteError(ordered, self.path)

    def raise_any(self) -> None:
        """Raise a ``SuiteError`` if there are mistakes."""
        if self._mistakes:
            raise self.make_error()


def shorten(text: str) -> str:
    """Cut a value to a length that fits in a line."""
    return clip(text, MAX_QUOTED_LENGTH)


def quote(text: str) -> str:
    """Quote a value for a message, cut to a length that fits in a line."""
    return f"'{shorten(text)}'"
