"""The process that runs the code of the base branch (``--ir-baseline=run:REF``).

It is started in a worktree of the base branch and runs the queries that the current process asks
for. It evaluates nothing, and none of the base branch's own suites and tests run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.baselines.worktree import (
    ChildAnswer,
    ChildTask,
    RunRequest,
    read_child_task,
    write_child_answers,
)
from pytest_irquality.plugin import compat, services
from pytest_irquality.plugin.collection import find_retriever, is_declared
from pytest_irquality.plugin.items import get_exception_policy
from pytest_irquality.plugin.options import OPTIONS, read_options
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.suite.model import RetrieverId

# Options that select, report, stop early or start other processes. The base branch's own 'addopts'
# may set them.
_RESET_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("allure_report_dir", "basetemp", "deselect", "htmlpath", "ignore")),
    **dict.fromkeys(("ignore_glob", "numprocesses", "report_log", "xmlpath")),
    **dict.fromkeys(("collectonly", "exitfirst", "failedfirst", "json_report", "lf"), False),
    **dict.fromkeys(("newfirst", "setuponly", "setupplan", "stepwise"), False),
    **dict.fromkeys(("stepwise_skip", "trace", "usepdb"), False),
    "dist": "no",
    "keyword": "",
    "markexpr": "",
    "maxfail": 0,
    "tx": [],
}


def take_over(config: pytest.Config) -> None:
    """Set the options for the task. This is called before anything is configured."""
    task = read_child_task()
    options = vars(config.option)
    options.update({name: value for name, value in _RESET_OPTIONS.items() if name in options})
    options.update({option.name: [] if option.kind == "texts" else None for option in OPTIONS})
    options["ir_report"] = "none"
    options.update(task.options)
    config.args = [str(task.tree)]
    config.pluginmanager.register(BaseChild(task), "irquality-base-child")


class BaseChild:
    """Collects one module for each request, and writes the answers in the end."""

    def __init__(self, task: ChildTask) -> None:
        self.task = task
        self.answers: list[ChildAnswer] = []
        self.missing: dict[int, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool:
        """Collect none of the base branch's own tests."""
        return collection_path != self.task.tree

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Collect the requests."""
        folders: dict[Path, Any] = {}
        items.clear()
        for index, request in enumerate(self.task.requests):
            try:
                items += self._collect(session, index, request, folders)
            except Exception as error:  # whatever a conftest raises
                self.missing[index] = f"{type(error).__name__}: {error}"

    def _collect(
        self,
        session: pytest.Session,
        index: int,
        request: RunRequest,
        folders: dict[Path, Any],
    ) -> Sequence[pytest.Item]:
        options = read_options(session.config)
        fixture = request.key.retriever.fixture
        declared = (*options.retrievers, *services.list_names(options))
        if not is_declared(fixture, declared):
            self.missing[index] = f"'{fixture}' is not declared as a retriever"
            return ()
        folder = self.task.tree / request.folder
        while not folder.is_dir():
            folder = folder.parent
        node = compat.build_folder_node(session, folder, folders)
        module: RequestModule = RequestModule.from_parent(
            node, path=folder / f"irquality-request-{index}"
        )
        module.fixture = fixture
        items = []
        for case in module.collect_cases():
            if compat.find_fixture(case, fixture) is None:
                self.missing[index] = f"there is no fixture '{fixture}'"
                return ()
            item = compat.create_item(RequestItem, case, "request")
            item.child = self
            item.index = index
            items.append(item)
        return items

    def pytest_sessionfinish(self) -> None:
        """Write the answers for the process that evaluates."""
        write_child_answers(self.task, self.answers, self.missing)


class RequestModule(compat.SynthesizedModule):
    """A module of one function that uses the fixture of a request."""

    fixture = ""

    def list_fixtures(self) -> Sequence[str]:
        """Return the fixture of the request."""
        return [self.fixture]


class RequestItem(pytest.Function):
    """Runs the queries of a request with one parameter of the fixture."""

    child: BaseChild
    index: int

    def setup(self) -> None:
        """Run the queries. Whatever prevents it is reported to the current process."""
        request = self.child.task.requests[self.index]
        fixture = request.key.retriever.fixture
        retriever_id: RetrieverId = find_retriever(fixture, self)
        try:
            super().setup()
            run = collect_run(
                self.funcargs[fixture],
                request.queries,
                request.settings,
                depth=request.depth,
                fields=request.fields,
                needs_texts=request.key.match == "text",
                size_units=request.size_units,
                stages=request.stages,
                stage_depth=request.stage_depth,
                exceptions=get_exception_policy(),
            )
        except (pytest.exit.Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.child.missing[self.index] = f"{type(error).__name__}: {error}"
            raise
        self.child.answers.append(ChildAnswer(self.index, retriever_id, run))
