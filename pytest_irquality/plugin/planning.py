"""The plan of a session, from what the command line and the ini file say."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.exams import Exams
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.plugin.gate import BASE, compared_by, gate_of
from pytest_irquality.plugin.internals import named_on_command_line
from pytest_irquality.plugin.options import Options
from pytest_irquality.retrieval.pace import Paces
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.kept import KeptRuns
from pytest_irquality.storage.saved import SavedRuns
from pytest_irquality.storage.shards import Shard
from pytest_irquality.storage.trec import is_trec

PLAN = pytest.StashKey[Plan]()


def pytest_configure(config: pytest.Config) -> None:
    """Gather the plan of the session.

    Raises ``pytest.UsageError`` where the options contradict each other, or name nothing.
    """
    options, shard = Options(config), None
    project = Project(
        config.invocation_params.dir,
        config.rootpath,
        patterns=tuple(options.suite_files),
        named=tuple(_named_folders(config)),
        files=tuple(options.files),
    )
    compared = compared_by(config, options, project)
    _refuse_contradictions(options)
    if options.shard:
        try:
            shard = Shard.parse(options.shard)
        except ValueError as error:
            raise pytest.UsageError(f"--ir-save-runs: shard: {error}") from None
    base = compared if isinstance(compared, AtCommit) else None
    gate = gate_of(config, base)
    project, exams = replace(project, patterns=tuple(options.suite_files)), None
    if base and not options.update_baseline:
        exams = Exams(
            base, project, refused=gate.accepted, refuses_weaker=gate.exam,
            looked_in=gate.looked_in,
        )  # fmt: skip
    saved = None
    if options.save_runs:
        saved = SavedRuns(options.save_runs, project, shard, options.resume)
    config.stash[PLAN] = Plan(
        project,
        compared,
        kept=KeptRuns(options.runs, project) if options.runs else None,
        updating=options.update_baseline,
        saved=saved,
        shard=shard,
        history=Path(project.start, options.history) if options.history else None,
        accepts_nothing=gate.accepted,
        strict=gate.strict,
        audit=options.audit,
        paces=Paces(_shared(config)),
        exams=exams,
        declared_then=gate.declared,
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the base, whose name may stand for another commit soon."""
    if exams := node.config.stash[PLAN].exams:
        with suppress(OSError):  # that git does not know the commit is told elsewhere
            node.workerinput[BASE] = exams.at.base


def _shared(config: pytest.Config) -> Path | None:
    """Give how the names of files begin in which the workers of a session share what they must."""
    session = getattr(config, "workerinput", {}).get("testrunuid")
    if session is None:
        return None
    shared = Path(tempfile.gettempdir(), f"irquality-{session}")

    def remove() -> None:
        for file in shared.parent.glob(f"{shared.name}*"):
            file.unlink(missing_ok=True)

    config.add_cleanup(remove)
    return shared


def _refuse_contradictions(options: Options) -> None:
    """Raise ``pytest.UsageError`` where an option has no meaning beside another, or without one."""
    if (options.runs or options.update_baseline) and options.shard:
        raise pytest.UsageError(
            "a shard asks a share of the queries, and --ir-runs and --ir-update-baseline are for"
            " all of them"
        )
    if options.resume and (options.runs or is_trec(Path(options.save_runs or ""))):
        raise pytest.UsageError(
            "resume asks what a folder of runs lacks: leave --ir-runs and TREC's format"
        )


def _named_folders(config: pytest.Config) -> Iterator[Path]:
    """The folders that the command line names, and those of the files that it names."""
    for path in map(os.path.abspath, named_on_command_line(config)):
        yield Path(path) if os.path.isdir(path) else Path(path).parent
