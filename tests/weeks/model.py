"""What is true of a team's search and of its suites, and what that makes of a run: nothing here knows the product.

A ranking is a list of ids, and nothing is tied. A suite has one line of limits on mrr@10, a floor and a drop, a guard on
queries that lose all, and a rule on some queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

Ranking = list[str]
Rankings = dict[str, Ranking]
DEPTH = 10
LIMIT, GUARD, EXAM = "mrr-10", "each_query-lost_all_relevant", "exam-of-the-base"
EQUAL = 1e-9


@dataclass
class Query:
    """What is expected: relevant documents, and a rule: one of them, and its lowest rank."""

    relevant: list[str]
    rule: tuple[str, int] | None = None

    def score(self, ranking: Ranking) -> float:
        ranks = [ranking.index(id) + 1 for id in self.relevant if id in ranking[:DEPTH]]
        return 1 / min(ranks) if ranks else 0.0

    def kept(self, ranking: Ranking) -> bool:
        """Whether the rule holds."""
        return self.rule is None or self.rule[0] in ranking[: self.rule[1]]


@dataclass
class Suite:
    floor: float | None
    drop: float
    queries: dict[str, Query]

    def text(self) -> str:
        """The YAML."""
        floor = "" if self.floor is None else f"min: {self.floor}, "
        limits = f"thresholds:\n  mrr@10: {{{floor}max_drop: {self.drop}}}\n"
        lines = ["metrics: [mrr@10]\n", limits, "queries:\n"]
        for text, query in self.queries.items():
            rule = f", must_find: {{{query.rule[0]}: {query.rule[1]}}}" if query.rule else ""
            lines.append(f"  - {{query: {text}, relevant: [{', '.join(query.relevant)}]{rule}}}\n")
        return "".join(lines)

    def mean(self, rankings: Rankings, over: Iterable[str]) -> float:
        scores = [self.queries[text].score(rankings[text]) for text in over]
        return sum(scores) / len(scores)

    def floor_holds(self, now: Rankings) -> bool:
        return self.floor is None or self.mean(now, self.queries) >= self.floor - EQUAL

    def fell(self, before: Rankings, now: Rankings) -> bool:
        """Whether the mean of the queries that both sides have fell too far."""
        over = [text for text in self.queries if text in before]
        return bool(over) and self.mean(before, over) - self.mean(now, over) > self.drop + EQUAL

    def lost(self, before: Rankings, now: Rankings) -> bool:
        """Whether a query lost all of its relevant documents."""
        return any(
            query.score(before[text]) and not query.score(now[text])
            for text, query in self.queries.items()
            if text in before
        )


@dataclass
class State:
    """A commit: what search returns, the suites, and the rankings that are stored for each."""

    search: Rankings = field(default_factory=dict)
    suites: dict[str, Suite] = field(default_factory=dict)
    stored: dict[str, Rankings] = field(default_factory=dict)

    def copy(self) -> State:
        return deepcopy(self)

    def suite_of(self, text: str) -> str:
        return next(name for name, suite in self.suites.items() if text in suite.queries)


def baseline_of(name: str, today: State, base: State) -> Rankings | None:
    """The stored rankings of a suite: its own, or those of all that are gone and share half of the smaller one's queries.

    What others left lying counts for a suite that the base had; for another only where no suite left since. Of what two
    of them have the one counts that shares most.
    """
    if name in base.stored:
        return base.stored[name]
    queries = today.suites[name].queries
    found = [
        (old in base.suites, len(rankings.keys() & queries), rankings)
        for old, rankings in base.stored.items()
        if old not in today.suites
        and 2 * len(rankings.keys() & queries) >= min(len(rankings), len(queries))
    ]
    found = [one for one in found if one[0] != (name in base.suites)] or found
    least_first = sorted(found, key=lambda one: one[1])
    return {k: v for *_, its in least_first for k, v in its.items()} if found else None


def compared_with(name: str, today: State, base: State) -> Rankings | None:
    """What a suite is compared with: its baseline, and that of another of the base's suites for each query that moved."""
    own = baseline_of(name, today, base)
    moved = {
        text: ranking
        for old, suite in base.suites.items()
        for text, ranking in (baseline_of(old, base, base) or {}).items()
        if text in suite.queries and text in today.suites[name].queries
    }
    return None if own is None and not moved else {**moved, **(own or {})}


def outcomes(
    today: State, base: State, head: Mapping[str, Rankings] | None = None, *, exam: bool = False
) -> dict[tuple[str, str], str]:
    """The outcome of each check of today's suites against what is stored in a base.

    ``head`` are the rankings that HEAD commits, which may accept a drop. A suite that the base has, and of which nothing
    is stored anywhere, fails its limit on a drop, but in an ``exam``.
    """
    told = {}
    now = today.search
    for name, suite in today.suites.items():
        for text, query in suite.queries.items():
            told[name, text] = "passed" if query.kept(now[text]) else "failed"
        before = compared_with(name, today, base)
        told[name, LIMIT] = "passed" if suite.floor_holds(now) else "failed"
        if before is None:
            if name in base.suites and name not in today.stored and not exam:
                told[name, LIMIT] = "failed"
            continue
        committed = (head or {}).get(name, {})
        taken = {text: its for text, its in committed.items() if now.get(text) == its or text not in before}  # fmt: skip
        anew = {**before, **taken}
        asked = {text for one in base.suites.values() for text in one.queries}
        idle = bool(asked & suite.queries.keys()) and not before.keys() & suite.queries
        still = (
            idle and not anew.keys() & suite.queries
        )  # nothing can be compared, and not all are new
        if told[name, LIMIT] == "passed" and (idle or suite.fell(before, now)):
            told[name, LIMIT] = "failed" if still or suite.fell(anew, now) else "accepted"
        told[name, GUARD] = "passed"
        if idle or suite.lost(before, now):
            told[name, GUARD] = "failed" if still or suite.lost(anew, now) else "accepted"
    return told


def exam_fails(today: State, base: State) -> bool:
    """Whether today's search breaks anything that the base's suites demand."""
    now = State(today.search, base.suites, {})
    return "failed" in outcomes(now, base, exam=True).values()


def verdict(today: State, base: State, head: Mapping[str, Rankings]) -> str:
    """What a change is against the base: failed, accepted or passed."""
    told = set(outcomes(today, base, head).values())
    if "failed" in told:
        return "failed"
    return "accepted" if "accepted" in told or exam_fails(today, base) else "passed"


def merged(ours: State, theirs: State, base: State) -> State:
    """Both sides' search, and theirs' judgments of each query that ours left alone, in ours' suites."""
    both = ours.copy()
    for text, ranking in theirs.search.items():
        if ours.search.get(text) == base.search.get(text):
            both.search[text] = list(ranking)
    old = {text: query for suite in base.suites.values() for text, query in suite.queries.items()}
    for suite in theirs.suites.values():
        for text, query in suite.queries.items():
            mine = next((one.queries for one in both.suites.values() if text in one.queries), None)
            if mine is not None and text in old and mine[text] == old[text]:
                mine[text] = deepcopy(query)
    return both
