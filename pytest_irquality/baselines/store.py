"""Committed baselines: ``.ir-baseline/NAME.jsonl`` next to the suite, one line for each request."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pytest_irquality.baselines import run_files
from pytest_irquality.baselines.run_files import RunHeader, StoredRun
from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import open_lines
from pytest_irquality.io.escaping import make_file_name, quote_command
from pytest_irquality.io.files import FileError, write_atomically
from pytest_irquality.io.git import GitError, Repository
from pytest_irquality.io.text import DataPart, Text, format_count, write
from pytest_irquality.passages.matching import find_contained_passages
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query, RetrieverId, Suite
from pytest_irquality.suite.parser import list_metrics

BASELINE_FOLDER = ".ir-baseline"
# A baseline with one repeat this far below the others would hide regressions.
MAX_REPEAT_DROP = 0.15

_SUITE_ENDINGS = (".ir.yaml", ".ir.yml", ".yaml", ".yml")
_SKIPPED_FOLDERS = frozenset(("__pycache__", "node_modules", "site-packages", "venv"))


# -- Paths -----------------------------------------------------------------------------------------


def get_baseline_path(suite_path: str, parameter: str = "") -> str:
    """Return the path of a suite's baseline file, relative to the root with ``/``.

    ``shop.ir.yaml`` has ``.ir-baseline/shop.jsonl``, and ``.ir-baseline/shop.bm25.jsonl`` for the
    parameter ``bm25`` of its fixture. A list of queries keeps its ending.
    """
    path = PurePosixPath(suite_path)
    stem = path.name
    for ending in _SUITE_ENDINGS:
        # A suite that is called only `.ir.yaml` keeps its name, because a file needs one.
        if stem.lower().endswith(ending) and len(stem) > len(ending):
            stem = stem[: -len(ending)]
            break
    variant = f".{make_file_name(parameter)}" if parameter else ""
    return str(path.parent / BASELINE_FOLDER / f"{stem}{variant}.jsonl")


def list_baseline_files(root: Path) -> Iterator[str]:
    """Yield the paths of all baseline files below a folder, relative to it.

    Hidden folders and those of installed packages are skipped.
    """
    for folder, inner, names in os.walk(root):
        here = Path(folder)
        if here.name == BASELINE_FOLDER:
            inner.clear()
            for name in sorted(names):
                if name.endswith(".jsonl"):
                    yield (here / name).relative_to(root).as_posix()
            continue
        searched = []
        for name in sorted(inner):
            is_skipped = name.startswith(".") or name in _SKIPPED_FOLDERS
            if name == BASELINE_FOLDER or not is_skipped:
                searched.append(name)
        inner[:] = searched


# -- Reading ---------------------------------------------------------------------------------------


def make_baseline(stored: StoredRun, path: str, suite: Suite | None = None) -> Baseline:
    """Make a baseline from the content of a file.

    Args:
        stored: The content.
        path: The file, relative to the root.
        suite: The current suite that the file belongs to by name, if there is one.
    """
    header = stored.header
    folder = posixpath.dirname(posixpath.dirname(path))
    suite_path = suite.path if suite else posixpath.join(folder, header.path)
    if header.fixture:
        conftest = posixpath.normpath(posixpath.join(folder, header.conftest or "."))
        conftest = "" if conftest == "." else conftest
        retriever = RetrieverId(header.fixture, conftest, header.parameter)
    elif suite:
        retriever = suite.retriever
    else:
        retriever = RetrieverId(parameter=header.parameter)
    return Baseline(stored.run, retriever, suite_path, path)


def _make_repair_hint(suite: Suite | None) -> str:
    """Say how to repair a baseline file, which belongs to this suite if it is known."""
    words = ["pytest", "--ir-update-baseline", "--ir-suite"]
    command = quote_command(words, [suite.path] if suite else [])
    return f"Run `{command}` to write the file again."


def read_baseline_files(
    paths: Iterable[str],
    suites: Iterable[Suite],
    read_lines: Callable[[str], Iterable[tuple[int, str]]],
    errors: dict[str, str],
    *,
    prefix: str = "",
) -> Iterator[Baseline]:
    """Yield the baselines in files, and note in ``errors`` which files cannot be read.

    Args:
        paths: The files, relative to the root.
        suites: The current suites, which baselines belong to by name.
        read_lines: Returns the lines of a file with their numbers.
        errors: Gets a message for each file that cannot be used.
        prefix: The text before the path of a file in messages.
    """
    own_files = index_own_files(suites)
    for path in paths:
        suite = own_files.get(path)
        hint = _make_repair_hint(suite)
        try:
            stored = run_files.read_run_lines(read_lines(path), prefix + path, repair_hint=hint)
        except BaselineError as error:
            errors[path] = str(error)
        except FileError as error:
            errors[path] = f"{prefix}{path}: {error.message}"
        else:
            yield make_baseline(stored, path, suite)


def index_own_files(suites: Iterable[Suite]) -> dict[str, Suite]:
    """Return the suites by the paths of their own baseline files."""
    return {get_baseline_path(suite.path, suite.retriever.parameter): suite for suite in suites}


class CommittedBaselines:
    """The baseline files of the working tree (a ``BaselineSource``).

    Args:
        root: The root of the project, to which the paths of suites are relative.
    """

    label = ""
    commit = ""
    is_committed = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self.errors: dict[str, str] = {}
        self.notes: list[Text] = []

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read every baseline file below the root, and those of suites in other folders.

        Damaged files are in ``errors``.
        """
        self.errors.clear()
        access = FileAccess(self.root)

        def read_lines(path: str) -> Iterable[tuple[int, str]]:
            file = self.root / path
            access.check_baseline_file(file, file.parent)
            return open_lines(file)

        # A suite can be outside the rootdir, or in a folder that is a link.
        own_files = [path for path in index_own_files(suites) if os.path.lexists(self.root / path)]
        paths = dict.fromkeys([*list_baseline_files(self.root), *own_files])
        return tuple(read_baseline_files(paths, suites, read_lines, self.errors))


