"""How retrievers are called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_irquality.retrieval.collect import collect_run
from pytest_irquality.retrieval.errors import RetrieverError
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import Query


def make_query(text: str = "a", **params: Any) -> Query:
    return Query(text, text, params=params, location=Location("shop.ir.yaml", 7))


def find_first(retriever: object, depth: int = 7, **params: Any) -> str:
    """Run a query and return the id of the first hit."""
    run = collect_run(retriever, [make_query(**params)], depth=depth)
    ((ranking,),) = run.answers.values()
    return ranking.doc_ids[0]


def by_name(query: str, *, limit: int, locale: str = "en") -> list[str]:
    return [f"{query}-{limit}-{locale}"]


class Engine:
    def search(self, query: str, top_k: int) -> list[str]:
        return [f"{query}-{top_k}"]


@pytest.mark.parametrize(
    ("retriever", "doc_id"),
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
def test_callables_get_the_query_and_the_cutoff(retriever: object, doc_id: str) -> None:
    assert find_first(retriever) == doc_id


@pytest.mark.parametrize("name", ["k", "n", "top_n", "n_results", "limit", "similarity_top_k"])
def test_the_cutoff_has_many_names(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def search(query, {name}): return [str({name})]", namespace)

    assert find_first(namespace["search"]) == "7"


@pytest.mark.parametrize(
    "method", ["search", "retrieve", "invoke", "ainvoke", "run", "query", "__call__"]
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_objects_are_called_by_one_of_their_methods(method: str, is_async: bool) -> None:
    def search(self: object, query: str, limit: int) -> list[str]:
        return [f"{query}-{limit}"]

    async def search_async(self: object, query: str, limit: int) -> list[str]:
        return [f"{query}-{limit}"]

    engine = type("Engine", (), {method: search_async if is_async else search})()

    assert find_first(engine) == "a-7"


def test_a_langchain_retriever_is_invoked() -> None:
    class Runnable:
        def invoke(self, input: str, config: object = None) -> list[str]:
            return [input]

        async def ainvoke(self, input: str) -> list[str]:
            raise AssertionError

        def batch(self, inputs: list[str], config: object = None) -> list[list[str]]:
            raise AssertionError

    assert find_first(Runnable()) == "a"


def test_a_vector_store_is_searched_by_similarity() -> None:
    class Store:
        def search(self, query: str, search_type: str, **kwargs: Any) -> list[Any]:
            raise AssertionError(search_type)

        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Any]:
            return [SimpleNamespace(id=f"d{k}", page_content="text", metadata={})]

    assert find_first(Store(), depth=2) == "d2"


def test_each_query_is_called_with_its_own_params() -> None:
    queries = [make_query("a", locale="de"), make_query("b"), make_query("b", locale="fr")]

    run = collect_run(by_name, queries, depth=1)

    found = [rankings[0].doc_ids[0] for rankings in run.answers.values()]
    assert found == ["a-1-de", "b-1-en", "b-1-fr"]


@pytest.mark.parametrize(
    ("retriever", "message"),
    [
        (None, r"fixture returned None \(NoneType\). It must return a function"),
        (3, "fixture returned 3"),
        (object(), "It must return a function of"),
        (Engine, r"returned the class Engine. Return Engine\(…\)"),
        (
            lambda: None,
            "cannot be called: too many positional arguments. It is called with the query",
        ),
        (lambda *, query: [], "cannot be called: "),
        (lambda query, k, index: [], "cannot be called: missing a required argument: 'index'"),
        (lambda query, limit, size: [], "takes 'limit' and 'size', and each of them could be"),
    ],
)
def test_what_cannot_be_called_is_an_error(retriever: object, message: str) -> None:
    with pytest.raises(RetrieverError, match=message):
        collect_run(retriever, [make_query()])


def test_a_second_parameter_is_never_taken_for_the_cutoff() -> None:
    def search(query: str, lang: str) -> list[str]:
        return [lang]

    with pytest.raises(
        RetrieverError, match=r"search\(query: 'str', lang: 'str'\).* argument: 'lang'"
    ):
        collect_run(search, [make_query()])
    assert find_first(search, lang="de") == "de"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"region": "fr"}, r"shop\.ir\.yaml:7: .* an unexpected keyword argument 'region'"),
        ({"query": 3}, "multiple values for argument 'query'"),
    ],
)
def test_params_that_do_not_fit_are_an_error_at_their_line(
    params: dict[str, Any], message: str
) -> None:
    with pytest.raises(RetrieverError, match=message):
        collect_run(by_name, [make_query(**params)])


def test_an_async_fixture_that_nothing_awaited_is_explained() -> None:
    async def retriever() -> None: ...

    with pytest.raises(RetrieverError, match="fixture is async, and nothing awaited it"):
        collect_run(retriever(), [make_query()])


# Batches.


class BatchEngine:
    """Answers several queries at once, and notes its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def batch(self, queries: list[str], k: int, locale: object = "en") -> Any:
        self.calls.append((queries, k, locale))
        return ([(f"{query}-{locale}", 1.0)] for query in queries)


def test_a_batch_never_mixes_queries_with_different_params() -> None:
    engine = BatchEngine()
    queries = [
        make_query("a"), make_query("b", locale="de"), make_query("c"),
        make_query("d", locale="fr"), make_query("e", locale=1), make_query("f", locale=True),
    ]  # fmt: skip

    run = collect_run(engine, queries, depth=3)

    assert engine.calls == [
        (["a", "c"], 3, "en"), (["b"], 3, "de"), (["d"], 3, "fr"), (["e"], 3, 1), (["f"], 3, True),
    ]  # fmt: skip
    found = [rankings[0].doc_ids[0] for rankings in run.answers.values()]
    assert found == ["a-en", "b-de", "c-en", "d-fr", "e-1", "f-True"]
    assert all(rankings[0].seconds is None for rankings in run.answers.values())


@pytest.mark.parametrize(("size", "sizes"), [(None, [128, 128, 44]), (100, [100, 100, 100])])
def test_a_batch_has_a_limited_size(size: int | None, sizes: list[int]) -> None:
    engine = BatchEngine()
    if size:
        engine.batch_size = size  # type: ignore[attr-defined]

    run = collect_run(engine, [make_query(f"q{n}") for n in range(300)])

    assert [len(queries) for queries, _, _ in engine.calls] == sizes
    assert run.answers["q299"][0].doc_ids == ("q299-en",)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda queries: [["x"]], "A batch of 2 queries must not return 1 results"),
        (lambda queries: {"a": ["x"]}, "A batch must return one list of hits for each query"),
        (lambda queries: [1 / 0], "ZeroDivisionError: division by zero"),
    ],
)
def test_a_batch_that_fails_is_an_error_of_each_query(answer: Any, message: str) -> None:
    class Failing:
        def batch(self, queries: list[str]) -> Any:
            return answer(queries)

    run = collect_run(Failing(), [make_query("a"), make_query("b")])

    assert not run.answers
    assert all(message in error.message for error in run.errors.values())
    assert list(run.errors) == ["a", "b"]


def test_a_result_that_cannot_be_read_spoils_no_other_of_its_batch() -> None:
    class Half:
        def batch(self, queries: list[str]) -> list[Any]:
            return [["x"], None]

    run = collect_run(Half(), [make_query("a"), make_query("b")])

    assert (list(run.answers), list(run.errors)) == (["a"], ["b"])
