"""The session in the process that reports: results are gathered and summed up."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_irquality.edges.codec import decode
from pytest_irquality.edges.printable import terminal
from pytest_irquality.plugin.again import saying_again
from pytest_irquality.plugin.collect import GONE, HIDDEN, LEFT_OUT
from pytest_irquality.plugin.failures import lay_out, of_all_suites, width_of
from pytest_irquality.plugin.internals import asked_for_less, looks_only
from pytest_irquality.plugin.items import RESULTS, CheckItem, KnownItem
from pytest_irquality.plugin.marks import Mark, as_ended, mark_of
from pytest_irquality.plugin.planning import PLAN
from pytest_irquality.plugin.writing import Writing, github
from pytest_irquality.report.text import quiet, summary
from pytest_irquality.verdict.joined import joined
from pytest_irquality.verdict.pool import Pool
from pytest_irquality.verdict.result import BAD, SuiteResult, Verdict

Key = tuple[str, str]  # a suite's path and the name of a retriever


class Session:
    """Gathers each suite's result from the reports that carry one, with or without xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.results: dict[Key, SuiteResult] = {}
        self.by_worker: dict[Key, dict[str, SuiteResult]] = {}
        self.disputed: dict[Key, tuple[Verdict, ...]] = {}
        self.items: dict[str, KnownItem | None] = {}  # by node id; None: another process knows
        self.ended: dict[str, Mark | None] = {}  # by node id
        self.writing = Writing(config)
        self.pools: list[Pool] = []
        self.not_judged = 0  # items whose retriever could not be asked anything
        self.far: list[str] = []  # what workers found deselected
        self.errors: list[str] = []  # what stopped anything, in words

    # -- what there is -----------------------------------------------------------------------------

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which items there are, and of which suite and retriever."""
        for item in session.items:
            if isinstance(item, CheckItem):
                self.items[item.nodeid] = item.known

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Note under xdist which suites had no selected check: all workers collect the same."""
        self.far = getattr(node, "workeroutput", {}).get("ir_left_out", self.far)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note which items there are under xdist.

        They are elsewhere, and a worker that dies can report nothing.
        """
        for id in ids:
            file = Path(id.partition("::")[0])
            if any(map(file.match, self.config.stash[PLAN].project.patterns)):
                self.items.setdefault(id, None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.errors.append(report.longreprtext)

    def pytest_internalerror(self, excrepr: object) -> None:
        """Note an error of pytest or of a plugin."""
        self.errors.append(str(excrepr).rpartition("\n")[2])

    # -- what became of it -------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take from a report what it carries: a result, and what became of one check's item."""
        worker = str(getattr(getattr(getattr(report, "node", None), "gateway", None), "id", ""))
        if pool := getattr(report, "ir_pool", None):
            self.pools.append(decode(pool, Pool))
        if (told := getattr(report, "ir_item", None)) is not None:
            self.items[report.nodeid] = KnownItem(*told)
        if report.nodeid not in self.items:
            return
        if report.failed and getattr(report, "ir_not_judged", False):
            self.not_judged += 1
            self.errors.append(report.longreprtext)
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
        results = as_ended(
            [(self.results[key], marks.get(key, {})) for key in sorted(self.results)]
        )
        plan = self.config.stash[PLAN]
        results = saying_again(self.config, results, accepts_nothing=plan.accepts_nothing)
        if not plan.strict:
            return results
        chosen = asked_for_less(self.config)
        return [replace(one, refused=one.ledger.refused(chosen=chosen)) for one in results]

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
        """The suites that were to be judged and have no result."""
        return [name for name, reason in self._without_result() if not reason]

    @property
    def left_out(self) -> list[str]:
        """The suites of which nothing was judged, and should not be: skipped, or deselected.

        Where nothing was judged at all, whoever selected other tests is told nothing.
        """
        skipped = [f"{name}: {reason}" for name, reason in self._without_result() if reason]
        if not (self.results or self._refuses_left_out):
            return skipped
        return [*skipped, *(self.far or self.config.stash.get(LEFT_OUT, []))]

    @property
    def _refuses_left_out(self) -> bool:
        return self.config.stash[PLAN].strict and not asked_for_less(self.config)

    def _without_result(self) -> Iterator[tuple[str, str]]:
        """The suites that were collected and have no result, with the reason of a skip."""
        marks = self._marks()
        for key in dict.fromkeys(self._unjudged()):
            path, retriever = key
            name = f"{path} [{retriever}]" if retriever else path
            yield name, _why_skipped([*marks.get(key, {}).values()])

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
    def tells(self) -> bool:
        """True where there is anything to report."""
        return bool(not looks_only(self.config) and (self.results or self.missing or self.left_out))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Report what all suites lost together, when all were judged, as a test that failed."""
        result = yield
        if not looks_only(self.config):
            for known, report in of_all_suites(self.ordered):
                self.items[report.nodeid] = known
                session.testscollected += 1
                self.config.hook.pytest_runtest_logreport(report=report)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports, and fail a session that would pass against a verdict or a file.

        Where all that failed was never judged the status is that of a suite that cannot be read, so
        that whoever looks for the change that broke search passes over it.
        """
        lay_out(self.config, self.ordered, self.items)
        if self.tells:
            self.writing.all_of(self.ordered, self.missing, self.left_out, self.pools)
        bad = self._contradicts() or self._refused() or self.writing.not_written
        if session.exitstatus == pytest.ExitCode.OK and bad:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.not_judged and session.testsfailed == self.not_judged and not self._contradicts():
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        self.writing.at_last(partial(self._last_words, session))

    def _last_words(self, session: pytest.Session, error: BaseException | None) -> str:
        """Make the short document of ``--ir-json=-``."""
        errors = dict.fromkeys([*self.errors, *([str(error)] if error else [])])
        if not (errors or self.results or self.left_out):
            errors["no suite was collected"] = None
        status = pytest.ExitCode.USAGE_ERROR if error else session.exitstatus
        named = self.missing, self.left_out
        return self.writing.digest(self.ordered, *named, status=int(status), errors=[*errors])

    def _refused(self) -> bool:
        """Tell whether something is refused that was left out, or that the base's exam shows."""
        whole = self._refuses_left_out and bool(self.left_out)
        if self.config.stash[PLAN].accepts_nothing:
            whole = whole or any(line.endswith((GONE, HIDDEN)) for line in self.left_out)
        results = self.ordered
        refused = any(one.refused for one in results)
        return whole or refused or any(exam.failed for one in results for exam in one.exams)

    def _contradicts(self) -> bool:
        """Tell whether a verdict is bad that no item could show.

        Workers disagree, or no item's call was made.
        """
        disputed = [verdict for some in self.disputed.values() for verdict in some]
        if any(verdict.outcome in BAD for verdict in disputed):
            return True
        if any(result.alarmed for result in self.results.values()):
            return True
        setup_only = getattr(self.config.option, "setuponly", False) and not looks_only(self.config)
        return bool(setup_only) and any(result.failed for result in self.ordered)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """Print the table of each suite, and last one line each, which is all under ``-q``.

        Nothing is printed where nothing ran.
        """
        if not self.tells or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        terminalreporter.section("search quality")
        results = self.ordered
        left_out = self.left_out
        missing = [f"{name}: NOT EVALUATED" for name in (*self.missing, *left_out)]
        if terminalreporter.verbosity < 0:
            lines = [*self.writing.written, *quiet(results), *missing]
        else:
            written = [*self.writing.written, *missing]
            brief = terminalreporter.verbosity == 0
            width = width_of(self.config)
            lines = list(summary(results, width, written, left_out, brief=brief))
        for line in lines:
            bad = any(word in line for word in ("✗", "FAILED", "NOT "))
            terminalreporter.write_line(terminal(line), red=bad)
        for command in github(self.config, results):
            terminalreporter.write_line(command)


def _why_skipped(marks: Sequence[Mark | None]) -> str:
    """The reason, where all checks of a suite were excused."""
    reasons = [mark.reason for mark in marks if mark]
    return reasons[0] if 0 < len(reasons) == len(marks) else ""


def _file_and_variant(id: str) -> Key:
    """Give the suite and retriever of a node id of which nothing better is known."""
    file, _, name = id.partition("::")
    return file, name.partition("[")[2].removesuffix("]")
