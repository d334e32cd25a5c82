"""Make calls in one event loop: coroutines, and functions in threads if several run or may hang.

Clients are bound to the loop in which they were created. Therefore the loop that the retriever's
fixture left as the current one is used, if there is one.
"""

from __future__ import annotations

import asyncio
import inspect
import queue
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any

from pytest_irquality.io import dataclass, field
from pytest_irquality.retrieval.calling import (
    CallSettings,
    CompletedCall,
    FinishJob,
    Job,
    close_jobs,
    make_call,
)
from pytest_irquality.retrieval.errors import DEFAULT_TIMEOUT_S, RetrieverError, make_timeout

# The time that cancelled calls have to clean up.
CLEANUP_TIMEOUT_S = 0.5


def run_in_loop(
    jobs: deque[Job], finish: FinishJob, settings: CallSettings, *, in_threads: bool
) -> None:
    """Make all calls in one event loop.

    A function that takes too long ends with ``CallTimeout``. Its thread is abandoned, and another
    one takes its place. A coroutine that takes too long is cancelled.

    Args:
        jobs: The calls, which are removed as they begin.
        finish: Called in this thread as each call ends.
        settings: How calls are made.
        in_threads: Whether functions are called in threads, until one returns something to await.

    Raises:
        RetrieverError: An event loop is running in this thread already.
    """
    workers = _Workers(jobs, finish, settings, in_threads)
    try:
        with open_loop() as run:
            run(workers.run())
    finally:
        # Threads may have returned coroutines after the last step of the loop.
        for result in list(workers.results.values()):
            _discard(result)
        close_jobs(jobs)


_Results = dict[asyncio.Future[Any], CompletedCall | Job]


@dataclass
class _Workers:
    """Workers that make the calls of jobs, each one call at a time.

    Attributes:
        calls: The calls in flight.
        results: The results of threads that the loop has not received yet.
        abandoned: Cancelled coroutines, which may still clean up.
    """

    jobs: deque[Job]
    finish: FinishJob
    settings: CallSettings
    in_threads: bool
    calls: dict[asyncio.Future[Any], Job] = field(default_factory=dict)
    results: _Results = field(default_factory=dict)
    abandoned: set[asyncio.Future[Any]] = field(default_factory=set)

    async def run(self) -> None:
        count = min(self.settings.concurrency, len(self.jobs))
        workers = [asyncio.ensure_future(self._work()) for _ in range(count)]
        try:
            await asyncio.gather(*workers)
        finally:
            for call, job in self.calls.items():
                if call.done() and not call.cancelled() and not call.exception():
                    completed = call.result()
                    _discard(completed)
                    if isinstance(completed, CompletedCall):
                        self.finish(job, completed)
            await _cancel([*workers, *self.calls, *self.abandoned])
            # A call that was cancelled before its first step never awaits its job's awaitable.
            close_jobs(job for call, job in self.calls.items() if call.done())

    async def _work(self) -> None:
        thread = _CallThread(self.results)
        try:
            while self.jobs:
                await self._run_job(self.jobs.popleft(), thread)
        finally:
            thread.end()

    async def _run_job(self, job: Job, thread: _CallThread) -> None:
        """Make a call when the rate limit allows it, and again if the engine refuses it."""
        first_start, refusal_count = time.monotonic(), 0
        while True:
            while job.awaitable is None and (wait := self.settings.limiter.acquire()):
                await asyncio.sleep(wait)
            start = time.monotonic()
            completed = await self._make_call(job, thread)
            is_skip = self.settings.exceptions.is_skip(completed.error)
            if is_skip or not self.settings.limiter.record(completed.error, start, first_start):
                self.finish(job, completed._replace(refusal_count=refusal_count))
                return
            refusal_count += 1
            job = job._replace(awaitable=None)

    async def _make_call(self, job: Job, thread: _CallThread) -> CompletedCall:
        is_in_thread = self.in_threads and job.awaitable is None
        timeout = self.settings.timeout
        call: asyncio.Future[CompletedCall | Job]
        if is_in_thread:
            call = thread.start(partial(make_call, job, self.settings.exceptions))
        else:
            call = asyncio.ensure_future(_attempt(job, self.settings))
            timeout = timeout or DEFAULT_TIMEOUT_S
        self.calls[call] = job
        await asyncio.wait({call}, timeout=timeout)
        del self.calls[call]
        if call.cancelled():
            return CompletedCall(error=asyncio.CancelledError())
        if not call.done():
            call.cancel()
            detail = "Its thread was left running" if is_in_thread else "The call was cancelled"
            if is_in_thread:
                thread.end()
            else:
                self.abandoned.add(call)
            return CompletedCall(error=make_timeout(timeout or 0.0, detail))
        completed = call.result()
        if isinstance(completed, Job):  # The function has returned something to await.
            self.in_threads = False
            return await self._make_call(completed, thread)
        return completed


