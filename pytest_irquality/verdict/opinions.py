"""Second opinions: the agreement of judges, and verdicts under the grades of one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

from pytest_irquality.metrics import Judgments
from pytest_irquality.suite.model import Check, Suite
from pytest_irquality.verdict.audit_facts import Agreement, Disputed, Opinions
from pytest_irquality.verdict.facts import Fact, OtherJudge, SeveralJudges
from pytest_irquality.verdict.result import SuiteResult, Verdict

MOST_DISPUTED = 10

Rejudge = Callable[[Suite, Sequence[Check]], Sequence[Verdict]]
"""Judges some checks of a suite with other judgments on the same rankings."""


def opinions(suite: Suite) -> Opinions | None:
    """None where no pair has two judges."""
    open_pairs = [
        (query, document, given)
        for query in suite.queries
        for document, given in query.votes.items()
        if len(given) > 1
    ]
    settled = [
        one for query in suite.queries for one in query.settled.values() if len(one.votes) > 1
    ]
    grades = [*(given for _, _, given in open_pairs), *(one.votes for one in settled)]
    if not grades:
        return None
    judges = sorted(set(chain(*grades)))
    two = [_agreement([one, other], grades) for one, other in combinations(judges, 2)]
    disputed = [
        Disputed(query.text, document, tuple(sorted(given.items())))
        for query, document, given in open_pairs
        if len({*given.values()}) > 1
    ]
    disputed.sort(key=lambda one: -one.distance)
    return Opinions(
        two=tuple(one for one in two if one.pairs) if len(judges) > 2 else (),
        all=_agreement(judges, grades),
        disputed=tuple(disputed[:MOST_DISPUTED]),
        differing=len(disputed),
        settled=len(settled),
    )


def _agreement(judges: Sequence[str], grades: Sequence[Mapping[str, float]]) -> Agreement:
    """The agreement of some judges on the documents that two of them or more have graded."""
    by_these = ([given[judge] for judge in judges if judge in given] for given in grades)
    graded = [some for some in by_these if len(some) > 1]
    return Agreement(tuple(judges), len(graded), sum(len({*some}) == 1 for some in graded))


# -- another judge ---------------------------------------------------------------------------------


def with_other_judges(suite: Suite, result: SuiteResult, rejudge: Rejudge) -> SuiteResult:
    """The result with the checks that would end otherwise under one judge alone.

    Only the pairs that this judge graded are replaced. What was not judged, or is a known issue,
    cannot end otherwise.
    """
    if not suite.judged_by_several:
        return result
    counted = SeveralJudges(suite.judged_by_several, tuple(_sharing(suite)), suite.judges.how)
    facts: list[Fact] = [counted]
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


def _sharing(suite: Suite) -> Mapping[str, None]:
    """The judges who graded a document that another graded, too."""
    votes = (given for query in suite.queries for given in query.votes.values())
    return dict.fromkeys(judge for given in votes if len(given) > 1 for judge in given)


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
