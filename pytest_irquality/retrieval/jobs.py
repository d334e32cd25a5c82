"""Calls to be made, what came of each, and the plain way of making them: one after the other."""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

NO_FAULTS: set[type[BaseException]] = {KeyboardInterrupt, GeneratorExit}
"""What is not a call's own but meant for whoever runs the pass: Ctrl-C, and what a caller adds."""


def is_fault(error: BaseException) -> bool:
    """Tell whether what a call raised is its own fault."""
    return not isinstance(error, tuple(NO_FAULTS))


class Job(NamedTuple):
    """A call to make.

    ``read`` reads what came while the clock still runs: a generator does its work while it is read.
    ``most`` results are taken from an async generator. ``subject`` is the asker's own. ``begun`` is
    what the call gave to await, where it was made already. ``answer`` numbers the answers to a
    subject that is asked several times.
    """

    subject: Any
    call: Callable[[], Any]
    read: Callable[[Any], Any]
    most: int = 1
    begun: Any = None
    answer: int = 0


class Reply(NamedTuple):
    """The value that ``read`` gave, or what was raised instead, after how many seconds."""

    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0


Done = Callable[[Job, Reply], None]


class TimedOut(Exception):
    """A call that took longer than it may, and what became of it.

    ``usual``: the seconds of a call that can be ended, where a suite has no ``timeout``.
    """

    usual = 60.0

    def __init__(self, seconds: float, then: str) -> None:
        usual = " (longer by 'timeout' in the suite)" if seconds == self.usual else ""
        super().__init__(f"no answer within {seconds:g} s{usual}; {then}")


def is_async(value: object) -> bool:
    """Tell whether a result must be awaited, or iterated asynchronously."""
    if inspect.isawaitable(value):
        return True
    return hasattr(value, "__aiter__") and not hasattr(value, "__iter__")


def attempt(job: Job) -> Reply | Job:
    """Make a call here and now. Where it gave something to await, that is the job that is left."""
    start = time.perf_counter()
    try:
        value = job.call()
        if is_async(value):
            return job._replace(begun=value, call=lambda: value)
        return Reply(job.read(value), None, time.perf_counter() - start)
    except BaseException as error:
        if not is_fault(error):
            raise
        return Reply(None, error, time.perf_counter() - start)


def forget(jobs: deque[Job]) -> None:
    """Drop what will not be done any more, and the coroutines that were made for it."""
    for job in jobs:
        if inspect.iscoroutine(job.begun):
            job.begun.close()
    jobs.clear()


def in_turn(jobs: deque[Job], done: Done) -> list[Job]:
    """Make every call, one after the other. Returns those left from the first to be awaited on."""
    while jobs:
        job = jobs.popleft()
        reply = attempt(job)
        if isinstance(reply, Job):
            left = [reply, *jobs]
            jobs.clear()
            return left
        done(job, reply)
    return []
