"""The process that runs the base branch's own code (``run:REF``).

``become_base_process`` turns a pytest in the worktree into one that only runs queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_irquality.baselines import worktree
from pytest_irquality.baselines.sources import QueryBatch
from pytest_irquality.plugin import compat, retriever_fixtures
from pytest_irquality.plugin.collection import is_declared
from pytest_irquality.plugin.items import get_exception_policy
from pytest_irquality.plugin.options import OPTIONS, parse_arguments, read_options
from pytest_irquality.retrieval.collect import collect_run

# Options that select, report, stop early or start other processes, by their attribute. The base
# branch's own 'addopts' may set them.
_RESET_OPTIONS = (
    "collectonly", "deselect", "exitfirst", "failedfirst", "ignore", "ignore_glob", "keyword", "lf",
    "markexpr", "maxfail", "newfirst", "setuponly", "setupplan", "stepwise", "stepwise_skip",
    "allure_report_dir", "basetemp", "htmlpath", "json_report", "report_log", "xmlpath",
    "dist", "numprocesses", "trace", "tx", "usepdb",
)  # fmt: skip


def become_base_process(config: pytest.Config) -> None:
    """Make this process run queries and nothing else, before anything is configured."""
    task = worktree.read_child_task()
    options, defaults = vars(config.option), vars(parse_arguments(config, ()).namespace)
    for name in (*_RESET_OPTIONS, *(option.name for option in OPTIONS)):
        if name in defaults:  # Other plugins may declare it.
            options[name] = defaults[name]
    options.update(task.options)
    # Otherwise pytest would also collect the paths that the user typed.
    config.args = [str(task.root)]
    config.pluginmanager.register(QueryBatchPlugin(task), "irquality-base-process")


class QueryBatchPlugin:
    """Collects one module for each batch of queries, and writes the answers at the end.

    It evaluates nothing, and none of the base branch's own suites and tests run.
    """

    def __init__(self, task: worktree.ChildTask) -> None:
        self.task = task
        self.runs: list[worktree.ChildRun] = []
        self.batch_errors: dict[int, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool:
        """Collect none of the base branch's own tests."""
        return collection_path != self.task.root

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Remember the folders that pytest collects."""
        compat.remember_folder_node(collector)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Collect the batches."""
        items.clear()
        options = read_options(session.config)
        declared = retriever_fixtures.list_declared_retrievers(options)
        for index, batch in enumerate(self.task.batches):
            try:
                items += self._collect_batch(session, index, batch, declared)
            except Exception as error:  # whatever a conftest raises
                self.batch_errors[index] = f"{type(error).__name__}: {error}"

    def _collect_batch(
        self, session: pytest.Session, index: int, batch: QueryBatch, declared: Sequence[str]
    ) -> Sequence[pytest.Item]:
        fixture = batch.key.retriever.fixture
        if not is_declared(fixture, declared):
            self.batch_errors[index] = f"'{fixture}' is not declared as a retriever"
            return ()
        folder = self.task.root / batch.folder
        # If the base branch lacks the folder, a conftest above it can define the fixture.
        while not folder.is_dir():
            folder = folder.parent
        node = compat.build_folder_node(session, folder)
        path = folder / f"irquality-batch-{index}"
        module: compat.SynthesizedModule = compat.SynthesizedModule.from_parent(node, path=path)
        module.fixtures = [fixture]
        items = []
        for case in module.collect_cases():
            if not compat.has_fixture(case, fixture):
                self.batch_errors[index] = f"there is no fixture '{fixture}'"
                return ()
            item = compat.create_item(QueryBatchItem, case, "batch")
            item.process = self
            item.index = index
            items.append(item)
        return items

    def pytest_sessionfinish(self) -> None:
        """Write the answers for the process that evaluates."""
        worktree.write_child_answers(self.task, self.runs, self.batch_errors)


class QueryBatchItem(pytest.Function):
    """Runs the queries of a batch with one parameter of the fixture."""

    process: QueryBatchPlugin
    index: int

    def setup(self) -> None:
        """Run the queries. An error is sent to the process that evaluates."""
        batch = self.process.task.batches[self.index]
        fixture = batch.key.retriever.fixture
        try:
            super().setup()
            run = collect_run(
                self.funcargs[fixture],
                batch.queries,
                batch.settings,
                depth=batch.depth,
                fields=batch.fields,
                size_units=batch.size_units,
                stages=batch.stages,
                exceptions=get_exception_policy(),
            )
        except (pytest.exit.Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # `pytest.skip` in a fixture is no `Exception`
            self.process.batch_errors[self.index] = f"{type(error).__name__}: {error}"
            raise
        retriever_id = compat.find_retriever(fixture, self)
        self.process.runs.append(worktree.ChildRun(self.index, retriever_id, run))
