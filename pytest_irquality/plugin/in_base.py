"""pytest in the base's process: what today asks is asked, and the runs kept.

Nothing else is done.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.reach import is_declared
from pytest_irquality.pipeline.base import guard
from pytest_irquality.pipeline.base.messages import (
    COLLECTED,
    FROM_BASE,
    RUNS,
    Asked,
    Collected,
    FromBase,
    RunOf,
)
from pytest_irquality.plugin.internals import finds
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.plugin.suite_module import SuiteModule
from pytest_irquality.suite import Suite

# What selects, reports, stops early or starts other processes, over the command line and the base's
# own addopts.
QUIET: dict[str, Any] = {
    "allure_report_dir": None, "basetemp": None, "collectonly": False, "deselect": None,
    "dist": "no", "exitfirst": False, "failedfirst": False, "htmlpath": None, "ignore": None,
    "ignore_glob": None, "json_report": False, "keyword": "", "lf": False, "markexpr": "",
    "maxfail": 0, "newfirst": False, "numprocesses": None, "report_log": None, "setuponly": False,
    "setupplan": False, "stepwise": False, "stepwise_skip": False, "trace": False, "tx": [],
    "usepdb": False, "xmlpath": None,
}  # fmt: skip


def take_over(config: pytest.Config) -> None:
    """Set the options as the head asks for it. Called before anything is configured."""
    settings = json.loads(os.environ[guard.VARIABLE])
    option, folder = vars(config.option), Path(settings["folder"])
    option.update({name: value for name, value in QUIET.items() if name in option})
    option.update({one.key: one.arguments.get("default", False) for one in Options.options()})
    option.update(settings["options"], ir_suite=True, ir_report="none")
    option["ir_save_runs"] = f"{folder / RUNS}{option['ir_save_runs']}"
    asked = Collected.read(folder / COLLECTED).asked
    witness = _Witness(Path(settings["tree"]), folder, asked)
    config.args = [*map(str, witness.places)]
    config.pluginmanager.register(witness, "irquality-in-base")


class AskedSuite(SuiteModule):
    """A suite as today asks it, where the base has or would have its file.

    Nothing of that file is read, and none need be there.
    """

    asked: Suite

    def _suite(self) -> Suite:
        return self.asked


class _Witness:
    """Notes of the runs that were kept, and of any code of the head in the process.

    ``places`` are the suites that are asked, each in the folder of the base that is nearest to it.
    """

    def __init__(self, tree: Path, folder: Path, asked: Sequence[Asked]) -> None:
        self.tree, self.folder = tree, folder
        self.places: dict[Path, list[Asked]] = {}
        for one in asked:
            above = (tree / one.file).parents
            self.places.setdefault(next(filter(Path.is_dir, above)), []).append(one)
        self.runs: dict[RunOf, str] = {}
        self.without: dict[str, None] = {}
        self.undeclared: dict[str, str] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Compare with nothing: that is for the head."""
        session.config.stash[PLAN].compared = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool:
        """Pass over everything but the folders of suites."""
        return not any(place.is_relative_to(collection_path) for place in self.places)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Put the suites into their folders."""
        report = yield
        if isinstance(collector, pytest.Directory) and report.passed:
            for one in self.places.get(collector.path, ()):
                if not self._declares(collector.config, one.retriever):
                    self.undeclared[one.file] = one.retriever
                    continue
                module = AskedSuite.from_parent(collector, path=self.tree / one.file)
                module.asked = one.suite
                report.result.append(module)
        return report

    @staticmethod
    def _declares(config: pytest.Config, name: str) -> bool:
        """Tell whether a fixture is a retriever by the settings of the base, or a service's."""
        services = config.pluginmanager.get_plugin("irquality_services")
        return is_declared(name, Options(config).declared) or hasattr(services, name)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note each suite and retriever that is about to be asked."""
        for item in session.items:
            if not isinstance(item, CheckItem):
                continue
            judging = item.judging
            suite = Path(os.path.realpath(judging.path)).relative_to(self.tree).as_posix()
            saved = judging.plan.saved
            assert saved is not None
            run = saved.file(judging.target(item.retriever)).path
            self.runs[RunOf(suite, item.retriever)] = run.relative_to(self.folder / RUNS).as_posix()
            if not finds(item, judging.suite.retriever):
                self.without[suite] = None

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        """Say all that to the head, which judges by pytest's own status."""
        yield
        session.exitstatus = exitstatus
        module = sys.modules.get(guard.NAME)
        guards = getattr(module, "guard", None)
        guarded = guards is not None and guards in sys.meta_path
        if guards is not None:
            for name, file in guards.foreign_modules():
                guards.note("module", name, file)
        FromBase([*self.runs.items()], [*self.without], self.undeclared, guarded).write(
            self.folder / FROM_BASE
        )
