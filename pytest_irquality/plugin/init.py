"""``--ir-init QUERIES``: one item that asks the project's own retriever every query of a list and
writes a suite.
"""

from __future__ import annotations

import types
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.edges.open import Allowed
from pytest_irquality.edges.printable import GRADED_COLUMNS
from pytest_irquality.edges.write import write_new, write_text
from pytest_irquality.plugin.options import Options
from pytest_irquality.report.judging import to_be_graded, to_grade
from pytest_irquality.retrieval import RetrieverError, Run, retrieve
from pytest_irquality.suite import Query, Suite, SuiteError
from pytest_irquality.suite.files.logs import Logged, logged
from pytest_irquality.suite.files.queries import read_queries, tags
from pytest_irquality.suite.files.source import Source
from pytest_irquality.suite.first_suite import GRADES, Asked, GradingPage, first_suite
from pytest_irquality.suite.sampling import Sample, sample
from pytest_irquality.verdict.pool import Pool, by_importance, pool
from pytest_irquality.wording.numbers import counted, grouped

SAMPLE = 200
CANDIDATES = 10
SAID = pytest.StashKey[str]()


class FirstSuite(pytest.Module):
    """A list of queries, collected as one test: that a first suite can be made of it."""

    _made: types.ModuleType | None = None

    def _getobj(self) -> types.ModuleType:
        if self._made is None:  # pytest may ask more than once
            self.queries = self._read()
            self._made = self._make()
        return self._made

    def _read(self) -> Sequence[Logged]:
        file = self.path.name
        try:
            records = read_queries(Source(self.path, file), (), "text").records
            queries = logged(records, file)
        except SuiteError as error:
            raise self.CollectError(str(error)) from None
        if not queries:
            raise self.CollectError(f"{file}:1:1: no query in it")
        return queries

    def _make(self) -> types.ModuleType:
        def write_first_suite(_ir_first: None) -> None:
            pass

        module = types.ModuleType("ir_init")
        module.__file__ = str(self.path)
        vars(module)["pytestmark"] = [pytest.mark.usefixtures("retriever")]
        vars(module)[write_first_suite.__name__] = write_first_suite
        return module

    def funcnamefilter(self, name: str) -> bool:
        """Only what was made here is a test."""
        return name == "write_first_suite"

    def classnamefilter(self, name: str) -> bool:
        """There are no classes here."""
        return False


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
        advice = "write it in a conftest.py beside the list of queries or above, or set ir_url"
        raise pytest.fail.Exception(
            f"no fixture 'retriever' is found from here; {advice}", pytrace=False
        ) from None


@pytest.fixture
def _ir_first(request: pytest.FixtureRequest) -> None:
    """Ask, write the suite, and the page where one is asked for."""
    item, options = request.node, Options(request.config)
    path = target(item.path)
    drawn = _sample(item.parent.queries, options.init.size if options.init else None)
    asked = _chosen(item.parent.queries, drawn)
    suite = _to_ask(path, asked, options)
    run = _run(suite, request)
    answered = [
        replace(one, documents=_candidates(run, query.id), fault=_fault(run, query.id))
        for one, query in zip(asked, suite.queries, strict=True)
    ]
    page = GradingPage(options.judge, f"{suite.name}.judgments*.csv") if options.judge else None
    _new(path, first_suite(suite.name, item.path.name, answered, drawn, page))
    start = item.config.invocation_params.dir
    written = (path.relative_to(start) if path.is_relative_to(start) else path).as_posix()
    wrote = f"wrote {written}: {_how_many(asked, drawn)}"
    if run.faults:
        wrote = f"{wrote}, {len(run.faults)} of them could not be answered"
    if page is None:
        item.stash[SAID] = (
            f"{wrote}, each with up to {CANDIDATES} candidates to grade.\n"
            f"Now: grade them, and run pytest --ir-suite {written}"
        )
        return
    pools = by_importance([pool(suite, [run], options.judge_depth or CANDIDATES)], ())
    _write_page(path.with_name(f"{suite.name}.judgments.csv"), start / page.name, pools)
    item.stash[SAID] = (
        f"{wrote}.\npage to grade in: {page.name}: {to_grade(pools)}\n"
        f"Now: open it, grade, save its file beside {written}, and run pytest --ir-suite {written}"
    )