# -- Updating --------------------------------------------------------------------------------------


class BaselineUpdate(NamedTuple):
    """The changes that an update makes to one file.

    Attributes:
        path: The file, relative to the root.
        changed: Ids of queries whose ranking changed.
        added: Ids of queries that had no line.
        unanswered: Ids of queries that got no answer and keep their line.
        removed: Texts of queries whose line is removed.
        refusal: Why nothing was written, or empty.
        is_written: Whether the file changed.
        is_file_removed: Whether the file was removed, because no suite uses it.
    """

    path: str
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refusal: str = ""
    is_written: bool = False
    is_file_removed: bool = False


def describe_update(update: BaselineUpdate) -> Text:
    """Describe an update, such as ``.ir-baseline/shop.jsonl: 3 rankings changed``."""
    path = DataPart(update.path)
    if update.refusal:
        return write(path, " was not written. ", DataPart(update.refusal))
    if update.is_file_removed:
        return write(path, ": removed, because no suite uses it")
    changes = []
    named = {"changed": update.changed, "added": update.added, "removed": update.removed}
    for verb, names in named.items():
        if names:
            changes.append(f"{format_count(len(names), 'ranking')} {verb}")
    text = write(path, f": {', '.join(changes) or 'no ranking changed'}")
    if update.unanswered:
        count = len(update.unanswered)
        number = format_count(count, "query has", "queries have")
        text += f"; {number} no answer, so {'its line stays' if count == 1 else 'their lines stay'}"
    return text


def update_baseline(
    root: Path,
    suite: Suite,
    run: Run,
    *,
    query_ids: Collection[str] = (),
    compute_repeat_means: Callable[[], Sequence[float]] | None = None,
) -> BaselineUpdate:
    """Write the answers of a run into the baseline file of a suite.

    A line whose ranking did not change stays as it is, because scores vary from machine to machine.
    A query without an answer keeps its line.

    Args:
        root: The root of the project.
        suite: The suite, with its retriever.
        run: The current answers.
        query_ids: The queries to update (only their lines change), or none for all queries. Then
            lines of queries that the suite no longer has are removed.
        compute_repeat_means: Returns the suite's mean of the primary metric for each repeat. The
            update is refused if one is more than 0.15 below the mean of the others.

    Raises:
        OSError: The file cannot be written.
    """
    update = _FileUpdate(root, suite, run, frozenset(query_ids))
    refusal = _refuse_ignored_file(root / update.path) or _refuse_repeats(compute_repeat_means)
    refusal = refusal or update.find_refusal()
    if not refusal:
        try:
            return update.write()
        except BaselineError as error:
            refusal = str(error)
    return BaselineUpdate(update.path, refusal=refusal)


