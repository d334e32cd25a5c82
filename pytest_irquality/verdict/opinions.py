"""Second opinions: verdicts under the grades of one judge of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_irquality.metrics import Judgments
from pytest_irquality.suite.model import Check, Suite
from pytest_irquality.verdict.result import SuiteResult, Verdict

Rejudge = Callable[[Suite, Sequence[Check]], Sequence[Verdict]]
"""Judges some checks of a suite with other judgments on the same rankings."""


def with_other_judges(suite: Suite, result: SuiteResult, rejudge: Rejudge) -> SuiteResult:
    """The result with the judges under whose grades alone each check would end otherwise.

    Only the pairs that this judge graded are replaced. What was not judged, or is a known issue,
    cannot end otherwise.
    """
    decided = {v.check: v.outcome for v in result.verdicts if v.outcome in ("passed", "failed")}
    otherwise: dict[str, tuple[str, ...]] = {}
    for judge in suite.named_judges:
        other = as_judged_by(suite, judge)
        checks = [check for check in other.checks if check.name in decided]
        for verdict in rejudge(other, checks) if other is not suite else ():
            if (verdict.outcome == "passed") != (decided[verdict.check] == "passed"):
                otherwise[verdict.check] = (*otherwise.get(verdict.check, ()), judge)
    verdicts = (replace(one, otherwise=otherwise.get(one.check, ())) for one in result.verdicts)
    return replace(result, verdicts=tuple(verdicts)) if otherwise else result


def as_judged_by(suite: Suite, judge: str) -> Suite:
    """The suite with this judge's grade for every pair that this judge graded.

    The suite itself where none of those has another grade or another relevance.
    """
    judged: dict[str, Judgments] = {}
    for query in suite.queries:
        own = {doc: given[judge] for doc, given in query.votes.items() if judge in given}
        before = query.judgments
        votes = {doc: given for doc, given in before.votes.items() if doc not in own}
        after = Judgments({**before.grades, **own}, before.relevant_from, votes)
        if (after.grades, after.relevant) != (before.grades, before.relevant):
            judged[query.id] = after
    return suite.judged_as(judged) if judged else suite
