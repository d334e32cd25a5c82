"""The end of a session: the decision, its files, and test reports for what no item can check."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

import pytest

from pytest_irquality.baselines.store import describe_update
from pytest_irquality.evaluation.branches import SuiteKey
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import make_printable
from pytest_irquality.plugin import command_line, compat, conclusion
from pytest_irquality.plugin.report_files import (
    ReportWriter,
    get_terminal_columns,
    list_annotations,
)
from pytest_irquality.plugin.standard_output import STANDARD_OUTPUT_KEY
from pytest_irquality.plugin.state import get_state
from pytest_irquality.reports.terminal import render_terminal
from pytest_irquality.reports.view import build_view
from pytest_irquality.suite.model import RetrieverId

NODE_PREFIX = "search quality"


class DecisionReport(NamedTuple):
    """A test report of our own.

    Attributes:
        name: The name after ``search quality::`` in the node id.
        is_failed: Whether the report fails. Otherwise it is xfailed.
    """

    name: str
    text: str
    is_failed: bool


class Reporter:
    """Decides once everything ran, in the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.state = get_state(config)
        self.writer = ReportWriter(config, self.state)
        self.decision: Decision | None = None
        self.has_failures = False
        self.collection_errors: list[str] = []

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Remember the session, which hooks of pytest-xdist do not receive."""
        self.state.session = session

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could not be collected, for the document on standard output."""
        if report.failed:
            self.collection_errors.append(report.longreprtext)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember whether anything is red, and which items the user's marks excuse."""
        if report.failed:
            self.has_failures = True
        excuse = getattr(report, "ir_excuse", None)
        if excuse is not None:
            (path, retriever), item_name, reason, is_skipped = excuse
            key = SuiteKey(path, RetrieverId(*retriever))
            self.state.search.add_excuse(key, item_name, reason, is_skipped=is_skipped)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Decide after the items ran, also if Ctrl-C or ``-x`` ended the session early."""
        try:
            return (yield)
        except (KeyboardInterrupt, session.Interrupted, session.Failed):
            self.state.search.is_interrupted = True
            raise
        finally:
            if self._is_reporting():
                self._conclude(session)

    def _is_reporting(self) -> bool:
        return self.state.search.has_anything and not command_line.is_run_without_tests(self.config)

    def _conclude(self, session: pytest.Session) -> None:
        conclusion.complete_facts(self.config, self.state)
        decision = self.state.search.decide()
        self.decision = decision
        self.writer.errors += conclusion.write_answers(self.config, self.state, decision)
        self.writer.write_reports(decision)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        for report in self._create_reports(decision):
            if terminal is not None:
                terminal.ensure_newline()
            self._log_report(session, report)

    def _create_reports(self, decision: Decision) -> Iterator[DecisionReport]:
        """Create a report for each finding that no item has, and one if nothing else is red."""
        is_red = self.has_failures
        for result in decision.current.shared_results:
            if result.outcome >= Outcome.REVIEW:
                is_failed = result.outcome >= Outcome.FAILED or decision.strict
                is_red = is_red or is_failed
                yield _create_report(result, "", is_failed=is_failed)
        for failure in decision.base_failures:
            name = decision.base.branch.name if decision.base else "base"
            is_red = is_red or decision.strict
            yield _create_report(failure.result, name, is_failed=decision.strict)
        status = 1 if self.writer.errors else decision.exit_status
        if status and not is_red:
            view = self.writer.view
            text = str(view.last_paragraph) if view else decision.outcome.name
            yield DecisionReport("build", "\n".join([text, *self.writer.errors]), is_failed=True)

    def _log_report(self, session: pytest.Session, report: DecisionReport) -> None:
        node_id = f"{NODE_PREFIX}::{report.name}"
        location = (NODE_PREFIX, None, report.name)
        hook = self.config.hook
        session.testscollected += 1
        hook.pytest_runtest_logstart(nodeid=node_id, location=location)
        for when in ("setup", "call", "teardown"):
            longrepr = None
            if report.is_failed and when == "call":
                longrepr = compat.PlainFailure(NODE_PREFIX, report.text)
            test_report = compat.make_report(node_id, location, when, longrepr)
            if not report.is_failed and when == "call":
                test_report.outcome = "skipped"
                test_report.wasxfail = report.text.partition("\n")[0]
            hook.pytest_runtest_logreport(report=test_report)
        hook.pytest_runtest_logfinish(nodeid=node_id, location=location)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Apply the exit status of the decision, if pytest's own is not worse."""
        replaceable = (
            pytest.ExitCode.OK,
            pytest.ExitCode.TESTS_FAILED,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        )
        if self.decision is not None and session.exitstatus in replaceable:
            status = max(self.decision.exit_status, int(bool(self.writer.errors)))
            if status == 2 or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
                session.exitstatus = pytest.ExitCode(status)
        output = self.config.stash.get(STANDARD_OUTPUT_KEY, None)
        if output is not None:
            output.make_document = lambda error: self._make_document(session, error)

    def _make_document(self, session: pytest.Session, error: BaseException | None) -> str:
        from pytest_irquality.reports.json_report import render_short_json

        view = self.writer.view
        if view is None:
            messages = [*self.collection_errors, *([str(error)] if error else [])]
            for number, message in enumerate(messages, start=1):
                self.state.search.current.add_error(f"error {number}", message)
            view = build_view(self.state.search.decide())
        status = pytest.ExitCode.USAGE_ERROR if error else session.exitstatus
        protected = [str(self.config.inipath)] if self.config.inipath else []
        return render_short_json(view, exit_status=int(status), protected_paths=protected)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print our section."""
        view = self.writer.view
        if view is None:
            return
        terminalreporter.section("search quality")
        text = render_terminal(
            view,
            verbosity=terminalreporter.verbosity,
            columns=get_terminal_columns(self.config),
        )
        updates = [str(describe_update(update)) for update in self.state.baseline_updates]
        lines = [*map(make_printable, updates), *self.writer.errors]
        for line in [*lines, *text.rstrip("\n").split("\n")]:
            is_red = line.lstrip().startswith(("✗", "FAILED", "ERROR"))
            terminalreporter.write_line(line, red=is_red)
        for line in list_annotations(self.config, view):
            terminalreporter.write_line(line)


def _create_report(result: CheckResult, base_name: str, *, is_failed: bool) -> DecisionReport:
    words: Iterable[str] = filter(None, [base_name, result.subject, result.label, result.item])
    name = make_printable(" ".join(dict.fromkeys(words))).replace("::", ": :")
    text = f"{result.subject}: {result.text}"
    return DecisionReport(name, make_printable(text), is_failed)
