"""The judge: a suite and a run in, verdicts out. Opens no file and asks nobody anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from pytest_irquality.metrics import Aggregate, Measure, Scores, evaluate
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Check, Limits, Query, Rule, Suite
from pytest_irquality.verdict.numbers import share, told_apart
from pytest_irquality.verdict.result import Finding, Mean, Outcome, QueryResult, ShownDocument, SuiteResult, Verdict
from pytest_irquality.verdict.rules import check_rule

TOLERANCE = 1e-9
SHOWN_RESULTS = 10
NAMED = 3


def judge(suite: Suite, run: Run, checks: Iterable[Check] | None = None) -> SuiteResult:
    """Hold a run against every check of its suite, or against the given ones.

    A query that ``run`` neither answers nor has a fault for was not asked: it is in no figure, and a check that needs
    it is ``not evaluated``. Nothing is rounded before it is compared; a value within 1e-9 of a limit satisfies it.
    """
    return _Judge(suite, run).result(suite.checks if checks is None else tuple(checks))


@dataclass(frozen=True)
class _Judge:
    suite: Suite
    run: Run

    # -- what was measured --------------------------------------------------------------------------------------------

    @cached_property
    def faults(self) -> Mapping[str, str]:
        faults = {id: fault.message for id, fault in self.run.faults.items()}
        if self.suite.duplicates == "error":
            for id, twice in self.duplicated.items():
                faults[id] = f"returned {', '.join(twice[:NAMED])} more than once ('duplicates: error')"
        return faults

    @cached_property
    def duplicated(self) -> Mapping[str, list[str]]:
        found = {}
        for id, ranking in self.run.rankings.items():
            ids = ranking.ids[: self.suite.depth]
            if len(set(ids)) < len(ids):
                found[id] = [document for document, times in Counter(ids).items() if times > 1]
        return found

    @cached_property
    def rankings(self) -> Mapping[str, tuple[str, ...]]:
        """What is judged: cut to depth, duplicates collapsed, queries with faults left out."""
        return {
            query.id: self.run.rankings[query.id].collapsed(self.suite.depth)
            for query in self.suite.queries
            if query.id in self.run.rankings and query.id not in self.faults
        }

    @cached_property
    def scores(self) -> Scores:
        suite = self.suite
        ranked = {id: ids for id, ids in self.rankings.items() if not suite.by_id[id].expects_nothing}
        seconds = {id: took for id in ranked if (took := self.run.rankings[id].seconds) is not None}
        scores = evaluate(suite.qrels, ranked, suite.measures, undefined=suite.undefined, seconds=seconds)
        # A query that expects nothing is in no mean; it counts in zero_results only if it wrongly finds something.
        empty = {
            id: tuple(float(bool(ids)) if _counts_zero(measure) else None for measure in suite.measures)
            for id, ids in self.rankings.items()
            if suite.by_id[id].expects_nothing
        }
        return Scores(scores.measures, {**scores.values, **empty})

    def aggregate(self, measure: Measure, queries: Sequence[Query]) -> Aggregate:
        ids = [
            query.id
            for query in queries
            if query.id in self.rankings and (_counts_zero(measure) or not query.expects_nothing)
        ]
        return self.scores.aggregate(measure, ids, {query.id: query.weight for query in queries})

    @cached_property
    def items(self) -> Mapping[str, str]:
        """The name of each query's own item."""
        return {check.query.id: check.name for check in self.suite.checks if check.query}

    def name(self, document: str) -> str:
        title = self.run.titles.get(document)
        return f"{document} ({title})" if title and title != document else document

    # -- what it is held against --------------------------------------------------------------------------------------

    def result(self, checks: Sequence[Check]) -> SuiteResult:
        suite = self.suite
        verdicts = tuple(self.verdict(check) for check in checks)
        asked = [query for query in suite.queries if query.id in self.run.rankings or query.id in self.faults]
        scopes = [(None, suite.queries), *suite.tags.items()]
        means = []
        for tag, queries in scopes:
            for measure in suite.measures:
                total = self.aggregate(measure, queries)
                if tag is None or any(query.id in self.rankings for query in queries):
                    better = measure.higher_is_better
                    means.append(Mean(str(measure), tag, total.value, total.n, total.undefined, measure.unit, better))
        judged = [id for query in asked for id in self.rankings.get(query.id, ())[: suite.top_k]]
        known = sum(
            id in query.judgments.grades for query in asked for id in self.rankings.get(query.id, ())[: suite.top_k]
        )
        return SuiteResult(
            suite=suite.name,
            path=suite.path,
            retriever=self.run.retriever,
            top_k=suite.top_k,
            measures=tuple(map(str, suite.measures)),
            formulas=tuple(measure.definition.formula for measure in suite.measures),
            shown=tuple(map(str, suite.metrics)),
            means=tuple(means),
            queries=tuple(map(self.query_result, asked)),
            verdicts=verdicts,
            notes=tuple(self.notes(asked)),
            warnings=tuple(
                finding.text
                for verdict in verdicts
                for finding in verdict.findings
                if not finding.fails and not finding.ok
            ),
            judged=known,
            returned=len(judged),
            interrupted=self.run.interrupted,
            seconds=sum(ranking.seconds or 0.0 for ranking in self.run.rankings.values()),
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
        faulty = [query for query in needed if query.id in self.faults]
        unasked = [query for query in needed if query.id not in self.run.rankings and query.id not in self.faults]
        if faulty and (check.query or len(self.faults) > self.suite.max_errors):
            return verdict(outcome="error", reason=self.fault_reason(check, faulty, len(needed)))
        if unasked:
            reason = f"not evaluated: {share(len(unasked), len(needed))} queries were not asked"
            return verdict(outcome="not evaluated", reason=reason)
        findings = tuple(self.findings(check, needed))
        owner = check.query or check.limits
        issue = owner.known_issue.reference(self.run.retriever) if owner and owner.known_issue else None
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
        message = self.faults[faulty[0].id]
        if check.query:
            return message
        named = ", ".join(repr(query.text) for query in faulty[:NAMED])
        return f"{len(faulty)} of {needed} queries could not be answered ({named}{_more(len(faulty))}): {message}"

    def broken_reason(self, check: Check, broken: Sequence[Finding]) -> str:
        if check.query:
            return f"{check.query.text!r}: {broken[0].text}{_and_more(len(broken))}"
        return f"{broken[0].text}{_and_more(len(broken))}"

    def findings(self, check: Check, needed: Sequence[Query]) -> Iterable[Finding]:
        if check.query:
            query = check.query
            ranks = self.ranks(query)
            for rule in query.rules:
                yield from check_rule(rule, query, ranks, self.name)
            for limits in query.thresholds:
                yield from self.hold(limits, [query], query.id, "")
        elif check.rule:
            for query in needed:
                if query.id in self.rankings:
                    yield from self._guard(check.rule, query)
        elif check.limits:
            yield from SCOPES[check.scope](self, check.limits, check.tag)

    def _guard(self, rule: Rule, query: Query) -> Iterable[Finding]:
        for finding in check_rule(rule, query, self.ranks(query), self.name):
            yield Finding(query.id, finding.kind, f"{query.text!r}: {finding.text}", finding.ok, queries=1)

    def ranks(self, query: Query) -> dict[str, int]:
        return {document: rank for rank, document in enumerate(self.rankings[query.id], 1)}

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
            if query.id in self.rankings:
                yield from self.hold(limits, [query], query.id, f"{query.text!r}: ")
        if not queries:
            yield from self.hold(limits, (), "", "")

    def definable(self, measure: Measure, queries: Sequence[Query]) -> bool:
        if _counts_zero(measure):
            return True
        queries = [query for query in queries if not query.expects_nothing]
        if not measure.needs_relevant or self.suite.undefined == "zero":
            return bool(queries)
        return any(query.judgments.relevant for query in queries)

    def hold(self, limits: Limits, queries: Sequence[Query], subject: str, said: str) -> Iterable[Finding]:
        measure = limits.measure
        total = self.aggregate(measure, queries)
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
            if subject == "" and _counts_zero(measure) and not good:
                text += f": {self.empty_queries(queries)}"
            yield Finding(subject, bound.kind, text, good, bound.fails, str(measure), value, bound.value, total.n, unit)

    def empty_queries(self, queries: Sequence[Query]) -> str:
        empty = [q for q in queries if q.id in self.rankings and not self.rankings[q.id] and not q.expects_nothing]
        return ", ".join(repr(query.text) for query in empty[:NAMED]) + _more(len(empty))

    # -- what a person is shown ---------------------------------------------------------------------------------------

    def query_result(self, query: Query) -> QueryResult:
        ids = self.rankings.get(query.id, ())
        raw = self.run.rankings.get(query.id)
        grades, relevant = query.judgments.grades, query.judgments.relevant
        scores = dict(zip(reversed(raw.ids), reversed(raw.scores), strict=True)) if raw and raw.scores else {}
        ranks = {document: rank for rank, document in enumerate(ids, 1)}
        wanted = [d for rule in query.rules for d in rule.documents if rule.kind != "must_not_find"]
        expected = dict.fromkeys([*sorted(relevant, key=lambda d: (-grades[d], d)), *wanted])

        def document(id: str) -> ShownDocument:
            return ShownDocument(
                ranks.get(id), id, self.run.titles.get(id), grades.get(id), id in relevant, scores.get(id)
            )

        most = max(SHOWN_RESULTS, self.suite.top_k)
        return QueryResult(
            id=query.id,
            text=query.text,
            line=query.place.line,
            values=tuple(self.scores.value(query.id, measure) for measure in self.suite.measures)
            if query.id in self.rankings
            else (None,) * len(self.suite.measures),
            ranking=tuple(map(document, ids[: min(most, 20)])),
            missing=tuple(document(id) for id in expected if ranks.get(id, most + 1) > most),
            returned=len(ids),
            expects_nothing=query.expects_nothing,
            fault=self.faults.get(query.id),
            check=self.items.get(query.id),
            tags=query.tags,
            why=query.why,
            seconds=raw.seconds if raw else None,
        )

    def notes(self, asked: Sequence[Query]) -> Iterable[str]:
        """What a reader of the figures must know, a line each."""
        suite = self.suite
        if self.run.interrupted:
            yield f"PARTIAL: interrupted after {len(asked)} queries"
        elif len(asked) < len(suite.queries):
            yield f"only {share(len(asked), len(suite.queries))} queries were selected; every figure is over these"
        if self.faults:
            allowed = f"; 'errors' allows {suite.max_errors}" if suite.max_errors else ""
            yield f"{share(len(self.faults), len(asked))} queries could not be answered and are in no figure{allowed}"
        empty = [q for q in asked if q.id in self.rankings and not self.rankings[q.id] and not q.expects_nothing]
        if empty:
            named = self.empty_queries(empty)
            yield f"{share(len(empty), len(asked))} queries returned nothing and score 0: {named}"
        undefined = [q for q in asked if not q.expects_nothing and not q.judgments.relevant]
        if undefined:
            what = "score 0" if suite.undefined == "zero" else "are left out of relevance means"
            yield f"{share(len(undefined), len(asked))} queries have no relevant document and {what}"
        if self.duplicated and suite.duplicates == "collapse":
            id, twice = next(iter(self.duplicated.items()))
            example = f"{suite.by_id[id].text!r} returned {self.name(twice[0])} twice{_more(len(self.duplicated), 1)}"
            yield (
                f"{share(len(self.duplicated), len(asked))} queries returned a document more than once, credited once"
                f" and the ranks closed up: {example}"
            )
        if not any(_can_fail(check) for check in suite.checks):
            yield "nothing gated: this suite has no rule and no limit that could fail"


def _can_fail(check: Check) -> bool:
    if check.query:
        return bool(check.query.rules) or any(b.fails for limits in check.query.thresholds for b in limits.bounds)
    return check.rule is not None or any(bound.fails for bound in (check.limits.bounds if check.limits else ()))


def _counts_zero(measure: Measure) -> bool:
    return measure.definition.name == "zero_results"


def _more(count: int, named: int = NAMED) -> str:
    return f" and {count - named} more" if count > named else ""


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
