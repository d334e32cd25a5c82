"""Make probes: queries made from documents, which test without labels that each can be found.

A query is the complete text of a field, such as the title, or a quote from a long field. The sample
has the documents with the lowest hashes of ids, so it hardly changes if documents are added.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from math import log
from typing import Any, Literal, NamedTuple

from pytest_irquality.io import dataclass, field
from pytest_irquality.io.field_paths import get_field
from pytest_irquality.io.text import format_count
from pytest_irquality.metrics import Judgments
from pytest_irquality.suite import data_files
from pytest_irquality.suite.kinds import list_words
from pytest_irquality.suite.mistakes import Location, Mistake, quote
from pytest_irquality.suite.model import PROBE_TAG, Probe, Query

MIN_QUOTE_WORDS = 8
MAX_QUOTE_WORDS = 12
QUOTE_REGIONS = 4  # A quote is from one of so many parts of a field. The document's id selects it.
# If so many other documents contain all words of a title, such as "Overview", even a good engine
# may return them first. In three corpora, nine in ten titles that were not found are such titles.
MIN_COMMON_DOCUMENTS = 10
TITLE_FIELDS = ("title", "name", "headline", "subject")
# Broken probes often share one of these.
SOURCE_FIELDS = ("source", "collection", "category", "section", "type", "tenant", "brand")
SPECIFIC_ID_FIELDS = (*data_files.SPELLINGS["document"], "objectid")

# A letter of a script without spaces is a word of its own.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\w+(?:['’-]\w+)*"
)
_ASCII_WORD = re.compile(r"\w+(?:['-]\w+)*", re.ASCII)  # the same, and a third faster


class _Document(NamedTuple):
    doc_id: str
    title: str
    source: str
    texts: Mapping[str, str]


class _Draft(NamedTuple):
    """A probe before it is known which other documents fit.

    Attributes:
        words: The words of the text in lowercase.
        position: The position of a quote in the field, in characters.
    """

    document: _Document
    path: str
    text: str
    words: tuple[str, ...]
    way: Literal["whole", "quote"] = "whole"
    position: int = 0

    @property
    def key(self) -> tuple[str, object]:
        """Return the field, and its text or the quote. Documents that share them fit as well."""
        return self.path, self.words if self.way == "quote" else self.text.casefold()


@dataclass
class _Statistics:
    """Counts over all documents.

    Attributes:
        word_counts: In how many documents each word occurs, in the fields of the probes.
        field_counts: How many documents have each field.
    """

    word_counts: Counter[str] = field(default_factory=Counter)
    field_counts: Counter[str] = field(default_factory=Counter)
    document_count: int = 0


def make_probes(
    files: Sequence[data_files.DataFile],
    *,
    by: Mapping[str, str],
    sample_size: int,
    id_field: str = "",
    params: Mapping[str, object] | None = None,
    grade: float = 1.0,
    location: Location,
) -> tuple[list[Query], str]:
    """Make probes from the documents in some files.

    Args:
        files: CSV files or JSON lines, with a document on each line.
        by: The fields to search by, each ``whole`` or ``quote``.
        sample_size: The number of documents to make probes from.
        id_field: The field with the id. If documents do not have it, their id is recognized.
        params: Parameters of every query.
        grade: The grade of relevant documents.
        location: The place of ``probes`` in the suite.

    Returns:
        A query for each sampled document and field, and a remark for the report. The document is
        relevant, and so is any other with the same text or quote in this field. A text is left out
        if many other documents contain all of its words.

    Raises:
        Mistake: A file cannot be read, or has no such field.
    """
    reader = _DocumentReader(files, by, id_field)
    statistics = _Statistics()
    sample = _draw_sample(reader, sample_size, statistics)
    if not statistics.document_count:
        raise Mistake(location.line, "'probes' has no document to make a query from")
    for path in by:
        if not statistics.field_counts[path]:
            known = list_words(reader.known_fields, "and")
            message = f"No document has text in {quote(path)}. Its fields are {known}."
            raise Mistake(location.line, message)
    drafts = []
    for document in sample:
        for path, text in document.texts.items():
            draft = _Draft(document, path, text, tuple(_split_words(text)))
            drafts.append(_quote(draft, statistics) if by[path] == "quote" else draft)
    ids_by_key, ids_by_words = _find_documents(reader, drafts, statistics)
    queries = []
    for draft in drafts:
        doc_id, path = draft.document.doc_id, draft.path
        equal_ids = ids_by_key[draft.key]
        if draft.way == "whole":
            other_ids = ids_by_words[frozenset(draft.words)].difference(equal_ids)
            if not draft.words or len(other_ids) >= MIN_COMMON_DOCUMENTS:
                continue
        document = draft.document
        queries.append(
            Query(
                id=f"{doc_id} {path}",
                text=draft.text,
                judgments=Judgments(dict.fromkeys([doc_id, *equal_ids], grade)),
                tags=(PROBE_TAG, path),
                params=params or {},
                is_sampled=True,
                probe=Probe(
                    doc_id, document.title, path, draft.way, draft.position, document.source
                ),
                location=location,
            )
        )
    if not queries:
        message = "No text can be a probe, because ten other documents contain all of its words"
        raise Mistake(location.line, f"{message}. Name a field with longer texts")
    count = format_count(len(queries), "probe")
    total = format_count(statistics.document_count, "document")
    note = f"{count} for {len(sample):,} of {total}"
    if len(queries) < len(drafts):
        left_out = format_count(len(drafts) - len(queries), "text is", "texts are")
        note += f"; {left_out} left out, because {MIN_COMMON_DOCUMENTS} other documents contain"
        note += " all of their words"
    return queries, note


# -- Reading documents -----------------------------------------------------------------------------


@dataclass
class _DocumentReader:
    files: Sequence[data_files.DataFile]
    by: Mapping[str, str]
    id_field: str
    known_fields: list[str] = field(default_factory=list)

    def read(self) -> Iterator[_Document]:
        """Yield all documents, in the order of the files."""
        for file in self.files:
            id_field = ""
            for line, row in read_rows(file):
                if not self.known_fields:
                    self.known_fields += row
                if not id_field and self.id_field and get_field(row, self.id_field) is not None:
                    id_field = self.id_field
                id_field = id_field or _recognize_id_field(row, file, line)
                doc_id = _to_text(get_field(row, id_field))
                if not doc_id:
                    message = f"This document has no id in {quote(id_field)}"
                    raise Mistake(line, message, file.name)
                texts = {}
                for path in self.by:
                    text = _to_text(get_field(row, path))
                    if text:
                        texts[path] = text
                title = _get_first(row, TITLE_FIELDS)
                source = _get_first(row, SOURCE_FIELDS) or file.name
                yield _Document(doc_id, title, source, texts)


def read_rows(file: data_files.DataFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each document in JSON lines or CSV."""
    lines = file.read_lines()
    start, head = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    if head.lstrip().startswith("{"):
        for number, line in chain([(start, head)], lines):
            if line.strip():
                yield number, data_files.decode_object(line, number, file.name)
        return
    delimiter = data_files.find_delimiter(head)
    names = data_files.split_row(head, delimiter)
    if head and len(names) < 2:
        message = "This file has no documents: it is neither JSON lines nor CSV with a header"
        raise Mistake(start, message, file.name)
    for number, row in data_files.iter_rows(lines, delimiter, start + 1, file.name):
        if any(row):
            yield number, dict(zip(names, row, strict=False))