def _to_ask(path: Path, asked: Sequence[Asked], options: Options) -> Suite:
    """A suite of the queries that expects nothing yet."""
    return Suite(
        path.name.removesuffix(".ir.yaml"),
        path.name,
        tuple(Query(one.id or one.text, one.text, tags=(*one.tags,)) for one in asked),
        depth=max(CANDIDATES, options.judge_depth or 0),
        grades=GRADES,
    )


def _how_many(asked: Sequence[Asked], drawn: Sample | None) -> str:
    """``3 queries``, or ``200 of 7,000 queries`` of a log."""
    if drawn:
        return f"{grouped(len(asked))} of {grouped(drawn.queries)} queries"
    return counted(len(asked), "query", "queries")


def _write_page(judged: Path, page: Path, pools: Sequence[Pool]) -> None:
    """The page, and a file of judgments without any: the suite reads what is saved beside it, and
    is to pass before there is any.
    """
    if not judged.exists():
        _new(judged, f"{','.join(GRADED_COLUMNS)}\n")
    try:
        write_text(page, to_be_graded(page.name, pools))
    except OSError as error:
        pytest.fail(f"{page.name} was not written: {error.strerror or error}", pytrace=False)


def _new(path: Path, text: str) -> None:
    try:
        write_new(path, text, Allowed.project(path.parent))
    except OSError as error:
        pytest.fail(f"{path.name} was not written: {error.strerror or error}", pytrace=False)


def _fault(run: Run, query: str) -> str | None:
    return run.faults[query].message if query in run.faults else None


def _sample(queries: Sequence[Logged], size: int | None) -> Sample | None:
    """What is drawn of a log; None of a list of queries that counts nothing, unless a size is asked
    for.
    """
    counts = [query.searches for query in queries]
    if not any(count is not None for count in counts):
        if size is None:
            return None
        counts = [1.0] * len(counts)
    return sample([count or 0.0 for count in counts], size or SAMPLE)


def _chosen(queries: Sequence[Logged], drawn: Sample | None) -> list[Asked]:
    """The queries to ask, with their weights where they were drawn."""
    if drawn is None:
        return [_asked(query) for query in queries]
    return [_asked(queries[one.place], one.weight) for one in drawn.drawn]


def _asked(query: Logged, weight: float | None = None) -> Asked:
    id = query.record.cells.get("id", "").strip() or None
    return Asked(query.text, id, tags(query.record), weight=weight)


def _run(suite: Suite, request: pytest.FixtureRequest) -> Run:
    """What the retriever returns for the queries, if it answers any of them."""
    details = bool(Options(request.config).judge)
    try:
        run = retrieve(suite, request.getfixturevalue("retriever"), details=details)
    except RetrieverError as error:
        raise pytest.fail.Exception(f"{error} (fixture 'retriever')", pytrace=False) from None
    if run.interrupted:
        pytest.fail("interrupted; nothing was written", pytrace=False)
    if not run.answered:
        fault = next(iter(run.faults.values()))
        raise pytest.fail.Exception(
            f"no query could be answered, so nothing was written: {fault.message}", pytrace=False
        ) from fault.error
    return run


def _candidates(run: Run, query: str) -> dict[str, str | None] | None:
    if query not in run.answered:
        return None
    ids = run.first.rankings[query].collapsed(CANDIDATES)
    return {id: run.first.titles.get(id) for id in ids}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send what was written home with the report, as far as another process may be."""
    report = yield
    if report.when == "setup" and (said := item.stash.get(SAID, None)):
        vars(report)["ir_init"] = said
    return report


class LastWords:
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
