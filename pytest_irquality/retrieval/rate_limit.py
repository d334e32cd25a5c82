"""Limit the rate of calls to ``rate``, and pause all calls if an engine refuses one.

An engine that gets too many calls answers 429, or says when to come back. No call starts before
then, and the refused call is made again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_irquality.io.escaping import make_file_name
from pytest_irquality.io.files import lock_folder
from pytest_irquality.retrieval.errors import MAX_WAIT_S, find_wait, is_refusal

# The shortest pause after the second refusal in a row, even if the engine allows a call at once. It
# doubles with each refusal.
MIN_PAUSE_S = 0.25


@dataclass
class CallClock:
    """When calls of a retriever may start.

    Times are from ``time.monotonic``, which all processes of a machine share.

    Attributes:
        next_start: No call starts before this time.
        last_refusal: The time of the last refusal, or 0.
        silent_since: The time of the first refusal after the last answer, or 0.
        refusal_count: The number of refusals in a row, without an answer between them.
    """

    next_start: float = 0.0
    last_refusal: float = 0.0
    silent_since: float = 0.0
    refusal_count: int = 0


class RateLimiter:
    """Spaces the calls of one retriever, from any thread, suite or process.

    Args:
        rate: The highest number of calls a second, or ``None``.
        file: A file that all processes which call this retriever share.
    """

    def __init__(self, rate: float | None = None, file: Path | None = None) -> None:
        self._interval = 1 / rate if rate else 0.0
        self._clock = CallClock()
        self._file = file
        self._lock = threading.Lock()

    def acquire(self) -> float:
        """Reserve a call. Return 0, or the seconds to wait before trying again."""
        with self._use_clock() as clock:
            now = time.monotonic()
            if now < clock.next_start:
                return clock.next_start - now
            clock.next_start = now + self._interval
            return 0.0

    def record(self, error: BaseException | None, start: float, first_start: float) -> bool:
        """Record how a call ended, and return whether it was refused and must be made again.

        A call is not made again if two minutes have passed since its first attempt, or since any
        call was answered.

        Args:
            error: The exception that the call raised, or ``None``.
            start: When the call started, in ``time.monotonic``.
            first_start: When its first attempt started.
        """
        with self._use_clock() as clock:
            now = time.monotonic()
            if error is None or not is_refusal(error):
                clock.silent_since, clock.refusal_count = 0.0, 0
                return False
            clock.silent_since = clock.silent_since or now
            if now - min(first_start, clock.silent_since) >= MAX_WAIT_S:
                return False
            # Calls that were in flight at the last refusal are refused for the same reason.
            if start >= clock.last_refusal:
                clock.last_refusal = now
                clock.refusal_count += 1
            doublings = clock.refusal_count - 1
            pause = max(find_wait(doublings, [error]), MIN_PAUSE_S * (2**doublings - 1))
            clock.next_start = max(clock.next_start, now + pause)
            return True

    @contextmanager
    def _use_clock(self) -> Iterator[CallClock]:
        """Lock the clock. It is in the shared file as soon as any call must wait."""
        with self._lock:
            if self._file is None or not (self._interval or self._file.exists()):
                yield self._clock
                if self._file and self._clock.last_refusal:
                    self._save(self._file)
                return
            with lock_folder(self._file.with_suffix(".lock")):
                with suppress(OSError, ValueError, TypeError):  # missing, or written partly
                    self._clock = CallClock(**json.loads(self._file.read_text(encoding="ascii")))
                yield self._clock
                self._save(self._file)

    def _save(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self._clock)), encoding="ascii")


class RateLimiters:
    """The limiter of each retriever.

    Args:
        file_prefix: The prefix of the paths of files that the workers of pytest-xdist share.
    """

    def __init__(self, file_prefix: Path | None = None) -> None:
        self._file_prefix = file_prefix
        self._limiters: dict[str, RateLimiter] = {}

    def get(self, retriever: str, rates: Iterable[float] = ()) -> RateLimiter:
        """Return the limiter of a retriever. The lowest of the rates of its suites applies."""
        if retriever not in self._limiters:
            file = None
            if self._file_prefix:
                name = f"{self._file_prefix.name}-{make_file_name(retriever)}"
                file = self._file_prefix.with_name(name)
            self._limiters[retriever] = RateLimiter(min(rates, default=None), file)
        return self._limiters[retriever]
