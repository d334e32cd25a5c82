"""The runs that ``--ir-runs`` names, or ``--ir-baseline``: which of them is a suite's, whole or as
shares, JSONL or TREC, and how several builds are one side.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp as compare
from functools import cached_property
from itertools import combinations, product
from os.path import samefile
from pathlib import Path
from typing import TypeVar

from pytest_irquality.edges.open import Allowed, Unreadable, files_below
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.run import Answer, Ranking, Run, one_side
from pytest_irquality.storage.baseline import file_name
from pytest_irquality.storage.jsonl import read_header, read_run
from pytest_irquality.storage.provenance import run_name
from pytest_irquality.storage.shards import join
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    stored_run,
)
from pytest_irquality.storage.trec import SUFFIXES, is_trec, name_of, read_trec
from pytest_irquality.suite.model import Suite

NAMED = 3
LOOKED_AT = 2**20  # bytes, which have an answer in them


@dataclass(frozen=True)
class Kept:
    """The files and folders given under an option, relative to ``start``."""

    given: Sequence[str]
    start: Path
    option: str = "--ir-runs"

    def run(
        self, suite: Suite, file: Path, retriever: str, needed: Collection[str]
    ) -> tuple[Run, tuple[str, ...]]:
        """What was kept of the ``needed`` queries of a suite and retriever, and what a reader must
        know of it.

        Each of the files and folders given is a build of its own, unless they hold the shares of
        one. Raises ``StoredRunError`` where there is no such run, more than one in a folder, builds
        of several commits, or shares that do not make a whole.
        """
        builds = self._builds(suite, file, retriever)
        if not builds:
            return self._one(suite, file, retriever, needed)
        runs: list[Run] = []
        notes: dict[str, None] = {}
        for build in builds:
            run, notes_of_build = build._one(suite, file, retriever, needed)
            runs.append(run)
            notes.update(dict.fromkeys(notes_of_build))
        return joined_builds(runs), tuple(notes)

    def stored(self, suite: Suite, file: Path, retriever: str) -> StoredRun | None:
        """What a baseline of these files and folders is: whole runs, whatever they hold of today's
        queries. None where there is no such run. Raises as ``run`` does.
        """
        builds = self._builds(suite, file, retriever) or [self]
        found = [build._whole(suite, file, retriever) for build in builds]
        runs = [run for run in found if run is not None]
        if len(runs) > 1:
            return stored_together(run_name(suite.path, retriever), runs)
        return next(iter(runs), None)

    def _whole(self, suite: Suite, file: Path, retriever: str) -> StoredRun | None:
        stored = self._stored(suite, retriever)
        if stored is not None or not self._trec_files:
            return stored
        run, _ = self._trec(suite, file, retriever, suite.by_id)
        # Such a file cannot say that a query returned nothing: what it lacks is new.
        answered = {id for id, ranking in run.first.rankings.items() if ranking.ids}
        header = Header(suite.name, suite.path, suite.depth, retriever)
        return stored_run(suite, run.only(answered), header)

    def every(self, suite: Suite) -> Iterator[Run]:
        """Every run that answers some of a suite's queries, whatever its retriever and build; only
        those of the suite where the runs of ours name it. Raises ``StoredRunError``.
        """
        name = Path(suite.path).name
        of_it = [path for path, header in self._headers if Path(header.path).name == name]
        for path in of_it or [path for path, _ in self._headers]:
            yield read_run(path, self.shown(path), self._files[path]).run(suite)
        for path in self._trec_files:
            rankings = read_trec(path, self.shown(path), self._files[path])
            yield Run(name_of(path), (Answer(rankings),))

    def _builds(self, suite: Suite, file: Path, retriever: str) -> Sequence[Kept]:
        """What was given, one by one, where several of it hold a run of the suite; () where there
        is one build.
        """
        given = [replace(self, given=(one,)) for one in self.given]
        holding = [kept for kept in given if kept._holding(suite, file, retriever)]
        headers = [header for kept in holding for _, header in kept._chosen(suite, retriever)]
        shards = [header.shard for header in headers]
        of_one_build = headers and all(shards) and len({*shards}) == len(shards)
        if len(holding) < 2 or of_one_build:
            return ()
        _of_one_commit(run_name(suite.path, retriever), headers)
        for one, other in combinations(holding, 2):
            copied = one._held_by(other, suite, file, retriever)
            if copied:
                raise StoredRunError(
                    f"{copied} is in {one.given[0]} and in {other.given[0]}: one run is one build"
                )
        return holding

    def _held_by(self, other: Kept, suite: Suite, file: Path, retriever: str) -> str:
        """A run of a suite that both hold, the very same file or a copy of it; "" where there is
        none. No two runs took each call the same time.
        """
        mine = self._holding(suite, file, retriever)
        theirs = other._holding(suite, file, retriever)
        for one, another in product(mine, theirs):
            if samefile(one, another):
                return self.shown(one)
            if not is_trec(one) and compare(one, another, shallow=False) and _is_timed(one):
                return self.shown(one)
        return ""

    def _holding(self, suite: Suite, file: Path, retriever: str) -> Sequence[Path]:
        """The files that hold the run of a suite and retriever, whatever their format."""
        ours = [path for path, _ in self._chosen(suite, retriever)]
        return ours or self._trec_named(file, retriever)

    def _one(
        self, suite: Suite, file: Path, retriever: str, needed: Collection[str]
    ) -> tuple[Run, tuple[str, ...]]:
        stored = self._stored(suite, retriever)
        if stored is None:
            return self._trec(suite, file, retriever, needed)
        _check_enough(stored, suite, run_name(suite.path, retriever))
        run = stored.run(suite).only(needed)
        lacks = [
            query.text
            for query in suite.queries
            if query.id in needed and query.id not in run.answered and query.id not in run.faults
        ]
        notes: list[str] = []
        if lacks:
            some = _some(lacks, len(needed))
            notes.append(f"the kept run lacks {some}, or has other words or params for them")
        return replace(run, retriever=retriever, scored={}), tuple(notes)

    def headers(self, suite: Suite, retriever: str) -> Sequence[Header]:
        """What the runs of a suite and retriever say of themselves; () for TREC runs."""
        return [header for _, header in self._chosen(suite, retriever)]

    def _chosen(self, suite: Suite, retriever: str) -> Sequence[tuple[Path, Header]]:
        """The files of ours that hold the run of a suite and retriever, or shares of it."""
        name = Path(suite.path).name
        of_it = [one for one in self._headers if one[1].retriever == retriever]
        exact = [one for one in of_it if one[1].path == suite.path]
        if exact:
            return exact
        # Another job may have been started in another folder; a name that fits one suite alone is
        # good enough.
        alike = [one for one in of_it if Path(one[1].path).name == name]
        return alike if len({header.path for _, header in alike}) == 1 else []

    def _stored(self, suite: Suite, retriever: str) -> StoredRun | None:
        chosen = self._chosen(suite, retriever)
        if not chosen:
            return None
        whole = [path for path, header in chosen if header.shard is None]
        if whole and len(chosen) > 1:
            files = ", ".join(self.shown(path) for path, _ in chosen)
            raise StoredRunError(
                f"{run_name(suite.path, retriever)} has more than one kept run: {files}; of several"
                f" builds give each its own {self.option}"
            )
        runs = [
            (self.shown(path), read_run(path, self.shown(path), self._files[path]))
            for path in sorted(path for path, _ in chosen)
        ]
        try:
            return runs[0][1] if whole else join(suite, runs)
        except StoredRunError as error:
            raise StoredRunError(f"{error}{self._unread}") from None

    def _trec(
        self, suite: Suite, file: Path, retriever: str, needed: Collection[str]
    ) -> tuple[Run, tuple[str, ...]]:
        names = _trec_names(file, retriever)
        named = self._trec_named(file, retriever)
        # The only file there is may have any name, but never stands for one retriever of several.
        found = named or (self._trec_files if not retriever else [])
        if len(found) != 1:
            raise StoredRunError(self._none_or_many(run_name(suite.path, retriever), found, names))
        shown = self.shown(found[0])
        if suite.match == "text":
            raise StoredRunError(f"{shown} has no texts, which 'match: text' of {suite.path} needs")
        rankings = read_trec(found[0], shown, self._files[found[0]])
        if rankings and not rankings.keys() & suite.by_id.keys():
            theirs = ", ".join(repr(id) for id in list(rankings)[:NAMED])
            raise StoredRunError(f"{shown} has no query of {suite.path}: its ids are {theirs} ...")
        asked = [query for query in suite.queries if query.id in needed]
        lacks = [
            query.text for query in asked if query.id not in rankings and not query.expects_nothing
        ]
        notes: list[str] = []
        if lacks:
            some = _some(lacks, len(needed))
            notes.append(f"{shown} has nothing for {some}, which therefore score 0")
        found_or_empty = {query.id: rankings.get(query.id, Ranking(())) for query in asked}
        return Run(retriever, (Answer(found_or_empty),)), tuple(notes)

    def _trec_named(self, file: Path, retriever: str) -> Sequence[Path]:
        """The TREC runs that are named after a suite and retriever."""
        names = _trec_names(file, retriever)
        return [path for path in self._trec_files if name_of(path) in names]

    def _none_or_many(self, name: str, found: Sequence[Path], names: Sequence[str]) -> str:
        if found:
            files = ", ".join(map(self.shown, found))
            return (
                f"more than one TREC run may be that of {name}: {files}; name one {names[0]}.run,"
                " or give it alone"
            )
        held = sorted({run_name(header.path, header.retriever) for _, header in self._headers})
        held += [self.shown(path) for path in self._trec_files]
        there = f"there is {', '.join(held)}" if held else "there is none of any suite"
        return f"no kept run of {name} in {', '.join(self.given)}: {there}{self._unread}"

    def shown(self, path: Path) -> str:
        """A path as messages name it."""
        if path.is_relative_to(self.start):
            return path.relative_to(self.start).as_posix()
        return str(path)

    @cached_property
    def _files(self) -> Mapping[Path, Allowed | None]:
        """Every file that may be a run, and where it may lead to; one that was named itself,
        anywhere.
        """
        found: dict[Path, Allowed | None] = {}
        for name in self.given:
            path = self.start / name
            if path.is_dir():
                allowed = Allowed.project(path)
                runs = _runs_in(path, f"{self.option} {name}")
                found |= {inside: allowed for inside in runs if inside not in found}
            elif path.exists():
                found[path] = None
            else:
                raise StoredRunError(f"{self.option} {name}: there is no such file or folder")
        return found

    @cached_property
    def _trec_files(self) -> Sequence[Path]:
        return [path for path in self._files if is_trec(path)]

    @cached_property
    def _scanned(self) -> tuple[Sequence[tuple[Path, Header]], Sequence[str]]:
        """The headers of the JSONL files, and what is wrong with those that have none: a folder may
        hold other data.
        """
        headers, unread = [], []
        for path, allowed in self._files.items():
            if is_trec(path):
                continue
            try:
                headers.append((path, read_header(path, self.shown(path), allowed)))
            except StoredRunError as error:
                if allowed is None:
                    raise
                unread.append(str(error))
        return headers, unread

    @property
    def _headers(self) -> Sequence[tuple[Path, Header]]:
        return self._scanned[0]

    @property
    def _unread(self) -> str:
        unread = self._scanned[1]
        return f" (passed over: {'; '.join(unread[:NAMED])})" if unread else ""


def _check_enough(stored: StoredRun, suite: Suite, name: str) -> None:
    """Raise ``StoredRunError`` where a kept run is less than what a suite asks for."""
    if stored.header.depth < suite.depth:
        raise StoredRunError(
            f"the kept run of {name} has {stored.header.depth} results"
            f" a query, and the suite asks for {suite.depth}: retrieve it again"
        )
    candidates = stored.header.candidates
    if candidates and candidates < suite.depth_of(CANDIDATES):
        raise StoredRunError(
            f"the kept run of {name} has {candidates} candidates a query, and the suite reads"
            f" {suite.depth_of(CANDIDATES)}: retrieve it again"
        )
    if stored.lacks_texts(suite):
        raise StoredRunError(
            f"the kept run of {name} has no texts, which 'match: text' needs: retrieve it again"
        )


def _runs_in(folder: Path, given: str) -> Iterator[Path]:
    try:
        for path in files_below(folder, (".jsonl", *SUFFIXES)):
            if path.is_file():
                yield path
    except Unreadable as error:
        raise StoredRunError(f"{given}: {error}") from None


def _trec_names(file: Path, retriever: str) -> tuple[str, ...]:
    stem = file_name(file, retriever, "")
    return (stem, retriever) if retriever else (stem,)


def _is_timed(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"seconds":' in file.read(LOOKED_AT)


def _some(texts: Sequence[str], of: int) -> str:
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return f"{len(texts)} of {of} queries ({', '.join(map(repr, texts[:NAMED]))}{more})"


def joined_builds(runs: Sequence[Run]) -> Run:
    """Runs of several builds as one side."""
    apart = []
    for number, run in numbered(runs, lambda run: (answer.build for answer in run.answers)):
        answers = (replace(answer, build=number[answer.build]) for answer in run.answers)
        apart.append(replace(run, answers=tuple(answers), variants=None))
    variants = [run.variants for run in runs if run.variants]
    of_all = joined_builds(variants) if len(variants) == len(runs) else None
    return replace(one_side(apart), variants=of_all)


def stored_together(name: str, runs: Sequence[StoredRun]) -> StoredRun:
    """Stored runs of several builds as one: each query with all its answers.

    A query that one of them lacks, or asks otherwise, is not among them; one that one of them could
    not answer keeps its fault. Raises ``StoredRunError`` where they are of several commits.
    """
    _of_one_commit(name, [run.header for run in runs])
    builds = [*numbered(runs, _builds_of)]
    lines: dict[str, StoredQuery] = {}
    for id, first in runs[0].queries.items():
        found = [(number, run.queries[id]) for number, run in builds if id in run.queries]
        if len(found) < len(runs) or not all(first.same_question(line) for _, line in found):
            continue
        answers = [
            replace(answer, build=number[answer.build], answers=())
            for number, line in found
            for answer in line.every_answer
        ]
        faulty = (answer for answer in answers if answer.ranking is None)
        lines[id] = next(faulty, None) or replace(answers[0], answers=tuple(answers[1:]))
    versions = {run.header.version for run in runs}
    header = replace(
        runs[0].header,
        depth=min(run.header.depth for run in runs),
        version=versions.pop() if len(versions) == 1 else None,
    )
    return StoredRun(header, lines)


def _builds_of(run: StoredRun) -> Iterator[int]:
    for line in run.queries.values():
        yield from (answer.build for answer in line.every_answer)


Some = TypeVar("Some")


def numbered(
    runs: Iterable[Some], builds: Callable[[Some], Iterable[int]]
) -> Iterator[tuple[Mapping[int, int], Some]]:
    """Each run with the number that each of its builds has among those of all runs."""
    taken = 0
    for run in runs:
        own = {build: number for number, build in enumerate(dict.fromkeys(builds(run)), taken)}
        taken += len(own)
        yield own, run


def _of_one_commit(name: str, headers: Iterable[Header]) -> None:
    commits = sorted({header.commit for header in headers if header.commit})
    if len(commits) > 1:
        raise StoredRunError(
            f"the kept runs of {name} are of several commits ({', '.join(commits)}): the builds of"
            " one side are of one"
        )
