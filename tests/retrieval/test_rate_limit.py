"""Rate limits: calls are spaced by ``rate``, and paused if an engine refuses them.

A machine may hold up any call, so that the next one seems to follow at once. Tests therefore say how
long all calls took at least.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from pytest_irquality.retrieval import rate_limit
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.rate_limit import RateLimiter, RateLimiters
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, Settings
from tests.retrieval.test_retries import HttpError


class Bucket:
    """An engine that answers so many calls a second, and ``size`` of them at once."""

    def __init__(self, rate: float, size: float, retry_after: object = None) -> None:
        self.rate, self.size, self.retry_after = rate, size, retry_after
        self.tokens, self.filled = size, time.monotonic()
        self.lock = threading.Lock()
        self.times: list[float] = []
        self.refusal_count = 0

    def search(self, query: str) -> list[str]:
        with self.lock:
            now = time.monotonic()
            self.times.append(now)
            self.tokens = min(self.size, self.tokens + (now - self.filled) * self.rate)
            self.filled = now
            if self.tokens < 1:
                self.refusal_count += 1
                raise HttpError(429, self.retry_after)
            self.tokens -= 1
        time.sleep(0.002)
        return ["d1"]

    async def search_async(self, query: str) -> list[str]:
        return await asyncio.to_thread(self.search, query)


def run_queries(retriever: object, count: int, **settings: Any) -> Run:
    queries = [Query(f"q{n}", f"q{n}") for n in range(count)]
    return collect_run(retriever, queries, Settings(**settings))


@pytest.mark.parametrize(
    ("method", "concurrency"),
    [
        ("search", 1),
        ("search_async", 8),
        pytest.param("search", 8, marks=pytest.mark.slow),
        pytest.param("search_async", 1, marks=pytest.mark.slow),
    ],
)
def test_calls_are_spaced_as_the_rate_says(method: str, concurrency: int) -> None:
    engine = Bucket(50, 30)
    start = time.monotonic()

    run = run_queries(getattr(engine, method), 30, rate=50.0, concurrency=concurrency)

    assert not run.errors
    assert engine.times[-1] - start >= 29 / 50
    seconds = [rankings[0].seconds or 0.0 for rankings in run.answers.values()]
    assert median(seconds) < 0.2  # waiting is not a call's own time


def test_a_pause_is_for_all_calls() -> None:
    times: list[float] = []

    def search(query: str) -> list[str]:
        times.append(time.monotonic())
        if len(times) == 1:
            raise HttpError(503, 0.5)
        return ["d1"]

    run = run_queries(search, 3)

    assert (run.provenance.retry_count, run.errors) == (1, {})
    assert times[1] - times[0] >= 0.5


def test_repeats_and_stages_count() -> None:
    engine = Bucket(1e6, 1e6)

    class Staged:
        search = staticmethod(engine.search)

        def stages(self, query: str, k: int) -> dict[str, list[str]]:
            return {"dense": engine.search(query)}

    start = time.monotonic()
    queries = [Query(f"q{n}", f"q{n}") for n in range(10)]
    collect_run(Staged(), queries, Settings(rate=50.0, repeat=2), stages=[])

    assert len(engine.times) == 30
    assert engine.times[-1] - start >= 29 / 50


def test_an_engine_that_only_refuses_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_WAIT_S", 0.3)
    calls: list[str] = []

    def search(query: str) -> list[str]:
        calls.append(query)
        raise HttpError(429, 0.1)

    run = run_queries(search, 40)

    assert len(run.errors) == 40
    assert len(set(calls)) == 20
    assert run.errors["q39"].message == "Not run, because 20 calls in a row were refused"


def test_limiters_use_the_lowest_rate_and_are_shared_by_file(tmp_path: Path) -> None:
    limiters = RateLimiters(tmp_path / "rate")
    first = limiters.get("search/bm25", [1000.0, 10.0])
    second = RateLimiters(tmp_path / "rate").get("search/bm25", [10.0])

    assert limiters.get("search/bm25") is first
    assert first.acquire() == 0
    wait = second.acquire()
    assert 0 < wait <= 0.1


def test_a_limiter_without_a_rate_never_waits() -> None:
    limiter = RateLimiter()

    assert [limiter.acquire() for _ in range(100)] == [0.0] * 100


# The limiter, over simulated time.


class Clock:
    """A time that only a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def refuse(limiter: RateLimiter, clock: Clock, retry_after: object = None) -> float:
    """Let a call that begins now be refused. Return the pause."""
    assert limiter.record(HttpError(429, retry_after), clock.now, clock.now)
    return limiter.acquire()


def test_calls_never_follow_each_other_faster(clock: Clock) -> None:
    limiter = RateLimiter(10)

    assert limiter.acquire() == 0
    assert limiter.acquire() == pytest.approx(0.1)
    clock.now += 60
    assert limiter.acquire() == 0
    assert limiter.acquire() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("retry_after", "pauses"), [(None, [1, 2, 4]), (0, [0, 0.25, 0.75]), (7, [7, 7, 7])]
)
def test_pauses_get_longer_until_a_call_is_answered(
    clock: Clock, retry_after: object, pauses: list[float]
) -> None:
    limiter = RateLimiter()

    for pause in pauses:
        assert refuse(limiter, clock, retry_after) == pytest.approx(pause)
        clock.now += pause + 0.01
    limiter.record(None, clock.now, clock.now)

    assert refuse(limiter, clock, retry_after) == pytest.approx(pauses[0])


def test_calls_in_flight_count_as_one_refusal(clock: Clock) -> None:
    limiter = RateLimiter()
    began = clock.now

    clock.now += 0.1
    for _ in range(8):
        assert limiter.record(HttpError(429), began, began)

    assert limiter.acquire() == pytest.approx(1)


def test_the_longest_wait_of_calls_in_flight_counts(clock: Clock) -> None:
    limiter = RateLimiter()

    for retry_after in (3, 9, 1):
        limiter.record(HttpError(429, retry_after), clock.now, clock.now)

    assert limiter.acquire() == pytest.approx(9)


def test_a_refused_call_is_not_made_again_after_two_minutes(clock: Clock) -> None:
    limiter = RateLimiter()
    began = clock.now

    assert refuse(limiter, clock, 60)
    clock.now += 119
    assert limiter.record(HttpError(429, 60), clock.now, began)
    clock.now += 1
    assert not limiter.record(HttpError(429, 60), clock.now, began)
    assert not limiter.record(HttpError(429, 60), clock.now, clock.now)


def test_a_pause_is_for_all_processes(clock: Clock, tmp_path: Path) -> None:
    first, second = (RateLimiters(tmp_path / "rate").get("search") for _ in range(2))

    assert refuse(first, clock, 5) == pytest.approx(5)

    assert second.acquire() == pytest.approx(5)
    clock.now += 5
    assert second.acquire() == first.acquire() == 0


def test_other_failures_pause_nothing(clock: Clock) -> None:
    limiter = RateLimiter()

    assert not limiter.record(HttpError(500), clock.now, clock.now)
    assert not limiter.record(ValueError("429"), clock.now, clock.now)

    assert limiter.acquire() == 0
