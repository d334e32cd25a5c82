"""Collection of suites: each is a module whose items are made from the YAML."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_irquality.io.escaping import check_file_name, make_printable
from pytest_irquality.io.files import FileError
from pytest_irquality.io.text import find_closest
from pytest_irquality.metrics import Definition, MetricError
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.items import (
    BrokenSuiteItem,
    PluginState,
    SuiteGroup,
    SuiteItem,
    freeze_large_suite,
    get_state,
    is_controller,
)
from pytest_irquality.retrieval.corpus import BM25Retriever, CorpusError, load_corpus
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.suite.model import ItemKind, RetrieverId, Suite
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.yaml_source import Mistake, SuiteError

if TYPE_CHECKING:
    from pytest_irquality.baselines.saved_runs import Shard

USUAL_RETRIEVER = "retriever"
RETRIEVER_SUFFIX = "_retriever"


class SuiteModule(compat.SynthesizedModule):
    """A suite file, collected like a Python module.

    Attributes:
        suite: The suite, or ``None`` if it cannot be read.
        groups: What items share, by retriever.
        items: All items, selected or not.
    """

    suite: Suite | None = None
    error = ""
    groups: dict[RetrieverId, SuiteGroup]
    items: Sequence[SuiteItem] = ()

    @classmethod
    def create(cls, parent: pytest.Collector, path: Path) -> SuiteModule:
        """Create the module of a suite, under a name that pytest can print."""
        state = get_state(parent.config)
        relative = state.get_relative_path(path)
        error = ""
        try:
            check_file_name(relative)
            if "::" in relative:
                raise FileError(make_printable(relative), "The name contains '::'. Rename it.")
        except FileError as refusal:
            error = str(refusal)
        if error:
            safe_id = make_printable(relative).replace("::", ": :")
            module: SuiteModule = cls.from_parent(
                parent, path=path, name=safe_id.rpartition("/")[2], nodeid=safe_id
            )
        else:
            module = cls.from_parent(parent, path=path)
        module.error = error
        module.groups = {}
        return module

    @property
    def relative_path(self) -> str:
        """Return the path of the suite as messages name it."""
        return get_state(self.config).get_relative_path(self.path)

    def list_fixtures(self) -> Sequence[str]:
        """Load the suite, and return the fixtures that its items use."""
        self.add_marker(pytest.mark.ir_suite)
        self._load()
        compat.hide_source(self.path)
        return () if self.suite is None else list_suite_fixtures(self.suite)

    def _load(self) -> None:
        if self.error:
            return
        state = get_state(self.config)
        try:
            suite = load_suite(
                self.path,
                root=state.search.root,
                own_metrics=collect_own_metrics(self),
                id_field_default=state.options.id_field,
                access=state.file_access,
            )
            check_retriever(state, suite)
        except (SuiteError, MetricError) as error:
            self.error = str(error)
        else:
            self.suite = suite

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Collect an item for each check and retriever."""
        state = get_state(self.config)
        # Building the folder of a base suite creates modules that nobody collects.
        state.modules[self.path] = self
        # Reading `obj` loads the suite.
        if self.obj is None or self.suite is None:
            return [self._create_broken_item(state)]
        cases = self.collect_cases()
        groups = [self._get_group(state, self.suite, case) for case in cases]
        items = []
        for check in self.suite.items:
            for case, group in zip(cases, groups, strict=True):
                item = compat.create_item(SuiteItem, case, check.name)
                item.check = check
                item.group = group
                items.append(item)
        self.items = items
        freeze_large_suite(self.suite)
        return items

    def _create_broken_item(self, state: PluginState) -> BrokenSuiteItem:
        text = "\n".join(map(make_printable, self.error.split("\n")))
        state.search.current.add_error(self.relative_path, " ".join(text.split("\n")))
        item: BrokenSuiteItem = BrokenSuiteItem.from_parent(self, name="suite")
        item.text = text
        item.path_name = self.relative_path
        return item

    def _get_group(self, state: PluginState, suite: Suite, case: pytest.Function) -> SuiteGroup:
        retriever = find_retriever(suite.retriever.fixture, case)
        if retriever not in self.groups:
            current = state.search.current
            key = current.add_suite(suite, retriever)
            if state.options.compares_with_commit:
                current.texts[suite.path] = self.path.read_text(encoding="utf-8", errors="replace")
            self.groups[retriever] = SuiteGroup(state, key)
        return self.groups[retriever]


