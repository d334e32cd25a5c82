"""State of the plugin in a pytest session, and the items of suites."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.evaluation.comparison import Side
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import escape_log_line, escape_log_lines
from pytest_irquality.io.text import find_closest
from pytest_irquality.metrics import MetricError
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.options import Options
from pytest_irquality.plugin.session import Retrieval, SearchSession, encode_retrieval
from pytest_irquality.retrieval.calling import ExceptionPolicy
from pytest_irquality.retrieval.collect import ReportProgress
from pytest_irquality.retrieval.corpus import CorpusError
from pytest_irquality.retrieval.errors import ResultError, RetrieverError
from pytest_irquality.retrieval.run import QueryError, Run
from pytest_irquality.suite.model import CheckItem, ItemKind, Query, Suite
from pytest_irquality.suite.parser import make_item_name

if TYPE_CHECKING:
    from pytest_irquality.evaluation.evaluate import Evaluation
    from pytest_irquality.io.access import FileAccess

STATE_KEY = pytest.StashKey["PluginState"]()


@dataclass
class PluginState:
    """The state of an activated plugin.

    Attributes:
        options: The options and ini keys.
        search: Suites, runs and evaluations.
        file_access: Which files suites may name.
        declared_retrievers: Fixtures that suites may use, besides those that are named like one.
        modules: The ``SuiteModule`` of each collected suite by absolute path, selected or not.
        base_plugin: The ``BaseBranchPlugin`` of ``git:`` or ``run:``, if there is one.
    """

    options: Options
    search: SearchSession
    file_access: FileAccess
    declared_retrievers: tuple[str, ...] = ()
    modules: dict[Path, Any] = field(default_factory=dict)
    base_plugin: Any = None

    def get_relative_path(self, path: Path) -> str:
        """Return a path relative to the root of the project, with ``/``."""
        return os.path.relpath(path, self.search.root).replace(os.sep, "/")


def get_state(config: pytest.Config) -> PluginState:
    """Return the state of the session. The plugin must be activated."""
    return config.stash[STATE_KEY]


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    """Return whether this process distributes tests to workers of pytest-xdist."""
    return bool(getattr(config.option, "tx", None)) and not is_worker(config)


INTERVAL_S = 5.0


def create_progress(config: pytest.Config, name: str) -> ReportProgress | None:
    """Return a function that reports progress, or ``None`` if nobody would read it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0 or is_worker(config):
        return None
    capture = config.pluginmanager.get_plugin("capturemanager")
    start = time.monotonic()
    next_line = start + INTERVAL_S

    def report_progress(done: int, total: int) -> None:
        nonlocal next_line
        now = time.monotonic()
        if now < next_line or not 0 < done < total:
            return
        next_line = now + INTERVAL_S
        seconds_left = round((now - start) * (total - done) / done)
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.write_line(f"{name}: {done} of {total} calls, {seconds_left} s left")

    return report_progress


MIN_FROZEN_QUERIES = 1_000
# The item of a suite of the base branch. No item of a current suite has a colon in its name.
BASE_ITEM_NAME = "base:branch"
# A fixture of ours that nobody means by a similar name.
YARDSTICK = "bm25_retriever"
MARK_EXCEPTIONS = (pytest.skip.Exception, pytest.xfail.Exception)
ERRORS = (BaselineError, CorpusError, MetricError, ResultError, RetrieverError)