class _CallThread:
    """A thread that makes the calls of a worker, in which clients may keep their connections.

    ``ThreadPoolExecutor`` does not fit, because the interpreter waits for its threads when it
    exits, so a call that hangs would keep pytest from exiting.
    """

    def __init__(self, results: _Results) -> None:
        self._results = results
        self._calls: queue.SimpleQueue[Any] | None = None

    def start(self, call: Callable[[], CompletedCall | Job]) -> asyncio.Future[CompletedCall | Job]:
        """Make a call, in a new thread if there is none."""
        future = asyncio.get_running_loop().create_future()
        if self._calls is None:
            self._calls = queue.SimpleQueue()
            work = partial(copy_context().run, _make_calls, self._calls, self._results)
            threading.Thread(target=work, daemon=True, name="irquality").start()
        self._calls.put((call, future))
        return future

    def end(self) -> None:
        """Let the thread end after its current call."""
        if self._calls is not None:
            self._calls.put(None)
            self._calls = None


def _make_calls(calls: queue.SimpleQueue[Any], results: _Results) -> None:
    """Make the calls in a queue, until it has ``None``. Each thread runs this."""
    for call, future in iter(calls.get, None):
        error = None
        try:
            results[future] = call()
        except BaseException as raised:  # Not an error of the query, so the loop raises it again.
            error = raised
        try:
            future.get_loop().call_soon_threadsafe(_resolve, future, results, error)
        except RuntimeError:  # the loop has ended without this call
            _discard(results.pop(future, None))


def _resolve(future: asyncio.Future[Any], results: _Results, error: BaseException | None) -> None:
    result = results.pop(future, None)
    if future.done():  # abandoned
        _discard(result)
    elif error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _discard(result: object) -> None:
    """Close the coroutine that a call returned, because nobody will await it."""
    if isinstance(result, Job):
        close_jobs([result])


async def _attempt(job: Job, settings: CallSettings) -> CompletedCall:
    """Make a call in the loop, unless it was made already, and await what it returns."""
    start = time.perf_counter()
    try:
        result = job.call() if job.awaitable is None else job.awaitable
        if inspect.isawaitable(result):
            result = await result
        return CompletedCall(job.read(result), None, time.perf_counter() - start)
    except BaseException as error:
        is_cancelled = isinstance(error, asyncio.CancelledError)
        if is_cancelled or not settings.exceptions.is_query_error(error):
            raise
        return CompletedCall(None, error, time.perf_counter() - start)


async def _cancel(calls: list[asyncio.Future[Any]]) -> None:
    """Cancel calls, and wait a moment until they have cleaned up."""
    pending = [call for call in calls if not call.done()]
    for call in pending:
        call.cancel()
    if pending:
        await asyncio.wait(pending, timeout=CLEANUP_TIMEOUT_S)


def run_awaitable(awaitable: Any) -> Any:
    """Wait for an awaitable, such as the return value of an async function."""

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
            if not task.done():  # Ctrl-C came between two steps, so let the calls clean up.
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
    # Up to Python 3.11, `get_event_loop` creates a loop if there is none, which nobody would close.
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
