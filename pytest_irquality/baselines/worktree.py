"""The base branch's own code (``--ir-baseline=run:REF``), run in a git worktree.

The current process checks out the merge base into a temporary folder, starts a pytest there with
the task in a file, and reads the answers from another one. ``base_guard`` takes care that no code
of the current checkout answers for the base. ``read_child_task`` and ``write_child_answers`` are
the other side of the exchange.
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
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_irquality.baselines import base_guard
from pytest_irquality.baselines.base_guard import is_inside
from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.run_files import decode_run, encode_run
from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.io.escaping import escape_log_lines
from pytest_irquality.io.git import GitError, Repository
from pytest_irquality.io.processes import CANNOT_START_STATUS, SupervisedProcess
from pytest_irquality.io.text import DataPart, Text, list_some, write
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Corpus, Query, RetrieverId, Retry, RunKey, Settings, Suite

CHILD_VARIABLE = base_guard.VARIABLE
MAX_SHOWN_LINES = 15
END_TIMEOUT_S = 10.0

_FOLDER_PREFIX = "irquality-base-"
_TREE_NAME = "tree"
_TASK_NAME = "task.json"
_ANSWERS_NAME = "answers.json"
_OUTPUT_NAME = "output"
_NOTES_NAME = "notes"
_PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
# What does not make a difference between the code of both sides.
_NO_CODE_PARTS = frozenset(("tests", ".ir-baseline", "docs", "doc", "LICENSE"))
_NO_CODE_SUFFIXES = (".md", ".rst", ".adoc")
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
class QueryBatch:
    """Queries that the base's code has to answer with one retriever.

    Attributes:
        key: The retriever and how its results are read. The parameter does not matter: the base's
            fixture is run with all of its own.
        folder: The folder of the suites, relative to the root: its conftest files apply.
        queries: The queries of both branches.
        depth: How many results are requested.
        settings: Settings of the suites, such as ``concurrency`` and ``repeat``.
        fields: Fields that rules and ``show`` read.
        stages: The stages that metrics need, or ``None`` if they need none.
        stage_depth: How many results of each stage are requested.
        size_units: The units of sizes that metrics need.
    """

    key: RunKey
    folder: str
    queries: tuple[Query, ...]
    depth: int = 10
    settings: Settings = field(default_factory=Settings)
    fields: tuple[str, ...] = ()
    stages: tuple[str, ...] | None = None
    stage_depth: int = 100
    size_units: tuple[str, ...] = ()


@dataclass(frozen=True)
class BaseCommand:
    """How the base's pytest is started.

    Attributes:
        command: What runs pytest, from ``ir_base_command``; empty for this interpreter.
        arguments: The arguments of the current pytest. Paths in them are moved to the worktree.
        folder: The folder that pytest was called in.
        links: Untracked paths that both sides share (``ir_base_link``), from the top of the
            repository.
        options: Options of ours that the base takes over, such as ``{"ir_concurrency": 4}``.
    """

    command: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    folder: Path = Path()
    links: tuple[str, ...] = ()
    options: Mapping[str, object] | None = None


# -- The other side of the exchange ----------------------------------------------------------------


@dataclass(frozen=True)
class ChildTask:
    """What the base's pytest has to do.

    Attributes:
        batches: The queries by retriever.
        tree: The root of the project in the worktree.
        options: Options of ours that the base takes over.
        folder: The folder for the answers.
    """

    batches: tuple[QueryBatch, ...]
    tree: Path
    options: Mapping[str, object] = field(default_factory=dict)
    folder: Path = Path()


@dataclass(frozen=True)
class ChildAnswer:
    """The answers of one parameter of a retriever.

    Attributes:
        batch_index: The index of the batch in the task.
        retriever: The retriever as the base has it.
    """

    batch_index: int
    retriever: RetrieverId
    run: Run


def read_child_task() -> ChildTask:
    """Read the task of this process, in the base's pytest."""
    settings = json.loads(os.environ[CHILD_VARIABLE])
    folder = Path(settings["folder"])
    data = json.loads((folder / _TASK_NAME).read_text(encoding="utf-8"))
    batches = tuple(map(_decode_batch, data["batches"]))
    return ChildTask(batches, Path(data["tree"]), data["options"], folder)


