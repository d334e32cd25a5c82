"""The judge: a suite, a run and perhaps a baseline in, verdicts out. Opens no file and asks nobody
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain

from pytest_irquality.edges.dataclass import dataclass
from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.history import Entry
from pytest_irquality.storage.provenance import Baseline
from pytest_irquality.suite.model import Check, Guard, Limits, Query, Rule, Suite
from pytest_irquality.verdict import guards
from pytest_irquality.verdict.accepted import (
    Accepting,
    acceptance,
    judged_with,
    may_be_accepted,
)
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.condensed import condensed
from pytest_irquality.verdict.facts import Fact, Finding, Lack, Loss, Trail
from pytest_irquality.verdict.limits import Subject, hold, margin, nothing_to_compare, undecided
from pytest_irquality.verdict.losses import Losses
from pytest_irquality.verdict.measured import Measured, counts_zero
from pytest_irquality.verdict.noticed import can_fail, noticed
from pytest_irquality.verdict.opinions import with_other_judges
from pytest_irquality.verdict.passages import by_passages
from pytest_irquality.verdict.result import Mean, Outcome, SuiteResult, Verdict
from pytest_irquality.verdict.robustness import Variants, measured_variants
from pytest_irquality.verdict.rules import check_rule
from pytest_irquality.verdict.shown import query_result
from pytest_irquality.verdict.texts import with_texts
from pytest_irquality.verdict.trend import (
    Past,
    lowest_since,
    measured_now,
    trails,
    trend,
)
from pytest_irquality.verdict.wavering import check_rule_in_answers, lost, unchanged_code


def judge(
    suite: Suite,
    run: Run,
    checks: Iterable[Check] | None = None,
    *,
    before: Run | None = None,
    baseline: Baseline | None = None,
    updating: bool = False,
    accepting: Accepting | None = None,
    past: Past | None = None,
    nowhere: Mapping[str, Loss] | None = None,
) -> SuiteResult:
    """Hold a run against every check of its suite, or against the given ones.

    A query that ``run`` neither answers nor has a fault for was not asked: it is in no figure, and
    a check that needs it is ``not evaluated``. Nothing is rounded before it is compared; a value
    within 1e-9 of a limit satisfies it.

    ``before`` is the baseline's run, with those of today's queries that it holds under the same
    text and params, and ``baseline`` what is known of it; with one, the default guard is among the
    suite's checks. While ``updating`` it, drops are shown and do not fail. ``accepting`` is the
    baseline that the change itself commits: what fails against ``before`` alone, and holds where
    the queries that return what was committed are compared with that, is accepted. ``past`` is the
    history, which limits on many changes together are held against. ``nowhere`` are the passages
    that stand in no chunk of the corpus.
    """
    run, before = by_passages(suite, run), before and by_passages(suite, before, today=run)
    if accepting:
        committed = by_passages(suite, accepting.run, today=run)
        accepting = replace(accepting, run=committed)
    if before is not None and checks is None:
        suite = suite.guarded()
    chosen = suite.checks if checks is None else tuple(checks)
    chosen = tuple(check for check in chosen if check.audit is None)  # those are held to an audit
    if before is not None and baseline is None:
        baseline = Baseline(
            before.retriever or "baseline", len(before.rankings), version=before.version
        )

    def judged(of: Suite, held: Sequence[Check]) -> _Judge:
        sides = Comparison(Measured(of, run, before), tuple(held), baseline)
        return _Judge(sides, baseline, updating, accepting, past, nowhere or {})

    judge = judged(suite, chosen)
    result = with_texts(judge.result(), judge.now)
    return with_other_judges(suite, result, lambda of, held: judged(of, held).verdicts)


@dataclass(frozen=True)
class _Judge:
    sides: Comparison
    baseline: Baseline | None
    updating: bool
    accepting: Accepting | None = None
    past: Past | None = None
    nowhere: Mapping[str, Loss] = field(default_factory=dict)

    @property
    def now(self) -> Measured:
        return self.sides.measured

    @property
    def suite(self) -> Suite:
        return self.now.suite

    @cached_property
    def items(self) -> Mapping[str, str]:
        """The name of each query's own item."""
        return {check.query.id: check.name for check in self.suite.checks if check.query}

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(self.accepted_or(check, self.verdict(check)) for check in self.sides.checks)

    def accepted_or(self, check: Check, verdict: Verdict) -> Verdict:
        """A verdict, judged once more with what the change commits where it failed on a drop
        alone.
        """
        on_change = all(may_be_accepted(finding, self.comparing) for finding in verdict.broken)
        if verdict.outcome != "failed" or not on_change or self.with_committed is None:
            return verdict
        if self.with_committed.verdict(check).outcome == "failed":
            return verdict
        refused = self.accepting is not None and self.accepting.refused
        return replace(verdict, outcome="failed" if refused else "accepted", accepted=True)

    @cached_property
    def with_committed(self) -> _Judge | None:
        if self.accepting is None:
            return None
        before = judged_with(self.now, self.accepting.run)
        now = Measured(self.suite, self.now.run, before)
        sides = Comparison(now, self.sides.checks, self.baseline)
        known = self.baseline or Baseline("HEAD", len(before.rankings))
        return _Judge(sides, known, self.updating, None, self.past)

    @cached_property
    def entry(self) -> Entry | None:
        """Today's line of the history."""
        return measured_now(self.sides, self.past) if self.past else None

    @cached_property
    def history(self) -> Sequence[Entry]:
        return self.past.with_now(self.entry) if self.past and self.entry else ()

    @property
    def trails(self) -> Iterator[Trail]:
        """The measures with limits over the last changes."""
        limited: dict[str, float | None] = {}
        for check in self.suite.checks:
            if check.limits and check.scope in ("suite", "trend"):
                floors = [b.value for b in check.limits.bounds if b.kind in ("min", "max")]
                limited[str(check.limits.measure)] = (
                    floors[0] if floors else limited.get(str(check.limits.measure))
                )
        yield from trails(self.history, limited)

    def lowest(self) -> Iterator[Fact]:
        better = {str(measure): measure.higher_is_better for measure in self.suite.measures}
        for trail in self.trails:
            if fact := lowest_since(trail, better[trail.measure]):
                yield fact

    @property
    def acceptance(self) -> Sequence[Fact]:
        if self.accepting is None or not any(verdict.accepted for verdict in self.verdicts):
            return ()
        source = self.baseline.source if self.baseline else ""
        return (acceptance(self.now, self.accepting, source),)

    def result(self) -> SuiteResult:
        suite, now = self.suite, self.now
        judged, returned = now.judged_share(now.rankings)
        losses = Losses(now, self.nowhere)
        verdicts = tuple(
            replace(verdict, findings=losses.named(verdict.findings)) for verdict in self.verdicts
        )
        return SuiteResult(
            suite=suite.name,
            path=suite.path,
            retriever=now.run.retriever,
            top_k=suite.top_k,
            remarks=suite.remarks,
            measures=tuple(map(str, suite.measures)),
            formulas=tuple(measure.definition.formula for measure in suite.measures),
            shown=tuple(map(str, suite.metrics)),
            means=tuple(self.means()),
            queries=tuple(
                query_result(now, query, self.items.get(query.id), losses) for query in now.asked
            ),
            verdicts=verdicts,
            facts=(
                *self.acceptance,
                *self.lowest(),
                *noticed(self.sides, self.baseline, self.verdicts, self.pardoned, self.nowhere),
            ),
            causes=tuple(now.causes),
            gated=any(map(can_fail, suite.checks)),
            judged=judged,
            returned=returned,
            interrupted=now.run.interrupted,
            seconds=sum(
                ranking.seconds or 0.0
                for answer in now.run.answers
                for ranking in answer.rankings.values()
            ),
            baseline=self.compared_with(),
            version=now.run.version,
            entry=self.entry,
            trails=tuple(self.trails),
            robustness=tuple(kind.robustness() for kind in self.variants.values()),
            noise=unchanged_code(now),
        )

    def compared_with(self) -> Baseline | None:
        if self.baseline is None:
            return None
        judged, returned = self.now.judged_share(self.now.before)
        return replace(self.baseline, judged=judged, returned=returned)

    def means(self) -> Iterator[Mean]:
        for tag, queries in [(None, self.suite.queries), *self.suite.slices.items()]:
            if tag is not None and not any(query.id in self.now.rankings for query in queries):
                continue
            for measure in self.suite.measures:
                total = self.now.aggregate(measure, queries)
                yield Mean(
                    measure=str(measure),
                    tag=tag,
                    value=total.value,
                    queries=total.n,
                    undefined=total.undefined,
                    unit=measure.unit,
                    higher_is_better=measure.higher_is_better,
                    change=self.sides.over(measure, tag),
                )

    @cached_property
    def pardoned(self) -> Sequence[str]:
        """The labels of the checks that failed and would hold if unjudged documents were left
        out.
        """
        failed = {verdict.check for verdict in self.verdicts if verdict.outcome == "failed"}
        checks = [
            check
            for check in self.sides.checks
            if check.name in failed and _rests_on_judgments(check)
        ]
        if not checks:
            return ()
        left_out = condensed(self.now)
        if left_out is None:
            return ()
        other = _Judge(replace(self.sides, measured=left_out), self.baseline, self.updating)
        return [check.label for check in checks if other.verdict(check).outcome != "failed"]

    # -- one check ---------------------------------------------------------------------------------

    def verdict(self, check: Check) -> Verdict:
        needed = self.suite.needed(check)
        faults, answered = self.faults(check), self.answered(check)
        faulty = tuple(query.id for query in needed if query.id in faults)
        unasked = sum(query.id not in answered and query.id not in faults for query in needed)
        verdict = Verdict(
            check.name,
            check.label,
            check.place.line,
            "passed",
            file=check.place.path,
            scope="query" if check.query else check.scope,
            query=check.query.id if check.query else None,
            tag=check.tag,
            needed=len(needed),
            unanswered=faulty,
            unasked=unasked,
            allowed=(check.guard.most or 0) if check.guard else 0,
        )
        if faulty and (check.query or len(faults) > self.suite.max_errors):
            return replace(verdict, outcome="error")
        if unasked:
            return replace(verdict, outcome="not evaluated")
        findings = tuple(self.findings(check, needed))
        owner = check.query or check.limits
        known = owner.known_issue if owner else None
        issue = known.reference(self.now.run.retriever) if known else None
        excused = any(finding.fails and not finding.ok for finding in findings)
        if self.updating:
            findings = tuple(map(self.while_updating, findings))
        outcome = _outcome(findings, issue, excused)
        return replace(verdict, outcome=outcome, findings=findings, known_issue=issue)

    @cached_property
    def comparing(self) -> frozenset[str]:
        """The measures that read the baseline's ranking."""
        return frozenset(str(m) for m in self.suite.measures if m.definition.compares)

    def while_updating(self, finding: Finding) -> Finding:
        """A drop is shown and fails nothing while the baseline it is measured from is replaced."""
        on_change = may_be_accepted(finding, self.comparing)
        return replace(finding, fails=finding.fails and not on_change)

    def candidates_of(self, check: Check) -> Measured | None:
        """The candidates, where a check has limits on them and they are known."""
        lines = check.query.thresholds if check.query else filter(None, [check.limits])
        of_candidates = any(line.measure.of_candidates for line in lines)
        return self.now.candidates if of_candidates else None

    def faults(self, check: Check) -> Mapping[str, str]:
        """Why queries have no ranking, or no candidates where the check needs them."""
        candidates = self.candidates_of(check)
        return {**candidates.faults, **self.now.faults} if candidates else self.now.faults

    def answered(self, check: Check) -> Collection[str]:
        """The queries that have a ranking, and candidates where the check needs them."""
        candidates, rankings = self.candidates_of(check), self.now.run.rankings
        return rankings.keys() & candidates.run.rankings.keys() if candidates else rankings

    def findings(self, check: Check, needed: Sequence[Query]) -> Iterator[Finding]:
        if check.query:
            for rule in check.query.rules:
                yield from self.rule(rule, check.query)
            for limits in check.query.thresholds:
                yield from self.limits(limits, partial(self.over_each_query, queries=[check.query]))
            for kind, limits in check.query.robustness:
                yield from self.over_variants(kind, limits, check.query.id, [check.query])
        elif check.rule:
            yield from chain.from_iterable(self.over_rule(check.rule, query) for query in needed)
        elif check.guard:
            yield from self.over_guard(check.guard)
        elif check.limits and check.scope == "trend":
            for bound in check.limits.bounds:
                yield trend(self.history, check.limits.measure, bound, check.over)
        elif check.limits and check.variants:
            yield from self.over_variants(check.variants, check.limits, check.tag or "", needed)
        elif check.limits:
            yield from self.limits(check.limits, partial(SCOPES[check.scope], self, tag=check.tag))

    def limits(
        self, limits: Limits, over: Callable[[Limits], Iterable[Finding]]
    ) -> Iterator[Finding]:
        """The findings of a line; the bounds that lack a baseline are told once, not for each of
        its subjects.
        """
        if self.now.staged(limits.measure) is None:
            lacks = Lack("candidates")
            yield from (undecided(limits.measure, bound, "", lacks) for bound in limits.bounds)
            return
        missing = list(nothing_to_compare(self.sides, limits))
        for finding in missing:  # an update makes the baseline that is missed
            yield replace(finding, ok=finding.ok or self.updating)
        told = {finding.kind for finding in missing}
        rest = tuple(bound for bound in limits.bounds if bound.kind not in told)
        if rest:
            yield from over(replace(limits, bounds=rest))

    def rule(self, rule: Rule, query: Query) -> Iterator[Finding]:
        if self.now.run.again:
            return check_rule_in_answers(rule, query, self.now)
        return check_rule(rule, query, self.now.ranks(query), self.now.title)

    def over_rule(self, rule: Rule, query: Query) -> Iterator[Finding]:
        if query.id in self.now.rankings:
            for finding in self.rule(rule, query):
                yield replace(finding, queries=1)

    def over_guard(self, guard: Guard) -> Iterator[Finding]:
        gates = guard.most is not None
        if self.baseline is None:
            ok = self.updating or not guard.written
            yield Finding("", guard.kind, ok, gates, lacks=Lack("baseline"))
            return
        if lacks := self.not_compared():
            ok = lacks.kind == "new" or self.updating
            yield Finding("", guard.kind, ok, gates, lacks=lacks, of=len(self.now.rankings))
            return
        if self.now.several:
            yield from self.over_guard_in_answers(guard)
            return
        broken = list(guards.broken(guard.kind, self.now))
        fails = guard.most is not None and len(broken) > guard.most
        for query, documents in broken:
            yield Finding(query.id, guard.kind, False, fails, queries=1, ranked=documents)
        if not fails:
            yield from self.by_ties_alone(guard, [query for query, _ in broken])
        if not broken:
            compared, of = len(self.now.before), len(self.now.rankings)
            yield Finding("", guard.kind, True, gates, queries=compared, of=of)

    def not_compared(self) -> Lack | None:
        """Why a guard has nothing to watch."""
        if self.now.renumbered:
            return Lack("documents")
        if self.now.before or not self.now.rankings:
            return None
        return self.sides.nothing_compared(self.now.asked)

    def by_ties_alone(self, guard: Guard, broken: Sequence[Query]) -> Iterator[Finding]:
        """The queries that break a guard as returned, where it holds in the order of equal scores
        alone.
        """
        returned = list(guards.broken(guard.kind, self.now, returned=True))
        if guard.most is not None and len(returned) > guard.most:
            for query, documents in returned:
                if query not in broken:
                    yield Finding(
                        query.id,
                        guard.kind,
                        True,
                        queries=1,
                        ranked=documents,
                        as_returned=float(len(returned)),
                    )

    def over_guard_in_answers(self, guard: Guard) -> Iterator[Finding]:
        """A guard over several answers: as many losses as wavering may give are named, and fail
        nothing.
        """
        seen = lost(self.now, partial(guards.finds, guard.kind))
        fails = guard.most is not None and len(seen.queries) > guard.most and seen.beyond_chance
        for query in seen.queries:
            yield Finding(
                query.id,
                guard.kind,
                False,
                fails,
                queries=1,
                ranked=guards.documents_lost(guard.kind, self.now, query),
                wavering=0 if seen.beyond_chance else seen.wavering,
            )
        if not seen.queries:
            yield Finding(
                "", guard.kind, True, guard.most is not None, queries=len(self.now.before)
            )

    @cached_property
    def variants(self) -> Mapping[str, Variants]:
        return measured_variants(self.now)

    def over_variants(
        self, kind: str, limits: Limits, subject: str, queries: Sequence[Query]
    ) -> Iterator[Finding]:
        """A limit on what the variants of a kind lose, or score."""
        if kind in self.variants:
            yield from self.variants[kind].hold(limits, subject, queries)
            return
        for bound in limits.bounds:
            yield undecided(limits.measure, bound, subject, Lack("variants"))

    def over_all(self, limits: Limits, tag: str | None) -> Iterator[Finding]:
        queries = self.suite.queries if tag is None else self.suite.slices[tag]
        if not self.definable(limits.measure, queries):
            queries = ()
        change = self.sides.over(limits.measure, tag)
        returned = self.sides.as_returned(limits.measure, queries)
        return hold(self.sides, limits, Subject(tag or "", queries, change, returned))

    def over_each_tag(self, limits: Limits, tag: str | None = None) -> Iterator[Finding]:
        """Tags that no judgment could ever define are passed over; where that leaves none, the line
        fails.
        """
        tags = [
            tag
            for tag, queries in self.suite.tags.items()
            if self.definable(limits.measure, queries)
        ]
        for name in tags:
            yield from self.over_all(limits, name)
        if not tags:
            yield from hold(self.sides, limits, Subject("", ()))

    def over_each_query(
        self,
        limits: Limits,
        tag: str | None = None,
        queries: Sequence[Query] | None = None,
    ) -> Iterator[Finding]:
        """Every broken bound; where none is, the one that came nearest."""
        queries = queries or [
            query for query in self.suite.queries if self.definable(limits.measure, [query])
        ]
        findings: list[Finding] = []
        for query in queries:
            if query.id in self.now.rankings:
                change = self.sides.change(limits.measure, [query])
                returned = self.sides.as_returned(limits.measure, [query])
                findings += hold(self.sides, limits, Subject(query.id, [query], change, returned))
        if not findings:
            findings += hold(self.sides, limits, Subject("", queries))
        for bound in limits.bounds:
            held = [finding for finding in findings if finding.kind == bound.kind]
            none = self.sides.nothing_compared(queries, limits.measure)
            yield from _worst(_compared(held, none))

    def definable(self, measure: Measure, queries: Sequence[Query]) -> bool:
        if counts_zero(measure):
            return True
        queries = [query for query in queries if not query.expects_nothing]
        if not measure.needs_relevant or self.suite.undefined == "zero":
            return bool(queries)
        return any(query.judgments.relevant for query in queries)


