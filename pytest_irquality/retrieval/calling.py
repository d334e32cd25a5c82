"""Call a retriever: how it takes a query and the cutoff, and calls one after the other.

Calls in threads and calls that return something to await are left to ``loop``, which imports
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

# Takes a query (or the queries of a batch), the cutoff and the parameters.
Call = Callable[[Any, int, Mapping[str, Any]], Any]
# The calls of a retriever by the names of the parameters.
Calls = dict[frozenset[str], Call]


def _find_function(retriever: object) -> tuple[Callable[..., Any], str, str]:
    """Return the function to call, its name, and what it takes: ``query`` or ``queries``."""
    _refuse_unusable(retriever)
    if takes_batches(retriever):
        batch: Callable[..., Any] = retriever.batch  # type: ignore[attr-defined]
        return batch, f"{type(retriever).__name__}.batch", "queries"
    found = _find_single_call(retriever)
    if found is None:
        raise RetrieverError(
            f"The retriever fixture returned {clip(repr(retriever), MAX_REPR_CHARS)}"
            f" ({type(retriever).__name__}). It must return a function of (query) or (query, k), or"
            f" an object with one of the methods {', '.join(_METHODS)} or batch"
        )
    return *found, "query"


def takes_batches(retriever: object) -> bool:
    """Return whether a retriever is called with several queries, by its ``batch(queries, k)``.

    A ``batch`` whose first parameter is named ``queries`` is meant for this plugin. Any other, like
    that of a LangChain Runnable, is used only if nothing takes a single query.
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
    """Settle how a function takes its subject (``query`` or ``queries``) and the cutoff."""
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
    found = [name for name in _CLEAR_CUTOFF_NAMES if name in names]
    if not found:
        found = [name for name in _SHORT_CUTOFF_NAMES if name in names]
    if len(found) > 1:
        raise RetrieverError(
            f"The retriever {shown} takes {' and '.join(map(repr, found))}, and each of them could"
            " be the cutoff. Give the other one a value under 'params'"
        )
    return found[0] if found else None


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
        skips: A call raises one of these to have its query left out (``pytest.skip``).
        escapes: These end the pass and are raised again (``pytest.exit``). Ctrl-C is not one of
            them: it keeps the answers so far and marks the run as interrupted.
    """

    skips: tuple[type[BaseException], ...] = ()
    escapes: tuple[type[BaseException], ...] = ()

    def is_query_error(self, error: BaseException) -> bool:
        """Return whether an exception concerns only the query whose call raised it."""
        return not isinstance(error, (KeyboardInterrupt, GeneratorExit, *self.escapes))

    def is_skip(self, error: BaseException | None) -> bool:
        """Return whether a call says that its query is to be left out."""
        return isinstance(error, self.skips)


NO_EXCEPTIONS = ExceptionPolicy()


class Job(NamedTuple):
    """A call to make.

    Attributes:
        queries: The query of the call, or the queries of a batch.
        call: Makes the call.
        read: Reads what the call returned, into one value for each query. This is part of the
            call's time, since a generator works while it is read.
        repeat: The number of the repeat, from 0, or ``STAGES_REPEAT``.
        awaitable: What the call returned, if it was made already and has to be awaited.
    """

    queries: tuple[Query, ...]
    call: Callable[[], Any]
    read: Callable[[Any], list[Any]]
    repeat: int = 0
    awaitable: Any = None


class Reply(NamedTuple):
    """How a call ended: with values or an error.

    Attributes:
        values: One for each query of the job. A value may be an exception.
        refusal_count: How often the engine refused the call before.
    """

    values: list[Any] | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    refusal_count: int = 0


FinishJob = Callable[[Job, Reply], None]


@dataclass(frozen=True)
class CallSettings:
    """How calls are made, whatever makes them.

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
    """Make a job for the queries that share their parameters, or several if they are many."""
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


def _find_calls(retriever: object, queries: Sequence[Query]) -> Calls:
    """Settle how to call the retriever, which depends on the names of parameters alone."""
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


def make_call(job: Job, exceptions: ExceptionPolicy) -> Reply | Job:
    """Make a call. If it returned something to await, return the job with that instead."""
    start = time.perf_counter()
    try:
        result = job.call()
        if inspect.isawaitable(result):
            return job._replace(awaitable=result)
        return Reply(job.read(result), None, time.perf_counter() - start)
    except BaseException as error:
        if not exceptions.is_query_error(error):
            raise
        return Reply(None, error, time.perf_counter() - start)


def run_in_sequence(jobs: deque[Job], finish: FinishJob, settings: CallSettings) -> list[Job]:
    """Make all calls in this thread, one after the other.

    A call is made when the rate limit allows it, and again if the engine refuses it.

    Returns:
        The jobs from the first one on that has to be awaited.
    """
    while jobs:
        job = jobs.popleft()
        first_began, refusal_count = time.monotonic(), 0
        while True:
            while wait := settings.limiter.acquire():
                time.sleep(min(wait, MAX_SLEEP_S))
            began = time.monotonic()
            reply = make_call(job, settings.exceptions)
            if isinstance(reply, Job):
                rest = [reply, *jobs]
                jobs.clear()
                return rest
            is_skip = settings.exceptions.is_skip(reply.error)
            if is_skip or not settings.limiter.record(reply.error, began, first_began):
                finish(job, reply._replace(refusal_count=refusal_count))
                break
            refusal_count += 1
    return []


def close_jobs(jobs: Iterable[Job]) -> None:
    """Close coroutines that were made for jobs that will not run."""
    for job in jobs:
        if inspect.iscoroutine(job.awaitable):
            job.awaitable.close()
