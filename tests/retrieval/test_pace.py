"""The pace of calls: spaced by ``rate``, paused where an engine refuses them.

A machine may hold any call up, so that the next one seems to follow at once. Tests say how long all calls took at
least, from before the first; ``benchmarks/pacing.py`` measures how well they are spread.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from statistics import median
from typing import Any

import pytest

from pytest_irquality import retrieve
from pytest_irquality.retrieval import pace
from pytest_irquality.retrieval.pace import Clock
from pytest_irquality.retrieval.retries import wait_before
from pytest_irquality.suite import Query, Suite
from tests.conftest import Project
from tests.retrieval.test_retries import Limited

Search = Callable[[str], Any]


class Bucket:
    """An engine that answers so many calls a second, and ``size`` of them at once."""

    def __init__(self, rate: float, size: float, after: object = None) -> None:
        self.rate, self.size, self.after = rate, size, after
        self.tokens, self.at = size, time.monotonic()
        self.lock = threading.Lock()
        self.times: list[float] = []
        self.refused = 0

    def search(self, query: str) -> list[str]:
        with self.lock:
            now = time.monotonic()
            self.times.append(now)
            self.tokens = min(self.size, self.tokens + (now - self.at) * self.rate)
            self.at = now
            if self.tokens < 1:
                self.refused += 1
                raise Limited(429, self.after)
            self.tokens -= 1
        time.sleep(0.002)
        return ["d1"]

    async def awaited(self, query: str) -> list[str]:
        return await asyncio.to_thread(self.search, query)


def suite(queries: int, **given: Any) -> Suite:
    return Suite("s", "s", tuple(Query(f"q{n}", f"q{n}") for n in range(queries)), **given)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("way", ["search", "awaited"])
def test_calls_are_spaced_as_the_rate_says(way: str, concurrency: int) -> None:
    engine = Bucket(50, 30)
    start = time.monotonic()
    run = retrieve(suite(30, rate=50.0, concurrency=concurrency), getattr(engine, way))
    assert not run.faults
    assert engine.times[-1] - start >= 29 / 50
    took = [ranking.seconds for ranking in run.first.rankings.values() if ranking.seconds]
    assert median(took) < 0.2  # what a call waited for is not its own time


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("way", ["search", "awaited"])
def test_without_a_rate_a_pace_is_found_that_holds(way: str, concurrency: int) -> None:
    engine = Bucket(100, 60, 0.4)
    run = retrieve(suite(150, concurrency=concurrency), getattr(engine, way))
    assert not run.faults
    assert run.retries == engine.refused
    assert engine.refused <= 0.5 * 150


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("way", ["search", "awaited"])
def test_of_a_rate_the_first_call_may_be_refused(way: str, concurrency: int) -> None:
    asked: list[str] = []

    def search(query: str) -> list[str]:
        asked.append(query)
        if len(asked) == 1:
            raise Limited(429, 0.1)
        return ["d1"]

    async def awaited(query: str) -> list[str]:
        return search(query)

    retriever = {"search": search, "awaited": awaited}[way]
    run = retrieve(suite(8, rate=50.0, concurrency=concurrency), retriever)
    assert (len(asked), run.retries, not run.faults) == (9, 1, True)


def test_repeats_and_stages_count() -> None:
    engine = Bucket(1e6, 1e6)

    class TwoStages:
        search = candidates = staticmethod(engine.search)

    start = time.monotonic()
    retrieve(suite(10, rate=50.0, repeat=2), TwoStages())
    assert len(engine.times) == 30
    assert engine.times[-1] - start >= 29 / 50


def test_a_pause_is_every_calls() -> None:
    times: list[float] = []

    def search(query: str) -> list[str]:
        times.append(time.monotonic())
        if len(times) == 1:
            raise Limited(503, 0.5)
        time.sleep(0.01)
        return ["d1"]

    run = retrieve(suite(3), search)
    assert (run.retries, not run.faults) == (1, True)
    assert times[1] - times[0] >= 0.5


def test_an_engine_that_only_refuses_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "LONGEST_WAIT", 0.3)
    asked: list[str] = []

    def search(query: str) -> list[str]:
        asked.append(query)
        raise Limited(429, 0.1)

    run = retrieve(suite(40), search)
    assert len(run.faults) == 40
    assert len({*asked}) == 20
    assert run.faults["q39"].message == "not asked: 20 calls in a row had been refused"


def test_the_lowest_rate_of_a_retrievers_suites_counts(project: Project) -> None:
    queries = "".join(f"  - {{query: q{n}, must_find: [d1]}}\n" for n in range(6))
    project.suite(f"rate: 600/min\nqueries:\n{queries}", "slow.ir.yaml")
    project.suite(f"rate: 1000/s\nqueries:\n{queries}", "fast.ir.yaml")
    project.conftest(
        "import time\nTIMES = [time.monotonic()]\n\n"
        "@pytest.fixture\ndef retriever():\n"
        "    def search(query):\n        TIMES.append(time.monotonic())\n        return ['d1']\n"
        "    return search\n\n"
        "def pytest_sessionfinish():\n"
        "    print('CALLS', len(TIMES) - 1, TIMES[-1] - TIMES[0] >= 11 / 10)\n"
    )
    project.run("-s").stdout.fnmatch_lines(["*CALLS 12 True*"])


@pytest.mark.parametrize("written", ["20", "20/d", "/s", "0/s", "-3/s", "fast", "20/s/s"])
def test_what_is_no_rate(project: Project, written: str) -> None:
    project.suite(f"rate: {written}\nqueries: [{{query: a, relevant: [b]}}]\n")
    project.run().stdout.fnmatch_lines(["*'rate' is a number of calls and a time (20/s, 600/min)*"])


@pytest.mark.slow
def test_workers_share_a_pace(project: Project) -> None:
    for name in ("one", "two"):
        queries = "".join(f"  - {{query: {name}{n}, must_find: [d1]}}\n" for n in range(20))
        project.suite(f"rate: 20/s\nqueries:\n{queries}", f"{name}.ir.yaml")
    project.conftest(
        "import time\n\ndef note():\n"
        "    with open('times.txt', 'a') as file:\n"
        "        file.write(f'{time.monotonic()}\\n')\n\n"
        "@pytest.fixture\ndef retriever():\n"
        "    def search(query):\n        note()\n        return ['d1']\n"
        "    note()\n    return search\n"
    )
    project.run("-p", "xdist", "-n2", "--dist=loadfile").assert_outcomes(passed=40)
    times = [float(line) for line in (project.path / "times.txt").read_text().split()]
    assert len(times) == 2 + 40
    assert max(times) - min(times) >= 39 / 20


# -- the law, over time that is only counted -----------------------------------------------------------------


def passed(
    clock: Clock,
    size: int,
    callers: int,
    seed: int,
    *,
    down: tuple[float, float] = (0, 0),
    answers: float = 100,
) -> tuple[float, float]:
    """The time of 300 calls over the ideal time, and the share refused, by a bucket of 20 a second.

    It does not say for how long it refuses. Calls reach it half a millisecond late and are answered, so many a second
    of one caller, or refused in ten milliseconds, on average. All are refused between the two seconds of ``down``.
    """
    draw = random.Random(seed)
    tokens, filled, refused, left, end = float(size), 1.0, 0, 300, 0.0
    events = [(1.0, caller, "next", 0.0) for caller in range(callers)]
    while events:
        now, caller, what, began = heappop(events)
        if what == "next":
            left -= 1
            if left >= 0:
                heappush(events, (now, caller, "asks", 0.0))
        elif what == "asks":
            wait = clock.turn(now)
            arrives = (now + draw.expovariate(2000), caller, "arrives", now)
            heappush(events, (now + wait, caller, "asks", 0.0) if wait else arrives)
        elif what == "arrives":
            tokens, filled = min(size, tokens + 20 * (now - filled)), now
            up = not down[0] <= now - 1.0 < down[1]
            answer = "answered" if up and tokens >= 1 else "refused"
            tokens -= answer == "answered"
            took = draw.expovariate(answers if answer == "answered" else 100)
            heappush(events, (now + took, caller, answer, began))
        elif what == "answered":
            clock.answered(began)
            end = now
            heappush(events, (now, caller, "next", 0.0))
        else:
            refused += 1
            clock.refused(now, began)
            clock.wait(now + wait_before(max(clock.pauses - 1, 0), []))
            heappush(events, (now, caller, "asks", 0.0))
    assert left == -callers  # each was answered
    return (end - 1.0) * 20 / 300, refused / (300 + refused)


@pytest.mark.parametrize(
    ("size", "most"), [(60, 1.0), (20, 1.1), (10, 1.2), (5, 1.25), (2, 1.35), (1, 1.6)]
)
@pytest.mark.parametrize("callers", [1, 8])
def test_the_rate_of_a_bucket_is_found(size: int, most: float, callers: int) -> None:
    for seed in range(5):
        time, refused = passed(Clock(), size, callers, seed)
        assert time < most
        assert refused < 0.05


@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("callers", [1, 8])
def test_the_rate_that_is_known_is_kept(size: int, callers: int) -> None:
    time, refused = passed(Clock(20, 20, 20), size, callers, 1)
    assert time == pytest.approx(1, abs=0.01)
    assert refused == 0


def test_of_a_rate_that_is_too_high_the_right_one_is_found() -> None:
    time, refused = passed(Clock(30, 30, 30), 5, 8, 1)
    assert time < 1.5
    assert refused < 0.05


@pytest.mark.parametrize(
    ("rate", "down", "most"),  # seconds until it is asked again after the outage, and of the calls
    [
        (5, (2, 22), 33 + 60),
        (5, (0, 60), 64 + 75),
        (20, (2, 62), 65 + 15),
        (None, (0, 60), 64 + 30),
        (None, (5, 65), 69 + 17),
    ],
)
@pytest.mark.parametrize("callers", [1, 8])
@pytest.mark.parametrize("size", [5, 60])
def test_after_an_outage_the_pace_is_what_it_was(
    rate: float | None, down: tuple[float, float], most: float, callers: int, size: int
) -> None:
    clock = Clock(rate, rate, rate) if rate else Clock()
    assert passed(clock, size, callers, 1, down=down)[0] * 300 / 20 < most


@pytest.mark.parametrize("rate", [30, None])
def test_slow_answers_do_not_look_like_an_outage(rate: float | None) -> None:
    clock = Clock(rate, rate, rate) if rate else Clock()
    time, refused = passed(clock, 1, 64, 1, answers=1 / 5)
    assert time < 3.5
    assert refused < 0.25
