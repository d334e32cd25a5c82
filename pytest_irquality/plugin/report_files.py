"""The files that a session writes: reports, history, saved runs and baselines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.io.files import FileError, append_text, check_output, write_atomically
from pytest_irquality.io.git import GitError, Repository, describe_commit
from pytest_irquality.plugin import command_line
from pytest_irquality.plugin.options import OPTIONS
from pytest_irquality.plugin.state import PluginState
from pytest_irquality.reports.view import build_view
from pytest_irquality.reports.view_model import View, ViewSettings

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
            command=tuple(command_line.format_command(self.config)),
            update_command=tuple(command_line.format_update_command(self.config)),
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
