"""Item of ``--ir-init QUERIES``: it asks the project's retriever a list and writes a suite."""

from __future__ import annotations

import os
import types
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_irquality.edges.project import Project
from pytest_irquality.edges.write import write_new, write_text
from pytest_irquality.pipeline.grading import to_grade
from pytest_irquality.pipeline.judged import NotJudged
from pytest_irquality.plugin.internals import MadeModule
from pytest_irquality.plugin.options import Options
from pytest_irquality.report.judging import LIST, to_be_graded, to_grade as what_to_grade
from pytest_irquality.retrieval import RetrieverError, Run, retrieve
from pytest_irquality.storage.target import Target
from pytest_irquality.suite import Query, Suite, SuiteError
from pytest_irquality.suite.first_suite import (
    GRADES,
    UNGRADED,
    Asked,
    GradingPage,
    first_suite,
    listed,
)
from pytest_irquality.verdict.pool import Pool, by_importance
from pytest_irquality.wording.numbers import counted

CANDIDATES = 10
SUFFIX = ".ir.yaml"
SAID = pytest.StashKey[str]()


class FirstSuite(MadeModule):
    """A list of queries, collected as one test: that a first suite can be made of it."""

    queries: Sequence[Asked]
    runs: list[Run]

    def made(self) -> types.ModuleType:
        """Read the queries, and make the module."""

        def write_first_suite(_ir_first: None) -> None:
            pass

        self.queries, self.runs = self._read(), []
        return self.module_of(write_first_suite, "ir_init", pytest.mark.usefixtures("retriever"))

    def _read(self) -> Sequence[Asked]:
        file = self.path.name
        try:
            queries = listed(self.path, file)
        except SuiteError as error:
            raise self.CollectError(str(error)) from None
        if not queries:
            raise self.CollectError(f"{file}:1:1: no query in it")
        return queries


def target(queries: Path) -> Path:
    """Place of the suite: ``queries.ir.yaml`` beside ``queries.txt``."""
    return queries.with_name(
        f"{queries.name.removesuffix('.gz').partition('.')[0] or queries.name}{SUFFIX}"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Nothing else runs."""
    items[:] = [item for item in items if isinstance(item.parent, FirstSuite)]


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
    """Ask, write the suite, and the page where one is asked for.

    Both are written after each retriever anew, with what all of them returned so far.
    """
    item, options = request.node, Options(request.config)
    retrievers = len(request.session.items)
    if retrievers > 1 and getattr(item.config, "workerinput", {}).get("workercount", 1) > 1:
        pytest.fail(f"--ir-init asks {retrievers} retrievers in one process: add -n0", False)
    path, start, runs = target(item.path), item.config.invocation_params.dir, item.parent.runs
    asked = item.parent.queries
    suite = _to_ask(path, asked, options)
    runs.append(_run(suite, request))
    pools = _pools(suite, runs, request)
    page = _page(options.judge, path, start) if options.judge else None
    answered = [*_answered(asked, suite, runs, pools)]
    empty = max(sum(not one.ids for one in run.first.rankings.values()) for run in runs)
    text = first_suite(suite.name, item.path.name, answered, page=page, empty=empty)
    _new(path, text) if len(runs) == 1 else write_text(path, text)
    if page:
        _write_page(path, start / page.name, pools)
    written = (path.relative_to(start) if path.is_relative_to(start) else path).as_posix()
    wrote = f"wrote {written}: {counted(len(asked), 'query', 'queries')}"
    if faults := {id for run in runs for id in run.faults}:
        why = next(fault.message for run in runs for fault in run.faults.values())
        wrote = f"{wrote}, {len(faults)} of them could not be answered ({why})"
    grade = _what_to_do(page.name if page else "", written, pools)
    item.stash[SAID] = f"{wrote}{grade}, and run pytest --ir-suite {written}"


def _what_to_do(page: str, written: str, pools: Sequence[Pool]) -> str:
    """Rest of the sentence on what was written."""
    if not page:
        return f", each with up to {CANDIDATES} candidates to grade.\nNow: grade them"
    grade = f"open it, grade, save its file beside {written}"
    if page.endswith(LIST):
        grade = "fill it in"
    return f".\nto grade: {page}: {what_to_grade(page, pools)}\nNow: {grade}"


def _pools(suite: Suite, runs: Sequence[Run], request: pytest.FixtureRequest) -> Sequence[Pool]:
    """Answers of the retrievers, and every kept run that the command line names."""
    options, start = Options(request.config), request.config.invocation_params.dir
    retriever = request.getfixturevalue("retriever") if options.judge else None  # who may look
    named, depth = [*options.runs, *options.baseline], options.judge_depth or CANDIDATES
    try:
        asked = Target(suite, start / suite.path, "")
        found = to_grade(asked, runs, named, retriever, Project(start, start), depth=depth)
    except NotJudged as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return by_importance([found], ())


def _page(named: str, suite: Path, start: Path) -> GradingPage:
    """Page where grades are given, and the files in which the suite reads them."""
    if named.endswith(LIST):
        return GradingPage(named, Path(os.path.relpath(start / named, suite.parent)).as_posix())
    return GradingPage(named, suite.name.replace(SUFFIX, ".judgments*.csv"))


def _answered(
    asked: Sequence[Asked], suite: Suite, runs: Sequence[Run], pools: Sequence[Pool]
) -> Iterator[Asked]:
    """The queries with their candidates, or why there are none."""
    found = {query.id: query.documents for one in pools for query in one.queries}
    for one, query in zip(asked, suite.queries, strict=True):
        fault = next((run.faults[query.id].message for run in runs if query.id in run.faults), None)
        candidates = found.get(query.id)
        titles = None if candidates is None else {each.id: each.title for each in candidates}
        yield replace(one, documents=titles, fault=fault)


def _to_ask(path: Path, asked: Sequence[Asked], options: Options) -> Suite:
    """A suite of the queries that expects nothing yet."""
    return Suite(
        path.name.removesuffix(SUFFIX),
        path.name,
        tuple(Query(one.id or one.text, one.text, tags=(*one.tags,)) for one in asked),
        depth=max(CANDIDATES, options.judge_depth or 0),
        grades=GRADES,
    )


def _write_page(suite: Path, page: Path, pools: Sequence[Pool]) -> None:
    """Write the page, and a file of judgments without any.

    The suite reads what is saved beside it, and is to pass before there is any.
    """
    judged = suite.with_name(suite.name.replace(SUFFIX, ".judgments.csv"))
    if not (judged.exists() or page.name.endswith(LIST)):
        _new(judged, UNGRADED)
    try:
        write_text(page, to_be_graded(page.name, pools))
    except OSError as error:
        pytest.fail(f"{page.name} was not written: {error.strerror or error}", pytrace=False)


def _new(path: Path, text: str) -> None:
    try:
        write_new(path, text, Project(path.parent, path.parent).allowed())
    except OSError as error:
        pytest.fail(f"{path.name} was not written: {error.strerror or error}", pytrace=False)


def _run(suite: Suite, request: pytest.FixtureRequest) -> Run:
    """Answers of the retriever to the queries, if it answers any of them."""
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
