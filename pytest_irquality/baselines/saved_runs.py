"""Runs in files: ``--ir-save-runs`` writes them, ``--ir-runs`` and ``--ir-baseline`` read them.

A run is one file, or the files of all shards, in our JSON lines or in TREC's format. A shard
that is missing, duplicated or from another run is an error. We never pick one of several files.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_irquality.baselines import run_files
from pytest_irquality.baselines.run_files import DamagedFileError, StoredRun
from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.baselines.store import get_baseline_path
from pytest_irquality.baselines.trec import TREC_ENDINGS, is_trec_path, read_trec_run
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.decoding import open_lines
from pytest_irquality.io.escaping import make_file_name
from pytest_irquality.io.files import FileError, list_files_below, write_atomically
from pytest_irquality.io.text import DataPart, Text, format_count, join, list_some, write
from pytest_irquality.retrieval.run import Provenance, Ranking, Run, merge_runs
from pytest_irquality.suite.model import Query, RetrieverId, RunKey, Suite
from pytest_irquality.suite.parser import get_needed_depth

MAX_SHARDS = 10_000
MAX_NAMED_QUERIES = 2
MAX_NAMED_FILES = 5

_SHARD_OF_NAME = re.compile(r"\.?(\d{1,5})-of-(\d{1,5})$")


@dataclass(frozen=True)
class Shard:
    """A part of the queries, for one of several jobs: shard ``index`` (from 1) of ``count``."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has_request(self, request: str) -> bool:
        """Return whether a request belongs to this shard. This depends on the request alone."""
        checksum = zlib.crc32(request.encode("utf-8", "surrogatepass"))
        return checksum % self.count == self.index - 1

    def has_query(self, query: Query) -> bool:
        """Return whether a query belongs to this shard."""
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


# -- Writing ---------------------------------------------------------------------------------------


def save_runs(
    folder: Path, runs: Mapping[RunKey, Run], *, shard: Shard | None = None, commit: str = ""
) -> None:
    """Save all answers, errors included, in a file for each key.

    Args:
        folder: Where to save.
        runs: The answers by run key.
        shard: The part of the queries that this job ran, or ``None`` for all.
        commit: The commit of the code that answered, if the runs do not know it.

    Raises:
        BaselineError: An answer is too long for a file.
        OSError: A file cannot be written.
    """
    for key, name in _make_names(list(runs), shard).items():
        run = runs[key]
        header = run_files.make_header(
            run,
            fixture=key.retriever.fixture,
            conftest=key.retriever.folder,
            parameter=key.retriever.parameter,
            id_field=key.id_field,
            text_field=key.text_field,
            match=key.match,
            shard=str(shard) if shard else "",
            commit=run.provenance.commit or commit,
        )
        lines = run_files.encode_rows(run, run.answers.keys() | run.errors.keys())
        write_atomically(folder / name, run_files.encode_run_file(header, lines))


def _make_names(keys: Sequence[RunKey], shard: Shard | None) -> dict[RunKey, str]:
    """Return the file of each run, such as ``retriever.bm25.2-of-5.jsonl``."""
    ending = f".{shard.index}-of-{shard.count}.jsonl" if shard else ".jsonl"
    names = {}
    for key in keys:
        names[key] = make_file_name(key.retriever.fixture)
        if key.retriever.parameter:
            names[key] += f".{make_file_name(key.retriever.parameter)}"
    counts = Counter(names.values())
    for key, name in names.items():
        # Keys that differ in the conftest or in fields need different files in every job.
        distinction = f"~{zlib.crc32(repr(key).encode()):08x}" if counts[name] > 1 else ""
        names[key] = f"{name}{distinction}{ending}"
    return names


# -- Reading ---------------------------------------------------------------------------------------


def read_saved_runs(
    paths: Sequence[Path], suites: Sequence[Suite], *, root: Path, base_suites: Sequence[Suite] = ()
) -> SavedRuns:
    """Read the current answers from files and folders, which together hold one run for each key.

    Args:
        paths: Files or folders.
        suites: The current suites, one for each retriever. A complete run has all of their queries.
        root: The root of the project, for the names in messages.
        base_suites: Suites of the base branch, whose queries a run may lack.

    Raises:
        BaselineError: A path cannot be read at all.
    """
    saved = SavedRuns(paths, root, "--ir-runs", replaces_retriever=True)
    saved.read_runs(suites, base_suites)
    return saved


