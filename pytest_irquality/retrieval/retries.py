"""Retries of failed calls: which are made again, and when.

Engines that are paid for limit how often they are asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from pytest_irquality.retrieval.jobs import TimedOut, is_skip

FIRST_WAIT = 1.0  # seconds before the first round of retries; each next one waits twice as long
LONGEST_WAIT = 120.0  # seconds, whatever the engine asks for
TIMED_OUT = re.compile(r"time[d]?[ -]?out", re.I)
STATUS_PLACES = ("status_code", "status", "code", "http_status")


def is_retried(error: BaseException | None, on: Iterable[str]) -> bool:
    """Tell whether a call that failed so is made again. ``on``: ``429``, ``5xx``, ``timeout``."""
    if error is None or is_skip(error):
        return False
    status = status_of(error)
    kinds = {str(status), f"{str(status)[0]}xx"} if status else set()
    if isinstance(error, (TimedOut, TimeoutError)) or TIMED_OUT.search(type(error).__name__):
        kinds.add("timeout")
    return not kinds.isdisjoint(on)


def is_refusal(error: BaseException) -> bool:
    """Tell whether an engine was asked too fast: it answered 429, or says when to come back."""
    if is_skip(error):  # whatever it says
        return False
    return status_of(error) == 429 or _retry_after(error) is not None


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries, itself or on its response."""
    for holder in (error, getattr(error, "response", None)):
        for place in STATUS_PLACES:
            value = getattr(holder, place, None)
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return None


def wait_before(round: int, errors: Iterable[BaseException]) -> float:
    """The seconds to wait before a round of retries (from 0).

    That is the longest ``Retry-After``, or twice as long each time.
    """
    asked = [seconds for error in errors if (seconds := _retry_after(error)) is not None]
    return min(max(asked, default=FIRST_WAIT * 2**round), LONGEST_WAIT)


def _retry_after(error: BaseException) -> float | None:
    """The seconds that the engine asks for, 0 too, on the error or in its response's headers."""
    for holder in (error, getattr(error, "response", None)):
        headers = getattr(holder, "headers", None)
        header: Callable[[str], Any] = getattr(headers, "get", lambda name: None)
        named = (getattr(holder, "retry_after", None), header("Retry-After"), header("retry-after"))
        for value in named:
            seconds = _seconds(value)
            if seconds is not None:
                return seconds
    return None


def _seconds(value: Any) -> float | None:
    """A number of seconds. A date, as HTTP may have it, is none."""
    if value is None or isinstance(value, bool):
        return None
    try:
        return max(float(value), 0.0)
    except (TypeError, ValueError):
        return None
