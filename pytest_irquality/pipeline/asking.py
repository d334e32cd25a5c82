"""A retriever, asked the queries that were not answered yet, and once more where a tie may hide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.pipeline.resuming import resumed
from pytest_irquality.retrieval import Run, retrieve
from pytest_irquality.retrieval.retrieve import Arrived, Progress
from pytest_irquality.retrieval.run import deeper_than
from pytest_irquality.retrieval.staging import first_stages
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.target import Target
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict import Accepting
from pytest_irquality.verdict.passages import by_passages
from pytest_irquality.verdict.sides import Sides


@dataclass(frozen=True)
class Asking:
    """A retriever, and how it is asked.

    ``name`` is how messages call it. So many calls are in flight at once, and ``progress`` is
    told how many queries were answered. ``details``: what people must see of documents to
    grade them is kept. ``earlier`` is a run whose faults alone are asked again.
    """

    retriever: object
    name: str = ""
    concurrency: int | None = None
    progress: Progress | None = None
    details: bool = False
    earlier: Run | None = None

    @property
    def staged(self) -> bool:
        """True where the retriever tells what stands before its ranking."""
        return first_stages(self.retriever) is not None

    @property
    def version(self) -> str | None:
        """The retriever's own version, to be kept with its answers."""
        version = getattr(self.retriever, "version", None)
        return str(version) if isinstance(version, (str, int, float)) else None


def asked(plan: Plan, target: Target, needed: Collection[str], asking: Asking) -> Found:
    """Ask the needed queries that were not answered yet.

    After an earlier attempt those had no answer then; a run that is gone on with lacks them.
    """
    suite, earlier = target.suite, asking.earlier
    wanted = {*(earlier.unanswered if earlier else needed)}
    notes = []
    if plan.saved and not earlier:
        kept = plan.saved.find(target)
        earlier = resumed(kept, needed, plan.project.code, asking.version, staged=asking.staged)
        if earlier:
            wanted.difference_update(earlier.answered)
            notes.append(
                f"resumed: {len(earlier.answered)} of {len(needed)} queries had an answer in the"
                " kept run and were not asked again"
            )
    with _written(plan, target, asking) as arrived:
        run = retrieve(
            suite,
            asking.retriever,
            [query for query in suite.queries if query.id in wanted],
            target.retriever,
            concurrency=asking.concurrency,
            progress=asking.progress,
            details=asking.details,
            pace=plan.pace(target),
            arrived=arrived,
        )
    if earlier:
        run = earlier.retried(run)
    _skip_all(run)
    return Found(target, answers=replace(run, version=asking.version), notes=notes)


def _skip_all(run: Run) -> None:
    """Raise what a call raised where every one of them said that it is to be skipped."""
    faults = [*run.faults.values()]
    skipped = not run.answered and not run.failed
    if faults and skipped and not run.interrupted and faults[0].error:
        raise faults[0].error


@contextmanager
def _written(plan: Plan, target: Target, asking: Asking) -> Iterator[Arrived | None]:
    """Give the function that writes each answer as it comes, where runs are kept."""
    journal = plan.saved and plan.saved.journal(target, asking.version, staged=asking.staged)
    try:
        yield journal.keep if journal else None
    finally:
        if journal:
            journal.close()


# -- ties at the cut -------------------------------------------------------------------------------


def settled(
    plan: Plan, asking: Asking, today: Found, before: Run | None, accepting: Accepting | None
) -> Found:
    """Give today's answers with a deeper one of each query that may have lost something to a tie.

    It may have, since the baseline or since what the change commits. What is deeper is no part of
    the first answer: not of its times, its stages or its other wordings.
    """
    run, target, part = today.run, today.target, plan.part(today.target.suite)
    assert run is not None
    others = filter(None, [before, accepting.run if accepting else None])
    ids = {id for other in others for id in _to_settle(part, run, other)}
    if plan.kept or not ids or run.interrupted:
        return today
    again = retrieve(
        replace(part, depth=deeper_than(part.depth), repeat=1, reworded=()),
        asking.retriever,
        map(part.by_id.__getitem__, sorted(ids)),
        concurrency=asking.concurrency,
        pace=plan.pace(target),
        in_stages=False,
    )
    answers = tuple(answer.with_deeper(again.first, ids) for answer in run.answers)
    retries, interrupted = run.retries + again.retries, again.interrupted
    return replace(
        today, answers=replace(run, answers=answers, retries=retries, interrupted=interrupted)
    )


def _to_settle(suite: Suite, run: Run, before: Run) -> Iterable[str]:
    if suite.by_text and not _may_end_alike(suite, run, before):
        return ()  # to look for all passages takes long
    now, then = by_passages(suite, run), by_passages(suite, before, today=run)
    return Sides(suite, now, then).to_settle


def _may_end_alike(suite: Suite, run: Run, before: Run) -> bool:
    """Tell whether any two rankings of a query differ, and end in one score."""
    then, last = before.first.rankings, min(suite.depth, before.depth or suite.depth) - 1
    both = (
        (now, then[id])
        for answer in run.answers
        for id, now in answer.rankings.items()
        if id in then
    )
    return any(
        now.scores[last : last + 1] == old.scores[last : last + 1] != ()
        for now, old in both
        if now.scores and old.scores
    )
