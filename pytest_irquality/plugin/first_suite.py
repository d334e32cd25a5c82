"""``--ir-init=QUERIES``: one item runs a list of queries and writes a first suite next to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.escaping import escape_log_lines, quote_command
from pytest_irquality.io.files import FileError, read_bytes, write_atomically, write_new_file
from pytest_irquality.io.text import format_count
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.items import ERRORS_WITHOUT_TRACEBACK, get_exception_policy
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.retriever_fixtures import DEFAULT_RETRIEVER
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite import suite_writer
from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.model import Query, Settings

CANDIDATE_COUNT = 10
WORKFLOW_PATH = ".github/workflows/search-quality.yml"
WORKFLOW = Path(__file__).with_name("workflow.yml")


class FirstSuitePlugin:
    """A plugin of pytest that collects the list of queries and nothing else.

    Args:
        config: The configuration of the session.
        options: Its options, with the path of the list.

    Raises:
        pytest.UsageError: There is no list, there is a suite already, or workers would write it.
    """

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.options = options
        self.message = ""
        self.path = config.invocation_params.dir / options.init
        target = suite_writer.get_first_suite_path(self.path)
        if not self.path.is_file():
            raise pytest.UsageError(f"--ir-init: '{options.init}' is not a file.")
        if getattr(config.option, "numprocesses", None):
            raise pytest.UsageError("--ir-init needs a single process. Add `-n0`.")
        if target.exists():
            raise pytest.UsageError(
                f"--ir-init: '{target.name}' already exists. Rename it, or add queries to it."
            )

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> FirstSuiteModule | None:
        """Collect the list of queries."""
        if file_path.resolve() != self.path.resolve():
            return None
        module: FirstSuiteModule = FirstSuiteModule.from_parent(parent, path=file_path)
        module.plugin = self
        return module

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run nothing else."""
        items[:] = [item for item in items if isinstance(item, FirstSuiteItem)]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was written."""
        if self.message:
            terminalreporter.section("first suite")
            terminalreporter.write_line(escape_log_lines(self.message))


class FirstSuiteModule(compat.SynthesizedModule):
    """A list of queries, with one item for each parameter of the retriever."""

    plugin: FirstSuitePlugin
    source: suite_writer.InitSource
    runs: list[Run]

    def load_fixture_names(self) -> Sequence[str]:
        """Read the list, and return the retriever if there are queries to run."""
        self.runs = []
        root = self.config.rootpath
        access = FileAccess(root, self.plugin.options.files, (self.path.parent,))
        try:
            self.source = suite_writer.read_init_source(self.path, root=root, access=access)
        except SuiteError as error:
            raise self.CollectError(escape_log_lines(str(error))) from None
        return [DEFAULT_RETRIEVER] if self.source.kind == "queries" else []

    def collect(self) -> Sequence[pytest.Item]:
        """Collect an item for each parameter of the retriever."""
        cases = self.collect_cases()
        needs_retriever = self.source.kind == "queries"
        if needs_retriever and not compat.has_fixture(cases[0], DEFAULT_RETRIEVER):
            raise self.CollectError(
                f"There is no fixture '{DEFAULT_RETRIEVER}'. Write it in a conftest.py next to the"
                " list or above, or set 'ir_url' or 'ir_command' in the ini file."
            )
        return [compat.create_item(FirstSuiteItem, case, "write-suite") for case in cases]


class FirstSuiteItem(pytest.Function):
    """Runs the queries on one retriever and writes what all retrievers returned so far."""

    def setup(self) -> None:
        """Run the queries and write the suite."""
        super().setup()
        module = self.parent
        assert isinstance(module, FirstSuiteModule)
        queries = [Query(query.id or query.text, query.text) for query in module.source.queries]
        if module.source.kind == "queries":
            module.runs.append(self._collect_run(module.plugin.options, queries))
        try:
            module.plugin.message = _write_suite(module, queries)
        except (OSError, FileError) as error:
            pytest.fail(f"The suite was not written. {error}", pytrace=False)

    def _collect_run(self, options: Options, queries: Sequence[Query]) -> Run:
        __tracebackhide__ = True
        try:
            run = collect_run(
                self.funcargs[DEFAULT_RETRIEVER],
                queries,
                Settings(id_field=options.id_field),
                depth=CANDIDATE_COUNT,
                exceptions=get_exception_policy(),
            )
        except ERRORS_WITHOUT_TRACEBACK as error:
            pytest.fail(str(error), pytrace=False)
        if run.provenance.is_interrupted:
            pytest.fail("Interrupted. Nothing was written.", pytrace=False)
        if not run.answers:
            message = next(iter(run.errors.values())).message
            pytest.fail(f"No query has an answer, so nothing was written. {message}", pytrace=False)
        return run


def _write_suite(module: FirstSuiteModule, queries: Sequence[Query]) -> str:
    """Write the suite, replacing that of an earlier retriever, and describe what to do next."""
    path = suite_writer.get_first_suite_path(module.path)
    pairs = zip(module.source.queries, queries, strict=True)
    answered = [_add_candidates(init_query, query, module.runs) for init_query, query in pairs]
    text = suite_writer.format_first_suite(module.source, path.name.partition(".")[0], answered)
    if len(module.runs) > 1:
        write_atomically(path, text)
    else:
        write_new_file(path, text)
    shown = os.path.relpath(path, module.config.invocation_params.dir)
    count = f" with {format_count(len(answered), 'query', 'queries')}" if answered else ""
    command = quote_command(["pytest", "--ir-suite"], [shown])
    lines = [f"Wrote {shown}{count}.", *module.source.notes]
    lines.append(f"Follow the steps at its top, and run `{command}`.")
    workflow = module.config.rootpath / WORKFLOW_PATH
    try:
        if workflow.parent.is_dir() and not _has_workflow(workflow.parent):
            write_new_file(workflow, WORKFLOW.read_text("utf-8"))
            lines.append(f"Wrote {WORKFLOW_PATH}. Check how it installs your search.")
    except (OSError, FileError) as error:
        lines.append(f"{WORKFLOW_PATH} was not written. {error}")
    return "\n".join(lines)


def _has_workflow(folder: Path) -> bool:
    """Return whether a workflow runs the plugin."""
    workflows = [read_bytes(path) for path in folder.iterdir() if path.is_file()]
    return any(b"--ir-" in workflow or b"pytest-irquality" in workflow for workflow in workflows)


def _add_candidates(
    init_query: suite_writer.InitQuery, query: Query, runs: Sequence[Run]
) -> suite_writer.InitQuery:
    """Return a query with the results of all retrievers, or the error of the first one."""
    documents: dict[str, str] | None = None
    message = ""
    for run in runs:
        if query.request in run.errors:
            message = message or run.errors[query.request].message
        for ranking in run.answers.get(query.request, ())[:1]:
            documents = documents or {}
            for doc_id in ranking.doc_ids[:CANDIDATE_COUNT]:
                documents.setdefault(doc_id, run.titles.get(doc_id, ""))
    return replace(init_query, documents=documents, error=message)
