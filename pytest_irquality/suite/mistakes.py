"""Mistakes of a suite file: each is one line with its place, and all are told together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from yaml.events import Event, ScalarEvent

T = TypeVar("T")
E = TypeVar("E")
MOST_TOLD, MOST_KEPT = 10, 100
"""Mistakes of a file that its error tells, and after which nobody reads on."""


class Mistake(Exception):
    """Bad input, of which a file may hold several."""

    path: str

    def with_others(self, others: Sequence[Mistake]) -> Mistake:
        """The error with others of the same file, a line each, at most ten."""
        lines = [str(error) for error in (self, *others[: MOST_TOLD - 1])]
        if len(others) >= MOST_TOLD:
            lines.append(f"{self.path}: and {len(others) - MOST_TOLD + 1} more")
        Exception.__init__(self, "\n".join(lines))
        return self


class Mistakes:
    """Reads on behind what is wrong. ``depth`` is how many collections are open.

    ``is_over``: nothing can be read behind a mistake, so the first one is raised where it stands.
    """

    def __init__(self, events: Iterator[Event], is_over: bool) -> None:
        self.events = events
        self.depth = 0
        self.is_over: bool = is_over
        self.mistakes: list[Mistake] = []

    def tried(self, read: Callable[[Event], T], event: Event) -> Iterator[T]:
        """The value that begins with an event; nothing where it is a mistake.

        ``finish`` raises that. Reading goes on behind it.
        """
        level, known = self.depth - (type(event) is not ScalarEvent), len(self.mistakes)
        try:
            yield read(event)
        except Mistake as error:
            if self.is_over or len(self.mistakes) == MOST_KEPT:
                raise
            if len(self.mistakes) == known:  # else it is told what is wrong there
                self._note(error)
            while self.depth > level:
                next(self.events)

    def each(self, make: Callable[[E], T], entries: Iterable[E]) -> Iterator[T]:
        """Results of a function for each entry; in the end, all of its mistakes are raised."""
        for entry in entries:
            try:
                yield make(entry)
            except Mistake as error:
                self._note(error)
        self.tell()

    def _note(self, mistake: Mistake) -> None:
        self.mistakes.append(mistake)
        if len(self.mistakes) == MOST_KEPT:
            self.tell()

    def tell(self) -> None:
        """Raise all that were found, unless one has been raised that nothing can follow."""
        if self.mistakes and not self.is_over:
            self.is_over = True
            raise self.mistakes[0].with_others(self.mistakes[1:])