@dataclass(eq=False)
class SuiteGroup:
    """State that all items of a suite and retriever share.

    Attributes:
        attempt: Which run of its item ran the queries, as pytest-rerunfailures counts.
        shown_causes: At which item an error was shown in full, by its cause.
        properties: The properties of all items, of which many are equal and share one tuple.
    """

    state: PluginState
    key: SuiteKey
    is_ready: bool = False
    attempt: int = 0
    error: str = ""
    error_item: str = ""
    skip: BaseException | None = None
    shown_causes: dict[str, str] = field(default_factory=dict)
    properties: dict[tuple[str, object], tuple[str, object]] = field(default_factory=dict)
    _results: Mapping[str, Sequence[CheckResult]] = field(default_factory=dict)
    _evaluation: Evaluation | None = None

    @property
    def suite(self) -> Suite:
        """Return the suite."""
        return self.state.search.current.suites[self.key]

    @property
    def run(self) -> Run:
        """Return the answers."""
        return self.state.search.runs.get(self.suite.run_key, Run())

    @property
    def evaluation(self) -> Evaluation:
        """Return the evaluation of the suite."""
        return self.state.search.evaluate(self.key)

    def find_results(self, item_name: str) -> Sequence[CheckResult]:
        """Return the results that belong to an item."""
        evaluation = self.evaluation
        if self._evaluation is not evaluation:
            results: dict[str, list[CheckResult]] = {}
            for result in evaluation.results:
                results.setdefault(result.item, []).append(result)
            self._results, self._evaluation = results, evaluation
        return self._results.get(item_name, ())


