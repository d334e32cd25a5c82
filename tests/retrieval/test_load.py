"""Calls in flight, time-outs, coroutines, Ctrl-C: how a pass over the queries is made."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pytest_irquality.retrieval import Answer, Ranking, Run, jobs, retrieve
from pytest_irquality.retrieval.run import Fault
from pytest_irquality.suite import Query, Retry, Suite


def suite(queries: int = 8, **keys: Any) -> Suite:
    return Suite(
        name="s",
        path="s",
        queries=tuple(Query(f"q{i}", f"q{i}") for i in range(queries)),
        depth=3,
        **keys,
    )


def answered(run: Run) -> list[str]:
    return [ids[0] for ids in (ranking.ids for ranking in run.first.rankings.values()) if ids]


EIGHT = [f"q{i}" for i in range(8)]


def test_one_call_at_a_time_is_made_in_the_callers_own_thread() -> None:
    threads = set()

    def ask(query: str) -> list[str]:
        threads.add(threading.current_thread())
        return [query]

    assert answered(retrieve(suite(), ask)) == EIGHT
    assert threads == {threading.current_thread()}


def test_functions_are_called_in_as_many_threads_as_asked_for() -> None:
    together = threading.Barrier(4, timeout=60)

    def ask(query: str) -> list[str]:
        together.wait()  # passes only where four calls are in flight
        return [query]

    assert answered(retrieve(suite(concurrency=4), ask)) == EIGHT
    assert answered(retrieve(suite(concurrency=1), ask, concurrency=4)) == EIGHT


class Together:
    """Lets calls pass in groups of four, and counts how many event loops they were made in."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.asked: list[str] = []

    async def search(self, query: str) -> list[str]:
        loop = asyncio.get_running_loop()
        self.loops.add(loop)
        self.asked.append(query)
        self.waiting.append(loop.create_future())
        if len(self.waiting) == 4:
            for other in self.waiting:
                other.set_result(None)
            self.waiting = []
        else:
            await self.waiting[-1]
        return [query]


@pytest.mark.parametrize(
    "plain", [False, True], ids=["coroutine function", "function that gives coroutines"]
)
@pytest.mark.parametrize("timeout", [None, 10])
def test_coroutines_run_in_one_event_loop(plain: bool, timeout: float | None) -> None:
    together = Together()

    def ask(query: str) -> object:
        return together.search(query)

    run = retrieve(suite(concurrency=4, timeout=timeout), ask if plain else together.search)
    assert answered(run) == EIGHT
    assert len(together.loops) == 1
    assert sorted(together.asked) == sorted(EIGHT)


def test_coroutines_are_asked_once_each_and_in_order_where_one_is_in_flight() -> None:
    asked = []

    async def ask(query: str) -> list[str]:
        asked.append(query)
        return [query]

    assert answered(retrieve(suite(), ask)) == asked == EIGHT


def test_a_loop_that_was_left_current_is_used_and_left_open() -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    lock = loop.create_future()  # bound to its loop, as the clients of a fixture are
    loop.call_soon(lock.set_result, None)

    async def ask(query: str) -> list[str]:
        await lock
        return [query]

    try:
        assert answered(retrieve(suite(), ask)) == EIGHT
        assert not loop.is_closed()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_in_a_running_loop_the_error_says_what_to_do() -> None:
    async def ask(query: str) -> list[str]:
        return [query]

    async def notebook() -> list[str]:
        with pytest.raises(Exception, match=r"event loop is already running.*asyncio.to_thread"):
            retrieve(suite(1), ask)
        return answered(await asyncio.to_thread(retrieve, suite(), ask))

    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(notebook()) == EIGHT
    loop.close()


def test_endless_generators_are_cut_at_depth() -> None:
    def forever(query: str) -> Iterator[str]:
        number = 0
        while True:
            yield f"{query}-{(number := number + 1)}"

    for ask in (
        forever,
        lambda query: (f"{query}-{n}" for n in range(1, 1_000_001)),
    ):
        assert retrieve(suite(1), ask).first.rankings["q0"].ids == ("q0-1", "q0-2", "q0-3")


