"""Write reports to files, the terminal, annotations of CI and standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_irquality.baselines.store import BASELINE_FOLDER
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.io import files
from pytest_irquality.io.git import GitError, Repository, find_checkout
from pytest_irquality.plugin.collection import PluginState
from pytest_irquality.plugin.options import OPTIONS, is_worker, list_command_words
from pytest_irquality.reports.build_view import build_view
from pytest_irquality.reports.terminal import Line, render_lines
from pytest_irquality.reports.view_model import MARKED_BYTES, OUTPUT_MARKER, View, ViewSettings

if TYPE_CHECKING:
    from pytest_irquality.baselines.history import HistoryEntry

CI_COLUMNS = 120
_CODE_PATTERNS = ("*.py", "*.sh", "*.ini", "*.cfg", "*.toml", ".*", "makefile", "dockerfile")
_BRANCH_VARIABLES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME")


class ReportWriter:
    """Writes the reports of a session."""

    def __init__(self, config: pytest.Config, state: PluginState) -> None:
        self.config = config
        self.state = state
        self._version = ""
        with suppress(PackageNotFoundError):  # an uninstalled checkout
            # Read early: a session can leave no file descriptor to read it with.
            self._version = version("pytest-irquality")
        self._start = time.monotonic()
        self._now = datetime.now(timezone.utc)

    def write_reports(
        self, decision: Decision, history: Sequence[HistoryEntry], update_command: Sequence[str]
    ) -> tuple[View, list[str]]:
        """Write every report that an option or the environment asks for.

        Args:
            decision: The decision on the build.
            history: The earlier builds.
            update_command: The words of the command that updates baselines.

        Returns:
            The content of the reports, and an error for each that an option names but that could
            not be written.
        """
        options = self.state.options
        settings = self._create_settings(decision, history, update_command)
        view = build_view(decision, settings)
        renderers: dict[str, Callable[[], str]] = {}
        for option in OPTIONS:
            if option.renderer:
                report = option.flag.removeprefix("--ir-")
                renderers[report] = partial(_render, option.renderer, view)
        renderers["grading"] = partial(_render, "grading:render_grading", decision, options.grade)
        errors = []
        written = dict(settings.written)
        for report, name in settings.written.items():
            path = self.config.invocation_params.dir / name
            try:
                check_output(path, self.config.rootpath, options.suite_files)
                files.write_atomically(path, renderers[report]())
            except (OSError, files.FileError) as error:
                del written[report]
                # If only the default path is in use already, that fails no build.
                if report != "report" or options.report:
                    reason = getattr(error, "strerror", None) or str(error)
                    errors.append(f"{name} could not be written. {reason}")
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            try:
                files.append_text(Path(summary), renderers["markdown"]())
            except OSError as error:
                errors.append(f"The job summary could not be written. {error.strerror}")
        view = replace(view, settings=replace(settings, written=written))
        if STANDARD_OUTPUT_KEY in self.config.stash:
            self.config.stash[STANDARD_OUTPUT_KEY].view = view
        return view, errors

    def _create_settings(
        self, decision: Decision, history: Sequence[HistoryEntry], update_command: Sequence[str]
    ) -> ViewSettings:
        options, search_session = self.state.options, self.state.search_session
        written = options.reports
        grading_link = ""
        if options.grade:
            written["grading"] = options.grade
        if options.grade.endswith(".html") and "report" in written:
            folder = os.path.dirname(written["report"]) or "."
            grading_link = os.path.relpath(options.grade, folder).replace(os.sep, "/")
        source = (search_session.base or search_session.current).source
        compared_with = source.label
        if not compared_with and decision.current.branch.baselines:
            compared_with = BASELINE_FOLDER
        folder = ""
        with suppress(ValueError):  # another drive of Windows
            folder = self.state.get_relative_path(self.config.invocation_params.dir)
        # Commands that name an item need the parameter of its retriever.
        suffixes: dict[tuple[str, str], str] = {}
        for module in self.state.modules.values():
            for item in module.items:
                key = item.shared.key
                suffix = item.name.removeprefix(item.check_item.name)
                suffixes.setdefault((key.path, str(key.retriever)), suffix)
        return ViewSettings(
            branch=_read_branch(search_session.root),
            commit=search_session.commit,
            compared_with=compared_with,
            compared_commit=source.commit,
            now=self._now,
            command=list_command_words(self.config),
            update_command=tuple(update_command),
            folder=folder,
            node_suffixes=suffixes,
            written=written,
            grading_link=grading_link,
            history=history,
            seconds=time.monotonic() - self._start,
            version=self._version,
        )


def render_section(config: pytest.Config, view: View, verbosity: int) -> list[Line]:
    """Return the lines of the section in the terminal."""
    columns = CI_COLUMNS
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        columns = config.get_terminal_writer().fullwidth
    return render_lines(view, verbosity=verbosity, columns=columns)


def list_annotations(config: pytest.Config, view: View) -> Sequence[str]:
    """Return workflow commands for GitHub, unless another plugin annotates failures."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return ()
    for plugin in config.pluginmanager.get_plugins():
        if str(getattr(plugin, "__name__", "")).startswith("pytest_github_actions_annotate"):
            return ()
    from pytest_irquality.reports.pull_request import render_annotations

    workspace = os.environ.get("GITHUB_WORKSPACE")
    repository = Path(workspace) if workspace else None
    return render_annotations(view, root=config.rootpath, repository=repository).splitlines()


