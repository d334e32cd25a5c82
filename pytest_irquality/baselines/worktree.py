"""The base branch's own code (``--ir-baseline=run:REF``), run in a git worktree.

The process that evaluates checks out the merge base into a temporary folder, starts a pytest there
with the task in a file, and reads the answers from another file. ``base_guard`` makes sure that no
code of the current checkout answers for the base branch. The other process, in the worktree, calls
``read_child_task`` and ``write_child_answers``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_irquality.baselines import base_guard
from pytest_irquality.baselines.base_guard import is_inside
from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.run_files import decode_run, encode_run
from pytest_irquality.baselines.sources import Baseline, BaselineError, QueryBatch
from pytest_irquality.io.escaping import escape_log_lines
from pytest_irquality.io.git import GitError, Repository
from pytest_irquality.io.processes import CANNOT_START_STATUS, SupervisedProcess
from pytest_irquality.io.text import DataPart, Text, list_some, write
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, RetrieverId, Retry, RunKey, Settings, Suite

CHILD_VARIABLE = base_guard.VARIABLE
MAX_SHOWN_LINES = 15
END_TIMEOUT_S = 10.0

_FOLDER_PREFIX = "irquality-base-"
_TREE_NAME = "tree"
_TASK_NAME = "task.json"
_ANSWERS_NAME = "answers.json"
_OUTPUT_NAME = "output"
_ACCESS_LOG_NAME = "access.log"
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
# Files that cannot change results.
_IGNORED_PARTS = frozenset(("tests", ".ir-baseline", "docs", "doc", "LICENSE"))
_IGNORED_SUFFIXES = (".md", ".rst", ".adoc")
# Variables that belong to the current job, worker or environment.
_DROPPED_VARIABLES = frozenset(
    (
        "GITHUB_STEP_SUMMARY",
        "PYTEST_CURRENT_TEST",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "UV_PROJECT_ENVIRONMENT",
        "VIRTUAL_ENV",
    )
)
# The script `pytest` does not have the working folder in sys.path, unlike `python -m pytest`.
_START_PYTEST = (
    "import sys; sys.path = [path for path in sys.path if path]; import pytest;"
    " sys.exit(pytest.main())"
)
_COMMAND_HINT = (
    "Set 'ir_base_command' to a command that runs pytest with the code of that branch, such as `uv"
    " run pytest`."
)
_LINK_HINT = "Name files that git does not track in 'ir_base_link'."


@dataclass(frozen=True)
class PytestInvocation:
    """How pytest is started in the worktree.

    Attributes:
        program: The program that runs pytest and its arguments, from ``ir_base_command``. Empty for
            this interpreter.
        arguments: The arguments of the current pytest. Paths in them are moved to the worktree.
        folder: The folder that pytest was called in.
        links: Untracked paths that both branches share (``ir_base_link``), from the top of the
            repository.
        options: Options of this plugin that the base branch's run uses too, such as
            ``{"ir_concurrency": 4}``.
    """

    program: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    folder: Path = Path()
    links: tuple[str, ...] = ()
    options: Mapping[str, object] | None = None


class WorktreeSource:
    """The answers of the base branch's code (a ``BaselineSource``).

    ``run`` starts pytest in a worktree and waits for it. Then ``read_baselines`` returns its
    answers.

    Args:
        git: The base branch in git, with its commit.
        invocation: How pytest is started in the worktree.

    Attributes:
        name: The name of the base branch in messages.
        retriever_errors: Why the base branch cannot use a retriever, such as a missing fixture.
        saved_folder: The folder from which a worker of pytest-xdist reads the answers.
    """

    def __init__(self, git: GitSource, invocation: PytestInvocation) -> None:
        self.git = git
        self.invocation = invocation
        self.label = f"run:{git.ref}"
        self.is_committed = False
        self.commit = git.commit
        self.name = f"the base branch ({git.commit[:7]})"
        self.errors: dict[str, str] = {}
        self.notes: list[Text] = []
        self.retriever_errors: dict[RunKey, str] = {}
        self.saved_folder: Path | None = None
        self._batches: tuple[QueryBatch, ...] = ()
        self._child_runs: tuple[ChildRun, ...] = ()
        self._task_text = self._answers_text = ""

    def run(self, batches: Sequence[QueryBatch], write_line: Callable[[str], None] = print) -> None:
        """Run the queries with the base branch's code, in a temporary worktree.

        Raises:
            BaselineError: The code cannot be run, or used code of the current checkout.
        """
        self._batches = tuple(batches)
        repository = self.git.repository
        write_line(f"irquality: running the queries on {self.name} first")
        with _open_folder(repository) as folder:
            try:
                repository.add_worktree(folder / _TREE_NAME, self.commit)
                worktree_run = _WorktreeRun(self.invocation, folder, self.git)
                linked_paths = worktree_run.link_files()
                self._write_task(worktree_run)
                status = worktree_run.run()
                worktree_run.check_access_log(self.name)
                self._read_answers(folder, status)
            except (BaselineError, GitError, OSError) as error:
                raise BaselineError(f"--ir-baseline={self.label}: {error}") from None
        self.notes = []
        if linked_paths:
            paths = list_some([DataPart(path) for path in linked_paths])
            text = "Both branches read the current files of 'ir_base_link': "
            self.notes.append(write(text, paths))

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Return the answers of the last ``run``, one baseline for each batch and retriever."""
        self.errors.clear()
        if self.saved_folder is not None:
            task = json.loads((self.saved_folder / _TASK_NAME).read_text(encoding="utf-8"))
            self._batches = tuple(map(_decode_batch, task["batches"]))
            self._decode_answers((self.saved_folder / _ANSWERS_NAME).read_text(encoding="utf-8"))
            self.saved_folder = None
        baselines = []
        for child_run in self._child_runs:
            retriever = child_run.retriever
            batch = self._batches[child_run.batch_index]
            suite_paths = [s.path for s in suites if s.retriever.fixture == retriever.fixture]
            suite_path = suite_paths[0] if suite_paths else ""
            run = child_run.run
            provenance = replace(run.provenance, source=self.label, commit=self.commit)
            run = replace(run, provenance=provenance)
            if run.errors and not run.answers:
                error = next(iter(run.errors.values()))
                problem = f"{self.name} answered no query with '{retriever}': {error.message}"
                self.errors[suite_path or batch.folder] = f"{self.label}: {problem}. {_LINK_HINT}"
                continue
            baselines.append(Baseline(run, retriever, suite_path))
        return tuple(baselines)

    def count_changed_files(self, suite_files: Collection[Path] = ()) -> int:
        """Count the files of code and data that differ between both branches.

        Documentation, tests, suites and their files do not count. If all rankings are equal
        although some files differ, both branches may search one index.
        """
        top = os.path.realpath(self.git.repository.top)
        suite_names = {os.path.relpath(os.path.realpath(file), top) for file in suite_files}
        changed = self.git.repository.list_names("diff", "--name-only", "--no-renames", self.commit)
        count = 0
        for name in changed:
            path = Path(name)
            is_test = path.name.startswith("test_") or path.stem.endswith("_test")
            is_ignored = path.suffix in _IGNORED_SUFFIXES or _IGNORED_PARTS & set(path.parts)
            if not is_test and not is_ignored and name not in suite_names:
                count += 1
        return count

    def save(self, folder: Path) -> None:
        """Save the answers in a folder, for workers of pytest-xdist."""
        (folder / _TASK_NAME).write_text(self._task_text, encoding="utf-8")
        (folder / _ANSWERS_NAME).write_text(self._answers_text, encoding="utf-8")

    def _write_task(self, worktree_run: _WorktreeRun) -> None:
        data = {
            "batches": [_encode_batch(batch) for batch in self._batches],
            "root": worktree_run.map_path(os.path.realpath(self.git.root)),
            "options": dict(self.invocation.options or {}),
        }
        self._task_text = json.dumps(data, default=str)
        (worktree_run.folder / _TASK_NAME).write_text(self._task_text, encoding="utf-8")

    def _read_answers(self, folder: Path, status: int) -> None:
        answers = folder / _ANSWERS_NAME
        output = _read_last_lines(folder)
        if not answers.exists() and status == CANNOT_START_STATUS:
            raise BaselineError(f"'ir_base_command': {output.strip()}")
        ending = f"(exit status {status}). {_COMMAND_HINT}"
        if not answers.exists():
            raise BaselineError(f"{self.name} gave no answers {ending} {_LINK_HINT}\n{output}")
        if not self._decode_answers(answers.read_text(encoding="utf-8")):
            problem = "did not check where its imports come from"
            raise BaselineError(f"{self.name} {problem} {ending}\n{output}")

    def _decode_answers(self, text: str) -> bool:
        """Decode and keep answers. Return whether the guard was active where they were written."""
        data = json.loads(text)
        self._answers_text = text
        child_runs = []
        for index, retriever, encoded in data["runs"]:
            child_runs.append(ChildRun(index, RetrieverId(*retriever), decode_run(encoded)))
        self._child_runs = tuple(child_runs)
        self.retriever_errors = {}
        for index, error in data["batch_errors"]:
            self.retriever_errors[self._batches[index].key] = error
        return bool(data["is_guarded"])


