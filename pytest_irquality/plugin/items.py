"""The items of suites: they run queries, and fail if a check fails."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_irquality.baselines.sources import BaselineError
from pytest_irquality.evaluation.evaluate import SuiteKey
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io import dataclass, field
from pytest_irquality.io.escaping import escape_log_line, escape_log_lines
from pytest_irquality.io.text import find_closest
from pytest_irquality.metrics import MetricError
from pytest_irquality.plugin import compat
from pytest_irquality.plugin.options import is_worker
from pytest_irquality.plugin.session import ItemAnswers, SearchSession, encode_item_answers
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
# This plugin's own fixture, which is never suggested for a misspelled name.
BM25_FIXTURE = "bm25_retriever"
SKIP_EXCEPTIONS = (pytest.skip.Exception, pytest.xfail.Exception)
# The name of a metric, and the values and changes of queries by id.
MetricValues = tuple[str, Mapping[str, float | None], Mapping[str, float]]
ERRORS_WITHOUT_TRACEBACK = (BaselineError, CorpusError, MetricError, ResultError, RetrieverError)


@dataclass(eq=False)
class SharedSuiteState:
    """State that all items of a suite and retriever share.

    Attributes:
        is_ready: Whether the queries have run.
        attempt: The attempt at which the queries ran, from 1, as pytest-rerunfailures counts.
        error: Why the retriever cannot be used, or empty.
        error_item: The item that shows this error in full.
        skip: The exception by which the retriever skipped the suite, if it did.
        shown_causes: The item that shows an error of queries in full, by the cause of the error.
        properties: The properties of all items, of which many are equal and share one tuple.
    """

    search_session: SearchSession
    key: SuiteKey
    is_ready: bool = False
    attempt: int = 0
    error: str = ""
    error_item: str = ""
    skip: BaseException | None = None
    shown_causes: dict[str, str] = field(default_factory=dict)
    properties: dict[tuple[str, object], tuple[str, object]] = field(default_factory=dict)
    _results: Mapping[str, Sequence[CheckResult]] = field(default_factory=dict)
    _values: Sequence[MetricValues] = ()
    _source: Evaluation | None = None

    @property
    def suite(self) -> Suite:
        """Return the suite."""
        return self.search_session.current.suites[self.key]

    @property
    def run(self) -> Run:
        """Return the answers."""
        return self.search_session.runs.get(self.suite.run_key) or Run()

    @property
    def evaluation(self) -> Evaluation:
        """Return the evaluation of the suite."""
        return self.search_session.evaluate(self.key)

    def find_results(self, item_name: str) -> Sequence[CheckResult]:
        """Return the results that belong to an item."""
        self._read_evaluation()
        return self._results.get(item_name, ())

    def list_values(self) -> Sequence[MetricValues]:
        """Return the name of each metric, with the current values and the changes of queries."""
        self._read_evaluation()
        if not self._values:
            comparison = self.evaluation.comparison
            values = []
            for metric in self.suite.metrics:
                sign = 1 if metric.higher_is_better else -1
                improvements = comparison.collect_improvements(metric)
                changes = {query_id: sign * each for query_id, each in improvements.items()}
                name = sys.intern(str(metric))
                values.append((name, comparison.get_current_values(metric), changes))
            self._values = values
        return self._values

    def _read_evaluation(self) -> None:
        """Look up once for all items what each of them needs of the evaluation."""
        evaluation = self.evaluation
        if self._source is evaluation:
            return
        results: dict[str, list[CheckResult]] = {}
        for result in evaluation.results:
            results.setdefault(result.item, []).append(result)
        self._results, self._values, self._source = results, (), evaluation


class ReportedItem:
    """An item whose report is escaped, and carries the item's answers to the controller."""

    answers: ItemAnswers | None = None


