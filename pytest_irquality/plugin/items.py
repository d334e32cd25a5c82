"""The items of suites: they run queries, and fail if a check fails."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import escape_log_line, escape_log_lines
from pytest_irquality.io.text import find_closest
from pytest_irquality.metrics import MetricError
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.session import Retrieval, encode_retrieval
from pytest_irquality.plugin.state import PluginState, is_worker
from pytest_irquality.retrieval.calling import ExceptionPolicy
from pytest_irquality.retrieval.corpus import CorpusError
from pytest_irquality.retrieval.errors import ResultError, RetrieverError
from pytest_irquality.retrieval.run import QueryError, Run
from pytest_irquality.suite.model import CheckItem, ItemKind, Query, Suite
from pytest_irquality.suite.parser import make_item_name

if TYPE_CHECKING:
    from pytest_irquality.evaluation.evaluate import Evaluation

MIN_FROZEN_QUERIES = 1_000
# The item of a suite of the base branch. No item of a current suite has a colon in its name.
BASE_ITEM_NAME = "base:branch"
# Our own fixture, which is never suggested for a misspelled name.
YARDSTICK = "bm25_retriever"
SKIP_EXCEPTIONS = (pytest.skip.Exception, pytest.xfail.Exception)
ERRORS_WITHOUT_TRACEBACK = (BaselineError, CorpusError, MetricError, ResultError, RetrieverError)


@dataclass(eq=False)
class SharedSuiteState:
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


class ReportedItem:
    """An item whose report is made safe to print, and brings what the item retrieved."""

    retrieval: Retrieval | None = None


class SuiteItem(ReportedItem, pytest.Function):
    """A query, threshold or other check of a suite, on one retriever."""

    shared: SharedSuiteState
    check_item: CheckItem

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the line of the check in the suite."""
        location = self.check_item.location
        root = self.shared.state.search.root
        path = root / location.path if location.path else self.path
        # pytest prints a dot as "::" if the node id ends with this name, and a copied node id would
        # not be found. The invisible space at the end prevents that.
        name = f"{self.name} " if "." in self.name else self.name
        return path, location.line - 1, name

    def listextrakeywords(self) -> set[str]:
        """Return the words that ``-k`` knows besides the name: tags and the text of the query."""
        words = {self.check_item.label, make_item_name(self.check_item.label)}
        query = self.shared.suite.queries_by_id.get(self.check_item.query_id)
        if query is not None:
            words.update([query.text, make_item_name(query.text), *query.tags])
        return super().listextrakeywords() | words

    # -- Setup -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Run the suite's queries unless they ran.

        Raise errors and skips; failed checks are raised by ``runtest``.
        """
        shared = self.shared
        if self.config.getoption("setupplan", False):
            super().setup()  # pytest only shows the fixtures
            return
        if self._needs_retrieval():
            self._retrieve()
        if shared.skip is not None:
            raise type(shared.skip)(str(shared.skip))
        if shared.error:
            self._fail(f"{shared.error} (see {shared.error_item})")
        if self.check_item.kind is ItemKind.QUERY:
            query = shared.suite.queries_by_id[self.check_item.query_id]
            if query.request in shared.run.errors:
                self._raise_error(query, shared.run.errors[query.request])
            if query.request not in shared.run.answers:
                self._skip("The query did not run.")
        if self.check_item.kind is ItemKind.ANSWERS:
            self._raise_missing_answers()
        self.user_properties += self._list_properties()

    def _needs_retrieval(self) -> bool:
        shared = self.shared
        has_run = shared.is_ready or bool(shared.error) or shared.skip is not None
        is_rerun = getattr(self, "execution_count", 1) > shared.attempt
        # A rerun repeats only queries without an answer, so it cannot turn a broken rule green.
        is_unanswered = bool(shared.error) or (shared.is_ready and bool(self._find_errors()))
        return not has_run or (is_rerun and is_unanswered)

    def _retrieve(self) -> None:
        shared, search = self.shared, self.shared.state.search
        shared.attempt = getattr(self, "execution_count", 1)
        self.retrieval = Retrieval(shared.key)
        try:
            retriever = None
            if not search.uses_saved_runs:
                super().setup()
                retriever = run_queries(self, shared.state, shared.key, shared.suite)
            # Evaluate now, while the retriever can explain what is missing.
            search.evaluate(shared.key, retriever)
        except get_exception_policy().skips as error:
            shared.skip = error
            raise
        except BaseException as error:
            if not isinstance(error, (pytest.exit.Exception, KeyboardInterrupt)):
                self._record_error(error)
            raise
        if is_worker(self.config):
            self.retrieval = search.create_retrieval(shared.key)
        shared.error = ""
        shared.is_ready = True
        # An empty retrieval clears the error of an earlier attempt.
        search.add_retrieval(Retrieval(shared.key))
        freeze_large_suite(shared.suite)

    def _record_error(self, error: BaseException) -> None:
        """Record why the retriever cannot be used, and fail if a traceback would not help."""
        shared = self.shared
        text = describe_error(error, shared.suite)
        shared.error = escape_log_line(text.partition("\n")[0])
        shared.error_item = self.name
        self.retrieval = Retrieval(shared.key, error=shared.error)
        shared.state.search.add_retrieval(self.retrieval)
        is_missing = getattr(error, "argname", "") == shared.suite.retriever.fixture
        if is_missing or isinstance(error, ERRORS_WITHOUT_TRACEBACK):
            self._fail(text)

    def _find_errors(self) -> list[tuple[Query, QueryError]]:
        """Return the queries of this item that have no answer."""
        suite, errors = self.shared.suite, self.shared.run.errors
        if not errors:
            return []
        queries: Iterable[Query] = suite.queries
        if self.check_item.query_id:
            queries = [suite.queries_by_id[self.check_item.query_id]]
        return [(query, errors[query.request]) for query in queries if query.request in errors]

    def _raise_missing_answers(self) -> None:
        """Raise an error for the item that says whether all queries have an answer."""
        results = self.shared.find_results(self.check_item.name)
        failed = [result for result in results if result.outcome is Outcome.FAILED]
        if failed:
            for query, error in self._find_errors():
                if not error.is_skipped and error.cause not in self.shared.shown_causes:
                    self._raise_error(query, error)
            self._fail(self._format(failed))

    def _raise_error(self, query: Query, error: QueryError) -> NoReturn:
        """Raise the error of a query: in full the first time, in one line after that."""
        if error.is_skipped:
            self._skip(error.message)
        place = str(query.location)
        text = f'"{query.text}": {error.message}'
        shown_at = self.shared.shown_causes.setdefault(error.cause, self.name)
        if shown_at != self.name:
            self._fail(f"{text} (see {shown_at})\n  at {place}")
        errors = self.shared.run.errors.values()
        alike_count = sum(other.cause == error.cause for other in errors)
        suffix = f"\n{alike_count} queries failed with this error" if alike_count > 1 else ""
        # SystemExit and similar exceptions would corrupt pytest's setup state.
        if not isinstance(error.exception, Exception) or isinstance(
            error.exception, ERRORS_WITHOUT_TRACEBACK
        ):
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

    # -- Call --------------------------------------------------------------------------------------

    def runtest(self) -> None:
        """Raise if a check of this item fails."""
        results = self.shared.find_results(self.check_item.name)
        failed = [result for result in results if result.outcome >= Outcome.FAILED]
        if failed:
            self._fail(self._format(failed))
        reviewed = [result for result in results if result.outcome is Outcome.REVIEW]
        if reviewed and self.shared.state.search.is_strict:
            self._fail(self._format(reviewed))
        expected = reviewed or [result for result in results if result.known_issue_id]
        if expected:
            text = str(expected[0].text)
            if expected[0].known_issue_id:
                text = f"{expected[0].known_issue_id}: {text}"
            # Without its traceback, which takes pytest 50 ms to format and which nobody reads.
            raise pytest.xfail.Exception(escape_log_line(text), pytrace=False)
        incomplete = [result for result in results if result.outcome is Outcome.INCOMPLETE]
        if incomplete and len(incomplete) == len(results):
            self._skip(str(incomplete[0].text))

    def _format(self, results: Sequence[CheckResult]) -> str:
        from pytest_irquality.reports.terminal import format_failure

        return format_failure(results, self.shared.evaluation)

    def _skip(self, reason: str) -> NoReturn:
        # pytest names the place of the item then, not this one.
        raise pytest.skip.Exception(escape_log_line(reason), _use_item_location=True)

    def _fail(self, text: str) -> NoReturn:
        pytest.fail(escape_log_lines(text), pytrace=False)

    # -- Properties --------------------------------------------------------------------------------

    def _list_properties(self) -> list[tuple[str, object]]:
        """Return what JUnit and other reports show: values, changes, tags and the first rank."""
        suite = self.shared.suite
        properties: list[tuple[str, object]] = []
        query = suite.queries_by_id.get(self.check_item.query_id)
        if query is None:
            for result in self.shared.find_results(self.check_item.name):
                label = result.label or self.check_item.label
                values = {label: result.value, f"{label} before": result.baseline_value}
                properties += [(name, each) for name, each in values.items() if each is not None]
            return properties
        comparison = self.shared.evaluation.comparison
        for metric in suite.metrics:
            value = comparison.get_current_values(metric).get(query.id)
            if value is None:
                continue
            properties.append((sys.intern(str(metric)), value))
            change = comparison.compare_query(metric, query.id)
            if change and change.delta:
                properties.append((f"{metric} change", change.delta))
        if query.tags:
            properties.append(("tags", ", ".join(query.tags)))
        # With `match: text`, judgments are about passages, which only these rankings name.
        rankings = comparison.answers.get(query.id, ())
        for rank, doc_id in enumerate(rankings[0].doc_ids if rankings else (), start=1):
            if doc_id in query.judgments.relevant:
                properties.append(("rank of the first relevant document", rank))
                break
        known = self.shared.properties
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
    state.search.answer_queries(key, retriever, compared)
    if state.search.is_interrupted:
        item.session.shouldstop = "interrupted while queries ran"
    return retriever


class BrokenSuiteItem(ReportedItem, pytest.Item):
    """A suite that cannot be read: one item that errors, while other suites are evaluated."""

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
    if not isinstance(item, ReportedItem):
        return report
    if not report.passed:
        compat.clean_report(report)
    if report.when == "setup" and is_worker(item.config) and item.retrieval is not None:
        vars(report)["ir_retrieval"] = encode_retrieval(item.retrieval)
        item.retrieval = None
    return report


def get_exception_policy() -> ExceptionPolicy:
    """Return which exceptions skip a query, and which end the session."""
    skips: tuple[type[BaseException], ...] = SKIP_EXCEPTIONS
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
    """Describe why a retriever cannot be used. Callers that need one line cut the text."""
    fixture = suite.retriever.fixture
    if isinstance(error, pytest.FixtureLookupError) and error.argname == fixture:
        available = set(compat.list_available_fixtures(error)) - {YARDSTICK}
        closest = find_closest(fixture, sorted(available))
        hint = f" Did you mean '{closest}'?" if closest else ""
        return (
            f"{suite.path}: there is no fixture '{fixture}'.{hint} Write it in a conftest.py, name"
            " yours under 'retriever', or set 'ir_url' or 'ir_command' in the ini file."
        )
    if isinstance(error, (*ERRORS_WITHOUT_TRACEBACK, pytest.fail.Exception)):
        return str(error)
    return f"{type(error).__name__}: {error}"
