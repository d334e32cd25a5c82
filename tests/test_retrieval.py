"""Whatever a call takes and returns."""

from __future__ import annotations

import sqlite3
import uuid
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_irquality.metrics import parse_measure
from pytest_irquality.retrieval import RetrieverError, UnreadableResult, retrieve
from pytest_irquality.retrieval.results import read_result
from pytest_irquality.suite import Query, Suite
from pytest_irquality.suite.model import Bound, Check, Limits, Place

SUITE = Suite(name="s", path="s.yaml", queries=(Query("a", "a"),), depth=7)


class Row:
    """Acts like a mapping without being one, as elasticsearch-py's responses and sqlite's rows do."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def keys(self) -> Any:
        return self.fields.keys()

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


class Slots:
    __slots__ = ("docid", "score")

    def __init__(self, docid: str, score: float) -> None:
        self.docid, self.score = docid, score


Hit = namedtuple("Hit", "doc_id score")
UUID = uuid.UUID(int=5)


@pytest.mark.parametrize(
    ("result", "ids", "scores"),
    [
        ([], (), None),
        (["a", "b"], ("a", "b"), None),
        ((51, 7), ("51", "7"), None),
        ([UUID], (str(UUID),), None),
        ((x for x in "ab"), ("a", "b"), None),
        ([("51", -21.7), ("7", -20.0)], ("51", "7"), (-21.7, -20.0)),
        ([(34.2, "x"), (1.0, "y")], ("x", "y"), (34.2, 1.0)),
        ([(0.5, 51), (0.25, 7)], ("51", "7"), (0.5, 0.25)),
        ([(51, 0.5), (7, 1)], ("51", "7"), (0.5, 1.0)),
        ([["a", 2]], ("a",), (2.0,)),
        ([{"_id": "x", "_score": 2}], ("x",), (2.0,)),
        ([{"id": 51, "_distance": 0.5}], ("51",), (0.5,)),
        ([Row(doc_id="x", score=1.5)], ("x",), (1.5,)),
        ([Slots("x", 1.0)], ("x",), (1.0,)),
        ([SimpleNamespace(node_id="n")], ("n",), None),
        ([Hit("x", 1.5)], ("x",), (1.5,)),
        ([({"id": "x"}, 0.9)], ("x",), (0.9,)),
    ],
    ids=repr,
)
def test_shapes(result: object, ids: tuple[str, ...], scores: tuple[float, ...] | None) -> None:
    read = read_result(result, 10)
    assert (read.ids, read.scores) == (ids, scores)
    assert all(type(id) is str for id in read.ids)


def test_sqlite_rows() -> None:
    connection = sqlite3.connect(":memory:")
    plain = connection.execute("select '51', -2.5").fetchall()
    connection.row_factory = sqlite3.Row
    rows = connection.execute("select '51' as doc_id, -2.5 as score, 'A chair' as title").fetchall()
    connection.close()
    assert read_result(plain, 5)[:2] == read_result(rows, 5)[:2] == (("51",), (-2.5,))
    assert read_result(rows, 5).titles == {"51": "A chair"}


@pytest.mark.parametrize(
    "result",
    [None, "abc", 3, {"a": 1.0}, {"a", "b"}, [0.5, 0.25], [object()], [{"x": 1}], [("a", "b")], [None]],
    ids=repr,
)
def test_what_cannot_be_read_is_refused_with_what_came(result: object) -> None:
    with pytest.raises(UnreadableResult, match=r"cannot read the retriever's result: .*; it returned "):
        read_result(result, 10)


def test_a_table_is_refused_rather_than_read_as_its_column_names() -> None:
    class Table:
        columns = ("id", "score")

        def __iter__(self) -> Any:
            return iter(self.columns)

    with pytest.raises(UnreadableResult, match="a table is no list of hits"):
        read_result(Table(), 10)


@pytest.mark.parametrize("name", ["query", "limit"])
def test_params_cannot_take_the_place_of_the_query_or_the_cutoff(name: str) -> None:
    suite = Suite(name="s", path="s", queries=(Query("a", "a"),), params={name: 3})
    with pytest.raises(RetrieverError, match=f"'params' names '{name}'"):
        retrieve(suite, by_name)


def test_an_endless_generator_is_cut_and_titles_come_from_text() -> None:
    def endless() -> Any:
        while True:
            yield {"id": "d", "page_content": "  word\n" * 40}

    read = read_result(endless(), 3)
    assert len(read.ids) == 3
    assert read.titles["d"].startswith("word word")
    assert len(read.titles["d"]) <= 80


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
        (lambda q, how_many: [f"{q}-{how_many}"], "a-7"),
        (lambda q, boost=2.5: [f"{q}-{boost}"], "a-2.5"),
        (lambda *args, **kwargs: [f"{args}"], "('a',)"),
        (by_name, "a-7-en"),
        (Engine(), "a-7"),
        (Engine().search, "a-7"),
    ],
)
def test_callables(retriever: object, first: str) -> None:
    assert retrieve(SUITE, retriever).rankings["a"].ids == (first,)


def test_params_of_the_query_are_laid_over_the_suites() -> None:
    suite = Suite(
        name="s",
        path="s",
        queries=(Query("a", "a", params={"locale": "de"}), Query("b", "b")),
        params={"locale": "fr"},
        depth=1,
    )
    run = retrieve(suite, by_name)
    assert [ranking.ids for ranking in run.rankings.values()] == [("a-1-de",), ("b-1-fr",)]


@pytest.mark.parametrize("retriever", [None, 3, lambda: None, lambda query, k, index: [], object()], ids=repr)
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
    suite = Suite(name="s", path="s", queries=(*queries("a"), *queries("b", locale="de"), *queries("c")), depth=3)
    run = retrieve(suite, engine)
    assert engine.asked == [(["a", "c"], 3, "en"), (["b"], 3, "de")]
    assert {id: ranking.ids for id, ranking in run.rankings.items()} == {"a": ("a-en",), "c": ("c-en",), "b": ("b-de",)}
    assert all(ranking.seconds is None for ranking in run.rankings.values())


def test_a_batch_named_otherwise_is_left_alone_where_a_single_query_can_be_asked() -> None:
    class Runnable:
        def invoke(self, input: str, config: object = None) -> list[str]:
            return [input]

        def batch(self, inputs: list[str], config: object = None) -> list[list[str]]:
            raise AssertionError

    assert retrieve(SUITE, Runnable()).rankings["a"].ids == ("a",)


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
    assert not run.rankings
    assert [message in fault.message for fault in run.faults.values()] == [True, True]


def test_one_unreadable_answer_of_a_batch_leaves_the_others() -> None:
    class Engine:
        def batch(self, queries: list[str]) -> list[Any]:
            return [["x"], None]

    run = retrieve(Suite(name="s", path="s", queries=queries("a", "b")), Engine())
    assert (list(run.rankings), list(run.faults)) == (["a"], ["b"])


def test_a_batch_has_no_latency_that_could_be_limited() -> None:
    latency = parse_measure("latency_p95")
    check = Check("latency_p95", "latency_p95", Place(1), limits=Limits(latency, (Bound("max", 1.0),)))
    with pytest.raises(RetrieverError, match=r"latency_p95 is the time of one query, and Batched\.batch answers many"):
        retrieve(Suite(name="s", path="s", queries=queries("a"), checks=(check,)), Batched())


def test_a_query_may_be_taken_by_its_name_alone() -> None:
    def search(*, query: str, top_k: int) -> list[str]:
        return [f"{query}-{top_k}"]

    assert retrieve(SUITE, search).rankings["a"].ids == ("a-7",)


def test_a_class_is_no_retriever() -> None:
    with pytest.raises(RetrieverError, match=r"gave the class Engine, not an object of it: return Engine\(\.\.\.\)"):
        retrieve(SUITE, Engine)


def test_an_async_fixture_that_nobody_awaited() -> None:
    async def retriever() -> None: ...

    with pytest.raises(RetrieverError, match="fixture is async and nothing has awaited it"):
        retrieve(SUITE, retriever())