class SuiteItem(ReportedItem, pytest.Function):
    """A query, threshold or other check of a suite, on one retriever."""

    shared: SharedSuiteState
    check_item: CheckItem

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the line of the check in the suite."""
        location = self.check_item.location
        root = self.shared.search_session.root
        path = root / location.path if location.path else self.path
        # pytest prints a dot as "::" if the node id ends with this name, and a copied node id would
        # not be found. The space at the end prevents that.
        name = f"{self.name} " if "." in self.name else self.name
        return path, location.line - 1, name

    def listextrakeywords(self) -> set[str]:
        """Return the words that ``-k`` matches besides the name: tags and the text of the query."""
        words = {self.check_item.label, make_item_name(self.check_item.label)}
        query = self.shared.suite.queries_by_id.get(self.check_item.query_id)
        if query is not None:
            words.update([query.text, make_item_name(query.text), *query.tags])
        return super().listextrakeywords() | words

    # -- Setup -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Run the suite's queries unless they have run.

        Errors and skips are raised here, failed checks in ``runtest``.
        """
        shared = self.shared
        if self.config.getoption("setupplan", False):
            super().setup()  # pytest only shows the fixtures
            return
        if self._needs_answers():
            self._run_suite()
        if shared.skip is not None:
            # A new exception, because the traceback grows if one is raised again.
            raise type(shared.skip)(str(shared.skip))
        if shared.error:
            self._fail(f"{shared.error} (see {shared.error_item})")
        if self.check_item.kind is ItemKind.QUERY:
            query, run = shared.suite.queries_by_id[self.check_item.query_id], shared.run
            if query.request in run.errors:
                self._raise_error(query, run.errors[query.request])
            if query.request not in run.answers:
                self._skip("The query did not run.")
        if self.check_item.kind is ItemKind.ANSWERS:
            self._raise_missing_answers()
        self.user_properties += self._list_properties()

    def _needs_answers(self) -> bool:
        shared = self.shared
        has_run = shared.is_ready or bool(shared.error) or shared.skip is not None
        is_rerun = getattr(self, "execution_count", 1) > shared.attempt
        if not has_run or not is_rerun:
            return not has_run
        # A rerun repeats only queries without an answer, so no failed check can pass by chance.
        return bool(shared.error) or (shared.is_ready and bool(self._find_errors()))

    def _run_suite(self) -> None:
        """Run the queries, evaluate the suite, and share the result with the other items."""
        shared, search_session = self.shared, self.shared.search_session
        shared.attempt = getattr(self, "execution_count", 1)
        self.answers = ItemAnswers(shared.key)
        try:
            retriever = None
            if not search_session.uses_saved_runs:
                super().setup()
                retriever = run_queries(self, search_session, shared.key, shared.suite)
            # Evaluate now, while the retriever can explain what is missing.
            search_session.evaluate(shared.key, retriever)
        except get_exception_policy().skips as error:
            shared.skip = error
            raise
        except (pytest.exit.Exception, KeyboardInterrupt):
            raise
        except BaseException as error:
            text = describe_error(error, shared.suite)
            self._record_error(text)
            is_fixture_missing = getattr(error, "argname", "") == shared.suite.retriever.fixture
            if is_fixture_missing or isinstance(error, ERRORS_WITHOUT_TRACEBACK):
                self._fail(text)
            raise
        if is_worker(self.config):
            self.answers = search_session.get_item_answers(shared.key)
        shared.error = ""
        shared.is_ready = True
        search_session.clear_error(shared.key)
        freeze_large_suite(shared.suite)

    def _record_error(self, text: str) -> None:
        """Record why the retriever cannot be used."""
        shared = self.shared
        shared.error = escape_log_line(text.partition("\n")[0])
        shared.error_item = self.name
        self.answers = ItemAnswers(shared.key, error=shared.error)
        shared.search_session.add_item_answers(self.answers)

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
        same_cause_count = sum(other.cause == error.cause for other in errors)
        suffix = ""
        if same_cause_count > 1:
            suffix = f"\n{same_cause_count} queries failed with this error"
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
        if reviewed and self.shared.search_session.is_strict:
            self._fail(self._format(reviewed))
        # pytest has no outcome for "look at this", and a pass would hide it.
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
        from pytest_irquality.reports.terminal import format_failure  # only if something fails

        return format_failure(results, self.shared.evaluation)

    def _skip(self, reason: str) -> NoReturn:
        # With this flag, pytest shows the location of the item instead of this line.
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
                named = {label: result.value, f"{label} before": result.baseline_value}
                properties += [(name, each) for name, each in named.items() if each is not None]
            return properties
        for name, values, changes in self.shared.list_values():
            value, change = values.get(query.id), changes.get(query.id)
            if value is not None:
                properties.append((name, value))
                if change:
                    properties.append((f"{name} change", change))
        if query.tags:
            properties.append(("tags", ", ".join(query.tags)))
        # With `match: text`, judgments are about passages, and only these rankings contain them.
        rankings = self.shared.evaluation.comparison.answers.get(query.id, ())
        relevant = query.judgments.relevant
        for rank, doc_id in enumerate(rankings[0].doc_ids if rankings else (), start=1):
            if doc_id in relevant:
                properties.append(("rank of the first relevant document", rank))
                break
        known = self.shared.properties
        return [known.setdefault(each, each) for each in properties]