def list_suite_fixtures(suite: Suite) -> list[str]:
    """Return the fixtures of a suite's retriever, and of the one that it is compared with."""
    return [name for name in (suite.retriever.fixture, suite.baseline_retriever) if name]


def find_retriever(fixture: str, case: pytest.Function) -> RetrieverId:
    """Return which retriever a test function gets from a fixture."""
    info = compat.find_fixture(case, fixture) or compat.FixtureInfo()
    return RetrieverId(fixture, info.folder, info.parameter)


def check_retriever(state: PluginState, suite: Suite) -> None:
    """Refuse a suite whose retriever is a fixture that is not meant to be one.

    A pull request that edits only suites must not be able to set up any fixture.

    Raises:
        SuiteError: The message says how to declare a retriever.
    """
    name = suite.retriever.fixture
    if is_declared(name, state.declared_retrievers):
        return
    closest = find_closest(name, [USUAL_RETRIEVER, *state.declared_retrievers])
    hint = f" Did you mean '{closest}'?" if closest else ""
    message = (
        f"'{name}' is not declared as a retriever.{hint} Name the fixture"
        f" '{name}{RETRIEVER_SUFFIX}', or write `ir_retrievers = {name}` into the ini file."
    )
    raise SuiteError([Mistake(1, message)], suite.path)


def is_declared(name: str, declared: Iterable[str]) -> bool:
    """Return whether suites may use a fixture as their retriever."""
    return name == USUAL_RETRIEVER or name.endswith(RETRIEVER_SUFFIX) or name in declared


def collect_own_metrics(node: pytest.Collector) -> list[Definition]:
    """Return the metrics that the conftest files above a suite define.

    Raises:
        MetricError: A hook returns something else.
    """
    metrics: list[Definition] = []
    for returned in node.ihook.pytest_ir_metrics(config=node.config):
        if not isinstance(returned, Iterable) or isinstance(returned, (str, bytes)):
            raise MetricError(f"pytest_ir_metrics must return a list of metrics, not {returned!r}.")
        metrics += returned
    for metric in metrics:
        if not isinstance(metric, Definition):
            raise MetricError(
                f"pytest_ir_metrics must return what make_own_metric returns, not {metric!r}."
            )
    return metrics


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Keep the items of the shard, after all other selection."""
    result = yield
    shard = get_state(config).search.shard
    if shard is not None:
        deselected = [item for item in items if not is_in_shard(item, shard)]
        if deselected:
            config.hook.pytest_deselected(items=deselected)
            items[:] = [item for item in items if item not in set(deselected)]
    return result


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say so if the command line asks for suites and there are none."""
    state = get_state(config)
    if state.modules or state.base_suite_names or is_controller(config):
        return []
    patterns = " ".join(state.options.suite_patterns)
    return [f"No search-quality suite was found: no file there matches '{patterns}'."]


def is_in_shard(item: pytest.Item, shard: Shard) -> bool:
    """Return whether the queries of a shard are enough for an item."""
    if not isinstance(item, SuiteItem):
        return True
    if item.check.kind is ItemKind.QUERY:
        return bool(shard.has_query(item.group.suite.queries_by_id[item.check.query_id]))
    return item.check.kind is ItemKind.ANSWERS


@pytest.fixture(scope="module")
def bm25_retriever(request: pytest.FixtureRequest) -> BM25Retriever:
    """Search the 'corpus' of the suite with BM25 (extra ``pytest-irquality[yardstick]``)."""
    suite: Suite | None = getattr(request.node, "suite", None)
    if suite is None or not suite.settings.corpus.files:
        path = suite.path if suite is not None else "This test"
        pytest.fail(f"{path}: 'bm25_retriever' needs the key 'corpus'.", pytrace=False)
    try:
        return BM25Retriever(load_corpus(suite.settings))
    except (CorpusError, RetrieverError) as error:
        pytest.fail(f"{suite.path}: {error}", pytrace=False)
