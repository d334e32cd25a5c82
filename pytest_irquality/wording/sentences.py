"""Sentences of demands, warnings, and causes of faults: once, for every report."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_irquality.suite.demands import Together
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.verdict.together import LARGE, LIKELY
from pytest_irquality.wording.answers import in_answers
from pytest_irquality.wording.demand_words import of
from pytest_irquality.wording.numbers import few
from pytest_irquality.wording.words import query


def causes(result: SuiteResult, ids: Iterable[str]) -> str:
    """The causes why queries have no ranking.

    Those that failed alike are reported once, and counted where there are several.
    """
    ids = [*ids]
    wanted = {*ids}
    groups = [(len(wanted.intersection(one.queries)), one.message) for one in result.causes]
    groups = sorted((group for group in groups if group[0]), key=lambda one: -one[0])
    if len(groups) > 1:
        return few([f"{message} ({many})" for many, message in groups])
    # Those left out, and those of a base's suite, have faults of their own alone.
    own = (result.by_id[id].fault for id in ids if id in result.by_id)
    known = groups[0][1] if groups else "another process had no answer"
    return next(filter(None, own), known)


def warnings(result: SuiteResult) -> tuple[str, ...]:
    """The sentences on what is broken and only warns."""
    return tuple(
        sentence(result, verdict, finding)
        for verdict, finding in result.findings
        if not finding.fails and not finding.ok
    )


def otherwise(verdict: Verdict) -> str:
    """Under whose grades alone a check would end otherwise; "" where under nobody's."""
    if not verdict.otherwise:
        return ""
    verb = "fail" if verdict.outcome == "passed" else "pass"
    return f"it would {verb} under the grades of {few(list(verdict.otherwise))} alone"


# -- demands ---------------------------------------------------------------------------------------


def sentence(result: SuiteResult, verdict: Verdict, finding: Finding) -> str:
    """A demand with the query or tag it was made of, unless that is the check's own."""
    demanded = demand(result, finding)
    over = verdict.over
    if not finding.subject or (over.queries and not over.each):
        return demanded
    if not over.queries:
        return f"tag {finding.subject}: {demanded}"
    colon = "" if of(finding).several else ":"
    return f"{query(result, finding.subject)}{colon} {demanded}"


def demand(result: SuiteResult, finding: Finding) -> str:
    """A demand with what was seen; in how many answers, where there are several."""
    return of(finding).sentence(result, finding) + in_answers(finding)


def drop_of_all(result: SuiteResult) -> str:
    """The reason why a drop over all suites fails that no test of this one alone would find."""
    broken = (finding for _, finding in result.findings if finding.breaks)
    pool = next((finding for finding in broken if issubclass(finding.demand, Together)), None)
    if pool is None:
        return ""
    if pool.suites > 1:
        return f"the test is over all {pool.suites} suites"
    return f"a drop of more than {LARGE:g} fails where p is under {LIKELY:g}"
