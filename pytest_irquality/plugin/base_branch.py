"""The base branch of ``--ir-baseline=git:REF`` and ``run:REF``: its suites, items and own code.

A change can edit what pytest collects, so the configuration of the base branch decides which suites
the base branch has. No code of the base branch runs for this. Each of its suites that no selected
item covers gets an item, which runs its queries on the current retriever. Under ``run:``, the base
branch's own code answers as well, in another process (``base_process``).
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import partial
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.worktree import PytestInvocation, WorktreeSource
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import decode_text
from pytest_irquality.io.files import FileError
from pytest_irquality.io.git import CommitTree, GitError
from pytest_irquality.io.processes import split_command
from pytest_irquality.metrics import Definition
from pytest_irquality.plugin import collection, compat, retriever_fixtures
from pytest_irquality.plugin.items import (
    BASE_ITEM_NAME,
    ReportedItem,
    SuiteItem,
    describe_error,
    run_queries,
)
from pytest_irquality.plugin.options import (
    NAMED_SUFFIXES,
    SUITE_PATTERNS,
    get_command_line,
    is_controller,
    is_without_evaluation,
    is_worker,
    parse_arguments,
)
from pytest_irquality.plugin.query_plan import SessionBranch
from pytest_irquality.plugin.session import ItemAnswers
from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.model import RetrieverId, Suite
from pytest_irquality.suite.parser import load_suite

# Keys of ``workerinput``, which the controller sends to workers of pytest-xdist.
COMMIT_INPUT_KEY = "ir_base_commit"
ANSWERS_FOLDER_KEY = "ir_base_answers"
# The default of pytest's 'norecursedirs' (pytest 9).
DEFAULT_SKIPPED_FOLDERS = (
    "*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}",
)  # fmt: skip


class BaseBranchPlugin:
    """The base branch in a session, as a plugin of pytest.

    Attributes:
        source: Its files in git.
        base_config: Its configuration.
        suite_paths: Its suites, relative to the root.
        branch: Its suites, baselines and errors, as the session knows them.
        code_source: The answers of its code (``run:``).
        answers_folder: Where the controller of pytest-xdist saves these answers for workers.

    Raises:
        pytest.UsageError: Git does not know the revision, or its ini file cannot be read.
    """

    def __init__(self, config: pytest.Config, state: collection.PluginState) -> None:
        self.state = state
        options, access = state.options, state.file_access
        ref = options.baseline.partition(":")[2]
        commit = getattr(config, "workerinput", {}).get(COMMIT_INPUT_KEY, "")
        try:
            self.source = GitSource(
                config.rootpath, ref, label=options.baseline, commit=commit, access=access
            )
            self.base_config = read_base_config(config, self.source)
            self.suite_paths = find_base_suites(self.base_config, self.source)
        except BaselineError as error:  # which starts with the label
            raise pytest.UsageError(f"--ir-baseline={error}") from None
        except (GitError, pytest.UsageError) as error:
            raise pytest.UsageError(f"--ir-baseline={options.baseline}: {error}") from None
        self.branch = SessionBranch(self.source, name=ref, is_strict=self.base_config.is_strict)
        self.code_source: WorktreeSource | None = None
        self.answers_folder: Path | None = None
        if options.runs_base_code:
            self._create_code_source(config)

    def _create_code_source(self, config: pytest.Config) -> None:
        options = self.state.options
        invocation = PytestInvocation(
            program=tuple(split_command(options.base_command)),
            arguments=get_command_line(config).arguments,
            folder=config.invocation_params.dir,
            links=options.base_link,
            options={"ir_concurrency": options.concurrency},
        )
        self.code_source = WorktreeSource(self.source, invocation)
        self.branch.code_source = self.code_source
        if is_controller(config):
            folder = tempfile.TemporaryDirectory(prefix="irquality-answers-")
            config.add_cleanup(folder.cleanup)
            self.answers_folder = Path(folder.name)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send a worker the commit of the base branch and the folder of its answers."""
        node.workerinput[COMMIT_INPUT_KEY] = self.source.commit
        if self.answers_folder is not None:
            node.workerinput[ANSWERS_FOLDER_KEY] = str(self.answers_folder)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Add base suites after every selection, so that the change cannot deselect them."""
        result = yield
        items += self.create_items(session, items)
        return result

    def create_items(
        self, session: pytest.Session, items: Sequence[pytest.Item]
    ) -> list[pytest.Item]:
        """Load the base suites, and create items for those that no selected item covers.

        Args:
            session: The session, whose suites are collected.
            items: The selected items.

        Returns:
            The items that the typed command line does not exclude.
        """
        selected_keys = {item.shared.key for item in items if isinstance(item, SuiteItem)}
        created: list[BaseBranchItem] = []
        for suite_path in self.suite_paths:
            path = Path(os.path.normpath(self.source.root / suite_path))
            is_collected = path in self.state.modules
            if not is_collected and is_ignored_on_both_branches(self.source, suite_path):
                continue
            try:
                folder = compat.build_folder_node(session, path.parent)
                own_metrics = collection.collect_own_metrics(folder)
            except Exception as error:  # whatever a conftest raises
                self.branch.add_error(suite_path, f"{type(error).__name__}: {error}")
                continue
            suite = load_base_suite(
                self.branch,
                self.source,
                suite_path,
                own_metrics=own_metrics,
                id_field=str(self.base_config.values.get("ir_id_field", "")),
                access=self.state.file_access,
            )
            if suite is not None:
                created += self._create_suite_items(suite, folder, selected_keys)
        typed = get_command_line(session.config)
        # Node ids and `--lf` select items of current suites, so they include no base suite.
        included: set[pytest.Item] = set()
        if not typed.has_node_ids and not getattr(typed.namespace, "lf", False):
            included.update(compat.find_typed_items(session.config, created, typed.namespace))
        self.branch.deselected.update(item.key for item in created if item not in included)
        return [item for item in created if item in included]

    def _create_suite_items(
        self, suite: Suite, folder: Any, selected_keys: Iterable[SuiteKey]
    ) -> list[BaseBranchItem]:
        """Create the items of a base suite for the retrievers that no selected item covers."""
        fixture = suite.retriever.fixture
        declared = (*self.state.declared_retrievers, *self.base_config.declared_retrievers)
        if not collection.is_declared(fixture, declared):
            key = self.branch.add_suite(suite, RetrieverId(fixture))
            self.branch.set_missing_retriever(key, f"'{fixture}' is not declared as a retriever")
            return []
        path = Path(os.path.normpath(self.source.root / suite.path))
        current_suites = self.state.search_session.current.suites
        collected = self.state.modules.get(path)
        current_keys = {item.shared.key for item in collected.items} if collected else set()
        covered = set()
        for key in current_keys.intersection(selected_keys):
            current_suite = current_suites[key]
            has_same_retriever = key.retriever.fixture == fixture
            has_same_baseline = current_suite.baseline_retriever == suite.baseline_retriever
            if has_same_retriever and has_same_baseline:
                covered.add(self.branch.add_suite(suite, key.retriever))
        if covered and covered == current_keys:
            return []  # Every retriever of the fixture is selected.
        module: collection.SuiteModule = collection.SuiteModule.from_parent(folder, path=path)
        module.suite = suite
        items: dict[SuiteKey, BaseBranchItem] = {}
        for case in module.collect_cases():
            retriever = compat.find_retriever(fixture, case)
            key = self.branch.add_suite(suite, retriever)
            if key not in covered and key not in items:
                items[key] = compat.create_item(BaseBranchItem, case, BASE_ITEM_NAME)
                items[key].key = key
        return list(items.values())

    def run_code(self, config: pytest.Config) -> None:
        """Run the code of the base branch (``run:``). Workers only set the folder of its answers.

        Raises:
            BaselineError: The code cannot be run.
        """
        code_source, search_session = self.code_source, self.state.search_session
        if code_source is None or is_without_evaluation(config):
            return
        if is_worker(config):
            # The controller runs the code, and has written the answers when the first item runs.
            worker_input: dict[str, str] = config.workerinput  # type: ignore[attr-defined]
            code_source.saved_folder = Path(worker_input[ANSWERS_FOLDER_KEY])
            return
        batches = search_session.plan.list_base_batches()
        if batches:
            code_source.run(batches, partial(_print_progress, config))
        if self.answers_folder is not None:
            code_source.save(self.answers_folder)
        base_fixtures = {suite.retriever.fixture for suite in self.branch.suites.values()}
        for key, reason in code_source.retriever_errors.items():
            # The base branch has no answers of a retriever that only this change adds.
            if key.retriever.fixture in base_fixtures:
                self.branch.add_error(f"{code_source.label} {key.retriever}", reason)
        suite_paths = (*search_session.current.texts, *self.branch.texts)
        suite_files = [config.rootpath / path for path in suite_paths]
        if code_source.count_changed_files(suite_files):
            search_session.facts = replace(search_session.facts, has_code_changes=True)


def _print_progress(config: pytest.Config, line: str) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity >= 0:
        reporter.write_line(line)


class BaseBranchItem(ReportedItem, pytest.Function):
    """Runs the queries of a base suite on one retriever. The decision evaluates them."""

    key: SuiteKey

    def setup(self) -> None:
        """Run the queries. An error is recorded, and the item is skipped."""
        state = collection.get_state(self.config)
        suite = state.base_plugin.branch.suites[self.key]
        self.answers = ItemAnswers(self.key, is_base=True)
        try:
            super().setup()
            if self.config.getoption("setupplan", False):
                return
            run_queries(self, state.search_session, self.key, suite)
            if is_worker(self.config):
                self.answers = state.search_session.get_item_answers(self.key, is_base=True)
        except (pytest.exit.Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # `pytest.skip` in a fixture is no `Exception`
            self.answers.error = describe_error(error, suite).partition("\n")[0]
            state.search_session.add_item_answers(self.answers)
            pytest.skip(self.answers.error)


# -- The configuration of the base branch ----------------------------------------------------------


@dataclass(frozen=True)
class BaseBranchConfig:
    """The settings in the ini file of the base branch.

    Attributes:
        values: The ini keys, with those that ``-o`` on the typed command line sets.
        paths: The folders and files in which pytest would look for tests, relative to the top of
            the repository.
        ignored: Patterns of the paths that its ``addopts`` or the typed command line ignore.
    """

    values: Mapping[str, str | list[str]]
    paths: tuple[str, ...]
    ignored: tuple[str, ...] = ()

    @property
    def is_strict(self) -> bool:
        """Return whether the gate is strict. An unknown value must not loosen it."""
        return str(self.values.get("ir_gate", "normal")).strip() != "normal"

    @property
    def declared_retrievers(self) -> list[str]:
        """Return the fixtures that the base branch's ini file declares as retrievers."""
        names = _split_words(self.values, "ir_retrievers")
        for key in ("ir_url", "ir_command"):
            value = self.values.get(key) or []
            lines = value.splitlines() if isinstance(value, str) else value
            names += retriever_fixtures.list_names(lines)
        return names


