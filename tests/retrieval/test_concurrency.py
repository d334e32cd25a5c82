"""Calls in flight, time limits, coroutines and Ctrl-C."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_irquality.retrieval import loop
from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, Retry, Settings

EIGHT = [f"q{n}" for n in range(8)]


def run_queries(retriever: object, count: int = 8, **settings: Any) -> Run:
    progress = settings.pop("report_progress", None)
    queries = [Query(f"q{n}", f"q{n}") for n in range(count)]
    return collect_run(retriever, queries, Settings(**settings), depth=3, report_progress=progress)


def get_answers(run: Run) -> list[str]:
    return [rankings[0].doc_ids[0] for rankings in run.answers.values() if rankings[0].doc_ids]


def test_one_call_at_a_time_runs_in_the_callers_own_thread() -> None:
    threads = set()

    def search(query: str) -> list[str]:
        threads.add(threading.current_thread())
        return [query]

    assert get_answers(run_queries(search)) == EIGHT
    assert threads == {threading.current_thread()}


def test_functions_run_in_as_many_daemon_threads_as_requested() -> None:
    barrier = threading.Barrier(4, timeout=60)

    def search(query: str) -> list[str]:
        barrier.wait()  # passes only if four calls are in flight
        assert threading.current_thread().daemon
        return [query]

    assert get_answers(run_queries(search, concurrency=4)) == EIGHT
    queries = [Query(text, text) for text in EIGHT]
    assert get_answers(collect_run(search, queries, concurrency=4)) == EIGHT


class Together:
    """Lets calls pass in groups of four, and notes their event loops."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.calls: list[str] = []

    async def search(self, query: str) -> list[str]:
        current = asyncio.get_running_loop()
        self.loops.add(current)
        self.calls.append(query)
        self.waiting.append(current.create_future())
        if len(self.waiting) == 4:
            for other in self.waiting:
                other.set_result(None)
            self.waiting = []
        else:
            await self.waiting[-1]
        return [query]


@pytest.mark.parametrize("is_function", [False, True], ids=["coroutine function", "function"])
@pytest.mark.parametrize("timeout", [None, 10])
def test_coroutines_run_in_one_event_loop(is_function: bool, timeout: float | None) -> None:
    together = Together()

    def search(query: str) -> object:
        return together.search(query)

    retriever = search if is_function else together.search
    run = run_queries(retriever, concurrency=4, timeout=timeout)

    assert get_answers(run) == EIGHT
    assert len(together.loops) == 1
    assert sorted(together.calls) == EIGHT


def test_a_loop_that_a_fixture_left_current_is_used_and_left_open() -> None:
    left = asyncio.new_event_loop()
    asyncio.set_event_loop(left)
    lock = left.create_future()  # bound to its loop, as clients of a fixture are
    left.call_soon(lock.set_result, None)

    async def search(query: str) -> list[str]:
        await lock
        return [query]

    try:
        assert get_answers(run_queries(search)) == EIGHT
        assert not left.is_closed()
    finally:
        asyncio.set_event_loop(None)
        left.close()


def test_in_a_running_loop_the_error_says_what_to_do() -> None:
    async def search(query: str) -> list[str]:
        return [query]

    async def notebook() -> list[str]:
        with pytest.raises(Exception, match=r"event loop is running here already.*to_thread"):
            run_queries(search)
        return get_answers(await asyncio.to_thread(run_queries, search))

    running = asyncio.new_event_loop()
    assert running.run_until_complete(notebook()) == EIGHT
    running.close()


def test_generators_are_cut_at_the_depth() -> None:
    def search(query: str) -> Iterator[str]:
        number = 0
        while True:
            yield f"{query}-{(number := number + 1)}"

    run = run_queries(search, 1)

    assert run.answers["q0"][0].doc_ids == ("q0-1", "q0-2", "q0-3")


@pytest.mark.parametrize("is_awaited", [False, True])
def test_an_async_generator_is_not_a_list_of_hits(is_awaited: bool) -> None:
    async def stream(query: str) -> Any:
        yield query

    async def search(query: str) -> Any:
        return stream(query)

    run = run_queries(search if is_awaited else stream, 1)

    assert "An async generator is not a list of hits" in run.errors["q0"].message


# Time limits.


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_call_that_hangs_is_an_error_and_the_rest_is_answered(concurrency: int) -> None:
    released = threading.Event()
    hanging = ("q2", "q5")[:concurrency]

    def search(query: str) -> list[str]:
        if query in hanging:
            released.wait(60)
        return [query]

    run = run_queries(search, concurrency=concurrency, timeout=0.5)
    released.set()

    assert get_answers(run) == [query for query in EIGHT if query not in hanging]
    messages = {error.message for error in run.errors.values()}
    assert messages == {"No answer within 0.5 s. Its thread was left running"}


def test_the_time_limit_covers_reading_the_answer() -> None:
    released = threading.Event()

    def search(query: str) -> Iterator[str]:
        yield query
        if query == "q2":
            released.wait(60)
        yield "d"

    run = run_queries(search, timeout=0.5)
    released.set()

    assert list(run.errors) == ["q2"]


def test_a_coroutine_that_hangs_is_cancelled_and_cleans_up() -> None:
    cleaned = []

    async def search(query: str) -> list[str]:
        if query == "q2":
            try:
                await asyncio.sleep(60)
            finally:
                cleaned.append(query)
        return [query]

    run = run_queries(search, concurrency=2, timeout=0.5)

    assert get_answers(run) == [query for query in EIGHT if query != "q2"]
    assert run.errors["q2"].message == "No answer within 0.5 s. The call was cancelled"
    assert cleaned == ["q2"]


