"""A run: what a retriever returned, as plain text and numbers whatever the engine's own types were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ranking:
    """The documents returned for one query, best first, duplicates and all.

    ``scores`` has one number a document, or is None where the engine gives none. ``seconds`` is the time of the call.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    seconds: float | None = None

    def collapsed(self, depth: int) -> tuple[str, ...]:
        """The first ``depth`` documents, later copies of a document removed and the ranks closed up."""
        return tuple(dict.fromkeys(self.ids[:depth]))


@dataclass(frozen=True)
class Fault:
    """Why one query has no ranking. ``error`` is what was raised; it stays in this process."""

    message: str
    error: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def cause(self) -> str:
        """What queries that failed alike have in common."""
        return self.message


@dataclass(frozen=True)
class Run:
    """The rankings of the queries that were answered and the faults of those that were not, by query id.

    ``titles`` holds the words that results came with, by document id: a title belongs to a document, not to a query.
    ``texts`` holds whole passages by document id, kept only for suites that match by text. ``depth`` is the number of
    results asked for, where a kept run says so; ``version`` the retriever's own.
    """

    retriever: str
    rankings: Mapping[str, Ranking]
    faults: Mapping[str, Fault] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    depth: int | None = None
    interrupted: bool = False