def _get_first(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the text of the first of some fields that a document has."""
    return next((_to_text(row[name]) for name in names if row.get(name)), "")


def _recognize_id_field(row: Mapping[str, Any], file: data_files.DataFile, line: int) -> str:
    for spellings in (SPECIFIC_ID_FIELDS, ("id",)):
        names = [name for name in row if data_files.simplify(name) in spellings]
        if len(names) == 1:
            return names[0]
        if names:
            message = f"{list_words(names, 'and')} could both be the id of the document"
            hint = f"Choose one with 'id_field: {names[0]}'."
            raise Mistake(line, f"{message}. {hint}", file.name)
    known = list_words(list(row), "and")
    message = f"No field is the id of the document. Fields are {known}."
    raise Mistake(line, f"{message} Name it under 'id_field'.", file.name)


def _to_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(_to_text, value)))
    if value is None or isinstance(value, dict):
        return ""
    return " ".join(str(value).split())


# -- The sample ------------------------------------------------------------------------------------


def _draw_sample(
    reader: _DocumentReader, sample_size: int, statistics: _Statistics
) -> list[_Document]:
    """Draw the documents whose ids have the lowest hashes, and collect statistics of all."""
    heap: list[tuple[int, int, _Document]] = []
    seen: set[str] = set()
    for document in reader.read():
        statistics.field_counts.update(list(document.texts))
        all_texts = " ".join(document.texts.values())
        statistics.word_counts.update(set(_split_words(all_texts)))
        # Chunks of one document may share its id.
        if document.doc_id in seen:
            continue
        seen.add(document.doc_id)
        if document.texts:
            entry = (-_hash(document.doc_id), len(seen), document)
            if len(heap) < sample_size:
                heapq.heappush(heap, entry)
            elif entry > heap[0]:
                heapq.heapreplace(heap, entry)
    statistics.document_count = len(seen)
    return [document for _, _, document in sorted(heap, reverse=True)]


def _hash(doc_id: str) -> int:
    digest = hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _split_words(text: str) -> list[str]:
    if text.isascii():  # Elsewhere, a letter in lower case may be several characters.
        return _ASCII_WORD.findall(text.lower())
    return [word.lower() for word in _WORD.findall(text)]


# -- Quotes and equal documents --------------------------------------------------------------------


def _quote(draft: _Draft, statistics: _Statistics) -> _Draft:
    """Quote the words in a row that the fewest documents share, if a text is long enough.

    Quotes come from all parts of long texts, to detect an index that has only their beginnings.
    """
    words = draft.words
    if len(set(words)) < MIN_QUOTE_WORDS:
        return draft
    length = min(MAX_QUOTE_WORDS, len(words))
    start_count = len(words) - length + 1
    starts = range(start_count)
    if start_count >= QUOTE_REGIONS * length:
        region = _hash(draft.document.doc_id) % QUOTE_REGIONS
        starts = range(
            start_count * region // QUOTE_REGIONS, start_count * (region + 1) // QUOTE_REGIONS
        )
    counts = list(map(statistics.word_counts.__getitem__, words))
    logarithms = list(map(log, counts))

    def rate(start: int) -> tuple[int, float]:
        # A quote is in at most as many documents as its rarest word.
        end = start + length
        return min(counts[start:end]), sum(logarithms[start:end])

    best = min(starts, key=rate)
    chosen = list(islice(_WORD.finditer(draft.text), best, best + length))
    return draft._replace(
        text=" ".join(match[0] for match in chosen),
        words=words[best : best + length],
        way="quote",
        position=chosen[0].start(),
    )


def _find_documents(
    reader: _DocumentReader, drafts: Sequence[_Draft], statistics: _Statistics
) -> tuple[dict[tuple[str, object], list[str]], dict[frozenset[str], set[str]]]:
    """Find the documents that fit as well as the document from which a probe is made.

    Returns:
        The ids of documents with the same text or quote in the field, by the keys of drafts. And,
        by the words of a complete text, the ids of documents that contain all of them, unless there
        are certainly fewer than ``MIN_COMMON_DOCUMENTS``.
    """
    counts = statistics.word_counts
    ids_by_key: dict[tuple[str, object], list[str]] = {draft.key: [] for draft in drafts}
    ids_by_words: dict[frozenset[str], set[str]] = {}
    by_rarest_word: dict[str, dict[tuple[str, object], _Draft]] = {}
    for draft in drafts:
        min_count = 2
        if draft.way == "whole":
            ids_by_words[frozenset(draft.words)] = set()
            min_count = MIN_COMMON_DOCUMENTS
        # At most as many documents fit as have the rarest word.
        rarest = min(draft.words, key=lambda word: (counts[word], word), default="")
        if counts[rarest] >= min_count:
            by_rarest_word.setdefault(rarest, {})[draft.key] = draft
    for document in reader.read():
        all_words: set[str] = set()
        joined_words = {}
        for path, text in document.texts.items():
            ids_by_key.get((path, text.casefold()), []).append(document.doc_id)
            words = _split_words(text)
            all_words.update(words)
            joined_words[path] = f" {' '.join(words)} "
        for rarest in by_rarest_word.keys() & all_words:
            for key, draft in by_rarest_word[rarest].items():
                if draft.way == "whole":
                    if all_words.issuperset(draft.words):
                        ids_by_words[frozenset(draft.words)].add(document.doc_id)
                elif f" {' '.join(draft.words)} " in joined_words.get(draft.path, ""):
                    ids_by_key[key].append(document.doc_id)
    return ids_by_key, ids_by_words
