"""Collect a run: send each request once, and read the answers.

The optional methods of a retriever are called here as well: ``stages`` for each query, ``tokens``
while results are read, and ``exists`` after comparing.
"""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.field_paths import is_mapping
from pytest_irquality.passages.normalization import normalize_text
from pytest_irquality.retrieval import calling
from pytest_irquality.retrieval.errors import (
    DEFAULT_TIMEOUT_S,
    CallTimeout,
    NotRunError,
    ResultError,
    RetrieverError,
    find_wait,
    is_refusal,
    make_query_error,
    should_retry,
)
from pytest_irquality.retrieval.hit_reader import (
    MAX_TEXT_CHARS,
    ReadResult,
    ResultReader,
    clean_title,
    make_distinct_ids,
)
from pytest_irquality.retrieval.rate_limit import RateLimiter
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.retrieval.service import Service
from pytest_irquality.retrieval.wrappers import describe_result
from pytest_irquality.suite.model import Query, Settings

# No more calls are made after so many in a row timed out or were refused (HTTP 429), or after three
# times the number of calls in flight, if that is more.
MIN_FAILURES_TO_GIVE_UP = 20
# The ``repeat`` of a job that calls ``stages``.
STAGES_REPEAT = -1
MAX_EXISTS_CALLS = 1000
MAX_CACHED_SIZES = 2**16

# Called with the number of finished results and of all results. Each repeat of a query counts.
ReportProgress = Callable[[int, int], None]


def collect_run(
    retriever: object,
    queries: Iterable[Query],
    settings: Settings = Settings(),
    *,
    depth: int = 10,
    fields: Collection[str] = (),
    size_units: Collection[str] = (),
    stages: Collection[str] | None = None,
    stage_depth: int = 100,
    concurrency: int | None = None,
    rate_limiter: RateLimiter | None = None,
    exceptions: calling.ExceptionPolicy = calling.NO_EXCEPTIONS,
    known: Run | None = None,
    chunk_texts: dict[str, str] | None = None,
    report_progress: ReportProgress | None = None,
) -> Run:
    """Run queries on a retriever, each request ``settings.repeat`` times.

    A call that raises, takes too long or returns a result that cannot be read becomes the error of
    its request; the other requests still run. If one repeat of a request fails, the request has an
    error. Answers are in the order of the queries, and not in the order in which calls ended.

    Args:
        retriever: The value of the retriever fixture: a function or coroutine function of
            ``(query)`` or ``(query, k)``, an object with such a method or with
            ``batch(queries, k)``, or a ``Service``.
        queries: The queries. Queries with the same request are sent once.
        settings: How the queries of the suite run, and how results are read.
        depth: How many results are requested.
        fields: Paths of fields that ``Ranking.fields`` needs.
        size_units: The units of ``Ranking.sizes``, of ``words`` and ``tokens``.
        stages: The stages that metrics use. ``stages(query, k)`` of the retriever is called for
            each request, and ``Run.stages`` has all stages it returns. ``None`` calls nothing.
        stage_depth: How many results of each stage are requested.
        concurrency: The number of calls in flight, or ``None`` for that of the settings.
        rate_limiter: The limiter that all calls of this retriever share.
        exceptions: Which exceptions skip a query or end the run.
        known: An earlier run. Requests that it answers are not sent again. ``merge_runs`` adds it
            to the result.
        chunk_texts: The texts of the chunks in earlier runs by id, so that the same chunks get the
            same ids (``match: text``). Those of this run are added.
        report_progress: Called in this thread as calls end.

    Returns:
        The new answers and errors. After Ctrl-C, the run has the answers so far, and is marked as
        interrupted.

    Raises:
        RetrieverError: The retriever cannot be called, or not with these parameters.
    """
    known = known or Run()
    distinct = _drop_duplicates(queries)
    new_queries = [query for query in distinct if query.request not in known.answers]
    reader = replace(
        _make_reader(settings),
        fields=tuple(fields),
        size_counters=make_size_counters(retriever, size_units),
    )
    bound, timeout = retriever, settings.timeout
    if isinstance(retriever, Service):  # It ends its own calls, so no thread is abandoned.
        bound, timeout = retriever.bind(timeout or DEFAULT_TIMEOUT_S), None
    limiter = rate_limiter or RateLimiter(settings.rate)
    concurrency = concurrency or settings.concurrency
    call_settings = calling.CallSettings(limiter, exceptions, concurrency, timeout)
    collector = _Collector(new_queries, settings, call_settings)
    collector.is_timed = not calling.takes_batches(bound)
    for repeat in range(settings.repeat):
        for job in calling.make_jobs(bound, new_queries, reader, depth):
            collector.jobs.append(job._replace(repeat=repeat))
    if stages is not None and has_stages(retriever):
        collector.add_stages(retriever, reader, stages, stage_depth)
    collector.run_jobs(report_progress)
    provenance = Provenance(
        depth=depth, retry_count=collector.retry_count, is_interrupted=collector.is_interrupted
    )
    texts = {} if chunk_texts is None else chunk_texts
    return replace(collector.make_run(texts), provenance=provenance)


