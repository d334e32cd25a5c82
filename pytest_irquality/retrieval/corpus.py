"""The corpus: the documents as indexed (``corpus`` or ``texts()``), and a BM25 search in them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

from pytest_irquality.io.decoding import JsonError, open_lines, parse_json
from pytest_irquality.io.files import FileError
from pytest_irquality.retrieval.errors import ResultError, RetrieverError
from pytest_irquality.retrieval.hit_reader import ResultReader, clean_title, make_distinct_ids
from pytest_irquality.retrieval.wrappers import open_hits
from pytest_irquality.suite.model import Settings

MAX_DOCUMENTS = 10_000_000
# Documents are read in blocks. The first ones of a block decide where its fields are.
BLOCK_DOCUMENTS = 1_000
# Words of letters and digits. In scripts without spaces each character is a word.
_TOKEN_PATTERN = (
    r"(?u)[\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]|[^\W\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff]+"
)


class CorpusError(Exception):
    """A corpus cannot be read. The message is one line that begins with the place."""


class CorpusDocument(NamedTuple):
    """A document or chunk of the corpus."""

    doc_id: str
    title: str
    text: str


def has_corpus(settings: Settings, retriever: object = None) -> bool:
    """Return whether there is a corpus: files, or a method ``texts()`` of the retriever."""
    return bool(settings.corpus_files) or callable(getattr(retriever, "texts", None))


def load_corpus(settings: Settings, retriever: object = None) -> Iterator[CorpusDocument]:
    """Yield the documents of the corpus. Files come before ``texts()``.

    With ``match: text``, each id belongs to one text, as in runs: chunks that share an id get a
    suffix.

    Args:
        settings: The files, and the fields of ids and texts.
        retriever: Its ``texts()`` returns a mapping of ids to texts, or anything that a search may
            return.

    Raises:
        CorpusError: A file cannot be read, or a document has no id, or has no text although
            ``match: text`` needs it.
    """
    # In a block, a document may lack a text. It is then read alone, by the strict reader.
    block_reader = ResultReader(settings.id_field, settings.text_field, keeps_texts=True)
    reader = replace(block_reader, matches_text=settings.match == "text")
    known: dict[str, str] = {}
    records = _iter_records(settings, retriever)
    while block := list(islice(records, BLOCK_DOCUMENTS)):
        for document in _read_block(block, block_reader, reader):
            doc_id, _, text = document
            if reader.matches_text:
                (doc_id,) = make_distinct_ids([doc_id], [text], known)
            yield document._replace(doc_id=doc_id)


def _iter_records(settings: Settings, retriever: object) -> Iterator[tuple[str, Any]]:
    """Yield the place, for errors, and the value of each document."""
    texts = getattr(retriever, "texts", None)
    for path in settings.corpus_files:
        yield from _parse_file(path)
    if settings.corpus_files or not callable(texts):
        return
    place = "texts() of the retriever"
    result = texts()
    if inspect.isawaitable(result):
        from pytest_irquality.retrieval.loop import run_awaitable  # imports asyncio

        result = run_awaitable(result)
    if isinstance(result, Mapping) and all(isinstance(text, str) for text in result.values()):
        names = (settings.id_field or "id", settings.text_field or "text")
        for pair in result.items():
            yield place, dict(zip(names, pair, strict=True))
        return
    try:
        hits = open_hits(result, MAX_DOCUMENTS)
    except ResultError as error:
        raise CorpusError(f"{place}: {error}") from None
    yield from zip(repeat(place), hits, strict=False)


def _parse_file(path: str) -> Iterator[tuple[str, Any]]:
    try:
        for number, line in open_lines(Path(path)):
            if line.strip():
                yield f"{path}:{number}", parse_json(line)
    except JsonError as error:
        raise CorpusError(f"{path}:{number}: Each line must be a document. {error}") from None
    except FileError as error:
        raise CorpusError(str(error)) from None


def _read_block(
    block: Sequence[tuple[str, Any]], block_reader: ResultReader, reader: ResultReader
) -> Iterator[CorpusDocument]:
    """Read records together if all have the shape of the first, and otherwise one by one."""
    documents: list[CorpusDocument] = []
    with suppress(ResultError):
        documents = _read_records(block_reader, [record for _, record in block])
    for index, (place, record) in enumerate(block):
        if isinstance(record, str):
            yield CorpusDocument(place, "", record)
        elif documents and documents[index].text:
            yield documents[index]
        else:
            try:
                yield from _read_records(reader, [record])
            except ResultError as error:
                raise CorpusError(f"{place}: This document cannot be read. {error}") from None


def _read_records(reader: ResultReader, records: Sequence[Any]) -> list[CorpusDocument]:
    answer = reader.read_hits(records, len(records))
    ranking = answer.ranking
    no_texts = [""] * len(ranking.doc_ids)
    titles = map(clean_title, answer.titles or no_texts)
    columns = zip(ranking.doc_ids, titles, ranking.texts or no_texts, strict=True)
    return [CorpusDocument(*values) for values in columns]


class BM25Retriever:
    """The yardstick: BM25 (Robertson and Zaragoza, 2009), without stemming and stop words.

    If a search engine is not better, it has a problem, or its queries are too easy. The library
    bm25s does the work.

    Args:
        documents: The documents to index, such as ``load_corpus`` yields.

    Raises:
        RetrieverError: The library bm25s is not installed, or there are no documents.
    """

    def __init__(self, documents: Iterable[CorpusDocument]) -> None:
        try:
            import bm25s
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
    """Return the title and the text. If the title is the beginning of the text, leave it out."""
    start = document.title.rstrip("…")
    is_in_text = " ".join(document.text.split()).startswith(start)
    return document.text if is_in_text else f"{document.title}\n{document.text}"
