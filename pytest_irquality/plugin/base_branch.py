"""The base branch of ``--ir-baseline=git:REF`` and ``run:REF``: its suites, items and own code.

A change can edit what pytest collects, so the configuration of the base branch decides which suites
the base branch has. No code of the base branch runs for this. Each of its suites that no selected
item covers gets an item, which runs its queries on the current retriever. Under ``run:``, the base
branch's own code answers as well, in another process (``base_process``).
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.baselines.worktree import BaseCommand, WorktreeSource
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import decode_text
from pytest_irquality.io.files import FileError
from pytest_irquality.io.git import CommitTree, GitError
from pytest_irquality.io.processes import split_command
from pytest_irquality.metrics import Definition
from pytest_irquality.plugin import compat, services
from pytest_irquality.plugin.collection import (
    PluginState,
    SuiteModule,
    collect_own_metrics,
    get_state,
    is_declared,
)
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
    is_run_without_tests,
    is_worker,
    parse_arguments,
)
from pytest_irquality.plugin.query_plan import SessionBranch
from pytest_irquality.plugin.session import ItemAnswers, create_baseline_source
from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.model import RetrieverId, Suite
from pytest_irquality.suite.parser import load_suite

# What workers of pytest-xdist learn from the controller.
COMMIT_INPUT = "ir_base_commit"
ANSWERS_INPUT = "ir_base_answers"
DEFAULT_SKIPPED_FOLDERS = (
    "*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}",
)  # fmt: skip


class BaseBranchPlugin:
    """The base branch in a session, as a plugin of pytest.

    Attributes:
        source: Its files in git.
        config: Its configuration.
        suite_names: Its suites, relative to the root.
        branch: What the session knows of it.

    Raises:
        pytest.UsageError: Git does not know the revision, or its ini file cannot be read.
    """

    def __init__(self, config: pytest.Config, state: PluginState) -> None:
        self.state = state
        options = state.options
        ref = options.baseline.partition(":")[2]
        pinned = getattr(config, "workerinput", {}).get(COMMIT_INPUT, "")
        try:
            source = create_baseline_source(
                options.baseline, config.invocation_params.dir, root=config.rootpath, commit=pinned
            )
            assert isinstance(source, GitSource)
            self.source = source
            self.config = read_base_config(config, self.source)
            self.suite_names = find_base_suites(self.config, self.source)
        except (BaselineError, GitError, pytest.UsageError) as error:
            prefix = f"--ir-baseline={options.baseline}: "
            raise pytest.UsageError(prefix + str(error).removeprefix(prefix)) from None
        self.branch = SessionBranch(self.source, name=ref, is_strict=self.config.is_strict)
        self.code_source: WorktreeSource | None = None
        if options.runs_base_code:
            command = BaseCommand(
                command=tuple(split_command(options.base_command)),
                arguments=get_command_line(config).arguments,
                folder=config.invocation_params.dir,
                links=options.base_link,
                options={"ir_concurrency": options.concurrency},
            )
            self.code_source = self.branch.code_source = WorktreeSource(self.source, command)
        self.answers_folder: Path | None = None
        if options.runs_base_code and is_controller(config):
            folder = tempfile.TemporaryDirectory(prefix="irquality-answers-")
            config.add_cleanup(folder.cleanup)
            self.answers_folder = Path(folder.name)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which commit the base branch is, and where its answers will be."""
        node.workerinput[COMMIT_INPUT] = self.source.commit
        node.workerinput[ANSWERS_INPUT] = str(self.answers_folder)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Add base suites after every selection, so no selection of the change removes them."""
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
        created: list[BaseItem] = []
        for name in self.suite_names:
            path = Path(os.path.normpath(self.source.root / name))
            if path not in self.state.modules and is_left_out_on_both_sides(self.source, name):
                continue
            try:
                folder = compat.build_folder_node(session, path.parent)
                own_metrics = collect_own_metrics(folder)
            except Exception as error:  # whatever a conftest raises
                self.branch.add_error(name, f"{type(error).__name__}: {error}")
                continue
            suite = load_base_suite(
                self.branch,
                self.source,
                name,
                own_metrics=own_metrics,
                id_field=str(self.config.values.get("ir_id_field", "")),
                access=self.state.file_access,
            )
            if suite is not None:
                created += self._create_suite_items(suite, folder, selected_keys)
        typed = get_command_line(session.config)
        included: Sequence[pytest.Item] = []
        if not typed.has_node_ids and not getattr(typed.namespace, "lf", False):
            included = compat.find_typed_items(session.config, created, typed.namespace)
        self.branch.deselected.update(item.key for item in created if item not in included)
        return [item for item in created if item in included]

    def _create_suite_items(
        self, suite: Suite, folder: Any, selected_keys: Iterable[SuiteKey]
    ) -> list[BaseItem]:
        fixture = suite.retriever.fixture
        declared = (*self.state.declared_retrievers, *self.config.declared_retrievers)
        if not is_declared(fixture, declared):
            key = self.branch.add_suite(suite, RetrieverId(fixture))
            self.branch.set_missing(key, f"'{fixture}' is not declared as a retriever")
            return []
        current_suites = self.state.search_session.current.suites
        current_keys = {key for key in current_suites if key.path == suite.path}
        covered = set()
        for key in current_keys.intersection(selected_keys):
            is_same_retriever = key.retriever.fixture == fixture
            is_compared_alike = current_suites[key].baseline_retriever == suite.baseline_retriever
            if is_same_retriever and is_compared_alike:
                covered.add(self.branch.add_suite(suite, key.retriever))
        if covered and covered == current_keys:
            return []
        path = Path(os.path.normpath(self.source.root / suite.path))
        module: SuiteModule = SuiteModule.from_parent(folder, path=path)
        module.suite = suite
        items: dict[SuiteKey, BaseItem] = {}
        for case in module.collect_cases():
            retriever = compat.find_retriever(fixture, case)
            key = self.branch.add_suite(suite, retriever)
            if key not in covered and key not in items:
                items[key] = compat.create_item(BaseItem, case, BASE_ITEM_NAME)
                items[key].key = key
        return list(items.values())

    def run_code(self, config: pytest.Config) -> None:
        """Run the code of the base branch (``run:``). In a worker, say where its answers will be.

        Raises:
            BaselineError: The code cannot be run.
        """
        code_source, search_session = self.code_source, self.state.search_session
        if code_source is None or is_run_without_tests(config):
            return
        if is_worker(config):
            # The controller runs the code, and has written the answers when the first item runs.
            code_source.load(Path(config.workerinput[ANSWERS_INPUT]))  # type: ignore[attr-defined]
            return
        batches = search_session.plan.list_query_batches()
        if batches:
            code_source.run(batches, partial(_say, config))
        if self.answers_folder is not None:
            code_source.save(self.answers_folder)
        base_fixtures = {suite.retriever.fixture for suite in self.branch.suites.values()}
        for key, reason in code_source.missing.items():
            # A retriever that only this change adds has no answers there.
            if key.retriever.fixture in base_fixtures:
                self.branch.add_error(f"{code_source.label} {key.retriever}", reason)
        suite_files = [
            search_session.root / path
            for path in (*search_session.current.texts, *self.branch.texts)
        ]
        if code_source.count_changed_files(suite_files):
            search_session.facts = replace(search_session.facts, has_code_changes=True)


def _say(config: pytest.Config, line: str) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.verbosity >= 0:
        reporter.write_line(line)


class BaseItem(ReportedItem, pytest.Function):
    """Runs the queries of a base suite on one retriever. The decision evaluates them."""

    key: SuiteKey

    def setup(self) -> None:
        """Run the queries. Whatever prevents it is recorded, and the item is skipped."""
        state = get_state(self.config)
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
        except BaseException as error:
            self.answers.error = describe_error(error, suite).partition("\n")[0]
            state.search_session.add_item_answers(self.answers)
            pytest.skip(self.answers.error)


# -- The configuration of the base branch ----------------------------------------------------------


@dataclass(frozen=True)
class BaseConfig:
    """What the base branch's own ini file says.

    Attributes:
        paths: Where its pytest looks for tests, relative to the top of the repository.
        ignored_paths: Paths that its ``addopts`` or the typed command line ignore.
        ignored_globs: Patterns of such paths.
    """

    values: Mapping[str, str | list[str]]
    paths: tuple[str, ...]
    ignored_paths: tuple[str, ...] = ()
    ignored_globs: tuple[str, ...] = ()

    @property
    def is_strict(self) -> bool:
        """Return whether the gate is strict. An unknown value must not loosen it."""
        return str(self.values.get("ir_gate", "normal")).strip() != "normal"

    @property
    def declared_retrievers(self) -> list[str]:
        """Return the fixtures that suites may use, besides those that are named like one."""
        names = _split_words(self.values.get("ir_retrievers"))
        for key in ("ir_url", "ir_command"):
            value = self.values.get(key) or []
            names += services.list_names(value.splitlines() if isinstance(value, str) else value)
        return names

    def is_ignored(self, path: PurePosixPath) -> bool:
        """Return whether a file of the repository is ignored."""
        for place in map(str, (path, *path.parents)):
            if place in self.ignored_paths or any(map(partial(fnmatch, place), self.ignored_globs)):
                return True
        return False


def read_base_config(config: pytest.Config, source: GitSource) -> BaseConfig:
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
        if ini_name and Path(os.path.realpath(folder / ini_name)).is_relative_to(top):
            ini_name = str(_copy_ini_files(tree, Path(os.path.realpath(folder / ini_name)), copy))
        rootdir, values = compat.read_ini_file(copied_folder, arguments, ini_name)
        if not rootdir.is_relative_to(copy):
            rootdir, values = copied_folder, {}
        root_name = rootdir.relative_to(copy).as_posix()
        folder_name = copied_folder.relative_to(copy).as_posix()
    addopts = parse_arguments(config, _split_words(values.get("addopts")))
    values.update(addopts.overridden_ini_keys)
    values.update(typed.overridden_ini_keys)
    locate = partial(_locate, top, folder)
    paths = [locate(_resolve_argument(config, name)) for name in typed_paths or addopts.paths]
    if not paths and root_name == folder_name:
        paths = list(_expand(tree, root_name, _split_words(values.get("testpaths"))))
    ignored: dict[str, tuple[str, ...]] = {}
    for key in ("ignore", "ignore_glob"):
        given = [getattr(each.namespace, key, None) or () for each in (addopts, typed)]
        ignored[key] = tuple(map(locate, chain.from_iterable(given)))
    return BaseConfig(values, tuple(paths) or (folder_name,), *ignored.values())


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
        path: A folder, of which only the ini files are copied, or a file.
        copy: The folder to copy to.

    Returns:
        The copied path.
    """
    relative = path.relative_to(os.path.realpath(tree.repository.top))
    entry = tree.find_entry(relative.as_posix())
    is_folder = path.is_dir() if entry is None else entry.is_folder
    target = copy / relative
    names = [] if is_folder else [relative]
    for folder in (relative, *relative.parents) if is_folder else relative.parents:
        names += [folder / name for name in (*compat.INI_NAMES, "setup.py")]
    (target if is_folder else target.parent).mkdir(parents=True, exist_ok=True)
    for name in names:
        content = tree.read_file(name.as_posix())
        if content is not None or name == relative:
            (copy / name).write_bytes(content or b"")
    return target


