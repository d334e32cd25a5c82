"""Shapes of results that come from retrieval for question answering, and how such retrievers are called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_irquality import retrieve
from pytest_irquality.retrieval import Run
from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.results import Returned, read_result
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.suite import Query, Suite


def texts_of(result: object, **given: Any) -> list[str]:
    hits = read_result(result, 10, texts=True, **given)
    return [hits.texts[id] for id in hits.ids]


def document(text: str, **metadata: str) -> Any:
    return SimpleNamespace(page_content=text, metadata=metadata, id=None)


TWO = ["Paid within 14 days", "Keep the receipt"]
SHAPES: dict[str, Any] = {
    "a chain's context": {"input": "q", "context": [document(text) for text in TWO], "answer": "14"},
    "contexts": {"contexts": TWO, "answer": "14"},
    "retrieved_contexts": {"user_input": "q", "retrieved_contexts": TWO, "response": "14"},
    "passages as an attribute": SimpleNamespace(passages=TWO, answer="14"),
    "Haystack with several outputs": {"retriever": {"documents": [SimpleNamespace(id=str(n), content=text, score=1.0)
                                      for n, text in enumerate(TWO)]}, "llm": {"replies": ["14"]}},
    "bare texts": TWO,
    "texts with scores": [(text, 0.5) for text in TWO],
    "texts with whole scores": [(text.split()[0] + " it", 5) for text in TWO],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_are_read_from_each_shape(shape: str) -> None:
    expected = ["Paid it", "Keep it"] if "whole" in shape else TWO
    assert texts_of(SHAPES[shape]) == expected


@pytest.mark.parametrize(
    "texts",
    [["返金は14日以内", "領収書"], ["返金", "c1"]],
)
def test_texts_without_spaces_are_texts(texts: list[str]) -> None:
    assert texts_of(texts) == texts
    assert texts_of([(text, 0.5) for text in texts]) == texts
    assert read_result(texts, 10).ids == tuple(texts)


def test_ids_and_texts_without_spaces() -> None:
    hits = read_result([("c1", "返金は14日以内"), ("c2", "領収書")], 10, texts=True)
    assert hits.texts == {"c1": "返金は14日以内", "c2": "領収書"}


@pytest.mark.parametrize("ids", [["c1", "c2"], ["a-b", "c_d"], [1, 2], ["3f2a", "99"]])
def test_ids_alone_are_no_texts(ids: list[Any]) -> None:
    with pytest.raises(UnreadableResult, match="these are ids alone"):
        read_result(ids, 10, texts=True)


def test_a_nested_text_by_its_field() -> None:
    hits = [
        {"id": "1", "payload": {"body_text": "Paid"}},
        {"id": "2", "payload": {"body_text": "Kept"}},
    ]
    assert texts_of(hits, text_field="payload.body_text") == ["Paid", "Kept"]
    with pytest.raises(UnreadableResult, match="name its place with 'text_field'"):
        read_result(hits, 10, texts=True)
    with pytest.raises(
        UnreadableResult, match=r"'text_field: payload\.body' names no text of its hits"
    ):
        read_result(hits, 10, texts=True, text_field="payload.body")


def test_an_empty_chunk_is_a_result_that_holds_nothing() -> None:
    for empty in ("", None):
        hits = [{"id": "1", "text": empty}, {"id": "2", "text": "Paid within 14 days"}]
        assert texts_of(hits) == ["", "Paid within 14 days"]
    assert read_result(["", "Paid in full"], 10, texts=True).texts
    many = [{"id": str(n), "text": ""} for n in range(5)] + [{"id": "6", "text": "Paid"}]
    assert texts_of(many)[-1] == "Paid"


def asked(retriever: object, **given: Any) -> Run:
    return retrieve(Suite("s", "s", (Query("q", "refunds"),), depth=2, **given), retriever)


def test_a_second_required_parameter_is_never_given_the_cutoff_silently() -> None:
    def search(query: str, lang: str) -> list[str]:
        raise AssertionError(lang)

    with pytest.raises(
        RetrieverError, match=r"search\(query: 'str', lang: 'str'\).* needs 'lang' too"
    ):
        asked(search)

    def in_german(query: str, lang: str) -> list[str]:
        return [lang]

    assert asked(in_german, params={"lang": "de"}).first.rankings["q"].ids == ("de",)
    for name in ("k", "top_n", "n_results"):
        made: dict[str, Any] = {}
        exec(f"def search(query, {name}): return [str({name})]", made)
        assert asked(made["search"]).first.rankings["q"].ids == ("2",)


def test_a_vector_store_is_asked_by_similarity() -> None:
    class Store:
        def search(self, query: str, search_type: str, **kwargs: Any) -> list[Any]:
            raise AssertionError(search_type)

        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Any]:
            return [SimpleNamespace(id=f"d{n}", page_content="text", metadata={}) for n in range(k)]

    assert asked(Store()).first.rankings["q"].ids == ("d0", "d1")


def test_hits_keep_their_shape() -> None:
    assert Returned(("a",)).texts == {}
