"""Rate limiting: calls are spaced as ``rate`` says, and slower if an engine refuses them.

An engine that gets too many calls answers 429, or says when to come back. No call begins before
that, the refused call is made again, and the following calls are spaced as the engine bore them: it
is taken for a token bucket, whose size and rate are learned from answers and refusals.
``benchmarks/pacing.py`` measures how close that comes to the ideal.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path

from pytest_irquality.io.escaping import make_file_name
from pytest_irquality.io.files import lock_folder
from pytest_irquality.retrieval.errors import MAX_WAIT_S, find_wait, is_refusal

# The unit of pauses after refusals. They double with each that follows another.
MIN_PAUSE_S = 0.25
# Calls that were late by more than this are not made up for.
MAX_CATCH_UP_S = 0.5
# The fraction of the usual spacing between calls while time is made up for.
CATCH_UP_SPACING = 0.6
# The first rate that is tried, relative to the rate that was certainly borne.
FIRST_RATE_FACTOR = 4.0
# After so many full buckets without a refusal the rate has doubled.
DOUBLING_BURSTS = 2.0
# The fraction of a borne rate that is used after a refusal.
SAFE_FRACTION = 0.96
# The lowest rate after a refusal, relative to the refused rate.
MIN_RATE_FRACTION = 0.3
# With each second that goes well, the rate comes nearer to the refused rate by this fraction.
APPROACH_PER_S = 0.05
# With each second that goes well, the refused rate itself is taken to be higher.
REFUSED_RATE_GROWTH_PER_S = 0.003
# The number of latest calls from which a rate is worked out.
MAX_NOTED_CALLS = 200


@dataclass
class CallClock:
    """The times at which calls may begin, and what was learned about an engine.

    Times are those of ``time.monotonic``, which the processes of a machine share.

    Attributes:
        max_rate: The highest number of calls a second.
        rate: The calls a second now. 0: calls begin whenever they come.
        refused_rate: The lowest rate that the engine refused.
        burst: How many calls at once the engine accepts at most.
        next_start: No call begins before this time.
        due: When the next call would begin if none had been late.
        since: The last refusal, when the engine's bucket was empty, or the first call.
        refusal: A refusal from which nothing was learned yet, or 0.
        answer_count: Answers to calls that began after ``since``.
        begun: When the latest of these calls began.
        silent_since: The first refusal after the last answer, or 0.
        pause_count: Refusals in a row, without an answer between them.
    """

    max_rate: float = inf
    rate: float = 0.0
    refused_rate: float = inf
    burst: float = inf
    next_start: float = 0.0
    due: float = 0.0
    since: float = 0.0
    refusal: float = 0.0
    answer_count: int = 0
    begun: list[float] = field(default_factory=list)
    silent_since: float = 0.0
    pause_count: int = 0

    @property
    def is_limiting(self) -> bool:
        """Return whether calls ever wait."""
        return bool(self.rate or self.refusal)

    def acquire(self, now: float) -> float:
        """Reserve a call. Return 0, or the seconds to wait before trying again."""
        if now < self.next_start:
            return self.next_start - now
        if self.refusal and self.pause_count > 1:  # an outage, which says nothing about the rate
            self.since = self.refusal = 0.0
        if not self.since:
            self.since = self.due = now
        if self.refusal:
            self._learn_rate()
        if self.rate:
            catch_up = min((self.burst - 1) / 2 / self.rate, MAX_CATCH_UP_S)
            self.due = max(self.due, now - catch_up) + 1 / self.rate
            self.next_start = max(self.due, now + CATCH_UP_SPACING / self.rate)
        return 0.0

    def record_answer(self, began: float) -> None:
        """Record an answer to a call that began at a time. The following calls may be faster."""
        self.silent_since, self.pause_count = 0.0, 0
        if not self.since <= began <= (self.refusal or began):
            return
        self.answer_count += 1
        self.begun = [*self.begun[1 - MAX_NOTED_CALLS :], began]
        if not self.rate or self.refusal:
            return
        seconds = min(1 / self.rate, 1.0)
        if self.refused_rate == inf:
            self.rate *= 2 ** (1 / (DOUBLING_BURSTS * self.burst))
        else:
            self.rate += APPROACH_PER_S * seconds * (self.refused_rate - self.rate)
            self.refused_rate *= 1 + REFUSED_RATE_GROWTH_PER_S * seconds
        self.rate = min(self.rate, self.max_rate)

    def record_refusal(self, now: float, began: float) -> None:
        """Record that a call was refused. Several calls in flight count as one refusal."""
        self.silent_since = self.silent_since or now
        if began >= max(self.since, self.refusal):
            self.refusal = now
            self.pause_count += 1
            self.pause_until(now + MIN_PAUSE_S * (2 ** (self.pause_count - 1) - 1))

    def pause_until(self, moment: float) -> None:
        """Let no call begin before a time."""
        self.next_start = max(self.next_start, moment)
        self.due = max(self.due, moment)

    def _learn_rate(self) -> None:
        """Set the rate after a refusal, when all calls before it have been answered."""
        if not self.rate:
            self.burst = max(self.answer_count, 1)
            self.rate = FIRST_RATE_FACTOR * self.burst / max(self.next_start - self.since, 1e-3)
        else:
            spans = []
            for count, moment in enumerate(reversed(self.begun), 1):
                spans.append((count, self.refusal - moment))
            if self.burst == inf:
                bursts = [count - self.rate * seconds - 1 for count, seconds in spans]
                self.burst = max([1.0, *bursts])
            borne = self.answer_count / max(self.refusal - self.since, 1e-3)
            for count, seconds in spans:
                if count > self.burst and seconds > 0:
                    borne = max(borne, (count + 0.5 - self.burst) / seconds)
            self.refused_rate = self.rate
            slower = min(SAFE_FRACTION * borne, self.rate)
            self.rate = max(slower, MIN_RATE_FRACTION * self.rate)
        self.rate = min(self.rate, self.max_rate)
        self.since, self.refusal, self.answer_count, self.begun = self.refusal, 0.0, 0, []


class RateLimiter:
    """Spaces the calls of one retriever, from any thread, suite or process.

    Args:
        rate: The highest number of calls a second, or ``None``.
        file: A file that all processes share which call the same retriever.
    """

    def __init__(self, rate: float | None = None, file: Path | None = None) -> None:
        self._clock = CallClock(rate, rate, rate) if rate else CallClock()
        self._file = file
        self._lock = threading.Lock()

    def acquire(self) -> float:
        """Reserve a call. Return 0, or the seconds to wait before trying again."""
        with self._use_clock() as clock:
            return clock.acquire(time.monotonic())

    def record(self, error: BaseException | None, began: float, first_began: float) -> bool:
        """Record how a call ended, and return whether it was refused and is to be made again.

        A call is not made again if two minutes have passed since it was made first, or since any
        call was answered.

        Args:
            error: What the call raised, or ``None``.
            began: When the call began, in ``time.monotonic``.
            first_began: When it was made for the first time.
        """
        with self._use_clock() as clock:
            now = time.monotonic()
            if error is None or not is_refusal(error):
                clock.record_answer(began)
                return False
            if now - min(first_began, clock.silent_since or now) >= MAX_WAIT_S:
                return False
            clock.record_refusal(now, began)
            clock.pause_until(now + find_wait(max(clock.pause_count - 1, 0), [error]))
            return True

    @contextmanager
    def _use_clock(self) -> Iterator[CallClock]:
        """Hold the clock. It is in the shared file once there is something to wait for."""
        with self._lock:
            if self._file is None or not (self._clock.is_limiting or self._file.exists()):
                yield self._clock
                if self._file and self._clock.is_limiting:
                    self._save(self._file)
                return
            with lock_folder(self._file.with_suffix(".lock")):
                with suppress(OSError, ValueError, TypeError):  # missing, or written half
                    self._clock = CallClock(**json.loads(self._file.read_text(encoding="ascii")))
                yield self._clock
                self._save(self._file)

    def _save(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self._clock)), encoding="ascii")


class RateLimiters:
    """The limiter of each retriever.

    Args:
        shared: The beginning of the names of files that the workers of pytest-xdist share.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._shared = shared
        self._limiters: dict[str, RateLimiter] = {}

    def get(self, retriever: str, rates: Iterable[float] = ()) -> RateLimiter:
        """Return the limiter of a retriever. The lowest of the rates of its suites applies."""
        if retriever not in self._limiters:
            file = None
            if self._shared:
                name = f"{self._shared.name}-{make_file_name(retriever)}"
                file = self._shared.with_name(name)
            self._limiters[retriever] = RateLimiter(min(rates, default=None), file)
        return self._limiters[retriever]