def read_base_config(config: pytest.Config, source: GitSource) -> BaseBranchConfig:
    """Read the ini file that pytest would use on the base branch.

    Args:
        config: The configuration of the current session. Its typed command line applies to both
            branches.
        source: The files of the base branch.

    Raises:
        pytest.UsageError: The ini file cannot be read.
        GitError: Git cannot read it.
    """
    tree = source.tree
    top = Path(os.path.realpath(source.repository.top))
    folder = Path(os.path.realpath(config.invocation_params.dir))
    typed = get_command_line(config)
    typed_paths = [_resolve_argument(config, path) for path in typed.paths]
    ini_name = config.option.inifilename
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(os.path.realpath(temporary)) / "checkout"
        copied_folder = _copy_ini_files(tree, folder, copy)
        arguments = []
        for name in typed_paths:
            path = Path(os.path.realpath(folder / name))
            if path.is_relative_to(top):
                arguments.append(str(_copy_ini_files(tree, path, copy)))
        ini_path = Path(os.path.realpath(folder / (ini_name or "")))
        if ini_name and ini_path.is_relative_to(top):
            ini_name = str(_copy_ini_files(tree, ini_path, copy))
        rootdir, values = compat.read_ini_file(copied_folder, arguments, ini_name)
        if not rootdir.is_relative_to(copy):
            # The ini file is outside the repository, so it is not the base branch's.
            rootdir, values = copied_folder, {}
        root_name = rootdir.relative_to(copy).as_posix()
        folder_name = copied_folder.relative_to(copy).as_posix()
    addopts = parse_arguments(config, _split_words(values, "addopts"))
    values.update(addopts.overridden_ini_keys)
    values.update(typed.overridden_ini_keys)
    locate = partial(_locate, top, folder)
    paths = [locate(_resolve_argument(config, name)) for name in typed_paths or addopts.paths]
    if not paths and root_name == folder_name:  # as pytest reads 'testpaths' only in its rootdir
        paths = list(_expand_test_paths(tree, root_name, _split_words(values, "testpaths")))
    ignored: list[str] = []
    for given in (addopts.namespace, typed.namespace):
        for name in (*(given.ignore or ()), *(given.ignore_glob or ())):
            ignored += [locate(name), f"{locate(name)}/*"]
    return BaseBranchConfig(values, tuple(paths) or (folder_name,), tuple(ignored))