def _compared(held: Sequence[Finding], none: Lack) -> Sequence[Finding]:
    """The findings on the queries that could be compared, each with how many these are of all.

    ``none`` says why there is none; that is one finding then, and not one a query.
    """
    absent = [f for f in held if f.lacks and f.lacks.kind in APART]
    if not absent:
        return held
    rest = [replace(f, of=len(held), queries=len(held) - len(absent)) for f in held if not f.lacks]
    subject = held[0].subject if len(held) == 1 else ""
    return rest or [
        replace(held[0], subject=subject, ok=none.kind in ("new", "unchanged"), lacks=none)
    ]


def _worst(held: Sequence[Finding]) -> Sequence[Finding]:
    """Every broken demand; where none is, those that ties alone hold up, or else the one that came
    nearest.
    """
    broken = [finding for finding in held if not finding.ok]
    tied = [finding for finding in held if finding.as_returned is not None]
    return broken or tied or sorted(held, key=margin)[:1]


def _outcome(findings: Sequence[Finding], issue: str | None, excused: bool) -> Outcome:
    """What findings come to. ``excused``: something is broken that fails nothing while updating.

    A known issue is about what was seen: it covers no missing baseline, and what was not seen is
    not mended.
    """
    broken = [finding for finding in findings if finding.fails and not finding.ok]
    measured = all(finding.queries or not finding.measure for finding in broken or findings)
    if broken:
        return "known" if issue and measured else "failed"
    if issue and measured and findings and not excused:
        return "known" if any(map(_wavers, findings)) else "fixed"
    return "passed"


def _wavers(finding: Finding) -> bool:
    """Whether some answers break a demand and others do not."""
    return not finding.ok and finding.answers > 1


def _rests_on_judgments(check: Check) -> bool:
    if check.scope == "trend":
        return False
    if check.guard:
        return check.guard.kind == "lost_all_relevant"
    limits = [
        *(check.query.thresholds if check.query else ()),
        *([check.limits] if check.limits else ()),
    ]
    return not (check.query and check.query.rules) and any(
        line.measure.needs_relevant for line in limits
    )


APART = (
    "new",
    "edited",
    "compared",
    "unchanged",
    "kept candidates",
)  # why one query of many lacks one
SCOPES: Mapping[str, Callable[..., Iterator[Finding]]] = {
    "suite": _Judge.over_all,
    "tag": _Judge.over_all,
    "each_tag": _Judge.over_each_tag,
    "each_query": _Judge.over_each_query,
}
