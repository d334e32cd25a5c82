"""Failed calls that are made again."""

from __future__ import annotations

import datetime
import time
from email.utils import format_datetime
from http.client import HTTPMessage
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_irquality.retrieval import rate_limit
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import (
    find_retry_after,
    find_wait,
    is_refusal,
    make_timeout,
    should_retry,
)
from pytest_irquality.suite.model import Query, Retry, Settings

DEFAULT_ON = Retry().on
QUERIES = [Query("a", "a"), Query("b", "b")]


class HttpError(Exception):
    def __init__(self, status: int, retry_after: object = None, **headers: object) -> None:
        super().__init__("slow down")
        if retry_after is not None:
            headers["Retry-After"] = retry_after
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = SimpleNamespace(status_code=status, headers=named)


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [
        (HttpError(429), True),
        (HttpError(503), True),
        (HttpError(404), False),
        (RuntimeError("HTTP 429: Too Many Requests"), False),
        (make_timeout(5, "The call was cancelled"), True),
        (TimeoutError(), True),
        (type("ReadTimeout", (Exception,), {})(), True),
        (ValueError("no such index"), False),
    ],
    ids=repr,
)
def test_some_failures_are_retried(error: BaseException, is_retried: bool) -> None:
    assert should_retry(error, DEFAULT_ON) is is_retried
    assert not should_retry(error, ("418",))


def test_waits_double_unless_an_engine_says_how_long() -> None:
    assert [find_wait(n, [HttpError(429)]) for n in range(3)] == [1, 2, 4]
    assert find_wait(0, [HttpError(429, "7"), HttpError(429, 3)]) == 7
    assert find_wait(0, [HttpError(429, 1e9)]) == 120
    assert find_wait(3, [HttpError(429, 0)]) == 0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7), (7, 7), (2.5, 2.5), (b"7", 7), (" 7 ", 7), ("-3", 0), ("0", 0),
    ],
)  # fmt: skip
def test_retry_after_has_many_forms(value: object, seconds: float) -> None:
    assert find_retry_after(HttpError(429, value)) == seconds
    error = OSError("busy")
    error.retry_after = value  # type: ignore[attr-defined]
    assert find_retry_after(error) == seconds


@pytest.mark.parametrize(
    "value", ["nan", "NaN", "-nan", float("nan"), "inf", "-inf", float("inf"), "soon", "", True]
)
def test_retry_after_that_is_no_time_is_as_if_absent(value: object) -> None:
    assert find_retry_after(HttpError(429, value)) is None
    assert find_wait(1, [HttpError(429, value)]) == 2
    assert not is_refusal(HttpError(503, value))


def test_retry_after_may_be_a_date() -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    later = now + datetime.timedelta(seconds=50)

    for value in (format_datetime(later, usegmt=True), format_datetime(later)):
        seconds = find_retry_after(HttpError(503, value))
        assert seconds is not None
        assert 40 < seconds <= 50
    assert find_retry_after(HttpError(503, "Fri, 31 Dec 1999 23:59:59 GMT")) == 0


def test_retry_after_is_found_in_headers_of_any_client() -> None:
    message = HTTPMessage()
    message["retry-AFTER"] = "4"

    assert find_retry_after(HttpError(429, RETRY_AFTER="4")) == 4
    assert find_retry_after(HttpError(429, retry_after_ms="1500")) == 1.5
    error = HttpError(429)
    error.response.headers = message
    assert find_retry_after(error) == 4
    error.response.headers = None
    assert find_retry_after(error) is None


def test_the_longest_of_several_waits_counts() -> None:
    message = HTTPMessage()
    for value in ("4", "soon", "9", "2"):
        message["Retry-After"] = value
    error = HttpError(429)
    error.response.headers = message

    assert find_retry_after(error) == 9


@pytest.mark.parametrize(
    "form", ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"]
)
def test_retry_after_may_be_a_date_of_each_form_of_http(form: str) -> None:
    """RFC 9110, section 5.6.7: the usual form, that of RFC 850, and that of asctime."""
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=50)

    seconds = find_retry_after(HttpError(429, later.strftime(form)))

    assert seconds is not None
    assert 40 < seconds <= 50


@pytest.mark.parametrize(
    "value",
    ["1e400", "9" * 500, "²", "①", "5;q=1", "Fri, 31 Dec 99999 23:59:59 GMT", b"\xff", [], {}],
)
def test_retry_after_that_no_client_can_mean_is_as_if_absent(value: object) -> None:
    assert find_retry_after(HttpError(429, value)) is None


def test_errors_of_elastic_transport_say_when_to_come_back() -> None:
    error = OSError("too many requests")
    error.meta = SimpleNamespace(status=429, headers={"retry-after": "3"})  # type: ignore[attr-defined]

    assert is_refusal(error)
    assert find_retry_after(error) == 3


def run_queries(search: Any, **settings: Any) -> Any:
    return collect_run(search, QUERIES, Settings(retry=Retry(times=2), **settings))


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_call_is_made_again_until_it_is_answered(concurrency: int) -> None:
    calls: list[str] = []

    def search(query: str) -> list[str]:
        calls.append(query)
        if query == "b" and calls.count("b") < 3:
            raise HttpError(500, 0)
        return ["d1"]

    run = run_queries(search, concurrency=concurrency)

    assert not run.errors
    assert (sorted(calls), run.provenance.retry_count) == (["a", "b", "b", "b"], 2)


def test_a_coroutine_is_made_again() -> None:
    calls: list[str] = []

    async def search(query: str) -> list[str]:
        calls.append(query)
        if len(calls) == 1:
            raise HttpError(503, 0)
        return ["d1"]

    run = run_queries(search)

    assert not run.errors
    assert calls.count("a") == 2


def test_other_failures_and_those_that_last_stay_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: None)

    def search(query: str) -> list[str]:
        calls.append(query)
        raise HttpError(500) if query == "a" else ValueError("no such index")

    run = run_queries(search)

    assert (calls.count("a"), calls.count("b")) == (3, 1)
    assert set(run.errors) == {"a", "b"}


def test_a_service_that_asks_for_nan_is_an_error_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rate_limit, "MAX_WAIT_S", 0.0)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)

    def search(query: str) -> list[str]:
        raise HttpError(429, "nan")

    run = run_queries(search)

    assert run.errors["a"].message == "HttpError: slow down"
