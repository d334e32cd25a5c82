"""The judge: a suite and a run in, verdicts out. Opens no file and asks nobody anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from pytest_irquality.metrics import Measure
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Check, Limits, Query, Rule, Suite
from pytest_irquality.verdict.measured import Measured, counts_zero
from pytest_irquality.verdict.notes import notes, texts
from pytest_irquality.verdict.numbers import share, told_apart
from pytest_irquality.verdict.result import Finding, Mean, Outcome, SuiteResult, Verdict
from pytest_irquality.verdict.rules import check_rule
from pytest_irquality.verdict.shown import query_result

TOLERANCE = 1e-9


def judge(suite: Suite, run: Run, checks: Iterable[Check] | None = None) -> SuiteResult:
    """Hold a run against every check of its suite, or against the given ones.

    A query that ``run`` neither answers nor has a fault for was not asked: it is in no figure, and a check that needs
    it is ``not evaluated``. Nothing is rounded before it is compared; a value within 1e-9 of a limit satisfies it.
    """
    return _Judge(suite, Measured(suite, run)).result(suite.checks if checks is None else tuple(checks))


@dataclass(frozen=True)
class _Judge:
    suite: Suite
    now: Measured

    @cached_property
    def items(self) -> Mapping[str, str]:
        """The name of each query's own item."""
        return {check.query.id: check.name for check in self.suite.checks if check.query}

    def result(self, checks: Sequence[Check]) -> SuiteResult:
        suite = self.suite
        verdicts = tuple(self.verdict(check) for check in checks)
        asked = self.now.asked
        scopes = [(None, suite.queries), *suite.tags.items()]
        means = []
        for tag, queries in scopes:
            for measure in suite.measures:
                total = self.now.aggregate(measure, queries)
                if tag is None or any(query.id in self.now.rankings for query in queries):
                    better = measure.higher_is_better
                    means.append(Mean(str(measure), tag, total.value, total.n, total.undefined, measure.unit, better))
        judged = [id for query in asked for id in self.now.rankings.get(query.id, ())[: suite.top_k]]
        known = sum(
            id in query.judgments.grades for query in asked for id in self.now.rankings.get(query.id, ())[: suite.top_k]
        )
        return SuiteResult(
            suite=suite.name,
            path=suite.path,
            retriever=self.now.run.retriever,
            top_k=suite.top_k,
            measures=tuple(map(str, suite.measures)),
            formulas=tuple(measure.definition.formula for measure in suite.measures),
            shown=tuple(map(str, suite.metrics)),
            means=tuple(means),
            queries=tuple(query_result(self.now, query, self.items.get(query.id)) for query in asked),
            verdicts=verdicts,
            notes=tuple(notes(self.now)),
            warnings=tuple(
                finding.text
                for verdict in verdicts
                for finding in verdict.findings
                if not finding.fails and not finding.ok
            ),
            judged=known,
            returned=len(judged),
            interrupted=self.now.run.interrupted,
            seconds=sum(ranking.seconds or 0.0 for ranking in self.now.run.rankings.values()),
        )

    def verdict(self, check: Check) -> Verdict:
        needed = self.suite.needed(check)
        verdict = partial(
            Verdict,
            check=check.name,
            label=check.label,
            line=check.place.line,
            scope="query" if check.query else check.scope,
            query=check.query.id if check.query else None,
            tag=check.tag,
        )
        faulty = [query for query in needed if query.id in self.now.faults]
        unasked = [
            query for query in needed if query.id not in self.now.run.rankings and query.id not in self.now.faults
        ]
        if faulty and (check.query or len(self.now.faults) > self.suite.max_errors):
            return verdict(outcome="error", reason=self.fault_reason(check, faulty, len(needed)))
        if unasked:
            reason = f"not evaluated: {share(len(unasked), len(needed))} queries were not asked"
            return verdict(outcome="not evaluated", reason=reason)
        findings = tuple(self.findings(check, needed))
        owner = check.query or check.limits
        issue = owner.known_issue.reference(self.now.run.retriever) if owner and owner.known_issue else None
        outcome: Outcome
        broken = [finding for finding in findings if finding.fails and not finding.ok]
        if broken:
            outcome, reason = ("known" if issue else "failed"), self.broken_reason(check, broken)
        elif issue:
            outcome, reason = (
                "fixed",
                f"known issue {issue} no longer fails: all of {check.label!r} holds; remove 'known_issue'",
            )
        else:
            outcome, reason = "passed", ""
        return verdict(outcome=outcome, reason=reason, findings=findings, known_issue=issue)

    def fault_reason(self, check: Check, faulty: Sequence[Query], needed: int) -> str:
        message = self.now.faults[faulty[0].id]
        if check.query:
            return message
        return f"{len(faulty)} of {needed} queries could not be answered ({texts(faulty)}): {message}"

    def broken_reason(self, check: Check, broken: Sequence[Finding]) -> str:
        if check.query:
            return f"{check.query.text!r}: {broken[0].text}{_and_more(len(broken))}"
        return f"{broken[0].text}{_and_more(len(broken))}"

    def findings(self, check: Check, needed: Sequence[Query]) -> Iterable[Finding]:
        if check.query:
            query = check.query
            ranks = self.now.ranks(query)
            for rule in query.rules:
                yield from check_rule(rule, query, ranks, self.now.name)
            for limits in query.thresholds:
                yield from self.hold(limits, [query], query.id, "")
        elif check.rule:
            for query in needed:
                if query.id in self.now.rankings:
                    yield from self._guard(check.rule, query)
        elif check.limits:
            yield from SCOPES[check.scope](self, check.limits, check.tag)

    def _guard(self, rule: Rule, query: Query) -> Iterable[Finding]:
        for finding in check_rule(rule, query, self.now.ranks(query), self.now.name):
            yield replace(finding, text=f"{query.text!r}: {finding.text}", queries=1)

    def ranks(self, query: Query) -> dict[str, int]:
        return {document: rank for rank, document in enumerate(self.now.rankings[query.id], 1)}

    def over_all(self, limits: Limits, tag: str | None) -> Iterable[Finding]:
        queries = self.suite.queries if tag is None else self.suite.tags[tag]
        return self.hold(limits, queries, tag or "", f"tag {tag}: " if tag else "")

    def over_each_tag(self, limits: Limits, _: str | None) -> Iterable[Finding]:
        """Tags that no judgment could ever define are passed over; where that leaves none, the line fails."""
        tags = {tag: queries for tag, queries in self.suite.tags.items() if self.definable(limits.measure, queries)}
        for tag, queries in tags.items():
            yield from self.hold(limits, queries, tag, f"tag {tag}: ")
        if not tags:
            yield from self.hold(limits, (), "", "")

    def over_each_query(self, limits: Limits, _: str | None) -> Iterable[Finding]:
        queries = [query for query in self.suite.queries if self.definable(limits.measure, [query])]
        for query in queries:
            if query.id in self.now.rankings:
                yield from self.hold(limits, [query], query.id, f"{query.text!r}: ")
        if not queries:
            yield from self.hold(limits, (), "", "")

    def definable(self, measure: Measure, queries: Sequence[Query]) -> bool:
        if counts_zero(measure):
            return True
        queries = [query for query in queries if not query.expects_nothing]
        if not measure.needs_relevant or self.suite.undefined == "zero":
            return bool(queries)
        return any(query.judgments.relevant for query in queries)

    def hold(self, limits: Limits, queries: Sequence[Query], subject: str, said: str) -> Iterable[Finding]:
        measure = limits.measure
        total = self.now.aggregate(measure, queries)
        for bound in limits.bounds:
            value, unit = total.value, "share" if bound.share else measure.unit
            if value is None:
                text = f"{said}{measure} is undefined: no query here has a relevant document or was answered"
                yield Finding(subject, bound.kind, text, False, bound.fails, str(measure), None, bound.value, 0, unit)
                continue
            if bound.share:
                value /= max(total.n, 1)
            ok, words = BOUNDS[bound.kind]
            now, limit = told_apart(value, bound.value, unit)
            # Wording a pass as "below its floor" would be wrong, so a limit that holds says so in its own words.
            good = ok(value, bound.value)
            text = f"{said}{measure} is {now}, {words[0] if good else words[1]} {limit}"
            if subject == "" and counts_zero(measure) and not good:
                text += f": {texts(self.now.empty)}"
            yield Finding(subject, bound.kind, text, good, bound.fails, str(measure), value, bound.value, total.n, unit)


def _and_more(count: int) -> str:
    return f" (and {count - 1} more)" if count > 1 else ""


BOUNDS: Mapping[str, tuple[Callable[[float, float], bool], tuple[str, str]]] = {
    "min": (lambda value, limit: value >= limit - TOLERANCE, ("at or above its floor", "below its floor")),
    "max": (lambda value, limit: value <= limit + TOLERANCE, ("at or below its ceiling", "above its ceiling")),
    "warn_below": (lambda value, limit: value >= limit - TOLERANCE, ("not below", "below the")),
    "warn_above": (lambda value, limit: value <= limit + TOLERANCE, ("not above", "above the")),
}
SCOPES: Mapping[str, Callable[[_Judge, Limits, str | None], Iterable[Finding]]] = {
    "suite": _Judge.over_all,
    "tag": _Judge.over_all,
    "each_tag": _Judge.over_each_tag,
    "each_query": _Judge.over_each_query,
}