class SavedBaselines:
    """Saved runs to compare with, ``--ir-baseline=PATH`` (a ``BaselineSource``)."""

    commit = ""
    is_committed = False

    def __init__(self, path: Path, *, root: Path) -> None:
        self.path = path
        self.root = root
        self.label = _format_path(path, root)
        self.errors: dict[str, str] = {}
        self.notes: list[Text] = []

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read the runs as one baseline for each run key."""
        saved = SavedRuns([self.path], self.root, "--ir-baseline")
        saved.read_runs(suites)
        self.errors, self.notes = saved.errors, saved.notes
        if not saved.runs and not saved.errors and suites:
            raise BaselineError(saved.describe_missing_run(suites[0]))
        baselines = []
        for key, run in saved.runs.items():
            suite_path = next(suite.path for suite in suites if suite.run_key == key)
            baselines.append(Baseline(run, key.retriever, suite_path, self.label))
        return tuple(baselines)


class _SavedFile(NamedTuple):
    """A file of JSON lines."""

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


class _TrecFiles(NamedTuple):
    """A TREC run in one file, or in ``NAME.1-of-3.run`` and so on. It has ids, not requests.

    Attributes:
        owners: The retriever and the request that an id means, for the ids that suites have.
        rankings: The rankings by query id. Empty until a suite uses the run.
    """

    paths: list[Path]
    owners: dict[str, tuple[RetrieverId, str]]
    rankings: dict[str, Ranking]


class SavedRuns:
    """The files in the named paths, and the runs that they make.

    Attributes:
        runs: The answers by run key. ``provenance`` says from which commit.
        errors: Why runs of a suite cannot be used (a shard is missing, duplicated or from
            another run), by the path of the suite.
        notes: Queries of a suite that the runs lack, queries of a run that no suite has, and
            files that no suite uses.
    """

    def __init__(
        self, paths: Sequence[Path], root: Path, option: str, *, replaces_retriever: bool = False
    ) -> None:
        self.root = root
        self.option = option
        self.replaces_retriever = replaces_retriever
        self.name = ", ".join(_format_path(path, root) for path in paths)
        self.runs: dict[RunKey, Run] = {}
        self.errors: dict[str, str] = {}
        self.notes: list[Text] = []
        self._files: list[_SavedFile] = []
        self._used_names: set[str] = set()
        self._trec_files: dict[str, _TrecFiles] = {}
        for path in paths:
            self._add_path(path)

    def _add_path(self, path: Path) -> None:
        name = _format_path(path, self.root)
        if not path.exists():
            hint = "" if self.replaces_retriever else f" For a branch, write `git:{name}`."
            raise BaselineError(f"{self.option} {name}: There is no such file or folder.{hint}")
        if not path.is_dir():
            self._add_file(path)
            return
        try:
            for inner in list_files_below(path, (".jsonl", ".jsonl.gz", *TREC_ENDINGS)):
                try:
                    self._add_file(inner)
                except DamagedFileError:
                    raise
                except BaselineError:
                    continue  # A folder may have other files, too.
        except FileError as error:
            raise BaselineError(f"{self.option} {name}: {error.message}") from None

    def _add_file(self, path: Path) -> None:
        name = _format_path(path, self.root)
        if is_trec_path(path):
            run_name = _SHARD_OF_NAME.sub("", _get_stem(path))
            self._trec_files.setdefault(run_name, _TrecFiles([], {}, {})).paths.append(path)
        else:
            self._files.append(_SavedFile(name, run_files.read_run_lines(open_lines(path), name)))

    def describe_missing_run(self, suite: Suite) -> str:
        """Say that there is no run of a suite's retriever, and what there is."""
        names = [file.name for file in self._files]
        for trec in self._trec_files.values():
            names += [_format_path(path, self.root) for path in trec.paths]
        known = list_some(names or ["none"], MAX_NAMED_FILES)
        problem = f"There is no run of '{suite.retriever}' for {suite.path}. Saved runs: {known}."
        return f"{self.option} {self.name}: {problem}"

    # -- Runs --------------------------------------------------------------------------------------

    def read_runs(self, suites: Sequence[Suite], base_suites: Sequence[Suite] = ()) -> None:
        """Read the runs of all suites by key, and note why some cannot be used."""
        current: dict[RunKey, list[Suite]] = {}
        base: dict[RunKey, list[Suite]] = {}
        for suite in suites:
            current.setdefault(suite.run_key, []).append(suite)
        for suite in base_suites:
            base.setdefault(suite.run_key, []).append(suite)
        for key in dict.fromkeys([*current, *base]):
            own_suites, own_base = current.get(key, []), base.get(key, [])
            first = [*own_suites, *own_base][0]
            try:
                run = self._read_run(key, own_suites, own_base)
            except BaselineError as error:
                self.errors.setdefault(first.path, str(error))
                continue
            if run is not None:
                self.runs[key] = run
            elif own_suites and self.replaces_retriever:
                self.errors.setdefault(first.path, self.describe_missing_run(first))
        for trec in self._trec_files.values():
            if not trec.rankings and not self.errors:
                self._report_unused_trec_run(trec, suites)
        self._note_gaps(suites, [*suites, *base_suites])

    def _read_run(
        self, key: RunKey, suites: Sequence[Suite], base_suites: Sequence[Suite]
    ) -> Run | None:
        """Read the run of a key.

        Raises:
            BaselineError: The files do not make a complete run, or not without guessing.
        """
        files = [file for file in self._files if file.matches(key)]
        folder = key.retriever.folder
        files = [file for file in files if file.stored.header.conftest == folder] or files
        if not files:
            return self._read_trec_runs(suites, base_suites)
        self._used_names.update(file.name for file in files)
        are_committed_baselines = all(file.stored.header.path for file in files)
        if are_committed_baselines and self.replaces_retriever:
            raise BaselineError(f"{self.option} {self.name}: Baselines are not current answers")
        if any(file.stored.header.shard for file in files):
            self._check_saved_shards(files, [*suites, *base_suites])
        elif len(files) > 1 and not are_committed_baselines:
            names = [file.name for file in files]
            raise BaselineError(self._describe_several_runs(key.retriever, names))
        run = merge_runs([file.stored.run for file in files])
        source = files[0].name if len(files) == 1 else self.name
        if self.replaces_retriever:
            _check_depth(run, source, [*suites, *base_suites])
        return replace(run, provenance=replace(run.provenance, source=source))

    def _describe_several_runs(self, retriever: RetrieverId, names: Sequence[str]) -> str:
        several = f"There are several runs of '{retriever}': {', '.join(names)}"
        return f"{self.option} {self.name}: {several}. Name one of them."

    # -- Shards ------------------------------------------------------------------------------------

    def _check_saved_shards(self, files: Sequence[_SavedFile], suites: Sequence[Suite]) -> None:
        """Raise an error if shards in JSON lines do not belong to one run."""
        first = files[0]
        shards = []
        for file in files:
            header, run, _ = file.stored
            if not header.shard:
                problem = "This run is complete, but there are also shards of it"
                raise BaselineError(f"{file.name}: {problem}. Delete this file, or the shards.")
            shard = parse_shard(header.shard)
            shards.append((shard, file.name))
            for field in ("commit", "conftest"):
                value, expected = getattr(header, field), getattr(first.stored.header, field)
                if value != expected:
                    other = f"{first.name} is from {expected or 'unknown'}"
                    place = f"{file.name}:1: Shard {shard}"
                    raise BaselineError(
                        f"{place} is from {field} {value or 'unknown'}, but {other}"
                    )
            if not all(map(shard.has_request, [*run.answers, *run.errors])):
                raise BaselineError(f"{file.name}:1: Shard {shard} has queries from other shards")
        # A job that has no query writes no file.
        requests = {query.request for suite in suites for query in suite.queries}
        self._check_shards_are_complete(shards, lambda shard: any(map(shard.has_request, requests)))

    def _check_shards_are_complete(
        self, shards: Sequence[tuple[Shard, str]], is_needed: Callable[[Shard], bool]
    ) -> None:
        """Raise an error if the shards in files do not make one run."""
        names: dict[Shard, str] = {}
        first_shard, first_name = shards[0]
        for shard, name in shards:
            if shard in names:
                raise BaselineError(f"{name}: {names[shard]} is also shard {shard}")
            if shard.count != first_shard.count:
                first = f"{first_name} ({first_shard})"
                raise BaselineError(f"{name}: Shard {shard} is not from the same run as {first}")
            names[shard] = name
        every_shard = [Shard(index, first_shard.count) for index in range(1, first_shard.count + 1)]
        missing = [str(shard) for shard in every_shard if shard not in names and is_needed(shard)]
        if missing:
            known = list_some([f"{shard} ({name})" for shard, name in shards], MAX_NAMED_FILES)
            count = format_count(len(missing), "shard")
            some = list_some(missing, MAX_NAMED_FILES)
            raise BaselineError(f"{self.option}: {count} missing: {some}. Found: {known}.")

    # -- TREC --------------------------------------------------------------------------------------

    def _read_trec_runs(self, suites: Sequence[Suite], base_suites: Sequence[Suite]) -> Run | None:
        """Read the TREC runs of suites, or ``None`` if there are none."""
        answers: dict[str, tuple[Ranking, ...]] = {}
        sources: dict[str, None] = {}
        for number, suite in enumerate([*suites, *base_suites]):
            trec = self._find_trec_files(suite)
            if trec is None:
                continue
            sources[self._name_source(trec)] = None
            if not trec.rankings:
                self._read_trec_files(trec)
            self._add_trec_answers(answers, trec, suite, is_current=number < len(suites))
        if not sources:
            return None
        names = ", ".join(sources)
        if self.replaces_retriever:
            self.notes.append(write(DataPart(names), " does not say which commit it is from"))
        return Run(answers, provenance=Provenance(source=names))

    def _name_source(self, trec: _TrecFiles) -> str:
        return _format_path(trec.paths[0], self.root) if len(trec.paths) == 1 else self.name

    def _find_trec_files(self, suite: Suite) -> _TrecFiles | None:
        """Find the TREC run of a suite by its name. A single run needs no name."""
        parameter = suite.retriever.parameter
        if len(self._trec_files) == 1 and not parameter:
            return next(iter(self._trec_files.values()))
        own_name = Path(get_baseline_path(suite.path, parameter)).stem
        names = [name for name in (own_name, parameter) if name in self._trec_files]
        if len(names) > 1:
            paths = [path for name in names for path in self._trec_files[name].paths]
            self._refuse_several_runs(paths)
        return self._trec_files[names[0]] if names else None

    def _refuse_several_runs(self, paths: Sequence[Path]) -> None:
        names = [_format_path(path, self.root) for path in paths]
        raise BaselineError(
            f"{self.option} {self.name}: Several TREC runs match: {', '.join(names)}. Name one of"
            " them, or call shards NAME.1-of-2.run and NAME.2-of-2.run."
        )

    def _read_trec_files(self, trec: _TrecFiles) -> None:
        """Read the file of a run, or all of its shards."""
        shards = []
        for path in trec.paths:
            match = _SHARD_OF_NAME.search(_get_stem(path))
            if match:
                shard = parse_shard("/".join(match.groups()))
                shards.append((shard, _format_path(path, self.root)))
        if len(trec.paths) > 1 and len(shards) < len(trec.paths):
            self._refuse_several_runs(trec.paths)
        if shards:
            self._check_shards_are_complete(shards, lambda _: True)
        for path in trec.paths:
            name = _format_path(path, self.root)
            rankings = read_trec_run(path, name=name)
            repeated = rankings.keys() & trec.rankings.keys()
            if repeated:
                raise BaselineError(f"{name}: Query '{min(repeated)}' is also in another shard")
            trec.rankings.update(rankings)
        if not trec.rankings:
            raise BaselineError(f"{self._name_source(trec)} is empty")

    def _add_trec_answers(
        self,
        answers: dict[str, tuple[Ranking, ...]],
        trec: _TrecFiles,
        suite: Suite,
        *,
        is_current: bool,
    ) -> None:
        """Add the answers to the queries of a suite.

        A suite of the base branch may have none of the ids, because its queries may have others.
        """
        source = self._name_source(trec)
        if suite.settings.match == "text":
            problem = f"A TREC run has no texts, but 'match: text' in {suite.path} needs them"
            raise BaselineError(f"{source}: {problem}")
        missing = []
        for query in suite.queries:
            owner = suite.retriever, query.request
            if query.id not in trec.rankings:
                missing.append(query)
            elif trec.owners.setdefault(query.id, owner) == owner:
                answers.setdefault(query.request, (trec.rankings[query.id],))
            elif is_current:
                problem = f"'{query.id}' is also the id of another query than in {suite.path}"
                raise BaselineError(f"{source}: {problem}. Name each run after its suite.")
        if is_current and suite.queries and len(missing) == len(suite.queries):
            ids = ", ".join(f"'{query_id}'" for query_id in list(trec.rankings)[:MAX_NAMED_QUERIES])
            other_ids = f"Its ids are {ids}, and the suite has '{suite.queries[0].id}'."
            raise BaselineError(f"{source} has no query from {suite.path}. {other_ids}")
        if missing and is_current and self.replaces_retriever:
            # Such a file has no lines for a query that returned nothing.
            for query in missing:
                answers.setdefault(query.request, (Ranking(),))
            notice = _describe_missing_queries(source, missing, suite)
            self.notes.append(notice + ", so they count as queries without results")

    def _report_unused_trec_run(self, trec: _TrecFiles, suites: Sequence[Suite]) -> None:
        """Report a TREC run that no suite used. For a suite with another run, it is an error."""
        source = self._name_source(trec)
        for suite in suites:
            run = self.runs.get(suite.run_key)
            if run is not None and self._find_trec_files(suite) is trec:
                names = [run.provenance.source, source]
                self.errors[suite.path] = self._describe_several_runs(suite.retriever, names)
                del self.runs[suite.run_key]
                return
        self.notes.append(write(DataPart(source), " is not used, because no suite has its name"))

    # -- Gaps --------------------------------------------------------------------------------------

    def _note_gaps(self, suites: Sequence[Suite], every_suite: Sequence[Suite]) -> None:
        """Note which queries the runs lack, and what they have that no suite has."""
        prefix = "" if self.replaces_retriever else "The baseline "
        for suite in suites:
            run = self.runs.get(suite.run_key)
            if run is None:
                continue
            known = run.answers.keys() | run.errors.keys()
            missing = [query for query in suite.queries if query.request not in known]
            if missing:
                self.notes.append(
                    _describe_missing_queries(prefix + run.provenance.source, missing, suite)
                )
        for trec in self._trec_files.values():
            unknown = [query_id for query_id in trec.rankings if query_id not in trec.owners]
            if unknown:
                self.notes.append(
                    _describe_unknown_queries(prefix + self._name_source(trec), unknown)
                )
        for file in self._files:
            if self.replaces_retriever and file.name not in self._used_names:
                fixture = DataPart(f"'{file.stored.header.fixture}'")
                reason = write(" is not used, because no suite has its retriever ", fixture)
                self.notes.append(write(DataPart(file.name), reason))
        requests = {query.request for suite in every_suite for query in suite.queries}
        for run in self.runs.values():
            unknown = [request for request in run.answers if request not in requests]
            if unknown:
                self.notes.append(
                    _describe_unknown_queries(prefix + run.provenance.source, unknown)
                )