class _WorktreeRun:
    """One run of pytest in a worktree, which is in a temporary folder.

    Attributes:
        checkout: The top of the current checkout.
        tree: The top of the worktree.
    """

    def __init__(self, invocation: PytestInvocation, folder: Path, git: GitSource) -> None:
        self.invocation = invocation
        self.repository = git.repository
        self.folder = folder
        self.commit = git.commit
        self.checkout = os.path.realpath(git.repository.top)
        self.tree = str(folder / _TREE_NAME)

    # -- Paths of the current checkout in the worktree ---------------------------------------------

    def map_path(self, path: str) -> str:
        """Return the place in the worktree for an absolute path of the current checkout."""
        real = os.path.realpath(path)
        is_mapped = os.path.isabs(path) and is_inside(real, self.checkout)
        if not is_mapped or is_inside(path, self.tree):
            return path
        return self.tree + real[len(self.checkout) :]

    def map_argument(self, argument: str) -> str:
        """Map the path in an argument: ``PATH``, ``PATH::ITEM`` or ``--option=PATH``."""
        name, equals, value = argument.rpartition("=")
        file, colons, item = value.partition("::")
        # pytest starts in the same folder of the worktree, where relative paths stay valid unless
        # the folder is outside the checkout.
        called_in = os.path.realpath(self.invocation.folder)
        is_outside = not is_inside(called_in, self.checkout)
        if file and is_outside and os.path.exists(f"{called_in}/{file}"):
            file = os.path.join(called_in, file)
        return f"{name}{equals}{self.map_path(file)}{colons}{item}"

    def link_files(self) -> list[str]:
        """Link untracked files of the current checkout into the worktree, and return their paths.

        Raises:
            BaselineError: A path does not exist, or leads back to the code of the checkout.
        """
        linked_paths = []
        for path in self.invocation.links:
            source, target = Path(self.checkout, path), Path(self.tree, path)
            if not source.exists() or not is_inside(os.path.normpath(source), self.checkout):
                raise BaselineError(f"'ir_base_link': There is no '{path}' in the checkout")
            link = self._find_link_into_checkout(source)
            if link:
                problem = f"In '{path}', the link '{link}' leads back into the checkout"
                effect = "current code would answer for the base branch"
                raise BaselineError(f"'ir_base_link': {problem}, so {effect}")
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)
                linked_paths.append(path)
        return linked_paths

    def _find_link_into_checkout(self, source: Path) -> str:
        """Return a link at or below a path that leads to other files of the current checkout."""
        named = [os.path.normpath(Path(self.checkout, path)) for path in self.invocation.links]
        paths = [str(source)]
        for folder, folder_names, file_names in os.walk(source):
            paths += [os.path.join(folder, name) for name in (*folder_names, *file_names)]
        for path in paths:
            real = os.path.realpath(path)
            is_link = os.path.islink(path) and is_inside(real, self.checkout)
            if is_link and not any(is_inside(real, folder) for folder in named):
                return os.path.relpath(path, self.checkout)
        return ""

    def _list_package_roots(self) -> Iterator[str]:
        """Yield the folders of the worktree that may have packages: of projects, and ``src``."""
        folders = {Path(self.tree): None}
        for name in Repository(Path(self.tree)).list_names("ls-files"):
            if name.rpartition("/")[2] in _PROJECT_FILES:
                folders[Path(self.tree, name).parent] = None
        for folder in folders:
            yield str(folder / "src")
            yield str(folder)

    # -- The process -------------------------------------------------------------------------------

    def run(self) -> int:
        """Run pytest to its end, and return its exit status."""
        called_in = Path(self.map_path(os.path.realpath(self.invocation.folder)))
        called_in.mkdir(parents=True, exist_ok=True)
        guard_folder = self._create_guard_folder()
        (self.folder / "tmp").mkdir()
        command = [*(self.invocation.program or _get_default_command())]
        command += [self.map_argument(argument) for argument in self.invocation.arguments]
        environment = {**self._make_environment(guard_folder), "PWD": str(called_in)}
        with (self.folder / _OUTPUT_NAME).open("wb") as output:
            process = SupervisedProcess(
                command,
                called_in,
                output,
                environment=environment,
                end_signal=signal.SIGINT,
                end_timeout_s=END_TIMEOUT_S,
            )
            try:
                return process.wait()
            finally:
                process.end()

    def _create_guard_folder(self) -> Path:
        guard_folder = self.folder / "guard"
        guard_folder.mkdir()
        # Python imports sitecustomize before any other code, so the guard sees every import.
        shutil.copyfile(base_guard.__file__, guard_folder / "sitecustomize.py")
        package = Path(base_guard.__file__).resolve().parents[1]
        if is_inside(str(package), self.checkout) and Path(self.tree, package.name).exists():
            # The checkout is this plugin's own, and its current version runs on both branches.
            (guard_folder / package.name).symlink_to(package)
        return guard_folder

    def _make_environment(self, guard_folder: Path) -> dict[str, str]:
        settings = {
            "checkout": self.checkout,
            "tree": self.tree,
            "guard": str(guard_folder),
            "folder": str(self.folder),
            "access_log": str(self.folder / _ACCESS_LOG_NAME),
            "roots": list(self._list_package_roots()),
        }
        environment = {}
        for name, value in os.environ.items():
            if name not in _DROPPED_VARIABLES and not name.startswith("GIT_"):
                environment[name] = value
        inherited = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        paths = [str(guard_folder), *map(self.map_path, inherited)]
        return {
            **environment,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.folder / "tmp"),
            "IRQUALITY_SIDE": "base",
            CHILD_VARIABLE: json.dumps(settings),
        }

    def check_access_log(self, name: str) -> None:
        """Refuse answers for which code or changed files of the current checkout were used.

        Raises:
            BaselineError: The guard logged such a module or file.
        """
        log = self.folder / _ACCESS_LOG_NAME
        if not log.exists():
            return
        text = log.read_text(encoding="utf-8", errors="surrogateescape")
        for line in text.splitlines():
            kind, *fields = line.split("\t")
            if kind == "module":
                problem = f"imported {fields[0]} from {fields[1]}, not from its own checkout"
                raise BaselineError(f"{name} {problem}. {_COMMAND_HINT}")
            self._check_file(name, fields[0])

    def _check_file(self, name: str, file: str) -> None:
        relative = os.path.relpath(os.path.realpath(file), self.checkout)
        links = map(os.path.normpath, self.invocation.links)
        if any(is_inside(relative, link) for link in links) or ".git" in Path(relative).parts:
            return
        if self.repository.run("cat-file", "-e", f"{self.commit}:{relative}").returncode:
            raise BaselineError(f"{name} read {file}, which is not in that commit. {_LINK_HINT}")
        if self.repository.run("diff", "--quiet", self.commit, "--", relative).returncode:
            step = "Build its path from `__file__`, not from an absolute path."
            raise BaselineError(f"{name} read {file}, which this change edits. {step}")


