"""What a retriever returned, read as ids, scores and titles.

The shape is settled once a result, from all of its hits together, and the order is always the retriever's own:
full-text scores may be negative, distances are better low, and some engines give no score at all.
"""

from __future__ import annotations

import inspect
import numbers
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

ID_KEYS = ("_id", "id", "doc_id", "docid", "document_id", "ref", "corpus_id", "objectID", "node_id")
ID_ATTRIBUTES = ("id", "id_", "doc_id", "docid", "document_id", "node_id", "object_id", "uuid")
SCORE_NAMES = ("score", "_score", "_distance", "distance", "relevance", "text_match")
TITLE_NAMES = ("title", "name")
TEXT_NAMES = ("text", "content", "page_content")
LONGEST_REPR = 200
TITLE_LENGTH = 80


class UnreadableResult(Exception):
    """A result no document ids can be read from. ``cause`` is its message without what came, alike for all such."""

    def __init__(self, cause: str, returned: str = "") -> None:
        super().__init__(f"{cause}; {returned}" if returned else cause)
        self.cause = cause


class Hits(NamedTuple):
    """A result as read: ids best first, scores where there are any, titles by id."""

    ids: tuple[str, ...]
    scores: tuple[float, ...] | None
    titles: dict[str, str]


def read_result(result: object, depth: int) -> Hits:
    """The first ``depth`` hits of what a call returned. Raises ``UnreadableResult``."""
    hits = _as_list(result, depth)
    if not hits:
        return Hits((), None, {})
    if all(_is_id(hit) for hit in hits):
        if all(isinstance(hit, numbers.Real) and not isinstance(hit, numbers.Integral) for hit in hits):
            raise _unreadable(result, "a list of fractions looks like scores, not like document ids")
        return Hits(tuple(_id(hit) for hit in hits), None, {})
    if all(_is_pair(hit) for hit in hits):
        return _read_pairs(hits, result)
    get = _field_getter(hits[0])
    if get is None:
        raise _unreadable(result, "its hits are neither ids, pairs, mappings nor objects")
    return _read_fields(hits, get, result)


def split_batch(result: object, queries: int) -> list[Any]:
    """What a call for many queries returned, as one result for each of them. Raises ``UnreadableResult``."""
    if isinstance(result, (str, bytes, Mapping)) or not isinstance(result, Iterable):
        raise _unreadable(result, "a batch must give one list of hits a query")
    results = list(result)
    if len(results) != queries:
        raise _unreadable(result, f"a batch of {queries} queries must give as many results, not {len(results)}")
    return results


def _as_list(result: object, depth: int) -> list[Any]:
    if inspect.iscoroutine(result):
        result.close()
        raise _unreadable(result, "async retrievers are not supported yet; return the awaited list")
    if result is None or isinstance(result, (str, bytes, numbers.Number)):
        raise _unreadable(result, "it is no list of hits")
    if isinstance(result, Mapping):
        raise _unreadable(result, "a mapping has no order; return a list of hits")
    if hasattr(result, "columns"):  # iterating a data frame gives the names of its columns
        raise _unreadable(result, "a table is no list of hits; return its ids, or its rows as dicts")
    if isinstance(result, (set, frozenset)):
        raise _unreadable(result, "a set has no order; return a list of hits")
    if not isinstance(result, Iterable):
        raise _unreadable(result, "it is no list of hits")
    hits: list[Any] = []
    for hit in result:  # a generator may be endless: take no more than was asked for
        if len(hits) >= depth:
            break
        hits.append(hit)
    return hits


def _is_id(hit: object) -> bool:
    return isinstance(hit, (str, uuid.UUID, numbers.Real)) and not isinstance(hit, bool)


def _id(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return str(value)


def _is_pair(hit: object) -> bool:
    return isinstance(hit, (tuple, list)) and len(hit) == 2 and not hasattr(hit, "keys")


def _is_score(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _read_pairs(hits: list[Any], result: object) -> Hits:
    """(id, score) or (score, id): told apart by type over the whole list, never hit by hit."""
    firsts, seconds = [hit[0] for hit in hits], [hit[1] for hit in hits]
    fraction = [not all(isinstance(v, numbers.Integral) for v in column) for column in (firsts, seconds)]
    scores = [all(map(_is_score, column)) for column in (firsts, seconds)]
    if scores[1] and not (scores[0] and fraction[0] and not fraction[1]):
        documents, values = firsts, seconds
    elif scores[0]:
        documents, values = seconds, firsts
    else:
        raise _unreadable(result, "neither side of its pairs is a score")
    if not all(map(_is_id, documents)):
        get = _field_getter(documents[0])
        if get is None:
            raise _unreadable(result, "neither side of its pairs is a document id")
        read = _read_fields(documents, get, result)
        return Hits(read.ids, tuple(map(float, values)), read.titles)
    return Hits(tuple(map(_id, documents)), tuple(map(float, values)), {})


Getter = Callable[[Any, str], Any]


def _from_mapping(hit: Any, name: str) -> Any:
    try:
        return hit[name]
    except (KeyError, IndexError):
        return None


def _field_getter(hit: object) -> Getter | None:
    """How to read a named field of hits like this one: rows act like mappings without being ``Mapping``."""
    if hasattr(hit, "keys") and hasattr(hit, "__getitem__"):
        return _from_mapping
    if any(getattr(hit, name, None) is not None for name in ID_ATTRIBUTES):
        return lambda hit, name: getattr(hit, name, None)
    return None


def _read_fields(hits: list[Any], get: Getter, result: object) -> Hits:
    names = ID_KEYS if get is _from_mapping else ID_ATTRIBUTES
    try:
        id_name = next((name for name in names if all(_is_id(get(hit, name)) for hit in hits)), None)
    except (TypeError, AttributeError):
        id_name = None
    if id_name is None:
        tried = ", ".join(names)
        raise _unreadable(result, f"not every hit has a document id under one name (tried {tried})")
    score_name = next((name for name in SCORE_NAMES if all(_is_score(get(hit, name)) for hit in hits)), None)
    ids = tuple(_id(get(hit, id_name)) for hit in hits)
    titles: dict[str, str] = {}
    for document, hit in zip(ids, hits, strict=True):
        if title := _title(hit, get):
            titles.setdefault(document, title)
    return Hits(ids, tuple(float(get(hit, score_name)) for hit in hits) if score_name else None, titles)


def _title(hit: Any, get: Getter) -> str | None:
    for name in (*TITLE_NAMES, *TEXT_NAMES):
        text = get(hit, name)
        if isinstance(text, str) and text.strip():
            text = " ".join(text.split())
            return text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1].rstrip() + "…"
    return None


def _unreadable(result: object, why: str) -> UnreadableResult:
    try:
        shown = repr(result)
    except Exception as error:  # a broken repr must not hide what is wrong
        shown = f"<{type(result).__name__}, whose repr raises {type(error).__name__}>"
    shown = shown if len(shown) <= LONGEST_REPR else shown[: LONGEST_REPR - 1] + "…"
    return UnreadableResult(
        f"cannot read the retriever's result: {why}", f"it returned {shown} ({type(result).__name__})"
    )
