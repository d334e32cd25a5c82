"""``--ir-init=QUERIES``: one item runs a list of queries and writes a first suite next to it."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.escaping import make_printable, quote_command
from pytest_irquality.io.files import FileError, write_atomically, write_new_file
from pytest_irquality.io.text import format_count
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.collection import USUAL_RETRIEVER
from pytest_irquality.plugin.items import ERRORS, get_exception_policy
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.session import SearchSession
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.run import Run, merge_runs
from pytest_irquality.suite.model import Query, RetrieverId, Settings
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.records import GRADED_COLUMNS
from pytest_irquality.suite.yaml_source import SuiteError
from pytest_irquality.suite.yaml_writer import (
    InitQuery,
    InitSource,
    InitSourceKind,
    format_first_suite,
    get_first_suite_path,
    read_init_source,
)

CANDIDATE_COUNT = 10
_MESSAGE_ATTRIBUTE = "ir_init"


def register(config: pytest.Config, options: Options) -> None:
    """Register the hooks, if the list exists and the suite does not.

    Raises:
        pytest.UsageError: There is no list, or there is a suite already.
    """
    queries = config.invocation_params.dir / options.init
    target = get_first_suite_path(queries)
    if not queries.is_file():
        raise pytest.UsageError(f"--ir-init: '{options.init}' is not a file.")
    if target.exists() and not hasattr(config, "workerinput"):
        raise pytest.UsageError(
            f"--ir-init: '{target.name}' exists already. Rename it, or add queries to it."
        )
    config.pluginmanager.register(FirstSuiteReporter(), "irquality-first-suite")


def collect(path: Path, parent: pytest.Collector, options: Options) -> pytest.Collector | None:
    """Collect the list of queries, and no suite."""
    if path != (parent.config.invocation_params.dir / options.init).resolve():
        return None
    module: FirstSuiteModule = FirstSuiteModule.from_parent(parent, path=path)
    module.options = options
    return module


class FirstSuiteModule(compat.SynthesizedModule):
    """A list of queries, with one item for each parameter of the retriever."""

    options: Options
    source: InitSource
    runs: list[Run]

    def list_fixtures(self) -> Sequence[str]:
        """Read the list, and return the retriever if there are queries to run."""
        self.runs = []
        try:
            self.source = read_init_source(self.path, root=self.root, access=self.access)
        except SuiteError as error:
            raise self.CollectError(make_printable(str(error))) from None
        return [USUAL_RETRIEVER] if self.source.kind is InitSourceKind.QUERIES else []

    def collect(self) -> Sequence[pytest.Item]:
        """Collect an item for each parameter of the retriever."""
        cases = self.collect_cases()
        return [compat.create_item(FirstSuiteItem, case, "write-suite") for case in cases]

    @property
    def root(self) -> Path:
        """Return the root of the project."""
        return self.config.rootpath

    @property
    def access(self) -> FileAccess:
        """Return which files may be read."""
        return FileAccess(self.root, self.options.files, (self.path.parent,))


class FirstSuiteItem(pytest.Function):
    """Runs the queries on one retriever and writes what all retrievers returned so far."""

    message = ""

    def setup(self) -> None:
        """Run the queries and write the suite."""
        has_fixture = True
        try:
            super().setup()
        except pytest.FixtureLookupError as error:
            if error.argname != USUAL_RETRIEVER:
                raise
            has_fixture = False
        if not has_fixture:
            # After the block, or pytest would show the lookup error as well.
            pytest.fail(
                "There is no fixture 'retriever'. Write it in a conftest.py next to the list or"
                " above, or set 'ir_url' or 'ir_command' in the ini file.",
                pytrace=False,
            )
        module = self.parent
        assert isinstance(module, FirstSuiteModule)
        queries = [
            Query(query.id or query.text, query.text, tags=tuple(query.tags))
            for query in module.source.queries
        ]
        if module.source.kind is InitSourceKind.QUERIES:
            module.runs.append(self._collect_run(module, queries))
        try:
            self.message = _write_suite(
                module, queries, compat.find_retriever(USUAL_RETRIEVER, self)
            )
        except (OSError, FileError, SuiteError) as error:
            pytest.fail(f"The suite was not written. {error}", pytrace=False)

    def _collect_run(self, module: FirstSuiteModule, queries: Sequence[Query]) -> Run:
        __tracebackhide__ = True
        settings = Settings(id_field=module.options.id_field)
        try:
            run = collect_run(
                self.funcargs[USUAL_RETRIEVER],
                queries,
                settings,
                depth=max(CANDIDATE_COUNT, module.options.grade_depth or 0),
                exceptions=get_exception_policy(),
            )
        except ERRORS as error:
            pytest.fail(str(error), pytrace=False)
        if run.provenance.is_interrupted:
            pytest.fail("Interrupted. Nothing was written.", pytrace=False)
        if not run.answers:
            message = next(iter(run.errors.values())).message
            pytest.fail(f"No query has an answer, so nothing was written. {message}", pytrace=False)
        return run


def _write_suite(module: FirstSuiteModule, queries: Sequence[Query], retriever: RetrieverId) -> str:
    """Write the suite and the grading page, and describe what to do next."""
    options, path = module.options, get_first_suite_path(module.path)
    folder = module.config.invocation_params.dir
    shown = os.path.relpath(path, folder)
    judgments = ""
    if options.grade and module.source.kind is InitSourceKind.QUERIES:
        judgments = _prepare_judgments(options.grade, path, folder)
    answered = [_describe_query(query, module.runs) for query in queries]
    name = path.name.partition(".")[0]
    text = format_first_suite(module.source, name, answered, judgments=judgments)
    if len(module.runs) > 1:
        write_atomically(path, text)
    else:
        write_new_file(path, text)
    message = f"Wrote {shown}."
    if answered:
        message = f"Wrote {shown} with {format_count(len(answered), 'query', 'queries')}."
    if judgments:
        _write_grading_page(module, path, folder / options.grade, retriever)
        message += f" Grade the results in {options.grade}."
    command = quote_command(["pytest", "--ir-suite"], [shown])
    return f"{message}\nFollow the steps at its top, and run `{command}`."


def _describe_query(query: Query, runs: Sequence[Run]) -> InitQuery:
    documents: dict[str, str] | None = None
    message = ""
    for run in runs:
        if query.request in run.errors:
            message = message or run.errors[query.request].message
        for ranking in run.answers.get(query.request, ())[:1]:
            documents = documents or {}
            for doc_id in ranking.doc_ids[:CANDIDATE_COUNT]:
                documents.setdefault(doc_id, run.titles.get(doc_id, ""))
    query_id = query.id if query.id != query.text else ""
    return InitQuery(query.text, query_id, query.tags, documents, message)


def _prepare_judgments(page: str, suite: Path, folder: Path) -> str:
    """Return where the suite reads grades, and write a file without any, so the suite loads."""
    if page.endswith(".csv"):
        return os.path.relpath(folder / page, suite.parent).replace(os.sep, "/")
    stem = suite.name.partition(".")[0]
    empty = suite.with_name(f"{stem}.judgments.csv")
    if not empty.exists():
        write_new_file(empty, ",".join(GRADED_COLUMNS) + "\n")
    return f"{stem}.judgments*.csv"


def _write_grading_page(
    module: FirstSuiteModule, suite_path: Path, page: Path, retriever: RetrieverId
) -> None:
    from pytest_irquality.reports.grading import render_grading

    session = SearchSession(module.root)
    suite = load_suite(suite_path, root=module.root, access=module.access)
    key = session.current.add_suite(suite, retriever)
    session.add_run(session.current.suites[key].run_key, merge_runs(module.runs))
    write_atomically(page, render_grading(session.decide(), page.name))


class FirstSuiteReporter:
    """Runs nothing else, and says in the end what was written."""

    def __init__(self) -> None:
        self.message = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Run nothing else."""
        items[:] = [item for item in items if isinstance(item, FirstSuiteItem)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the message to the report, which pytest-xdist may send to another process."""
        report = yield
        if report.when == "setup" and isinstance(item, FirstSuiteItem) and item.message:
            vars(report)[_MESSAGE_ATTRIBUTE] = item.message
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the message from the report."""
        self.message = getattr(report, _MESSAGE_ATTRIBUTE, self.message)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the message."""
        if self.message:
            terminalreporter.section("first suite")
            for line in self.message.splitlines():
                terminalreporter.write_line(make_printable(line))
