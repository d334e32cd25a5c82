"""A sample of a query log: which queries to judge, and how many searches each of them stands for.

Queries are drawn with a probability proportional to how often they were searched, at even steps
from a random start (systematic sampling). A query so frequent that it is certain to be drawn stands
for its own searches; every other one stands for ``count / probability`` searches. With these
weights a weighted mean over the sample estimates the mean over all searches without bias.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

START = 0.8444218515250481
"""The random start, drawn once: a share of a step."""


@dataclass(frozen=True)
class Drawn:
    """A query that was drawn: its place in the log, and the searches it stands for."""

    place: int
    weight: float
    certain: bool


@dataclass(frozen=True)
class Sample:
    """The queries that were drawn, in the log's order, of how many queries and searches."""

    drawn: tuple[Drawn, ...]
    queries: int
    searches: float

    @property
    def everything(self) -> bool:
        """True where nothing was left out."""
        return len(self.drawn) == self.queries


def sample(counts: Sequence[float], size: int) -> Sample:
    """Draw ``size`` queries of a log that says how often each was searched; all where it has fewer.

    Queries of count 0 are never drawn, as no search is theirs.
    """
    searched = [place for place, count in enumerate(counts) if count > 0]
    drawn = draw(counts, searched, min(size, len(searched)), START)
    in_order = tuple(sorted(drawn, key=lambda one: one.place))
    return Sample(in_order, len(searched), sum(counts[place] for place in searched))


def draw(
    counts: Sequence[float], searched: Sequence[int], size: int, start: float
) -> Iterator[Drawn]:
    """``size`` of the queries that were ``searched`` (places in the log), the certain ones first.

    ``start`` is in [0, 1).
    """
    # Most frequent first: even steps then reach every frequency.
    order = sorted(searched, key=lambda place: (-counts[place], place))
    certain = certainties([counts[place] for place in order], size)
    for place in order[:certain]:
        yield Drawn(place, counts[place], True)
    rest, steps = order[certain:], size - certain
    if steps:
        searches = sum(counts[place] for place in rest)
        for chosen in systematic([counts[place] for place in rest], steps, start):
            yield Drawn(rest[chosen], searches / steps, False)


def certainties(counts: Sequence[float], size: int) -> int:
    """The number of most frequent queries that any such sample would hold; ``counts`` descend."""
    rest = sum(counts)
    for certain, count in enumerate(counts):
        if certain >= size or count * (size - certain) < rest:
            return certain
        rest -= count
    return len(counts)


def systematic(counts: Sequence[float], size: int, start: float) -> list[int]:
    """``size`` places, one at each step of a walk along the counts; ``start`` is in [0, 1)."""
    ends = [*accumulate(counts)]
    step = ends[-1] / size
    return [min(bisect_right(ends, (n + start) * step), len(ends) - 1) for n in range(size)]
