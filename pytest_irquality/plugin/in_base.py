"""pytest in the base's process: today's suites are asked, and their runs kept.

Nothing else is done.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.pipeline.base import guard
from pytest_irquality.pipeline.base.messages import FROM_BASE, RUNS, FromBase, RunOf
from pytest_irquality.plugin.internals import finds
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.options import Options

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
    option.update(
        settings["options"], ir_suite=True, ir_report="none", ir_save_runs=str(folder / RUNS)
    )
    config.args = [os.path.join(settings["tree"], suite) for suite in settings["suites"]]
    config.pluginmanager.register(_Witness(Path(settings["tree"]), folder), "irquality-in-base")


class _Witness:
    """Notes of the runs that were kept, and of any code of the head in the process."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree, self.folder = tree, folder
        self.runs: dict[RunOf, str] = {}
        self.without: dict[str, None] = {}

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

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Say all that to the head."""
        module = sys.modules.get(guard.NAME)
        guards = getattr(module, "guard", None)
        guarded = guards is not None and guards in sys.meta_path
        if guards is not None:
            for name, file in guards.foreign_modules():
                guards.note("module", name, file)
        FromBase([*self.runs.items()], [*self.without], guarded).write(self.folder / FROM_BASE)
