"""The runs that ``--ir-runs`` names, or ``--ir-baseline``.

Which of them is a suite's, whole or as shares, JSONL or TREC, and how several builds are one side.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.edges.open import Allowed, Unreadable, files_below
from pytest_irquality.edges.project import Project
from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.storage.found import NAMED, Found, Source
from pytest_irquality.storage.jsonl import read_header, read_run
from pytest_irquality.storage.run_file import RunFile
from pytest_irquality.storage.shards import join
from pytest_irquality.storage.stored import (
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    stored_run,
)
from pytest_irquality.storage.target import Target, run_file, run_name
from pytest_irquality.storage.trec import SUFFIXES, name_of, read_trec
from pytest_irquality.suite.model import Suite

JUDGED = "--ir-runs"


class KeptFile(NamedTuple):
    """A file that holds a run, or a share of one, and its header, empty in TREC's format."""

    file: RunFile
    header: Header = Header("", "", 0)


class Build(NamedTuple):
    """The files of one build, shares of a run or one, and where they were found."""

    given: str
    files: Sequence[KeptFile]

    @property
    def names(self) -> set[str]:
        """The names of its runs of ours."""
        return {
            run_name(one.header.path, one.header.retriever)
            for one in self.files
            if not one.file.is_trec
        }


@dataclass(frozen=True)
class KeptRuns(Source):
    """The files and folders ``given`` under an ``option``.

    Each is a build of its own, unless they hold the shares of one. Those of ``--ir-runs`` are
    judged, as if the retriever had answered so just now; others are compared with.
    """

    given: Sequence[str]
    project: Project
    option: str = JUDGED

    def find(self, target: Target) -> Found:
        """Give the run that was kept of a target, its builds as one side.

        Raises ``StoredRunError`` where there are several in a folder, builds of several commits,
        or shares that do not make a whole; of runs to be judged also where there is none, or where
        it holds less than the suite asks for.
        """
        builds = self._builds(target)
        if not builds:
            return Found(target, self._source)
        lacking: dict[str, Sequence[str]] = {}
        stored = together([self._read(build, target, lacking) for build in builds])
        headers = [one.header for build in builds for one in build.files if not one.file.is_trec]
        return Found(target, self._source, stored, headers=headers, lacking=lacking)

    @property
    def _source(self) -> str:
        """The name of all that was given, in messages."""
        several = f"{len(self.given)} builds: " if len(self.given) > 1 else ""
        return several + ", ".join(self.given)

    # -- what there is -----------------------------------------------------------------------------

    @cached_property
    def _scanned(self) -> tuple[Sequence[Build], Sequence[str]]:
        """All files that are runs, by where they were found, and what is wrong with others.

        A folder may hold other data.
        """
        builds, unread = [], []
        for given in self.given:
            files = []
            for file in self._possible(given):
                try:
                    files.append(
                        KeptFile(file) if file.is_trec else KeptFile(file, read_header(*file))
                    )
                except StoredRunError as error:
                    if file.allowed is None:  # the user named it
                        raise
                    unread.append(str(error))
            builds.append(Build(given, files))
        return builds, unread

    def _possible(self, given: str) -> Iterator[RunFile]:
        """Give the files of a name that was given, whatever they hold."""
        path = self.project.start / given
        if not path.is_dir():
            yield RunFile.of(self.project, path)
            return
        allowed = Allowed.project(path)
        try:
            for inside in files_below(path, (".jsonl", *SUFFIXES)):
                if inside.is_file():
                    yield RunFile.of(self.project, inside, allowed)
        except Unreadable as error:
            raise StoredRunError(f"{self.option} {given}: {error}") from None

    @property
    def _files(self) -> Sequence[KeptFile]:
        return [file for build in self._scanned[0] for file in build.files]

    @property
    def _unread(self) -> str:
        _, unread = self._scanned
        return f" (passed over: {'; '.join(unread[:NAMED])})" if unread else ""

    def every(self, suite: Suite) -> Iterator[Run]:
        """Give every run that answers some of a suite's queries, of any retriever and build.

        It gives only those of the suite where the runs of ours name it. Raises ``StoredRunError``.
        """
        name = Path(suite.path).name
        ours = [one for one in self._files if not one.file.is_trec]
        of_it = [one for one in ours if Path(one.header.path).name == name]
        for one in of_it or ours:
            yield read_run(*one.file).run(suite)
        for one in self._files:
            if one.file.is_trec:
                yield Run(name_of(one.file.path), (Answer(read_trec(*one.file)),))

    # -- whose it is -------------------------------------------------------------------------------

    def _builds(self, target: Target) -> Sequence[Build]:
        """Give the files that hold the run of a target, those of each build by themselves."""
        builds, others = [], []
        for build in self._scanned[0]:
            if ours := _of(target, build.files):
                builds.append(build._replace(files=ours))
            else:
                others.append(build)
        if not builds:
            return self._without_a_name(target)
        files = [file for build in builds for file in build.files]
        shares = {file.header.shard for file in files}
        if None not in shares and len(shares) == len(files):
            return [Build(builds[0].given, files)]
        self._refuse_missing(target, others)
        if len(builds) > 1:
            _refuse_no_builds(target, builds)
        return builds

    def _refuse_missing(self, target: Target, others: Sequence[Build]) -> None:
        """Raise ``StoredRunError`` where a build, unlike another, has no run of a target.

        A job that ended in between leaves nothing, or the runs of some suites. A file that was
        named holds one run, and lacks none.
        """
        known = {name for build in self._scanned[0] if build not in others for name in build.names}
        for build in others:
            is_folder = (self.project.start / build.given).is_dir()
            if is_folder and (not build.files or build.names & known):
                raise StoredRunError(
                    f"no kept run of {target.name} in {build.given}: another build has one"
                    f"{self._unread}"
                )

    def _without_a_name(self, target: Target) -> Sequence[Build]:
        """Give the only TREC run there is, whatever its name.

        It never stands for one retriever of several.
        """
        trec = [one for one in self._files if one.file.is_trec]
        if len(trec) == 1 and not target.retriever:
            return [Build(self.given[0], trec)]
        if not trec and self.option != JUDGED:
            return []
        if trec and not target.retriever:
            raise StoredRunError(_many(target, trec))
        raise StoredRunError(
            f"no kept run of {target.name} in {', '.join(self.given)}: there is"
            f" {self._held or 'none of any suite'}{self._unread}"
        )

    @property
    def _held(self) -> str:
        """The names of all runs, first those of ours."""
        trec = [one.file.shown for one in self._files if one.file.is_trec]
        ours = {name for build in self._scanned[0] for name in build.names}
        return ", ".join([*sorted(ours), *trec])

    # -- reading -----------------------------------------------------------------------------------

    def _read(self, build: Build, target: Target, lacking: dict[str, Sequence[str]]) -> StoredRun:
        """Read the run of one build. ``lacking`` takes up what TREC's format cannot tell."""
        files = sorted(build.files)
        if files[0].file.is_trec:
            return self._read_trec(files, target, lacking)
        shares = [one for one in files if one.header.shard]
        if len(shares) < len(files) > 1:
            names = ", ".join(one.file.shown for one in build.files)
            raise StoredRunError(
                f"{target.name} has more than one kept run: {names}; of several builds give each"
                f" its own {self.option}"
            )
        runs = [(one.file.shown, read_run(*one.file)) for one in files]
        try:
            stored = join(target.suite, runs) if shares else runs[0][1]
        except StoredRunError as error:
            raise StoredRunError(f"{error}{self._unread}") from None
        lacks = stored.lacks(target.suite, staged=bool(stored.header.candidates))
        if lacks and self.option == JUDGED:
            raise StoredRunError(f"the kept run of {target.name} has {lacks}: retrieve it again")
        return stored

    def _read_trec(
        self, files: Sequence[KeptFile], target: Target, lacking: dict[str, Sequence[str]]
    ) -> StoredRun:
        """Read a run in TREC's format.

        It cannot say that a query returned nothing: those that it lacks did so, where it is judged,
        and are new, where it is compared with.
        """
        suite, file = target.suite, files[0].file
        if len(files) > 1:
            raise StoredRunError(_many(target, files))
        if suite.match == "text":
            raise StoredRunError(
                f"{file.shown} has no texts, which 'match: text' of {suite.path} needs"
            )
        rankings = dict(read_trec(*file))
        if rankings and not rankings.keys() & suite.by_id.keys():
            theirs = ", ".join(map(repr, [*rankings][:NAMED]))
            raise StoredRunError(
                f"{file.shown} has no query of {suite.path}: its ids are {theirs} ..."
            )
        missing = suite.by_id.keys() - rankings.keys()
        if self.option == JUDGED:
            rankings.update(dict.fromkeys(missing, Ranking(())))
        lacking[file.shown] = [id for id in missing if not suite.by_id[id].expects_nothing]
        header = Header(suite.name, suite.path, suite.depth, target.retriever)
        return stored_run(suite, Run(target.retriever, (Answer(rankings),)), header)


