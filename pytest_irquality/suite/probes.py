"""Probes: queries made of documents, which test without labels that each can be found.

A sampled document is searched for by a complete field, such as its title, or by a quote from a long
one. The sample is ordered by a hash of the ids, so it hardly changes if documents are added.
"""

from __future__ import annotations

import csv
import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from math import log
from typing import Any, NamedTuple

from pytest_irquality.io.fields import get_field
from pytest_irquality.io.text import format_count
from pytest_irquality.metrics import Judgments
from pytest_irquality.suite.kinds import list_words
from pytest_irquality.suite.model import PROBE_TAG, Location, Probe, Query
from pytest_irquality.suite.records import (
    SPELLINGS,
    DataFile,
    decode_object,
    find_delimiter,
    simplify,
)
from pytest_irquality.suite.yaml_source import Mistake, quote

MIN_QUOTE_WORDS = 8
MAX_QUOTE_WORDS = 12
QUOTE_REGIONS = 4  # a quote is from one of so many parts of the field, which its id selects
# If so many other documents contain all words of a title, such as "Overview", a sound engine may
# return them first. Over three corpora, such titles were nine in ten of those not found.
MIN_COMMON_DOCUMENTS = 10
TITLE_FIELDS = ("title", "name", "headline", "subject")
# Broken probes often share one of these.
SOURCE_FIELDS = ("source", "collection", "category", "section", "type", "tenant", "brand")
SPECIFIC_ID_FIELDS = (*SPELLINGS["document"], "objectid")

# A letter of a script without spaces is a word of its own.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\w+(?:['’-]\w+)*"
)


class _Document(NamedTuple):
    doc_id: str
    title: str
    source: str
    texts: Mapping[str, str]


class _Quote(NamedTuple):
    text: str
    position: int
    words: tuple[str, ...]


@dataclass
class _Statistics:
    """What all documents have in common.

    Attributes:
        document_counts: In how many documents each word occurs, in any field of the probes.
        ids_by_text: The documents with the same text in one field, by field and text.
        field_counts: How many documents have each field.
    """

    document_counts: Counter[str] = field(default_factory=Counter)
    ids_by_text: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    field_counts: Counter[str] = field(default_factory=Counter)
    document_count: int = 0


def make_probes(
    files: Sequence[DataFile],
    *,
    by: Mapping[str, str],
    sample_size: int,
    id_field: str = "",
    params: Mapping[str, object] | None = None,
    grade: float = 1.0,
    location: Location,
) -> tuple[list[Query], str]:
    """Make probes of the documents in some files.

    Args:
        files: CSV files or JSON lines, with a document on each line.
        by: The fields to search by, each ``whole`` or ``quote``.
        sample_size: How many documents to make probes of.
        id_field: The field with the id, if documents have it. Otherwise it is recognized.
        params: Parameters of every query.
        grade: The grade of the document that a probe is made of.
        location: The place of ``probes`` in the suite.

    Returns:
        A query for each sampled document and field. The document is relevant, and so is any other
        with the same text in this field, or that contains the same quote. A text whose words
        many other documents contain is left out. And a remark for the report.

    Raises:
        Mistake: A file cannot be read, or has no such field.
    """
    reader = _DocumentReader(files, by, id_field)
    statistics = _Statistics()
    sample = _draw_sample(reader, by, sample_size, statistics)
    if not statistics.document_count:
        raise Mistake(location.line, "'probes' has no document to make a query of")
    for path in by:
        if not statistics.field_counts[path]:
            known = list_words(reader.known_fields, "and")
            message = f"No document has a text in {quote(path)}. Its fields are {known}."
            raise Mistake(location.line, message)
    quotes = _choose_quotes(sample, by, statistics)
    whole_texts = _list_whole_texts(sample, quotes)
    ids_by_quote, ids_by_words = _find_documents(reader, quotes, whole_texts, statistics)
    queries = []
    for document in sample:
        for path, text in document.texts.items():
            quoted = quotes.get((document.doc_id, path))
            if quoted is None:
                equal_ids = statistics.ids_by_text[path, _normalize(text)]
                words = frozenset(_split_words(text))
                other_ids = ids_by_words[words] - set(equal_ids)
                if not words or len(other_ids) >= MIN_COMMON_DOCUMENTS:
                    continue
            else:
                equal_ids = ids_by_quote[path, quoted.words]
            grades = dict.fromkeys([document.doc_id, *equal_ids], grade)
            queries.append(
                Query(
                    id=f"{document.doc_id} {path}",
                    text=text if quoted is None else quoted.text,
                    judgments=Judgments(grades),
                    tags=(PROBE_TAG, path),
                    params=params or {},
                    is_sampled=True,
                    probe=_describe_probe(document, path, quoted),
                    location=location,
                )
            )
    if not queries:
        message = (
            "Other documents contain all words of each text. Name a field that has more of them"
        )
        raise Mistake(location.line, message)
    count = format_count(len(queries), "probe")
    total = format_count(statistics.document_count, "document")
    note = f"{count} of {len(sample):,} of {total}"
    common_count = len(quotes) + len(whole_texts) - len(queries)
    if common_count:
        left_out = format_count(common_count, "text is", "texts are")
        note += f"; {left_out} left out, because {MIN_COMMON_DOCUMENTS} other documents contain"
        note += " all of the words"
    return queries, note


