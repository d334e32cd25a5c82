"""Runs in files: ``--ir-save-runs`` writes them, ``--ir-runs`` and ``--ir-baseline`` read them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.baselines import run_files
from pytest_irquality.baselines.run_files import StoredRun
from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.baselines.store import get_baseline_path
from pytest_irquality.baselines.trec import (
    TREC_ENDINGS,
    is_trec_path,
    read_trec_run,
    write_trec_run,
)
from pytest_irquality.io.decoding import open_lines
from pytest_irquality.io.escaping import make_file_name
from pytest_irquality.io.files import FileError, list_files_below, write_atomically
from pytest_irquality.io.text import DataPart, QueryPart, Text, format_count, join, write
from pytest_irquality.retrieval.run import Provenance, Ranking, Run, merge_runs
from pytest_irquality.suite.model import Query, RunKey, Suite

MAX_SHARDS = 10_000
MAX_NAMED_QUERIES = 2
MAX_NAMED_FILES = 5


@dataclass(frozen=True)
class Shard:
    """A part of the queries, for one of several jobs: shard ``index`` (from 1) of ``count``."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has_request(self, request: str) -> bool:
        """Return whether a request belongs to this shard."""
        checksum = zlib.crc32(request.encode("utf-8", "surrogatepass"))
        return checksum % self.count == self.index - 1

    def has_query(self, query: Query) -> bool:
        """Return whether a query belongs to this shard. This depends on its request alone."""
        return self.has_request(query.request)


def parse_shard(text: str) -> Shard:
    """Parse ``2/5``.

    Raises:
        BaselineError: It is not a shard.
    """
    index, _, count = text.partition("/")
    if index.isdecimal() and count.isdecimal() and len(text) < 20:
        shard = Shard(int(index), int(count))
        if 1 <= shard.index <= shard.count <= MAX_SHARDS:
            return shard
    raise BaselineError(f"'{text}' is not a shard. Write I/N, such as 2/5, with I from 1 to N.")


class SaveTarget(NamedTuple):
    """Where ``--ir-save-runs=PATH[,shard=I/N][,resume]`` saves runs.

    Attributes:
        path: A folder, or a file that ends in ``.run``, ``.trec`` or the same with ``.gz``.
        shard: The part of the queries that this job runs, or ``None`` for all.
        is_resumed: Whether queries that the folder has answers for are not run again.
    """

    path: Path
    shard: Shard | None = None
    is_resumed: bool = False


def parse_save_target(text: str, folder: Path) -> SaveTarget:
    """Parse the value of ``--ir-save-runs``, relative to a folder.

    Raises:
        BaselineError: It cannot be parsed.
    """
    name, *settings = text.split(",")
    shard = None
    is_resumed = False
    for setting in settings:
        key, _, value = setting.strip().partition("=")
        if key == "shard":
            try:
                shard = parse_shard(value)
            except BaselineError as error:
                raise BaselineError(f"--ir-save-runs={text}: {error}") from None
        elif key == "resume" and not value:
            is_resumed = True
        else:
            known = "'shard=I/N' and 'resume'"
            raise BaselineError(f"--ir-save-runs={text}: '{setting}' is unknown. Use {known}.")
    target = SaveTarget(folder / name, shard, is_resumed)
    if not name:
        raise BaselineError(f"--ir-save-runs={text}: The folder is missing")
    if is_trec_path(target.path) and (shard or is_resumed):
        raise BaselineError(
            f"--ir-save-runs={text}: A TREC file holds one complete run. Name a folder."
        )
    return target


# Writing


