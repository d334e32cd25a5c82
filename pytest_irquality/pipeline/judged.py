"""From a target to its result: the one way that pytest's items, ``check`` and ``ir_check`` go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytest_irquality.metrics import MeasureError
from pytest_irquality.pipeline.auditing import audited
from pytest_irquality.pipeline.completing import completed
from pytest_irquality.pipeline.explaining import explained
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.pipeline.resuming import resumed
from pytest_irquality.retrieval import RetrieverError, Run, UnreadableResult, retrieve
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.stored import StoredRunError
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Check, SuiteError
from pytest_irquality.verdict import Baseline, SuiteResult, judge
from pytest_irquality.verdict.accepted import Accepting
from pytest_irquality.verdict.findings import Loss


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
    progress: AbstractContextManager[Callable[[int, int], None] | None] = field(
        default_factory=nullcontext
    )
    details: bool = False
    earlier: Run | None = None

    @property
    def version(self) -> str | None:
        """What a retriever says of its own version, to be kept with its answers."""
        version = getattr(self.retriever, "version", None)
        return str(version) if isinstance(version, (str, int, float)) else None


class Against(NamedTuple):
    """What a run is compared with, what is known of that, and what accepts drops from it; None
    where there is nothing.
    """

    run: Run | None = None
    baseline: Baseline | None = None
    accepting: Accepting | None = None


class JudgedRun(NamedTuple):
    """A result, the answers that it is about, and those that they were compared with."""

    result: SuiteResult
    run: Run
    before: Run | None


def judged(
    plan: Plan,
    target: Target,
    checks: Sequence[Check],
    asking: Asking,
    *,
    reference: Run | None = None,
) -> JudgedRun:
    """Ask every query that some checks need, and hold the answers against these checks.

    ``reference`` is the run of another retriever, where the suite compares with that; without one
    the target is that retriever itself. Raises ``NotJudged``.
    """
    suite = target.suite
    try:
        return _judged(plan, target, checks, asking, reference)
    except (StoredRunError, SuiteError, UnreadableResult) as error:
        raise NotJudged(str(error)) from error
    except MeasureError as error:  # a measure of the project's own
        raise NotJudged(f"{error} ({suite.path})") from error
    except RetrieverError as error:
        place = error.place
        at = f"{place.path or suite.path}:{place.line}" if place else suite.path
        raise NotJudged(f"{error} ({', '.join(filter(None, (asking.name, at)))})") from error


def _judged(
    plan: Plan, target: Target, checks: Sequence[Check], asking: Asking, reference: Run | None
) -> JudgedRun:
    suite, part = target.suite, plan.part(target.suite)
    needed = {query.id for check in checks for query in part.needed(check)}
    # What is damaged, or stands in no chunk, is told before anything is asked.
    plan.refuse_overwriting(target)
    found = None if suite.baseline_retriever else plan.before(target, needed)
    against = _against(plan, found)
    nowhere = _in_no_chunk(plan, target, asking.retriever)
    kept = plan.kept.find(target) if plan.kept else None
    if kept:
        run, notes = kept.of_today(needed), tuple(kept.lacking(needed))
    else:
        run, notes = _ask(plan, target, needed, asking)
    if suite.baseline_retriever:
        against = _side_by_side(suite.baseline_retriever, reference or run)
    result = judge(
        part,
        run,
        checks,
        before=against.run,
        baseline=against.baseline,
        updating=plan.updating and not suite.baseline_retriever,  # else no file would mend a drop
        accepting=against.accepting,
        past=plan.past(target, needed),
        nowhere=nowhere,
    )
    if plan.audit:
        result = audited(
            part, run, result, asking.retriever, before=against.run, baseline=against.baseline
        )
    result = explained(result, asking.retriever, part)
    result = completed(plan, target, run, result, notes, kept=kept, before=found)
    return JudgedRun(result, run, against.run)


def _against(plan: Plan, found: Found | None) -> Against:
    """Give what is compared with of what was found. Raises ``StoredRunError`` where it is there and
    nothing can be compared with it.
    """
    if found is None or (plan.updating and found.unfit):  # an update is about to mend it
        return Against()
    if found.committed is None:
        if found.unfit:
            raise StoredRunError(found.unfit)
        return Against(found.run, found.baseline)
    committed = found.committed.run(found.target.suite)
    accepting = Accepting(committed, found.unfit, plan.accepts_nothing)
    if found.unfit:
        return Against(accepting=accepting)
    return Against(found.run, found.baseline, accepting)


def _side_by_side(name: str, run: Run) -> Against:
    return Against(run, Baseline(name, len(run.answered), version=run.version))


def _in_no_chunk(plan: Plan, target: Target, retriever: object) -> Mapping[str, Loss]:
    """Give the passages that no ranking can find."""
    suite = target.suite
    if not any(map(suite.reads_texts, suite.queries)):
        return {}
    from pytest_irquality.pipeline.corpus import refuse_lost  # noqa: PLC0415 - only for texts

    return refuse_lost(suite, retriever, target.file, plan.project.allowed(target.file))


def _ask(
    plan: Plan, target: Target, needed: Collection[str], asking: Asking
) -> tuple[Run, tuple[str, ...]]:
    """Ask the needed queries: after an earlier attempt those that had no answer then, and of a run
    that is gone on with those that it lacks.
    """
    suite, earlier = target.suite, asking.earlier
    wanted = {*(earlier.unanswered if earlier else needed)}
    notes: list[str] = []
    if plan.saved and not earlier:
        staged = callable(getattr(asking.retriever, "candidates", None))
        then = plan.saved.find(target)
        earlier = resumed(then, needed, plan.project.commit, asking.version, staged=staged)
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
    return replace(run, version=asking.version), tuple(notes)
