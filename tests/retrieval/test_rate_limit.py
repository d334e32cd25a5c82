"""Rate limits: calls are spaced by ``rate``, and paused if an engine refuses them.

A machine may hold up any call, so that the next one seems to follow at once. Tests therefore say how
long all calls took at least.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from heapq import heappop, heappush
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from pytest_irquality.retrieval import rate_limit
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import find_wait
from pytest_irquality.retrieval.rate_limit import CallClock, RateLimiter, RateLimiters
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


@pytest.mark.parametrize(
    ("method", "concurrency"),
    [
        ("search", 8),
        pytest.param("search", 1, marks=pytest.mark.slow),
        pytest.param("search_async", 1, marks=pytest.mark.slow),
        pytest.param("search_async", 8, marks=pytest.mark.slow),
    ],
)
def test_without_a_rate_one_is_found_that_holds(method: str, concurrency: int) -> None:
    engine = Bucket(100, 60, 0.4)

    run = run_queries(getattr(engine, method), 150, concurrency=concurrency)

    assert not run.errors
    assert run.provenance.retry_count == engine.refusal_count
    assert engine.refusal_count <= 0.5 * 150


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


# The clock, over simulated time.


def simulate(
    clock: CallClock,
    size: int,
    callers: int,
    seed: int,
    *,
    outage: tuple[float, float] = (0, 0),
    answer_rate: float = 100,
) -> tuple[float, float]:
    """Make 300 calls to a bucket of 20 a second that does not say for how long it refuses.

    Calls arrive half a millisecond late on average. A caller gets ``answer_rate`` answers a second.
    All calls between the two seconds of ``outage`` are refused.

    Returns:
        The time relative to the ideal time, and the fraction of refused calls.
    """
    draw = random.Random(seed)
    tokens, filled, refusal_count, rest, end = float(size), 1.0, 0, 300, 0.0
    events = [(1.0, caller, "next", 0.0) for caller in range(callers)]
    while events:
        now, caller, kind, began = heappop(events)
        if kind == "next":
            rest -= 1
            if rest >= 0:
                heappush(events, (now, caller, "acquire", 0.0))
        elif kind == "acquire":
            wait = clock.acquire(now)
            if wait:
                heappush(events, (now + wait, caller, "acquire", 0.0))
            else:
                heappush(events, (now + draw.expovariate(2000), caller, "arrive", now))
        elif kind == "arrive":
            tokens, filled = min(size, tokens + 20 * (now - filled)), now
            is_up = not outage[0] <= now - 1.0 < outage[1]
            outcome = "answer" if is_up and tokens >= 1 else "refusal"
            tokens -= outcome == "answer"
            seconds = draw.expovariate(answer_rate if outcome == "answer" else 100)
            heappush(events, (now + seconds, caller, outcome, began))
        elif kind == "answer":
            clock.record_answer(began)
            end = now
            heappush(events, (now, caller, "next", 0.0))
        else:
            refusal_count += 1
            clock.record_refusal(now, began)
            clock.pause_until(now + find_wait(max(clock.pause_count - 1, 0), []))
            heappush(events, (now, caller, "acquire", 0.0))
    assert rest == -callers  # each call was answered
    return (end - 1.0) * 20 / 300, refusal_count / (300 + refusal_count)


@pytest.mark.parametrize(
    ("size", "most"), [(60, 1.0), (20, 1.1), (10, 1.2), (5, 1.25), (2, 1.35), (1, 1.6)]
)
@pytest.mark.parametrize("callers", [1, 8])
def test_the_rate_of_an_engine_is_found(size: int, most: float, callers: int) -> None:
    for seed in range(3):
        duration, refused = simulate(CallClock(), size, callers, seed)
        assert duration < most
        assert refused < 0.05


@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("callers", [1, 8])
def test_a_known_rate_is_kept(size: int, callers: int) -> None:
    duration, refused = simulate(CallClock(20, 20, 20), size, callers, 1)

    assert duration == pytest.approx(1, abs=0.01)
    assert refused == 0


def test_a_rate_that_is_too_high_is_lowered() -> None:
    duration, refused = simulate(CallClock(30, 30, 30), 5, 8, 1)

    assert duration < 1.5
    assert refused < 0.05


@pytest.mark.parametrize(
    ("rate", "outage", "most"),  # seconds until the first call after the outage, and of all calls
    [
        (5, (2, 22), 33 + 60), (5, (0, 60), 64 + 75), (20, (2, 62), 65 + 15),
        (None, (0, 60), 64 + 30), (None, (5, 65), 69 + 17),
    ],
)  # fmt: skip
@pytest.mark.parametrize("callers", [1, 8])
@pytest.mark.parametrize("size", [5, 60])
def test_after_an_outage_the_rate_is_what_it_was(
    rate: float | None, outage: tuple[float, float], most: float, callers: int, size: int
) -> None:
    clock = CallClock(rate, rate, rate) if rate else CallClock()

    duration, _ = simulate(clock, size, callers, 1, outage=outage)

    assert duration * 300 / 20 < most


@pytest.mark.parametrize("rate", [30, None])
def test_slow_answers_do_not_look_like_an_outage(rate: float | None) -> None:
    clock = CallClock(rate, rate, rate) if rate else CallClock()

    duration, refused = simulate(clock, 1, 64, 1, answer_rate=1 / 5)

    assert duration < 3.5
    assert refused < 0.25
