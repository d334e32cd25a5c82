"""Find out how to call a retriever, and make calls one after the other.

``loop`` makes calls in threads and calls that return something to await, because it imports
asyncio.
"""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter
from typing import Any, NamedTuple

from pytest_irquality.io import dataclass
from pytest_irquality.io.escaping import clip
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.hit_reader import ResultReader, split_batch
from pytest_irquality.retrieval.rate_limit import RateLimiter
from pytest_irquality.suite.model import Query, make_request

DEFAULT_BATCH_SIZE = 128
# Longest uninterrupted wait. On some systems Ctrl-C does not end a longer one.
MAX_SLEEP_S = 0.25
MAX_REPR_CHARS = 80
MAX_SIGNATURE_CHARS = 160
_METHODS = ("similarity_search", "search", "retrieve", "invoke", "ainvoke", "run", "query")
_CLEAR_CUTOFF_NAMES = (
    "top_k", "limit", "size", "num_results", "topk", "top_n", "n_results", "max_results",
    "max_num_results", "num_hits", "similarity_top_k",
)  # fmt: skip
# These mean the cutoff only if no parameter has one of the names above.
_SHORT_CUTOFF_NAMES = ("k", "n")
_ADVISED_CUTOFF_NAMES = "k, top_k, limit, size, n or num_results"

# A function of a query (or the queries of a batch), the cutoff and the parameters.
Call = Callable[[Any, int, Mapping[str, Any]], Any]
# How to call a retriever, by the names of the parameters.
Calls = dict[frozenset[str], Call]


def _find_function(retriever: object) -> tuple[Callable[..., Any], str, str]:
    """Return the function to call, its name, and what it takes: ``query`` or ``queries``."""
    _refuse_unusable(retriever)
    if takes_batches(retriever):
        batch: Callable[..., Any] = retriever.batch  # type: ignore[attr-defined]
        return batch, f"{type(retriever).__name__}.batch", "queries"
    single_call = _find_single_call(retriever)
    if single_call is None:
        raise RetrieverError(
            f"The retriever fixture returned {clip(repr(retriever), MAX_REPR_CHARS)}"
            f" ({type(retriever).__name__}). It must return a function of (query) or (query, k), or"
            f" an object with one of the methods {', '.join(_METHODS)} or batch"
        )
    return *single_call, "query"


def takes_batches(retriever: object) -> bool:
    """Return whether ``batch(queries, k)`` of a retriever is called, with several queries.

    A ``batch`` whose first parameter is named ``queries`` is meant for this plugin. Any other, such
    as the one of a LangChain Runnable, is used only if nothing takes a single query.
    """
    function = getattr(retriever, "batch", None)
    if inspect.isclass(retriever) or not callable(function):
        return False
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        first = None
    return first == "queries" or _find_single_call(retriever) is None


