"""Counts of checks by their outcome, for headlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from pytest_irquality.verdict.limits import margin
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.numbers import counted, figure, grouped


def counts(result: SuiteResult) -> tuple[str, ...]:
    """The number of checks of each outcome: ``19 of 70 queries broke a rule``."""
    found = list(_bad(result)) or list(_good(result))
    outcomes = [verdict.outcome for verdict in result.verdicts]
    if drops := outcomes.count("accepted"):
        found.append(counted(drops, "accepted drop"))
    if known := outcomes.count("known"):
        found.append(counted(known, "known issue"))
    if result.interrupted:
        found.append(f"stopped after {counted(len(result.queries), 'query', 'queries')}")
    return tuple(found)


def holding(result: SuiteResult) -> Sequence[Verdict]:
    """The limits that hold in all that they demand, over something that was compared."""
    passed = [v for v in result.verdicts if v.query is None and v.outcome == "passed"]
    return [verdict for verdict in passed if not verdict.caveat and not verdict.warned]


def held(result: SuiteResult) -> str:
    """The number of limits that hold: ``7 limits hold; nearest: ndcg@10, 0.012 left``."""
    limits = holding(result)
    if not limits:
        return ""
    number = counted(len(limits), "limit holds", "limits hold")
    nearest = _nearest(limits)
    return f"{number}; nearest: {nearest}" if nearest else number


def _nearest(limits: Sequence[Verdict]) -> str:
    """The limit that is nearest to breaking.

    Those on counts and times are left out: they would not be nearer for their smaller units.
    """
    demands = [
        (margin(finding), verdict, finding.subject)
        for verdict in limits
        for finding in verdict.findings
        if finding.fails and finding.ok and finding.value is not None and not finding.unit
    ]
    if not demands:
        return ""
    left, verdict, subject = min(demands, key=itemgetter(0))
    which = f" of {subject}" if verdict.over.each_tag and subject else ""
    return f"{verdict.label}{which}, {figure(max(left, 0.0))} left"


def _bad(result: SuiteResult) -> Iterator[str]:
    queries = [verdict.outcome for verdict in result.verdicts if verdict.query is not None]
    limits = [verdict.outcome for verdict in result.verdicts if verdict.query is None]
    if failed := queries.count("failed"):
        yield f"{grouped(failed)} of {counted(len(queries), 'query', 'queries')} broke a rule"
    if failed := limits.count("failed"):
        yield f"{grouped(failed)} of {counted(len(limits), 'limit')} broken"
    both = [*queries, *limits]
    others = (
        (queries.count("error"), "query had no answer", "queries had no answer"),
        (limits.count("error"), "limit is undecided", "limits are undecided"),
        (both.count("fixed"), "known issue is fixed", "known issues are fixed"),
        (both.count("not evaluated"), "check was not evaluated", "checks were not evaluated"),
    )
    yield from (counted(*other) for other in others if other[0])


def _good(result: SuiteResult) -> Iterator[str]:
    yield counted(len(result.queries), "query", "queries")
    limits = holding(result)
    if limits and result.gated:
        yield counted(len(limits), "limit holds", "limits hold")
    warning = sum(verdict.query is None and verdict.warned for verdict in result.verdicts)
    if warning:
        yield counted(warning, "limit warns", "limits warn")
    if not result.gated:
        yield "no rule and no limit that could fail"