@pytest.mark.parametrize("awaited", [False, True])
def test_an_async_generator_is_no_list_of_hits(awaited: bool) -> None:
    async def stream(query: str) -> Any:
        yield query

    async def later(query: str) -> Any:
        return stream(query)

    run = retrieve(suite(1), later if awaited else stream)
    assert "an async generator is no list of hits; gather" in run.faults["q0"].message


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_call_that_hangs_is_a_fault_and_the_rest_is_answered(concurrency: int) -> None:
    released = threading.Event()
    hung = ("q2", "q5")[:concurrency]

    def ask(query: str) -> list[str]:
        if query in hung:
            released.wait(60)
        return [query]

    run = retrieve(suite(concurrency=concurrency, timeout=1), ask)  # no other takes so long
    released.set()
    assert answered(run) == [query for query in EIGHT if query not in hung]
    assert {fault.message for fault in run.faults.values()} == {
        "no answer within 1 s; the call was left running in its thread"
    }


def test_a_coroutine_that_hangs_is_cancelled_and_cleans_up() -> None:
    cleaned = []

    async def ask(query: str) -> list[str]:
        if query == "q2":
            try:
                await asyncio.sleep(60)
            finally:
                cleaned.append(query)
        return [query]

    run = retrieve(suite(concurrency=2, timeout=1), ask)
    assert answered(run) == [q for q in EIGHT if q != "q2"]
    assert run.faults["q2"].message == "no answer within 1 s; the call was cancelled"
    assert cleaned == ["q2"]


def test_a_retriever_that_only_times_out_is_given_up_and_says_so_for_every_query_left() -> None:
    released = threading.Event()
    run = retrieve(suite(30, timeout=0.01), lambda query: released.wait(60))
    released.set()
    assert len(run.faults) == 30
    assert run.faults["q29"].message == "not asked: 20 calls in a row had timed out"
    assert len({fault.cause for fault in run.faults.values()}) == 2


def test_with_more_calls_in_flight_it_takes_three_times_as_many_to_be_given_up() -> None:
    released = threading.Event()
    run = retrieve(suite(60, timeout=0.01), lambda query: released.wait(60), concurrency=8)
    released.set()
    assert run.faults["q59"].message == "not asked: 24 calls in a row had timed out"


def test_an_answer_that_comes_too_late_is_none() -> None:
    """A coroutine that blocks the loop cannot be stopped, and answers all the same."""

    async def ask(query: str) -> list[str]:
        time.sleep(0.2 if query == "q1" else 0)
        return [query]

    run = retrieve(suite(3, timeout=0.1), ask)
    assert "q1" not in run.first.rankings
    late = r"answered after \d+\.\d s, later than 'timeout' of 0\.1 s allows"
    assert re.fullmatch(late, run.faults["q1"].message)


def test_a_call_that_was_given_up_answers_for_nothing_any_more() -> None:
    """It ends while others are still asked; its answer does not take the place of its time-out."""
    others, ended = threading.Event(), threading.Event()

    def ask(query: str) -> list[str]:
        if query == "q0":
            others.wait(60)
            ended.set()
        elif query == "q1":  # begun in its place
            others.set()
            ended.wait(60)
            time.sleep(0.05)
        return [query]

    run = retrieve(suite(3, timeout=0.1), ask)
    assert run.faults["q0"].message.startswith("no answer within 0.1 s")
    assert "q0" not in run.first.rankings


@pytest.mark.parametrize(
    "error", [SystemExit(2), asyncio.CancelledError(), ValueError("no"), MemoryError()], ids=repr
)
def test_what_a_call_raises_is_its_own_fault(error: BaseException) -> None:
    def ask(query: str) -> list[str]:
        if query == "q4":
            raise error
        return [query]

    async def ask_async(query: str) -> list[str]:
        return ask(query)

    asks: list[Any] = [ask_async] if isinstance(error, asyncio.CancelledError) else [ask, ask_async]
    for ask_it in asks:
        for concurrency in (1, 3):
            run = retrieve(suite(concurrency=concurrency), ask_it)
            assert answered(run) == [q for q in EIGHT if q != "q4"]
            assert run.faults["q4"].message.startswith(type(error).__name__)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_ctrl_c_keeps_what_there_is(concurrency: int, is_async: bool) -> None:
    answers = []
    last = [f"q{n}" for n in range(4, 4 + concurrency)]
    # Once all threads hold one of the last, those before them have been answered.
    together = threading.Barrier(1 if is_async else concurrency)

    def ask(query: str) -> list[str]:
        if query in last:
            together.wait(60)
        if query == "q4":
            raise KeyboardInterrupt
        answers.append(query)
        return [query]

    async def ask_async(query: str) -> list[str]:
        await asyncio.sleep(0)
        return ask(query)

    run = retrieve(suite(concurrency=concurrency), ask_async if is_async else ask)
    assert run.interrupted
    assert not run.faults
    assert set(answered(run)) <= set(answers)
    assert {"q0", "q1", "q2", "q3"} <= set(run.first.rankings)
    assert "q4" not in run.first.rankings


