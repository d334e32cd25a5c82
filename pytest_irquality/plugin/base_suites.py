"""The base branch in git: its configuration and its suites, found as its own pytest would.

A change can edit what pytest collects, so the configuration of the base branch decides which suites
the base branch has. No code of the base branch runs for this.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.baselines.worktree import BaseCommand, WorktreeSource
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import decode_text
from pytest_irquality.io.files import FileError
from pytest_irquality.io.git import CommitTree, GitError, Repository
from pytest_irquality.io.processes import split_command
from pytest_irquality.io.text import Text
from pytest_irquality.metrics import Definition
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.collection import (
    SuiteModule,
    collect_own_metrics,
    find_retriever,
    is_declared,
    list_suite_fixtures,
)
from pytest_irquality.plugin.items import (
    PluginState,
    SuiteItem,
    create_progress,
    describe_error,
    get_exception_policy,
    get_state,
    is_controller,
    is_worker,
)
from pytest_irquality.plugin.options import (
    SUITE_PATTERNS,
    CommandLine,
    get_command_line,
    is_run_without_tests,
    parse_arguments,
)
from pytest_irquality.plugin.session import Retrieval, SessionBranch
from pytest_irquality.suite.model import RetrieverId, Suite
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.yaml_source import SuiteError

DEFAULT_SKIPPED_FOLDERS = (
    *("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}"),
)


@dataclass(frozen=True)
class BaseConfig:
    """What the base branch's own ini file says.

    Attributes:
        paths: Where its pytest looks for tests, relative to the top of the repository.
        ignored_paths: Paths that its ``addopts`` ignore.
    """

    values: Mapping[str, str | list[str]]
    paths: tuple[str, ...]
    ignored_paths: tuple[str, ...] = ()

    def get_words(self, key: str) -> list[str]:
        """Return the words of a key, or none."""
        return _split_words(self.values.get(key))

    @property
    def suite_patterns(self) -> tuple[str, ...]:
        """Return the patterns for the names of suites."""
        return tuple(self.get_words("ir_suite_files")) or SUITE_PATTERNS

    @property
    def is_strict(self) -> bool:
        """Return whether the gate is strict. An unknown value must not loosen it."""
        return str(self.values.get("ir_gate", "normal")).strip() != "normal"

    @property
    def declared_retrievers(self) -> tuple[str, ...]:
        """Return the fixtures that suites may use, besides those that are named like one."""
        names = self.get_words("ir_retrievers")
        for key in ("ir_url", "ir_command"):
            value = self.values.get(key) or []
            for line in value.splitlines() if isinstance(value, str) else value:
                name, colon, _ = line.strip().partition(": ")
                if colon and name.isidentifier():
                    names.append(name)
        return tuple(names)


def read_base_config(
    config: pytest.Config, typed: CommandLine, repository: Repository, commit: str
) -> BaseConfig:
    """Read the ini file that pytest would use on the base branch.

    Args:
        config: The configuration of the current session.
        typed: The typed command line, which applies to both branches.
        repository: The repository.
        commit: The commit of the base branch.

    Raises:
        pytest.UsageError: The ini file cannot be read.
        GitError: Git cannot read it.
    """
    tree = repository.read_tree(commit)
    top = Path(os.path.realpath(repository.top))
    folder = Path(os.path.realpath(config.invocation_params.dir))
    typed_paths = [path.partition("::")[0] for path in typed.paths]
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(os.path.realpath(temporary)) / "checkout"
        copied_folder = _copy_folder(tree, folder, top, copy)
        arguments = []
        for name in typed_paths:
            path = Path(os.path.realpath(folder / name))
            if path.is_relative_to(top):
                arguments.append(str(_copy_folder(tree, path, top, copy)))
        ini_name = config.option.inifilename
        if ini_name:
            ini_path = Path(os.path.realpath(folder / ini_name))
            if ini_path.is_relative_to(top):
                _copy_file(tree, ini_path.relative_to(top).as_posix(), copy)
                ini_name = str(copy / ini_path.relative_to(top))
        ini = compat.read_ini_file(copied_folder, arguments, ini_name)
        values = dict(ini.values) if ini.rootdir.is_relative_to(copy) else {}
        rootdir = ini.rootdir if ini.rootdir.is_relative_to(copy) else copied_folder
        root_name = rootdir.relative_to(copy).as_posix()
        folder_name = copied_folder.relative_to(copy).as_posix()
    addopts = parse_arguments(config, _split_words(values.get("addopts")))
    values.update(addopts.overridden_ini_keys)
    values.update(typed.overridden_ini_keys)
    paths = [_join(folder_name, name) for name in typed_paths or addopts.paths]
    if not paths and root_name == folder_name:
        paths = list(_expand(tree, root_name, _split_words(values.get("testpaths"))))
    ignored = [_join(folder_name, name) for name in addopts.namespace.ignore or ()]
    return BaseConfig(values, tuple(paths) or (folder_name,), tuple(ignored))


def find_base_suites(
    base_config: BaseConfig, source: GitSource, repository: Repository
) -> list[str]:
    """Find the suites of the base branch, as paths relative to the root of the project.

    Args:
        base_config: The configuration of the base branch.
        source: The files of the base branch below the root of the project.
        repository: The repository.
    """
    root = Path(os.path.realpath(source.root)).relative_to(os.path.realpath(repository.top))
    prefix = root.as_posix()
    patterns = base_config.suite_patterns
    skipped = base_config.get_words("norecursedirs") or DEFAULT_SKIPPED_FOLDERS
    found = []
    for name in source.list_files():
        path = PurePosixPath(_join(prefix, name))
        if not any(path.match(pattern) for pattern in patterns):
            continue
        if any(_is_within(path, ignored) for ignored in base_config.ignored_paths):
            continue
        for start in base_config.paths:
            if _is_within(path, start) and not _is_skipped(path, start, skipped):
                found.append(name)
                break
    return found


def is_left_out_on_both_sides(
    source: GitSource, path: str, base_config: BaseConfig, repository: Repository
) -> bool:
    """Return whether a suite that is not collected was not collected on the base branch either.

    That is so if the suite, the ini files and the conftest files above it are unchanged, and a
    conftest has code that could leave it out.

    Args:
        source: The files of the base branch.
        path: The suite, relative to the root of the project.
        base_config: The configuration of the base branch.
        repository: The repository.
    """
    top = Path(os.path.realpath(repository.top))
    prefix = Path(os.path.realpath(source.root)).relative_to(top).as_posix()
    in_repository = PurePosixPath(_join(prefix, path))
    tree = repository.read_tree(source.commit)
    has_ignoring_code = False
    names = [in_repository.as_posix()]
    for folder in in_repository.parents:
        names += [(folder / name).as_posix() for name in ("conftest.py", *compat.INI_NAMES)]
    for name in names:
        content = tree.read_file(name)
        file = top / name
        current = file.read_bytes() if file.is_file() else None
        if content != current:
            return False
        if name.endswith("conftest.py") and content is not None:
            has_ignoring_code = has_ignoring_code or b"ignore" in content or b"collect" in content
    return has_ignoring_code


def load_base_suite(
    branch: SessionBranch,
    source: GitSource,
    path: str,
    *,
    own_metrics: Sequence[Definition] = (),
    id_field: str = "",
    access: FileAccess | None = None,
) -> Suite | None:
    """Load a suite of the base branch, or record why it cannot be read.

    Args:
        branch: The base branch, which gets the text or the error.
        source: Its files.
        path: The suite, relative to the root of the project.
        own_metrics: Metrics that the project defines.
        id_field: The value of the ini key ``ir_id_field`` on the base branch.
        access: Which files the suite may name.
    """
    try:
        text = decode_text(source.read_file(path) or b"", path)
        suite = load_suite(
            path,
            root=source.root,
            text=text,
            files=source,
            own_metrics=own_metrics,
            id_field_default=id_field,
            access=access,
        )
    except (SuiteError, BaselineError, FileError) as error:
        branch.add_error(path, str(error))
        return None
    branch.texts[path] = text
    return suite


def _copy_folder(tree: CommitTree, path: Path, top: Path, copy: Path) -> Path:
    """Create a path in the copy, with the ini files in all folders above it."""
    relative = path.relative_to(top)
    entry = tree.find_entry(relative.as_posix())
    is_folder = path.is_dir() if entry is None else entry.is_folder
    folders = [relative, *relative.parents] if is_folder else list(relative.parents)
    (copy / folders[0]).mkdir(parents=True, exist_ok=True)
    for folder in folders:
        for name in (*compat.INI_NAMES, "setup.py"):
            _copy_file(tree, (folder / name).as_posix(), copy)
    if not is_folder:
        (copy / relative).touch()
    return copy / relative


def _copy_file(tree: CommitTree, name: str, copy: Path) -> None:
    target = copy / name
    if target.exists():
        return
    content = tree.read_file(name)
    if content is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _expand(tree: CommitTree, root: str, patterns: Sequence[str]) -> Iterator[str]:
    """Expand the patterns of ``testpaths`` over the folders and files of a commit."""
    names: set[str] = set()
    if any(character in pattern for pattern in patterns for character in "*?["):
        for name in tree.list_files():
            names.update([name, *(parent.as_posix() for parent in PurePosixPath(name).parents)])
    for pattern in patterns:
        joined = _join(root, pattern)
        matching = [name for name in sorted(names) if fnmatch(name, joined)]
        yield from matching or [joined]


def _join(folder: str, name: str) -> str:
    """Join and normalize paths with ``/``."""
    return os.path.normpath(os.path.join(folder, name)).replace(os.sep, "/")


def _is_within(path: PurePosixPath, folder: str) -> bool:
    return folder == "." or path.as_posix() == folder or folder in map(str, path.parents)


def _is_skipped(path: PurePosixPath, start: str, patterns: Iterable[str]) -> bool:
    """Return whether a folder between a start and a file is one that pytest does not enter."""
    start_parts = () if start == "." else PurePosixPath(start).parts
    folders = path.parent.parts[len(start_parts) :]
    return any(fnmatch(folder, pattern) for folder in folders for pattern in patterns)


def _split_words(value: str | list[str] | None) -> list[str]:
    if value is None:
        return []
    try:
        return shlex.split(value) if isinstance(value, str) else list(value)
    except ValueError as error:
        raise pytest.UsageError(f"{value!r} in the base branch's ini file: {error}") from None


# No item of a current suite has a colon in its name.
ITEM_NAME = "base:branch"

# How workers of pytest-xdist learn where the answers of the base branch are.
ANSWERS_INPUT = "ir_base_answers"


def open_base_branch(config: pytest.Config, state: PluginState) -> None:
    """Open the base branch of ``git:REF`` or ``run:REF`` in git, and find its suites.

    Raises:
        pytest.UsageError: Git does not know the revision, or its ini file cannot be read.
    """
    option = state.options.baseline
    ref = option.partition(":")[2]
    pinned = getattr(config, "workerinput", {}).get("ir_base_commit", "")
    typed = get_command_line(config)
    try:
        source = GitSource(config.rootpath, ref, label=option, commit=pinned)
        repository = Repository.find(config.rootpath)
        base_config = read_base_config(config, typed, repository, source.commit)
        names = find_base_suites(base_config, source, repository)
    except (BaselineError, GitError, pytest.UsageError) as error:
        message = str(error).removeprefix(f"--ir-baseline={option}: ")
        raise pytest.UsageError(f"--ir-baseline={option}: {message}") from None
    base = SessionBranch(source, name=ref, is_strict=base_config.is_strict)
    if is_controller(config) and state.options.runs_base_code:
        folder = tempfile.TemporaryDirectory(prefix="irquality-answers-")
        config.add_cleanup(folder.cleanup)
        state.answers_folder = Path(folder.name)
    if state.options.runs_base_code:
        command = BaseCommand(
            command=tuple(split_command(state.options.base_command)),
            arguments=tuple(os.fspath(argument) for argument in typed.arguments),
            folder=config.invocation_params.dir,
            links=state.options.base_links,
            options={"ir_concurrency": state.options.concurrency},
            rootdir=config.rootpath,
        )
        base.answers = WorktreeSource(source, command)
    state.search.base = base
    state.base_config = base_config
    state.base_suite_names = tuple(names)


def run_base_code(config: pytest.Config, state: PluginState) -> None:
    """Run the code of the base branch. In a worker of pytest-xdist, wait for its answers.

    Raises:
        BaselineError: The code cannot be run.
    """
    search = state.search
    assert search.base is not None
    answers = search.base.answers
    assert isinstance(answers, WorktreeSource)
    if is_run_without_tests(config):
        return
    if is_worker(config):
        folder = Path(config.workerinput[ANSWERS_INPUT])  # type: ignore[attr-defined]
        search.base.answers = _WorkerAnswers(answers, folder)
        return
    requests = search.list_run_requests()
    if requests:
        answers.run(requests, partial(_say, config))
    if state.answers_folder is not None:
        answers.save(state.answers_folder)
    base_fixtures = {suite.retriever.fixture for suite in search.base.suites.values()}
    for key, reason in answers.missing.items():
        # A retriever that only this change adds has no answers there.
        if key.retriever.fixture in base_fixtures:
            search.base.add_error(f"{answers.label} {key.retriever}", reason)
    suite_files = [search.root / path for path in (*search.current.texts, *search.base.texts)]
    if answers.count_changed_files(suite_files):
        search.facts = replace(search.facts, has_code_changes=True)


class _WorkerAnswers:
    """The answers of the base branch's code in a worker, which the controller is still running."""

    def __init__(self, answers: WorktreeSource, folder: Path) -> None:
        self.answers = answers
        self.folder: Path | None = folder
        self.label = answers.label
        self.commit = answers.commit
        self.errors: dict[str, str] = {}
        self.notices: list[Text] = []

    def read_baselines(self, suites: Sequence[Suite]) -> tuple[Baseline, ...]:
        """Read the answers once the first item runs, when the controller has written them."""
        if self.folder is not None:
            self.answers.load(self.folder)
            self.folder = None
        return self.answers.read_baselines(suites)


