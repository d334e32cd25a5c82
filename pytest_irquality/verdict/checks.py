"""One check in, its verdict out: its rules, guards and limits, held against what was measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial

from pytest_irquality.retrieval.run import Fault
from pytest_irquality.storage.history import Entry
from pytest_irquality.suite import (
    Check,
    Guard,
    Limits,
    Query,
    Rule,
    Suite,
    TrendLimits,
)
from pytest_irquality.suite.rules import Ranks
from pytest_irquality.verdict.accepted import may_be_accepted
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Change, Finding, Lack, RankedDocument
from pytest_irquality.verdict.guards import hold_guard
from pytest_irquality.verdict.limits import Subject, hold, margin, nothing_to_compare, undecided
from pytest_irquality.verdict.result import Outcome, Verdict
from pytest_irquality.verdict.robustness import Variants, measured_variants
from pytest_irquality.verdict.scoring import defined_for
from pytest_irquality.verdict.sides import Sides, median_rank
from pytest_irquality.verdict.trend import trend


@dataclass(frozen=True)
class CheckJudge:
    """Judges checks, one at a time, over what was measured.

    ``updating``: the baseline is being replaced, so drops since it are shown and fail nothing.
    ``history`` holds the entries of past changes, today's last, for limits on many changes.
    """

    comparison: Comparison
    updating: bool
    history: Sequence[Entry] = ()

    @property
    def sides(self) -> Sides:
        """The rankings of today and of the baseline."""
        return self.comparison.sides

    @property
    def suite(self) -> Suite:
        """The suite that the checks are of."""
        return self.comparison.suite

    @cached_property
    def variants(self) -> Variants | None:
        """The variants of the queries, measured, where any were asked."""
        return measured_variants(self.comparison)

    @cached_property
    def comparing(self) -> frozenset[str]:
        """The measures that read the baseline's ranking."""
        return frozenset(str(m) for m in self.suite.measures if m.definition.compares)

    # -- the verdict -------------------------------------------------------------------------------

    def verdict(self, check: Check) -> Verdict:
        """The verdict of a check: an error or "not evaluated" where its queries lack an answer."""
        needed, query = self.suite.needed(check), check.query
        faults = self.failed(check)
        unanswered = tuple(query.id for query in needed if query.id in faults)
        known = {*self.answered(check), *self.faults(check)}
        unasked = len({query.id for query in needed} - known)
        issue: str | None = None
        findings: tuple[Finding, ...] = ()
        if unanswered and (query or len(faults) > self.suite.max_errors):
            outcome: Outcome = "error"
        elif unasked:
            outcome = "not evaluated"
        else:
            issue = check.demand.known_issue
            outcome, findings = self.decided(tuple(self.findings(check, needed)), issue)
        return Verdict(
            check.name,
            check.label,
            check.place.line,
            outcome,
            findings,
            scope=check.scope,
            query=query.id if query else None,
            tag=check.tag,
            known_issue=issue,
            issue_line=check.demand.issue_line if issue else 0,
            file=check.place.path,
            needed=len(needed),
            unanswered=unanswered,
            unasked=unasked,
            allowed=check.allowed,
            by_default=check.by_default,
        )

    def decided(
        self, findings: tuple[Finding, ...], issue: str | None
    ) -> tuple[Outcome, tuple[Finding, ...]]:
        """The outcome of findings and a known issue, and the findings as they count."""
        anything_broken = any(finding.breaks for finding in findings)
        if self.updating:
            findings = tuple(map(self.while_updating, findings))
        return _outcome(findings, issue, anything_broken), findings

    def while_updating(self, finding: Finding) -> Finding:
        """A finding as it counts while the baseline is replaced that a drop is measured from."""
        if may_be_accepted(finding, self.comparing):
            return replace(finding, fails=False)
        return finding

    # -- which queries a check can see -------------------------------------------------------------

    def stages_of(self, check: Check) -> Sequence[Sides]:
        """The stages before the ranking that a check has limits on, as far as they are known."""
        names = {limits.measure.stage for limits in check.all_limits}
        return [stage for name, stage in self.sides.stages.items() if name in names]

    def faults(self, check: Check) -> Mapping[str, Fault]:
        """The reasons why queries have no ranking, or nothing of a stage that the check needs."""
        faults: dict[str, Fault] = {}
        for stage in self.stages_of(check):
            faults.update(stage.run.faults)
        return {**faults, **self.sides.run.faults}

    def failed(self, check: Check) -> Collection[str]:
        """The queries of these that no call skipped."""
        return [id for id, fault in self.faults(check).items() if not fault.skipped]

    def answered(self, check: Check) -> Collection[str]:
        """The queries that have a ranking, and an answer of each stage that the check needs."""
        answered: Set[str] = self.sides.run.answered
        for stage in self.stages_of(check):
            answered &= stage.run.answered
        return answered

    def why_skipped(self, check: Check) -> str | None:
        """The reason why all queries of a check were skipped; None where any was not."""
        known = self.faults(check)
        faults = [known.get(query.id) for query in self.suite.needed(check)]
        reasons = [fault.message for fault in faults if fault and fault.skipped]
        return reasons[0] if reasons and len(reasons) == len(faults) else None

    # -- its findings ------------------------------------------------------------------------------

    def findings(self, check: Check, needed: Sequence[Query]) -> Iterator[Finding]:
        """A finding for each demand of a check."""
        match check.demand:
            case Query() as query:
                for rule in query.rules:
                    yield from self.rule(rule, query)
                for limits in query.thresholds:
                    yield from self.limits(limits, check)
            case Rule() as rule:
                for query in needed:
                    yield from self.rule_of_all(rule, query)
            case Guard() as guard:
                yield from hold_guard(guard, self.comparison, self.updating)
            case TrendLimits() as limits:
                for bound in limits.bounds:
                    yield trend(self.history, limits.measure, bound, limits.over)
            case Limits() as limits if check.over.variants:
                yield from self.over_variants(limits)
            case Limits() as limits:
                found = self.limits(limits, check)
                yield from map(_excused, found) if check.over_suites else found

    def rule(self, rule: Rule, query: Query) -> Iterator[Finding]:
        """A finding for each part of a rule, over all answers to its query.

        ``broken_in`` counts those that break it. Some that do only warn, unless the rule says that
        one is too many, or every answer breaks it, each maybe in another part.
        """
        ranks = [answer.ranks(query.id) for answer in self.sides.answers]
        parts = [*rule.parts(ranks)]
        by_none = not any(all(rule.holds(part, its) for part in parts) for its in ranks)
        for part in parts:
            broken = [its for its in ranks if not rule.holds(part, its)]
            finding = Finding(
                query.id, rule.key, not broken, ranked=self.documents(rule, part, broken or ranks)
            )
            if broken:
                finding = replace(
                    finding,
                    fails=rule.breaks_in_any or by_none,
                    broken_in=len(broken),
                    answers=len(ranks),
                )
            yield finding

    def documents(
        self, rule: Rule, part: Sequence[str], answers: Sequence[Ranks]
    ) -> tuple[RankedDocument, ...]:
        """The documents of a part of a rule, each at the median of its ranks."""
        return tuple(
            replace(
                self.comparison.document(
                    document, median_rank([ranks.get(document) for ranks in answers])
                ),
                limit=rule.documents[document] if rule.on_ranks else None,
            )
            for document in part
        )

    def rule_of_all(self, rule: Rule, query: Query) -> Iterator[Finding]:
        """A rule of the whole suite on one of its queries."""
        if query.id in self.sides.rankings:
            for finding in self.rule(rule, query):
                yield replace(finding, queries=1)

    def limits(self, limits: Limits, check: Check) -> Iterator[Finding]:
        """The findings of a line.

        The bounds that lack a baseline are reported once, not for each of its subjects.
        """
        if self.sides.stage_of(limits.measure) is None:
            for bound in limits.bounds:
                yield undecided(limits.measure, bound, "", Lack("candidates"))
            return
        missing = list(nothing_to_compare(self.comparison, limits))
        for finding in missing:
            # An update makes the baseline that is missing.
            yield replace(finding, ok=finding.ok or self.updating)
        reported = {finding.kind for finding in missing}
        rest = tuple(bound for bound in limits.bounds if bound.key not in reported)
        if rest:
            yield from self.over(replace(limits, bounds=rest), check)

    def over(self, limits: Limits, check: Check) -> Iterator[Finding]:
        """The findings of a line over what its check is over."""
        if check.query:
            return self.over_queries(limits, [check.query])
        if check.over.queries:
            defining = (query for query in self.suite.queries if self.defines(limits, [query]))
            return self.over_queries(limits, [*defining])
        return self.over_each_tag(limits) if check.over.each else self.over_all(limits, check.tag)

    def over_variants(self, limits: Limits) -> Iterator[Finding]:
        """A limit on what variants lose, or score."""
        if self.variants is not None:
            yield from self.variants.hold(limits)
            return
        for bound in limits.bounds:
            yield undecided(limits.measure, bound, "", Lack("variants"))

    def over_all(self, limits: Limits, tag: str | None) -> Iterator[Finding]:
        """Limits on the mean over the whole suite, or over a tag."""
        queries = self.suite.tagged(tag)
        if not self.defines(limits, queries):
            queries = ()
        return self.held(limits, tag or "", queries, lambda one: one.over(limits.measure, tag))

    def over_each_tag(self, limits: Limits) -> Iterator[Finding]:
        """Limits on the mean over each tag.

        Tags that no judgment could ever define are passed over; where that leaves none, the line
        fails.
        """
        tags = [tag for tag, queries in self.suite.tags.items() if self.defines(limits, queries)]
        for tag in tags:
            yield from self.over_all(limits, tag)
        if not tags:
            yield from hold(self.comparison, limits, Subject("", ()))

    def over_queries(self, limits: Limits, queries: Sequence[Query]) -> Iterator[Finding]:
        """Every broken bound; where none is, the one that came nearest."""
        findings: list[Finding] = []
        for query in queries:
            if query.id in self.sides.rankings:
                change = partial(Comparison.change, measure=limits.measure, queries=[query])
                findings += self.held(limits, query.id, [query], change)
        if not findings:
            findings += hold(self.comparison, limits, Subject("", queries))
        for bound in limits.bounds:
            of_bound = [finding for finding in findings if finding.kind == bound.key]
            nothing = self.comparison.nothing_compared(queries, limits.measure)
            yield from _worst(_compared(of_bound, nothing))

    def held(
        self,
        limits: Limits,
        subject: str,
        queries: Sequence[Query],
        change: Callable[[Comparison], Change | None],
    ) -> Iterator[Finding]:
        """The findings of a line on one subject.

        One that holds in the order of equal scores alone says so.
        """
        now, returned = self.comparison, self.comparison.as_returned(limits.measure, queries)
        findings = hold(now, limits, Subject(subject, queries, change(now)))
        if returned is None:
            return findings
        came = hold(returned, limits, Subject(subject, queries, change(returned)))
        return map(_tied, findings, came)

    def defines(self, limits: Limits, queries: Sequence[Query]) -> bool:
        """Tell whether judgments define the measure for any of some queries, once answered."""
        return any(defined_for(self.suite, limits.measure, query) for query in queries)


