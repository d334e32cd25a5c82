"""The documents as indexed: from the files of ``corpus``, or the retriever's own ``texts()``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pytest_irquality.suite.model import Settings


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

    Raises:
        CorpusError: A file cannot be read, or a document has no text although ``match: text`` needs
            it. The message begins with the place.
    """
    raise NotImplementedError


class CorpusError(Exception):
    """A corpus that cannot be read."""