class SuiteItem(pytest.Function):
    """A query, threshold or other check of a suite, on one retriever."""

    group: SuiteGroup
    check: CheckItem
    retrieval: Retrieval | None = None

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the line of the check in the suite."""
        location = self.check.location
        root = self.group.state.search.root
        path = root / location.path if location.path else self.path
        # pytest prints a dot as "::" if the node id ends with this name, and a copied node id would
        # not be found. The invisible space at the end prevents that.
        name = f"{self.name} " if "." in self.name else self.name
        return path, location.line - 1, name

    def listextrakeywords(self) -> set[str]:
        """Return the words that ``-k`` knows besides the name: tags and the text of the query."""
        words = {self.check.label, make_item_name(self.check.label)}
        query = self.group.suite.queries_by_id.get(self.check.query_id)
        if query is not None:
            words.update([query.text, make_item_name(query.text), *query.tags])
        return super().listextrakeywords() | words

    # -- Setup -----------------------------------------------------------------------------------

    def setup(self) -> None:
        """Run the queries of the suite if they did not run, and raise what is no verdict."""
        group = self.group
        if self._needs_retrieval():
            self._retrieve()
        if group.skip is not None:
            raise type(group.skip)(str(group.skip))
        if group.error:
            self._fail(f"{group.error} (see {group.error_item})")
        if not group.is_ready:  # pytest shows fixtures only
            return
        if self.check.kind is ItemKind.QUERY:
            query = group.suite.queries_by_id[self.check.query_id]
            if query.request in group.run.errors:
                self._raise_error(query, group.run.errors[query.request])
            if query.request not in group.run.answers:
                self._skip("The query did not run.")
        if self.check.kind is ItemKind.ANSWERS:
            self._raise_missing_answers()
        self.user_properties += self._list_properties()

    def _needs_retrieval(self) -> bool:
        group = self.group
        has_run = group.is_ready or bool(group.error) or group.skip is not None
        is_rerun = getattr(self, "execution_count", 1) > group.attempt
        # A rerun repeats only queries without an answer, so it cannot turn a broken rule green.
        is_unanswered = bool(group.error) or (group.is_ready and bool(self._find_errors()))
        return not has_run or (is_rerun and is_unanswered)

    def _retrieve(self) -> None:
        group = self.group
        search = group.state.search
        group.attempt = getattr(self, "execution_count", 1)
        self.retrieval = Retrieval(group.key)
        try:
            retriever = None
            if not search.uses_saved_runs:
                super().setup()
                if self.config.getoption("setupplan", False):
                    return
                retriever = run_queries(self, group.state, group.key, group.suite)
            search.evaluate(group.key, retriever)
            if is_worker(self.config):
                self.retrieval = search.create_retrieval(group.key)
        except (pytest.exit.Exception, KeyboardInterrupt):
            raise
        except get_exception_policy().skips as error:
            group.skip = error
            raise
        except BaseException as error:
            text = describe_error(error, group.suite)
            group.error = escape_log_line(text.partition("\n")[0])
            group.error_item = self.name
            self.retrieval = Retrieval(group.key, error=group.error)
            search.add_retrieval(self.retrieval)
            # A traceback would not help with a missing retriever or one of our own messages.
            fixture = group.suite.retriever.fixture
            is_missing = getattr(error, "argname", "") == fixture
            if is_missing or isinstance(error, ERRORS):
                self._fail(text)
            raise
        group.error = ""
        group.is_ready = True
        search.add_retrieval(Retrieval(group.key))
        freeze_large_suite(group.suite)

    def _find_errors(self) -> list[tuple[Query, QueryError]]:
        """Return the queries of this item that have no answer."""
        suite, errors = self.group.suite, self.group.run.errors
        if not errors:
            return []
        queries: Iterable[Query] = suite.queries
        if self.check.query_id:
            queries = [suite.queries_by_id[self.check.query_id]]
        return [(query, errors[query.request]) for query in queries if query.request in errors]

    def _raise_missing_answers(self) -> None:
        """Raise an error for the item that says whether all queries have an answer."""
        results = self.group.find_results(self.check.name)
        failed = [result for result in results if result.outcome is Outcome.FAILED]
        if failed:
            for query, error in self._find_errors():
                if not error.is_skipped and error.cause not in self.group.shown_causes:
                    self._raise_error(query, error)
            self._fail(self._format(failed))

    def _raise_error(self, query: Query, error: QueryError) -> NoReturn:
        """Raise the error of a query: in full the first time, in one line after that."""
        if error.is_skipped:
            self._skip(error.message)
        place = str(query.location)
        text = f'"{query.text}": {error.message}'
        shown_at = self.group.shown_causes.setdefault(error.cause, self.name)
        if shown_at != self.name:
            self._fail(f"{text} (see {shown_at})\n  at {place}")
        errors = self.group.run.errors.values()
        alike_count = sum(other.cause == error.cause for other in errors)
        suffix = f"\n{alike_count} queries failed with this error" if alike_count > 1 else ""
        # SystemExit and its like would leave the setup of pytest in pieces.
        if not isinstance(error.exception, Exception) or isinstance(error.exception, ERRORS):
            self._fail(f"{text}\n  at {place}{suffix}")
        self.add_report_section("setup", "query", escape_log_line(f"{text} at {place}") + suffix)
        raise error.exception

    def _repr_failure_py(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        error = excinfo.value
        if isinstance(error, pytest.fail.Exception) and not error.pytrace:
            path, line, _ = self.reportinfo()
            return compat.make_failure(str(error), str(path), line + 1)
        compat.remove_own_frames(excinfo)
        return super()._repr_failure_py(excinfo, style)

    # -- Call ------------------------------------------------------------------------------------

    def runtest(self) -> None:
        """Raise if a check of this item fails."""
        results = self.group.find_results(self.check.name)
        failed = [result for result in results if result.outcome >= Outcome.FAILED]
        if failed:
            self._fail(self._format(failed))
        reviewed = [result for result in results if result.outcome is Outcome.REVIEW]
        if reviewed and self.group.state.search.is_strict_build:
            self._fail(self._format(reviewed))
        expected = [result for result in results if result.known_issue_id]
        for result in [*reviewed, *expected]:
            reason = (
                f"{result.known_issue_id}: {result.text}" if result.known_issue_id else result.text
            )
            pytest.xfail(escape_log_line(str(reason)))
        incomplete = [result for result in results if result.outcome is Outcome.INCOMPLETE]
        if incomplete and len(incomplete) == len(results):
            self._skip(str(incomplete[0].text))

    def _format(self, results: Sequence[CheckResult]) -> str:
        from pytest_irquality.reports.terminal import format_failure

        return format_failure(results, self.group.evaluation)

    def _skip(self, reason: str) -> NoReturn:
        # pytest names the place of the item then, not this one.
        raise pytest.skip.Exception(escape_log_line(reason), _use_item_location=True)

    def _fail(self, text: str) -> NoReturn:
        pytest.fail(escape_log_lines(text), pytrace=False)

    # -- Properties ------------------------------------------------------------------------------

    def _list_properties(self) -> list[tuple[str, object]]:
        """Return what JUnit and other reports show: values, changes, tags and the first rank."""
        suite = self.group.suite
        properties: list[tuple[str, object]] = []
        query = suite.queries_by_id.get(self.check.query_id)
        if query is None:
            for result in self.group.find_results(self.check.name):
                label = result.label or self.check.label
                values = {label: result.value, f"{label} before": result.baseline_value}
                properties += [(name, each) for name, each in values.items() if each is not None]
            return properties
        comparison = self.group.evaluation.comparison
        for metric in suite.metrics:
            value = comparison.values(metric, Side.RETURNED).get(query.id)
            if value is None:
                continue
            properties.append((sys.intern(str(metric)), value))
            before = comparison.values(metric, Side.BEFORE).get(query.id)
            now = comparison.values(metric, Side.ALIGNED).get(query.id)
            if before is not None and now is not None and before != now:
                properties.append((f"{metric} change", now - before))
        if query.tags:
            properties.append(("tags", ", ".join(query.tags)))
        rankings = self.group.run.answers.get(query.request, ())
        for rank, doc_id in enumerate(rankings[0].doc_ids if rankings else (), start=1):
            if doc_id in query.judgments.relevant:
                properties.append(("rank of the first relevant document", rank))
                break
        known = self.group.properties
        return [known.setdefault(each, each) for each in properties]


def run_queries(item: pytest.Function, state: PluginState, key: SuiteKey, suite: Suite) -> object:
    """Run the queries of a suite with the fixtures that an item has set up.

    Returns:
        The retriever.
    """
    retriever = item.funcargs[suite.retriever.fixture]
    compared = None
    if suite.baseline_retriever:
        compared_id = compat.find_retriever(suite.baseline_retriever, item)
        compared = (compared_id, item.funcargs[suite.baseline_retriever])
    state.search.collect(key, retriever, compared)
    if state.search.is_interrupted:
        item.session.shouldstop = "interrupted while queries ran"
    return retriever


class BrokenSuiteItem(pytest.Item):
    """A suite that cannot be read: one item that errors, while other suites are evaluated."""

    retrieval: Retrieval | None = None
    text = ""

    def setup(self) -> None:
        """Fail with the mistakes of the suite."""
        pytest.fail(self.text, pytrace=False)

    def runtest(self) -> None:
        """Do nothing, because the setup fails."""

    def reportinfo(self) -> tuple[str, int, str]:
        """Return the suite, with a name that is safe to print."""
        assert self.parent is not None
        return self.parent.nodeid, 0, self.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Make errors safe to print, and add what this item retrieved to the report."""
    report = yield
    if not hasattr(item, "retrieval"):
        return report
    if not report.passed:
        compat.clean_report(report)
    if report.when == "setup" and is_worker(item.config):
        retrieval = getattr(item, "retrieval", None)
        if retrieval is not None:
            vars(report)["ir_retrieval"] = encode_retrieval(retrieval)
            vars(item)["retrieval"] = None
    return report


