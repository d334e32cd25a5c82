"""Calls to make, what came of them, and the simplest way to make them: one after the other."""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_irquality.retrieval.rate_limit import RateLimiter
from pytest_irquality.suite.model import Query

# Longest uninterrupted wait. On some systems Ctrl-C does not end a longer one.
MAX_SLEEP_S = 0.25


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


def make_call_in_turn(
    job: Job, settings: CallSettings, may_begin: Callable[[], bool] = lambda: True
) -> Reply | Job | None:
    """Make a call when the rate limit allows it, and again if the engine refuses it.

    Args:
        job: The call.
        settings: How calls are made.
        may_begin: Asked each time before the call is made.

    Returns:
        The reply, the job with what is to be awaited, or ``None`` if the call may not begin.
    """
    first_began, refusal_count = time.monotonic(), 0
    while True:
        while wait := settings.limiter.acquire():
            time.sleep(min(wait, MAX_SLEEP_S))
        began = time.monotonic()
        if not may_begin():
            return None
        reply = make_call(job, settings.exceptions)
        if isinstance(reply, Job):
            return reply
        if settings.exceptions.is_skip(reply.error) or not settings.limiter.record(
            reply.error, began, first_began
        ):
            return reply._replace(refusal_count=refusal_count)
        refusal_count += 1


def run_in_sequence(jobs: deque[Job], finish: FinishJob, settings: CallSettings) -> list[Job]:
    """Make all calls in this thread, one after the other.

    Returns:
        The jobs from the first one on that has to be awaited.
    """
    while jobs:
        job = jobs.popleft()
        reply = make_call_in_turn(job, settings)
        if isinstance(reply, Job):
            rest = [reply, *jobs]
            jobs.clear()
            return rest
        if reply is not None:
            finish(job, reply)
    return []


def drop_jobs(jobs: deque[Job]) -> None:
    """Drop jobs that will not run, and close coroutines that were made for them."""
    for job in jobs:
        if inspect.iscoroutine(job.awaitable):
            job.awaitable.close()
    jobs.clear()