def run_queries(
    item: pytest.Function, search_session: SearchSession, key: SuiteKey, suite: Suite
) -> object:
    """Run the queries of a suite with the fixtures that an item has set up.

    Returns:
        The retriever.
    """
    retriever = item.funcargs[suite.retriever.fixture]
    baseline_retriever = None
    if suite.baseline_retriever:
        baseline_id = compat.find_retriever(suite.baseline_retriever, item)
        baseline_retriever = (baseline_id, item.funcargs[suite.baseline_retriever])
    search_session.run_suite_queries(key, retriever, baseline_retriever)
    if search_session.is_interrupted:
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
    """Escape errors, and add the answers that this item got to its report."""
    report = yield
    if not isinstance(item, ReportedItem):
        return report
    if not report.passed:
        compat.escape_report(report)
    if report.when == "setup" and is_worker(item.config) and item.answers is not None:
        vars(report)["ir_answers"] = encode_item_answers(item.answers)
        item.answers = None
    return report


def get_exception_policy() -> ExceptionPolicy:
    """Return which exceptions skip a query, and which end the session."""
    skips: tuple[type[BaseException], ...] = SKIP_EXCEPTIONS
    if "unittest" in sys.modules:  # importing it takes as long as running a small suite
        skips = (*skips, sys.modules["unittest"].SkipTest)
    return ExceptionPolicy(skips=skips, exits=(pytest.exit.Exception,))


def freeze_large_suite(suite: Suite) -> None:
    """Keep the garbage collector from visiting a large suite and its answers again and again.

    These objects live until the end of the session, and collecting garbage between items would
    visit all of them each time.
    """
    if len(suite.queries) >= MIN_FROZEN_QUERIES:
        gc.freeze()


def describe_error(error: BaseException, suite: Suite) -> str:
    """Describe why a retriever cannot be used. Callers that need one line cut the text."""
    fixture = suite.retriever.fixture
    if isinstance(error, pytest.FixtureLookupError) and error.argname == fixture:
        available = set(compat.list_available_fixtures(error)) - {BM25_FIXTURE}
        closest = find_closest(fixture, sorted(available))
        hint = f" Did you mean '{closest}'?" if closest else ""
        return (
            f"{suite.path}: there is no fixture '{fixture}'.{hint} Write it in a conftest.py, name"
            " yours under 'retriever', or set 'ir_url' or 'ir_command' in the ini file."
        )
    if isinstance(error, (*ERRORS_WITHOUT_TRACEBACK, pytest.fail.Exception)):
        return str(error)
    return f"{type(error).__name__}: {error}"