def _say(config: pytest.Config, line: str) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity >= 0:
        reporter.write_line(line)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Add base suites after every selection, so that no selection of the change removes them."""
    result = yield
    items += create_base_items(session, items)
    return result


def create_base_items(session: pytest.Session, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Load the base suites, and create items for those that no selected item covers.

    Args:
        session: The session, whose suites are collected.
        items: The selected items.

    Returns:
        The items that the typed command line does not exclude.
    """
    state = get_state(session.config)
    assert state.search.base is not None
    loader = _BaseLoader(session, state, items)
    created: list[pytest.Item] = []
    for name in state.base_suite_names:
        created += loader.load(name)
    typed = get_command_line(session.config)
    selected: list[pytest.Item] = []
    if not typed.has_selection:
        selected = created
    elif not getattr(typed.namespace, "lf", False) and not any("::" in p for p in typed.paths):
        selected = compat.find_typed_items(session.config, created, typed.namespace)
    for item in created:
        if item not in selected and isinstance(item, BaseItem):
            state.search.base.deselected.add(item.key)
    return selected


class _BaseLoader:
    """Loads base suites, and builds the collectors that they need."""

    def __init__(
        self, session: pytest.Session, state: PluginState, items: Sequence[pytest.Item]
    ) -> None:
        self.session = session
        self.state = state
        self.folders: dict[Path, Any] = compat.find_folder_nodes(items)
        self.selected_groups = {item.group for item in items if isinstance(item, SuiteItem)}
        self.repository = Repository.find(session.config.rootpath)

    def load(self, name: str) -> list[BaseItem]:
        """Load a base suite, and return the items that run its queries."""
        state = self.state
        base, base_config = state.search.base, state.base_config
        assert base is not None
        assert base_config is not None
        assert isinstance(base.source, GitSource)
        path = state.search.root / name
        module = state.modules.get(path)
        if module is None and is_left_out_on_both_sides(
            base.source, name, base_config, self.repository
        ):
            return []
        try:
            folder = compat.build_folder_node(self.session, path.parent, self.folders)
            own_metrics = collect_own_metrics(folder)
        except Exception as error:  # whatever a conftest raises
            base.add_error(name, f"{type(error).__name__}: {error}")
            return []
        suite = load_base_suite(
            base,
            base.source,
            name,
            own_metrics=own_metrics,
            id_field=str(base_config.values.get("ir_id_field", "")),
            access=state.file_access,
        )
        return [] if suite is None else self._create_items(name, suite, folder, module)

    def _create_items(
        self, name: str, suite: Suite, folder: Any, module: SuiteModule | None
    ) -> list[BaseItem]:
        base, base_config = self.state.search.base, self.state.base_config
        assert base is not None
        assert base_config is not None
        fixture = suite.retriever.fixture
        declared = (*self.state.declared_retrievers, *base_config.declared_retrievers)
        if not is_declared(fixture, declared):
            key = base.add_suite(suite, RetrieverId(fixture))
            base.set_missing(key, f"'{fixture}' is not declared as a retriever")
            return []
        covered: set[RetrieverId] = set()
        if module is not None and module.suite is not None:
            for retriever, group in module.groups.items():
                is_compared_alike = module.suite.baseline_retriever == suite.baseline_retriever
                is_selected = group in self.selected_groups and is_compared_alike
                if retriever.fixture == fixture and is_selected:
                    base.add_suite(suite, retriever)
                    covered.add(retriever)
        if covered and module is not None and covered >= set(module.groups):
            return []
        base_module: BaseSuiteModule = BaseSuiteModule.from_parent(
            folder, path=self.state.search.root / name
        )
        base_module.suite = suite
        return [
            item for item in base_module.create_items(base) if item.key.retriever not in covered
        ]


