"""Collect a run: one pass over the queries, in which each request is sent once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from pytest_irquality.retrieval.calling import Call, find_call, get_batch_size, takes_batches
from pytest_irquality.retrieval.columns import clean_title
from pytest_irquality.retrieval.errors import (
    DEFAULT_TIMEOUT_S,
    CallTimeout,
    NotRunError,
    RetrieverError,
    make_query_error,
)
from pytest_irquality.retrieval.jobs import (
    NO_EXCEPTIONS,
    CallSettings,
    ExceptionPolicy,
    Job,
    Reply,
    run_in_sequence,
)
from pytest_irquality.retrieval.optional_methods import (
    has_stages,
    make_size_counters,
    read_stages,
    read_version,
)
from pytest_irquality.retrieval.rate_limit import RateLimiter
from pytest_irquality.retrieval.results import (
    MAX_TEXT_CHARS,
    Answer,
    ResultReader,
    make_distinct_ids,
    split_batch,
)
from pytest_irquality.retrieval.retries import find_wait, is_refusal, should_retry
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run, merge_runs
from pytest_irquality.retrieval.service import Service
from pytest_irquality.suite.model import Query, Settings, make_request

__all__ = ["ExceptionPolicy", "KeepAnswer", "ReportProgress", "collect_run", "collect_stages"]

# After so many calls in a row without an answer (or three times those in flight), none is made.
MIN_FAILURES_TO_GIVE_UP = 20
# In place of the number of a repeat: the call of ``stages``.
STAGES_REPEAT = -1

# Called with a run of one request as soon as it has all its answers, or finally its error.
KeepAnswer = Callable[[Run], None]
# Called with the number of queries whose calls ended, and the number of all, repeats included.
ReportProgress = Callable[[int, int], None]


def collect_run(
    retriever: object,
    queries: Iterable[Query],
    settings: Settings = Settings(),
    *,
    depth: int = 10,
    fields: Collection[str] = (),
    needs_texts: bool = False,
    size_units: Collection[str] = (),
    stages: Collection[str] | None = None,
    stage_depth: int = 100,
    concurrency: int | None = None,
    rate_limiter: RateLimiter | None = None,
    exceptions: ExceptionPolicy = NO_EXCEPTIONS,
    known: Run | None = None,
    keep: KeepAnswer | None = None,
    report_progress: ReportProgress | None = None,
) -> Run:
    """Run queries on a retriever, each request ``settings.repeat`` times.

    A call that raises, takes too long or returns a result that cannot be read becomes the error of
    its request; the other requests still run. If one repeat of a request fails, the request has an
    error. Answers are in the order of the queries, whatever came first.

    Args:
        retriever: The value of the retriever fixture: a function or coroutine function of
            ``(query)`` or ``(query, k)``, an object with such a method or with
            ``batch(queries, k)``, or a ``Service``.
        queries: The queries. Those that share a request are sent once.
        settings: How the queries of the suite run, and how results are read.
        depth: How many results are requested.
        fields: Paths of fields that ``Ranking.fields`` needs.
        needs_texts: Whether to keep the texts of hits, if they have any. With ``match: text`` they
            are kept in any case, and a result without texts is an error.
        size_units: The units of ``Ranking.sizes``, of ``words`` and ``tokens``.
        stages: The stages that metrics use. ``stages(query, k)`` of the retriever is called for
            each request, and ``Run.stages`` has all stages it returns. ``None`` calls nothing.
        stage_depth: How many results of each stage are requested.
        concurrency: The number of calls in flight, or ``None`` for that of the settings.
        rate_limiter: The limiter that all calls of this retriever share.
        exceptions: Which exceptions skip a query or end the pass.
        known: An earlier run. Requests that it answers are not sent again.
        keep: Called in this thread as answers come, to store them.
        report_progress: Called in this thread as calls end.

    Returns:
        The run, which contains the answers of ``known``. Ctrl-C ends the pass, and the run has the
        answers so far and is marked as interrupted.

    Raises:
        RetrieverError: The retriever cannot be called, or not with these parameters.
    """
    __tracebackhide__ = True
    known = known or Run()
    wanted = [query for query in _drop_duplicates(queries) if query.request not in known.answers]
    reader = replace(
        _make_reader(settings),
        keeps_texts=needs_texts,
        fields=tuple(fields),
        size_counters=make_size_counters(retriever, size_units),
    )
    collector = _Collector(
        wanted,
        settings,
        _make_call_settings(retriever, settings, concurrency, rate_limiter, exceptions),
        is_timed=not takes_batches(retriever),
        needed_stages=stages if has_stages(retriever) else None,
        keep=keep,
        report_progress=report_progress,
    )
    bound = retriever
    if isinstance(retriever, Service):
        bound = retriever.bind(settings.timeout or DEFAULT_TIMEOUT_S)
    make_jobs = _make_batch_jobs if takes_batches(bound) else _make_single_jobs
    for repeat in range(settings.repeat):
        for job in make_jobs(bound, wanted, reader, depth):
            collector.add_job(job._replace(repeat=repeat))
    if collector.needed_stages is not None:
        for job in _make_stages_jobs(retriever, wanted, reader, stages or (), stage_depth):
            collector.add_job(job)
    collector.run_jobs()
    run = merge_runs([replace(known, errors={}), collector.make_run(wanted, known)])
    # Requests that failed before have an answer now, another error, or did not run again.
    errors = {**known.errors, **run.errors}
    for request in run.answers:
        errors.pop(request, None)
    provenance = Provenance(
        version=read_version(retriever),
        depth=depth,
        retry_count=known.provenance.retry_count + collector.retry_count,
        is_interrupted=collector.is_interrupted,
    )
    return replace(run, errors=errors, provenance=provenance)


def collect_stages(
    retriever: object,
    queries: Iterable[Query],
    settings: Settings = Settings(),
    *,
    depth: int = 100,
    concurrency: int | None = None,
    rate_limiter: RateLimiter | None = None,
    exceptions: ExceptionPolicy = NO_EXCEPTIONS,
) -> Mapping[str, Run]:
    """Call the retriever's ``stages(query, k)`` for some queries, after comparing.

    Args:
        retriever: The value of the retriever fixture.
        queries: The queries whose documents a report says something about.
        settings: How the queries of the suite run, and how results are read.
        depth: How many results of each stage are requested.
        concurrency: The number of calls in flight, or ``None`` for that of the settings.
        rate_limiter: The limiter that all calls of this retriever share.
        exceptions: Which exceptions skip a query or end the pass.

    Returns:
        A run by the name of each stage, in the retriever's order; empty without such a method.
    """
    __tracebackhide__ = True
    if not has_stages(retriever):
        return {}
    wanted = _drop_duplicates(queries)
    calls = _make_call_settings(retriever, settings, concurrency, rate_limiter, exceptions)
    collector = _Collector(wanted, settings, calls, needed_stages=())
    for job in _make_stages_jobs(retriever, wanted, _make_reader(settings), (), depth):
        collector.add_job(job)
    collector.run_jobs()
    return collector.make_run(wanted, Run()).stages


def _drop_duplicates(queries: Iterable[Query]) -> list[Query]:
    """Return one query for each request."""
    return list({query.request: query for query in queries}.values())


def _make_reader(settings: Settings) -> ResultReader:
    return ResultReader(settings.id_field, settings.text_field, settings.match == "text")


def _make_call_settings(
    retriever: object,
    settings: Settings,
    concurrency: int | None,
    rate_limiter: RateLimiter | None,
    exceptions: ExceptionPolicy,
) -> CallSettings:
    limiter = rate_limiter or RateLimiter(settings.rate)
    # Services end their own calls, so no thread has to be abandoned.
    timeout = None if isinstance(retriever, Service) else settings.timeout
    return CallSettings(limiter, exceptions, concurrency or settings.concurrency, timeout)


# Jobs.


def _make_single_jobs(
    retriever: object, queries: Sequence[Query], reader: ResultReader, depth: int
) -> Iterator[Job]:
    """Make a call for each query."""
    __tracebackhide__ = True
    calls = _find_calls(retriever, queries)

    def read(result: object) -> list[Any]:
        return [reader.read(result, depth)]

    for query in queries:
        call = partial(calls[frozenset(query.params)], query.text, depth, query.params)
        yield Job((query,), call, read)


def _make_batch_jobs(
    retriever: object, queries: Sequence[Query], reader: ResultReader, depth: int
) -> Iterator[Job]:
    """Make a call for the queries that share their parameters, or several if they are many."""
    __tracebackhide__ = True
    size = get_batch_size(retriever)
    calls = _find_calls(retriever, queries)
    groups: dict[str, list[Query]] = {}
    for query in queries:
        groups.setdefault(make_request("", query.params), []).append(query)
    for group in groups.values():
        params = group[0].params
        for start in range(0, len(group), size):
            batch = tuple(group[start : start + size])
            texts = [query.text for query in batch]
            call = partial(calls[frozenset(params)], texts, depth, params)
            yield Job(batch, call, partial(_read_batch, reader, depth, len(batch)))


def _read_batch(reader: ResultReader, depth: int, count: int, result: object) -> list[Any]:
    answers: list[Any] = []
    for part in split_batch(result, count):
        try:
            answers.append(reader.read(part, depth))
        except Exception as error:  # a result that cannot be read does not spoil the others
            answers.append(error)
    return answers


def _make_stages_jobs(
    retriever: object,
    queries: Sequence[Query],
    reader: ResultReader,
    needed: Collection[str],
    depth: int,
) -> Iterator[Job]:
    __tracebackhide__ = True
    stage_reader = replace(reader, fields=(), size_counters={})

    def read(result: object) -> list[Any]:
        return [read_stages(result, lambda stage: stage_reader.read(stage, depth), needed)]

    for job in _make_single_jobs(retriever.stages, queries, stage_reader, depth):  # type: ignore[attr-defined]
        yield job._replace(read=read, repeat=STAGES_REPEAT)


def _find_calls(retriever: object, queries: Sequence[Query]) -> dict[frozenset[str], Call]:
    """Settle how to call the retriever, which depends on the names of parameters alone."""
    __tracebackhide__ = True
    calls: dict[frozenset[str], Call] = {}
    for query in queries:
        names = frozenset(query.params)
        if names in calls:
            continue
        try:
            calls[names] = find_call(retriever, query.params)
        except RetrieverError as error:
            if not (names and query.location.path):
                raise
            raise RetrieverError(f"{query.location}: {error}") from None
    if not calls:  # a retriever that cannot be called is an error without any query, too
        find_call(retriever, {})
    return calls


# The pass.


@dataclass
class _Collector:
    """A pass over the queries: the jobs, and the replies by repeat and request.

    Attributes:
        is_timed: Whether the time of a call is that of its query. It is not in a batch.
        needed_stages: The stages that metrics use, or ``None`` if no stages are called.
        retry_count: How many calls were made again.
        failures_in_row: Calls without an answer since the last answer.
        gave_up: Why no further call is made, or an empty string.
    """

    queries: Sequence[Query]
    settings: Settings
    calls: CallSettings
    is_timed: bool = True
    needed_stages: Collection[str] | None = None
    keep: KeepAnswer | None = None
    report_progress: ReportProgress | None = None
    jobs: list[Job] = field(default_factory=list)
    pending: deque[Job] = field(default_factory=deque)
    replies: dict[tuple[int, str], Reply] = field(default_factory=dict)
    open_counts: dict[str, int] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    total_count: int = 0
    retry_count: int = 0
    failures_in_row: int = 0
    gave_up: str = ""
    is_interrupted: bool = False

    def add_job(self, job: Job) -> None:
        self.jobs.append(job)
        self.total_count += len(job.queries)
        for query in job.queries:
            self.open_counts[query.request] = self.open_counts.get(query.request, 0) + 1

    def run_jobs(self) -> None:
        """Make all calls, and failed ones again as often as the settings say."""
        __tracebackhide__ = True
        try:
            self._report_progress()
            self._run(self.jobs)
            for round_number in range(self.settings.retry.times):
                failed = [job for job in self.jobs if self._list_errors(job)]
                if not failed or self.gave_up:
                    break
                errors = chain.from_iterable(map(self._list_errors, failed))
                time.sleep(find_wait(round_number, errors))
                self.retry_count += len(failed)
                self._run(failed)
        except KeyboardInterrupt:
            self.is_interrupted = True
        for query in self.queries:
            self._keep_answer(query, is_final=True)

    def _run(self, jobs: Iterable[Job]) -> None:
        """Make calls. What the first call returns settles the way they are made."""
        __tracebackhide__ = True
        self.pending = deque(jobs)
        if self.calls.concurrency == 1 and self.calls.timeout is None:
            rest = run_in_sequence(self.pending, self._finish_job, self.calls)
        else:
            from pytest_irquality.retrieval.threads import run_in_threads

            rest = run_in_threads(self.pending, self._finish_job, self.calls)
        if rest:
            from pytest_irquality.retrieval.loop import run_in_loop  # imports asyncio

            self.pending.extend(rest)
            run_in_loop(self.pending, self._finish_job, self.calls)

    def _finish_job(self, job: Job, reply: Reply) -> None:
        self.retry_count += reply.refusal_count
        failure = _name_failure(reply.error, self.calls.exceptions)
        self.failures_in_row = self.failures_in_row + 1 if failure else 0
        limit = max(MIN_FAILURES_TO_GIVE_UP, 3 * self.calls.concurrency)
        if self.failures_in_row == limit:
            self.gave_up = f"Not run, because {limit} calls in a row {failure}"
            self.pending.clear()
        values = reply.values or [None] * len(job.queries)
        for query, value in zip(job.queries, values, strict=True):
            error = value if isinstance(value, BaseException) else reply.error
            if error is None and self.calls.timeout and reply.seconds > self.calls.timeout:
                # A coroutine that blocks its loop cannot be ended, and answers all the same.
                error = CallTimeout(
                    f"Answered after {reply.seconds:.1f} s, later than the 'timeout' of"
                    f" {self.calls.timeout:g} s allows"
                )
            key = (job.repeat, query.request)
            if key not in self.replies:
                self.open_counts[query.request] -= 1
            self.replies[key] = reply._replace(values=[value], error=error)
            self._keep_answer(query)
        self._report_progress()

    def _list_errors(self, job: Job) -> list[BaseException]:
        """Return the errors of a job that are worth a retry."""
        errors = []
        for query in job.queries:
            reply = self.replies.get((job.repeat, query.request))
            error = reply.error if reply else None
            is_skip = self.calls.exceptions.is_skip(error)
            if error and not is_skip and should_retry(error, self.settings.retry.on):
                errors.append(error)
        return errors

    def _report_progress(self) -> None:
        if self.report_progress:
            self.report_progress(len(self.replies), self.total_count)

    def _keep_answer(self, query: Query, *, is_final: bool = False) -> None:
        """Hand on the answers to a request once they are complete, or finally its error."""
        request = query.request
        if not self.keep or request in self.kept or self.open_counts.get(request):
            return
        run = self.make_run([query], Run())
        if run.answers or (is_final and run.errors):
            self.kept.add(request)
            self.keep(run)

    # The run.

    def make_run(self, queries: Sequence[Query], known: Run) -> Run:
        """Make a run of the replies so far. Its ids of chunks agree with those of a known run."""
        texts: dict[str, str] = {}
        for rankings in known.answers.values():
            for ranking in rankings:
                texts.update(zip(ranking.doc_ids, ranking.texts, strict=False))
        run = self._make_part(queries, range(self.settings.repeat), texts, "")
        stages = {}
        if self.needed_stages is not None:
            for name in self._list_stages(queries) or self.needed_stages:
                stages[name] = self._make_part(queries, (STAGES_REPEAT,), texts, name)
        return replace(run, stages=stages)

    def _list_stages(self, queries: Sequence[Query]) -> list[str]:
        names: dict[str, None] = {}
        for query in queries:
            reply = self.replies.get((STAGES_REPEAT, query.request))
            if reply is not None and reply.error is None and reply.values:
                names.update(dict.fromkeys(reply.values[0]))
        return list(names)

    def _make_part(
        self, queries: Sequence[Query], repeats: Sequence[int], texts: dict[str, str], stage: str
    ) -> Run:
        """Make a run of all repeats, or of a stage."""
        answers: dict[str, tuple[Ranking, ...]] = {}
        errors: dict[str, QueryError] = {}
        titles: dict[str, str] = {}
        cut_count = 0
        for query in queries:
            found: list[Answer] = []
            for repeat in repeats:
                answer = self._get_answer(repeat, query, stage)
                if isinstance(answer, Answer):
                    found.append(answer)
                elif answer is not None:
                    is_skipped = self.calls.exceptions.is_skip(answer)
                    error = make_query_error(answer, query.text, is_skipped=is_skipped)
                    if query.request not in errors or errors[query.request].is_skipped:
                        errors[query.request] = error
            if len(found) < len(repeats):
                continue
            rankings = []
            for answer in found:
                ranking = answer.ranking
                if self.settings.match == "text":
                    doc_ids = make_distinct_ids(ranking.doc_ids, ranking.texts, texts)
                    ranking = replace(ranking, doc_ids=doc_ids)
                rankings.append(ranking)
                cut_count += answer.cut_text_count
                _add_titles(titles, ranking.doc_ids, answer.titles)
            answers[query.request] = tuple(rankings)
        notes: tuple[str, ...] = ()
        if cut_count:
            notes = (
                f"{cut_count:,} texts of results were longer than {MAX_TEXT_CHARS:,} characters"
                " and were cut",
            )
        return Run(answers, errors, titles, notes=notes)

    def _get_answer(self, repeat: int, query: Query, stage: str) -> Answer | BaseException | None:
        """Return an answer, why there is none, or ``None`` if Ctrl-C came before."""
        reply = self.replies.get((repeat, query.request))
        if reply is None:
            return NotRunError(self.gave_up) if self.gave_up else None
        if reply.error is not None:
            return reply.error
        assert reply.values is not None
        value = reply.values[0]
        if stage:
            missing = NotRunError(f"The retriever returned no stage '{stage}' for this query")
            found: Answer | BaseException = value.get(stage, missing)
            return found
        answer: Answer = value
        if self.is_timed:
            answer = replace(answer, ranking=replace(answer.ranking, seconds=reply.seconds))
        return answer


def _add_titles(titles: dict[str, str], doc_ids: Sequence[str], raw: Sequence[str]) -> None:
    """Add the titles of hits. The first title of a document counts."""
    for doc_id, title in zip(doc_ids, raw, strict=False):
        if doc_id not in titles:
            title = clean_title(title)  # noqa: PLW2901
            if title:
                titles[doc_id] = title


def _name_failure(error: BaseException | None, exceptions: ExceptionPolicy) -> str:
    """Name the failure of a retriever that answers nothing, or return an empty string."""
    if error is None or exceptions.is_skip(error):
        return ""
    if isinstance(error, CallTimeout):
        return "timed out"
    return "were refused" if is_refusal(error) else ""