def _get_default_command() -> Sequence[str]:
    """Return the command that starts pytest as the current one was started."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    if program.parts[-2:] == ("pytest", "__main__.py"):
        return (sys.executable, "-m", "pytest")
    return (sys.executable, "-c", _START_PYTEST)


def _read_last_lines(folder: Path) -> str:
    """Return the end of the output, escaped for terminals and CI logs."""
    try:
        text = (folder / _OUTPUT_NAME).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    return escape_log_lines("\n".join(f"  | {line}" for line in lines[-MAX_SHOWN_LINES:]))


@contextmanager
def _open_folder(repository: Repository) -> Iterator[Path]:
    """Create a folder for a worktree, and remove both afterwards."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=_FOLDER_PREFIX)))
    try:
        yield folder
    finally:
        repository.remove_worktree(folder / _TREE_NAME)
        shutil.rmtree(folder, ignore_errors=True)


# -- The exchange with the base branch's process ---------------------------------------------------


@dataclass(frozen=True)
class ChildTask:
    """The task of the pytest in the worktree.

    Attributes:
        batches: The queries by retriever.
        root: The root of the project in the worktree.
        options: Options of this plugin that the base branch's run uses too.
        folder: The folder for the answers.
    """

    batches: tuple[QueryBatch, ...]
    root: Path
    options: Mapping[str, object] = field(default_factory=dict)
    folder: Path = Path()