@pytest.mark.parametrize(("concurrency", "limit"), [(1, 20), (8, 24)])
def test_a_retriever_that_only_times_out_is_given_up(concurrency: int, limit: int) -> None:
    released = threading.Event()
    calls: list[str] = []

    def search(query: str) -> None:
        calls.append(query)
        released.wait(60)

    retry = Retry(times=3, on=("timeout",))
    run = run_queries(search, 60, timeout=0.01, concurrency=concurrency, retry=retry)
    released.set()

    assert len(run.errors) == 60
    assert run.errors["q59"].message == f"Not run, because {limit} calls in a row timed out"
    assert len({error.cause for error in run.errors.values()}) == 2
    assert len(calls) < 60


def test_an_answer_that_comes_too_late_is_an_error() -> None:
    """A coroutine that blocks the loop cannot be stopped, and answers all the same."""

    async def search(query: str) -> list[str]:
        time.sleep(0.2 if query == "q1" else 0)
        return [query]

    run = run_queries(search, 3, timeout=0.1)

    assert list(run.answers) == ["q0", "q2"]
    message = r"Answered after \d+\.\d s, later than the 'timeout' of 0\.1 s allows"
    assert re.fullmatch(message, run.errors["q1"].message)


def test_a_call_that_was_abandoned_answers_for_nothing() -> None:
    """It ends while others still run, and its answer does not replace its error."""
    others_run, has_ended = threading.Event(), threading.Event()

    def search(query: str) -> list[str]:
        if query == "q0":
            others_run.wait(60)
            has_ended.set()
        elif query == "q1":  # begins in its place
            others_run.set()
            has_ended.wait(60)
            time.sleep(0.05)
        return [query]

    run = run_queries(search, 3, timeout=0.1)

    assert run.errors["q0"].message.startswith("No answer within 0.1 s")
    assert "q0" not in run.answers


def test_a_coroutine_has_a_minute_and_a_function_as_long_as_it_likes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop, "DEFAULT_TIMEOUT_S", 0.2)

    async def hang(query: str) -> list[str]:
        await asyncio.sleep(0 if query == "q0" else 600)
        return [query]

    def work(query: str) -> list[str]:
        time.sleep(0.3)
        return [query]

    run = run_queries(hang, 2)

    assert get_answers(run) == ["q0"]
    assert run.errors["q1"].message == "No answer within 0.2 s. The call was cancelled"
    assert get_answers(run_queries(work, 1)) == ["q0"]


def test_a_batch_is_called_with_a_time_limit() -> None:
    class Engine:
        async def batch(self, queries: list[str], k: int) -> list[list[str]]:
            await asyncio.sleep(0)
            return [[query] for query in queries]

    assert get_answers(run_queries(Engine(), timeout=10)) == EIGHT


def test_no_file_is_left_for_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(asyncio, "new_event_loop", fail)

    with pytest.raises(RetrieverError, match=r"No event loop can be started\. Too many open files"):
        run_queries(lambda query: [query], concurrency=2)


# Errors, Ctrl-C and order.


@pytest.mark.parametrize(
    "error", [SystemExit(2), asyncio.CancelledError(), ValueError("no"), MemoryError()], ids=repr
)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_what_a_call_raises_is_the_error_of_its_query(
    error: BaseException, concurrency: int
) -> None:
    def search(query: str) -> list[str]:
        if query == "q4":
            raise error
        return [query]

    async def search_async(query: str) -> list[str]:
        return search(query)

    retrievers: list[Any] = [search, search_async]
    if isinstance(error, asyncio.CancelledError):
        retrievers = [search_async]
    for retriever in retrievers:
        run = run_queries(retriever, concurrency=concurrency)
        assert get_answers(run) == [query for query in EIGHT if query != "q4"]
        assert run.errors["q4"].message.startswith(type(error).__name__)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("is_async", [False, True])
def test_ctrl_c_keeps_the_answers_so_far(concurrency: int, is_async: bool) -> None:
    answered = []
    last = [f"q{n}" for n in range(4, 4 + concurrency)]
    # Once all threads have one of the last queries, those before have been answered.
    barrier = threading.Barrier(1 if is_async else concurrency)

    def search(query: str) -> list[str]:
        if query in last:
            barrier.wait(60)
        if query == "q4":
            raise KeyboardInterrupt
        answered.append(query)
        return [query]

    async def search_async(query: str) -> list[str]:
        await asyncio.sleep(0)
        return search(query)

    run = run_queries(search_async if is_async else search, concurrency=concurrency)

    assert run.provenance.is_interrupted
    assert not run.errors
    assert "q4" not in run.answers
    if is_async:  # some calls may not have been awaited yet
        assert get_answers(run) == sorted(answered)
    else:
        assert {"q0", "q1", "q2", "q3"} <= set(run.answers)


def test_answers_are_in_the_order_of_the_queries() -> None:
    second_ended = threading.Event()

    def search(query: str) -> list[dict[str, str]]:
        if query == "q0":
            second_ended.wait(10)
        second_ended.set()
        return [{"id": query, "title": query}, {"id": "d", "title": query}]

    run = run_queries(search, 2, concurrency=2)

    assert list(run.answers) == ["q0", "q1"]
    assert run.titles["d"] == "q0"


def test_progress_is_reported_in_the_callers_thread() -> None:
    reports: list[tuple[int, int]] = []
    threads = set()

    def report(done: int, total: int) -> None:
        reports.append((done, total))
        threads.add(threading.current_thread())

    run_queries(lambda query: [query], concurrency=3, report_progress=report)

    assert reports == [(done, 8) for done in range(9)]
    assert threads == {threading.current_thread()}
