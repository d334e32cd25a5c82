"""Optional methods of retrievers: ``exists``, ``tokens`` and the version."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_irquality.retrieval.collect import (
    MAX_EXISTS_CALLS,
    find_unindexed_documents,
    make_size_counters,
)


class Index:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def exists(self, doc_id: str) -> Any:
        self.asked.append(doc_id)
        return self.answer(doc_id)


@pytest.mark.parametrize(
    "answer",
    [
        lambda doc_id: doc_id != "d2",
        lambda doc_id: None if doc_id == "d2" else {"_id": doc_id},
        lambda doc_id: {"d2": False}[doc_id],  # of others it cannot tell
    ],
    ids=["bool", "document", "partly"],
)
def test_missing_documents_are_those_that_exists_denies(answer: Any) -> None:
    index = Index(answer)

    assert find_unindexed_documents(index, ["d1", "d2", "d3", "d1"]) == {"d2"}
    assert index.asked == ["d1", "d2", "d3"]


def test_exists_may_be_async() -> None:
    async def answer(doc_id: str) -> bool:
        if doc_id == "d3":
            raise OSError("down")
        return doc_id != "d2"

    assert find_unindexed_documents(Index(answer), ["d1", "d2", "d3"]) == {"d2"}


def test_a_document_counts_as_present_if_nobody_can_tell() -> None:
    class NoTruth:
        def __bool__(self) -> bool:
            raise ValueError

    assert find_unindexed_documents(object(), ["d1"]) == frozenset()
    assert find_unindexed_documents(Index(lambda doc_id: NoTruth()), ["d1"]) == frozenset()
    assert find_unindexed_documents(Index(lambda doc_id: 1 / 0), ["d1"]) == frozenset()


def test_no_more_documents_are_looked_up_than_stated() -> None:
    index = Index(lambda doc_id: False)

    missing = find_unindexed_documents(index, map(str, range(5_000)))

    assert len(missing) == len(index.asked) == MAX_EXISTS_CALLS


def test_sizes_are_counted_in_words_and_tokens() -> None:
    class Retriever:
        @staticmethod
        def tokens(text: str) -> Any:
            return len(text) if text else []

    counters = make_size_counters(Retriever(), ["words", "tokens"])

    assert counters["words"]("One red **chair**") == 3
    assert (counters["tokens"]("abc"), counters["tokens"]("")) == (3, 0)
    assert make_size_counters(Retriever(), []) == {}
