"""From a target to its result: the one way that pytest's items and ``check`` go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline.asking import Asking, asked, settled
from pytest_irquality.pipeline.auditing import audited
from pytest_irquality.pipeline.completing import completed
from pytest_irquality.pipeline.corpus import PassagesLost, lost_passages
from pytest_irquality.pipeline.explaining import explained
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.pipeline.sitting import examined, then_of
from pytest_irquality.retrieval import RetrieverError, Run, UnreadableResult
from pytest_irquality.storage import StoredRunError
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, SuiteError
from pytest_irquality.verdict import Accepting, SuiteResult, judge

__all__ = ["Asking", "NotJudged", "judged"]


class NotJudged(Exception):
    """The reason why a suite and retriever have no result, in one line."""


def judged(
    plan: Plan,
    target: Target,
    checks: Sequence[Check],
    asking: Asking,
    *,
    reference: Run | None = None,
) -> tuple[SuiteResult, Found, Found]:
    """Ask every query that some checks need, and hold the answers against these checks.

    Gives the result, today's answers, and what they were compared with. ``reference`` is the run of
    another retriever, where the suite compares with that; without one the target is that retriever
    itself. Raises ``NotJudged``.
    """
    suite = target.suite
    try:
        return _judged(plan, target, checks, asking, reference)
    except (PassagesLost, StoredRunError, SuiteError, UnreadableResult) as error:
        raise NotJudged(str(error)) from error
    except MeasureError as error:  # a measure of the project's own
        raise NotJudged(f"{error} ({suite.path})") from error
    except RetrieverError as error:
        place = error.place
        at = f"{place.path or suite.path}:{place.line}" if place else suite.path
        raise NotJudged(f"{error} ({', '.join(filter(None, (asking.name, at)))})") from error


def _judged(
    plan: Plan, target: Target, checks: Sequence[Check], asking: Asking, reference: Run | None
) -> tuple[SuiteResult, Found, Found]:
    suite, part = target.suite, plan.part(target.suite)
    part = replace(part, baseline_retriever=target.other)
    needed = {query.id for check in checks for query in part.needed(check)}
    # What is damaged, or stands in no chunk, is told before anything is asked.
    plan.refuse_over_budget()
    plan.refuse_bad_writing(target, needed)
    before = plan.before(target)
    allowed = plan.project.allowed(target.file)
    nowhere = lost_passages(target, asking.retriever, allowed)
    if plan.kept:
        today = plan.kept.find(target).of_today(needed)
    else:
        today = asked(plan, target, needed, asking)
    if target.other:
        before = Found(target, target.other, answers=reference)
    accepting = None
    if before.committed:
        committed = before.committed.run(suite)
        accepting = Accepting(committed, before.damage, plan.accepts_nothing)
    today = settled(plan, asking, today, before.run, accepting)
    assert today.run is not None
    result = judge(
        part,
        today.run,
        checks,
        before=before.run,
        baseline=before.baseline,
        # Else no file would mend a drop.
        updating=before.unguarded or (plan.updating and not target.other),
        accepting=accepting,
        past=plan.past(target, needed),
        nowhere=nowhere,
        then=then_of(plan, before),
    )
    result = examined(plan, today, before, asking, result, checks=checks)
    if plan.audit:
        result = audited(part, result, today, before, asking.retriever, allowed=allowed)
    result = explained(result, asking.retriever, part)
    return completed(plan, result, today, before), today, before
