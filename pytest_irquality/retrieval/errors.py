"""Errors of retrievers: their messages and causes in reports, and when a call is made again.

A failed call is made again if the suite's ``retry`` says so, or if the engine refused it because
there were too many calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any
from urllib.parse import quote, quote_plus

from pytest_irquality.io.escaping import clip
from pytest_irquality.retrieval.run import QueryError

MAX_MESSAGE_CHARS = 300
# The time limit of calls that can be ended, if a suite has no ``timeout``.
DEFAULT_TIMEOUT_S = 60.0
_RETRY_AFTER_ATTRIBUTES = ("retry_after", "retry_after_s")
# How many units of each header are a second.
_RETRY_AFTER_HEADERS = {"retry-after": 1, "retry-after-ms": 1000}
_STATUS_ATTRIBUTES = ("status_code", "status", "code", "http_status")
# Words after "id", and words with a digit, such as times and sizes, differ between calls.
_VARYING = re.compile(r"(?<=[ _.-]id)[\s:='\"]+[\w-]+|[\w.,:-]*\d[\w.,:-]*")
_STATUS = re.compile(r"(?:HTTP|status|code)\W{1,3}([45]\d\d)\b|\b([45]\d\d): ", re.IGNORECASE)
# The wait before the first round of retries. It doubles with each round.
FIRST_WAIT_S = 1.0
# The longest wait, even if an engine asks for a longer one.
MAX_WAIT_S = 120.0
_TIMEOUT_NAME = re.compile(r"timed?[ -]?out", re.IGNORECASE)


class RetrieverError(Exception):
    """The retriever or its configuration cannot be used for any query."""


class ResultError(Exception):
    """A result from which no document ids can be read.

    Attributes:
        cause: What is wrong, in the same words for all results with this fault.
        detail: A description of this result, as a sentence without its period.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        end = "" if cause.endswith((".", "?")) else "."
        super().__init__(f"{cause}{end} {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


class ServiceError(ResultError):
    """A call of a URL or a program returned no result.

    Attributes:
        response: The HTTP response, if there was one. ``find_status`` reads its status.
    """

    def __init__(self, cause: str, detail: str = "", response: object = None) -> None:
        super().__init__(cause, detail)
        self.response = response


class CallTimeout(Exception):
    """A call took longer than its time limit."""


class NotRunError(Exception):
    """A call that was not made, because the retriever answered none of many calls before it."""


def make_timeout(seconds: float, detail: str) -> CallTimeout:
    """Return the error of a call that did not end in time. ``detail`` says what happened then."""
    hint = " ('timeout' in the suite allows more)" if seconds == DEFAULT_TIMEOUT_S else ""
    return CallTimeout(f"No answer within {seconds:g} s{hint}. {detail}")


def make_query_error(
    error: BaseException, query_text: str = "", *, is_skipped: bool = False
) -> QueryError:
    """Describe an exception of a call in one line, with the cause that similar errors share."""
    if isinstance(error, (CallTimeout, NotRunError)):
        message = str(error)
        return QueryError(message, _VARYING.sub("#", message), error)
    if isinstance(error, ResultError):
        return QueryError(str(error), error.cause, error)
    message = format_message(error)
    if is_skipped:
        return QueryError(message, message, error, is_skipped=True)
    message = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return QueryError(message, _find_cause(message, error, query_text), error)


def format_message(error: BaseException) -> str:
    """Return the message of an exception on one line, shortened."""
    try:
        text = str(error)
    except Exception as broken:
        text = f"(its message cannot be shown: {type(broken).__name__})"
    return clip(" ".join(text.split()), MAX_MESSAGE_CHARS)


def find_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error or of its response, if it has one."""
    for holder in (error, getattr(error, "response", None), getattr(error, "meta", None)):
        for name in _STATUS_ATTRIBUTES:
            value = getattr(holder, name, None)
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return None


def _find_cause(message: str, error: BaseException, query_text: str) -> str:
    """Return the message without its varying parts, after the HTTP status."""
    text = message
    if query_text:
        forms = {query_text, quote(query_text), quote_plus(query_text)}
        pattern = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        text = re.sub(rf"(?<!\w)({pattern})(?!\w)", "…", text)
    in_text = _STATUS.search(text)
    status = find_status(error) or (in_text and (in_text[1] or in_text[2]))
    return f"{status or ''} {_VARYING.sub('#', text)}".strip()


# -- Retries ---------------------------------------------------------------------------------------


def should_retry(error: BaseException, on: Iterable[str]) -> bool:
    """Return whether a failed call is made again.

    Args:
        error: The exception that the call raised.
        on: HTTP statuses (``429``), classes of them (``5xx``) and ``timeout``.
    """
    names = set()
    status = find_status(error)
    if status:
        names = {str(status), f"{status // 100}xx"}
    if isinstance(error, (CallTimeout, TimeoutError)) or _TIMEOUT_NAME.search(type(error).__name__):
        names.add("timeout")
    return not names.isdisjoint(on)


def is_refusal(error: BaseException) -> bool:
    """Return whether an engine refused a call because there were too many.

    It answered 429, or said when to come back (RFC 9110, section 10.2.3).
    """
    return find_status(error) == 429 or find_retry_after(error) is not None


def find_wait(round_number: int, errors: Iterable[BaseException]) -> float:
    """Return the seconds to wait before a round of retries.

    Args:
        round_number: The number of the round, from 0.
        errors: The exceptions that the calls raised. The longest ``Retry-After`` counts.
    """
    waits = []
    for error in errors:
        seconds = find_retry_after(error)
        if seconds is not None:
            waits.append(seconds)
    return min(max(waits, default=FIRST_WAIT_S * 2**round_number), MAX_WAIT_S)


def find_retry_after(error: BaseException) -> float | None:
    """Return the seconds after which an engine wants the next call, if it says so.

    The error, its response or its ``meta`` (elastic-transport) may have them as an attribute, or in
    the headers ``retry-after-ms`` and ``Retry-After`` (seconds or a date). The longest counts.
    """
    waits = []
    for holder in (error, getattr(error, "response", None), getattr(error, "meta", None)):
        for name in _RETRY_AFTER_ATTRIBUTES:
            waits.append(_parse_wait(getattr(holder, name, None)))
        with suppress(Exception):  # headers of any client, or none
            for name, value in holder.headers.items():  # type: ignore[union-attr]
                divisor = _RETRY_AFTER_HEADERS.get(str(name).lower())
                wait = _parse_wait(value)
                if divisor and wait is not None:
                    waits.append(wait / divisor)
    return max((wait for wait in waits if wait is not None), default=None)


def _parse_wait(value: Any) -> float | None:
    """Return a wait in seconds from a number or an HTTP date, or ``None`` for any other value."""
    if value is None or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        with suppress(TypeError, ValueError, OverflowError, IndexError):
            date = parsedate_to_datetime(str(value))
            date = date.replace(tzinfo=date.tzinfo or timezone.utc)  # HTTP dates are in UTC.
            return max((date - datetime.now(timezone.utc)).total_seconds(), 0.0)
        return None
    # NaN passes every comparison, so only this test stops it.
    return max(seconds, 0.0) if isfinite(seconds) else None
