"""Suites of the base branch as modules of their own, if the current collection leaves them out.

Whatever hides a suite (a key of the ini file, a path in ``addopts``, a marker, a conftest, a
rename, a deletion), its queries run, and the decision evaluates them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.git_source import GitSource
from pytest_irquality.baselines.sources import Baseline, BaselineError
from pytest_irquality.baselines.worktree import BaseCommand, WorktreeSource
from pytest_irquality.evaluation.branches import SuiteKey
from pytest_irquality.io.git import GitError, Repository
from pytest_irquality.io.processes import split_command
from pytest_irquality.io.text import Text
from pytest_irquality.plugin import base_branch, command_line, compat
from pytest_irquality.plugin.collection import (
    SuiteModule,
    collect_own_metrics,
    find_retriever,
    is_declared,
)
from pytest_irquality.plugin.items import SuiteItem, describe_error, get_exception_policy
from pytest_irquality.plugin.progress import create_progress
from pytest_irquality.plugin.session import Retrieval, SessionBranch
from pytest_irquality.plugin.state import PluginState, get_state, is_controller, is_worker
from pytest_irquality.suite.model import RetrieverId, Suite

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
    typed = command_line.get_command_line(config)
    try:
        source = GitSource(config.rootpath, ref, label=option, commit=pinned)
        repository = Repository.find(config.rootpath)
        base_config = base_branch.read_base_config(config, typed, repository, source.commit)
        names = base_branch.find_base_suites(base_config, source, repository)
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
    if command_line.is_run_without_tests(config):
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
    typed = command_line.get_command_line(session.config)
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
        if module is None and base_branch.is_left_out_on_both_sides(
            base.source, name, base_config, self.repository
        ):
            return []
        try:
            folder = compat.build_folder_node(self.session, path.parent, self.folders)
            own_metrics = collect_own_metrics(folder)
        except Exception as error:  # whatever a conftest raises
            base.add_error(name, f"{type(error).__name__}: {error}")
            return []
        suite = base_branch.load_base_suite(
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
                if retriever.fixture == fixture and group in self.selected_groups:
                    base.add_suite(suite, retriever)
                    covered.add(retriever)
        if covered and module is not None and covered >= set(module.groups):
            return []
        base_module: BaseSuiteModule = BaseSuiteModule.from_parent(
            folder, path=self.state.search.root / name
        )
        base_module.suite = suite
        base_module.groups = {}
        return [item for item in base_module.collect() if item.key.retriever not in covered]


class BaseSuiteModule(SuiteModule):
    """A suite of the base branch, with one item for each retriever."""

    def load(self, state: PluginState) -> Suite:
        """Return the suite, which is loaded already."""
        assert self.suite is not None
        return self.suite

    def collect(self) -> list[BaseItem]:
        """Collect an item for each retriever, which runs the queries and never fails."""
        assert self.suite is not None
        base = get_state(self.config).search.base
        assert base is not None
        items: dict[RetrieverId, BaseItem] = {}
        for case in self.collect_cases():
            retriever = find_retriever(self.suite.retriever.fixture, case)
            if retriever not in items:
                key = base.add_suite(self.suite, retriever)
                items[retriever] = BaseItem.create_for(self, key, case)
        return list(items.values())


class BaseItem(pytest.Function):
    """Runs the queries of a base suite. The decision evaluates them."""

    key: SuiteKey
    retrieval: Retrieval | None = None

    @classmethod
    def create_for(cls, module: pytest.Module, key: SuiteKey, case: pytest.Function) -> BaseItem:
        """Create an item with the fixtures and parameters of a case of the same module."""
        variant = case.name.removeprefix(case.originalname)
        item: BaseItem = cls.from_parent(
            module,
            name=ITEM_NAME + variant,
            originalname=ITEM_NAME,
            **compat.get_clone_arguments(case),
        )
        item.key = key
        return item

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

    def runtest(self) -> None:
        """Do nothing. The decision evaluates the answers."""
