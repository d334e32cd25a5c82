"""Errors of retrievers and their results, and how an error becomes one line of a report."""

from __future__ import annotations

import re
from urllib.parse import quote, quote_plus

from pytest_irquality.io.escaping import clip
from pytest_irquality.retrieval.run import QueryError

MAX_MESSAGE_CHARS = 300
# The time limit of calls that can be ended, if a suite has no ``timeout``.
DEFAULT_TIMEOUT_S = 60.0
_STATUS_ATTRIBUTES = ("status_code", "status", "code", "http_status")
_UNIT = (
    r"(?:[nµu]s|ms|s|secs?|seconds?|milliseconds?|mins?|minutes?|h|hours?|[kmg]i?b|bytes?|[km]"
    r"|tokens?|characters?|%)"
)
# Ids, hexadecimal numbers, numbers with units, and words with a digit differ from call to call.
_VARYING = re.compile(
    r"(?<=[ _.-]id)[\s:='\"]+[\w-]+|(?<=\breq)[\s:=#'\"]+[\w-]+"
    r"|0x[0-9a-f]+|\b(?=[a-f-]*\d)[0-9a-f-]{8,}\b"
    rf"|(?<!\w)\d+(?:[.,:]\d+)*(?:\s?{_UNIT}\b|\s?%|\b)"
    r"|\b[^\W\d]*-?\d[\w-]*",
    re.IGNORECASE,
)
# An HTTP status in a message, as opposed to a time, a size or a number of tokens.
_STATUS = re.compile(rf"(?<![\w.,-])[45]\d\d(?![\w.]|,\d|\s?{_UNIT}\b|\s?%)", re.IGNORECASE)
_SQLITE_THREAD = "created in a thread can only be used in that same thread"
_SQLITE_HINT = (
    ". With 'concurrency' or 'timeout', calls run in other threads. Connect with"
    " check_same_thread=False, or remove both keys"
)


class RetrieverError(Exception):
    """The retriever, or what the ini file says of it, cannot be used for any query."""


class ResultError(Exception):
    """A result from which no document ids can be read.

    Attributes:
        cause: What is wrong, worded alike for all results with this fault.
        detail: What this result looks like, as a sentence without its period.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        end = "" if cause.endswith((".", "?")) else "."
        super().__init__(f"{cause}{end} {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


class ServiceError(ResultError):
    """A call of a URL or a program that gave no result.

    Attributes:
        response: The response of HTTP, if there was one. ``retries`` looks for its status.
    """

    def __init__(self, cause: str, detail: str = "", response: object = None) -> None:
        super().__init__(cause, detail)
        self.response = response


class CallTimeout(Exception):
    """A call took longer than its time limit."""


class NotRunError(Exception):
    """A call that was not made, because the retriever answered none of many calls before it."""


def make_timeout(seconds: float, detail: str) -> CallTimeout:
    """Make the error of a call that did not end in time, with what became of it as a sentence."""
    hint = " ('timeout' in the suite allows more)" if seconds == DEFAULT_TIMEOUT_S else ""
    return CallTimeout(f"No answer within {seconds:g} s{hint}. {detail}")


def make_query_error(
    error: BaseException, query_text: str = "", *, is_skipped: bool = False
) -> QueryError:
    """Describe what a call raised in one line, with the cause that similar errors share."""
    if isinstance(error, (CallTimeout, NotRunError)):
        message = str(error)
        return QueryError(message, _VARYING.sub("#", message), error)
    if isinstance(error, ResultError):
        return QueryError(str(error), error.cause, error)
    message = format_message(error)
    if is_skipped:
        return QueryError(message, message, error, is_skipped=True)
    message = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if _SQLITE_THREAD in message:
        message += _SQLITE_HINT
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
    for holder in (error, getattr(error, "response", None)):
        for name in _STATUS_ATTRIBUTES:
            value = getattr(holder, name, None)
            if isinstance(value, int) and 400 <= value < 600:
                return value
    return None


def _find_cause(message: str, error: BaseException, query_text: str) -> str:
    text = message
    if query_text:
        forms = {query_text, quote(query_text), quote_plus(query_text)}
        pattern = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        text = re.sub(rf"(?<!\w)({pattern})(?!\w)", "…", text)
    status = find_status(error)
    if status is None:
        in_text = _STATUS.search(text)
        status = int(in_text[0]) if in_text else None
    cause = _VARYING.sub("#", text)
    return cause if status is None else f"{status} {cause}"
