"""A sample of a query log: which queries to judge, and how many searches each of them stands for.

Queries are drawn with a probability proportional to how often they were searched, at even steps
from a random start (systematic sampling). A query so frequent that it is certain to be drawn stands
for its own searches; every other one stands for ``count / probability`` searches. With these
weights a weighted mean over the sample estimates the mean over all searches without bias.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Literal

Way = Literal["proportional", "stratified"]
WAYS: tuple[Way, ...] = ("proportional", "stratified")

STRATA: Mapping[str, float] = {"head": 0.5, "torso": 0.8, "tail": 1.0}
"""Up to which share of all searches each stratum reaches, most frequent queries first."""


@dataclass(frozen=True)
class Drawn:
    """A query that was drawn: its place in the log, the searches it stands for, its stratum."""

    place: int
    weight: float
    certain: bool
    stratum: str = ""


@dataclass(frozen=True)
class Sample:
    """What was drawn, in the log's order, of how many queries and searches, and how."""

    drawn: tuple[Drawn, ...]
    queries: int
    searches: float
    way: Way
    seed: int

    @property
    def everything(self) -> bool:
        """Whether nothing was left out."""
        return len(self.drawn) == self.queries


def sample(counts: Sequence[float], size: int, way: Way = "proportional", seed: int = 0) -> Sample:
    """Draw ``size`` queries of a log that says how often each was searched; all where it has fewer.

    Queries of count 0 are never drawn, as no search is theirs. ``stratified`` draws as many from
    the head as from the torso and from the tail, where there are as many.
    """
    searched = [place for place, count in enumerate(counts) if count > 0]
    # Most frequent first: even steps then reach every frequency.
    order = sorted(searched, key=lambda place: (-counts[place], place))
    strata = {"": order} if way == "proportional" else _strata(order, counts)
    drawn: list[Drawn] = []
    for name, share in _shares({name: len(some) for name, some in strata.items()}, size).items():
        start = Random(f"{seed} {name}").random()
        drawn += _draw(strata[name], counts, share, start, name)
    in_order = tuple(sorted(drawn, key=lambda one: one.place))
    return Sample(in_order, len(searched), sum(counts[place] for place in searched), way, seed)


def _strata(order: Sequence[int], counts: Sequence[float]) -> dict[str, list[int]]:
    """The queries of each stratum; one belongs where the searches before it end."""
    total = sum(counts[place] for place in order)
    strata: dict[str, list[int]] = {name: [] for name in STRATA}
    names, ends = [*STRATA], [end * total for end in STRATA.values()]
    before = 0.0
    for place in order:
        strata[names[min(bisect_right(ends, before), len(ends) - 1)]].append(place)
        before += counts[place]
    return strata


def _shares(available: Mapping[str, int], size: int) -> dict[str, int]:
    """How many to draw of each stratum: alike, but no more than it has, and of none nothing."""
    shares = dict.fromkeys(available, 0)
    left = min(max(size, sum(map(bool, available.values()))), sum(available.values()))
    while left:
        for name in [name for name in shares if shares[name] < available[name]][:left]:
            shares[name] += 1
            left -= 1
    return shares


def _draw(
    order: Sequence[int], counts: Sequence[float], size: int, start: float, stratum: str
) -> Iterator[Drawn]:
    """``size`` of the queries in ``order``, the certain ones first."""
    certain = certainties([counts[place] for place in order], size)
    for place in order[:certain]:
        yield Drawn(place, counts[place], True, stratum)
    rest, steps = order[certain:], size - certain
    if steps:
        searches = sum(counts[place] for place in rest)
        for chosen in systematic([counts[place] for place in rest], steps, start):
            yield Drawn(rest[chosen], searches / steps, False, stratum)


def certainties(counts: Sequence[float], size: int) -> int:
    """How many of the most frequent queries any such sample would hold; ``counts`` descend."""
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