def write_child_answers(
    task: ChildTask, answers: Sequence[ChildAnswer], missing: Mapping[int, str]
) -> None:
    """Write the answers for the process that evaluates, in the base's pytest.

    Args:
        task: The task.
        answers: The answers of all retrievers.
        missing: Why batches could not be run, by their index.
    """
    guard = getattr(sys.modules.get(base_guard.MODULE_NAME), "guard", None)
    is_guarded = guard is not None and guard in sys.meta_path
    if guard is not None:
        for name, file in guard.list_foreign_modules():
            guard.note("module", name, file)
    data = {
        "answers": [
            [answer.batch_index, list(answer.retriever), encode_run(answer.run)]
            for answer in answers
        ],
        "missing": [[index, reason] for index, reason in missing.items()],
        "is_guarded": is_guarded,
    }
    # The answers are there completely or not at all, however this process ends.
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
    settings["corpus"] = Corpus(**_restore_tuples(settings["corpus"]))
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
    """Return values in which lists, as which JSON has tuples, are tuples again."""
    restored = {}
    for name, value in values.items():
        restored[name] = tuple(value) if isinstance(value, list) else value
    return restored


# -- The process that evaluates --------------------------------------------------------------------


class WorktreeSource:
    """The answers of the base's code (a ``BaselineSource``).

    ``run`` starts the base's pytest and waits for it; ``read_baselines`` then returns its answers.

    Args:
        git: The base branch in git, with its commit.
        command: How the base's pytest is started.

    Attributes:
        name: What messages call the base branch.
        missing: Why the base could not answer with a retriever, such as a fixture that it lacks.
    """

    def __init__(self, git: GitSource, command: BaseCommand) -> None:
        self.git = git
        self.command = command
        self.label = f"run:{git.ref}"
        self.is_committed = False
        self.commit = git.commit
        self.name = f"the base branch ({git.commit[:7]})"
        self.errors: dict[str, str] = {}
        self.notes: list[Text] = []
        self.missing: dict[RunKey, str] = {}
        self._saved_folder: Path | None = None
        self._batches: tuple[QueryBatch, ...] = ()
        self._answers: tuple[ChildAnswer, ...] = ()
        self._task_text = self._answers_text = ""

    def run(self, batches: Sequence[QueryBatch], say: Callable[[str], None] = print) -> None:
        """Let the base's code answer, in a worktree that is removed again.

        Raises:
            BaselineError: The base's code could not be run, or not without code of this checkout.
        """
        self._batches = tuple(batches)
        repository = self.git.repository
        say(f"irquality: running the queries on {self.name} first")
        with _open_folder(repository) as folder:
            try:
                repository.add_worktree(folder / _TREE_NAME, self.commit)
                process = _BaseProcess(self.command, repository, folder, self.git)
                linked = process.link_files()
                self._write_task(process)
                status = process.run()
                process.check_notes(self.name)
                self._read_answers(folder, status)
            except (BaselineError, GitError, OSError) as error:
                raise BaselineError(f"--ir-baseline={self.label}: {error}") from None
        self.notes = []
        if linked:
            paths = list_some([DataPart(path) for path in linked])
            text = "Both sides read the current files of 'ir_base_link': "
            self.notes.append(write(text, paths))

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Return the answers of the last ``run``, one baseline for each batch and retriever."""
        self.errors.clear()
        if self._saved_folder is not None:
            self._load(self._saved_folder)
            self._saved_folder = None
        baselines = []
        for answer in self._answers:
            batch = self._batches[answer.batch_index]
            fixture = answer.retriever.fixture
            same = [suite.path for suite in suites if suite.retriever.fixture == fixture]
            suite_path = same[0] if same else ""
            provenance = replace(
                answer.run.provenance, source=self.label, commit=self.commit, date=self.git.date
            )
            run = replace(answer.run, provenance=provenance)
            if run.errors and not run.answers:
                error = next(iter(run.errors.values()))
                self.errors[suite_path or batch.folder] = (
                    f"{self.label}: {self.name} answered no query with '{answer.retriever}':"
                    f" {error.message}. {_LINK_HINT}"
                )
                continue
            baselines.append(Baseline(run, answer.retriever, suite_path))
        return tuple(baselines)

    def count_changed_files(self, suite_files: Collection[Path] = ()) -> int:
        """Count the files of code and data that differ between both sides.

        Documentation, tests, suites and their files do not count. If all rankings are equal
        although some files differ, both sides may search one index.
        """
        top = os.path.realpath(self.git.repository.top)
        suite_names = {os.path.relpath(os.path.realpath(file), top) for file in suite_files}
        changed = self.git.repository.list_names("diff", "--name-only", "--no-renames", self.commit)
        count = 0
        for name in changed:
            path = Path(name)
            is_test = path.name.startswith("test_") or path.stem.endswith("_test")
            is_text = path.suffix in _NO_CODE_SUFFIXES or not _NO_CODE_PARTS.isdisjoint(path.parts)
            if not is_test and not is_text and name not in suite_names:
                count += 1
        return count

    def save(self, folder: Path) -> None:
        """Save the answers in a folder, for workers of xdist."""
        (folder / _TASK_NAME).write_text(self._task_text, encoding="utf-8")
        (folder / _ANSWERS_NAME).write_text(self._answers_text, encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Load what ``save`` saves, in a worker of xdist, once baselines are read."""
        self._saved_folder = folder

    def _load(self, folder: Path) -> None:
        task = json.loads((folder / _TASK_NAME).read_text(encoding="utf-8"))
        self._batches = tuple(map(_decode_batch, task["batches"]))
        self._accept((folder / _ANSWERS_NAME).read_text(encoding="utf-8"))

    def _write_task(self, process: _BaseProcess) -> None:
        data = {
            "batches": [_encode_batch(batch) for batch in self._batches],
            "tree": process.map_path(os.path.realpath(self.git.root)),
            "options": dict(self.command.options or {}),
        }
        self._task_text = json.dumps(data, default=str)
        (process.folder / _TASK_NAME).write_text(self._task_text, encoding="utf-8")

    def _read_answers(self, folder: Path, status: int) -> None:
        answers = folder / _ANSWERS_NAME
        if status == CANNOT_START_STATUS and not answers.exists():
            raise BaselineError(f"'ir_base_command': {_read_last_lines(folder).strip()}")
        if not answers.exists() or not self._accept(answers.read_text(encoding="utf-8")):
            reason, hint = "gave no answers", f"{_COMMAND_HINT} {_LINK_HINT}"
            if answers.exists():
                reason, hint = "did not check where its imports come from", _COMMAND_HINT
            raise BaselineError(
                f"{self.name} {reason} (exit status {status}). {hint}\n{_read_last_lines(folder)}"
            )

    def _accept(self, text: str) -> bool:
        """Take the answers in a text. Return whether the guard was there when they were made."""
        data = json.loads(text)
        self._answers_text = text
        answers = []
        for index, retriever, encoded in data["answers"]:
            answers.append(ChildAnswer(index, RetrieverId(*retriever), decode_run(encoded)))
        self._answers = tuple(answers)
        self.missing = {self._batches[index].key: reason for index, reason in data["missing"]}
        return bool(data["is_guarded"])