def collect_stages(
    retriever: object, queries: Iterable[Query], settings: Settings = Settings(), depth: int = 100
) -> Mapping[str, Run]:
    """Call the retriever's ``stages(query, k)`` for some queries, after comparing.

    Args:
        retriever: The value of the retriever fixture.
        queries: The queries with documents that a report explains.
        settings: How the queries of the suite run, and how results are read.
        depth: How many results of each stage are requested.

    Returns:
        A run by the name of each stage, in the retriever's order; empty without such a method.
    """
    if not has_stages(retriever):
        return {}
    limiter = RateLimiter(settings.rate)
    call_settings = calling.CallSettings(
        limiter, calling.NO_EXCEPTIONS, settings.concurrency, settings.timeout
    )
    collector = _Collector(_drop_duplicates(queries), settings, call_settings)
    collector.add_stages(retriever, _make_reader(settings), (), depth)
    collector.run_jobs()
    return collector.make_run({}).stages


def _drop_duplicates(queries: Iterable[Query]) -> list[Query]:
    """Return one query for each request."""
    return list({query.request: query for query in queries}.values())


def _make_reader(settings: Settings) -> ResultReader:
    matches_text = settings.match == "text"
    return ResultReader(settings.id_field, settings.text_field, matches_text=matches_text)


# -- Calls -----------------------------------------------------------------------------------------


# The result of a call for one query: an answer, the answers of all stages, or an exception.
_QueryResult = ReadResult | dict[str, ReadResult | Exception] | BaseException