class Skip(BaseException):
    """What pytest's skip is: no exception of the call, but a word to whoever runs it."""


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_no_fault_comes_through(
    concurrency: int, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(query: str) -> list[str]:
        raise Skip

    async def ask_async(query: str) -> list[str]:
        raise Skip

    asked = suite(concurrency=concurrency)
    run = retrieve(asked, ask_async if is_async else ask)
    assert run.faults["q0"].message == "Skip"  # nobody has said that it is any other
    monkeypatch.setattr(jobs, "NO_FAULTS", {*jobs.NO_FAULTS, Skip})
    with pytest.raises(Skip):
        retrieve(asked, ask_async if is_async else ask)


def test_the_run_is_in_the_suites_order_whoever_was_first() -> None:
    second_is_done = threading.Event()

    def ask(query: str) -> list[dict[str, str]]:
        if query == "q0":
            second_is_done.wait(10)
        second_is_done.set()
        return [{"id": query, "title": query}, {"id": "d", "title": query}]

    run = retrieve(suite(2, concurrency=2), ask)
    assert list(run.first.rankings) == ["q0", "q1"]
    assert run.first.titles["d"] == "q0"


def test_a_connection_of_another_thread_gets_a_hint() -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        run = retrieve(
            suite(2, concurrency=2), lambda query: db.execute("select 'd', 1").fetchall()
        )
        assert "connect with check_same_thread=False, or leave both out" in run.faults["q0"].message
        assert len({fault.cause for fault in run.faults.values()}) == 1


def test_progress_is_told_in_the_callers_thread() -> None:
    told: list[tuple[int, int]] = []
    threads = set()

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        threads.add(threading.current_thread())

    retrieve(suite(concurrency=3), lambda query: [query], progress=progress)
    assert told == [(done, 8) for done in range(9)]
    assert threads == {threading.current_thread()}


def test_a_coroutine_is_ended_after_a_minute_and_a_function_is_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs.TimedOut, "usual", 0.2)

    async def hangs(query: str) -> list[str]:
        await asyncio.sleep(0 if query == "q0" else 600)
        return [query]

    run = retrieve(suite(2), hangs)
    assert answered(run) == ["q0"]
    assert run.faults["q1"].message == (
        "no answer within 0.2 s (longer by 'timeout' in the suite); the call was cancelled"
    )

    def slow(query: str) -> list[str]:
        time.sleep(0.3)
        return [query]

    assert answered(retrieve(suite(1), slow)) == ["q0"]


def test_batches_are_asked_with_a_time_out() -> None:
    asked: list[list[str]] = []

    class Engine:
        async def batch(self, queries: list[str], k: int) -> list[list[str]]:
            asked.append(queries)
            await asyncio.sleep(0)
            return [[query] for query in queries]

    run = retrieve(suite(timeout=10), Engine())
    assert answered(run) == EIGHT
    assert asked == [EIGHT]
    assert {ranking.seconds for ranking in run.first.rankings.values()} == {None}


def test_asking_again_keeps_titles_and_texts_of_both_passes_and_those_seen_first() -> None:
    answer = Answer({"a": Ranking(("d",))}, {"d": "Desk"}, {"d": "A desk"})
    first = Run("", (answer,), {"b": Fault("no"), "c": Fault("no")})
    more = Answer(
        {"b": Ranking(("e", "d"))}, {"d": "Table", "e": "Lamp"}, {"d": "A table", "e": "A lamp"}
    )
    again = Run("", (more,), {"c": Fault("never")})
    run = first.retried(again)
    assert list(run.first.rankings) == ["a", "b"]
    lamp, table = run.first.rankings["b"].ids  # the same id with another text is another chunk
    assert (lamp, table[:2]) == ("e", "d#")
    assert dict(run.first.titles) == {"d": "Desk", "e": "Lamp", table: "Table"}
    assert dict(run.first.texts) == {"d": "A desk", "e": "A lamp", table: "A table"}
    assert {id: fault.message for id, fault in run.faults.items()} == {"c": "never"}


def test_a_retriever_that_was_given_up_is_not_asked_again() -> None:
    released = threading.Event()
    asked: list[str] = []

    def hang(query: str) -> None:
        asked.append(query)
        released.wait(60)

    retry = Retry(times=3, on=("timeout",))
    run = retrieve(suite(30, timeout=0.01, retry=retry), hang)
    released.set()
    assert (len(asked), run.retries) == (20, 0)