def _render(renderer: str, *arguments: object) -> str:
    module, _, function = renderer.partition(":")
    render = getattr(import_module(f"pytest_irquality.reports.{module}"), function)
    text: str = render(*arguments)
    return text


def _read_branch(root: Path) -> str:
    for variable in _BRANCH_VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    try:
        output = Repository.find(root).read_output("rev-parse", "--abbrev-ref", "HEAD")
    except GitError:
        return ""
    name = output.decode("utf-8", "replace").strip()
    return "" if name == "HEAD" else name


# -- Standard output (``--ir-json=-``) -------------------------------------------------------------

STANDARD_OUTPUT_KEY = pytest.StashKey["StandardOutput"]()


class StandardOutput:
    """Keeps standard output until pytest has ended, and then writes a document to it.

    Attributes:
        view: The content of the reports, once they are written.
    """

    view: View | None = None

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.errors: dict[str, str] = {}
        self.stream = sys.stdout
        self.descriptor = -1
        sys.stdout.flush()
        with suppress(OSError):  # closed, as for a daemon
            self.descriptor = os.dup(1)
            os.dup2(2, 1)
        sys.stdout = sys.stderr
        config.stash[STANDARD_OUTPUT_KEY] = self
        config.pluginmanager.register(self, "irquality-standard-output")
        # Cleanups run in reverse order, so this one comes after the last words of pytest.
        config.add_cleanup(self.restore)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could not be collected."""
        if report.failed:
            self.errors[report.nodeid] = report.longreprtext

    def restore(self) -> None:
        """Restore standard output, and write the document."""
        from pytest_irquality.reports.json_report import render_short_json

        sys.stdout.flush()
        sys.stdout = self.stream
        if self.descriptor >= 0:
            os.dup2(self.descriptor, 1)
            os.close(self.descriptor)
        if is_worker(self.config):
            return
        error = sys.exc_info()[1]
        session = self.config.pluginmanager.get_plugin("session")
        status = session.exitstatus if session is not None else pytest.ExitCode.OK
        if error is not None:
            self.errors["pytest"] = str(error)
            status = pytest.ExitCode.USAGE_ERROR
        view = self.view or build_view(decide(Branch(errors=self.errors), {}))
        protected = [str(self.config.inipath)] if self.config.inipath else []
        text = render_short_json(view, exit_status=int(status), protected_paths=protected)
        # JSON is UTF-8, whatever the encoding of the terminal is.
        self.stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        self.stream.flush()


# -- Files that a report may replace ---------------------------------------------------------------


def check_output(path: Path, root: Path, suite_patterns: Sequence[str]) -> None:
    """Refuse to write a report to a file that is not a report.

    Args:
        path: The file of the report. It may be a device such as ``/dev/stdout``.
        root: pytest's rootdir, to which paths in messages are relative.
        suite_patterns: Globs of the names of suites.

    Raises:
        FileError: The path is a folder, is named like a suite, code or configuration, is tracked by
            git, or is a file that is not a report of this plugin.
    """
    shown = (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()
    names = {path.name.casefold(), Path(os.path.realpath(path)).name.casefold()}
    for pattern in (*suite_patterns, *_CODE_PATTERNS):
        if any(fnmatchcase(name, pattern) for name in names):
            message = "A report cannot replace a suite, code or configuration. Choose another file."
            raise files.FileError(shown, message)
    if BASELINE_FOLDER in Path(os.path.realpath(path)).parts:
        raise files.FileError(shown, "This folder is for baselines. Choose another for the report.")
    if path.is_dir():
        raise files.FileError(shown, "This is a folder. Choose a file for the report.")
    try:
        target = files.resolve_target(path)
    except OSError as error:
        raise files.FileError(shown, str(error)) from None
    if _is_tracked(target):
        raise files.FileError(
            shown, "Git tracks this file, so a report must not replace it. Choose another."
        )
    if target.is_file() and not _is_report(target):
        raise files.FileError(
            shown,
            "This file is not a report of pytest-irquality, so it is not replaced. Move it, or"
            " choose another.",
        )


def _is_tracked(target: Path) -> bool:
    top = find_checkout(target.parent)
    if top is None:
        return False
    repository = Repository(top)
    try:
        return repository.is_tracked(target)
    except GitError:
        # If git is installed but fails, assume that it tracks the file.
        return repository.is_available and target.exists()


def _is_report(target: Path) -> bool:
    """Return whether a file begins like a report of this plugin, or is empty."""
    with files.open_binary(target) as file:
        start = file.read(MARKED_BYTES)
    return not start or OUTPUT_MARKER.encode() in start
