"""The end of a session: the decision, its files, and test reports for what no item can check."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_irquality.baselines.store import describe_update
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import make_printable
from pytest_irquality.io.files import FileError, append_text, check_output, write_atomically
from pytest_irquality.io.git import GitError, Repository, describe_commit
from pytest_irquality.plugin import compat, conclusion
from pytest_irquality.plugin.items import PluginState, get_state
from pytest_irquality.plugin.options import (
    OPTIONS,
    format_command,
    format_update_command,
    is_run_without_tests,
)
from pytest_irquality.reports.terminal import render_terminal
from pytest_irquality.reports.view import build_view
from pytest_irquality.reports.view_model import View, ViewSettings
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
        return self.state.search.has_anything and not is_run_without_tests(self.config)

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


_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
_CI_COLUMNS = 120


class ReportWriter:
    """Writes the reports of a session.

    Attributes:
        errors: What could not be written, although somebody asked for it.
        view: The content of the reports, once they are written.
    """

    def __init__(self, config: pytest.Config, state: PluginState) -> None:
        self.config = config
        self.state = state
        self.errors: list[str] = []
        self.view: View | None = None
        self._version = ""
        with suppress(PackageNotFoundError):  # an uninstalled checkout
            # Read early: a session can leave no file descriptor to read it with.
            self._version = version("pytest-irquality")
        self._start = time.monotonic()
        self._now = datetime.now(timezone.utc)

    def write_reports(self, decision: Decision) -> None:
        """Write every report that an option or the environment asks for."""
        options = self.state.options
        settings = self._create_settings(decision)
        view = build_view(decision, settings)
        self.view = view
        renderers: dict[str, Callable[[], str]] = {
            "grading": lambda: _render_grading(decision, options.grade),
        }
        for option in OPTIONS:
            if option.renderer:
                renderers[option.report_kind] = partial(_render, option.renderer, view)
        for kind, name in settings.written.items():
            # The default is nobody's choice, so a file that is in its way fails nothing.
            is_asked_for = kind != "report" or options.has_own_report
            self._write(kind, name, renderers[kind], is_asked_for=is_asked_for)
        summary = os.environ.get(_SUMMARY_VARIABLE)
        if summary:
            self._append(Path(summary), _render("markdown:render_markdown", view))

    def _write(
        self, kind: str, name: str, render: Callable[[], str], *, is_asked_for: bool
    ) -> None:
        path = self.config.invocation_params.dir / name
        try:
            check_output(path, self.config.rootpath, self.state.options.suite_patterns)
            write_atomically(path, render())
        except (OSError, FileError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if is_asked_for:
                self.errors.append(f"{name} could not be written. {reason}")
            self._forget_written(kind)

    def _forget_written(self, kind: str) -> None:
        assert self.view is not None
        settings = self.view.settings
        written = {other: path for other, path in settings.written.items() if other != kind}
        self.view = replace(self.view, settings=replace(settings, written=written))

    def _append(self, path: Path, text: str) -> None:
        try:
            append_text(path, text)
        except OSError as error:
            self.errors.append(f"The job summary could not be written. {error.strerror}")

    def _create_settings(self, decision: Decision) -> ViewSettings:
        options, search = self.state.options, self.state.search
        written = dict(options.reports)
        if options.grade:
            written["grading"] = options.grade
        grading_link = ""
        if options.grade.endswith(".html") and "report" in written:
            folder = os.path.dirname(written["report"]) or "."
            grading_link = os.path.relpath(options.grade, folder).replace(os.sep, "/")
        source = search.base.source if search.base else search.current.source
        compared_with = source.label
        if not compared_with and decision.current.branch.baselines:
            compared_with = ".ir-baseline"
        return ViewSettings(
            branch=_read_branch(search.root),
            commit=describe_commit(search.root),
            compared_with=compared_with,
            compared_commit=source.commit,
            now=self._now,
            command=tuple(format_command(self.config)),
            update_command=tuple(format_update_command(self.config)),
            folder=_find_relative_folder(self.config.invocation_params.dir, search.root),
            node_suffixes=self._find_node_suffixes(),
            written=written,
            grading_link=grading_link,
            history=self.state.history,
            seconds=time.monotonic() - self._start,
            version=self._version,
        )

    def _find_node_suffixes(self) -> dict[tuple[str, str], str]:
        suffixes: dict[tuple[str, str], str] = {}
        for module in self.state.modules.values():
            for item in module.items:
                key = item.group.key
                suffix = item.name.removeprefix(item.check.name)
                suffixes.setdefault((key.path, str(key.retriever)), suffix)
        return suffixes


def get_terminal_columns(config: pytest.Config) -> int:
    """Return the width of the terminal, or a usual width for the logs of CI."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return config.get_terminal_writer().fullwidth
    return _CI_COLUMNS