def _resolve_argument(config: pytest.Config, argument: str) -> str:
    """Return the path that an argument names, which may be a module under ``--pyargs``."""
    name = argument.partition("::")[0]
    if config.option.pyargs and not (config.invocation_params.dir / name).exists():
        with suppress(AttributeError, ImportError, ValueError):
            spec = find_spec(name)
            if spec is not None:
                return next(iter(spec.submodule_search_locations or ()), spec.origin or name)
    return name


def _locate(top: Path, folder: Path, name: str) -> str:
    """Return a path of the command line relative to the top. Links in the repository stay."""
    path = Path(os.path.normpath(folder / name))
    if not path.is_relative_to(top):
        path = Path(os.path.realpath(path))
    return os.path.relpath(path, top).replace(os.sep, "/")


def _copy_ini_files(tree: CommitTree, path: Path, copy: Path) -> Path:
    """Copy a path of the checkout, and the ini files in all folders above it.

    Args:
        tree: The files of the base branch.
        path: A file, or a folder, of which only the ini files are copied.
        copy: The folder to copy to.

    Returns:
        The copied path.
    """
    relative = path.relative_to(os.path.realpath(tree.repository.top))
    entry = tree.find_entry(relative.as_posix())
    is_folder = path.is_dir() if entry is None else entry.is_folder
    target = copy / relative
    names = [] if is_folder else [relative]
    folders = [relative, *relative.parents] if is_folder else relative.parents
    for folder in folders:
        names += [folder / name for name in (*compat.INI_NAMES, "setup.py")]
    (target if is_folder else target.parent).mkdir(parents=True, exist_ok=True)
    for name in names:
        content = tree.read_file(name.as_posix())
        # pytest needs paths that exist, so a file that the base branch lacks is created empty.
        if content is not None or name == relative:
            (copy / name).write_bytes(content or b"")
    return target


