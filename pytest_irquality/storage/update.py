"""Bringing a baseline up to date: which of its lines an update replaces, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.baseline import BaselineFiles
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.jsonl import write_run
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    answered,
    stored_variants,
)
from pytest_irquality.storage.target import Target
from pytest_irquality.suite.model import Suite

DIGITS = 6  # of the values kept


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
    target, file = found.target, files.file(found.target)
    before = _under_todays_ids(found)
    lines = _updated(target.suite, before, run)
    variants = _variants_to_keep(found, run)
    unanswered = len(target.suite.queries) - len(lines.kept)
    if found.damage and unanswered:
        yield (
            f"NOT WRITTEN: {found.damage} (which takes an answer to every query: {unanswered} had"
            " none)"
        )
        return
    if not lines.kept and not before:
        yield f"baseline not written: {file.shown}: no query was answered"
        return
    header = _header(found, lines, run)
    changes = [*_changes(found, before, lines, header.depth)]
    if not changes and variants != _variants_of(found.stored):
        changes = ["other wordings changed"]
    stay = f"; {len(run.faults)} could not be answered, and stay as they were" if run.faults else ""
    if changes:
        write_run(file.path, StoredRun(header, {**lines.kept, **variants}), file.allowed)
        yield f"baseline written: {file.shown}: {', '.join(changes)}{stay}"
    else:
        yield f"baseline unchanged: {file.shown}: {_rankings(len(lines.kept))}{stay}"
    if file.path.is_file():
        yield from _put_away(found, files, siblings)


def _header(found: Found, lines: _Lines, run: Run) -> Header:
    """Make the first line.

    Nothing in it changes from update to update, nor with the folder that pytest was called in:
    branches must merge.
    """
    suite, old = found.target.suite, found.stored
    depth = suite.depth
    if old and not lines.kept.keys() <= run.answered:
        depth = min(depth, old.header.depth)
    candidates = _depth_of_candidates(suite, old, lines.kept)
    name = found.target.file.name
    return Header(suite.name, name, depth, run.retriever, candidates=candidates)


def _put_away(found: Found, files: BaselineFiles, siblings: Sequence[Target]) -> Iterator[str]:
    """Remove the file that a baseline was taken over from, where nobody needs it any more."""
    taken = found.taken
    if taken is None:
        return
    waiting = [] if taken.header.retriever else [*siblings]
    waiting = [other for other in waiting if not files.file(other).path.is_file()]
    also = files.shelf.needed(taken, but=found.target.file)
    if also or waiting:
        needed = also.name if also else waiting[0].name
        yield f"{taken.file.shown} stays: {needed} is compared with it, too"
        return
    taken.file.path.unlink(missing_ok=True)
    yield f"removed: {taken.file.shown}"


@dataclass
class _Lines:
    """The lines that an update keeps.

    So many of them have another ranking than before, and so many are new or in other words.
    """

    kept: dict[str, StoredQuery] = field(default_factory=dict)
    changed: int = 0
    new: int = 0


def _updated(suite: Suite, before: Mapping[str, StoredQuery], run: Run) -> _Lines:
    lines = _Lines()
    for query in suite.queries:
        fresh, old = None, before.get(query.id)
        if query.id in run.answered:
            fresh = _to_keep(suite, answered(suite, query, run), run)
        line = _line_to_keep(old, fresh)
        if line is None:
            continue
        lines.kept[query.id] = line
        if line is not old:
            if old is not None and old.same_question(line):
                lines.changed += 1
            else:
                lines.new += 1
    return lines


def _line_to_keep(old: StoredQuery | None, fresh: StoredQuery | None) -> StoredQuery | None:
    """Choose the old line as long as its ranking is the same, or nothing was answered.

    Scores wobble from machine to machine.
    """
    if fresh is None or (old is not None and old.same_ranking(fresh)):
        return old
    return fresh


def _changes(
    found: Found, before: Mapping[str, StoredQuery], lines: _Lines, depth: int
) -> Iterator[str]:
    """Say what an update changes, in a few words each."""
    if found.damage:
        yield f"{len(lines.kept)} rankings, all anew, since the file could not be read"
        return
    if lines.changed:
        yield f"{_rankings(lines.changed)} changed"
    if lines.new:
        yield f"{lines.new} new"
    if removed := len(before.keys() - lines.kept.keys()):
        yield f"{removed} removed"
    old = found.stored
    if old and found.matching.renamed:
        yield f"{len(found.matching.renamed)} under a new id"
    if found.of:
        yield f"taken over from {found.of}"
    if old and old.header.depth != depth:
        yield f"depth {old.header.depth} → {depth}"


def _rankings(number: int) -> str:
    return f"{number} ranking" if number == 1 else f"{number} rankings"


def _variants_of(old: StoredRun | None) -> Mapping[str, StoredQuery]:
    return {id: line for id, line in old.queries.items() if line.of} if old else {}


def _variants_to_keep(found: Found, run: Run) -> Mapping[str, StoredQuery]:
    """Give the lines of today's other wordings.

    The old ones stay where nothing changed or nothing was asked.
    """
    suite, was = found.target.suite, _variants_of(found.stored)
    fresh = {
        id: _without_time(line)
        for id, line in stored_variants(suite, run).items()
        if line.ranking is not None
    }
    ids = [variant.id for variant in suite.reworded]
    lines = {id: _line_to_keep(was.get(id), fresh.get(id)) for id in ids}
    return {id: line for id, line in lines.items() if line is not None}


def _depth_of_candidates(
    suite: Suite, old: StoredRun | None, queries: Mapping[str, StoredQuery]
) -> int | None:
    """Give how many candidates were asked for: the fewest, where some that are kept are old."""
    held = [query.candidates for query in queries.values() if query.candidates]
    if not held:
        return None
    then = old.header.candidates if old else None
    before = [query.candidates for query in old.queries.values()] if old else []
    if then is None or not any(one in before for one in held):
        return suite.depth_of(CANDIDATES)
    return min(then, suite.depth_of(CANDIDATES))


def _to_keep(suite: Suite, query: StoredQuery, run: Run) -> StoredQuery:
    """Make a line of a baseline.

    It has no times, which never are the same, but what the ranking scores today, and candidates
    only where the suite measures them, without their titles.
    """
    candidates = query.candidates
    if candidates and (candidates.ranking is None or CANDIDATES not in suite.stages):
        candidates = None
    query = replace(query, candidates=candidates and replace(candidates, titles=()))
    scored = run.scored.get(query.id, {})
    values = {measure: round(value, DIGITS) for measure, value in scored.items()}
    return replace(_without_time(query), version=run.version, values=values)


def _without_time(query: StoredQuery) -> StoredQuery:
    ranking = replace(query.ranking, seconds=None) if query.ranking else None
    return replace(
        query,
        ranking=ranking,
        answers=tuple(map(_without_time, query.answers)),
        candidates=query.candidates and _without_time(query.candidates),
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
    rest = {id: query for id, query in queries.items() if id not in matched and not query.of}
    return {**rest, **was}
