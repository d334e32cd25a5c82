"""Harm done on purpose to a suite's own rankings: what of it the gate finds, and what never.

Each way to do it is that of a real bug. What counts as found are failures that the same builds do
not give unharmed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from random import Random
from statistics import fmean, median_low

from pytest_irquality.retrieval.run import Answer, Ranking
from pytest_irquality.suite.by_default import first_mean
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.build_gate import Gate, Units
from pytest_irquality.verdict.gauge_facts import Drop, Harms

SIZES = (0.01, 0.02, 0.05, 0.1, 0.2)
NEAR = 0.25  # of its size: a drop is as large as it should be, give or take so much
TRIALS, HARMS = 12, 300  # judged of each size and way, and of queries or tags in all
LARGE, LEAST = 100_000, 50  # queries judged one by one: fewer are harmed where so many are
QUERIES = 5000  # judged in all trials of a size and way: of large suites there are fewer trials
PAIRS = 5  # of sides that are harmed in turns
FEWEST = 3  # of pairs, where there are as many, before a harm is called never found
FIRST, NEARBY = 3, 10
SEED = 0

Pair = tuple[Units, Units]
Way = Callable[[Suite, Query, Ranking], Sequence[int]]
"""The places of the results that are left, in the order in which they come then."""


def _without_relevant(suite: Suite, query: Query, ranking: Ranking) -> Sequence[int]:
    """Nothing relevant is left, and nothing at all where texts or nobody say what is relevant."""
    gains = query.judgments.gains
    if not gains or suite.reads_texts(query):
        return ()
    return [place for place, id in enumerate(ranking.ids) if id not in gains]


def _without_best(suite: Suite, query: Query, ranking: Ranking) -> Sequence[int]:
    gains = query.judgments.gains
    best = max(ranking.ids, key=lambda id: gains.get(id, 0.0), default=None)
    return [place for place, id in enumerate(ranking.ids) if id != best]


def _in_another_order(suite: Suite, query: Query, ranking: Ranking) -> Sequence[int]:
    draw = Random(query.id)
    keys = [place + NEARBY * draw.random() for place in range(len(ranking.ids))]
    return sorted(range(len(keys)), key=keys.__getitem__)


LOSES_ALL: Way = _without_relevant
SLICE = "a tag's first three results"
WAYS: Mapping[str, Way] = {
    "best documents lost": _without_best,
    "first results lost": lambda suite, query, ranking: range(1, len(ranking.ids)),
    "nothing returned": lambda suite, query, ranking: (),
    "another order": _in_another_order,
    SLICE: lambda suite, query, ranking: range(FIRST, len(ranking.ids)),
    "cut after three": lambda suite, query, ranking: range(min(FIRST, len(ranking.ids))),
}


@dataclass(frozen=True)
class Planting:
    """A gate, and the builds that it compares: pairs of sides, of which the second is harmed."""

    gate: Gate
    pairs: Sequence[Pair]
    harmed: dict[tuple[Way, int], Answer] = field(default_factory=dict)
    losses: dict[tuple[Way, int], Mapping[str, float]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    @cached_property
    def unharmed(self) -> Sequence[frozenset[str]]:
        """The checks that fail without any harm, of each pair."""
        return [self.gate.red(*pair) for pair in self.pairs]

    def found(self, at: int, way: Way, ids: Collection[str]) -> frozenset[str]:
        """The checks that fail where some queries are harmed, and hold where they are not."""
        before, now = self.pairs[at]
        harmed = [tuple(self._harmed(way, one, ids) for one in unit) for unit in now]
        return self.gate.red(before, harmed) - self.unharmed[at]

    def _harmed(self, way: Way, answer: Answer, ids: Collection[str]) -> Answer:
        """An answer in which some queries are harmed."""
        harm = self._harm(way, answer)
        rankings = {**answer.rankings, **{id: harm.rankings[id] for id in ids}}
        return replace(answer, rankings=rankings)

    def _harm(self, way: Way, answer: Answer) -> Answer:
        """An answer in which every query is harmed."""
        key = way, id(answer)
        if key not in self.harmed:
            rankings = {
                query.id: replace(ranking.at(way(self.gate.suite, query, ranking)), scores=None)
                for query in self.gate.queries
                for ranking in [answer.rankings[query.id]]
            }
            self.harmed[key] = replace(answer, rankings={**answer.rankings, **rankings})
        return self.harmed[key]

    # -- drops of a size ---------------------------------------------------------------------------

    @cached_property
    def drops(self) -> tuple[Drop, ...]:
        """Drops of every size that the queries can make."""
        return tuple(filter(None, map(self.drop, SIZES)))

    def drop(self, size: float) -> Drop | None:
        """Drops of a size, and the share found; None where the queries can make none."""
        by_way = {name: found for name in WAYS if (found := [*self._found(name, size)])}
        every = [*chain.from_iterable(by_way.values())]
        if not every:
            return None
        self.broken.update(*self.unharmed, *every)
        ways = ((name, fmean(map(bool, found))) for name, found in by_way.items())
        best_first = tuple(sorted(ways, key=lambda way: -way[1]))
        share = fmean(map(bool, every))
        return Drop(size, share, best_first)

    def _found(self, name: str, size: float) -> Iterator[frozenset[str]]:
        """The checks that find each drop of a size that is made in one way."""
        for trial in range(min(TRIALS, 1 + QUERIES // len(self.gate.queries))):
            at, draw = trial % len(self.pairs), Random(f"{SEED} {name} {size} {trial}")
            if ids := self._chosen(self._losses(at, WAYS[name]), self._order(name, draw), size):
                yield self.found(at, WAYS[name], ids)

    def _order(self, name: str, draw: Random) -> Sequence[str]:
        """The queries (ids) in the order in which they are harmed: one by one, or tag by tag."""
        ids, tags = [query.id for query in self.gate.queries], [*self.gate.suite.tags.values()]
        if name != SLICE:
            return draw.sample(ids, len(ids))
        tagged = chain.from_iterable(draw.sample(tags, len(tags)))
        return [*dict.fromkeys(query.id for query in tagged)]

    def _losses(self, at: int, way: Way) -> Mapping[str, float]:
        """By query what the mean loses where it is harmed, on average over today's builds."""
        key = way, at
        if key not in self.losses:
            self.losses[key] = self._lost_by(at, way)
        return self.losses[key]

    def _lost_by(self, at: int, way: Way) -> Mapping[str, float]:
        gate, (before, now) = self.gate, self.pairs[at]
        measure = first_mean(gate.suite)
        if measure is None:
            return {}
        harmed = [tuple(self._harm(way, one) for one in unit) for unit in now]
        was, then = (
            gate.compared(before, side).pairs(measure, gate.queries) for side in (now, harmed)
        )
        # A measure of a team's own may have no value where nothing is left.
        left = {pair.query: pair.now for pair in then}
        return {
            pair.query: (pair.now - left[pair.query]) / len(was)
            for pair in was
            if pair.query in left
        }

    def _chosen(
        self, losses: Mapping[str, float], order: Sequence[str], size: float
    ) -> Collection[str]:
        """The queries to harm, so that the mean drops by a size; none where it cannot be met."""
        chosen: list[str] = []
        total = 0.0
        for id in order:
            lost = losses.get(id, 0.0)
            if lost and total + lost <= size * (1 + NEAR):
                chosen.append(id)
                total += lost
            if total >= size * (1 - NEAR):
                return chosen
        return ()

    # -- queries and tags --------------------------------------------------------------------------

    def lost(self) -> Harms:
        """One query after the other, each of which loses everything relevant that it found."""
        asked = [one for one in self._drawn if not one.expects_nothing and self._harms(one)]
        found = self._one_by_one({query.id: [query.id] for query in asked}, LOSES_ALL)
        return replace(found, never=tuple(self.gate.suite.by_id[id].text for id in found.never))

    @cached_property
    def _drawn(self) -> Sequence[Query]:
        queries = self.gate.queries
        most = min(HARMS, max(LEAST, LARGE // max(1, len(queries))))
        return queries if len(queries) <= most else Random(SEED).sample(queries, most)

    def _harms(self, query: Query) -> bool:
        """Tell whether a query found anything that it may lose, in any answer of today."""
        answers = chain.from_iterable(chain.from_iterable(now for _, now in self.pairs))
        return any(
            len(self._harm(LOSES_ALL, one).rankings[query.id].ids) < len(one.rankings[query.id].ids)
            for one in answers
        )

    def broken_tags(self) -> Harms:
        """One tag after the other, of which each query loses its first results."""
        answered = {query.id for query in self.gate.queries}
        tags = {
            tag: [query.id for query in queries if query.id in answered]
            for tag, queries in self.gate.suite.tags.items()
        }
        return self._one_by_one({tag: ids for tag, ids in tags.items() if ids}, WAYS[SLICE])

    def _one_by_one(self, harmed: Mapping[str, Sequence[str]], way: Way) -> Harms:
        most = max(FEWEST, HARMS // max(1, len(harmed)))
        pairs = range(min(len(self.pairs), most))
        found = {
            name: [bool(self.found(at, way, ids)) for at in pairs] for name, ids in harmed.items()
        }
        return Harms(
            len(found),
            fmean(map(fmean, found.values())) if found else 0.0,
            tuple(name for name, times in found.items() if not any(times)),
            median_low(map(len, harmed.values())) if harmed else 0,
        )

    def unbroken(self) -> tuple[str, ...]:
        """The limits on means of relevance, as written, that held through every drop."""
        held = (one for one in self.gate.checks if self.drops and one.name not in self.broken)
        return tuple(
            check.label
            for check in held
            if check.limits and check.limits.measure.needs_relevant
            if check.over.means and not check.by_default
        )