@dataclass(frozen=True)
class ChildRun:
    """The run of one parameter of a retriever.

    Attributes:
        batch_index: The index of the batch in the task.
        retriever: The retriever as the base branch has it.
    """

    batch_index: int
    retriever: RetrieverId
    run: Run


def read_child_task() -> ChildTask:
    """Read the task of this process, which runs in the worktree."""
    settings = json.loads(os.environ[CHILD_VARIABLE])
    folder = Path(settings["folder"])
    data = json.loads((folder / _TASK_NAME).read_text(encoding="utf-8"))
    batches = tuple(map(_decode_batch, data["batches"]))
    return ChildTask(batches, Path(data["root"]), data["options"], folder)


def write_child_answers(
    task: ChildTask, runs: Sequence[ChildRun], batch_errors: Mapping[int, str]
) -> None:
    """Write the answers for the process that evaluates. Call this in the worktree's process.

    Args:
        task: The task.
        runs: The answers of all retrievers.
        batch_errors: Why batches could not be run, by their index.
    """
    # The guard was imported as sitecustomize, so importing it here would give another copy.
    guard = getattr(sys.modules.get(base_guard.MODULE_NAME), "guard", None)
    is_guarded = guard is not None and guard in sys.meta_path
    if guard is not None:
        for name, file in guard.list_foreign_modules():
            guard.log_access("module", name, file)
    data = {
        "runs": [[run.batch_index, list(run.retriever), encode_run(run.run)] for run in runs],
        "batch_errors": list(batch_errors.items()),
        "is_guarded": is_guarded,
    }
    # Write atomically: a killed process must not leave half of the answers.
    temporary = task.folder / f"{_ANSWERS_NAME}.part"
    temporary.write_text(json.dumps(data), encoding="utf-8")
    os.replace(temporary, task.folder / _ANSWERS_NAME)


def _encode_batch(batch: QueryBatch) -> dict[str, Any]:
    queries = [[query.id, query.text, dict(query.params)] for query in batch.queries]
    shallow = {name: getattr(batch, name) for name in QueryBatch.__dataclass_fields__}
    key = [list(batch.key.retriever), *batch.key[1:]]
    return {**shallow, "queries": queries, "settings": asdict(batch.settings), "key": key}


def _decode_batch(data: dict[str, Any]) -> QueryBatch:
    settings = _restore_tuples(data["settings"])
    settings["retry"] = Retry(**_restore_tuples(settings["retry"]))
    retriever, *others = data["key"]
    queries = []
    for query_id, text, params in data["queries"]:
        queries.append(Query(query_id, text, params=params))
    values = _restore_tuples(data)
    values["key"] = RunKey(RetrieverId(*retriever), *others)
    values["queries"] = tuple(queries)
    values["settings"] = Settings(**settings)
    return QueryBatch(**values)


def _restore_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Turn lists back into tuples, which JSON cannot represent."""
    restored = {}
    for name, value in values.items():
        restored[name] = tuple(value) if isinstance(value, list) else value
    return restored
