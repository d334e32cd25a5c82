"""The end of a session: its reports, its lines of history, commands that annotate on GitHub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.write import append, write_text
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.reports import Gathered, Report
from pytest_irquality.plugin.standard_output import KEPT, Document
from pytest_irquality.report.annotations import github_annotations
from pytest_irquality.storage.history import HistoryError, record
from pytest_irquality.verdict import SuiteResult
from pytest_irquality.verdict.pool import Pool, by_importance
from pytest_irquality.wording.numbers import counted

ANNOTATES_TOO = "pytest_github_actions_annotate_failures"


class Writing:
    """Writes what is asked for. ``written`` are the lines that say so, and what could not be.

    ``not_written`` are those for which the session fails.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.options = Options(config)
        self.folder, self.root = config.invocation_params.dir, config.rootpath
        self.written: list[str] = []
        self.not_written: list[str] = []

    @no_cycles()
    def all_of(
        self,
        results: Sequence[SuiteResult],
        missing: Sequence[str],
        left_out: Sequence[str],
        pools: Sequence[Pool],
    ) -> None:
        """Write every report of these results, and their lines of history."""
        for result in results:
            self.not_written += [line for line in result.written if line.startswith("NOT WRITTEN")]
        pools = by_importance(pools, results)
        judging = Options.judge.read(self.options) or ""
        gathered = Gathered(results, missing, left_out, pools, judging)
        for report in Options.reports():
            self._report(report, gathered)
        if name := self.options.history:
            entries = [result.past[-1] for result in results if result.past]
            add = partial(record, Path(self.folder, name), name, entries)
            self._try(name, add, f"history: {name}: {counted(len(entries), 'line')}")

    def at_last(self, document: Document) -> None:
        """Leave the document that alone goes to standard output, where one is asked for."""
        if output := self.options.config.stash.get(KEPT, None):
            output.document = document

    def digest(
        self,
        results: Sequence[SuiteResult],
        missing: Sequence[str],
        left_out: Sequence[str],
        *,
        status: int,
        errors: Sequence[str],
    ) -> str:
        """Make that document, of what ended with a ``status``."""
        from pytest_irquality.report.digest import digest  # noqa: PLC0415 - for this alone

        ini = self.options.config.inipath
        guards = [os.path.relpath(ini, self.folder)] if ini else []
        return digest(results, missing, left_out, exit_status=status, errors=errors, guards=guards)

    def _report(self, report: Report, gathered: Gathered) -> None:
        """Write a report where its option says, and where the job's summary is."""
        path, also = report.path(self.options, gathered), os.environ.get(report.also)
        if path is None and not also:
            return
        gathered = gathered._replace(path=path or "")
        text = report.make(gathered)
        if path is not None:
            asked, amount = report.read(self.options) is not None, report.amount(gathered)
            # The default is nobody's choice, so it may be a link that a stranger has put there.
            allowed = None if asked else Allowed.project(self.root)
            done = f"{report.what}: {path}{amount and f': {amount}'}"
            write = partial(write_text, Path(self.folder, path), text, allowed)
            self._try(path, write, done, asked=asked)
        if also:
            self._try("the job's summary", partial(append, Path(also), text), asked=False)

    def _try(
        self, what: str, write: Callable[[], object], done: str = "", *, asked: bool = True
    ) -> None:
        """Write something, and note that it is ``done``, or why not.

        The session fails where that was ``asked`` for.
        """
        try:
            write()
        except (OSError, HistoryError) as error:
            line = f"NOT WRITTEN: {what}: {getattr(error, 'strerror', None) or error}"
            self.written.append(line)
            self.not_written += [line] if asked else []
        else:
            self.written += [done] if done else []


def github(config: pytest.Config, results: Sequence[SuiteResult]) -> Iterator[str]:
    """Give the commands that annotate; none where another plugin makes one of every failure."""
    plugins = config.pluginmanager.get_plugins()
    names = [str(getattr(plugin, "__name__", "")) for plugin in plugins]
    others = any(name.startswith(ANNOTATES_TOO) for name in names)
    if os.environ.get("GITHUB_ACTIONS") == "true" and not others:
        root = os.environ.get("GITHUB_WORKSPACE")
        folder = config.invocation_params.dir
        yield from github_annotations(results, folder, Path(root) if root else None)
