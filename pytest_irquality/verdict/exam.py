"""The base's exam: today's answers, held to what the base demanded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.ledger import CHECKS, in_order
from pytest_irquality.verdict.result import BAD, Exam, Outcome, QueryResult, SuiteResult, Verdict

NAME = "exam-of-the-base"
LABEL = "exam of the base"


def held_to(
    exam: Exam, then: SuiteResult, today: SuiteResult, itself: SuiteResult | None = None
) -> Exam:
    """The exam with the verdicts ``then``'s checks end in, but for what ``today``'s fail, too.

    ``itself`` is the base's own answers judged by it, which may fail as well.
    """
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
        causes=tuple(_causes(then, bad, itself)),
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


def _causes(then: SuiteResult, bad: Sequence[Verdict], itself: SuiteResult | None) -> Sequence[str]:
    """The causes, which are named and excuse nothing, by their keys in ``wording``."""
    checks = {verdict.check for verdict in bad}
    found = dict.fromkeys(_by_facts(then, {verdict.label for verdict in bad}))
    if itself and any(one.outcome in BAD and one.check in checks for one in itself.verdicts):
        found["fails its own"] = None
    if any(query.expects_nothing and query.returned for query in _about(then, bad)):
        found["expected nothing"] = None
    return [*found]


def _by_facts(then: SuiteResult, labels: Collection[str]) -> Iterator[str]:
    for fact in then.facts:
        if isinstance(fact, facts.RestsOnUnjudged) and not {*fact.checks}.isdisjoint(labels):
            yield "unjudged"
        if isinstance(fact, facts.LeftIndex):
            yield "left the index"


def item(exams: Sequence[Exam]) -> Verdict:
    """Give the verdict of the item of a suite's exams."""
    accepted = any(exam.accepted for exam in exams)
    outcome: Outcome = "accepted" if accepted else "passed"
    if any(exam.failed for exam in exams):
        outcome = "failed"
    return Verdict(NAME, LABEL, 1, outcome, scope="exam", accepted=accepted)