def _excused(finding: Finding) -> Finding:
    """A finding on a limit that nobody wrote: it holds where nothing could be compared."""
    return replace(finding, ok=finding.ok or finding.lacks is not None)


def _tied(finding: Finding, came: Finding) -> Finding:
    """A finding that says so where the one on the order as returned is broken."""
    if not finding.ok or came.ok:
        return finding
    return replace(finding, as_returned=came.change.now if came.change else came.value)


def _compared(findings: Sequence[Finding], nothing: Lack) -> Sequence[Finding]:
    """The findings on the queries that could be compared, each with how many these are of all.

    ``nothing`` says why none could be. That gives one finding then, not one for each query.
    """
    lacking = [f for f in findings if f.lacks and f.lacks.why.of_one]
    if not lacking:
        return findings
    of, compared = len(findings), len(findings) - len(lacking)
    with_value = [finding for finding in findings if not finding.lacks]
    if with_value:
        return [replace(finding, of=of, queries=compared) for finding in with_value]
    subject = findings[0].subject if len(findings) == 1 else ""
    return [replace(findings[0], subject=subject, ok=nothing.why.excused, lacks=nothing)]


def _worst(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Every broken demand, or else the one that came nearest to breaking.

    Before that go those that ties alone hold up.
    """
    broken = [finding for finding in findings if not finding.ok]
    if broken:
        return broken
    held_by_ties = [finding for finding in findings if finding.tied]
    if held_by_ties:
        return held_by_ties
    return [min(findings, key=margin)] if findings else []


def _outcome(findings: Sequence[Finding], issue: str | None, anything_broken: bool) -> Outcome:
    """The outcome of findings. ``anything_broken``: also what fails nothing while updating.

    A known issue is about what was measured: it excuses no missing baseline, and it is not fixed
    where nothing was measured.
    """
    broken = [finding for finding in findings if finding.breaks]
    if not issue or not all(finding.measured for finding in broken or findings):
        return "failed" if broken else "passed"
    if broken:
        return "known"
    if anything_broken or not findings:
        return "passed"
    return "known" if any(map(_wavers, findings)) else "fixed"


def _wavers(finding: Finding) -> bool:
    """Tell whether some answers break a demand and others do not."""
    return not finding.ok and finding.answers > 1