def save_runs(
    target: SaveTarget,
    runs: Mapping[RunKey, Run],
    suites: Sequence[Suite],
    *,
    commit: str = "",
    date: str = "",
) -> tuple[str, ...]:
    """Save all answers, errors included, and return the paths of the files.

    Args:
        target: Where to save.
        runs: The answers by run key.
        suites: The suites, which a TREC file takes query ids from.
        commit: The commit of the code that answered, if the runs do not know it.
        date: When the runs were made, if they do not know it.

    Raises:
        BaselineError: A TREC file cannot hold the runs.
        OSError: A file cannot be written.
    """
    if is_trec_path(target.path):
        answered = [suite for suite in suites if suite.run_key in runs]
        distinct = {(suite.path, suite.retriever): suite for suite in reversed(answered)}
        if len(distinct) != 1:
            raise BaselineError(
                f"A TREC file holds the run of one suite and retriever, and there are"
                f" {len(distinct)}. Name a folder."
            )
        (suite,) = distinct.values()
        write_trec_run(target.path, suite, runs[suite.run_key])
        return (str(target.path),)
    paths = []
    for key, path in _make_paths(target, list(runs)).items():
        run = runs[key]
        header = run_files.make_header(
            run,
            fixture=key.retriever.fixture,
            conftest=key.retriever.folder,
            parameter=key.retriever.parameter,
            id_field=key.id_field,
            text_field=key.text_field,
            match=key.match,
            shard=str(target.shard) if target.shard else "",
            commit=run.provenance.commit or commit,
            date=run.provenance.date or date,
        )
        known_titles: set[str] = set()
        lines = {}
        for request in sorted({*run.answers, *run.errors}):
            lines[request] = run_files.encode_row(run, request, known_titles=known_titles)
        write_atomically(path, run_files.encode_run_file(header, lines))
        paths.append(str(path))
    return tuple(paths)


def _make_paths(target: SaveTarget, keys: Sequence[RunKey]) -> dict[RunKey, Path]:
    """Return the file of each run, such as ``retriever.bm25.2-of-5.jsonl``."""
    ending = ".jsonl"
    if target.shard:
        ending = f".{target.shard.index}-of-{target.shard.count}.jsonl"
    by_name: dict[str, list[RunKey]] = {}
    for key in keys:
        name = make_file_name(key.retriever.fixture)
        if key.retriever.parameter:
            name += f".{make_file_name(key.retriever.parameter)}"
        by_name.setdefault(name, []).append(key)
    paths = {}
    for name, same in by_name.items():
        for key in same:
            # Keys that differ in the conftest or in fields need different files in every job.
            distinction = f"~{zlib.crc32(repr(key).encode()):08x}" if len(same) > 1 else ""
            paths[key] = target.path / f"{name}{distinction}{ending}"
    return paths


# Reading


class SavedRuns(NamedTuple):
    """The answers in saved runs, which are used as the current answers.

    Attributes:
        runs: The answers by run key. ``provenance.commit`` and ``provenance.date`` say whose.
        errors: Why runs of a suite cannot be used (a shard is missing, doubled or foreign), by the
            path of the suite.
        notices: Queries of a suite that the runs lack, queries of a run that no suite has.
    """

    runs: Mapping[RunKey, Run]
    errors: Mapping[str, str]
    notices: tuple[Text, ...]


def read_resumed_runs(
    target: SaveTarget, keys: Sequence[RunKey], *, commit: str = ""
) -> dict[RunKey, Run]:
    """Read what an interrupted job saved, so that only the other queries run.

    Args:
        target: Where that job saved.
        keys: The run keys of the suites.
        commit: The current commit, if known.

    Raises:
        BaselineError: A file is damaged, or its answers are those of another commit.
    """
    runs = {}
    for key, path in _make_paths(target, keys).items():
        if not path.exists():
            continue
        stored = _read_jsonl(path, str(path))
        if commit and stored.header.commit and commit != stored.header.commit:
            raise BaselineError(
                f"{path}:1: The answers are from commit {stored.header.commit}, and this is"
                f" {commit}. Name another folder, or leave out 'resume'."
            )
        runs[key] = replace(stored.run, errors={})
    return runs


