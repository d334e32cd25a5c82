"""The pace of calls: spaced as a suite's ``rate`` says, and slower where an engine refuses them.

An engine that is asked too fast answers 429, or says when to come back. Then no call begins before
that, the refused one is made again, and the calls that follow are spaced as the engine bore them.
Where calls had no space, all that is known is how many were answered at once: the pace that would
give is the first guess, and each answer shortens it until the engine refuses again. Processes of
one machine keep one pace where they share a file.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pytest_irquality.edges.printable import file_name
from pytest_irquality.edges.write import alone
from pytest_irquality.retrieval.jobs import Done, Job, Reply, attempt
from pytest_irquality.retrieval.retries import LONGEST_WAIT, is_refusal, wait_before

TICK = 0.25  # seconds; a wait without an end would not be woken by Ctrl-C on every platform
OWED = 0.5  # seconds by which calls may be late that are made up for, at most
NARROW = 0.6  # of the seconds between calls, while time is made up for
LEAST, MOST = 1.05, 1.25  # times the seconds between calls, where spaced ones were refused
FASTER = 0.005  # share of the pace that is gained with each second without a refusal
ANY = 1_000_000  # calls
FOLLOWED = 0.25  # share of the calls before a refusal that may have been let follow at once
NOTED = 500  # calls from which a pace is worked out, at most


@dataclass
class _State:
    """The times of ``time.monotonic``, which all processes of a machine have in common."""

    first: float = 0.0  # call of all
    next: float = 0.0  # no call begins before
    due: float = 0.0  # when the next call would begin if none had been late
    gap: float = 0.0  # seconds between the beginnings of calls
    search: float = 1.0  # times the gap with each answer, until spaced calls are refused
    at_once: float = ANY  # calls that the engine lets follow without a gap
    held: list[float] = field(default_factory=list)  # when answered calls began since then
    paused: float = 0.0  # when the last pause began
    until: float = 0.0  # when it ended
    silent: float = 0.0  # the first refusal since the last answer
    refusals: int = 0  # pauses in a row, without an answer between them

    @property
    def paces(self) -> bool:
        """Tell whether there is anything to wait for."""
        return bool(self.gap or self.paused)

    def takes_turn(self, now: float) -> None:
        """Say when the next call may begin. It is earlier where this one is late."""
        if not self.first:
            self.first = self.due = now
        if self.paused and not self.gap:
            self._guess()
        owed = min((self.at_once - 1) / 2 * self.gap, OWED)
        self.due = max(self.due, now - owed) + self.gap
        self.next = max(self.due, now + NARROW * self.gap)

    def _guess(self) -> None:
        """Space calls as if the engine answers as many again in the time until the pause's end.

        Where few are answered at once it may be far faster, which is tried.
        """
        answers, start = max(len(self.held), 1), self._start()
        self.gap = (self.until - start) / answers
        self.at_once = max(answers - (self.paused - start) / self.gap, 1.0)
        self.search, self.held = 0.5 ** (1 / self.at_once), []

    def waits(self, until: float) -> None:
        """Let no call begin before then."""
        self.next, self.due = max(self.next, until), max(self.due, until)

    def answered(self, began: float, least: float) -> None:
        """Take note of an answer to a call; those that follow may be faster."""
        self.refusals, self.silent = 0, 0.0
        if began >= self.paused or not self.gap:
            self.held = [*self.held[1 - NOTED :], began]
            self.gap = max(self.gap * self.search * (1 - FASTER * min(self.gap, 1.0)), least)

    def pause(self, now: float, seconds: float) -> None:
        """Let no call begin for some seconds, and space those after as the engine held them."""
        if self.gap:
            held = LEAST * self._borne(now)
            if self.search == 1:
                held = min(held, MOST * self.gap)
                self.at_once = min(self.at_once, max(FOLLOWED * len(self.held), 1.0))
            self.gap = max(LEAST * self.gap, held)
            self.search, self.held = 1.0, []
        self.paused, self.until = now, now + seconds
        self.waits(self.until)

    def _borne(self, now: float) -> float:
        """The seconds between calls that the engine bears, as far as was seen.

        It had nothing left when it refused, and has nothing left now. Of any calls in a row it had
        at once those it lets follow, and came by the others meanwhile.
        """
        gaps = [(now - self._start()) / max(len(self.held), 1)]
        for calls, began in enumerate(reversed(self.held), 1):
            if calls > self.at_once:
                gaps.append((self.held[-1] - began) / (calls - self.at_once))
        return min(gaps)

    def _start(self) -> float:
        """The beginning of the time in which the noted calls were answered."""
        if len(self.held) == NOTED:
            return self.held[0]
        return self.paused if self.gap and self.paused else self.first


class Pace:
    """The pace of a retriever's calls, whatever thread, suite or process makes them.

    ``rate``: the most calls a second. Processes that were given one ``file`` share it.
    """

    def __init__(self, rate: float | None = None, file: Path | None = None) -> None:
        self._least = 1 / rate if rate else 0.0
        self._file = file
        self._lock = threading.Lock()
        self._state = _State(gap=self._least)

    def turn(self) -> float:
        """Take the turn to make a call, and give 0; else the seconds until it may be one's turn."""
        with self._held() as state:
            now = time.monotonic()
            if state.next > now:
                return state.next - now
            state.takes_turn(now)
            return 0.0

    def refuses(self, error: BaseException | None, began: float, since: float) -> bool:
        """Take note of a reply, whose turn was then, and tell whether its call is to be made again.

        It is, where the engine refused it; but not once two minutes went by, since the call was
        made first or without any answer.
        """
        with self._held() as state:
            now = time.monotonic()
            if error is None or not is_refusal(error):
                state.answered(began, self._least)
                return False
            state.silent = state.silent or now
            if now - min(since, state.silent) >= LONGEST_WAIT:
                return False
            if began >= state.paused:  # it was not under way when all were paused
                state.pause(now, wait_before(state.refusals, [error]))
                state.refusals += 1
            else:
                state.waits(now + wait_before(0, [error]))
            return True

    @contextmanager
    def _held(self) -> Iterator[_State]:
        """The state, for nobody else meanwhile.

        It is in the file only once something is to be waited for.
        """
        with self._lock:
            if self._file is None or not (self._state.paces or self._file.exists()):
                yield self._state
                if not (self._file and self._state.paces):
                    return
                self._file.write_text(json.dumps(asdict(self._state)), encoding="ascii")
                return
            with alone(self._file.with_suffix(".lock")):
                with suppress(OSError, ValueError):  # there is none yet, or half of one
                    self._state = _State(**json.loads(self._file.read_text(encoding="ascii")))
                yield self._state
                self._file.write_text(json.dumps(asdict(self._state)), encoding="ascii")


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
