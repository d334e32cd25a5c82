"""What happens once a session, in the process that reports: results are gathered, written and summed up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.printable import terminal
from pytest_irquality.edges.write import append, write_text
from pytest_irquality.plugin.collect import SuiteModule, suite_of, suites_of
from pytest_irquality.report.annotations import github_annotations
from pytest_irquality.report.data import decode, decode_pool, document
from pytest_irquality.report.text import headline, summaries
from pytest_irquality.storage.history import HistoryError, record
from pytest_irquality.verdict import SuiteResult, Verdict
from pytest_irquality.verdict.joined import joined
from pytest_irquality.verdict.pool import Pool
from pytest_irquality.verdict.result import BAD
from pytest_irquality.wording.numbers import counted

REPORT = "ir-report.html"


class Session:
    """Gathers each suite's result from the reports that carry one, with or without xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.results: dict[tuple[str, str], SuiteResult] = {}
        self.by_worker: dict[tuple[str, str], dict[str, SuiteResult]] = {}
        self.disputed: dict[tuple[str, str], tuple[Verdict, ...]] = {}
        self.expected: dict[tuple[str, str], None] = {}
        self.written: list[str] = []
        self.pools: list[Pool] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which suites and retrievers there should be results of."""
        self.expected.update(
            dict.fromkeys(key for item in session.items if (key := suite_of(item)))
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The same under xdist, where the items are elsewhere and a worker that dies can report nothing."""
        self.expected.update(dict.fromkeys(suites_of(self.config, ids)))

    def pytest_report_collectionfinish(
        self, config: pytest.Config, items: Sequence[pytest.Item]
    ) -> list[str]:
        """One line for each folder asked for in which no file is a suite.

        None where ``--ir-suite`` stands in the project's settings: it then means "suites, too".
        """
        if not any(str(arg).startswith("--ir-suite") for arg in config.invocation_params.args):
            return []
        found = [item.path for item in items if isinstance(item.parent, SuiteModule)]
        patterns = " ".join(config.getini("ir_suite_files"))
        lines = []
        for arg in config.args:
            folder = Path(config.invocation_params.dir, arg.partition("::")[0]).resolve()
            empty = folder.is_dir() and not any(
                path.resolve().is_relative_to(folder) for path in found
            )
            # A suite may be there and deselected, so what was not collected is looked for on the disk.
            if empty and not any(
                next(folder.rglob(pattern), None) for pattern in config.getini("ir_suite_files")
            ):
                lines.append(f"irquality: no suite in {arg}: no file there matches {patterns}")
        return lines

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a result, and what there is to grade, from the report that carries them."""
        if (pool := getattr(report, "ir_pool", None)) is not None:
            self.pools.append(decode_pool(pool) if isinstance(pool, str) else pool)
        own = getattr(report, "ir_result", None)
        for sent in (*([] if own is None else [own]), *getattr(report, "ir_checked", ())):
            result = decode(sent) if isinstance(sent, str) else sent
            key = result.path, result.retriever
            worker = str(getattr(getattr(getattr(report, "node", None), "gateway", None), "id", ""))
            some = self.by_worker.setdefault(key, {})
            some[worker] = result  # a rerun's takes the place of what it was a rerun of
            self.results[key], self.disputed[key] = (
                joined(list(some.values())) if len(some) > 1 else (result, ())
            )

    @property
    def missing(self) -> list[str]:
        """Suites that were collected and have no result: a broken fixture, or a stop before their turn."""
        return [
            f"{path} [{name}]" if name else path
            for path, name in self.expected
            if (path, name) not in self.results
        ]

    @property
    def ordered(self) -> list[SuiteResult]:
        """The results in an order that does not depend on who finished first."""
        return [self.results[key] for key in sorted(self.results)]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports; nothing where nothing was evaluated."""
        disputed = [verdict for some in self.disputed.values() for verdict in some]
        if (
            any(verdict.outcome in BAD for verdict in disputed)
            and session.exitstatus == pytest.ExitCode.OK
        ):
            session.exitstatus = (
                pytest.ExitCode.TESTS_FAILED
            )  # the item itself ran in a worker where it passed
        option = self.config.option
        if option.ir_history and self.results and not option.collectonly:
            self._record(option.ir_history)
        if not self.results or option.collectonly or getattr(option, "setupplan", False):
            return
        if option.ir_report != "none":
            from datetime import datetime  # noqa: PLC0415
            from importlib.metadata import version  # noqa: PLC0415

            from pytest_irquality.report.html import html_report  # noqa: PLC0415 - jinja2 only where a page is made

            formulas = {
                measure: formula
                for result in self.ordered
                for measure, formula in zip(result.measures, result.formulas, strict=True)
            }
            made = f"Made by pytest-irquality {version('pytest-irquality')} on {datetime.now():%Y-%m-%d at %H:%M}."
            page = html_report(
                self.ordered, definitions=formulas, not_evaluated=self.missing, generated=made
            )
            self._write(option.ir_report, page)
        if option.ir_json:
            self._write(option.ir_json, document(self.ordered, self.missing))
        if option.ir_unjudged or option.ir_judge:
            self._write_what_to_grade()
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if option.ir_markdown or summary:
            from pytest_irquality.report.markdown import markdown_report  # noqa: PLC0415

            text = markdown_report(self.ordered, not_evaluated=self.missing)
            if option.ir_markdown:
                self._write(option.ir_markdown, text)
            if summary:
                try:
                    append(Path(summary), text)
                except OSError as error:
                    self.written.append(
                        f"NOT WRITTEN: the job's summary: {error.strerror or error}"
                    )

    def _record(self, name: str) -> None:
        entries = [result.entry for result in self.ordered if result.entry is not None]
        try:
            record(Path(self.config.invocation_params.dir, name), name, entries)
        except (OSError, HistoryError) as error:
            self.written.append(f"NOT WRITTEN: {name}: {error}")
        else:
            self.written.append(f"history: {name}: {counted(len(entries), 'line')}")

    def _write_what_to_grade(self) -> None:
        from pytest_irquality.report.judging import judging_page, to_grade  # noqa: PLC0415
        from pytest_irquality.report.unjudged import unjudged_csv  # noqa: PLC0415
        from pytest_irquality.verdict.pool import by_importance  # noqa: PLC0415

        pools = by_importance(self.pools, self.ordered)
        many = f": {to_grade(pools)}"
        if self.config.option.ir_unjudged:
            self._write(self.config.option.ir_unjudged, unjudged_csv(pools), "to grade", many)
        if self.config.option.ir_judge:
            self._write(self.config.option.ir_judge, judging_page(pools), "page to grade in", many)

    def _write(self, name: str, text: str, what: str = "report", more: str = "") -> None:
        path = Path(self.config.invocation_params.dir, name)
        # The default is nobody's choice, so it may be a link that a stranger has put there.
        allowed = Allowed.project(self.config.rootpath) if name == REPORT else None
        try:
            write_text(path, text, allowed)
        except OSError as error:
            self.written.append(f"NOT WRITTEN: {name}: {error.strerror or error}")
        else:
            self.written.append(f"{what}: {name}{more}")

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """The table of each suite; one line each under ``-q``; nothing where nothing ran, or should have."""
        nothing = not self.results and not (self.expected and not self.config.option.collectonly)
        if nothing or exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        terminalreporter.section("search quality")
        if terminalreporter.verbosity < 0:
            lines = [
                line
                for result in self.ordered
                for line in (
                    f"{result.path}{f' [{result.retriever}]' * bool(result.retriever)}: {headline(result)}",
                    *(line for line in result.written if not line.startswith(" ")),
                )
            ]
        else:
            lines = list(summaries(self.ordered))
        lines += [f"{name}: NOT EVALUATED" for name in self.missing]
        for line in [*lines, *self.written]:
            bad = "✗" in line or "FAILED" in line or "NOT " in line
            terminalreporter.write_line(terminal(line), red=bad)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            root = os.environ.get("GITHUB_WORKSPACE")
            folder = self.config.invocation_params.dir
            for command in github_annotations(self.ordered, folder, Path(root) if root else None):
                terminalreporter.write_line(command)
