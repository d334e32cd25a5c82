"""Failed calls that are made again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_irquality import judge, retrieve
from pytest_irquality.retrieval.jobs import TimedOut
from pytest_irquality.retrieval.retries import is_retried, wait_before
from pytest_irquality.retrieval.run import Fault
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.keys import Retry
from pytest_irquality.wording.notes import notes


class Limited(Exception):
    def __init__(self, status: int, after: object = None) -> None:
        super().__init__("slow down")
        self.response = SimpleNamespace(
            status_code=status, headers={"Retry-After": after} if after is not None else {}
        )


USUAL = ("429", "5xx", "timeout")


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (Limited(429), True),
        (Limited(503), True),
        (Limited(404), False),
        (RuntimeError("HTTP 429: Too Many Requests"), False),
        (TimedOut(5, "x"), True),
        (TimeoutError(), True),
        (type("ReadTimeout", (Exception,), {})(), True),
        (ValueError("no such index"), False),
        (None, False),
    ],
)  # fmt: skip
def test_which_failures_are_retried(error: BaseException | None, again: bool) -> None:
    assert is_retried(error, USUAL) is again
    assert not is_retried(error, ("418",))


def test_how_long_to_wait() -> None:
    assert [wait_before(n, [Limited(429)]) for n in range(3)] == [1, 2, 4]
    assert wait_before(0, [Limited(429, "7"), Limited(429, 3)]) == 7
    assert wait_before(0, [Limited(429, 1e9)]) == 120
    assert wait_before(3, [Limited(429, 0)]) == 0
    assert wait_before(1, [Limited(429, "soon")]) == 2


def suite(**given: Any) -> Suite:
    queries = (Query("a", "a"), Query("b", "b"))
    return Suite("s", "s", queries, retry=Retry(times=2), **given)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_call_is_made_again_until_it_is_answered(concurrency: int) -> None:
    asked: list[str] = []

    def search(query: str) -> list[str]:
        asked.append(query)
        if query == "b" and asked.count("b") < 3:
            raise Limited(429, 0)
        return ["d1"]

    run = retrieve(suite(concurrency=concurrency), search)
    assert not run.faults
    assert (sorted(asked), run.retries) == (["a", "b", "b", "b"], 2)
    assert "2 failed calls were made again ('retry'); waits are in no latency" in notes(
        judge(suite(), run)
    )


def test_a_coroutine_is_made_again() -> None:
    asked: list[str] = []

    async def search(query: str) -> list[str]:
        asked.append(query)
        if len(asked) == 1:
            raise Limited(503, 0)
        return ["d1"]

    run = retrieve(suite(), search)
    assert not run.faults
    assert asked.count("a") == 2


def test_what_is_no_such_failure_or_fails_too_often_stays_a_fault() -> None:
    asked: list[str] = []

    def search(query: str) -> list[str]:
        asked.append(query)
        raise Limited(500) if query == "a" else ValueError("no such index")

    run = retrieve(suite(), search)
    assert (asked.count("a"), asked.count("b")) == (3, 1)
    assert set(run.faults) == {"a", "b"}


@pytest.mark.parametrize(
    "words",
    [
        "RateLimitError: 429 request req_{n:04}a after {n}20ms, retry in {n}s",
        "429 Too Many Requests: used 1,{n}00 of 90,000 tokens ({n}.5 k), 4{n}1 ms",
        "HTTP 429, request_id: aBc{letter}De{letter}, trace id = {letter}{letter}xy",
        "429 from 10.0.{n}.7:80{n}0 at 2026-11-2{n}T10:4{n}:00Z, 50{n} ms, 4{n}0 tokens",
        "timeout after {n}.25 seconds ({n}0 %), 5{n}0 ms",
    ],
)
def test_failures_are_one_cause_whatever_ids_units_and_digits_they_carry(words: str) -> None:
    messages = [words.format(n=n, letter="abcd"[n]) for n in range(4)]
    assert len({Fault(message).cause for message in messages}) == 1


def test_a_status_tells_causes_apart() -> None:
    assert Fault("HTTP 429: no").cause != Fault("HTTP 503: no").cause
    assert Fault("no within 500 ms").cause == Fault("no within 503 ms").cause
    assert Fault("no", Limited(429)).cause != Fault("no", Limited(503)).cause
