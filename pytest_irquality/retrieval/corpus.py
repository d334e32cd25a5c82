"""The documents as indexed: from the files of ``corpus``, or the retriever's own ``texts()``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pytest_irquality.io.decoding import open_lines
from pytest_irquality.io.files import FileError
from pytest_irquality.io.json_codec import JsonError, parse_json
from pytest_irquality.retrieval.columns import clean_title
from pytest_irquality.retrieval.errors import ResultError
from pytest_irquality.retrieval.results import ResultReader, make_distinct_ids
from pytest_irquality.retrieval.wrappers import open_hits
from pytest_irquality.suite.model import Settings

MAX_DOCUMENTS = 10_000_000
# Documents are read in blocks, whose shape is settled once.
BLOCK_DOCUMENTS = 1_000


class CorpusError(Exception):
    """A corpus that cannot be read. The message is one line that begins with the place."""


class CorpusDocument(NamedTuple):
    """A document or chunk of the corpus."""

    doc_id: str
    title: str
    text: str


def has_corpus(settings: Settings, retriever: object = None) -> bool:
    """Return whether a corpus is known: files, or a method ``texts()`` of the retriever."""
    return bool(settings.corpus.files) or callable(getattr(retriever, "texts", None))


def load_corpus(settings: Settings, retriever: object = None) -> Iterator[CorpusDocument]:
    """Yield the documents of the corpus. Files come before ``texts()``.

    With ``match: text``, each id stands for one text, as in runs: chunks that share an id get a
    suffix.

    Args:
        settings: Names the files, and how ids and texts are found.
        retriever: Its ``texts()`` returns a mapping of ids to texts, or anything that a search
            may return.

    Raises:
        CorpusError: A file cannot be read, or a document has no id, or has no text although
            ``match: text`` needs it.
    """
    loader = _Loader(settings)
    texts = getattr(retriever, "texts", None)
    if settings.corpus.files:
        documents = loader.load_files(settings.corpus.files)
    elif callable(texts):
        documents = loader.load_result(texts())
    else:
        return
    if settings.match != "text":
        yield from documents
        return
    known: dict[str, str] = {}
    for document in documents:
        (doc_id,) = make_distinct_ids([document.doc_id], [document.text], known)
        yield document._replace(doc_id=doc_id)


class _Loader:
    def __init__(self, settings: Settings) -> None:
        self._needs_texts = settings.match == "text"
        # Reads blocks in which every document has an id.
        self._block_reader = ResultReader(
            id_field=settings.id_field, text_field=settings.text_field, keeps_texts=True
        )
        self._reader = replace(self._block_reader, matches_text=self._needs_texts)

    def load_files(self, paths: Sequence[str]) -> Iterator[CorpusDocument]:
        for path in paths:
            records = self._parse_file(path)
            while block := list(islice(records, BLOCK_DOCUMENTS)):
                places, values = zip(*block, strict=True)
                yield from self._read_block(values, places)

    def load_result(self, result: Any) -> Iterator[CorpusDocument]:
        if inspect.isawaitable(result):
            from pytest_irquality.retrieval.loop import run_awaitable  # imports asyncio

            result = run_awaitable(result)
        if isinstance(result, Mapping) and all(isinstance(text, str) for text in result.values()):
            for doc_id, text in result.items():
                yield CorpusDocument(str(doc_id), "", text)
            return
        try:
            records = iter(open_hits(result, MAX_DOCUMENTS))
        except ResultError as error:
            raise CorpusError(f"texts() of the retriever: {error}") from None
        while block := list(islice(records, BLOCK_DOCUMENTS)):
            yield from self._read_block(block, ["texts() of the retriever"] * len(block))

    def _parse_file(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the place and the value of each line."""
        try:
            for number, line in open_lines(Path(path)):
                if line.strip():
                    yield f"{path}:{number}", parse_json(line)
        except JsonError as error:
            raise CorpusError(f"{path}:{number}: Each line must be a document. {error}") from None
        except FileError as error:
            raise CorpusError(str(error)) from None

    def _read_block(
        self, records: Sequence[Any], places: Sequence[str]
    ) -> Iterator[CorpusDocument]:
        """Read records whose shape is that of the first, or one by one if that does not work."""
        documents: list[CorpusDocument | None] = [None] * len(records)
        is_text = all(isinstance(record, str) for record in records)
        if not is_text:
            with suppress(ResultError):
                documents = list(_read_records(self._block_reader, records))
        for record, place, document in zip(records, places, documents, strict=True):
            if document is not None and document.text:
                yield document
            else:
                yield self._read_record(record, place)

    def _read_record(self, record: Any, place: str) -> CorpusDocument:
        if isinstance(record, str):
            return CorpusDocument(place, "", record)
        try:
            (document,) = _read_records(self._reader, [record])
        except ResultError as error:
            raise CorpusError(f"{place}: This document cannot be read. {error}") from None
        return document


def _read_records(reader: ResultReader, records: Sequence[Any]) -> Iterator[CorpusDocument]:
    answer = reader.read_hits(list(records), len(records))
    ranking = answer.ranking
    for index, doc_id in enumerate(ranking.doc_ids):
        title = clean_title(answer.titles[index]) if answer.titles else ""
        text = ranking.texts[index] if ranking.texts else ""
        yield CorpusDocument(doc_id, title, text)