def _describe_probe(document: _Document, path: str, quoted: _Quote | None) -> Probe:
    return Probe(
        document.doc_id,
        document.title,
        field=path,
        way="whole" if quoted is None else "quote",
        position=0 if quoted is None else quoted.position,
        length=len(document.texts[path]),
        source=document.source,
    )


# -- Reading documents ----------------------------------------------------------------------------


@dataclass
class _DocumentReader:
    files: Sequence[DataFile]
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


def read_rows(file: DataFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each document in JSON lines or CSV."""
    lines = file.read_lines()
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    lines = chain([first], lines)
    start, head = first
    if head.lstrip().startswith("{"):
        for number, line in lines:
            if line.strip():
                yield number, decode_object(line, number, file.name)
        return
    delimiter = find_delimiter(head)
    reader = csv.reader((f"{line}\n" for _, line in lines), delimiter=delimiter)
    names = next(reader, [])
    if len(names) < 2:
        message = "These are no documents: neither JSON lines nor CSV with a header"
        raise Mistake(start, message, file.name)
    for row in reader:
        if row:
            yield start + reader.line_num - 1, dict(zip(names, row, strict=False))


def _get_first(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the text of the first of some fields that a document has."""
    return next((_to_text(row[name]) for name in names if row.get(name)), "")


def _recognize_id_field(row: Mapping[str, Any], file: DataFile, line: int) -> str:
    for spellings in (SPECIFIC_ID_FIELDS, ("id",)):
        names = [name for name in row if simplify(name) in spellings]
        if len(names) == 1:
            return names[0]
        if names:
            message = f"{list_words(names, 'and')} could both be the id of the document"
            hint = f"Choose one with 'id_field: {names[0]}'."
            raise Mistake(line, f"{message}. {hint}", file.name)
    known = list_words(list(row), "and")
    message = f"No field is the id of the document. Fields are {known}."
    raise Mistake(line, f"{message} Write which as 'id_field'.", file.name)


def _to_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(filter(None, map(_to_text, value)))
    if value is None or isinstance(value, dict):
        return ""
    return " ".join(str(value).split())


# -- The sample -----------------------------------------------------------------------------------


def _draw_sample(
    reader: _DocumentReader, by: Mapping[str, str], sample_size: int, statistics: _Statistics
) -> list[_Document]:
    """Draw the documents whose ids have the lowest hashes, and collect statistics of all."""
    heap: list[tuple[int, int, _Document]] = []
    seen: set[str] = set()
    for document in reader.read():
        all_words = set()
        for path, text in document.texts.items():
            statistics.field_counts[path] += 1
            words = set(_split_words(text))
            all_words |= words
            # A text without enough words for a quote is searched for as it is.
            if by[path] == "whole" or len(words) < MIN_QUOTE_WORDS:
                same = statistics.ids_by_text.setdefault((path, _normalize(text)), [])
                same.append(document.doc_id)
        statistics.document_counts.update(all_words)
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


def _normalize(text: str) -> str:
    return text.casefold()


def _split_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


# -- Quotes ---------------------------------------------------------------------------------------


def _choose_quotes(
    sample: Sequence[_Document], by: Mapping[str, str], statistics: _Statistics
) -> dict[tuple[str, str], _Quote]:
    """Choose a quote of each sampled document from each field that is quoted."""
    quotes = {}
    for document in sample:
        for path, text in document.texts.items():
            if by[path] == "quote":
                quoted = _choose_quote(document.doc_id, text, statistics)
                if quoted:
                    quotes[document.doc_id, path] = quoted
    return quotes


def _choose_quote(doc_id: str, text: str, statistics: _Statistics) -> _Quote | None:
    """Choose the words in a row that the fewest documents share.

    Quotes come from all parts of long texts, or nobody would notice texts that are cut.
    """
    matches = list(_WORD.finditer(text))
    words = [match[0].lower() for match in matches]
    if len(set(words)) < MIN_QUOTE_WORDS:
        return None
    length = min(MAX_QUOTE_WORDS, len(words))
    start_count = len(words) - length + 1
    starts = range(start_count)
    if start_count >= QUOTE_REGIONS * length:
        region = _hash(doc_id) % QUOTE_REGIONS
        starts = range(
            start_count * region // QUOTE_REGIONS, start_count * (region + 1) // QUOTE_REGIONS
        )
    counts = [statistics.document_counts[word] for word in words]
    best = min(starts, key=lambda start: _rate_quote(counts[start : start + length]))
    chosen = matches[best : best + length]
    return _Quote(
        " ".join(match[0] for match in chosen),
        chosen[0].start(),
        tuple(words[best : best + length]),
    )


def _rate_quote(counts: Sequence[int]) -> tuple[int, float]:
    # No more documents can share a quote than have its rarest word.
    return min(counts), sum(map(log, counts))


def _list_whole_texts(
    sample: Sequence[_Document], quotes: Mapping[tuple[str, str], _Quote]
) -> list[str]:
    """Return the texts of the sample that are searched for as they are."""
    texts = []
    for document in sample:
        texts += [
            text for path, text in document.texts.items() if (document.doc_id, path) not in quotes
        ]
    return texts


def _find_documents(
    reader: _DocumentReader,
    quotes: Mapping[tuple[str, str], _Quote],
    whole_texts: Sequence[str],
    statistics: _Statistics,
) -> tuple[dict[tuple[str, tuple[str, ...]], list[str]], dict[frozenset[str], set[str]]]:
    """Find the documents that contain each quote, and those with all words of each complete text.

    Returns:
        The documents with a quote, by its field and words. And those with all words of a text, as
        far as there may be ``MIN_COMMON_DOCUMENTS``.
    """
    ids_by_quote: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    by_first_words: dict[tuple[str, str, str], set[tuple[str, ...]]] = {}
    for (_, path), quoted in quotes.items():
        ids_by_quote[path, quoted.words] = []
        key = (path, quoted.words[0], quoted.words[1])
        by_first_words.setdefault(key, set()).add(quoted.words)
    ids_by_words: dict[frozenset[str], set[str]] = {}
    by_rarest_word: dict[str, list[frozenset[str]]] = {}
    counts = statistics.document_counts
    for text in whole_texts:
        words = frozenset(_split_words(text))
        rarest = min(words, key=lambda word: (counts[word], word), default="")
        if words not in ids_by_words and counts[rarest] >= MIN_COMMON_DOCUMENTS:
            by_rarest_word.setdefault(rarest, []).append(words)
        ids_by_words[words] = set()
    for document in reader.read():
        all_words = set()
        for path, text in document.texts.items():
            words_in_order = _split_words(text)
            all_words.update(words_in_order)
            for index, pair in enumerate(pairwise(words_in_order)):
                for candidate in by_first_words.get((path, *pair), ()):
                    if tuple(words_in_order[index : index + len(candidate)]) == candidate:
                        ids_by_quote[path, candidate].append(document.doc_id)
        for rarest in by_rarest_word.keys() & all_words:
            for words in by_rarest_word[rarest]:
                if words <= all_words:
                    ids_by_words[words].add(document.doc_id)
    return ids_by_quote, ids_by_words
