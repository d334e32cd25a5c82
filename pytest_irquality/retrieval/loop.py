"""Coroutines: a whole pass in one event loop.

It is the loop that the retriever's own fixture left, where there is one.
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

from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.jobs import Done, Job, Reply, TimedOut, is_fault
from pytest_irquality.retrieval.pace import Pace

GRACE = 0.5  # seconds that cancelled calls have to clean up


async def in_loop(
    jobs: deque[Job], done: Done, concurrency: int, timeout: float | None, pace: Pace
) -> None:
    """Make every call, at most ``concurrency`` at once.

    One that takes longer than ``timeout`` seconds is cancelled.
    """
    calls: dict[asyncio.Future[Reply], Job] = {}
    given_up: set[asyncio.Future[Reply]] = set()
    # What is no fault of a call is carried past the tasks: asyncio lets Ctrl-C tear through the
    # loop itself.
    escaped: list[BaseException] = []

    async def work() -> None:
        while jobs and not escaped:
            await answer(jobs.popleft())

    async def answer(job: Job) -> None:
        """Make a call when it is its turn, and again as long as the engine refuses it."""
        since, refused = time.monotonic(), 0
        while True:
            while job.begun is None and (seconds := pace.turn()):
                await asyncio.sleep(seconds)
            began = time.monotonic()
            reply = await made(job)
            if not pace.refuses(reply.error, began, since):
                done(job, reply._replace(refused=refused))
                return
            refused += 1
            job = job._replace(begun=None)

    async def made(job: Job) -> Reply:
        call = asyncio.ensure_future(_attempt(job, escaped))
        calls[call] = job
        await asyncio.wait({call}, timeout=timeout)
        del calls[call]
        if call.cancelled():
            return Reply(error=asyncio.CancelledError())
        if call.done():
            return call.result()
        call.cancel()
        given_up.add(call)
        return Reply(error=TimedOut(timeout or 0.0, "the call was cancelled"))

    workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(jobs)))]
    try:
        await asyncio.gather(*workers)
    except _Stopped:
        raise escaped[0] from None
    finally:
        for call, job in calls.items():
            if call.done() and not call.cancelled() and not call.exception():
                done(job, call.result())
        await _cancel([*workers, *calls, *given_up])


async def _attempt(job: Job, escaped: list[BaseException]) -> Reply:
    start = time.perf_counter()
    try:
        value = job.call() if job.begun is None else job.begun
        if inspect.isawaitable(value):
            value = await value
        return Reply(job.read(value), None, time.perf_counter() - start)
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        if is_fault(error):
            return Reply(None, error, time.perf_counter() - start)
        escaped.append(error)
        raise _Stopped from None


class _Stopped(Exception):
    """Ends the pass from within one of its tasks."""


async def _cancel(tasks: list[asyncio.Future[Any]]) -> None:
    """Give tasks that are no longer wanted a moment to clean up."""
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending, timeout=GRACE)


@contextmanager
def one_loop() -> Iterator[Callable[[Coroutine[Any, Any, None]], None]]:
    """A function that runs a coroutine to its end, every time in the same event loop."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise RetrieverError(
            "an event loop is already running here, as in a notebook:"
            " await asyncio.to_thread(retrieve, suite, retriever)"
        )
    left = _left_current()
    loop = left or asyncio.new_event_loop()

    def run(coroutine: Coroutine[Any, Any, None]) -> None:
        task = loop.create_task(coroutine)
        try:
            loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # Ctrl-C came between two steps: let the calls clean up
                task.cancel()
                with suppress(BaseException):
                    loop.run_until_complete(task)
            raise

    try:
        yield run
    finally:
        if left is None:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _left_current() -> asyncio.AbstractEventLoop | None:
    """The loop that a fixture made current and left open.

    Asking for it must not make one, as older Pythons do.
    """
    policy = asyncio.get_event_loop_policy() if sys.version_info < (3, 12) else None
    try:
        if policy:
            policy.new_event_loop = _none_to_make  # type: ignore[method-assign]
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            loop = asyncio.get_event_loop()
    except (RuntimeError, DeprecationWarning):
        return None
    finally:
        if policy:
            del policy.new_event_loop
    return None if loop.is_closed() else loop


def _none_to_make() -> asyncio.AbstractEventLoop:
    raise RuntimeError
