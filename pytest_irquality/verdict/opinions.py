"""Second opinions: verdicts under the grades of one judge of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_irquality.metrics import Judgments
from pytest_irquality.suite.model import Check, Suite
from pytest_irquality.verdict.facts import Fact, OtherJudge
from pytest_irquality.verdict.result import SuiteResult, Verdict

Rejudge = Callable[[Suite, Sequence[Check]], Sequence[Verdict]]
"""Judges some checks of a suite with other judgments on the same rankings."""


def with_other_judges(suite: Suite, result: SuiteResult, rejudge: Rejudge) -> SuiteResult:
    """The result with the checks that would end otherwise under one judge alone.

    Only the pairs that this judge graded are replaced. What was not judged, or is a known issue,
    cannot end otherwise.
    """
    facts: list[Fact] = []
    decided = {v.check: v.outcome for v in result.verdicts if v.outcome in ("passed", "failed")}
    otherwise: dict[str, tuple[str, ...]] = {}  # the judges under whom a check ends otherwise
    for judge in suite.named_judges:
        other, pairs = as_judged_by(suite, judge)
        checks = [check for check in other.checks if check.name in decided]
        flipped: dict[bool, list[str]] = {True: [], False: []}
        for verdict in rejudge(other, checks) if pairs else ():
            passes = verdict.outcome == "passed"
            if passes != (decided[verdict.check] == "passed"):
                flipped[passes].append(verdict.label)
                otherwise[verdict.check] = (*otherwise.get(verdict.check, ()), judge)
        if any(flipped.values()):
            facts.append(OtherJudge(judge, pairs, tuple(flipped[True]), tuple(flipped[False])))
    verdicts = tuple(
        replace(verdict, otherwise=otherwise.get(verdict.check, verdict.otherwise))
        for verdict in result.verdicts
    )
    return replace(result, verdicts=verdicts, facts=(*result.facts, *facts))


def as_judged_by(suite: Suite, judge: str) -> tuple[Suite, int]:
    """The suite with this judge's grade for every pair that this judge graded.

    And how many of those now have another grade or another relevance.
    """
    judged: dict[str, Judgments] = {}
    pairs = 0
    for query in suite.queries:
        own = {doc: given[judge] for doc, given in query.votes.items() if judge in given}
        before = query.judgments
        votes = {doc: given for doc, given in before.votes.items() if doc not in own}
        after = Judgments({**before.grades, **own}, before.relevant_from, votes)
        other = [
            doc
            for doc, grade in own.items()
            if grade != before.grades[doc] or (doc in after.relevant) != (doc in before.relevant)
        ]
        if other:
            judged[query.id] = after
            pairs += len(other)
    return suite.judged_as(judged), pairs
