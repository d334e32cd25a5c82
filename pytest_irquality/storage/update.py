"""Bringing a baseline up to date: which of its lines an update replaces, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.baseline import BaselineFiles
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.jsonl import write_run
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    stored_lines,
)
from pytest_irquality.storage.target import Target
from pytest_irquality.suite.model import Suite


def update(
    files: BaselineFiles, found: Found, run: Run, siblings: Sequence[Target]
) -> Iterator[str]:
    """Write what was retrieved over the baseline that was found, and say what that changes.

    A file that is damaged is written anew, which takes an answer to every query. Queries that were
    not asked or not answered keep their line; those that left the suite lose it. Where no ranking
    changed the file is not touched. A file of another name that the baseline was taken over from
    goes, unless another suite or one of the ``siblings``, the suite's other retrievers, has none
    but this. Raises ``OSError``.
    """
    suite, file = found.target.suite, files.file(found.target)
    before = _under_todays_ids(found)
    lines = _kept(suite, before, run)
    if refusal := _refusal(found, lines, before, file.shown):
        yield refusal
        return
    header = _header(found, lines, run)
    changes = [*_changes(found, before, lines, header.depth)]
    stay = f"; {len(run.faults)} had no answer, and stay as they were" if run.faults else ""
    if changes:
        write_run(file.path, StoredRun(header, lines, _homes(found)), file.allowed)
        yield f"baseline written: {file.shown}: {', '.join(changes)}{stay}"
    else:
        yield f"baseline unchanged: {file.shown}: {_rankings(len(lines))}{stay}"
    if file.path.is_file():
        yield from _put_away(found, files, siblings)


def _homes(found: Found) -> Mapping[str, str]:
    return found.stored.homes if found.stored else {}


def _refusal(
    found: Found,
    lines: Mapping[str, StoredQuery],
    before: Mapping[str, StoredQuery],
    shown: str,
) -> str:
    """Say why nothing is written; "" where something is."""
    unanswered = len(found.target.suite.queries) - len(lines)
    if found.damage and unanswered:
        every = f"which takes an answer to every query: {unanswered} had none"
        return f"NOT WRITTEN: {found.damage} ({every})"
    if not lines and not before:
        return f"baseline not written: {shown}: no query was answered"
    return ""


def _header(found: Found, lines: Mapping[str, StoredQuery], run: Run) -> Header:
    """Make the first line.

    Nothing in it changes from update to update, nor with the folder that pytest was called in:
    branches must merge.
    """
    suite, old = found.target.suite, found.stored
    depths: dict[str, Any] = {"depth": suite.depth, "texts": suite.depth}
    if suite.by_text and suite.read_depth:
        depths["texts"] = min(suite.depth, suite.read_depth)
    if any(line.stages for line in lines.values()):
        depths["candidates"] = suite.stage_depth
    if old and not lines.keys() <= run.answered:  # some stay as they were
        for name, depth in depths.items():
            depths[name] = min(depth, getattr(old.header, name) or depth)
    if depths["texts"] == depths["depth"]:
        del depths["texts"]
    return Header(suite.name, found.target.file.name, retriever=run.retriever, **depths)


def _put_away(found: Found, files: BaselineFiles, siblings: Sequence[Target]) -> Iterator[str]:
    """Remove the files that a baseline was taken over from, where nobody needs them any more.

    They are several where several suites became one.
    """
    for taken in files.shelf.claimed(found.target) if found.taken else ():
        waiting = [] if taken.header.retriever else [*siblings]
        waiting = [other for other in waiting if not files.file(other).path.is_file()]
        also = files.shelf.needed(taken, but=found.target.file)
        if also or waiting:
            needed = also.name if also else waiting[0].name
            yield f"{taken.file.shown} stays: {needed} is compared with it, too"
            continue
        taken.file.path.unlink(missing_ok=True)
        yield f"removed: {taken.file.shown}"


def _kept(suite: Suite, before: Mapping[str, StoredQuery], run: Run) -> Mapping[str, StoredQuery]:
    """Give the lines of all queries.

    An old line stays as long as its ranking is the same, or nothing was answered: scores wobble
    from machine to machine.
    """
    fresh = stored_lines(suite, run)
    lines = {}
    for query in suite.queries:
        old, new = before.get(query.id), fresh.get(query.id)
        if new is None or new.ranking is None:
            line = old
        else:
            new = _to_keep(suite, new, run)
            line = old if old and old.same_ranking(new) else new
        if line is not None:
            lines[query.id] = line
    return lines


def _changes(
    found: Found,
    before: Mapping[str, StoredQuery],
    lines: Mapping[str, StoredQuery],
    depth: int,
) -> Iterator[str]:
    """Say what an update changes, in a few words each."""
    if found.damage:
        yield f"{len(lines)} rankings, all anew, since the file could not be read"
        return
    asked = {id: line.question for id, line in before.items()}
    anew = [line for id, line in lines.items() if line is not before.get(id)]
    changed = [line for line in anew if line.question == asked.get(line.id)]
    removed = before.keys() - lines.keys()
    renamed, old_depth = 0, depth
    if found.stored:
        renamed, old_depth = len(found.matching.renamed), found.stored.header.depth
    for some, said in (
        (changed, f"{_rankings(len(changed))} changed"),
        (len(anew) - len(changed), f"{len(anew) - len(changed)} new"),
        (removed, f"{len(removed)} removed"),
        (renamed, f"{renamed} under a new id"),
        (found.of, f"taken over from {found.of}"),
        (old_depth != depth, f"depth {old_depth} → {depth}"),
    ):
        if some:
            yield said


def _rankings(number: int) -> str:
    return f"{number} ranking" if number == 1 else f"{number} rankings"


def _to_keep(suite: Suite, query: StoredQuery, run: Run) -> StoredQuery:
    """Make a line of a baseline.

    It has no times, which never are the same, and of the stages only those that the suite
    measures, without titles.
    """
    stages = {
        name: replace(stage, titles=())
        for name, stage in query.stages.items()
        if stage.ranking and name in suite.stages
    }
    query = replace(query, stages=stages)
    return replace(_lasting(query, suite.read_depth), version=run.version)


def _lasting(query: StoredQuery, reads: int | None = None) -> StoredQuery:
    """Leave out what every run has otherwise, and texts of results that nothing reads.

    These are times, and what a tie of that run was settled by.
    """
    ranking = replace(query.ranking, seconds=None) if query.ranking else None
    return replace(
        query,
        ranking=ranking,
        texts=query.texts[:reads],
        fields={},
        answers=tuple(_lasting(answer, reads) for answer in query.answers),
        stages={name: _lasting(stage) for name, stage in query.stages.items()},
        deeper=None,
    )


def _under_todays_ids(found: Found) -> Mapping[str, StoredQuery]:
    """Give the stored queries by the ids that they have today.

    Those that left have theirs, where no other has it.
    """
    if found.stored is None:
        return {}
    queries, same = found.stored.queries, found.matching.same
    was = {id: replace(queries[stored], id=id) for id, stored in same.items()}
    matched = {*same.values()}
    rest = {id: query for id, query in queries.items() if id not in matched}
    return {**rest, **was}
