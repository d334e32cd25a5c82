"""The gate of a suite over builds of which each ranking is scored once, however often it is judged.

Limits, guards and rules are held against figures that were worked out the first time, by the same
functions as elsewhere; a check that needs more than these is judged as any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain
from operator import and_, or_
from typing import NamedTuple

from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.demands import Guard
from pytest_irquality.suite.model import Check, Limits, Query, Suite, VariantLimits
from pytest_irquality.suite.rules import Rule
from pytest_irquality.verdict.checks import CheckJudge
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.held import Columns, Held, Units, broken, units_of
from pytest_irquality.verdict.noise import exceeds_wavering
from pytest_irquality.verdict.scoring import Scoring, defined_for
from pytest_irquality.verdict.sides import Sides


@dataclass(frozen=True)
class Harmed(Answer):
    """An answer in which the rankings of some queries (ids) are others than in ``base``."""

    base: Answer = field(default_factory=lambda: Answer({}))
    changed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, base: Answer, changed: Mapping[str, Ranking]) -> Harmed:
        """An answer with some other rankings."""
        rankings = {**base.rankings, **changed}
        return cls(rankings, build=base.build, base=base, changed=frozenset(changed))


class Seen(NamedTuple):
    """An answer as it is compared, with ties in the order of the baseline's first.

    ``values`` has a column for each measure; ``found`` a bit for each query that has what a guard
    watches over, by the guard's key. Queries stand in the suite's order.
    """

    values: Mapping[Measure, list[float]]
    found: Mapping[str, int]


@dataclass(frozen=True)
class Gate:
    """Judges builds against builds by the checks of a suite.

    ``run`` has all builds, and what is not in their rankings: stages and variants. ``before`` is
    the baseline's.
    """

    suite: Suite
    run: Run
    before: Run | None
    scoring: Scoring
    known: dict[tuple[int, int], tuple[Answer, Answer, Seen]] = field(default_factory=dict)
    broken: dict[int, tuple[Answer, frozenset[str]]] = field(default_factory=dict)

    def red(self, before: Units, now: Units) -> frozenset[str]:
        """The names of the checks that fail where some builds are compared with others."""
        found = chain(
            self._by_limits(before, now),
            self._by_guards(before, now),
            self._by_rules([*chain.from_iterable(now)]),
            self._by_others(before, now),
        )
        return frozenset(check.name for check in found)

    # -- what there is to judge --------------------------------------------------------------------

    @cached_property
    def queries(self) -> Sequence[Query]:
        """The queries that every build answered, and the baseline where there is one."""
        answered = self.run.answered & (self.before or self.run).answered
        return [query for query in self.suite.queries if query.id in answered]

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The place of each query in a column."""
        return {query.id: place for place, query in enumerate(self.queries)}

    @cached_property
    def checks(self) -> Sequence[Check]:
        """The checks that can fail on these answers."""
        return [check for check in self.suite.checks if self._can_fail(check)]

    def _can_fail(self, check: Check) -> bool:
        lacking = sum(query.id not in self.run.answered for query in self.suite.needed(check))
        if lacking > (0 if check.query else self.suite.max_errors) or check.demand.known_issue:
            return False
        return check.demand.can_fail

    @cached_property
    def held(self) -> Sequence[Held]:
        """Every bound that the values of rankings decide."""
        return [
            Held(check, limits.measure, bound, subject, weights)
            for check in self.checks
            if check not in self._others
            for limits in check.all_limits
            for subject, queries in self._subjects(check)
            if (weights := self._weights(limits.measure, queries))
            for bound in limits.bounds
            if bound.fails
        ]

    def _subjects(self, check: Check) -> Iterable[tuple[str, Sequence[Query]]]:
        if check.over.queries:
            return [(query.id, [query]) for query in self.suite.needed(check)]
        if check.over.each_tag:
            return self.suite.tags.items()
        return [(check.tag or "", self.suite.tagged(check.tag))]

    def _weights(self, measure: Measure, queries: Sequence[Query]) -> Mapping[int, float]:
        of_each = (
            (self.place[query.id], query.weight if measure.weighted else 1.0)
            for query in queries
            if query.id in self.place and defined_for(self.suite, measure, query)
        )
        return {place: weight for place, weight in of_each if weight}

    @cached_property
    def _guards(self) -> Sequence[tuple[Check, Guard]]:
        return [(check, check.demand) for check in self.checks if isinstance(check.demand, Guard)]

    @cached_property
    def _others(self) -> Sequence[Check]:
        """The checks that read more than rankings."""
        return [check for check in self.checks if any(map(_reads_more, check.all_limits))]

    # -- figures, once a ranking -------------------------------------------------------------------

    def seen(self, first: Answer, answer: Answer) -> Seen:
        """An answer with its ties in the order of another; by itself it is as it was returned."""
        if isinstance(answer, Harmed):
            base = self.seen(answer.base if first is answer else first, answer.base)
            return self._with(base, first, answer, answer.changed, Scoring(self.suite))
        key = id(first), id(answer)
        if key not in self.known:
            columns = dict.fromkeys((held.measure for held in self.held), [0.0] * len(self.place))
            seen = self._with(Seen(columns, {}), first, answer, self.place, self.scoring)
            self.known[key] = first, answer, seen  # which keeps the ids of both theirs
        return self.known[key][2]

    def _with(
        self, seen: Seen, first: Answer, answer: Answer, ids: Collection[str], scoring: Scoring
    ) -> Seen:
        """The figures with those of some queries from another answer."""
        queries = tuple(query for query in self.queries if query.id in ids)
        of_them = replace(self.suite, queries=queries)
        sides = Sides(of_them, Run("", (answer,)), Run("", (first,)))
        scores = scoring.scores(answer, sides.aligned)
        values = {measure: [*column] for measure, column in seen.values.items()}
        for measure, column in values.items():
            for query in queries:
                column[self.place[query.id]] = scores.value(query.id, measure) or 0.0
        found = {
            check.name: self._bits(guard, sides, seen.found.get(check.name, 0))
            for check, guard in self._guards
        }
        return Seen(values, found)

    def _bits(self, guard: Guard, sides: Sides, bits: int) -> int:
        """The bits of a guard, with those of the queries of some sides."""
        top_k = self.suite.top_k
        for query in sides.suite.queries:
            top, then = sides.aligned[query.id][:top_k], sides.before[query.id][:top_k]
            has = not query.expects_nothing and guard.has(top, query.judgments.relevant, then)
            bit = 1 << self.place[query.id]
            bits = bits | bit if has else bits & ~bit
        return bits

    # -- limits and guards -------------------------------------------------------------------------

    def _by_limits(self, before: Units, now: Units) -> Iterator[Check]:
        def values(first: Answer, answer: Answer, measure: Measure) -> Sequence[float]:
            return self.seen(first, answer).values[measure]

        return broken(self.held, Columns(values, before, now))

    def _by_guards(self, before: Units, now: Units) -> Iterator[Check]:
        first, then, today = before[0][0], units_of(before), units_of(now)
        for check, guard in self._guards:
            was, found = (
                [
                    reduce(or_, (self.seen(first, answer).found[check.name] for answer in unit))
                    for unit in side
                ]
                for side in (then, today)
            )
            lost = reduce(and_, was) & ~reduce(or_, found)
            if guard.refuses(lost.bit_count()):
                wavering = _wavering(was, found)
                if exceeds_wavering(lost.bit_count(), wavering, len(was), len(found)):
                    yield check

    # -- rules, and what is judged as ever ---------------------------------------------------------

    def _by_rules(self, now: Sequence[Answer]) -> Iterator[Check]:
        """A rule that each answer keeps holds; the others are judged over all answers."""
        for id in frozenset().union(*map(self._breaking, now)):
            yield from self._broken(self.suite.by_id[id], now)

    def _breaking(self, answer: Answer) -> frozenset[str]:
        """The queries of which an answer breaks a rule."""
        if isinstance(answer, Harmed):
            changed = [id for id in answer.changed if self._breaks(id, answer)]
            return (self._breaking(answer.base) - answer.changed).union(changed)
        if id(answer) not in self.broken:
            ids = frozenset(id for id in self.place if self._breaks(id, answer))
            self.broken[id(answer)] = answer, ids
        return self.broken[id(answer)][1]

    def _breaks(self, id: str, answer: Answer) -> bool:
        return any(self._broken(self.suite.by_id[id], [answer]))

    def _broken(self, query: Query, answers: Sequence[Answer]) -> Iterator[Check]:
        rules = self._rules[query.id]
        if not rules:
            return
        sides = Sides(replace(self.suite, queries=(query,)), Run("", tuple(answers)))
        judge = CheckJudge(Comparison(sides, self.scoring), False)
        for check, rule in rules:
            if any(finding.breaks for finding in judge.rule(rule, query)):
                yield check

    @cached_property
    def _rules(self) -> Mapping[str, Sequence[tuple[Check, Rule]]]:
        """The rules that each query is held to."""
        of_all = [(check, check.demand) for check in self.checks if isinstance(check.demand, Rule)]
        rules = {id: [*of_all] for id in self.place}
        for check in self.checks:
            if check.query:
                rules[check.query.id] += ((check, rule) for rule in check.query.rules)
        return rules

    def _by_others(self, before: Units, now: Units) -> Iterator[Check]:
        if not self._others:
            return
        sides = Sides(self.suite, self._run(now), self._run(before))
        judge = CheckJudge(Comparison(sides, self.scoring, Baseline("", len(self.place))), False)
        for check in self._others:
            if judge.verdict(check).outcome == "failed":
                yield check

    def _run(self, units: Units) -> Run:
        """Some builds as a side, with their stages and variants."""
        answers = tuple(chain.from_iterable(units))
        builds = {answer.build for answer in answers}
        kept = self.before and any(one is answers[0] for one in self.before.answers)
        source = self.before if self.before and kept else self.run

        def of_builds(run: Run) -> Run:
            return replace(run, answers=tuple(one for one in run.answers if one.build in builds))

        stages = {name: of_builds(stage) for name, stage in source.stages.items()}
        variants = source.variants and of_builds(source.variants)
        return replace(source, answers=answers, stages=stages, variants=variants)


def _wavering(was: Sequence[int], now: Sequence[int]) -> int:
    """The number of queries that chance could have lost (see ``wavering.py``), of bits of each."""
    lost = reduce(and_, was) & ~reduce(or_, now)
    got_better = ~reduce(or_, was) & reduce(and_, now)
    others = reduce(or_, (*was, *now)) & ~lost & ~got_better
    found = 0
    while others:
        bit = others & -others
        others ^= bit
        found += sum(bool(bits & bit) for bits in (*was, *now)) == len(was)
    return found


def _reads_more(limits: Limits) -> bool:
    """Tell whether limits are on more than what rankings score by themselves."""
    measure = limits.measure
    of_rankings = measure.aggregate in ("mean", "sum") and measure.unit != "seconds"
    beside = measure.stage or measure.definition.compares or isinstance(limits, VariantLimits)
    return bool(beside) or not of_rankings