def _of(target: Target, files: Sequence[KeptFile]) -> Sequence[KeptFile]:
    """Give the files that hold the run of a target, or shares of it."""
    path = target.suite.path
    made_for = defaultdict[str, list[KeptFile]](list)
    for one in files:
        if one.header.retriever == target.retriever:
            made_for[one.header.path].append(one)
    if path in made_for:
        return made_for[path]
    # Another job may have been started in another folder; a name that fits one suite alone is good
    # enough.
    alike = [made for made in made_for if Path(made).name == Path(path).name]
    if len(alike) == 1:
        return made_for[alike[0]]
    names = _trec_names(target)
    return [one for one in files if one.file.is_trec and name_of(one.file.path) in names]


def _trec_names(target: Target) -> tuple[str, ...]:
    stem = run_file(target.file, target.retriever, "")
    return (stem, target.retriever) if target.retriever else (stem,)


def _many(target: Target, found: Sequence[KeptFile]) -> str:
    files = ", ".join(one.file.shown for one in found)
    return (
        f"more than one TREC run may be that of {target.name}: {files}; name one"
        f" {_trec_names(target)[0]}.run, or give it alone"
    )


# -- several builds --------------------------------------------------------------------------------


def _refuse_no_builds(target: Target, builds: Sequence[Build]) -> None:
    """Raise ``StoredRunError`` for one run given twice, and for runs of several commits."""
    paths = [file.file.path.resolve() for build in builds for file in build.files]
    if len({*paths}) < len(paths):
        given = " and ".join(build.given for build in builds)
        raise StoredRunError(f"a run of {target.name} is given twice by {given}: it is one build")
    made = {file.header.commit for build in builds for file in build.files}
    commits = sorted(filter(None, made))
    if len(commits) > 1:
        raise StoredRunError(
            f"the kept runs of {target.name} are of several commits ({', '.join(commits)}): the"
            " builds of one side are of one"
        )