@dataclass
class _Collector:
    """Makes the calls of a run, and keeps their results by repeat and request.

    Attributes:
        is_timed: Whether each call has one query, so that its time is the time of the query.
        needed_stages: The stages that metrics use, or ``None`` if no stages are called.
        retry_count: How many calls were made again.
        failures_in_row: How many calls in a row timed out or were refused.
        give_up_reason: Why no further call is made, or an empty string.
    """

    queries: Sequence[Query]
    settings: Settings
    call_settings: calling.CallSettings
    is_timed: bool = True
    needed_stages: Collection[str] | None = None
    jobs: list[calling.Job] = field(default_factory=list)
    pending: deque[calling.Job] = field(default_factory=deque)
    results: dict[tuple[int, str], _QueryResult] = field(default_factory=dict)
    retry_count: int = 0
    failures_in_row: int = 0
    give_up_reason: str = ""
    is_interrupted: bool = False

    def add_stages(
        self, retriever: object, reader: ResultReader, needed: Collection[str], depth: int
    ) -> None:
        """Add a call of ``stages`` for each query."""
        self.needed_stages = needed
        stage_reader = replace(reader, fields=(), size_counters={})

        def read(result: object) -> list[Any]:
            return [read_stages(result, lambda stage: stage_reader.read(stage, depth), needed)]

        stages = retriever.stages  # type: ignore[attr-defined]
        for job in calling.make_jobs(stages, self.queries, stage_reader, depth):
            self.jobs.append(job._replace(read=read, repeat=STAGES_REPEAT))

    def run_jobs(self, report_progress: ReportProgress | None = None) -> None:
        """Make all calls, and failed ones again as often as the settings say."""
        result_count = sum(len(job.queries) for job in self.jobs)

        def finish(job: calling.Job, completed: calling.CompletedCall) -> None:
            self._finish_job(job, completed)
            if report_progress:
                report_progress(len(self.results), result_count)

        try:
            if report_progress:
                report_progress(0, result_count)
            self._run(self.jobs, finish)
            for round_number in range(self.settings.retry.times):
                failed = [job for job in self.jobs if self._list_errors(job)]
                if not failed or self.give_up_reason:
                    break
                errors = chain.from_iterable(map(self._list_errors, failed))
                time.sleep(find_wait(round_number, errors))
                self.retry_count += len(failed)
                self._run(failed, finish)
        except KeyboardInterrupt:
            self.is_interrupted = True

    def _run(self, jobs: Iterable[calling.Job], finish: calling.FinishJob) -> None:
        """Make calls in this thread if that is possible, and otherwise in an event loop."""
        self.pending = deque(jobs)
        in_threads = self.call_settings.concurrency > 1 or self.call_settings.timeout is not None
        if not in_threads:
            self.pending.extend(calling.run_in_sequence(self.pending, finish, self.call_settings))
        if self.pending:
            try:
                from pytest_irquality.retrieval.loop import run_in_loop  # imports asyncio

                run_in_loop(self.pending, finish, self.call_settings, in_threads=in_threads)
            except OSError as error:  # Too many files are open. Errors of calls are not raised.
                reason = error.strerror or error
                raise RetrieverError(f"No event loop can be started. {reason}") from None

    def _finish_job(self, job: calling.Job, completed: calling.CompletedCall) -> None:
        self.retry_count += completed.refusal_count
        failure = _name_failure(completed.error, self.call_settings.exceptions)
        self.failures_in_row = self.failures_in_row + 1 if failure else 0
        limit = max(MIN_FAILURES_TO_GIVE_UP, 3 * self.call_settings.concurrency)
        if self.failures_in_row == limit:
            self.give_up_reason = f"Not run, because {limit} calls in a row {failure}"
            self.pending.clear()
        timeout = self.call_settings.timeout
        values = completed.values or [completed.error] * len(job.queries)
        for query, value in zip(job.queries, values, strict=True):
            result = value
            if completed.error is None and timeout and completed.seconds > timeout:
                # A coroutine that blocks its loop cannot be cancelled, so it answers late.
                result = CallTimeout(
                    f"Answered after {completed.seconds:.1f} s, later than the 'timeout' of"
                    f" {timeout:g} s allows"
                )
            elif self.is_timed and isinstance(value, ReadResult):
                result = replace(value, ranking=replace(value.ranking, seconds=completed.seconds))
            self.results[job.repeat, query.request] = result

    def _list_errors(self, job: calling.Job) -> list[BaseException]:
        """Return the errors of a job that are worth a retry."""
        errors = []
        for query in job.queries:
            error = self.results.get((job.repeat, query.request))
            if not isinstance(error, BaseException) or self.call_settings.exceptions.is_skip(error):
                continue
            if should_retry(error, self.settings.retry.on):
                errors.append(error)
        return errors

    # -- The run -----------------------------------------------------------------------------------

    def make_run(self, texts: dict[str, str]) -> Run:
        """Make a run of the results so far. The texts of its chunks are added to known ones."""
        run = self._make_part(range(self.settings.repeat), texts)
        stages = {}
        if self.needed_stages is not None:
            stage_texts = dict(texts)  # No later run needs the chunks of stages.
            names: dict[str, None] = {}
            for query in self.queries:
                result = self.results.get((STAGES_REPEAT, query.request))
                if isinstance(result, dict):
                    names.update(dict.fromkeys(result))
            for name in names or self.needed_stages:
                stages[name] = self._make_part((STAGES_REPEAT,), stage_texts, name)
        return replace(run, stages=stages)

    def _make_part(self, repeats: Sequence[int], texts: dict[str, str], stage: str = "") -> Run:
        """Make a run of all repeats, or of a stage."""
        answers: dict[str, tuple[Ranking, ...]] = {}
        errors: dict[str, QueryError] = {}
        titles: dict[str, str] = {}
        # Many queries return the same ids, each time as new strings, so share one of them.
        known_ids: dict[str, str] = {}
        cut_count = 0
        for query in self.queries:
            query_answers: list[ReadResult] = []
            for repeat in repeats:
                answer = self._get_answer(repeat, query, stage)
                if isinstance(answer, ReadResult):
                    query_answers.append(answer)
                elif answer is not None:
                    is_skipped = self.call_settings.exceptions.is_skip(answer)
                    error = make_query_error(answer, query.text, is_skipped=is_skipped)
                    if query.request not in errors or errors[query.request].is_skipped:
                        errors[query.request] = error
            if len(query_answers) < len(repeats):
                continue
            rankings = []
            for answer in query_answers:
                ranking = answer.ranking
                doc_ids: Sequence[str] = ranking.doc_ids
                if self.settings.match == "text":
                    doc_ids = make_distinct_ids(doc_ids, ranking.texts, texts)
                doc_ids = tuple(map(known_ids.setdefault, doc_ids, doc_ids))
                rankings.append(replace(ranking, doc_ids=doc_ids))
                cut_count += answer.cut_text_count
                _add_titles(titles, doc_ids, answer.titles)
            answers[query.request] = tuple(rankings)
        notes = []
        if cut_count:
            limit = f"{MAX_TEXT_CHARS:,} characters"
            notes.append(f"{cut_count:,} texts of results were longer than {limit} and were cut")
        return Run(answers, errors, titles, notes=tuple(notes))

    def _get_answer(
        self, repeat: int, query: Query, stage: str
    ) -> ReadResult | BaseException | None:
        """Return an answer, its error, or ``None`` if Ctrl-C came before the call."""
        result = self.results.get((repeat, query.request))
        if result is None and self.give_up_reason:
            return NotRunError(self.give_up_reason)
        if isinstance(result, dict):
            error = NotRunError(f"The retriever returned no stage '{stage}' for this query")
            return result.get(stage, error)
        return result


