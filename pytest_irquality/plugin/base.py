"""The base of ``--ir-baseline=run:REF`` in pytest: when it is run, and errors of it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.git import Repository
from pytest_irquality.edges.shell import split
from pytest_irquality.pipeline.base.answered import AtBase
from pytest_irquality.pipeline.base.compare import Base
from pytest_irquality.pipeline.base.messages import ANSWERS, COLLECTED, Asked, Collected, RunOf
from pytest_irquality.pipeline.base.process import default_command
from pytest_irquality.pipeline.base.worktree import BaseError, new_folder, remove
from pytest_irquality.plugin.collect import retrieved_by
from pytest_irquality.plugin.internals import looks_only
from pytest_irquality.plugin.items import CheckItem
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.plugin.services import Written
from pytest_irquality.storage.commits import RUN, AtCommit

WORKER = "ir_base"  # the folder, as workers of pytest-xdist are told it


def pytest_configure(config: pytest.Config) -> None:
    """Take the place of the base's answers, where everybody who judges looks.

    Raises ``pytest.UsageError``.
    """
    plan = config.stash[PLAN]
    if not isinstance(plan.compared, AtCommit):
        return
    try:
        repository = Repository.holding(config.rootpath)
        if hasattr(config, "workerinput"):
            folder = Path(config.workerinput[WORKER])
            side: Today = Worker(config, repository, folder, plan.compared)
        else:
            folder, lock = new_folder()
            config.add_cleanup(lambda: remove(repository, folder))
            config.add_cleanup(lock.close)  # the last is first: Windows removes nothing open
            side = Head(config, repository, folder, plan.compared)
    except OSError as error:
        raise pytest.UsageError(f"--ir-baseline {plan.compared.given}: {error}") from None
    plan.compared = AtBase(plan.compared, folder)
    config.pluginmanager.register(side, "irquality-today")


class Today:
    """The items that are collected today, in whichever process that is."""

    def __init__(
        self, config: pytest.Config, repository: Repository, folder: Path, base: AtCommit
    ) -> None:
        self.config, self.repository, self.folder, self.base = config, repository, folder, base
        self.options = Options(config)
        self.retrievers: list[RunOf] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Note every retriever there is, before any is deselected."""
        self.retrievers = self._keys(items)
        return (yield)

    def collected(self, items: Iterable[pytest.Item]) -> Collected:
        """The suites of the selected items, with what they ask, and all that they are made of."""
        keys = self._keys(items)
        asked: dict[str, Asked] = {}
        files: dict[str, None] = {}
        exams = self.config.stash[PLAN].exams
        checks = [item for item in items if isinstance(item, CheckItem)]
        examined = {item.judging for item in checks if item.check.over.exam}
        for key, (judging, _) in zip(keys, retrieved_by(items), strict=True):
            left = exams.left(judging.suite, judging.path) if exams and judging in examined else ()
            asked[key.suite] = Asked.of(key.suite, judging.suite, *left)
            for file in (judging.path, *judging.suite.files):
                files[os.path.abspath(file)] = None
        return Collected(keys, self.retrievers, list(asked.values()), list(files))

    def _keys(self, items: Iterable[pytest.Item]) -> list[RunOf]:
        """Give each suite and retriever once.

        Raises ``pytest.UsageError`` for a suite outside the checkout.
        """
        keys = []
        try:
            for judging, retriever in retrieved_by(items):
                path = self.repository.path(Path(os.path.realpath(judging.path)))
                keys.append(RunOf(path, retriever))
            return keys
        except OSError as error:
            raise pytest.UsageError(f"--ir-baseline {self.base.given}: {error}") from None


class Worker(Today):
    """A worker of pytest-xdist: it collects, and the controller, which does not, runs the base."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Leave a note of it, before the controller hears that we are ready."""
        name = f"{COLLECTED}-{self.config.workerinput['workerid']}"  # type: ignore[attr-defined]
        self.collected(session.items).write(self.folder / name)


class Head(Today):
    """The process that runs the base: once, and before any fixture of today's is set up."""

    ran = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without xdist: everything is collected, and nothing has run."""
        if not looks_only(self.config) and (collected := self.collected(session.items)).keys:
            self._run(collected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker where the answers will be."""
        node.workerinput[WORKER] = str(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Run the base under xdist, when the first worker has collected.

        No worker runs anything until all of them have collected and this returned.
        """
        note = self.folder / f"{COLLECTED}-{node.gateway.id}"
        if not self.ran and note.exists() and (collected := Collected.read(note)).keys:
            self._run(collected)

    def _run(self, collected: Collected) -> None:
        self.ran = True
        options, against = self.options, self.base.given
        command = split(options.base_command) or [*default_command()]
        if self.config.pluginmanager.has_plugin("cacheprovider"):  # else nobody knows the key
            command += ["-o", f"cache_dir={self.folder / 'cache'}"]
        try:
            base = Base(
                self.repository,
                against.removeprefix(RUN),
                self.base.base,
                self.folder,
                called_in=Path(os.path.realpath(self.config.invocation_params.dir)),
                arguments=[os.fspath(argument) for argument in self.config.invocation_params.args],
                command=command,
                links=options.base_link,
                handed_on={
                    "ir_concurrency": options.concurrency,
                    "ir_repeat": options.repeat,
                    "ir_save_runs": f",shard={options.shard}" if options.shard else "",
                },
                services=asdict(Written.by(self.config)),
            )
            base.answers(collected, self._say).write(self.folder / ANSWERS)
        except (BaseError, OSError) as error:
            raise pytest.UsageError(f"--ir-baseline {against}: {error}") from None

    def _say(self, line: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            reporter.write_line(line)
