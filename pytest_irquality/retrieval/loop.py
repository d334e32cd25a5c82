"""Run coroutines: one pass over the queries in one event loop.

It is the loop that the retriever's own fixture left current, if there is one, because clients are
bound to the loop in which they were made.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pytest_irquality.retrieval.calling import CallSettings, FinishJob, Job, Reply, drop_jobs
from pytest_irquality.retrieval.errors import DEFAULT_TIMEOUT_S, RetrieverError, make_timeout

# The time that cancelled calls have to clean up.
CLEANUP_TIMEOUT_S = 0.5


def run_in_loop(jobs: deque[Job], finish: FinishJob, settings: CallSettings) -> None:
    """Make all calls in one event loop, and drop what is left if the pass ends early.

    Raises:
        RetrieverError: An event loop is running in this thread already.
    """
    try:
        with open_loop() as run:
            run(_run_jobs(jobs, finish, settings))
    finally:
        drop_jobs(jobs)


async def _run_jobs(jobs: deque[Job], finish: FinishJob, settings: CallSettings) -> None:
    timeout = settings.timeout or DEFAULT_TIMEOUT_S
    calls: dict[asyncio.Future[Reply], Job] = {}
    abandoned: set[asyncio.Future[Reply]] = set()

    async def work() -> None:
        while jobs:
            await run_job(jobs.popleft())

    async def run_job(job: Job) -> None:
        """Make a call when the rate limit allows it, and again if the engine refuses it."""
        first_began, refusal_count = time.monotonic(), 0
        while True:
            while job.awaitable is None and (wait := settings.limiter.acquire()):
                await asyncio.sleep(wait)
            began = time.monotonic()
            reply = await make_call(job)
            is_skip = settings.exceptions.is_skip(reply.error)
            if is_skip or not settings.limiter.record(reply.error, began, first_began):
                finish(job, reply._replace(refusal_count=refusal_count))
                return
            refusal_count += 1
            job = job._replace(awaitable=None)

    async def make_call(job: Job) -> Reply:
        call = asyncio.ensure_future(_attempt(job, settings))
        calls[call] = job
        await asyncio.wait({call}, timeout=timeout)
        del calls[call]
        if call.cancelled():
            return Reply(error=asyncio.CancelledError())
        if call.done():
            return call.result()
        call.cancel()
        abandoned.add(call)
        return Reply(error=make_timeout(timeout, "The call was cancelled"))

    workers = [asyncio.ensure_future(work()) for _ in range(min(settings.concurrency, len(jobs)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for call, job in calls.items():
            if call.done() and not call.cancelled() and not call.exception():
                finish(job, call.result())
        await _cancel([*workers, *calls, *abandoned])


async def _attempt(job: Job, settings: CallSettings) -> Reply:
    start = time.perf_counter()
    try:
        result = job.call() if job.awaitable is None else job.awaitable
        if inspect.isawaitable(result):
            result = await result
        return Reply(job.read(result), None, time.perf_counter() - start)
    except BaseException as error:
        is_cancelled = isinstance(error, asyncio.CancelledError)
        if is_cancelled or not settings.exceptions.is_query_error(error):
            raise
        return Reply(None, error, time.perf_counter() - start)


async def _cancel(tasks: list[asyncio.Future[Any]]) -> None:
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending, timeout=CLEANUP_TIMEOUT_S)


def run_awaitable(awaitable: Any) -> Any:
    """Run what an async function returned to its end."""

    async def wait() -> Any:
        return await awaitable

    with open_loop() as run:
        return run(wait())


@contextmanager
def open_loop() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Provide a function that runs a coroutine to its end, always in the same event loop.

    Raises:
        RetrieverError: An event loop is running in this thread already.
    """
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise RetrieverError(
            "An event loop is running here already, as in a notebook. Call check() in another"
            " thread: `await asyncio.to_thread(check, …)`"
        )
    current_loop = _find_current_loop()
    loop = current_loop or asyncio.new_event_loop()

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        task = loop.create_task(coroutine)
        try:
            return loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # Ctrl-C came between two steps, so let the calls clean up
                task.cancel()
                with suppress(BaseException):
                    loop.run_until_complete(task)
            raise

    try:
        yield run
    finally:
        if current_loop is None:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _find_current_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that a fixture made current and left open, if any."""
    # Up to Python 3.11, asking for the current loop makes one, which nobody would close.
    policy = asyncio.get_event_loop_policy() if sys.version_info < (3, 12) else None
    try:
        if policy:
            policy.new_event_loop = _refuse_new_loop  # type: ignore[method-assign]
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            loop = asyncio.get_event_loop()
    except (RuntimeError, DeprecationWarning):
        return None
    finally:
        if policy:
            del policy.new_event_loop
    return None if loop.is_closed() else loop


def _refuse_new_loop() -> asyncio.AbstractEventLoop:
    raise RuntimeError
