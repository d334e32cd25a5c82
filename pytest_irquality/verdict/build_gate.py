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
from pytest_irquality.retrieval.run import Answer, Run
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.by_default import means_of_relevance
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
    """An answer in which some queries (ids) have the rankings of another, ``harm``."""

    base: Answer = field(default_factory=lambda: Answer({}))
    harm: Answer = field(default_factory=lambda: Answer({}))
    changed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, base: Answer, harm: Answer, changed: Collection[str]) -> Harmed:
        """An answer with some rankings of another."""
        rankings = {**base.rankings, **{id: harm.rankings[id] for id in changed}}
        return cls(rankings, build=base.build, base=base, harm=harm, changed=frozenset(changed))


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
            if (weights := self.weights(limits.measure, queries))
            for bound in limits.bounds
            if bound.fails
        ]

    def _subjects(self, check: Check) -> Iterable[tuple[str, Sequence[Query]]]:
        if check.over.queries:
            return [(query.id, [query]) for query in self.suite.needed(check)]
        if check.over.each_tag:
            return self.suite.tags.items()
        return [(check.tag or "", self.suite.tagged(check.tag))]

    def weights(self, measure: Measure, queries: Sequence[Query]) -> Mapping[int, float]:
        """The weights of some queries in a mean, by their place."""
        of_each = (
            (self.place[query.id], query.weight if measure.weighted else 1.0)
            for query in queries
            if query.id in self.place and defined_for(self.suite, measure, query)
        )
        return {place: weight for place, weight in of_each if weight}

    @cached_property
    def guards(self) -> Sequence[tuple[Check, Guard]]:
        """The checks that are guards."""
        return [(check, check.demand) for check in self.checks if isinstance(check.demand, Guard)]

    @cached_property
    def _others(self) -> Sequence[Check]:
        """The checks that read more than rankings."""
        return [check for check in self.checks if any(map(_reads_more, check.all_limits))]

    # -- figures, once a ranking -------------------------------------------------------------------

    def seen(self, first: Answer, answer: Answer) -> Seen:
        """An answer with its ties in the order of another; by itself it is as it was returned."""
        if isinstance(answer, Harmed):
            parts = answer.base, answer.harm
            base, harm = (self.seen(one if first is answer else first, one) for one in parts)
            return self._mixed(base, harm, answer.changed)
        key = id(first), id(answer)
        if key not in self.known:
            self.known[key] = first, answer, self._seen(first, answer)  # keeps the ids theirs
        return self.known[key][2]

    def _mixed(self, base: Seen, harm: Seen, changed: Collection[str]) -> Seen:
        """The figures with those of some queries from others."""
        places = [self.place[id] for id in changed]
        mask = reduce(or_, (1 << place for place in places), 0)
        values = {measure: [*column] for measure, column in base.values.items()}
        for measure, column in values.items():
            for place in places:
                column[place] = harm.values[measure][place]
        bits = base.found.items()
        return Seen(values, {key: had & ~mask | harm.found[key] & mask for key, had in bits})

    def _seen(self, first: Answer, answer: Answer) -> Seen:
        suite = replace(self.suite, queries=tuple(self.queries))
        sides = Sides(suite, Run("", (answer,)), Run("", (first,)))
        scores = self.scoring.scores(answer, sides.aligned)
        columns = {
            measure: [scores.value(query.id, measure) or 0.0 for query in self.queries]
            for measure in self.measures
        }
        return Seen(columns, {check.name: self._bits(guard, sides) for check, guard in self.guards})

    @cached_property
    def measures(self) -> Collection[Measure]:
        """The measures that bounds are on, and those shown that are means of relevance."""
        limited = (held.measure for held in self.held)
        return dict.fromkeys([*limited, *means_of_relevance(self.suite)])

    def _bits(self, guard: Guard, sides: Sides) -> int:
        bits, top_k = 0, self.suite.top_k
        for place, query in enumerate(self.queries):
            top, then = sides.aligned[query.id][:top_k], sides.before[query.id][:top_k]
            if not query.expects_nothing and guard.has(top, query.judgments.relevant, then):
                bits |= 1 << place
        return bits

    # -- limits and guards -------------------------------------------------------------------------

    def _by_limits(self, before: Units, now: Units) -> Iterator[Check]:
        return broken(self.held, self.columns(before, now))

    def columns(self, before: Units, now: Units) -> Columns:
        """The means of both sides."""

        def values(first: Answer, answer: Answer, measure: Measure) -> Sequence[float]:
            return self.seen(first, answer).values[measure]

        return Columns(values, before, now)

    def _by_guards(self, before: Units, now: Units) -> Iterator[Check]:
        lost = self.lost(before, now)
        return (check for check, guard in self.guards if guard.refuses(lost[check.name]))

    def lost(self, before: Units, now: Units) -> Mapping[str, int]:
        """By guard the number of queries lost; none where wavering may lose as many."""
        first, then, today = before[0][0], units_of(before), units_of(now)
        number = {}
        for check, _ in self.guards:
            was, found = (
                [
                    reduce(or_, (self.seen(first, answer).found[check.name] for answer in unit))
                    for unit in side
                ]
                for side in (then, today)
            )
            lost = (reduce(and_, was) & ~reduce(or_, found)).bit_count()
            beyond = lost and exceeds_wavering(lost, _wavering(was, found), len(was), len(found))
            number[check.name] = lost if beyond else 0
        return number

    # -- rules, and what is judged as ever ---------------------------------------------------------

    def _by_rules(self, now: Sequence[Answer]) -> Iterator[Check]:
        """A rule that each answer keeps holds; the others are judged over all answers."""
        for id in frozenset().union(*map(self._breaking, now)):
            yield from self._broken(self.suite.by_id[id], now)

    def _breaking(self, answer: Answer) -> frozenset[str]:
        """The queries of which an answer breaks a rule."""
        if isinstance(answer, Harmed):
            by_harm = self._breaking(answer.harm) & answer.changed
            return self._breaking(answer.base) - answer.changed | by_harm
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