def list_annotations(config: pytest.Config, view: View) -> Sequence[str]:
    """Return workflow commands for GitHub, unless another plugin annotates failures."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return ()
    for plugin in config.pluginmanager.get_plugins():
        if str(getattr(plugin, "__name__", "")).startswith("pytest_github_actions_annotate"):
            return ()
    from pytest_irquality.reports.annotations import render_annotations

    repository = os.environ.get("GITHUB_WORKSPACE")
    text = render_annotations(
        view, root=config.rootpath, repository=Path(repository) if repository else None
    )
    return text.splitlines()


def _find_relative_folder(folder: Path, root: Path) -> str:
    try:
        return os.path.relpath(folder, root).replace(os.sep, "/")
    except ValueError:  # another drive of Windows
        return ""


def _read_branch(root: Path) -> str:
    for variable in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"):
        if os.environ.get(variable):
            return os.environ[variable]
    try:
        output = Repository.find(root).read_output("rev-parse", "--abbrev-ref", "HEAD")
    except GitError:
        return ""
    name = output.decode("utf-8", "replace").strip()
    return "" if name == "HEAD" else name


def _render(renderer: str, view: View) -> str:
    module, _, function = renderer.partition(":")
    text: str = getattr(import_module(f"pytest_irquality.reports.{module}"), function)(view)
    return text


def _render_grading(decision: Decision, path: str) -> str:
    from pytest_irquality.reports.grading import render_grading

    return render_grading(decision, path)


MakeDocument = Callable[["BaseException | None"], str]
"""Makes the document. The argument is the error that ended pytest, if one did."""
STANDARD_OUTPUT_KEY = pytest.StashKey["StandardOutput"]()


class StandardOutput:
    """Keeps standard output until pytest has ended, and then writes the document to it.

    Attributes:
        make_document: Makes the document, once there is a session.
    """

    make_document: MakeDocument | None = None

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.stream = sys.stdout
        self.descriptor = -1
        sys.stdout.flush()
        with suppress(OSError):  # closed, as for a daemon
            self.descriptor = os.dup(1)
            os.dup2(2, 1)
        sys.stdout = sys.stderr
        config.stash[STANDARD_OUTPUT_KEY] = self
        # Cleanups run in reverse order, so this one comes after the last words of pytest.
        config.add_cleanup(self.restore)

    def restore(self) -> None:
        """Give standard output back, and write the document."""
        sys.stdout.flush()
        sys.stdout = self.stream
        if self.descriptor >= 0:
            os.dup2(self.descriptor, 1)
            os.close(self.descriptor)
        if hasattr(self.config, "workerinput"):
            return
        error = sys.exc_info()[1]
        text = self.make_document(error) if self.make_document else _make_empty_document(error)
        # JSON is UTF-8, whatever the encoding of the terminal is.
        self.stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        self.stream.flush()


def _make_empty_document(error: BaseException | None) -> str:
    """Make the document for a session that ended before it began to collect."""
    from pytest_irquality.evaluation.decide import decide
    from pytest_irquality.evaluation.evaluate import Branch
    from pytest_irquality.reports.json_report import render_short_json
    from pytest_irquality.reports.view import build_view

    errors = {"pytest": str(error)} if error else {}
    status = pytest.ExitCode.USAGE_ERROR if error else pytest.ExitCode.OK
    return render_short_json(build_view(decide(Branch(errors=errors), {})), exit_status=int(status))
