"""The suite as the other stages see it: frozen, checked, with places in its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges.printable import as_read, clipped
from pytest_irquality.metrics import Judgments, Measure
from pytest_irquality.suite.demands import (
    BOUNDS,
    GUARDS,
    SCOPES,
    Answered,
    Audited,
    Bound,
    Demand,
    Examined,
    Guard,
    Scope,
    Together,
    Trend,
)
from pytest_irquality.suite.judges import UNNAMED, Votes
from pytest_irquality.suite.key_tables import remarks
from pytest_irquality.suite.keys import QuerySettings, SuiteSettings
from pytest_irquality.suite.rules import RULES, Rule
from pytest_irquality.suite.yaml import Place

__all__ = ["Answered", "Bound", "Check", "Guard", "Limits", "Place", "Query", "Rule", "Suite"]

LONGEST_QUOTE = 100
FEWEST_CANDIDATES = 100  # asked for, whatever is measured

DEMANDS: Mapping[str, type[Demand]] = {
    **RULES,
    **GUARDS,
    **BOUNDS,
    Trend.key: Trend,
    Together.key: Together,
    Audited.key: Audited,
}
"""Whatever a finding may be on, by its key."""


@dataclass(frozen=True)
class Limits:
    """All the bounds one line puts on one measure.

    Those that nobody has ``written`` hold where there is nothing to compare with.
    """

    measure: Measure
    bounds: tuple[Bound, ...]
    known_issue: str | None = None
    place: Place = field(default=Place(1), compare=False)
    issue_line: int = field(default=0, compare=False, kw_only=True)
    written: bool = field(default=True, kw_only=True)

    @property
    def can_fail(self) -> bool:
        """True where breaking any of them fails the check."""
        return any(bound.fails for bound in self.bounds)

    @property
    def tested(self) -> bool:
        """True where a test decides over any of them."""
        return any(bound.tested for bound in self.bounds)

    @property
    def needs_relevant(self) -> bool:
        """True where other judgments could make them hold."""
        return self.measure.needs_relevant


@dataclass(frozen=True)
class TrendLimits(Limits):
    """Bounds on what the last ``over`` changes did together."""

    over: int = 0

    @property
    def needs_relevant(self) -> bool:
        """False, whatever is judged: these are history."""
        return False


@dataclass(frozen=True)
class Query(QuerySettings):
    """A query with what is expected of its ranking.

    ``bulk``: it stands in a file of queries, not in the suite. ``of`` is for other wordings: the
    query's id. ``votes`` holds every grade of the documents that a named judge graded, which
    ``judgments`` has joined to one; ``settled`` has the judges of the others, on which somebody
    decided. ``notes`` are what judges wrote, by document; of ``THE_QUERY`` why they skipped it.
    ``passages`` are those of the names in its judgments and rules that are passages, where the
    others are ids.
    """

    id: str
    text: str
    judgments: Judgments = field(default_factory=lambda: Judgments({}), compare=False)
    rules: tuple[Rule, ...] = ()
    thresholds: tuple[Limits, ...] = ()
    bulk: bool = False
    place: Place = field(default=Place(1), compare=False)
    issue_line: int = field(default=0, compare=False)
    votes: Votes = field(default_factory=dict, compare=False)
    settled: Mapping[str, Sequence[str]] = field(default_factory=dict, compare=False)
    notes: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False)
    of: str = ""

    def variant(self, number: int, text: str) -> Query:
        """Another wording of the query that shares its expectation, but none of its demands."""
        return replace(
            self,
            id=f"{self.id} ~ variants {number}",
            text=text,
            rules=tuple(rule for rule in self.rules if rule.expects_nothing),
            thresholds=(),
            variants=(),
            tags=(),
            known_issue=None,
            of=self.id,
        )

    @property
    def demands(self) -> bool:
        """True where anything is demanded of it alone."""
        return bool(self.rules or self.thresholds)

    @property
    def can_fail(self) -> bool:
        """True where it carries anything of its own that could fail."""
        return bool(self.rules) or any(limits.can_fail for limits in self.thresholds)

    @property
    def needs_relevant(self) -> bool:
        """True where other judgments could make all of it hold.

        Rules name their documents.
        """
        return not self.rules and any(limits.needs_relevant for limits in self.thresholds)

    @property
    def remarks(self) -> Mapping[str, str]:
        """The words that reports show of it, by key: its ``why``."""
        return remarks(QuerySettings, self)

    @property
    def quoted(self) -> str:
        """The text as messages quote it, never longer than a line."""
        return repr(clipped(as_read(self.text), LONGEST_QUOTE))

    @property
    def expects_nothing(self) -> bool:
        """True where an empty ranking is the right answer; such a query is in no mean."""
        return bool(self.rules) and any(rule.expects_nothing for rule in self.rules)


class Check(NamedTuple):
    """The demand that one test item checks: a query's own, a line of limits, and others.

    The others are a rule or a guard over every query, what an audit counts, and that every bulk
    query is answered. ``name`` is the item's; ``label`` is what a person reads. ``scope`` is one of
    ``SCOPES``.
    """

    name: str
    label: str
    place: Place
    demand: Query | Limits | Rule | Guard | Audited | Answered | Examined
    scope: str = "suite"
    tag: str | None = None

    @property
    def over(self) -> Scope:
        """The things that it is over."""
        return SCOPES[self.scope]

    @property
    def query(self) -> Query | None:
        """The query that it is of, where it is of one."""
        return self.demand if isinstance(self.demand, Query) else None

    @property
    def limits(self) -> Limits | None:
        """The line of limits that it is, where it is one."""
        return self.demand if isinstance(self.demand, Limits) else None

    @property
    def by_default(self) -> bool:
        """True where it is a limit that nobody wrote."""
        return self.limits is not None and not self.limits.written

    @property
    def over_suites(self) -> bool:
        """True where it is the drop that all suites of a retriever share."""
        return self.by_default and not (self.limits and self.limits.measure.definition.compares)

    @property
    def allowed(self) -> int:
        """The number of queries that may break it, where it is a guard."""
        return (self.demand.most or 0) if isinstance(self.demand, Guard) else 0

    @property
    def all_limits(self) -> tuple[Limits, ...]:
        """The limits it holds: those of its query, or its own."""
        if isinstance(self.demand, Query):
            return self.demand.thresholds
        return (self.limits,) if self.limits else ()


@dataclass(frozen=True)
class Suite(SuiteSettings):
    """A whole suite file.

    ``path`` is how messages name it; ``notes`` are sentences that reports have of it besides.
    ``unasked`` are the notes on judgments of queries that it does not ask. ``guards`` are the keys
    of those that are written, if only to be ignored. ``places`` holds the place of each key that is
    written. ``reworded`` are the queries' variants: asked like them, but in no mean, rule or guard.
    ``trends`` are the checks of the history. ``files`` are those, and the BEIR folders, that
    queries and judgments were read from.
    """

    name: str
    path: str
    queries: tuple[Query, ...]
    depth: int = 10
    read_depth: int | None = None
    reworded: tuple[Query, ...] = ()
    guards: frozenset[str] = frozenset()
    metrics: tuple[Measure, ...] = ()
    checks: tuple[Check, ...] = ()
    trends: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    reread: Callable[..., Suite] | None = field(default=None, compare=False, repr=False)

    @property
    def remarks(self) -> Mapping[str, str]:
        """The words that reports show of it, by key."""
        return remarks(SuiteSettings, self)

    @cached_property
    def by_id(self) -> Mapping[str, Query]:
        """Every query by its id."""
        return {query.id: query for query in self.queries}

    @property
    def by_text(self) -> bool:
        """True where all that judgments and rules name are passages."""
        return self.match == "text"

    @cached_property
    def rules_of_all(self) -> tuple[Rule, ...]:
        """The rules that every query is held to."""
        return tuple(check.demand for check in self.checks if isinstance(check.demand, Rule))

    @cached_property
    def qrels(self) -> Mapping[str, Judgments]:
        """The judgments of every query by its id, as ``metrics.evaluate`` takes them."""
        return {query.id: query.judgments for query in self.queries}

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of every query by its id."""
        return {query.id: query.weight for query in self.queries}

    @cached_property
    def tags(self) -> Mapping[str, tuple[Query, ...]]:
        """The queries of each tag, tags in the order of their first use."""
        tags: dict[str, list[Query]] = {}
        for query in self.queries:
            for tag in query.tags:
                tags.setdefault(tag, []).append(query)
        return {tag: tuple(queries) for tag, queries in tags.items()}

    def tagged(self, tag: str | None) -> tuple[Query, ...]:
        """The queries of a tag; all where it is None."""
        return self.queries if tag is None else self.tags[tag]

    @cached_property
    def named_judges(self) -> tuple[str, ...]:
        """Everybody who graded something under a name, in the order of the queries."""
        judges = dict.fromkeys(
            judge for query in self.queries for given in query.votes.values() for judge in given
        )
        return tuple(judge for judge in judges if judge != UNNAMED)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every measure that is shown or held to a limit, shown ones first, each once."""
        return tuple(dict.fromkeys([*self.metrics, *self.limited]))

    @cached_property
    def counts(self) -> frozenset[str]:
        """The numbers of results that its measures read: words, tokens."""
        return frozenset(measure.counts for measure in self.measures if measure.counts)

    @cached_property
    def column_of(self) -> Mapping[Measure, int]:
        """The place of each measure in a row of values."""
        return {measure: place for place, measure in enumerate(self.measures)}

    @cached_property
    def stages(self) -> frozenset[str]:
        """The stages before the ranking that measures are of."""
        return frozenset(measure.stage for measure in self.measures if measure.stage)

    @cached_property
    def stage_depth(self) -> int:
        """The number of results that each stage is asked for: as measures read, and some."""
        read = [measure.depth(0) or 0 for measure in self.measures if measure.stage]
        return max(FEWEST_CANDIDATES, self.depth, *read)

    def depth_of(self, stage: str) -> int:
        """The number of results that a stage is asked for; of the ranking itself (``""``), too."""
        return self.stage_depth if stage else self.depth

    @cached_property
    def most_relevant(self) -> int:
        """The largest number of relevant documents that a query has: how deep R-precision reads."""
        return max((len(query.judgments.relevant) for query in self.queries), default=0)

    @cached_property
    def limited(self) -> tuple[Measure, ...]:
        """Every measure that is held to a limit."""
        measures = [check.limits.measure for check in (*self.checks, *self.trends) if check.limits]
        for query in self.queries:
            measures += (limits.measure for limits in query.thresholds)
        return tuple(measures)

    @property
    def gated(self) -> bool:
        """True where anything in it could fail."""
        return any(check.demand.can_fail for check in self.checks)

    def with_trends(self) -> Suite:
        """The suite with its limits on many changes together, for where there is a history."""
        return replace(self, trends=(), checks=(*self.checks, *self.trends))

    @property
    def says_nothing(self) -> bool:
        """True where nobody said what is right: it has neither judgments nor rules."""
        return not (
            self.rules_of_all
            or any(query.judgments.grades or query.demands for query in self.queries)
        )

    def audited(self) -> Suite:
        """The suite with the limit of its audit, for where there is one."""
        if self.audit is None:
            return self
        place = self.places.get("audit", Place(1))
        check = Check("audit-dead", "audit: dead", place, Audited(self.audit), "audit")
        return replace(self, checks=(*self.checks, check))

    def defines(self, query: Query) -> bool:
        """Tell whether measures of relevance have a value for a query, once it is answered.

        One without a relevant document has one only where it scores 0.
        """
        if self.undefined == "judged_zero":
            return bool(query.judgments.grades)
        return self.undefined == "zero" or bool(query.judgments.relevant)

    def judged_as(self, judgments: Mapping[str, Judgments]) -> Suite:
        """The suite with other judgments of the queries with these ids."""
        queries = tuple(
            replace(query, judgments=judgments[query.id]) if query.id in judgments else query
            for query in self.queries
        )
        by_id = {query.id: query for query in queries}
        checks = tuple(
            check._replace(demand=by_id[check.query.id]) if check.query else check
            for check in self.checks
        )
        return replace(self, queries=queries, checks=checks)

    def needed(self, check: Check) -> tuple[Query, ...]:
        """The queries whose rankings a check reads."""
        if check.query:
            return (check.query,)
        if check.over.answers:
            return tuple(query for query in self.queries if query.bulk)
        return self.tagged(check.tag)
