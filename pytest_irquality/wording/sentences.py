"""Sentences of demands, warnings, and causes of faults: once, for every report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_irquality.suite.demands import Together
from pytest_irquality.verdict import facts
from pytest_irquality.verdict.findings import Cause, Finding
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
    of_candidates = _of_candidates(result)
    faults = {
        id: result.by_id[id].fault or of_candidates.get(id, "") for id in ids if id in result.by_id
    }
    all_causes = [*result.causes, *_causes_of_candidates(result)]
    groups = [[id for id in cause.queries if id in faults] for cause in all_causes]
    groups = sorted(filter(None, groups), key=len, reverse=True)
    if len(groups) > 1:
        return few([f"{faults[alike[0]]} ({len(alike)})" for alike in groups])
    return next(filter(None, faults.values()), "another process had no answer")


def _causes_of_candidates(result: SuiteResult) -> Sequence[Cause]:
    unknown = (fact for fact in result.facts if isinstance(fact, facts.CandidatesUnknown))
    return next((fact.causes for fact in unknown), ())


def _of_candidates(result: SuiteResult) -> Mapping[str, str]:
    """The cause why the first stage of a query could not be asked, by its id."""
    causes = _causes_of_candidates(result)
    return {id: f"candidates: {cause.message}" for cause in causes for id in cause.queries}


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