def together(runs: Sequence[StoredRun]) -> StoredRun:
    """Make runs of several builds one: each query with all its answers.

    A query that one of them lacks, or asks otherwise, is not among them; one that one of them could
    not answer keeps its fault.
    """
    if len(runs) == 1:
        return runs[0]
    first, *others = _numbered(runs)
    lines: dict[str, StoredQuery] = {}
    for id, line in first.items():
        theirs = [
            other[id] for other in others if id in other and line.question == other[id].question
        ]
        if len(theirs) == len(others):
            lines[id] = _one_line([line, *theirs])
    versions = {run.header.version for run in runs}
    header = replace(
        runs[0].header,
        depth=min(run.header.depth for run in runs),
        version=versions.pop() if len(versions) == 1 else None,
    )
    return StoredRun(header, lines)


def _one_line(lines: Sequence[StoredQuery]) -> StoredQuery:
    answers = [answer for line in lines for answer in line.every_answer]
    for answer in answers:
        if answer.ranking is None:
            return answer
    return replace(answers[0], answers=tuple(answers[1:]))


def _numbered(runs: Sequence[StoredRun]) -> Iterator[Mapping[str, StoredQuery]]:
    """Give the lines of each run, with the numbers of its builds among those of all runs.

    A line with fewer answers than others repeats its own.
    """
    taken = 0
    for run in runs:
        lines = run.queries.values()
        own = dict.fromkeys(answer.build for line in lines for answer in line.every_answer)
        number = {build: taken + place for place, build in enumerate(own)}
        most = Counter[bool]()  # of queries, and of their variants
        for line in lines:
            most[bool(line.of)] = max(most[bool(line.of)], len(line.every_answer))
        numbered = {}
        for line in lines:
            first, *others = [
                replace(answer, build=number[answer.build], answers=())
                for answer in map(line.answer, range(most[bool(line.of)]))
            ]
            numbered[line.id] = replace(first, answers=tuple(others))
        taken += len(own)
        yield numbered