def _add_titles(titles: dict[str, str], doc_ids: Sequence[str], texts: Sequence[str]) -> None:
    """Add the titles of hits. The first title of a document counts."""
    for doc_id, text in zip(doc_ids, texts, strict=False):
        if doc_id not in titles:
            title = clean_title(text)
            if title:
                titles[doc_id] = title


def _name_failure(error: BaseException | None, exceptions: calling.ExceptionPolicy) -> str:
    """Return how a call failed if the retriever seems to be down, or an empty string."""
    if error is None or exceptions.is_skip(error):
        return ""
    if isinstance(error, CallTimeout):
        return "timed out"
    return "were refused" if is_refusal(error) else ""


# -- Optional methods of retrievers ----------------------------------------------------------------


def find_unindexed_documents(retriever: object, doc_ids: Iterable[str]) -> frozenset[str]:
    """Return the documents that are not in the index, as the retriever's ``exists(doc_id)`` says.

    A document counts as present if the retriever has no such method or cannot tell. At most
    ``MAX_EXISTS_CALLS`` documents are looked up, in the given order.

    Args:
        retriever: The value of the retriever fixture. ``exists`` may be async.
        doc_ids: The documents to look up.
    """
    exists = getattr(retriever, "exists", None)
    if not callable(exists):
        return frozenset()
    missing = []
    for doc_id in islice(dict.fromkeys(doc_ids), MAX_EXISTS_CALLS):
        try:
            answer = exists(doc_id)
            if inspect.isawaitable(answer):
                from pytest_irquality.retrieval.loop import run_awaitable  # imports asyncio

                answer = run_awaitable(answer)
            if not answer:
                missing.append(doc_id)
        except BaseException as error:  # `pytest.skip` must not skip the item that reports this.
            if not calling.NO_EXCEPTIONS.is_query_error(error):
                raise
    return frozenset(missing)


def has_stages(retriever: object) -> bool:
    """Return whether the retriever has a method ``stages(query, k)``."""
    return callable(getattr(retriever, "stages", None))


def read_stages(
    result: object, read: Callable[[object], ReadResult], needed: Collection[str]
) -> dict[str, ReadResult | Exception]:
    """Read what ``stages`` returned: a mapping of stages, first to last, to their results.

    Args:
        result: What the call returned.
        read: Reads the result of a stage.
        needed: The stages that metrics use.

    Returns:
        An answer or an exception, by the name of each stage.

    Raises:
        ResultError: The result is not a mapping.
    """
    if not is_mapping(result):
        raise ResultError("stages(query, k) must return a mapping", describe_result(result))
    answers: dict[str, ReadResult | Exception] = {}
    for key in list(result):  # type: ignore[call-overload]
        name = str(key)
        try:
            answers[name] = read(result[key])  # type: ignore[index]
        except Exception as error:  # The other stages still have answers.
            answers[name] = error
    for name in sorted(set(needed) - answers.keys()):
        known = ", ".join(answers) or "none"
        answers[name] = ResultError(f"There is no stage '{name}'. The retriever's stages: {known}")
    return answers


def make_size_counters(
    retriever: object, units: Collection[str]
) -> dict[str, Callable[[str], float]]:
    """Return the functions that measure the length of a text, by unit.

    Args:
        retriever: Its method ``tokens(text)`` returns a number, or a list of tokens.
        units: The units that metrics use: ``words`` and ``tokens``.

    Raises:
        RetrieverError: Tokens are needed, and the retriever cannot count them.
    """
    counters: dict[str, Callable[[str], float]] = {}
    if "words" in units:
        counters["words"] = lambda text: float(len(normalize_text(text).words))
    if "tokens" in units:
        tokens = getattr(retriever, "tokens", None)
        if not callable(tokens):
            raise RetrieverError("A budget of tokens needs the retriever's method tokens(text)")

        def count_tokens(text: str) -> float:
            size = tokens(text)
            return float(size if isinstance(size, (int, float)) else len(size))

        counters["tokens"] = count_tokens
    return {unit: lru_cache(MAX_CACHED_SIZES)(count) for unit, count in counters.items()}
