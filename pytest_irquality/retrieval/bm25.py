"""The yardstick: a BM25 retriever over the corpus, with the library bm25s.

A search engine that is not better than plain BM25 (Robertson and Zaragoza, 2009) has a problem, or
its queries are too easy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_irquality.retrieval.corpus import CorpusDocument
from pytest_irquality.retrieval.errors import RetrieverError

# Words of letters and digits. In scripts without spaces each character is a word.
_TOKEN_PATTERN = (
    r"(?u)[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]|[^\W\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]+"
)


class BM25Retriever:
    """Searches documents with BM25, without stemming and stop words.

    Args:
        documents: The documents to index, such as ``load_corpus`` yields.

    Raises:
        RetrieverError: The library bm25s is not installed, or there are no documents.
    """

    def __init__(self, documents: Iterable[CorpusDocument]) -> None:
        try:
            import bm25s  # type: ignore[import-untyped]
        except ImportError:
            command = "`pip install 'pytest-irquality[yardstick]'`"
            raise RetrieverError(f"bm25_retriever needs the library bm25s. Run {command}") from None
        self._documents = {document.doc_id: document for document in documents}
        texts = [_get_text(document) for document in self._documents.values()]
        if not any(texts):
            raise RetrieverError("bm25_retriever needs documents. Name their file under 'corpus'")
        self._bm25s: Any = bm25s
        self._index: Any = bm25s.BM25()
        self._index.index(self._tokenize(texts), show_progress=False)
        self._doc_ids = list(self._documents)

    def search(self, query: str, k: int) -> list[dict[str, object]]:
        """Return up to ``k`` documents that share a word with the query, best first."""
        tokens = self._tokenize([query])
        count = min(k, len(self._doc_ids))
        rows, scores = self._index.retrieve(tokens, k=count, show_progress=False)
        hits: list[dict[str, object]] = []
        for row, score in zip(rows[0].tolist(), scores[0].tolist(), strict=True):
            if score > 0:
                doc_id, title, text = self._documents[self._doc_ids[row]]
                hits.append({"id": doc_id, "score": score, "title": title, "text": text})
        return hits

    def exists(self, doc_id: str) -> bool:
        """Return whether a document is in the index."""
        return doc_id in self._documents

    def _tokenize(self, texts: list[str]) -> Any:
        return self._bm25s.tokenize(
            texts, token_pattern=_TOKEN_PATTERN, stopwords=None, show_progress=False
        )


def _get_text(document: CorpusDocument) -> str:
    """Return the title and the text. A title that was made of the text does not count twice."""
    start = document.title.rstrip("…")
    is_in_text = " ".join(document.text.split()).startswith(start)
    return document.text if is_in_text else f"{document.title}\n{document.text}"