def find_base_suites(base_config: BaseConfig, source: GitSource) -> list[str]:
    """Find the suites of the base branch, as paths relative to the root of the project.

    The command line can also name a list of queries, or a suite whose name matches no pattern.
    """
    patterns = _split_words(base_config.values.get("ir_suite_files")) or SUITE_PATTERNS
    skipped = _split_words(base_config.values.get("norecursedirs")) or DEFAULT_SKIPPED_FOLDERS
    root = posixpath.dirname(source.repository.get_path(source.root / "file"))
    found = []
    for name in source.list_files():
        path = PurePosixPath(_join(root, name))
        is_named = str(path) in base_config.paths and path.suffix in NAMED_SUFFIXES
        if not is_named and not any(path.match(pattern) for pattern in patterns):
            continue
        if base_config.is_ignored(path):
            continue
        for start in base_config.paths:
            if _is_within(path, start) and not _is_skipped(path, start, skipped):
                found.append(name)
                break
    return found


def is_left_out_on_both_sides(source: GitSource, path: str) -> bool:
    """Return whether a suite that is not collected was not collected on the base branch either.

    That is so if the suite, the ini files and the conftest files above it are unchanged, and a
    conftest with code that leaves files out has a name or pattern of a part of its path. Code that
    reads such names from elsewhere may read others now.

    Args:
        source: The files of the base branch.
        path: The suite, relative to the root of the project.
    """
    suite = PurePosixPath(source.repository.get_path(source.root / path))
    is_named = False
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
            is_named = is_named or _is_part_named(content.decode(errors="replace"), parts)
    return is_named


def _is_part_named(code: str, parts: Iterable[str]) -> bool:
    """Return whether code that leaves files out has a text or pattern of a part of a path."""
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
    try:
        return shlex.split(value) if isinstance(value, str) else list(value or ())
    except ValueError as error:
        raise pytest.UsageError(f"{value!r} in the base branch's ini file: {error}") from None
