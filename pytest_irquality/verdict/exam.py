"""The base's exam: today's answers, held to what the base demanded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.ledger import CHECKS, in_order
from pytest_irquality.verdict.result import BAD, Exam, Outcome, QueryResult, SuiteResult, Verdict

NAME = "exam-of-the-base"
LABEL = "the base's suite"


def held_to(exam: Exam, then: SuiteResult, today: SuiteResult) -> Exam:
    """The exam with the verdicts ``then``'s checks end in, but for what ``today``'s fail, too."""
    known = {verdict.check: verdict.outcome for verdict in today.verdicts}
    bad = tuple(
        replace(verdict, accepted=verdict.accepted or verdict.outcome == "accepted")
        for verdict in then.verdicts
        if is_not_passed(verdict, known.get(verdict.check, ""))
    )
    return replace(
        exam,
        verdicts=tuple(sorted(bad, key=lambda verdict: verdict.query is not None)),
        queries=_about(then, bad),
        means=then.means if bad or then.share else (),
        share=then.share,
        checks=_counted(then),
    )


def _about(then: SuiteResult, bad: Sequence[Verdict]) -> tuple[QueryResult, ...]:
    """The queries that failed checks name, or that are worse; of any that may fail yet."""
    if not bad and not then.share:
        return ()
    named = {finding.subject for verdict in bad for finding in verdict.findings}
    named |= {verdict.query for verdict in bad if verdict.query}
    named |= {query.id for query in Damage(then).worse}
    return tuple(query for query in then.queries if query.id in named)


def is_not_passed(verdict: Verdict, today: str) -> bool:
    """Tell whether a check of then is not passed, and today's of its name does not say so.

    A known issue counts as passed, whether it is fixed or not.
    """
    if verdict.outcome == "accepted":
        return today != "accepted"
    return verdict.outcome in BAD and verdict.outcome != "fixed" and today not in BAD


def _counted(then: SuiteResult) -> Mapping[str, int]:
    ended = [verdict.ended for verdict in then.verdicts] + ["skipped"] * len(then.skipped)
    return in_order({name: ended.count(name) for name in CHECKS}, CHECKS)


def item(exams: Sequence[Exam]) -> Verdict:
    """Give the verdict of the item of a suite's exams."""
    accepted = any(exam.accepted for exam in exams)
    outcome: Outcome = "accepted" if accepted else "passed"
    if any(exam.failed for exam in exams):
        outcome = "failed"
    return Verdict(NAME, LABEL, 1, outcome, scope="exam", accepted=accepted)