def read_saved_runs(
    paths: Sequence[Path],
    suites: Sequence[Suite],
    *,
    root: Path,
    option: str = "--ir-runs",
    base_suites: Sequence[Suite] = (),
) -> SavedRuns:
    """Read the runs in files and folders, our JSONL or TREC.

    Args:
        paths: Files or folders. Several are builds of one index: each adds a repeat.
        suites: The suites, one for each retriever. A TREC run files answers under query ids.
        root: The root of the project, for the names in messages.
        option: The option that named the paths, for messages.
        base_suites: Suites of the base branch, whose queries a TREC run may lack.

    Raises:
        BaselineError: A path cannot be read at all.
    """
    library = _Library(paths, root=root, option=option, replaces_retriever=True)
    runs, errors = library.read_runs(suites, [*suites, *base_suites])
    return SavedRuns(runs, errors, tuple(library.notices))


class SavedBaselines:
    """Saved runs to compare with, ``--ir-baseline=PATH`` (a ``BaselineSource``)."""

    commit = ""

    def __init__(self, paths: Sequence[Path], *, root: Path) -> None:
        self.paths = tuple(paths)
        self.root = root
        self.errors: dict[str, str] = {}
        self.notices: list[Text] = []

    @property
    def label(self) -> str:
        """Return the paths as messages name them."""
        return ", ".join(_show(path, self.root) for path in self.paths)

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read the runs as one baseline for each run key."""
        self.errors.clear()
        library = _Library(self.paths, root=self.root, option="--ir-baseline")
        runs, errors = library.read_runs(suites, suites)
        self.errors.update(errors)
        self.notices = library.notices
        if not runs and not errors and suites:
            raise BaselineError(library.describe_missing_run(suites[0]))
        baselines = []
        for key, run in runs.items():
            suite_path = next(suite.path for suite in suites if suite.run_key == key)
            baselines.append(Baseline(run, key.retriever, suite_path, self.label))
        return tuple(baselines)


class _SavedFile(NamedTuple):
    """A file of JSON lines in a build."""

    name: str
    stored: StoredRun

    def matches(self, key: RunKey) -> bool:
        """Return whether the file has answers for a run key."""
        header = self.stored.header
        if header.fixture not in ("", key.retriever.fixture):
            return False
        if header.match and (header.id_field, header.text_field, header.match) != key[1:]:
            return False
        return header.parameter == key.retriever.parameter


class _Build(NamedTuple):
    """The files in one path that the user named. TREC runs are read when their suite is known."""

    name: str
    files: tuple[_SavedFile, ...] = ()
    trec_paths: tuple[Path, ...] = ()


class _Library:
    """The files of all named paths."""

    def __init__(
        self, paths: Sequence[Path], *, root: Path, option: str, replaces_retriever: bool = False
    ) -> None:
        self.root = root
        self.option = option
        self.replaces_retriever = replaces_retriever
        self.notices: list[Text] = []
        self._trec_rankings: dict[Path, Mapping[str, Ranking]] = {}
        self._used_trec_ids: dict[Path, set[str]] = {}
        builds = [self._read_build(path) for path in paths]
        files = [file for build in builds for file in build.files]
        shards = {_get_shard_key(file) for file in files if file.stored.header.shard}
        has_trec_runs = any(build.trec_paths for build in builds)
        if len(shards) == len(files) > 0 and not has_trec_runs:
            # All paths together are the shards of one build.
            builds = [_Build(", ".join(build.name for build in builds), tuple(files))]
        self.builds = builds

    # Files

    def _read_build(self, path: Path) -> _Build:
        name = _show(path, self.root)
        if not path.exists():
            hint = f" A revision is `git:{name}`." if self.option == "--ir-baseline" else ""
            raise BaselineError(f"{self.option} {name}: There is no such file or folder.{hint}")
        if is_trec_path(path) and not path.is_dir():
            return _Build(name, trec_paths=(path,))
        if not path.is_dir():
            return _Build(name, (_SavedFile(name, _read_jsonl(path, name)),))
        files, trec_paths = [], []
        try:
            for inner in list_files_below(path, (".jsonl", *TREC_ENDINGS)):
                if is_trec_path(inner):
                    trec_paths.append(inner)
                    continue
                inner_name = _show(inner, self.root)
                try:
                    files.append(_SavedFile(inner_name, _read_jsonl(inner, inner_name)))
                except run_files.DamagedFileError:
                    raise
                except BaselineError:
                    continue  # A folder may have other files, too.
        except FileError as error:
            raise BaselineError(f"{self.option} {name}: {error.message}") from None
        return _Build(name, tuple(files), tuple(trec_paths))

    def describe_missing_run(self, suite: Suite) -> str:
        """Say that there is no run of a suite's retriever, and what there is."""
        names = []
        for build in self.builds:
            names += [file.name for file in build.files]
            names += [_show(path, self.root) for path in build.trec_paths]
        shown = ", ".join(names[:MAX_NAMED_FILES]) or "no saved run"
        hidden = len(names) - MAX_NAMED_FILES
        more = f" and {hidden} more" if hidden > 0 else ""
        named = ", ".join(build.name for build in self.builds)
        return (
            f"{self.option} {named}: There is no run of '{suite.retriever}' for {suite.path}, only"
            f" {shown}{more}."
        )

    # Runs

    def read_runs(
        self, current: Sequence[Suite], suites: Sequence[Suite]
    ) -> tuple[dict[RunKey, Run], dict[str, str]]:
        """Read the runs of all suites by key, and why some cannot be used, by suite path.

        Args:
            current: The current suites, whose queries a complete run has.
            suites: All suites, those of the base branch included.
        """
        runs: dict[RunKey, Run] = {}
        errors: dict[str, str] = {}
        groups: dict[RunKey, list[Suite]] = {}
        for suite in suites:
            groups.setdefault(suite.run_key, []).append(suite)
        for key, own_suites in groups.items():
            own_current = [suite for suite in own_suites if any(suite is each for each in current)]
            try:
                run = self._read_run(key, own_current, own_suites)
            except BaselineError as error:
                errors[own_suites[0].path] = str(error)
                continue
            if run is not None:
                runs[key] = run
            elif own_current and self.replaces_retriever:
                errors[own_current[0].path] = self.describe_missing_run(own_current[0])
        self.notices += self._describe_gaps(runs, current, suites)
        return runs, errors

    def _read_run(
        self, key: RunKey, current: Sequence[Suite], suites: Sequence[Suite]
    ) -> Run | None:
        """Read the run of a key from all builds, which become repeats.

        Raises:
            BaselineError: The files do not make a complete run, or not without guessing.
        """
        runs = []
        missing = []
        for build in self.builds:
            run = self._read_build_run(build, key, current, suites)
            if run is None:
                missing.append(build.name)
            else:
                runs.append(run)
        if runs and missing:
            raise BaselineError(
                f"{self.option} {missing[0]}: There is no run of '{key.retriever}', and other"
                " builds have one"
            )
        if len(runs) < 2:
            return runs[0] if runs else None
        commits = sorted({run.provenance.commit for run in runs if run.provenance.commit})
        if len(commits) > 1:
            raise BaselineError(
                f"{self.option}: The builds are of several commits ({', '.join(commits)}). Give"
                " builds of one commit."
            )
        return _merge_repeats(runs)

    def _read_build_run(
        self, build: _Build, key: RunKey, current: Sequence[Suite], suites: Sequence[Suite]
    ) -> Run | None:
        files = [file for file in build.files if file.matches(key)]
        folder = key.retriever.folder
        files = [file for file in files if file.stored.header.conftest == folder] or files
        if not files:
            return self._read_trec_files(build, current, suites)
        if any(file.stored.header.shard for file in files):
            return self._join_shards(files, current, build.name)
        are_baselines = all(file.stored.header.path for file in files)
        if len(files) > 1 and not are_baselines:
            names = ", ".join(file.name for file in files)
            raise BaselineError(
                f"{self.option} {build.name}: There are several runs of '{key.retriever}':"
                f" {names}. Give each build its own {self.option}."
            )
        return _merge_files(files, build.name)

    def _join_shards(self, files: Sequence[_SavedFile], suites: Sequence[Suite], name: str) -> Run:
        """Join shards to a run. Raise an error if one is missing, doubled or foreign."""
        seen: dict[Shard, _SavedFile] = {}
        first = files[0]
        first_header = first.stored.header
        for file in files:
            header, run, _ = file.stored
            if not header.shard or not first_header.shard:
                raise BaselineError(f"{file.name}: This is a complete run next to shards of one")
            shard, count = parse_shard(header.shard), parse_shard(first_header.shard).count
            problem = ""
            if shard in seen:
                problem = f"is there twice ({seen[shard].name} is the other)"
            elif shard.count != count:
                problem = f"belongs to another division than {first.name} ({first_header.shard})"
            elif header.commit != first_header.commit:
                problem = (
                    f"is of commit {header.commit or 'unknown'}, and {first.name} of"
                    f" {first_header.commit or 'unknown'}"
                )
            elif not all(map(shard.has_request, [*run.answers, *run.errors])):
                problem = "has queries of other shards"
            if problem:
                raise BaselineError(f"{file.name}:1: Shard {shard} {problem}")
            seen[shard] = file
        requests = {query.request for suite in suites for query in suite.queries}
        missing = []
        for index in range(1, count + 1):
            shard = Shard(index, count)
            if shard not in seen and any(map(shard.has_request, requests)):
                missing.append(str(shard))
        if missing:
            names = ", ".join(f"{shard} ({file.name})" for shard, file in seen.items())
            raise BaselineError(
                f"{self.option}: {format_count(len(missing), 'shard')} missing:"
                f" {', '.join(missing[:MAX_NAMED_FILES])}. There is {names}."
            )
        return _merge_files(files, name)

    # TREC

    def _read_trec_files(
        self, build: _Build, current: Sequence[Suite], suites: Sequence[Suite]
    ) -> Run | None:
        """Read the TREC runs of suites, or ``None`` if there are none."""
        answers: dict[str, tuple[Ranking, ...]] = {}
        sources = []
        for suite in suites:
            path = self._find_trec_file(build, suite)
            if path is None:
                continue
            sources.append(_show(path, self.root))
            rankings = self._read_trec_file(path, suite)
            is_current = any(suite is other for other in current)
            for query in suite.queries:
                ranking = rankings.get(query.id)
                if ranking is None and self.replaces_retriever and is_current:
                    # Such a file has no lines for a query that returned nothing.
                    ranking = Ranking()
                if ranking is not None:
                    answers.setdefault(query.request, (ranking,))
        if not sources:
            return None
        names = ", ".join(dict.fromkeys(sources))
        return Run(answers, provenance=Provenance(source=names))

    def _find_trec_file(self, build: _Build, suite: Suite) -> Path | None:
        """Find the TREC run of a suite by its name. A single file needs no name."""
        paths = build.trec_paths
        parameter = suite.retriever.parameter
        own_name = Path(get_baseline_path(suite.path, parameter)).stem
        if len(paths) != 1 or parameter:
            names = {own_name, parameter or own_name}
            paths = tuple(path for path in paths if _get_trec_name(path) in names)
        if len(paths) > 1:
            listed = ", ".join(_show(path, self.root) for path in paths)
            raise BaselineError(
                f"{self.option} {build.name}: Several TREC runs could belong to {suite.path}:"
                f" {listed}. Name one {own_name}.run, or give it alone."
            )
        return paths[0] if paths else None

    def _read_trec_file(self, path: Path, suite: Suite) -> Mapping[str, Ranking]:
        name = _show(path, self.root)
        if suite.settings.match == "text":
            raise BaselineError(
                f"{name}: A TREC run has no texts, which 'match: text' of {suite.path} needs"
            )
        if path not in self._trec_rankings:
            self._trec_rankings[path] = read_trec_run(path, name=name)
        rankings = self._trec_rankings[path]
        known = rankings.keys() & {query.id for query in suite.queries}
        if rankings and suite.queries and not known:
            ids = ", ".join(f"'{query_id}'" for query_id in list(rankings)[:MAX_NAMED_QUERIES])
            raise BaselineError(
                f"{name} has no query of {suite.path}. Its ids are {ids}, and the suite has"
                f" '{suite.queries[0].id}'."
            )
        self._used_trec_ids.setdefault(path, set()).update(known)
        lacking = [query for query in suite.queries if query.id not in known]
        if lacking and self.replaces_retriever:
            notice = _describe_lacking(name, lacking, suite)
            self.notices.append(notice + ", so they count as queries without results")
        return rankings

    # Gaps

    def _describe_gaps(
        self, runs: Mapping[RunKey, Run], suites: Sequence[Suite], every_suite: Sequence[Suite]
    ) -> Iterator[Text]:
        """Yield which queries the runs lack, and which they have that no suite has."""
        for suite in suites:
            run = runs.get(suite.run_key)
            if run is None:
                continue
            lacking = []
            for query in suite.queries:
                if query.request not in run.answers and query.request not in run.errors:
                    lacking.append(query)
            if lacking:
                yield _describe_lacking(run.provenance.source, lacking, suite)
        for path, rankings in self._trec_rankings.items():
            foreign = [name for name in rankings if name not in self._used_trec_ids.get(path, ())]
            if foreign:
                yield _describe_foreign(_show(path, self.root), foreign)
        requests = {query.request: query for suite in every_suite for query in suite.queries}
        for run in runs.values():
            unknown = [request for request in run.answers if request not in requests]
            if unknown:
                yield _describe_foreign(run.provenance.source, unknown)


