"""The session in the process that reports: results are gathered, written and summed up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from pytest_irquality.edges.codec import decode
from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.printable import terminal
from pytest_irquality.edges.write import append, write_text
from pytest_irquality.plugin.collect import hidden_suites
from pytest_irquality.plugin.failures import lay_out, width_of
from pytest_irquality.plugin.internals import named_on_command_line
from pytest_irquality.plugin.items import RESULTS, CheckItem, KnownItem
from pytest_irquality.plugin.marks import Mark, excused, mark_of
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.reports import Gathered, Report
from pytest_irquality.report.annotations import github_annotations
from pytest_irquality.report.text import quiet, summary
from pytest_irquality.storage.history import HistoryError, record
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.joined import joined
from pytest_irquality.verdict.pool import Pool, by_importance
from pytest_irquality.verdict.result import BAD
from pytest_irquality.wording.numbers import counted

ANNOTATES_TOO = "pytest_github_actions_annotate_failures"
LOOKS_ONLY = ("collectonly", "setupplan", "showfixtures", "show_fixtures_per_test")

Key = tuple[str, str]  # a suite's path and the name of a retriever


class Session:
    """Gathers each suite's result from the reports that carry one, with or without xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = Options(config)
        self.results: dict[Key, SuiteResult] = {}
        self.by_worker: dict[Key, dict[str, SuiteResult]] = {}
        self.disputed: dict[Key, tuple[Verdict, ...]] = {}
        self.items: dict[str, KnownItem | None] = {}  # by node id; None: another process knows
        self.ended: dict[str, Mark | None] = {}  # by node id
        self.written: list[str] = []
        self.not_written: list[str] = []
        self.pools: list[Pool] = []
        self.not_judged = 0  # items whose retriever could not be asked anything

    # -- what there is -----------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which items there are, and of which suite and retriever."""
        for item in session.items:
            if isinstance(item, CheckItem):
                self.items[item.nodeid] = item.known

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note which items there are under xdist.

        They are elsewhere, and a worker that dies can report nothing.
        """
        for id in ids:
            file = Path(id.partition("::")[0])
            if any(map(file.match, self.options.suite_files)):
                self.items.setdefault(id, None)

    def pytest_report_collectionfinish(
        self, config: pytest.Config, items: Sequence[pytest.Item]
    ) -> list[str]:
        """Name folders without a suite, and suites that pytest does not look for.

        A reader would otherwise take them for a pass. Nothing where ``--ir-suite`` stands in the
        project's settings: it then means "suites, too".
        """
        if not any(str(arg).startswith("--ir-suite") for arg in config.invocation_params.args):
            return []
        suites = {item.path.resolve() for item in items if isinstance(item, CheckItem)}
        found = {folder for path in suites for folder in path.parents}
        patterns = self.options.suite_files
        lines = [f"irquality: {text}" for text in hidden_suites(config)]
        for named in named_on_command_line(config):
            folder = named.resolve()
            # A suite may be there and deselected, so what was not collected is looked for on the
            # disk.
            inside = (next(folder.rglob(pattern), None) for pattern in patterns)
            if folder.is_dir() and folder not in found and not any(inside):
                where = os.path.relpath(named, config.invocation_params.dir)
                none = f"no file there matches {' '.join(patterns)}"
                lines.append(f"irquality: no suite in {where}: {none}")
        return list(map(terminal, lines))

    # -- what became of it -------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take from a report what it carries: a result, and what became of one check's item."""
        worker = str(getattr(getattr(getattr(report, "node", None), "gateway", None), "id", ""))
        for checked in getattr(report, "ir_checked", ()):  # of an ordinary test
            self._take(decode(checked, SuiteResult), worker)
        if pool := getattr(report, "ir_pool", None):
            self.pools.append(decode(pool, Pool))
        if (told := getattr(report, "ir_item", None)) is not None:
            self.items[report.nodeid] = KnownItem(*told)
        if report.nodeid not in self.items:
            return
        self.not_judged += getattr(report, "ir_not_judged", False)
        if report.when != "teardown":
            self.ended[report.nodeid] = mark_of(report)
        if (sent := getattr(report, "ir_result", None)) is not None:
            kept = self.config.stash.get(RESULTS, {})
            self._take(decode(sent, SuiteResult) if sent else kept[report.nodeid], worker)

    def _take(self, result: SuiteResult, worker: str) -> None:
        key = result.path, result.retriever
        some = self.by_worker.setdefault(key, {})
        some[worker] = result  # a rerun's takes the place of what it was a rerun of
        several = len(some) > 1
        self.results[key], self.disputed[key] = (
            joined(list(some.values())) if several else (result, ())
        )

    @property
    def ordered(self) -> list[SuiteResult]:
        """The results as their items ended, in an order that is the same whoever finished first."""
        marks = self._marks()
        return [excused(self.results[key], marks.get(key, {})) for key in sorted(self.results)]

    def _marks(self) -> dict[Key, dict[str, Mark | None]]:
        """Give the excuse of each check that ended.

        One that was run several times has one only where all of its items are excused.
        """
        found: dict[Key, dict[str, Mark | None]] = {}
        for id, mark in self.ended.items():
            if item := self.items[id]:
                checks = found.setdefault(item.key, {})
                checks[item.check] = mark and checks.get(item.check, mark)
        return found

    @property
    def missing(self) -> list[str]:
        """The suites that were collected and have no result, with the reason of a skip."""
        marks = self._marks()
        lines = []
        for path, retriever in dict.fromkeys(self._unjudged()):
            name = f"{path} [{retriever}]" if retriever else path
            reason = _why_skipped([*marks.get((path, retriever), {}).values()])
            lines.append(f"{name}: {reason}" if reason else name)
        return lines

    def _unjudged(self) -> Iterator[Key]:
        judged = {
            _file_and_variant(id)
            for id, item in self.items.items()
            if item and item.key in self.results
        }
        for id, item in self.items.items():
            key = item.key if item else _file_and_variant(id)
            if key not in self.results and (item or key not in judged):
                yield key

    # -- what is made of it ------------------------------------------------------------------------

    @property
    def looks_only(self) -> bool:
        """True where nothing was meant to run."""
        return any(getattr(self.config.option, name, False) for name in LOOKS_ONLY)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail a session that would pass against a verdict or a file.

        Where all that failed was never judged the status is that of a suite that cannot be read, so
        that whoever looks for the change that broke search passes over it.
        """
        lay_out(self.config, self.ordered, self.items)
        if not self.looks_only and (self.results or self.missing):
            self._write_reports()
        if session.exitstatus == pytest.ExitCode.OK and (self._contradicts() or self.not_written):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.not_judged and session.testsfailed == self.not_judged and not self._contradicts():
            session.exitstatus = pytest.ExitCode.INTERRUPTED

    def _contradicts(self) -> bool:
        """Tell whether a verdict is bad that no item could show.

        Workers disagree, or no item's call was made.
        """
        disputed = [verdict for some in self.disputed.values() for verdict in some]
        if any(verdict.outcome in BAD for verdict in disputed):
            return True
        if any(result.unnoticed for result in self.results.values()):
            return True
        setup_only = getattr(self.config.option, "setuponly", False) and not self.looks_only
        return bool(setup_only) and any(result.failed for result in self.ordered)

    @no_cycles()
    def _write_reports(self) -> None:
        results = self.ordered
        for result in results:
            self.not_written += [line for line in result.written if line.startswith("NOT WRITTEN")]
        gathered = Gathered(results, self.missing, by_importance(self.pools, results))
        for report in Options.reports():
            self._write(report, gathered)
        if name := self.options.history:
            entries = [result.entry for result in results if result.entry is not None]
            add = partial(record, Path(self.config.invocation_params.dir, name), name, entries)
            self._try(name, add, f"history: {name}: {counted(len(entries), 'line')}")

    def _write(self, report: Report, gathered: Gathered) -> None:
        """Write a report where its option says, and where the job's summary is."""
        path, also = report.path(self.options, gathered), os.environ.get(report.also)
        if path is None and not also:
            return
        gathered = gathered._replace(path=path or "")
        text = report.make(gathered)
        if path is not None:
            asked, amount = report.read(self.options) is not None, report.amount(gathered)
            # The default is nobody's choice, so it may be a link that a stranger has put there.
            allowed = None if asked else Allowed.project(self.config.rootpath)
            file = Path(self.config.invocation_params.dir, path)
            done = f"{report.what}: {path}{amount and f': {amount}'}"
            self._try(path, partial(write_text, file, text, allowed), done, asked=asked)
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

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """Print the table of each suite, and last one line each, which is all under ``-q``.

        Nothing is printed where nothing ran.
        """
        nothing = not self.results and not self.missing
        if nothing or self.looks_only or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        terminalreporter.section("search quality")
        results = self.ordered
        missing = [f"{name}: NOT EVALUATED" for name in self.missing]
        if terminalreporter.verbosity < 0:
            lines = [*self.written, *quiet(results), *missing]
        else:
            written = [*self.written, *missing]
            lines = list(summary(results, width_of(self.config), written))
        for line in lines:
            bad = any(word in line for word in ("✗", "FAILED", "NOT "))
            terminalreporter.write_line(terminal(line), red=bad)
        for command in self._annotations(results):
            terminalreporter.write_line(command)

    def _annotations(self, results: Sequence[SuiteResult]) -> Iterator[str]:
        """GitHub's; none where another plugin makes one of every failure."""
        if os.environ.get("GITHUB_ACTIONS") != "true" or _has_plugin(self.config, ANNOTATES_TOO):
            return
        root = os.environ.get("GITHUB_WORKSPACE")
        folder = self.config.invocation_params.dir
        yield from github_annotations(results, folder, Path(root) if root else None)


def _why_skipped(marks: Sequence[Mark | None]) -> str:
    """The reason, where all checks of a suite were excused."""
    reasons = [mark.reason for mark in marks if mark]
    return reasons[0] if 0 < len(reasons) == len(marks) else ""


def _has_plugin(config: pytest.Config, module: str) -> bool:
    names = (str(getattr(plugin, "__name__", "")) for plugin in config.pluginmanager.get_plugins())
    return any(name.startswith(module) for name in names)


def _file_and_variant(id: str) -> Key:
    """Give the suite and retriever of a node id of which nothing better is known."""
    file, _, name = id.partition("::")
    return file, name.partition("[")[2].removesuffix("]")
