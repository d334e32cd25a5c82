"""Counts of checks by their outcome, for headlines, and the sums of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.verdict.findings import FateCount
from pytest_irquality.verdict.ledger import MISSING, Ledger
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.examined import differs
from pytest_irquality.wording.losses import FATES
from pytest_irquality.wording.numbers import counted, grouped

SAID: Mapping[str, str] = {"other": "compared with nothing", "variant": "made variants"}
"""Classes that have other words."""


def counts(result: SuiteResult) -> tuple[str, ...]:
    """The number of checks of each outcome: ``19 of 70 queries broke a rule``."""
    found = list(_bad(result)) or list(_good(result))
    if drops := len(accepted_drops(result)):
        found.append(counted(drops, "accepted drop"))
    outcomes = [verdict.outcome for verdict in result.verdicts]
    if known := outcomes.count("known"):
        found.append(counted(known, "known issue"))
    if partly := _over_part(result):
        found.append(partly)
    if result.interrupted:
        found.append(f"stopped after {counted(len(result.queries), 'query', 'queries')}")
    return tuple(found)


def accepted_drops(result: SuiteResult) -> Sequence[Verdict]:
    """The drops that the change's own baseline accepts."""
    accepted = [verdict for verdict in result.verdicts if verdict.outcome == "accepted"]
    return [verdict for verdict in accepted if not verdict.over.exam]


def _over_part(result: SuiteResult) -> str:
    """The share of the queries that means are over, where calls failed."""
    total = len(result.queries)
    answered = sum(query.fault is None for query in result.queries)
    if not result.shown or answered in (0, total):
        return ""
    return f"{result.shown[0]} over the {grouped(answered)} of {grouped(total)} that were answered"


def holding(result: SuiteResult) -> Sequence[Verdict]:
    """The limits that hold in all that they demand, over something that was compared."""
    passed = [v for v in result.verdicts if v.query is None and v.outcome == "passed"]
    return [verdict for verdict in passed if not verdict.caveat and not verdict.warned]


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
    lacks = tuple(missing(result.ledger))
    yield from lacks or [counted(len(result.queries), "query", "queries")]
    limits = holding(result)
    if limits and result.gated:
        yield counted(len(limits), "limit holds", "limits hold")
    warning = sum(verdict.query is None and verdict.warned for verdict in result.verdicts)
    if warning:
        yield counted(warning, "limit warns", "limits warn")
    if not result.gated:
        yield "no rule and no limit that could fail"


# -- the ledger ------------------------------------------------------------------------------------


def sums(result: SuiteResult) -> str:
    """The line of sums: ``12 queries: 4 compared, 8 not asked; 64 checks: 4 judged, …``."""
    ledger = result.ledger
    queries = _sum(ledger.queries, "query", "queries")
    checks = _sum(ledger.checks, "check", "checks")
    then = [_sum(exam.checks, "check of the base", "checks of the base") for exam in result.exams]
    return "; ".join(filter(None, (queries, checks, *then, differs(result))))


def _sum(classes: Mapping[str, int], one: str, many: str) -> str:
    parts = [f"{grouped(number)} {SAID.get(name, name)}" for name, number in classes.items()]
    return f"{counted(sum(classes.values()), one, many)}: {', '.join(parts)}" if parts else ""


def missing(ledger: Ledger) -> Iterator[str]:
    """All that is missing, in few words: ``4 of 12 queries``, ``60 checks deselected``."""
    queries = {name: many for name, many in ledger.queries.items() if name in MISSING}
    if queries:
        total = sum(ledger.queries.values())
        yield f"{grouped(total - sum(queries.values()))} of {counted(total, 'query', 'queries')}"
        yield from (f"{grouped(n)} {name}" for name, n in queries.items() if name != "not asked")
    for name, many in ledger.checks.items():
        if name in MISSING:
            yield f"{counted(many, 'check')} {name}"


def fates(result: SuiteResult) -> str:
    """The fates of all relevant passages or documents, those that grew first; "" where none tell.

    ``passages: cut 0 → 11, in no stage 2 → 5, found 58 → 44``.
    """
    if result.fates is None:
        return ""
    told = [count for count in result.fates.counts if count.now or count.before]
    told.sort(key=lambda count: (count.fate == "found", (count.before or 0) - count.now))
    if not result.fates.compared:
        told.sort(key=lambda count: count.fate != "found")
    parts = [_counted(count, compared=result.fates.compared) for count in told]
    some = result.fates.queries < result.fates.asked
    over = f" (over {result.fates.queries} of {result.fates.asked} queries)" if some else ""
    return f"{result.fates.what}{over}: {', '.join(parts)}"


def _counted(count: FateCount, *, compared: bool) -> str:
    words = FATES[count.fate]
    if not compared or count.before == count.now:
        return f"{words} {grouped(count.now)}"
    if count.before is None:
        return f"{words} {grouped(count.now)} (unknown then)"
    return f"{words} {grouped(count.before)} → {grouped(count.now)}"