class _BaseProcess:
    """One run of the base's pytest in a temporary folder."""

    def __init__(
        self, command: BaseCommand, repository: Repository, folder: Path, git: GitSource
    ) -> None:
        self.command = command
        self.repository = repository
        self.folder = folder
        self.commit = git.commit
        self.head = os.path.realpath(repository.top)
        self.tree = str(folder / _TREE_NAME)

    # -- Paths of the current checkout in the worktree ---------------------------------------------

    def map_path(self, path: str) -> str:
        """Return the place in the worktree for an absolute path of the current checkout."""
        real = os.path.realpath(path)
        is_mapped = os.path.isabs(path) and is_inside(real, self.head)
        if not is_mapped or is_inside(path, self.tree):
            return path
        return self.tree + real[len(self.head) :]

    def map_argument(self, argument: str) -> str:
        """Map the path in an argument: ``PATH``, ``PATH::ITEM`` or ``--option=PATH``."""
        name, equals, value = argument.rpartition("=")
        file, colons, item = value.partition("::")
        called_in = os.path.realpath(self.command.folder)
        if file and not is_inside(called_in, self.head) and os.path.exists(f"{called_in}/{file}"):
            file = os.path.join(called_in, file)
        return f"{name}{equals}{self.map_path(file)}{colons}{item}"

    def link_files(self) -> list[str]:
        """Link untracked files of the current checkout into the worktree, and return their paths.

        Raises:
            BaselineError: A path does not exist, or leads back to the code of the checkout.
        """
        linked = []
        for path in self.command.links:
            source, target = Path(self.head, path), Path(self.tree, path)
            if not source.exists() or not is_inside(os.path.normpath(source), self.head):
                raise BaselineError(f"'ir_base_link': There is no '{path}' in the checkout")
            way_back = self._find_way_back(source)
            if way_back:
                raise BaselineError(
                    f"'ir_base_link': In '{path}', the link '{way_back}' leads back into the"
                    " checkout, so current code would answer for the base branch"
                )
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source)
                linked.append(path)
        return linked

    def _find_way_back(self, source: Path) -> str:
        """Return a link at or below a path that leads to other files of the current checkout."""
        named = [os.path.normpath(os.path.join(self.head, path)) for path in self.command.links]
        inner = (
            os.path.join(base, name) for base, *names in os.walk(source) for name in chain(*names)
        )
        for path in chain([str(source)], inner):
            real = os.path.realpath(path)
            is_link = os.path.islink(path) and is_inside(real, self.head)
            if is_link and not any(is_inside(real, folder) for folder in named):
                return os.path.relpath(path, self.head)
        return ""

    def _list_package_roots(self) -> Iterator[str]:
        """Yield where packages of the base may be: next to project files, and in ``src`` there."""
        folders = {Path(self.tree): None}
        for name in Repository(Path(self.tree)).list_names("ls-files"):
            if name.rpartition("/")[2] in _PROJECT_FILES:
                folders[Path(self.tree, name).parent] = None
        for folder in folders:
            yield str(folder / "src")
            yield str(folder)

    # -- The process -------------------------------------------------------------------------------

    def run(self) -> int:
        """Run the base's pytest to its end and return its exit status."""
        called_in = Path(self.map_path(os.path.realpath(self.command.folder)))
        called_in.mkdir(parents=True, exist_ok=True)
        guard_folder = self._create_guard_folder()
        (self.folder / "tmp").mkdir()
        command = [*(self.command.command or _get_default_command())]
        command += [self.map_argument(argument) for argument in self.command.arguments]
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
        shutil.copyfile(base_guard.__file__, guard_folder / "sitecustomize.py")
        package = Path(base_guard.__file__).resolve().parents[1]
        if is_inside(str(package), self.head) and Path(self.tree, package.name).exists():
            # The checkout is this plugin's own, whose current version runs on both sides.
            (guard_folder / package.name).symlink_to(package)
        return guard_folder

    def _make_environment(self, guard_folder: Path) -> dict[str, str]:
        settings = {
            "head": self.head,
            "tree": self.tree,
            "guard": str(guard_folder),
            "folder": str(self.folder),
            "notes": str(self.folder / _NOTES_NAME),
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

    def check_notes(self, name: str) -> None:
        """Refuse answers for which code or changed files of the current checkout were used.

        Raises:
            BaselineError: The guard noted a module or a file.
        """
        notes = self.folder / _NOTES_NAME
        if not notes.exists():
            return
        text = notes.read_text(encoding="utf-8", errors="surrogateescape")
        for line in text.splitlines():
            kind, *words = line.split("\t")
            if kind == "module":
                raise BaselineError(
                    f"{name} imported {words[0]} from {words[1]}, not from its own checkout."
                    f" {_COMMAND_HINT}"
                )
            self._check_file(name, words[0])

    def _check_file(self, name: str, file: str) -> None:
        inside = os.path.relpath(os.path.realpath(file), self.head)
        is_linked = any(is_inside(inside, os.path.normpath(path)) for path in self.command.links)
        if is_linked or ".git" in Path(inside).parts:
            return
        if self.repository.run("cat-file", "-e", f"{self.commit}:{inside}").returncode:
            raise BaselineError(f"{name} read {file}, which is not in that commit. {_LINK_HINT}")
        if self.repository.run("diff", "--quiet", self.commit, "--", inside).returncode:
            raise BaselineError(
                f"{name} read {file}, which this change edits. Read it relative to the code."
            )


def _get_default_command() -> Sequence[str]:
    """Return the command that starts pytest as the current one was started."""
    program = Path(sys.argv[0]) if sys.argv else Path()
    if program.parts[-2:] == ("pytest", "__main__.py"):
        return (sys.executable, "-m", "pytest")
    return (sys.executable, "-c", _START_PYTEST)


def _read_last_lines(folder: Path) -> str:
    """Return the end of the base's output, without effect on terminals and CI systems."""
    try:
        text = (folder / _OUTPUT_NAME).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    return escape_log_lines("\n".join(f"  | {line}" for line in lines[-MAX_SHOWN_LINES:]))


@contextmanager
def _open_folder(repository: Repository) -> Iterator[Path]:
    """Create a folder for a worktree, and remove both in the end."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=_FOLDER_PREFIX)))
    try:
        yield folder
    finally:
        repository.remove_worktree(folder / _TREE_NAME)
        shutil.rmtree(folder, ignore_errors=True)
