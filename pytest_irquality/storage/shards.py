"""Shares of a suite's queries, one for each of several jobs, joined again to be judged."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    digest,
)
from pytest_irquality.suite.model import Suite


@dataclass(frozen=True)
class Shard:
    """Share ``index`` (from 1) of ``count``.

    The share that a query is in depends on its id and ``count`` alone.
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``2/5``. Raises ``ValueError`` with a clear message."""
        index, _, count = text.partition("/")
        if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
            raise ValueError(
                f"{text!r} is no share: it must be I/N, such as 2/5, with I from 1 to N"
            )
        return cls(int(index), int(count))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def holds(self, id: str) -> bool:
        """Tell whether a query of this id is in this share."""
        return zlib.crc32(id.encode("utf-8", "surrogatepass")) % self.count == self.index - 1

    def of(self, suite: Suite) -> Suite:
        """The suite with this share of its queries."""
        return replace(
            suite, queries=tuple(query for query in suite.queries if self.holds(query.id))
        )


def join(suite: Suite, shares: Sequence[tuple[str, StoredRun]]) -> StoredRun:
    """Make one run of the shares of a suite, each with the name of its file.

    Raises ``StoredRunError`` where a share is missing, is there twice, is of another division or of
    other queries.
    """
    first, wanted = shares[0][1].header, digest(suite)
    seen: dict[Shard, str] = {}
    queries: dict[str, StoredQuery] = {}
    for name, stored in shares:
        shard = parse(stored.header.shard, name)
        wrong = _misfit(stored.header, shard, shares[0], seen)
        if stored.header.digest != wanted:
            wrong = f"is of other queries than {suite.path} has now"
        if wrong:
            raise StoredRunError(f"{name}:1: share {shard} {wrong}")
        seen[shard] = name
        queries |= stored.queries
    if absent := missing(suite, seen, next(iter(seen)).count):
        there = ", ".join(f"{shard} ({name})" for shard, name in seen.items())
        raise StoredRunError(
            f"{suite.path}: share {' and '.join(absent)} is missing; there is {there}"
        )
    versions = {stored.header.version for _, stored in shares}
    header = replace(first, shard=None, version=versions.pop() if len(versions) == 1 else None)
    asked = (*suite.queries, *suite.reworded)
    return StoredRun(
        header, {query.id: queries[query.id] for query in asked if query.id in queries}
    )


def _misfit(
    header: Header, shard: Shard, first: tuple[str, StoredRun], seen: Mapping[Shard, str]
) -> str:
    """Say why a share does not fit those before it; "" where it does."""
    name, stored = first
    # Abbreviated alike everywhere, unlike ``commit``; edits count for nothing.
    mine, theirs = ((one.code or "").partition("+")[0] for one in (header, stored.header))
    if shard in seen:
        return f"is there twice: {seen[shard]} is the other"
    if (mine and theirs and mine != theirs) or header.depth != stored.header.depth:
        return f"and {name} are of other code, or asked for another number of results"
    if any(shard.count != other.count for other in seen):
        return f"is of another division than {name} ({stored.header.shard})"
    return ""


def missing(suite: Suite, seen: Collection[Shard], count: int) -> list[str]:
    """Name the shares that are not there. One that no query falls into has no file."""
    shards = [Shard(index, count) for index in range(1, count + 1)]
    return [
        str(shard)
        for shard in shards
        if shard not in seen and any(shard.holds(query.id) for query in suite.queries)
    ]


def parse(text: str | None, name: str) -> Shard:
    """Read the share that a file says it is. Raises ``StoredRunError``."""
    try:
        return Shard.parse(text or "1/1")
    except ValueError as error:
        raise StoredRunError(f"{name}:1: damaged: {error}") from None