def get_exception_policy() -> ExceptionPolicy:
    """Return which exceptions skip a query, and which end the session."""
    skips: tuple[type[BaseException], ...] = MARK_EXCEPTIONS
    if "unittest" in sys.modules:  # importing it takes as long as running a small suite
        skips = (*skips, sys.modules["unittest"].SkipTest)
    return ExceptionPolicy(skips=skips, escapes=(pytest.exit.Exception,))


def freeze_large_suite(suite: Suite) -> None:
    """Keep the garbage collector from visiting a large suite and its answers again and again.

    They live until the end of the session, and each item makes it look at all of them.
    """
    if len(suite.queries) >= MIN_FROZEN_QUERIES:
        gc.freeze()


def describe_error(error: BaseException, suite: Suite) -> str:
    """Describe in one line why a retriever cannot be used."""
    fixture = suite.retriever.fixture
    if isinstance(error, pytest.FixtureLookupError) and error.argname == fixture:
        available = set(compat.list_available_fixtures(error)) - {YARDSTICK}
        closest = find_closest(fixture, sorted(available))
        hint = f" Did you mean '{closest}'?" if closest else ""
        return (
            f"{suite.path}: there is no fixture '{fixture}'.{hint} Write it in a conftest.py, name"
            " yours under 'retriever', or set 'ir_url' or 'ir_command' in the ini file."
        )
    if isinstance(error, (*ERRORS, pytest.fail.Exception)):
        return str(error)
    return f"{type(error).__name__}: {error}"