def _check_depth(run: Run, source: str, suites: Sequence[Suite]) -> None:
    """Raise an error if a run has fewer results than suites need: a bad one may be missing."""
    for suite in suites:
        needed_depth = get_needed_depth(suite)
        depth = run.provenance.depth or needed_depth
        if depth < needed_depth and any(query.request in run.answers for query in suite.queries):
            problem = f"{depth} results were requested, and {suite.path} needs {needed_depth}"
            raise BaselineError(f"{source}: {problem}. Save it again, with the same --ir-baseline.")


def _describe_missing_queries(source: str, queries: Sequence[Query], suite: Suite) -> Text:
    examples = [query.part for query in queries[:MAX_NAMED_QUERIES]]
    number = f"{len(queries):,} of {format_count(len(suite.queries), 'query', 'queries')}"
    more = " …" if len(queries) > len(examples) else ""
    parts = (DataPart(suite.path), ": ", join(examples), more)
    return write(DataPart(source), f" lacks {number} of ", *parts)


def _describe_unknown_queries(source: str, names: Sequence[str]) -> Text:
    examples = [DataPart(f"'{name}'") for name in names[:MAX_NAMED_QUERIES]]
    number = format_count(len(names), "query", "queries")
    more = " …" if len(names) > len(examples) else ""
    return write(DataPart(source), f" has {number} that no suite has: ", join(examples), more)


def _format_path(path: Path, root: Path) -> str:
    """Format a path for messages: relative to the root, if it is inside."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return str(path)


def _get_stem(path: Path) -> str:
    """Return the name of a TREC file without its endings."""
    return path.name.removesuffix(".gz").rpartition(".")[0]
