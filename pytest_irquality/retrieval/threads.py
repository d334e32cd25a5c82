"""Run plain calls in threads: several at once, or one that may hang.

``ThreadPoolExecutor`` does not fit, because the interpreter waits for its threads when it exits. A
hung call would hold up the end of the test run.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from contextvars import copy_context
from dataclasses import dataclass, field
from math import inf

from pytest_irquality.retrieval.calling import (
    MAX_SLEEP_S,
    CallSettings,
    FinishJob,
    Job,
    Reply,
    make_call_in_turn,
)
from pytest_irquality.retrieval.errors import make_timeout

MIN_WAIT_S = 0.001
_Result = Reply | Job | BaseException


def run_in_threads(jobs: deque[Job], finish: FinishJob, settings: CallSettings) -> list[Job]:
    """Make all calls, several at once.

    A call that takes too long ends with ``CallTimeout``. Its thread is abandoned, and another one
    takes its place. As soon as a call returns something to await, no further call begins.

    Args:
        jobs: The calls, which are removed as they begin.
        finish: Called in this thread as each call ends.
        settings: How calls are made.

    Returns:
        The jobs that are left: those that have to be awaited, and those that did not begin.
    """
    crew = _Crew(jobs, settings)
    awaitable_jobs: list[Job] = []
    rest: list[Job] = []
    try:
        crew.start_threads(min(settings.concurrency, len(jobs)))
        while crew.is_busy():
            late_jobs = crew.abandon_late_calls()
            for job in late_jobs:
                error = make_timeout(settings.timeout or 0.0, "Its thread was left running")
                finish(job, Reply(error=error))
            crew.start_threads(min(len(late_jobs), len(jobs)))
            try:
                job, result = crew.ended.get(timeout=crew.get_patience())
            except queue.Empty:
                continue
            if isinstance(result, BaseException):
                raise result
            if isinstance(result, Job):
                awaitable_jobs.append(result)
                rest += crew.dismiss()
            else:
                finish(job, result)
    except KeyboardInterrupt:
        while not crew.ended.empty():
            job, result = crew.ended.get()
            if isinstance(result, Reply):
                finish(job, result)
        raise
    finally:
        crew.dismiss()
        crew.running.clear()
    return awaitable_jobs + rest


@dataclass
class _Crew:
    """Threads that share jobs. Whoever takes a job out of ``running`` answers for it.

    Attributes:
        running: The job of each thread, and when its call began.
        ended: What came of calls, for the thread that started the pass.
    """

    jobs: deque[Job]
    settings: CallSettings
    is_dismissed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: dict[threading.Thread, tuple[Job, float]] = field(default_factory=dict)
    ended: queue.SimpleQueue[tuple[Job, _Result]] = field(default_factory=queue.SimpleQueue)

    def start_threads(self, count: int) -> None:
        for _ in range(count):
            context = copy_context()
            thread = threading.Thread(
                target=context.run, args=(self.work,), daemon=True, name="irquality"
            )
            thread.start()

    def work(self) -> None:
        """Make calls until none is left. Each thread runs this."""
        thread = threading.current_thread()
        result: _Result | None
        while True:
            with self.lock:
                if self.is_dismissed or not self.jobs:
                    return
                job = self.jobs.popleft()
                self.running[thread] = job, inf  # it waits for its turn
            try:
                result = make_call_in_turn(job, self.settings, self.may_begin)
            except BaseException as error:
                # Not an error of the query, so the thread that started the pass raises it again.
                result = error
            with self.lock:
                was_abandoned = self.running.pop(thread, None) is None
                if was_abandoned or result is None:
                    return
                self.ended.put((job, result))
            if not isinstance(result, Reply):
                return

    def may_begin(self) -> bool:
        """Start the clock of this thread's call. Return whether anybody still waits for it."""
        thread = threading.current_thread()
        with self.lock:
            if thread not in self.running:
                return False
            job, _ = self.running[thread]
            self.running[thread] = job, time.perf_counter()
            return True

    def is_busy(self) -> bool:
        with self.lock:
            return bool(self.jobs or self.running) or not self.ended.empty()

    def get_patience(self) -> float:
        """Return the seconds to wait for a result before looking for late calls."""
        if self.settings.timeout is None:
            return MAX_SLEEP_S
        with self.lock:
            first = min((start for _, start in self.running.values()), default=0.0)
        wait = first + self.settings.timeout - time.perf_counter()
        return min(MAX_SLEEP_S, max(MIN_WAIT_S, wait))

    def abandon_late_calls(self) -> list[Job]:
        if self.settings.timeout is None:
            return []
        with self.lock:
            now = time.perf_counter()
            late_threads = []
            for thread, (_, start) in self.running.items():
                if now - start > self.settings.timeout:
                    late_threads.append(thread)
            return [self.running.pop(thread)[0] for thread in late_threads]

    def dismiss(self) -> list[Job]:
        """Let no further call begin. Return the jobs that are left."""
        with self.lock:
            # A thread that starts only now must not find jobs that others have taken over.
            self.is_dismissed = True
            rest = list(self.jobs)
            self.jobs.clear()
        return rest