def _bind(function: Callable[..., Any], name: str, params: Mapping[str, Any], subject: str) -> Call:
    """Find out how a function takes its subject (``query`` or ``queries``) and the cutoff."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some callables in C have no signature, and (query, k) is the likeliest one.
        return lambda query, k, params: function(query, k, **params)
    first = next(iter(signature.parameters), None)
    names = set()
    for parameter in signature.parameters.values():
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            names.add(parameter.name)
    shown = clip(f"{name}{signature}", MAX_SIGNATURE_CHARS)
    cutoff = _find_cutoff(shown, names - {first, *params})
    arguments = {cutoff: 0, **params} if cutoff else params
    try:
        signature.bind(None, **arguments)
    except TypeError as error:
        raise RetrieverError(
            f"The retriever {shown} cannot be called: {error}. It is called with the {subject}, the"
            f" cutoff ({_ADVISED_CUTOFF_NAMES}) if it takes one, and the 'params' of the suite"
        ) from None
    if cutoff is None:
        return lambda query, k, params: function(query, **params)
    return lambda query, k, params: function(query, **{cutoff: k, **params})


def _find_cutoff(shown: str, names: Collection[str]) -> str | None:
    cutoffs = [name for name in _CLEAR_CUTOFF_NAMES if name in names]
    cutoffs = cutoffs or [name for name in _SHORT_CUTOFF_NAMES if name in names]
    if len(cutoffs) > 1:
        raise RetrieverError(
            f"The retriever {shown} takes {' and '.join(map(repr, cutoffs))}, and each of them"
            " could be the cutoff. Give the other one a value under 'params'"
        )
    return cutoffs[0] if cutoffs else None


def _find_single_call(retriever: object) -> tuple[Callable[..., Any], str] | None:
    """Return the function or method that takes a single query, with its name."""
    if callable(retriever):
        return retriever, getattr(retriever, "__name__", type(retriever).__name__)
    for name in _METHODS:
        method = getattr(retriever, name, None)
        if callable(method):
            return method, f"{type(retriever).__name__}.{name}"
    return None


def _refuse_unusable(retriever: object) -> None:
    if inspect.isclass(retriever):
        name = retriever.__name__
        raise RetrieverError(f"The retriever fixture returned the class {name}. Return {name}(…)")
    if inspect.iscoroutine(retriever):
        retriever.close()
    if inspect.isawaitable(retriever) or inspect.isasyncgen(retriever):
        raise RetrieverError(
            "The retriever fixture is async, and nothing awaited it. Use pytest-asyncio (with"
            " @pytest_asyncio.fixture in its strict mode) or anyio (with its mark and asyncio)"
        )


# -- Making calls ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExceptionPolicy:
    """Exceptions that are not errors of a query.

    Attributes:
        skips: They leave out the query whose call raises them (``pytest.skip``).
        exits: They end the run and are raised again (``pytest.exit``). Ctrl-C is not one of them:
            it keeps the answers so far and marks the run as interrupted.
    """

    skips: tuple[type[BaseException], ...] = ()
    exits: tuple[type[BaseException], ...] = ()

    def is_query_error(self, error: BaseException) -> bool:
        """Return whether an exception concerns only the query whose call raised it."""
        return not isinstance(error, (KeyboardInterrupt, GeneratorExit, *self.exits))

    def is_skip(self, error: BaseException | None) -> bool:
        """Return whether a call says that its query is to be left out."""
        return isinstance(error, self.skips)


NO_EXCEPTIONS = ExceptionPolicy()


class Job(NamedTuple):
    """A call to make, for one query or for a batch.

    Attributes:
        queries: The query of the call, or the queries of a batch.
        call: Makes the call.
        read: Reads the returned value into one value for each query. This is part of the call's
            time, because a generator works while it is read.
        repeat: The number of the repeat, from 0, or ``STAGES_REPEAT``.
        awaitable: The returned value, if the call was made already and its value must be awaited.
    """

    queries: tuple[Query, ...]
    call: Callable[[], Any]
    read: Callable[[Any], list[Any]]
    repeat: int = 0
    awaitable: Any = None


class CompletedCall(NamedTuple):
    """How a call ended: with values or an error.

    Attributes:
        values: One value for each query of the job. A value may be an exception.
        refusal_count: How often the engine had refused the call before.
    """

    values: list[Any] | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    refusal_count: int = 0


FinishJob = Callable[[Job, CompletedCall], None]


@dataclass(frozen=True)
class CallSettings:
    """How calls are made, in sequence or in a loop.

    Attributes:
        concurrency: The number of calls in flight.
        timeout: The time limit of a call in seconds, or ``None``.
    """

    limiter: RateLimiter
    exceptions: ExceptionPolicy = NO_EXCEPTIONS
    concurrency: int = 1
    timeout: float | None = None


def make_jobs(
    retriever: object, queries: Sequence[Query], reader: ResultReader, depth: int
) -> Iterator[Job]:
    """Make a job for each query, or for the queries of a batch.

    Raises:
        RetrieverError: The retriever cannot be called, or not with the parameters of a query.
    """
    calls = _find_calls(retriever, queries)
    if takes_batches(retriever):
        size = getattr(retriever, "batch_size", None) or DEFAULT_BATCH_SIZE
        yield from _make_batch_jobs(calls, size, queries, reader, depth)
        return

    def read(result: object) -> list[Any]:
        return [reader.read(result, depth)]

    for query in queries:
        call = partial(calls[frozenset(query.params)], query.text, depth, query.params)
        yield Job((query,), call, read)


def _make_batch_jobs(
    calls: Calls, size: int, queries: Sequence[Query], reader: ResultReader, depth: int
) -> Iterator[Job]:
    """Make jobs for the queries that share their parameters, each with at most ``size``."""
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
        except Exception as error:  # The other queries of the batch still have answers.
            answers.append(error)
    return answers


def _find_calls(retriever: object, queries: Sequence[Query]) -> Calls:
    """Find out how to call a retriever, which depends only on the names of parameters."""
    function, name, subject = _find_function(retriever)
    calls: Calls = {}
    for query in queries:
        names = frozenset(query.params)
        if names in calls:
            continue
        try:
            calls[names] = _bind(function, name, query.params, subject)
        except RetrieverError as error:
            if not (names and query.location.path):
                raise
            raise RetrieverError(f"{query.location}: {error}") from None
    return calls


def make_call(job: Job, exceptions: ExceptionPolicy) -> CompletedCall | Job:
    """Make a call. If it returned something to await, return the job with that instead."""
    start = time.perf_counter()
    try:
        result = job.call()
        if inspect.isawaitable(result):
            return job._replace(awaitable=result)
        return CompletedCall(job.read(result), None, time.perf_counter() - start)
    except BaseException as error:
        if not exceptions.is_query_error(error):
            raise
        return CompletedCall(None, error, time.perf_counter() - start)


def run_in_sequence(jobs: deque[Job], finish: FinishJob, settings: CallSettings) -> list[Job]:
    """Make all calls in this thread, one after the other.

    A call is made when the rate limit allows it, and again if the engine refuses it.

    Returns:
        The jobs that are left if a call returns something to await: that one, and all after it.
    """
    while jobs:
        job = jobs.popleft()
        first_start, refusal_count = time.monotonic(), 0
        while True:
            while wait := settings.limiter.acquire():
                time.sleep(min(wait, MAX_SLEEP_S))
            start = time.monotonic()
            completed = make_call(job, settings.exceptions)
            if isinstance(completed, Job):
                rest = [completed, *jobs]
                jobs.clear()
                return rest
            is_skip = settings.exceptions.is_skip(completed.error)
            if is_skip or not settings.limiter.record(completed.error, start, first_start):
                finish(job, completed._replace(refusal_count=refusal_count))
                break
            refusal_count += 1
    return []


def close_jobs(jobs: Iterable[Job]) -> None:
    """Close coroutines that were made for jobs that will not run."""
    for job in jobs:
        if inspect.iscoroutine(job.awaitable):
            job.awaitable.close()
