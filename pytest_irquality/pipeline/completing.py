"""The end of a result's way: its sources are noted, and all that is asked for is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from pytest_irquality.edges.supervisor import is_connected
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.retrieval.run import Fault
from pytest_irquality.storage.found import UNGUARDED, Found
from pytest_irquality.storage.history import Entry
from pytest_irquality.storage.stored import Header
from pytest_irquality.storage.update import update
from pytest_irquality.verdict.facts import Fact, Loud, Moved, Remark, TiesMoved, Unnoticed
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.words import age, revision


def completed(plan: Plan, result: SuiteResult, today: Found, before: Found) -> SuiteResult:
    """Give a result with notes on the sources of both sides, after all was written."""
    facts: list[Fact] = [Remark(note) for note in _notes(plan, today, before)]
    if plan.kept:
        facts += _of_kept(today.headers, plan.project.commit)
    facts += _one_service(result, before)
    if before.unguarded and not plan.updating:
        facts.append(Remark(UNGUARDED))
    for fact in result.facts:
        # What would notice may be in another share.
        if not (plan.shard and isinstance(fact, Unnoticed)):
            facts.append(fact)
    return replace(
        result,
        facts=tuple(facts),
        commit=plan.project.commit if result.baseline else None,
        written=tuple(_write(plan, today, result)),
        past=_concluded(result),
        files=tuple(map(plan.project.shown, today.target.suite.files)),
    )


def _notes(plan: Plan, today: Found, before: Found) -> Iterator[str]:
    yield from today.notes
    named = (one.file for one in plan.targets if {*one.suite.files} - {one.file})
    if next(named, None) == today.target.file and not plan.project.has_git:
        yield "no git here: suites may name whatever lies below rootdir, but no dot-files"
    if plan.shard:
        suite = today.target.suite
        here, total = len(plan.part(suite).queries), len(suite.queries)
        yield f"share {plan.shard}: {here} of {total} queries; limits over many wait for --ir-runs"
    yield from before.notes
    if today.target.retriever == plan.retrievers[today.target.file][0]:
        yield from plan.exams.notes(today.target) if plan.exams else ()


def _of_kept(headers: Sequence[Header], here: str | None) -> Iterator[Remark]:
    """Say of which commit a kept run is, how old, and whether that is the code that is ``here``."""
    if not headers:
        yield Remark("a run in TREC's format is judged: it says neither its commit nor its age")
    oldest: dict[str | None, str | None] = {}  # of several shares or builds
    for header in sorted(headers, key=lambda header: header.time or ""):
        oldest.setdefault(header.commit, header.time)
    for commit, time in oldest.items():
        yield _of_commit(commit, time, here)


def _of_commit(commit: str | None, time: str | None, here: str | None) -> Remark:
    of = f"commit {revision(commit)}" if commit else "an unknown commit"
    old = age(time, datetime.now(timezone.utc)) if time else ""
    judged = f"a kept run is judged, of {of}{old and f', {old}'}"
    if not commit or not here or not _are_two(commit, here):
        return Remark(judged)
    other = f"here is {revision(here)}"
    return Loud(f"{judged}; {other}", f"the kept run is of {of}, and {other}")


def _are_two(commit: str, other: str) -> bool:
    """Tell whether two short hashes are of two commits, whether files were changed or not."""
    one, two = commit.partition("-")[0], other.partition("-")[0]
    return not one.startswith(two) and not two.startswith(one)


def _one_service(result: SuiteResult, before: Found) -> Iterator[Remark]:
    """Ask, where the base's code answered everything as today's, whether it was its code at all."""
    moved = [fact for fact in result.facts if isinstance(fact, (Moved, TiesMoved))]
    if before.differing and moved and not any(fact.rankings for fact in moved):
        files = counted(before.differing, "file")
        none = f"no ranking differs, although {files} of code or data changed"
        asks = "did both sides speak to one service?"
        if before.spoke or is_connected():
            yield Loud(
                f"{none}: {asks} (a server with an address of its own answers for both)",
                f"no ranking differs although {files} changed: {asks}",
            )
        else:
            yield Remark(
                f"{none} (an index outside the checkout, which both open, is one for both)"
            )


# -- what is written -------------------------------------------------------------------------------


def _write(plan: Plan, today: Found, result: SuiteResult) -> Iterator[str]:
    if plan.saved:
        try:
            yield from plan.saved.write(today)
        except OSError as error:
            yield f"NOT WRITTEN: {plan.saved.given}: {error.strerror or error}"
    if plan.updating:
        file = plan.files.file(today.target).shown
        try:
            yield from _update(plan, today, result, file)
        except OSError as error:
            yield f"NOT WRITTEN: {file}: {error.strerror or error}"


def _update(plan: Plan, today: Found, result: SuiteResult, file: str) -> Iterator[str]:
    target, run, suite = today.target, today.run, today.target.suite
    assert run is not None
    if run.interrupted:
        yield f"baseline not written: {file}: interrupted"
        return
    if other := target.other:
        yield (
            f"baseline not written: {suite.path} compares with the retriever {other!r}, not with a"
            " file"
        )
        return
    # Also those that came without the texts in which their passages would stand.
    faulty = {query.id for query in result.queries if query.fault}
    good = run.only(run.answered - faulty)
    run = replace(good, faults=dict.fromkeys(faulty, Fault("")))
    siblings = [target._replace(retriever=name) for name in plan.retrievers[target.file]]
    yield from update(plan.files, plan.replaced(target), run, siblings)


def _concluded(result: SuiteResult) -> tuple[Entry, ...]:
    """Give the lines of the history, the last one with what the run accepted."""
    if result.interrupted or not result.past:
        return ()
    accepted = any(verdict.outcome == "accepted" for verdict in result.verdicts)
    *past, now = result.past
    return (*past, replace(now, accepted=accepted))