class BaseSuiteModule(compat.SynthesizedModule):
    """A suite of the base branch, with one item for each retriever."""

    suite: Suite

    def list_fixtures(self) -> Sequence[str]:
        """Return the fixtures of the suite."""
        self.add_marker(pytest.mark.ir_suite)
        return list_suite_fixtures(self.suite)

    def create_items(self, base: SessionBranch) -> list[BaseItem]:
        """Create an item for each retriever, which runs the queries and never fails."""
        items: dict[RetrieverId, BaseItem] = {}
        for case in self.collect_cases():
            retriever = find_retriever(self.suite.retriever.fixture, case)
            if retriever not in items:
                item = compat.create_item(BaseItem, case, ITEM_NAME)
                item.key = base.add_suite(self.suite, retriever)
                items[retriever] = item
        return list(items.values())


class BaseItem(pytest.Function):
    """Runs the queries of a base suite. The decision evaluates them."""

    key: SuiteKey
    retrieval: Retrieval | None = None

    def setup(self) -> None:
        """Run the queries. Whatever prevents it is recorded, and the item is skipped."""
        search = get_state(self.config).search
        self.retrieval = Retrieval(self.key, is_base=True)
        try:
            super().setup()
            if self.config.getoption("setupplan", False):
                return
            search.collect(
                self.key,
                self.funcargs[self.key.retriever.fixture],
                exceptions=get_exception_policy(),
                report_progress=create_progress(self.config, self.key.path),
            )
            self._run_compared()
            if is_worker(self.config):
                self.retrieval = search.create_retrieval(self.key, is_base=True)
        except (pytest.exit.Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            assert search.base is not None
            reason = describe_error(error, search.base.suites[self.key])
            self.retrieval.error = reason.partition("\n")[0]
            search.add_retrieval(self.retrieval)
            pytest.skip(self.retrieval.error)
        if search.is_interrupted:
            self.session.shouldstop = "interrupted while queries ran"

    def _run_compared(self) -> None:
        """Run the queries on the retriever that the suite names under 'baseline'."""
        search = get_state(self.config).search
        assert search.base is not None
        fixture = search.base.suites[self.key].baseline_retriever
        if fixture:
            search.collect_compared(
                self.key,
                find_retriever(fixture, self),
                self.funcargs[fixture],
                is_base=True,
                exceptions=get_exception_policy(),
            )
