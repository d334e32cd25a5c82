"""Threads for several plain calls in flight, or for one that may hang.

No hung call can keep them from ending. They are not those of ``ThreadPoolExecutor``, which are
waited for when the interpreter ends.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextvars import copy_context
from dataclasses import dataclass, field
from math import inf

from pytest_irquality.retrieval.jobs import Done, Job, Reply, TimedOut
from pytest_irquality.retrieval.pace import TICK, Pace, in_its_turn

Ended = tuple[Job, "Reply | Job | BaseException"]


def in_threads(
    jobs: deque[Job], done: Done, concurrency: int, timeout: float | None, pace: Pace
) -> list[Job]:
    """Make every call, at most ``concurrency`` at once; call ``done`` in this thread as each ends.

    A call that takes longer than ``timeout`` seconds is answered by ``TimedOut``; its thread is
    left to itself and another takes its place. Once a call gives something to await, no more are
    begun: returns what is left to do.
    """
    crew = _Crew(jobs, timeout, pace)
    begun: list[Job] = []
    left: list[Job] = []
    try:
        crew.add(min(concurrency, len(jobs)))
        while crew.busy():
            late = crew.give_up_overdue()
            for job in late:
                error = TimedOut(timeout or 0.0, "the call was left running in its thread")
                done(job, Reply(error=error))
            crew.add(min(len(late), len(jobs)))
            try:
                job, reply = crew.ended.get(timeout=crew.patience())
            except queue.Empty:
                continue
            if isinstance(reply, BaseException):
                raise reply
            if isinstance(reply, Job):
                begun.append(reply)
                left += crew.dismiss()
            else:
                done(job, reply)
    except KeyboardInterrupt:
        for job, reply in crew.finished():
            done(job, reply)
        raise
    finally:
        crew.dismiss()
        crew.under_way.clear()
    return begun + left


@dataclass
class _Crew:
    """Threads that share the jobs. Whoever takes a call out of ``under_way`` answers for it."""

    jobs: deque[Job]
    timeout: float | None
    pace: Pace
    dismissed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    under_way: dict[threading.Thread, tuple[Job, float]] = field(default_factory=dict)
    ended: queue.SimpleQueue[Ended] = field(default_factory=queue.SimpleQueue)

    def add(self, threads: int) -> None:
        for _ in range(threads):
            context = copy_context()
            thread = threading.Thread(
                target=context.run, args=(self.work,), daemon=True, name="irquality"
            )
            try:
                thread.start()
            except RuntimeError:  # the system gives no more: those that are at work will do
                if not self.under_way:
                    raise
                return

    def work(self) -> None:
        reply: Reply | Job | BaseException | None
        me = threading.current_thread()
        while True:
            with self.lock:
                if self.dismissed or not self.jobs:
                    return
                job = self.jobs.popleft()
                self.under_way[me] = job, inf  # it waits for its turn
            try:
                reply = in_its_turn(job, self.pace, self.begins)
            except BaseException as error:
                # Not a fault of the call: raised again where the pass was begun.
                reply = error
            with self.lock:
                if self.under_way.pop(me, None) is None or reply is None:
                    return  # too late: it was answered for
                self.ended.put((job, reply))
            if not isinstance(reply, Reply):
                return  # to be awaited elsewhere, or the end of it all

    def begins(self) -> bool:
        """Begin the time of this thread's call; False where nobody waits for it any more."""
        me = threading.current_thread()
        with self.lock:
            if me not in self.under_way:
                return False
            job, _ = self.under_way[me]
            self.under_way[me] = job, time.perf_counter()
            return True

    def busy(self) -> bool:
        with self.lock:
            return bool(self.jobs or self.under_way) or not self.ended.empty()

    def patience(self) -> float:
        """Seconds to wait for a reply before looking around again."""
        if self.timeout is None:
            return TICK
        with self.lock:
            first = min((start for _, start in self.under_way.values()), default=0.0)
        return min(TICK, max(0.001, first + self.timeout - time.perf_counter()))

    def give_up_overdue(self) -> list[Job]:
        if self.timeout is None:
            return []
        with self.lock:
            now = time.perf_counter()
            late = [who for who, (_, start) in self.under_way.items() if now - start > self.timeout]
            return [self.under_way.pop(who)[0] for who in late]

    def finished(self) -> Iterator[tuple[Job, Reply]]:
        """The replies that nobody has fetched yet."""
        while not self.ended.empty():
            job, reply = self.ended.get()
            if isinstance(reply, Reply):
                yield job, reply

    def dismiss(self) -> list[Job]:
        """Let no more calls be begun; returns the jobs that are left."""
        with self.lock:
            self.dismissed = True  # a thread may begin only now, when others have the jobs
            left = list(self.jobs)
            self.jobs.clear()
        return left
