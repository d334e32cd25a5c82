"""Bringing a baseline up to date: which of its lines an update replaces, and what that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pytest_irquality.edges.git import now, package_version
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.baseline import BaselineLocation, FoundBaseline
from pytest_irquality.storage.jsonl import write_run
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    answered,
    digest,
    stored_variants,
)
from pytest_irquality.suite.model import Suite

DIGITS = 6  # of the values kept


def header_of(suite: Suite, run: Run, commit: str | None, shard: str | None = None) -> Header:
    """What is known of a run that was just made and is to be kept."""
    staged = run.stages.get(CANDIDATES)
    return Header(
        suite.name, suite.path, suite.depth, run.retriever, digest(suite), shard, run.version,
        commit, now(), package_version(), staged.depth if staged else None,
    )  # fmt: skip


def update(
    place: BaselineLocation, found: FoundBaseline, run: Run, damage: str = ""
) -> tuple[str, ...]:
    """Write what was retrieved over the baseline that was found, and report in a few lines what
    that changes.

    ``damage`` is what is wrong with a file that is to be written anew, which takes an answer to
    every query.

    Queries that were not asked or not answered keep their line; those that left the suite lose it.
    Where no ranking changed the file is not touched. Raises ``OSError``.
    """
    suite, old = place.suite, found.stored
    before = _under_todays_ids(old, suite) if old else {}
    lines = _updated(suite, before, run)
    unanswered = len(suite.queries) - len(lines.kept)
    if damage and unanswered:
        return (
            f"NOT WRITTEN: {damage} (which takes an answer to every query: {unanswered} had none)",
        )
    if not lines.kept and not before:
        return (f"baseline not written: {place.shown}: no query was answered",)
    partial = not lines.kept.keys() <= run.answered
    depth = min(suite.depth, old.header.depth) if old and partial else suite.depth
    variants = _variants_to_keep(suite, old, run)
    changes = list(_changes(suite, found, before, lines, depth))
    if damage:
        changes = [f"{len(lines.kept)} rankings, all anew, since the file could not be read"]
    if not changes and variants != _variants_of(old):
        changes = ["other wordings changed"]
    stay = f"; {len(run.faults)} could not be answered, and stay as they were" if run.faults else ""
    if not changes:
        return (f"baseline unchanged: {place.shown}: {_rankings(len(lines.kept))}{stay}",)
    # Nothing in it changes from update to update, nor with the folder that pytest was called in:
    # branches must merge.
    header = Header(
        suite.name,
        place.file.name,
        depth,
        run.retriever,
        candidates=_depth_of_candidates(suite, old, lines.kept),
    )
    write_run(place.path, StoredRun(header, {**lines.kept, **variants}), place.allowed)
    return (f"baseline written: {place.shown}: {', '.join(changes)}{stay}",)


@dataclass
class _Lines:
    """The lines that an update keeps: so many of them with another ranking than before, so many new
    or in other words.
    """

    kept: dict[str, StoredQuery] = field(default_factory=dict)
    changed: int = 0
    new: int = 0


def _updated(suite: Suite, before: Mapping[str, StoredQuery], run: Run) -> _Lines:
    lines = _Lines()
    for query in suite.queries:
        old = before.get(query.id)
        if query.id not in run.answered:
            if old is not None:
                lines.kept[query.id] = old
            continue
        fresh = _to_keep(suite, answered(suite, query, run), run)
        # Scores wobble from machine to machine: a line is kept as long as its ranking is the same.
        if old is not None and old.same_ranking(fresh):
            lines.kept[query.id] = old
            continue
        lines.kept[query.id] = fresh
        if old is not None and old.same_question(fresh):
            lines.changed += 1
        else:
            lines.new += 1
    return lines


def _changes(
    suite: Suite,
    found: FoundBaseline,
    before: Mapping[str, StoredQuery],
    lines: _Lines,
    depth: int,
) -> Iterator[str]:
    """What an update changes, in a few words each."""
    if lines.changed:
        yield f"{_rankings(lines.changed)} changed"
    if lines.new:
        yield f"{lines.new} new"
    if removed := len(before.keys() - lines.kept.keys()):
        yield f"{removed} removed"
    old = found.stored
    if old and (renamed := len(old.matching(suite).renamed)):
        yield f"{renamed} under a new id"
    if found.of:
        yield f"taken over from {found.of}"
    if old and old.header.depth != depth:
        yield f"depth {old.header.depth} → {depth}"


def _rankings(number: int) -> str:
    return f"{number} ranking" if number == 1 else f"{number} rankings"


def _variants_of(old: StoredRun | None) -> Mapping[str, StoredQuery]:
    return {id: line for id, line in old.queries.items() if line.of} if old else {}


def _variants_to_keep(suite: Suite, old: StoredRun | None, run: Run) -> Mapping[str, StoredQuery]:
    """The lines of today's other wordings: the old ones where nothing changed or nothing was
    asked.
    """
    was = _variants_of(old)
    fresh = stored_variants(suite, run)
    kept: dict[str, StoredQuery] = {}
    for variant in suite.reworded:
        before, now = was.get(variant.id), fresh.get(variant.id)
        if now is not None and now.ranking is not None:
            now = _without_time(now)
            if before is None or not before.same_ranking(now):
                before = now
        if before is not None:
            kept[variant.id] = before
    return kept


def _depth_of_candidates(
    suite: Suite, old: StoredRun | None, queries: Mapping[str, StoredQuery]
) -> int | None:
    """How many candidates were asked for of those that are kept: the fewest, where some are old."""
    held = [query.candidates for query in queries.values() if query.candidates]
    then = old.header.candidates if old else None
    before = [query.candidates for query in old.queries.values()] if old else []
    if not held or then is None or not any(one in before for one in held):
        return suite.depth_of(CANDIDATES) if held else None
    return min(then, suite.depth_of(CANDIDATES))


def _to_keep(suite: Suite, query: StoredQuery, run: Run) -> StoredQuery:
    """A line of a baseline: no times, which never are the same, but what the ranking scores
    today, and candidates only where the suite measures them, without their titles.
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


def _under_todays_ids(old: StoredRun, suite: Suite) -> Mapping[str, StoredQuery]:
    """The stored queries by the ids that they have today. Those that left have theirs, where no
    other has it.
    """
    same = old.matching(suite).same
    was = {id: replace(old.queries[stored], id=id) for id, stored in same.items()}
    matched = {*same.values()}
    rest = {id: query for id, query in old.queries.items() if id not in matched and not query.of}
    return {**rest, **was}
