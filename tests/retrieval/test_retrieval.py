"""Whatever a call takes and returns."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_irquality.metrics import parse_measure
from pytest_irquality.retrieval import RetrieverError, retrieve
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.demands import Max
from pytest_irquality.suite.model import Check, Limits, Place
from tests.conftest import shown

SUITE = Suite(name="s", path="s.yaml", queries=(Query("a", "a"),), depth=7)


def test_params_cannot_take_the_place_of_the_query() -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), params={"query": 3})
    with pytest.raises(RetrieverError, match="'params' names 'query'"):
        retrieve(suite, by_name)


def by_name(query: str, *, limit: int, locale: str = "en") -> list[str]:
    return [f"{query}-{limit}-{locale}"]


class Engine:
    def search(self, query: str, top_k: int) -> list[str]:
        return [f"{query}-{top_k}"]


@pytest.mark.parametrize(
    ("retriever", "first"),
    [
        (lambda query: [query], "a"),
        (lambda query, k: [f"{query}-{k}"], "a-7"),
        (lambda q, boost=2.5: [f"{q}-{boost}"], "a-2.5"),
        (lambda *args, **kwargs: [f"{args}"], "('a',)"),
        (by_name, "a-7-en"),
        (Engine(), "a-7"),
        (Engine().search, "a-7"),
    ],
)
def test_callables(retriever: object, first: str) -> None:
    assert retrieve(SUITE, retriever).first.rankings["a"].ids == (first,)


def test_params_of_the_query_are_laid_over_the_suites() -> None:
    suite = Suite(
        name="s",
        path="s",
        queries=(Query("a", "a", params={"locale": "de"}), Query("b", "b")),
        params={"locale": "fr"},
        depth=1,
    )
    run = retrieve(suite, by_name)
    assert [ranking.ids for ranking in run.first.rankings.values()] == [("a-1-de",), ("b-1-fr",)]


@pytest.mark.parametrize(
    "retriever", [None, 3, lambda: None, lambda query, k, index: [], object()], ids=shown
)
def test_what_cannot_be_called(retriever: object) -> None:
    with pytest.raises(RetrieverError):
        retrieve(SUITE, retriever)


def test_params_that_the_retriever_does_not_take() -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), params={"locale": "fr"})
    with pytest.raises(RetrieverError, match="does not take 'locale' of 'params'"):
        retrieve(suite, lambda query, k: [])


class Batched:
    """Answers many queries at once, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def batch(self, queries: list[str], k: int, locale: str = "en") -> Any:
        self.asked.append((queries, k, locale))
        return ([(f"{query}-{locale}", 1.0)] for query in queries)


def queries(*texts: str, **params: Any) -> tuple[Query, ...]:
    return tuple(Query(text, text, params=params) for text in texts)


def test_a_batch_is_asked_once_for_each_set_of_params() -> None:
    engine = Batched()
    suite = Suite(
        name="s",
        path="s",
        queries=(*queries("a"), *queries("b", locale="de"), *queries("c")),
        depth=3,
    )
    run = retrieve(suite, engine)
    assert engine.asked == [(["a", "c"], 3, "en"), (["b"], 3, "de")]
    assert {id: ranking.ids for id, ranking in run.first.rankings.items()} == {
        "a": ("a-en",),
        "c": ("c-en",),
        "b": ("b-de",),
    }
    assert all(ranking.seconds is None for ranking in run.first.rankings.values())


def test_a_batch_named_otherwise_is_left_alone_where_a_single_query_can_be_asked() -> None:
    class Runnable:
        def invoke(self, input: str, config: object = None) -> list[str]:
            return [input]

        def batch(self, inputs: list[str], config: object = None) -> list[list[str]]:
            raise AssertionError

    assert retrieve(SUITE, Runnable()).first.rankings["a"].ids == ("a",)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda queries: [["x"]], "a batch of 2 queries must give as many results, not 1"),
        (lambda queries: {"a": ["x"]}, "a batch must give one list of hits a query"),
        (lambda queries: [1 / 0], "ZeroDivisionError: division by zero"),
    ],
)
def test_a_batch_that_fails_is_the_fault_of_each_query(answer: Any, message: str) -> None:
    class Engine:
        def batch(self, queries: list[str]) -> Any:
            return answer(queries)

    run = retrieve(Suite(name="s", path="s", queries=queries("a", "b")), Engine())
    assert not run.first.rankings
    assert [message in fault.message for fault in run.faults.values()] == [True, True]


def test_one_unreadable_answer_of_a_batch_leaves_the_others() -> None:
    class Engine:
        def batch(self, queries: list[str]) -> list[Any]:
            return [["x"], None]

    run = retrieve(Suite(name="s", path="s", queries=queries("a", "b")), Engine())
    assert (list(run.first.rankings), list(run.faults)) == (["a"], ["b"])


def test_a_batch_has_no_latency_that_could_be_limited() -> None:
    latency = parse_measure("latency_p95")
    check = Check("latency_p95", "latency_p95", Place(1), Limits(latency, (Max(1.0),)))
    with pytest.raises(
        RetrieverError,
        match=r"latency_p95 is the time of one query, and Batched\.batch answers many",
    ):
        retrieve(Suite(name="s", path="s", queries=queries("a"), checks=(check,)), Batched())


def test_a_class_is_no_retriever() -> None:
    with pytest.raises(
        RetrieverError, match=r"gave the class Engine, not an object of it: return Engine\(\.\.\.\)"
    ):
        retrieve(SUITE, Engine)


def test_an_async_fixture_that_nobody_awaited() -> None:
    async def retriever() -> None: ...

    with pytest.raises(RetrieverError, match="fixture is async and nothing has awaited it"):
        retrieve(SUITE, retriever())


@pytest.mark.parametrize(
    "method", ["search", "retrieve", "invoke", "ainvoke", "run", "query", "__call__"]
)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
def test_an_object_with_any_of_the_methods(method: str, asynchronous: bool) -> None:
    def answer(self: object, query: str, limit: int) -> list[str]:
        return [f"{query}-{limit}"]

    async def answer_async(self: object, query: str, limit: int) -> list[str]:
        return [f"{query}-{limit}"]

    engine = type("Engine", (), {method: answer_async if asynchronous else answer})()
    assert retrieve(SUITE, engine).first.rankings["a"].ids == ("a-7",)


def test_invoke_comes_before_ainvoke() -> None:
    class Runnable:
        def invoke(self, input: str) -> list[str]:
            return [input]

        async def ainvoke(self, input: str) -> list[str]:
            raise AssertionError

    assert retrieve(SUITE, Runnable()).first.rankings["a"].ids == ("a",)
