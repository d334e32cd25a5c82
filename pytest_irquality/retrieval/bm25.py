"""The yardstick: a BM25 retriever over the corpus, with the library bm25s."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_irquality.retrieval.corpus import CorpusDocument


class BM25Retriever:
    """Searches documents with BM25.

    Args:
        documents: The documents to index, such as ``load_corpus`` yields.

    Raises:
        RetrieverError: The library bm25s is not installed, or there are no documents.
    """

    def __init__(self, documents: Iterable[CorpusDocument]) -> None:
        raise NotImplementedError

    def search(self, query: str, k: int) -> list[tuple[str, float]]:
        """Return up to ``k`` documents that share a word with the query, best first."""
        raise NotImplementedError
