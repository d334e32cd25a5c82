"""Calls to be made, what came of each, and the plain way of making them: one after the other."""

from __future__ import annotations

import inspect
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from pytest_irquality.edges.printable import clipped

LONGEST = 300  # characters of an error's message; its traceback has all of it
THREADS = (
    " (under 'concurrency' or 'timeout' calls are made in other threads:"
    " connect with check_same_thread=False, or leave both out)"
)

NO_FAULTS: set[type[BaseException]] = {KeyboardInterrupt, GeneratorExit}
"""What is not a call's own but meant for whoever runs the pass: Ctrl-C, and what a caller adds."""
SKIPS: set[type[BaseException]] = set()
"""What a call raises to have its queries left out, as a caller says."""


def is_fault(error: BaseException) -> bool:
    """Tell whether what a call raised is its own fault."""
    return not isinstance(error, tuple(NO_FAULTS))


def is_skip(error: BaseException) -> bool:
    """Tell whether a call raised that its queries are to be left out."""
    unittest = sys.modules.get("unittest")  # whoever raises its SkipTest has imported it
    return isinstance(error, (*SKIPS, *([unittest.SkipTest] if unittest and SKIPS else [])))


class Job(NamedTuple):
    """A call to make.

    ``read`` reads what came while the clock still runs: a generator does its work while it is read.
    ``subject`` is the asker's own. ``begun`` is what the call gave to await, where it was made
    already. ``answer`` numbers the answers to a subject that is asked several times.
    """

    subject: Any
    call: Callable[[], Any]
    read: Callable[[Any], Any]
    begun: Any = None
    answer: int = 0


class Reply(NamedTuple):
    """The value that ``read`` gave, or what was raised instead, after how many seconds.

    The engine ``refused`` the call so often before.
    """

    value: Any = None
    error: BaseException | None = None
    seconds: float = 0.0
    refused: int = 0


Done = Callable[[Job, Reply], None]


class TimedOut(Exception):
    """A call that took longer than it may, and what became of it.

    ``usual``: the seconds of a call that can be ended, where a suite has no ``timeout``.
    """

    usual = 60.0

    def __init__(self, seconds: float, then: str) -> None:
        usual = " (longer by 'timeout' in the suite)" if seconds == self.usual else ""
        super().__init__(f"no answer within {seconds:g} s{usual}; {then}")


def attempt(job: Job) -> Reply | Job:
    """Make a call here and now. Where it gave something to await, that is the job that is left."""
    start = time.perf_counter()
    try:
        value = job.call()
        if inspect.isawaitable(value):
            return job._replace(begun=value)
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


def said_of(error: BaseException) -> str:
    """The message of what a call raised, with a hint where that alone does not tell."""
    text, name = message_of(error), type(error).__name__
    hint = THREADS if "created in a thread can only be used in that same thread" in text else ""
    return (f"{name}: {text}" if text else name) + hint


def message_of(error: BaseException) -> str:
    """The message alone, on one line."""
    return clipped(" ".join(str(error).split()), LONGEST)