def remove_unused_baselines(root: Path, suites: Sequence[Suite]) -> list[BaselineUpdate]:
    """Remove the baseline files that no suite uses any more.

    Call this after an update of all queries. Then every suite has its answers in a file of its own,
    whatever its file or fixture was called before.

    Args:
        root: The root of the project.
        suites: All current suites, one for each retriever.

    Returns:
        An update for each file that is removed.

    Raises:
        OSError: A file cannot be removed.
    """
    own_files = index_own_files(suites)
    suite_paths = {suite.path for suite in suites}
    updates = []
    for path in list(list_baseline_files(root)):
        if path in own_files:
            continue
        try:
            stored = run_files.read_run_lines(open_lines(root / path), path)
            owner = make_baseline(stored, path).suite_path
        except BaselineError:
            continue  # A damaged file does not say which suite it belongs to.
        # A suite that is not collected now may run in another job, if its file still exists.
        if owner in suite_paths or not (root / owner).is_file():
            (root / path).unlink()
            updates.append(BaselineUpdate(path, is_written=True, is_file_removed=True))
    return updates


def _refuse_ignored_file(file: Path) -> str:
    """Return why git would never commit a file, or an empty string."""
    try:
        rule = Repository.find(file.parent).find_ignore_rule(file)
    except (GitError, OSError):
        return ""
    return f"Git ignores the file ({rule}), so it would not be committed" if rule else ""


def _refuse_repeats(compute_means: Callable[[], Sequence[float]] | None) -> str:
    """Return why answers vary too much for a baseline, or an empty string."""
    means = compute_means() if compute_means else ()
    for number, mean in enumerate(means, start=1):
        others = [*means[: number - 1], *means[number:]]
        if others and sum(others) / len(others) - mean > MAX_REPEAT_DROP:
            values = f"{mean:.3f}, and the others have {sum(others) / len(others):.3f}"
            effect = "A baseline with such a repeat would hide regressions."
            step = "Check whether the engine was ready, and update again."
            return f"Repeat {number} has a mean of {values}. {effect} {step}"
    return ""


