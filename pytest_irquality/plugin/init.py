"""``--ir-init QUERIES``: one item that asks the project's own retriever every query of a list and writes a suite."""

from __future__ import annotations

import types
from collections.abc import Generator
from pathlib import Path

import pytest

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.write import write_new
from pytest_irquality.retrieval import RetrieverError, Run, retrieve
from pytest_irquality.suite import Query, Suite, SuiteError
from pytest_irquality.suite.files.formats import Record
from pytest_irquality.suite.files.queries import read_queries, tags
from pytest_irquality.suite.files.source import Source
from pytest_irquality.suite.first_suite import Asked, first_suite
from pytest_irquality.wording.numbers import counted

CANDIDATES = 10
SAID = pytest.StashKey[str]()


class FirstSuite(pytest.Module):
    """A list of queries, collected as one test: that a first suite can be made of it."""

    _made: types.ModuleType | None = None

    def _getobj(self) -> types.ModuleType:
        if self._made is None:
            shown = self.path.name
            try:
                source = Source(self.path, shown)
                self.records = unique(read_queries(source, (), "text").records)
            except SuiteError as error:
                raise self.CollectError(str(error)) from None
            if not self.records:
                raise self.CollectError(f"{shown}:1:1: no query in it")
            self._made = types.ModuleType("ir_init")
            self._made.__file__ = str(self.path)

            def write_first_suite(_ir_first: None) -> None:
                pass

            vars(self._made)["pytestmark"] = [pytest.mark.usefixtures("retriever")]
            vars(self._made)[write_first_suite.__name__] = write_first_suite
        return self._made

    def funcnamefilter(self, name: str) -> bool:
        """Only what was made here is a test."""
        return name == "write_first_suite"

    def classnamefilter(self, name: str) -> bool:
        """There are no classes here."""
        return False


def unique(records: list[Record]) -> list[Record]:
    """The records without those that repeat a text."""
    return list({record.cells["query"].strip(): record for record in reversed(records)}.values())[
        ::-1
    ]


def target(queries: Path) -> Path:
    """Where the suite goes: ``queries.ir.yaml`` beside ``queries.txt``."""
    return queries.with_name(
        f"{queries.name.removesuffix('.gz').partition('.')[0] or queries.name}.ir.yaml"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Nothing else runs; of a parametrised retriever the first is asked."""
    items[:] = [item for item in items if isinstance(item.parent, FirstSuite)][:1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """One line for a retriever that is not there."""
    try:
        return (yield)
    except pytest.FixtureLookupError as error:
        if error.argname != "retriever":
            raise
        advice = (
            "write it in a conftest.py, as the README shows, beside the list of queries or above"
        )
        raise pytest.fail.Exception(
            f"no fixture 'retriever' is found from here; {advice}", pytrace=False
        ) from None


@pytest.fixture
def _ir_first(request: pytest.FixtureRequest) -> None:
    item = request.node
    path = target(item.path)
    records = {record.cells["query"].strip(): record for record in item.parent.records}
    queries = tuple(Query(text, text) for text in records)
    suite = Suite("first suite", str(item.path), queries, depth=CANDIDATES)
    try:
        run = retrieve(suite, request.getfixturevalue("retriever"))
    except RetrieverError as error:
        raise pytest.fail.Exception(f"{error} (fixture 'retriever')", pytrace=False) from None
    if run.interrupted:
        pytest.fail("interrupted; nothing was written", pytrace=False)
    if not run.rankings:
        fault = next(iter(run.faults.values()))
        raise pytest.fail.Exception(
            f"no query could be answered, so nothing was written: {fault.message}", pytrace=False
        ) from fault.error
    asked = [
        Asked(
            text,
            records[text].cells.get("id", "").strip() or None,
            tags(records[text]),
            _candidates(run, text),
            run.faults[text].message if text in run.faults else None,
        )
        for text in records
    ]
    try:
        text = first_suite(path.name.removesuffix(".ir.yaml"), item.path.name, asked)
        write_new(path, text, Allowed.project(path.parent))
    except OSError as error:
        pytest.fail(f"{path.name} was not written: {error.strerror or error}", pytrace=False)
    failed = f", {len(run.faults)} of them could not be answered" if run.faults else ""
    start = item.config.invocation_params.dir
    shown = path.relative_to(start) if path.is_relative_to(start) else path
    number = counted(len(asked), "query", "queries")
    item.stash[SAID] = (
        f"wrote {shown.as_posix()}: {number}{failed}, each with up to {CANDIDATES} candidates to grade.\n"
        f"Now: grade them, and run pytest --ir-suite {shown.as_posix()}"
    )


def _candidates(run: Run, query: str) -> dict[str, str | None] | None:
    if query not in run.rankings:
        return None
    return {id: run.titles.get(id) for id in run.rankings[query].collapsed(CANDIDATES)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send what was written home with the report, as far as another process may be."""
    report = yield
    if report.when == "setup" and (said := item.stash.get(SAID, None)):
        vars(report)["ir_init"] = said
    return report


class Told:
    """Says in the end what was written."""

    said = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the words from the report that carries them."""
        self.said = getattr(report, "ir_init", self.said)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The words, on lines of their own."""
        if self.said:
            terminalreporter.section("first suite")
            for line in self.said.splitlines():
                terminalreporter.write_line(line)