def _describe_lacking(source: str, queries: Sequence[Query], suite: Suite) -> Text:
    examples = [QueryPart(query.id, query.text) for query in queries[:MAX_NAMED_QUERIES]]
    return write(
        DataPart(source),
        f" lacks {len(queries):,} of {format_count(len(suite.queries), 'query', 'queries')} of ",
        DataPart(suite.path),
        ": ",
        join(examples),
        " …" if len(queries) > len(examples) else "",
    )


def _describe_foreign(source: str, names: Sequence[str]) -> Text:
    examples = [DataPart(f"'{name}'") for name in names[:MAX_NAMED_QUERIES]]
    number = format_count(len(names), "query", "queries")
    more = " …" if len(names) > len(examples) else ""
    return write(DataPart(source), f" has {number} that no suite has: ", join(examples), more)


def _read_jsonl(path: Path, name: str) -> StoredRun:
    try:
        return run_files.read_run_lines(open_lines(path), name)
    except FileError as error:
        place = f"{name}:{error.line}" if error.line else name
        raise BaselineError(f"{place}: {error.message}") from None


def _show(path: Path, root: Path) -> str:
    """Return a path as messages name it: relative to the root, if it is inside."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return str(path)


def _get_shard_key(file: _SavedFile) -> tuple[str, ...]:
    header = file.stored.header
    return (header.shard, header.fixture, header.conftest, header.parameter, header.id_field)


def _get_trec_name(path: Path) -> str:
    """Return the name of a TREC file without its endings."""
    return path.name.removesuffix(".gz").rpartition(".")[0]


def _merge_files(files: Sequence[_SavedFile], source: str) -> Run:
    """Merge files with different requests: shards, or the baselines of several suites."""
    run = merge_runs([file.stored.run for file in files])
    source = files[0].name if len(files) == 1 else source
    return replace(run, provenance=replace(run.provenance, source=source))


def _merge_repeats(runs: Sequence[Run]) -> Run:
    """Merge builds to one run in which each build adds its answers.

    A request that one of the builds lacks has no answer, and one that failed in a build failed.
    """
    answers: dict[str, tuple[Ranking, ...]] = {}
    errors = {request: error for run in runs for request, error in run.errors.items()}
    for request, first in runs[0].answers.items():
        if request not in errors and all(request in run.answers for run in runs[1:]):
            repeats = list(first)
            for run in runs[1:]:
                repeats += run.answers[request]
            answers[request] = tuple(repeats)
    stages = {}
    for name in runs[0].stages:
        if all(name in run.stages for run in runs):
            stages[name] = _merge_repeats([run.stages[name] for run in runs])
    merged = merge_runs(runs)
    sources = ", ".join(run.provenance.source for run in runs)
    provenance = replace(merged.provenance, source=sources)
    return replace(merged, answers=answers, errors=errors, stages=stages, provenance=provenance)
