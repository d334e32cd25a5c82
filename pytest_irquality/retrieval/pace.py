"""The pace of calls: spaced as a suite's ``rate`` says, and slower where an engine refuses them.

An engine that is asked too fast answers 429, or says when to come back. Then no call begins before
that, the refused one is made again, and the calls that follow are spaced as the engine bore them:
in no time has it answered more than it lets follow at once, and what its rate gave meanwhile.
Processes of one machine keep one pace where they share a file.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path

from pytest_irquality.edges.printable import file_name
from pytest_irquality.edges.write import alone_in
from pytest_irquality.retrieval.jobs import Done, Job, Reply, attempt
from pytest_irquality.retrieval.retries import LONGEST_WAIT, is_refusal, wait_before

TICK = 0.25  # seconds; a wait without an end would not be woken by Ctrl-C on every platform
OWED = 0.5  # seconds by which calls may be late that are made up for, at most
NARROW = 0.6  # of the seconds between calls, while time is made up for
FIRST = 4.0  # times the rate that was surely borne is tried first
DOUBLED = 2.0  # times as many calls as may follow at once, and the rate is doubled
SAFE = 0.96  # of the rate that an engine bears
LEAST = 0.3  # of the rate that was refused
NEARER = 0.05  # of the way to the rate that was refused, with each second that goes well
BEYOND = 0.003  # of that rate, likewise
NOTED = 200  # last calls from which a rate is worked out


@dataclass
class Clock:
    """The times at which calls may begin, and what answers and refusals tell of an engine.

    It is asked and told in seconds of ``time.monotonic``, which a machine's processes have in
    common. ``most``: the calls a second that are allowed at all.
    """

    most: float = inf
    rate: float = 0.0  # calls a second; 0: whenever they come
    refused_rate: float = inf  # calls a second that the engine did not bear
    at_once: float = inf  # calls that it lets follow at once, at most
    next: float = 0.0  # no call begins before
    due: float = 0.0  # when the next call would begin if none had been late
    since: float = 0.0  # the last refusal, when the engine had nothing left; or the first call
    refusal: float = 0.0  # one of which nothing was learned yet
    answers: int = 0  # to calls that began since then
    begun: list[float] = field(default_factory=list)  # when the last of those began
    silent: float = 0.0  # the first refusal since the last answer
    pauses: int = 0  # in a row, without an answer between them

    @property
    def runs(self) -> bool:
        """Tell whether calls ever wait."""
        return bool(self.rate or self.refusal)

    def turn(self, now: float) -> float:
        """Take the turn to make a call, and give 0; else the seconds until it may be one's turn."""
        if now < self.next:
            return self.next - now
        if self.refusal and self.pauses > 1:  # an outage, which tells nothing of the rate
            self.since = self.refusal = 0.0
        if not self.since:
            self.since = self.due = now
        if self.refusal:
            self._learn()
        if self.rate:
            made_up = min((self.at_once - 1) / 2 / self.rate, OWED)
            self.due = max(self.due, now - made_up) + 1 / self.rate
            self.next = max(self.due, now + NARROW / self.rate)
        return 0.0

    def answered(self, began: float) -> None:
        """Take note of an answer to a call that began then; those that follow may be faster."""
        self.silent, self.pauses = 0.0, 0
        if not self.since <= began <= (self.refusal or began):
            return
        self.answers += 1
        self.begun = [*self.begun[1 - NOTED :], began]
        if not self.rate or self.refusal:
            return
        seconds = min(1 / self.rate, 1.0)
        if self.refused_rate == inf:
            self.rate *= 2 ** (1 / (DOUBLED * self.at_once))
        else:
            self.rate += NEARER * seconds * (self.refused_rate - self.rate)
            self.refused_rate *= 1 + BEYOND * seconds
        self.rate = min(self.rate, self.most)

    def refused(self, now: float, began: float) -> None:
        """Take note that a call which began then was refused, be it one of several under way."""
        self.silent = self.silent or now
        if began >= max(self.since, self.refusal):
            self.refusal = now
            self.pauses += 1
            self.wait(now + TICK * (2 ** (self.pauses - 1) - 1))  # whatever the engine asks for

    def wait(self, until: float) -> None:
        """Let no call begin before then."""
        self.next, self.due = max(self.next, until), max(self.due, until)

    def _learn(self) -> None:
        """Set the rate after a refusal, when all calls before it have been answered."""
        if not self.rate:
            self.at_once = max(self.answers, 1)
            self.rate = FIRST * self.at_once / max(self.next - self.since, 1e-3)
        else:
            spans = [(n, self.refusal - at) for n, at in enumerate(reversed(self.begun), 1)]
            if self.at_once == inf:
                self.at_once = max([1.0, *(n - self.rate * seconds - 1 for n, seconds in spans)])
            borne = self.answers / max(self.refusal - self.since, 1e-3)
            for n, seconds in spans:
                if n > self.at_once and seconds > 0:
                    borne = max(borne, (n + 0.5 - self.at_once) / seconds)
            self.refused_rate = self.rate
            self.rate = max(min(SAFE * borne, self.rate), LEAST * self.rate)
        self.rate = min(self.rate, self.most)
        self.since, self.refusal, self.answers, self.begun = self.refusal, 0.0, 0, []