class _FileUpdate:
    """One update of one baseline file.

    Args:
        root: The root of the project.
        suite: The suite, with its retriever.
        run: The current answers.
        query_ids: The queries to update, or none for all.
    """

    def __init__(self, root: Path, suite: Suite, run: Run, query_ids: Collection[str]) -> None:
        self.path = get_baseline_path(suite.path, suite.retriever.parameter)
        self.file = root / self.path
        self.root = root
        self.suite = suite
        self.old, self.damage = self._read_old_file()
        self.is_full = not query_ids
        self.queries: dict[str, Query] = {}
        passages: dict[str, dict[str, None]] = {}
        for query in suite.queries:
            if self.is_full or query.id in query_ids:
                self.queries.setdefault(query.request, query)
                passages.setdefault(query.request, {}).update(dict.fromkeys(query.passages))
        self.run = _strip_run(suite, run, passages)
        self.unanswered: list[str] = []
        for request, query in self.queries.items():
            if request not in run.answers:
                self.unanswered.append(query.id)

    def _read_old_file(self) -> tuple[StoredRun, str]:
        """Return what the file contains now, and why it cannot be read."""
        nothing = StoredRun(RunHeader(), Run(), {})
        if not os.path.lexists(self.file):
            return nothing, ""
        hint = _make_repair_hint(self.suite)
        try:
            lines = open_lines(self.file)
            return run_files.read_run_lines(lines, self.path, repair_hint=hint, keep_lines=True), ""
        except BaselineError as error:
            return nothing, str(error)

    def find_refusal(self) -> str:
        """Return why nothing can be written, or an empty string."""
        if self.damage and not self.is_full:
            return self.damage
        if self.damage and self.unanswered:
            count = len(self.unanswered)
            return f"{self.damage} That needs an answer to every query, and {count} have none."
        if len(self.unanswered) == len(self.queries) and not (self.is_full and self.old.lines):
            return "No query has an answer"
        header = self.old.header
        folder = PurePosixPath(self.suite.path).parent
        owner = str(folder / header.path) if header.path else self.suite.path
        is_owned = get_baseline_path(owner, header.parameter) == self.path
        if owner != self.suite.path and is_owned and (self.root / owner).is_file():
            return f"'{self.path}' is the baseline of {owner}. Rename one of the suites."
        return ""

    def write(self) -> BaselineUpdate:
        """Write the file if anything in it changes."""
        header = self._make_header()
        lines = self._keep_old_lines(header)
        changed: list[str] = []
        added: list[str] = []
        for request, query in self.queries.items():
            if request not in self.run.answers or self._has_same_answer(request):
                continue
            is_known = request in self.old.run.answers
            (changed if is_known else added).append(query.id)
            depth = self.run.provenance.depth
            row_depth = None if depth == header.depth else depth
            lines[request] = run_files.encode_row(
                self.run, request, depth=row_depth, score_digits=run_files.SCORE_DIGITS
            )
        content = b"".join(run_files.encode_run_file(header, lines))
        is_written = not self.file.is_file() or self.file.read_bytes() != content
        if is_written:
            write_atomically(self.file, content)
        removed = sorted(self.old.run.answers.keys() - lines.keys())
        return BaselineUpdate(
            self.path,
            changed=tuple(changed),
            added=tuple(added),
            unanswered=tuple(self.unanswered),
            removed=tuple(run_files.split_request(request)[0] for request in removed),
            is_written=is_written,
        )

    def _make_header(self) -> RunHeader:
        if self.old.lines and not self.is_full:
            return self.old.header
        path = PurePosixPath(self.suite.path)
        retriever = self.suite.retriever
        return RunHeader(
            path=path.name,
            depth=self.run.provenance.depth,
            stage_depth=run_files.make_header(self.run).stage_depth,
            fixture=retriever.fixture,
            conftest=posixpath.relpath(retriever.folder or ".", str(path.parent)),
            parameter=retriever.parameter,
        )

    def _keep_old_lines(self, header: RunHeader) -> dict[str, str]:
        """Return the lines of the old file that stay unless their queries got other answers."""
        lines = {}
        for request, line in self.old.lines.items():
            if self.is_full and request not in self.queries:
                continue
            lines[request] = line
            if header.depth != self.old.header.depth:
                row = {"depth": self.old.header.depth, **json.loads(line)}
                lines[request] = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        return lines

    def _has_same_answer(self, request: str) -> bool:
        """Return whether the old line can stay, whatever its scores and titles are."""
        if request not in self.old.run.answers:
            return False
        row = json.loads(self.old.lines[request])
        if row.get("depth", self.old.header.depth) != self.run.provenance.depth:
            return False
        return _get_compared_parts(self.old.run, request) == _get_compared_parts(self.run, request)


def _strip_run(suite: Suite, run: Run, passages: Mapping[str, Iterable[str]]) -> Run:
    """Return the parts of a run that a baseline has: no times, texts and fields.

    Stages and sizes stay if a metric of the suite needs them.
    """
    metrics = list_metrics(suite)
    has_sizes = any(metric.budget for metric in metrics)
    has_stages = any(metric.stage for metric in metrics)

    def strip_ranking(ranking: Ranking, request: str) -> Ranking:
        wanted = tuple(passages[request])
        return Ranking(
            ranking.doc_ids,
            ranking.scores,
            passages=find_contained_passages(ranking, wanted) if wanted else {},
            sizes=ranking.sizes if has_sizes else {},
        )

    def strip_answers(run: Run) -> dict[str, tuple[Ranking, ...]]:
        answers = {}
        for request in passages:
            if request in run.answers:
                rankings = [strip_ranking(ranking, request) for ranking in run.answers[request]]
                answers[request] = tuple(rankings)
        return answers

    stages = {}
    for name, stage in run.stages.items() if has_stages else ():
        stages[name] = replace(stage, answers=strip_answers(stage), errors={}, titles={})
    return replace(run, answers=strip_answers(run), errors={}, stages=stages)


def _get_compared_parts(run: Run, request: str) -> object:
    """Return the parts of an answer whose change makes an update write its line again."""
    answers = []
    for part in (run, *(run.stages[name] for name in sorted(run.stages))):
        for ranking in part.answers.get(request, ()):
            passages = {index: set(names) for index, names in ranking.passages.items()}
            answers.append((ranking.doc_ids, passages, dict(ranking.sizes)))
    return answers
