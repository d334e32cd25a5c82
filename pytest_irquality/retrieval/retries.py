"""Retries: which failed calls are made again, and after how many seconds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from pytest_irquality.retrieval.errors import CallTimeout, find_status

# The wait before the first round of retries. It doubles with each round.
FIRST_WAIT_S = 1.0
# The longest wait, whatever an engine asks for.
MAX_WAIT_S = 120.0
_TIMEOUT_NAME = re.compile(r"timed?[ -]?out", re.IGNORECASE)


def should_retry(error: BaseException, on: Iterable[str]) -> bool:
    """Return whether a failed call is made again.

    Args:
        error: What the call raised.
        on: HTTP statuses (``429``), classes of them (``5xx``) and ``timeout``.
    """
    kinds = set()
    status = find_status(error)
    if status:
        kinds = {str(status), f"{status // 100}xx"}
    if isinstance(error, (CallTimeout, TimeoutError)) or _TIMEOUT_NAME.search(type(error).__name__):
        kinds.add("timeout")
    return not kinds.isdisjoint(on)


def is_refusal(error: BaseException) -> bool:
    """Return whether an engine refused a call because there were too many.

    It answered 429, or said when to come back (RFC 9110, section 10.2.3).
    """
    return find_status(error) == 429 or find_retry_after(error) is not None


def find_wait(round_number: int, errors: Iterable[BaseException]) -> float:
    """Return the seconds to wait before a round of retries.

    Args:
        round_number: The number of the round, from 0.
        errors: What the calls raised. The longest ``Retry-After`` counts.
    """
    wanted = []
    for error in errors:
        seconds = find_retry_after(error)
        if seconds is not None:
            wanted.append(seconds)
    return min(max(wanted, default=FIRST_WAIT_S * 2**round_number), MAX_WAIT_S)


def find_retry_after(error: BaseException) -> float | None:
    """Return the seconds after which an engine wants the next call, if it says so.

    The error or its response may have them as the attribute ``retry_after``, or in the headers
    ``Retry-After`` (seconds or a date) and ``retry-after-ms``.
    """
    for holder in (error, getattr(error, "response", None)):
        headers = getattr(holder, "headers", None)
        milliseconds = _parse_wait(_get_header(headers, "retry-after-ms"))
        if milliseconds is not None:
            return milliseconds / 1000
        for value in (getattr(holder, "retry_after", None), _get_header(headers, "retry-after")):
            seconds = _parse_wait(value)
            if seconds is not None:
                return seconds
    return None


def _get_header(headers: Any, name: str) -> object:
    with suppress(Exception):  # headers of any client, or none
        for key, value in headers.items():
            if str(key).lower() == name:
                return value
    return None


def _parse_wait(value: Any) -> float | None:
    """Return a wait as seconds: a number, a date, a duration, or ``None`` for any other value."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, timedelta):
        return max(value.total_seconds(), 0.0)
    if isinstance(value, datetime):
        return _get_seconds_until(value)
    if value is None or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        with suppress(TypeError, ValueError, OverflowError, IndexError):
            return _get_seconds_until(parsedate_to_datetime(str(value)))
        return None
    # NaN passes every comparison, so only this test stops it.
    return max(seconds, 0.0) if isfinite(seconds) else None


def _get_seconds_until(moment: datetime) -> float:
    if moment.tzinfo is None:  # HTTP dates are UTC
        moment = moment.replace(tzinfo=timezone.utc)
    return max((moment - datetime.now(timezone.utc)).total_seconds(), 0.0)