class Pace:
    """The pace of a retriever's calls, whatever thread, suite or process makes them.

    ``rate``: the most calls a second. Processes that were given one ``file`` share it.
    """

    def __init__(self, rate: float | None = None, file: Path | None = None) -> None:
        self._clock = Clock(rate, rate, rate) if rate else Clock()
        self._file = file
        self._lock = threading.Lock()

    def turn(self) -> float:
        """Take the turn to make a call, and give 0; else the seconds until it may be one's turn."""
        with self._held() as clock:
            return clock.turn(time.monotonic())

    def refuses(self, error: BaseException | None, began: float, since: float) -> bool:
        """Take note of a reply, whose turn was then, and tell whether its call is to be made again.

        It is, where the engine refused it; but not once two minutes went by, since the call was
        made first or without any answer.
        """
        with self._held() as clock:
            now = time.monotonic()
            if error is None or not is_refusal(error):
                clock.answered(began)
                return False
            if now - min(since, clock.silent or now) >= LONGEST_WAIT:
                return False
            clock.refused(now, began)
            clock.wait(now + wait_before(max(clock.pauses - 1, 0), [error]))
            return True

    @contextmanager
    def _held(self) -> Iterator[Clock]:
        """The clock, for nobody else meanwhile.

        It is in the file only once something is to be waited for.
        """
        with self._lock:
            if self._file is None or not (self._clock.runs or self._file.exists()):
                yield self._clock
                if not (self._file and self._clock.runs):
                    return
                self._file.write_text(json.dumps(asdict(self._clock)), encoding="ascii")
                return
            with alone_in(self._file.with_suffix(".lock")):
                with suppress(OSError, ValueError):  # there is none yet, or half of one
                    self._clock = Clock(**json.loads(self._file.read_text(encoding="ascii")))
                yield self._clock
                self._file.write_text(json.dumps(asdict(self._clock)), encoding="ascii")


@dataclass
class Paces:
    """The pace of each retriever. Processes that were given one ``shared`` have them in common.

    ``shared`` is how the names of their files begin.
    """

    shared: Path | None = None
    known: dict[tuple[str, ...], Pace] = field(default_factory=dict)

    def of(self, retriever: tuple[str, ...], rates: Collection[float]) -> Pace:
        """Give the pace of a retriever, of which the lowest of some rates is demanded."""
        if retriever not in self.known:
            name = self.shared and f"{self.shared.name}-{file_name('-'.join(retriever))}"
            file = self.shared.with_name(name) if self.shared and name else None
            self.known[retriever] = Pace(min(rates, default=None), file)
        return self.known[retriever]


def in_its_turn(job: Job, pace: Pace, begins: Callable[[], bool]) -> Reply | Job | None:
    """Make a call when it is its turn, and again as long as the engine refuses it.

    ``begins`` is asked each time before it is made; None where that says no.
    """
    since, refused = time.monotonic(), 0
    while True:
        while seconds := pace.turn():
            time.sleep(min(seconds, TICK))
        began = time.monotonic()
        if not begins():
            return None
        reply = attempt(job)
        if isinstance(reply, Job):
            return reply
        if not pace.refuses(reply.error, began, since):
            return reply._replace(refused=refused)
        refused += 1


def one_by_one(jobs: deque[Job], done: Done, pace: Pace) -> list[Job]:
    """Make every call, one after the other. Returns those left from the first to be awaited on."""
    while jobs:
        job = jobs.popleft()
        reply = in_its_turn(job, pace, lambda: True)
        if isinstance(reply, Job):
            left = [reply, *jobs]
            jobs.clear()
            return left
        assert reply is not None
        done(job, reply)
    return []
