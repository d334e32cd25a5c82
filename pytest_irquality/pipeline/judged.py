"""From a target to its result: the one way that pytest's items, ``check`` and ``ir_check`` go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline.auditing import audited
from pytest_irquality.pipeline.completing import completed
from pytest_irquality.pipeline.corpus import PassagesLost, lost_passages
from pytest_irquality.pipeline.explaining import explained
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.pipeline.resuming import resumed
from pytest_irquality.retrieval import RetrieverError, Run, retrieve
from pytest_irquality.retrieval.retrieve import Progress
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.storage import StoredRunError
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, SuiteError
from pytest_irquality.verdict import Accepting, SuiteResult, judge


class NotJudged(Exception):
    """The reason why a suite and retriever have no result, in one line."""


@dataclass(frozen=True)
class Asking:
    """A retriever, and how it is asked.

    ``name`` is how messages call it. So many calls are in flight at once, and ``progress`` gives
    what is told how many queries were answered. ``details``: what people must see of documents to
    grade them is kept. ``earlier`` is a run whose faults alone are asked again.
    """

    retriever: object
    name: str = ""
    concurrency: int | None = None
    progress: AbstractContextManager[Progress | None] = field(default_factory=nullcontext)
    details: bool = False
    earlier: Run | None = None

    @property
    def version(self) -> str | None:
        """The retriever's own version, to be kept with its answers."""
        version = getattr(self.retriever, "version", None)
        return str(version) if isinstance(version, (str, int, float)) else None


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
    needed = {query.id for check in checks for query in part.needed(check)}
    # What is damaged, or stands in no chunk, is told before anything is asked.
    plan.refuse_bad_writing(target, needed)
    before = plan.before(target)
    allowed = plan.project.allowed(target.file)
    nowhere = lost_passages(target, asking.retriever, allowed)
    if plan.kept:
        today = plan.kept.find(target).of_today(needed)
    else:
        today = _ask(plan, target, needed, asking)
    assert today.run is not None
    if suite.baseline_retriever:
        before = Found(target, suite.baseline_retriever, answers=reference or today.run)
    accepting = None
    if before.committed:
        committed = before.committed.run(suite)
        accepting = Accepting(committed, before.damage, plan.accepts_nothing)
    result = judge(
        part,
        today.run,
        checks,
        before=before.run,
        baseline=before.baseline,
        updating=plan.updating and not suite.baseline_retriever,  # else no file would mend a drop
        accepting=accepting,
        past=plan.past(target, needed),
        nowhere=nowhere,
    )
    if plan.audit:
        result = audited(part, result, today, before, asking.retriever, allowed=allowed)
    result = explained(result, asking.retriever, part)
    return completed(plan, result, today, before), today, before


def _ask(plan: Plan, target: Target, needed: Collection[str], asking: Asking) -> Found:
    """Ask the needed queries that were not answered yet.

    After an earlier attempt those had no answer then; a run that is gone on with lacks them.
    """
    suite, earlier = target.suite, asking.earlier
    wanted = {*(earlier.unanswered if earlier else needed)}
    notes = []
    if plan.saved and not earlier:
        staged = callable(getattr(asking.retriever, "candidates", None))
        kept = plan.saved.find(target)
        earlier = resumed(kept, needed, plan.project.commit, asking.version, staged=staged)
        if earlier:
            wanted.difference_update(earlier.answered)
            notes.append(
                f"resumed: {len(earlier.answered)} of {len(needed)} queries had an answer in the"
                " kept run and were not asked again"
            )
    with asking.progress as progress:
        run = retrieve(
            suite,
            asking.retriever,
            [query for query in suite.queries if query.id in wanted],
            target.retriever,
            concurrency=asking.concurrency,
            progress=progress,
            details=asking.details,
        )
    if earlier:
        run = earlier.retried(run, suite.readers)
    return Found(target, answers=replace(run, version=asking.version), notes=notes)