def find_base_suites(base_config: BaseBranchConfig, source: GitSource) -> list[str]:
    """Find the suites of the base branch, as paths relative to the root of the project.

    The command line can also name a list of queries, or a suite whose name matches no pattern.
    """
    patterns = _split_words(base_config.values, "ir_suite_files") or SUITE_PATTERNS
    skipped = _split_words(base_config.values, "norecursedirs") or DEFAULT_SKIPPED_FOLDERS
    suite_paths = []
    for name in source.list_files():
        path = PurePosixPath(_join(source.prefix, name))
        is_named = str(path) in base_config.paths and path.suffix in NAMED_SUFFIXES
        if not is_named and not any(path.match(pattern) for pattern in patterns):
            continue
        if any(fnmatch(str(path), pattern) for pattern in base_config.ignored):
            continue
        for start in base_config.paths:
            if path.is_relative_to(start) and not _is_skipped(path, start, skipped):
                suite_paths.append(name)
                break
    return suite_paths


def is_ignored_on_both_branches(source: GitSource, path: str) -> bool:
    """Return whether a suite that is not collected was not collected on the base branch either.

    This is a guess on purpose, because no code of the base branch runs: the suite, the ini files
    and the conftest files above it are unchanged, and a conftest that ignores files has a text or
    pattern of a part of its path. Code that reads such names from elsewhere may read others now.

    Args:
        source: The files of the base branch.
        path: The suite, relative to the root of the project.
    """
    suite = PurePosixPath(source.repository.get_path(source.root / path))
    is_ignored = False
    names = [suite]
    for folder in suite.parents:
        names += [folder / name for name in ("conftest.py", *compat.INI_NAMES)]
    for name in names:
        content = source.tree.read_file(name.as_posix())
        file = source.repository.top / name
        if content != (file.read_bytes() if file.is_file() else None):
            return False
        if name.name == "conftest.py" and content is not None:
            parts = suite.relative_to(name.parent).parts
            is_ignored = is_ignored or _may_ignore(content.decode(errors="replace"), parts)
    return is_ignored


def _may_ignore(code: str, parts: Iterable[str]) -> bool:
    """Return whether code that ignores files has a text or pattern of a part of a path."""
    if not re.search("collect_ignore|pytest_ignore_collect|pytest_collect", code):
        return False
    texts = re.findall(r"""["']([^"'\n]{3,})["']""", code)
    patterns = [f"*{text.strip('*')}*" for text in texts]
    return any(fnmatch(part, pattern) for part in parts for pattern in patterns)


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
        branch: The base branch. The text or the error is added to it.
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


def _expand_test_paths(tree: CommitTree, root: str, patterns: Sequence[str]) -> Iterator[str]:
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


def _is_skipped(path: PurePosixPath, start: str, patterns: Iterable[str]) -> bool:
    """Return whether pytest would skip a folder between ``start`` and the file."""
    start_parts = () if start == "." else PurePosixPath(start).parts
    folders = path.parent.parts[len(start_parts) :]
    return any(fnmatch(folder, pattern) for folder in folders for pattern in patterns)


def _split_words(values: Mapping[str, str | list[str]], key: str) -> list[str]:
    value = values.get(key, ())
    try:
        return shlex.split(value) if isinstance(value, str) else list(value)
    except ValueError as error:
        message = f"'{key}' in the ini file of the base branch is not valid. {error}."
        raise pytest.UsageError(message) from None
