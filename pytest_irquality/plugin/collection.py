"""Collection of suites, which are modules of items, and the plugin's state in a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.io import dataclass, field
from pytest_irquality.io.access import FileAccess, check_suite_path
from pytest_irquality.io.escaping import escape_log_line, escape_log_lines
from pytest_irquality.io.files import FileError
from pytest_irquality.io.text import find_closest
from pytest_irquality.metrics import Definition, MetricError
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.items import (
    BrokenSuiteItem,
    SharedSuiteState,
    SuiteItem,
    freeze_large_suite,
)
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.retriever_fixtures import DEFAULT_RETRIEVER
from pytest_irquality.plugin.session import SearchSession
from pytest_irquality.suite.mistakes import Mistake, SuiteError
from pytest_irquality.suite.model import RetrieverId, Suite
from pytest_irquality.suite.parser import load_suite

STATE_KEY = pytest.StashKey["PluginState"]()
RETRIEVER_SUFFIX = "_retriever"


@dataclass
class PluginState:
    """The state of the plugin in a pytest session.

    Attributes:
        options: The options and ini keys.
        search_session: Suites, runs and evaluations.
        file_access: Which files suites may name.
        declared_retrievers: Fixtures that the ini file declares as retrievers. Names such as
            ``x_retriever`` need no declaration.
        modules: The module of each collected suite by absolute path, selected or not.
        base_plugin: The ``BaseBranchPlugin`` of ``git:`` or ``run:``, if there is one.
    """

    options: Options
    search_session: SearchSession
    file_access: FileAccess
    declared_retrievers: tuple[str, ...] = ()
    modules: dict[Path, SuiteModule] = field(default_factory=dict)
    base_plugin: Any = None

    def get_relative_path(self, path: Path) -> str:
        """Return a path relative to the root of the project, with ``/``."""
        return os.path.relpath(path, self.search_session.root).replace(os.sep, "/")


def get_state(config: pytest.Config) -> PluginState:
    """Return the state of the session. The plugin must be activated."""
    return config.stash[STATE_KEY]


class SuiteModule(compat.SynthesizedModule):
    """A suite file, collected like a Python module.

    Attributes:
        suite: The suite, or ``None`` if it cannot be read.
        error: Why it cannot be read, or empty.
        items: All items, selected or not.
    """

    suite: Suite | None = None
    error = ""
    items: Sequence[SuiteItem] = ()

    @classmethod
    def create(cls, parent: pytest.Collector, path: Path) -> SuiteModule:
        """Create the module of a suite, under a name that pytest can print."""
        relative_path = get_state(parent.config).get_relative_path(path)
        try:
            check_suite_path(relative_path)
            if "::" in relative_path:
                raise FileError(
                    escape_log_line(relative_path), "The name contains '::'. Rename it."
                )
        except FileError as error:
            safe_id = escape_log_line(relative_path).replace("::", ": :")
            name = safe_id.rpartition("/")[2]
            module: SuiteModule = cls.from_parent(parent, path=path, name=name, nodeid=safe_id)
            module.error = str(error)
        else:
            module = cls.from_parent(parent, path=path)
        return module

    def load_fixture_names(self) -> Sequence[str]:
        """Load the suite, and return the fixtures that its items use."""
        self.add_marker(pytest.mark.ir_suite)
        state = get_state(self.config)
        try:
            if self.suite is None and not self.error:
                suite = load_suite(
                    self.path,
                    root=state.search_session.root,
                    own_metrics=collect_own_metrics(self),
                    id_field_default=state.options.id_field,
                    access=state.file_access,
                )
                refuse_undeclared_retriever(state, suite)
                self.suite = suite
        except (SuiteError, MetricError) as error:
            self.error = str(error)
        if self.suite is None:
            return ()
        return [*filter(None, [self.suite.retriever.fixture, self.suite.baseline_retriever])]

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect an item for each check and retriever."""
        state = get_state(self.config)
        # Not in ``create``, because building the folder of a base suite creates modules that nobody
        # collects.
        state.modules[self.path] = self
        # collect_cases calls load_fixture_names, which loads the suite.
        cases = self.collect_cases()
        if self.suite is None:
            broken: BrokenSuiteItem = BrokenSuiteItem.from_parent(self, name="suite")
            broken.text = escape_log_lines(self.error)
            message = broken.text.replace("\n", " ")
            state.search_session.current.add_error(state.get_relative_path(self.path), message)
            return [broken]
        shared_states: dict[RetrieverId, SharedSuiteState] = {}
        shared_by_case = []
        for case in cases:
            retriever = compat.find_retriever(self.suite.retriever.fixture, case)
            if retriever not in shared_states:
                key = state.search_session.current.add_suite(self.suite, retriever)
                shared_states[retriever] = SharedSuiteState(state.search_session, key)
            shared_by_case.append(shared_states[retriever])
        if state.options.compares_with_commit:
            text = self.path.read_text(encoding="utf-8", errors="replace")
            state.search_session.current.texts[self.suite.path] = text
        items = []
        for check in self.suite.items:
            for case, shared in zip(cases, shared_by_case, strict=True):
                item = compat.create_item(SuiteItem, case, check.name)
                item.check_item = check
                item.shared = shared
                items.append(item)
        self.items = items
        freeze_large_suite(self.suite)
        return items


def refuse_undeclared_retriever(state: PluginState, suite: Suite) -> None:
    """Refuse a suite whose retriever is not declared.

    Otherwise a pull request that only edits suites could set up any fixture.

    Raises:
        SuiteError: The message says how to declare a retriever.
    """
    name = suite.retriever.fixture
    if is_declared(name, state.declared_retrievers):
        return
    closest = find_closest(name, [DEFAULT_RETRIEVER, *state.declared_retrievers])
    hint = f" Did you mean '{closest}'?" if closest else ""
    message = (
        f"'{name}' is not declared as a retriever.{hint} Name the fixture"
        f" '{name}{RETRIEVER_SUFFIX}', or write `ir_retrievers = {name}` into the ini file."
    )
    raise SuiteError([Mistake(1, message)], suite.path)


def is_declared(name: str, declared: Iterable[str]) -> bool:
    """Return whether suites may use a fixture as their retriever."""
    return name == DEFAULT_RETRIEVER or name.endswith(RETRIEVER_SUFFIX) or name in declared


def collect_own_metrics(node: pytest.Collector) -> list[Definition]:
    """Return the metrics that the conftest files above a suite define.

    Raises:
        MetricError: A hook returns something else.
    """
    metrics: list[Definition] = []
    for returned in node.ihook.pytest_ir_metrics(config=node.config):
        for metric in returned if isinstance(returned, (list, tuple)) else [returned]:
            if not isinstance(metric, Definition):
                raise MetricError(
                    "pytest_ir_metrics must return a list of make_own_metric() results, not"
                    f" {metric!r}."
                )
            metrics.append(metric)
    return metrics
