"""What a verdict rests on, where that is less than it seems: said beside the figure, and in every headline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_irquality.suite.model import GuardKind
from pytest_irquality.verdict.facts import Finding, ReturnedNothing
from pytest_irquality.verdict.result import Mean, SuiteResult, Verdict
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.numbers import apart, counted, few
from pytest_irquality.wording.sentences import queries

MOST = 0.8  # the share of a limit's queries that is to be compared, or else every headline says so
MARKS: Mapping[str, str] = {
    "tied": "tie order only",
    "new": "new",
    "uncompared": "nothing to compare",
}
"""What stands in place of a tick."""


def whole(mean: Mean) -> str:
    """Today's value, where it is another than the one that is compared: over more queries, or in another order."""
    change = mean.change
    if change is None or mean.value is None or abs(mean.value - change.now) <= EQUAL:
        return ""
    _, value = apart(change.now, mean.value, mean.unit)
    if mean.queries != change.queries:
        return f"{value} over all {mean.queries}"
    return f"{value} as returned"


def caveats(result: SuiteResult) -> Iterator[str]:
    """What a headline says besides how many checks passed or failed, the weightiest first."""
    for fact in result.facts:
        if isinstance(fact, ReturnedNothing) and fact.newly:
            more = counted(len(fact.newly), "more query returns", "more queries return")
            yield f"{more} nothing: {queries(result, fact.newly)}"
    yield from _tied(result)
    yield from _partly(result)
    for kind in ("new", "uncompared"):
        found = [verdict for verdict in result.verdicts if verdict.caveat == kind]
        if found:
            yield f"{counted(len(found), 'limit')} {MARKS[kind]}"


def _tied(result: SuiteResult) -> Iterator[str]:
    found = [verdict for verdict in result.verdicts if verdict.caveat == "tied"]
    if found:
        said = few([_both(result, verdict) for verdict in found])
        yield f"held in the order of equal scores only: {said}"


def _both(result: SuiteResult, verdict: Verdict) -> str:
    """Both values of a limit that holds in the order of equal scores alone."""
    finding = next(finding for finding in verdict.findings if finding.as_returned is not None)
    returned = finding.as_returned or 0.0
    if finding.kind in GuardKind.__args__:  # type: ignore[attr-defined]
        return f"{finding.kind} (as returned {counted(round(returned), 'query breaks', 'queries break')} it)"
    value = finding.change.now if finding.change else finding.value or 0.0
    now, other = apart(value, returned, result.unit(finding.measure))
    return f"{verdict.label} {now} (as returned {other})"


def _partly(result: SuiteResult) -> Iterator[str]:
    """Limits of which fewer than four in five queries could be compared, each share once."""
    found = {
        (finding.queries, finding.of): None
        for verdict in result.verdicts
        for finding in verdict.findings
        if 0 < finding.queries < MOST * finding.of
    }
    if found:
        worst, of = min(found, key=lambda share: share[0] / share[1])
        yield f"only {worst} of {counted(of, 'query', 'queries')} compared"


def compared(finding: Finding) -> str:
    """How many of a limit's queries were compared, where that is not all."""
    if not 0 < finding.queries < finding.of:
        return ""
    return f"{finding.queries} of {finding.of} compared"
