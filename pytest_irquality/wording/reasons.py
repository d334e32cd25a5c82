"""The reason of each verdict, in one line for every report.

The worst of what a check broke comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.demand_words import of
from pytest_irquality.wording.numbers import counted, few, share
from pytest_irquality.wording.sentences import causes, sentence
from pytest_irquality.wording.words import queries, query, quoted, relevant

NAMED = 5
"""How many of the tags or queries that break a limit are named."""


def reason(result: SuiteResult, verdict: Verdict) -> str:
    """The reason why a check ended as it did, in one line; "" for one that passed."""
    if verdict.over.exam:
        return _exam(result)
    return REASONS[verdict.outcome](result, verdict)


def short_reason(result: SuiteResult, verdict: Verdict) -> str:
    """The reason why a check failed, for a place where its name stands beside it."""
    why = reason(result, verdict)
    if verdict.query is None or verdict.query not in result.by_id:
        return why
    return why.removeprefix(f"{quoted(result.query(verdict.query).text)}: ")


def summary_reason(result: SuiteResult, verdict: Verdict) -> str:
    """The reason for pytest's short summary, which has one line for it.

    Documents go without their titles; the query has its text where its name is an id.
    """
    findings = (
        replace(finding, ranked=tuple(replace(d, title=None) for d in finding.ranked))
        for finding in verdict.findings
    )
    said = short_reason(result, replace(verdict, findings=tuple(findings)))
    query = result.by_id.get(verdict.query or "")
    return said if query is None or query.id == query.text else f"{quoted(query.text)}: {said}"


def _exam(result: SuiteResult) -> str:
    """The checks of the base's exam that today's answers do not pass."""
    found = []
    for exam in result.exams:
        then = exam.told(result)
        found += [exam.unread] if exam.unread else []
        found += [reason(then, verdict) or verdict.label for verdict in exam.verdicts]
        if exam.refuses_weaker and exam.weaker:
            ways = counted(len(exam.weaker), "way")
            found.append(f"the suite is weaker in {ways}, which ir_exam refuses")
    return f"the base's suite is not passed: {few(found)}" if found else ""


def _broken(result: SuiteResult, verdict: Verdict) -> str:
    broken = Damage(result).broken(verdict)
    broken = broken or [finding for finding in verdict.findings if not finding.ok]
    if not broken:
        return ""
    allowed = f"; {verdict.allowed} are allowed" if verdict.allowed else ""
    if len(broken) > 1 and of(broken[0]).several:
        return f"{_many(result, broken)}{allowed}"
    subject = f"{query(result, verdict.query)}: " if verdict.query is not None else ""
    more = _more(result, verdict, broken)
    beside = f" (and {more}{allowed})" if more else ""
    return f"{subject}{sentence(result, verdict, broken[0])}{beside}"


def _many(result: SuiteResult, broken: Sequence[Finding]) -> str:
    """``200 queries lost all their relevant documents: 'a', 'b', 'c', 'd', 'e' and 195 more``."""
    named = few(_subjects(result, broken), named=NAMED)
    did = of(broken[0]).several.format(relevant=relevant(result))
    return f"{counted(len(broken), 'query', 'queries')} {did}: {named}"


def _more(result: SuiteResult, verdict: Verdict, broken: Sequence[Finding]) -> str:
    """The rest of what a check broke: by name where it is about tags or queries."""
    rest = broken[1:]
    if rest and verdict.over.each:
        return few(_subjects(result, rest), named=NAMED - 1)
    return f"{len(rest)} more" if rest else ""


def _subjects(result: SuiteResult, broken: Sequence[Finding]) -> Sequence[str]:
    """The queries in quotes, or the tags, that a limit is broken on."""
    subjects = dict.fromkeys(finding.subject for finding in broken)
    return [query(result, name) if name in result.by_id else name for name in subjects]


def _undecided(result: SuiteResult, verdict: Verdict) -> str:
    if not result.queries:
        many = counted(len(verdict.unanswered), "query", "queries")
        return f"undecided: {many} had no answer"
    why = causes(result, verdict.unanswered)
    if verdict.query is not None:
        return why
    return f"undecided, because of {queries(result, verdict.unanswered)}: {why}"


def _not_evaluated(result: SuiteResult, verdict: Verdict) -> str:
    return f"not evaluated: {share(verdict.unasked, verdict.needed)} queries were not asked"


def _fixed(result: SuiteResult, verdict: Verdict) -> str:
    fixed = f"known issue {verdict.known_issue} no longer fails: all of {verdict.label!r} holds"
    return f"{removal(result, verdict)}: {fixed}"


def removal(result: SuiteResult, verdict: Verdict) -> str:
    """The edit where a known issue, or what a strict mark expected, is fixed."""
    if not verdict.issue_line:
        return f"remove the mark 'xfail' of {verdict.label!r} ({result.place(verdict)})"
    return f"remove 'known_issue' at {verdict.file or result.path}:{verdict.issue_line}"


REASONS: Mapping[str, Callable[[SuiteResult, Verdict], str]] = {
    "passed": lambda result, verdict: "",
    "failed": _broken,
    "known": _broken,
    "accepted": _broken,
    "error": _undecided,
    "not evaluated": _not_evaluated,
    "fixed": _fixed,
}
