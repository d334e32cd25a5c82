"""What a retriever returned, read as ids, scores, titles and texts.

The shape is settled once a result, from its first hits, and the order is always the retriever's
own: full-text scores may be negative, distances are better low, and some engines give no score at
all.
"""

from __future__ import annotations

import hashlib
import inspect
import numbers
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from pytest_irquality.passages.characters import UNSPACED
from pytest_irquality.retrieval.details import Details, details_of
from pytest_irquality.retrieval.wrappers import (
    UnreadableResult,
    hits_of,
    in_brief,
    is_mapping,
    results_of,
)

ID_KEYS = (
    "_id", "id", "doc_id", "docid", "document_id", "ref", "corpus_id", "objectID", "node_id",
    "document.id", "node.id", "ids", "file_id", "location.s3Location.uri",
    "location.webLocation.url", "metadata.x-amz-bedrock-kb-chunk-id",
)  # fmt: skip
ID_ATTRIBUTES = (
    "meta.id", "id", "id_", "doc_id", "docid", "document_id", "node_id", "object_id", "uuid",
    "node.node_id", "file_id",
)  # fmt: skip
SCORES = (
    "score", "_score", "_distance", "distance", "relevance", "text_match", "scores", "distances",
    "meta.score", "metadata.score", "metadata.distance",
)  # fmt: skip
TITLES = ("title", "name")
TEXTS = (
    "text",
    "content",
    "page_content",
    "contents",
    "body",
    "passage",
    "chunk",
    "document",
    "documents",
)
INSIDE = (
    "", "_source.", "payload.", "fields.", "properties.", "metadata.", "meta.", "document.",
    "entity.", "node.",
)  # fmt: skip
HINTS = {
    "DocAddress": (
        "tantivy's addresses are of one index only: return the stored field, searcher.doc(address)"
    )
}
WITHOUT_SPACES = re.compile(f"[{UNSPACED}]")
ONE_WORD = re.compile(
    r"\s*[^\W\d_]{2,}[.,;:!?…]?\s*"
)  # where an id has a digit, a dash or the like
FIRST = 3
TITLE_LENGTH = 80

__all__ = ["Returned", "UnreadableResult", "apart", "read_result", "split_batch"]

Getter = Callable[[Any], Any]
Hits = Sequence[Any]


class Column(NamedTuple):
    """What stands at one place of each hit, with all its types."""

    values: Sequence[Any]
    kinds: AbstractSet[type]


def _typed(values: Sequence[Any]) -> Column:
    return Column(values, {*map(type, values)})


class Returned(NamedTuple):
    """A result as read: ids best first, scores where there are any, titles and whole texts by
    id.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    titles: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    details: Mapping[str, Details] = {}


class Looked(NamedTuple):
    """Where a suite says that ids and texts stand, and whether it needs texts at all."""

    id_field: str | None = None
    text_field: str | None = None
    texts: bool = False


def read_result(
    result: object,
    depth: int,
    *,
    id_field: str | None = None,
    text_field: str | None = None,
    texts: bool = False,
    show: Sequence[str] | None = None,
) -> Returned:
    """The first ``depth`` hits of what a call returned.

    ``id_field`` and ``text_field`` are where an id and a text stand, with dots
    (``metadata.source``), if not in a usual place. With ``texts`` hits must have texts, though that
    of an empty chunk is empty, and one without an id gets one from its text. With ``show`` the
    details of each hit are read, with the fields that it names. Raises ``UnreadableResult``.
    """
    try:
        hits = hits_of(result, depth, id_field)
        read = _read(hits, Looked(id_field, text_field, texts))
        if show is None:
            return read
        places = TEXTS if text_field is None else (text_field,)
        return read._replace(details=details_of(hits, read.ids, show, places, INSIDE))
    except UnreadableResult as error:
        if inspect.iscoroutine(result):
            result.close()
        raise _unreadable(error, result) from None


def split_batch(result: object, queries: int) -> list[Any]:
    """What a call for many queries returned, as one result for each of them. Raises
    ``UnreadableResult``.
    """
    try:
        return results_of(result, queries)
    except UnreadableResult as error:
        raise _unreadable(error, result) from None


def _unreadable(error: UnreadableResult, result: object) -> UnreadableResult:
    detail = f"{error.detail}; {in_brief(result)}" if error.detail else in_brief(result)
    return UnreadableResult(f"cannot read the retriever's result: {error.cause}", detail)


def apart(ids: Sequence[str], texts: Iterable[str], known: dict[str, str]) -> tuple[str, ...]:
    """The ids, one that stands for another text in ``known`` made a new one; ``known`` learns them
    all.

    Chunks may well have their document's id in common, and a text belongs to one id.
    """
    found = []
    for id, text in zip(ids, texts, strict=True):
        own = id if known.setdefault(id, text) == text else f"{id}#{_digest(text)[:6]}"
        known[own] = text
        found.append(own)
    return tuple(found)


def document_of(id: str, text: str) -> str:
    """The document that a chunk with this id and text is of, where ``apart`` gave it an id of its
    own.
    """
    return id.removesuffix(f"#{_digest(text)[:6]}")


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[
        :12
    ]


def _read(hits: Hits, looked: Looked) -> Returned:
    if not hits:
        return Returned(())
    column = _typed(hits)
    kinds = column.kinds
    if looked.texts and kinds == {str} and _has_prose(hits):
        return _texts_alone(hits, None)
    if (ids := _ids(column)) is not None:
        return _bare(ids, looked)
    if all(map(_is_number, kinds)):
        raise UnreadableResult(
            "numbers with fractions are scores, not ids; an array of scores in the order of the"
            " corpus is no ranking: return the ids (or ids and scores) of the best"
        )
    if all(issubclass(kind, (tuple, list)) or hasattr(kind, "_fields") for kind in kinds):
        named = getattr(hits[0], "_fields", ())
        if not any(name in ID_ATTRIBUTES or name == looked.id_field for name in named):
            return _rows(hits, looked)
    return _fields(hits, looked)


def _bare(ids: tuple[str, ...], looked: Looked) -> Returned:
    """Nothing but ids."""
    if looked.texts:
        raise UnreadableResult("'match: text' needs the text of each hit, and these are ids alone")
    return Returned(ids)


def _texts_alone(texts: Sequence[str], scores: tuple[float, ...] | None) -> Returned:
    ids = tuple(map(_digest, texts))
    return Returned(
        ids, scores, _by_id(ids, map(_title, texts)), dict(zip(ids, texts, strict=True))
    )


# -- ids and scores, a column at a time ----------------------------------------


def _ids(column: Column) -> tuple[str, ...] | None:
    """The column as ids, or None if it holds anything else."""
    if column.kinds == {str}:
        ids = tuple(column.values)
    elif all(map(_is_id, column.kinds)):
        ids = tuple(map(str, column.values))
    else:
        return None
    return ids if all(ids) else None


def _is_id(kind: type) -> bool:
    return issubclass(kind, (str, uuid.UUID, Decimal, numbers.Integral)) and not issubclass(
        kind, bool
    )


def _is_number(kind: type) -> bool:
    return (
        hasattr(kind, "__float__")
        and not issubclass(kind, (bool, str))
        and kind.__name__ not in ("bool", "bool_")
    )


def _is_fraction(kind: type) -> bool:
    return _is_number(kind) and not issubclass(kind, numbers.Integral)


def _scores(column: Column) -> tuple[float, ...] | None:
    """The column as scores, or None if any is missing or no number."""
    if column.kinds == {float}:
        scores = tuple(column.values)
    elif all(map(_is_number, column.kinds)):
        try:
            scores = tuple(map(float, column.values))
        except (TypeError, ValueError, OverflowError):  # a whole number of hundreds of digits
            return None
    else:
        return None
    # One that is not finite makes the sum so, too.
    return scores if isfinite(sum(scores)) or all(map(isfinite, scores)) else None


def _is_prose(value: object) -> bool:
    return isinstance(value, str) and len(value.split()) > 1


def _is_text(value: object) -> bool:
    """Prose, or a text of a script without spaces."""
    return isinstance(value, str) and (_is_prose(value) or WITHOUT_SPACES.search(value) is not None)


def _has_prose(values: Iterable[str]) -> bool:
    """Whether strings that are texts or ids are texts: any is one, or is a word of letters
    alone.
    """
    return any(_is_text(value) or ONE_WORD.fullmatch(value) for value in values)


# -- hits that are rows ----------------------------------------


def _rows(hits: Hits, looked: Looked) -> Returned:
    """``(id, score)``, ``(score, id)``, or rows of a table: told apart by type over the whole
    list.
    """
    if len(set(map(len, hits))) > 1:
        raise UnreadableResult("its rows are of different lengths")
    columns = [_typed(values) for values in zip(*hits, strict=True)]
    kinds = [column.kinds - {type(None)} for column in columns]
    if len(columns) == 1 and all(map(_is_id, kinds[0])):
        return _read(columns[0].values, looked)
    place = _place(looked.id_field)
    at, score = _id_and_score(columns, kinds, place, _is_text if looked.texts else _is_prose)
    scores = _scores(columns[score]) if score is not None else None
    words = [column.values for i, column in enumerate(columns) if kinds[i] == {str} and i != at]
    if looked.texts and words:
        in_texts = _place(looked.text_field)
        whole = words[-1] if in_texts is None else _words(columns[in_texts])
        ids = _ids(columns[at])
        if ids is None:
            return _texts_alone(whole, scores)
        known: dict[str, str] = {}
        ids = apart(ids, whole, known)
        return Returned(ids, scores, _by_id(ids, map(_title, words[0])), known)
    read = _read(columns[at].values, looked if place is None else looked._replace(id_field=None))
    titles = read.titles or (_by_id(read.ids, map(_title, words[0])) if words else {})
    return read._replace(scores=scores or read.scores, titles=titles)


def _place(field: str | None) -> int | None:
    """A column's number, where a field names one."""
    return int(field) if field and field.isdigit() else None


def _id_and_score(
    columns: Sequence[Column],
    kinds: Sequence[AbstractSet[type]],
    place: int | None,
    is_prose: Callable[[object], bool],
) -> tuple[int, int | None]:
    """Which column is the id's, and which the score's.

    A score is the last column with fractions; of a pair, whole numbers will do if the other side is
    no prose. The id is the first other column that is no prose, or stands at ``place``.
    """
    every, pair = range(len(columns)), len(columns) == 2
    numeric = [i for i in every if all(map(_is_number, kinds[i]))]
    fractions = [i for i in numeric if any(map(_is_fraction, kinds[i]))]
    settled = pair and len(fractions) == 1  # whatever the other side holds is the id
    prose = [
        i
        for i in every
        if not settled and kinds[i] == {str} and any(map(is_prose, columns[i].values))
    ]
    if not columns or not (numeric or all(map(_is_id, set().union(*kinds)))):
        raise UnreadableResult(
            "it looks like the results of several queries; return those of the one that was asked"
        )
    score = max(fractions or (numeric if pair and not prose else []), default=None)
    ids = [i for i in every if i not in (score, *prose)] or [i for i in prose if pair]
    if place is not None and place in every:
        ids = [place]
    if not ids or (pair and score is None and not prose):
        raise UnreadableResult(
            "neither side of its pairs is a score" if pair else "none of its columns is an id"
        )
    return ids[0], score if score != ids[0] else None


# -- hits with named fields ----------------------------------------


def _fields(hits: Hits, looked: Looked) -> Returned:
    first, id_field, texts = hits[:FIRST], looked.id_field, looked.texts
    tried = (id_field,) if id_field else ID_KEYS if is_mapping(hits[0]) else ID_ATTRIBUTES
    get = _settle(first, tried, _are_ids, attributes=tried is ID_ATTRIBUTES)
    if get is None and not id_field and is_mapping(hits[0]):
        get = _settle(first, ID_ATTRIBUTES, _are_ids, attributes=True)
    if get is None and not id_field and callable(getattr(hits[0], "to_dict", None)):
        as_dicts = [hit.to_dict() for hit in hits]
        if all(isinstance(hit, dict) for hit in as_dicts):
            return _fields(as_dicts, looked)
    inside = [
        place
        for place in INSIDE
        if not place or _getter(hits[0], place.removesuffix(".")) is not None
    ]
    get_title = _settle(first, [place + name for name in TITLES for place in inside], _are_texts)
    named = _words(_column(hits, get_title)) if get_title else ()
    get_text = None
    if texts or not named or not all(named):  # where there is no title, a text has to do
        text_places = [place + name for name in TEXTS for place in inside]
        get_text = _settle_text(hits if texts else first, looked, text_places)
    get_score = _settle(first, SCORES, lambda column: _scores(column) is not None)
    scores = _scores(_column(hits, get_score)) if get_score else None
    whole = _words(_column(hits, get_text)) if get_text else [""] * len(hits)
    if texts and get_text is None:
        raise _no_text(hits[0], looked.text_field)
    if get is None:
        if texts and not id_field:
            return _texts_alone(whole, scores)
        raise _no_id(hits[0], tried, id_field)
    ids = _read_ids(hits, get)
    known: dict[str, str] = {}
    ids = apart(ids, whole, known) if texts else ids
    named = named or whole
    if named is not whole and not all(named):
        named = [title or text for title, text in zip(named, whole, strict=True)]
    return Returned(ids, scores, _by_id(ids, _titles(named)), known)


def _settle_text(hits: Hits, looked: Looked, places: Sequence[str]) -> Getter | None:
    """The place of the texts. The first chunks may be empty: the next that has a text tells."""
    if looked.text_field:
        places = [looked.text_field]
    for start in range(0, len(hits), FIRST):
        some = hits[start : start + FIRST]
        for at in range(len(some)):
            if get := _settle(some[at:], places, _are_texts):
                return get
    return None


def _settle(
    first: Hits,
    places: Iterable[str],
    accept: Callable[[Column], bool],
    *,
    attributes: bool = False,
) -> Getter | None:
    """The first place at which the first hits have what is looked for. ``attributes``: look at
    attributes alone.
    """
    for place in places:
        get = attrgetter(place) if attributes else _getter(first[0], place)
        if get is not None and accept(_column(first, get)):
            return get
    return None


def _getter(hit: Any, place: str) -> Getter | None:
    """How to get at a place with dots in hits like this one: by keys or by attributes, as each step
    has them.
    """
    if _lacks(hit, place) and _lacks(hit, place.partition(".")[0]):
        return None  # as most places, and without an exception
    if is_mapping(hit) and _got(hit, itemgetter(place)) is not None:
        return itemgetter(place)
    steps: list[Getter] = []
    for name in place.split("."):
        if _lacks(hit, name):
            return None
        step: Getter = attrgetter(name)
        if is_mapping(hit) and _got(hit, itemgetter(name)) is not None:
            step = itemgetter(name)
        elif isinstance(hit, (list, tuple)) and name.isdigit():
            step = itemgetter(int(name))
        if (value := _got(hit, step)) is None:
            return None
        hit = value
        steps.append(step)
    return steps[0] if len(steps) == 1 else _Walk(tuple(steps))


def _lacks(hit: Any, name: str) -> bool:
    """Whether a plain dict has nothing of that name."""
    return type(hit) is dict and name not in hit and not hasattr(dict, name)


@dataclass(frozen=True)
class _Walk:
    """How to get at a place in several steps."""

    steps: tuple[Getter, ...]

    def __call__(self, hit: Any) -> Any:
        for step in self.steps:
            hit = step(hit)
        return hit

    def over(self, hits: Iterable[Any]) -> Iterable[Any]:
        """What stands there in many hits, a step at a time."""
        for step in self.steps:
            hits = map(step, hits)
        return hits


def _got(hit: Any, get: Getter) -> Any:
    """What stands there, None where nothing does; a property that raises has nothing either."""
    try:
        return get(hit)
    except Exception:
        return None


def _column(hits: Hits, get: Getter) -> Column:
    """What stands there in each hit; the one value of a stored field that could hold several is
    that value.
    """
    try:
        values = [*(get.over(hits) if isinstance(get, _Walk) else map(get, hits))]
    except Exception:
        values = [_got(hit, get) for hit in hits]
    column = _typed(values)
    return _typed([*map(_alone, values)]) if list in column.kinds else column


def _alone(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _are_ids(column: Column) -> bool:
    return _ids(column) is not None


def _are_texts(column: Column) -> bool:
    return any(text and not text.isspace() for text in _words(column))


def _read_ids(hits: Hits, get: Getter) -> tuple[str, ...]:
    column = _column(hits, get)
    if (ids := _ids(column)) is not None:
        return ids
    rank, value = next(
        (i, value) for i, value in enumerate(column.values, 1) if _ids(_typed([value])) is None
    )
    raise UnreadableResult(
        "not every hit has a document id", f"that of the hit at rank {rank} is {value!r}"
    )


def _words(column: Column) -> Sequence[str]:
    """The values that are text, or parts of a text, and nothing for the others."""
    return column.values if column.kinds == {str} else [*map(_text_of, column.values)]


def _text_of(value: Any) -> str:
    """A text, or one in parts, as clients of language models have it: strings, or things with a
    ``text``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n".join(filter(None, map(_text_of, value)))
    inside = _got(value, itemgetter("text")) if is_mapping(value) else getattr(value, "text", None)
    return inside if isinstance(inside, str) else ""


def _titles(words: Sequence[str]) -> Sequence[str]:
    """Titles on one line and not too long; all at once where they are so already."""
    row = f" {' '.join(words)} "  # two spaces in it are more than a title should have in a row
    if row.isprintable() and "  " not in row and len(max(words, key=len)) <= TITLE_LENGTH:
        return words
    return [*map(_title, words)]


def _title(text: str) -> str:
    text = " ".join(text[: 4 * TITLE_LENGTH].split()) if text else ""
    return text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1].rstrip() + "…"


def _by_id(ids: Sequence[str], words: Iterable[str]) -> dict[str, str]:
    """Words by document, those of its best hit."""
    words = [*words]
    found = dict(zip(ids, words, strict=True))
    if len(found) == len(words) and all(words):
        return found
    found = {}
    for document, text in zip(ids, words, strict=True):
        if text:
            found.setdefault(document, text)
    return found


def _no_id(hit: Any, tried: Iterable[str], id_field: str | None) -> UnreadableResult:
    if hint := HINTS.get(type(hit).__name__):
        return UnreadableResult(hint)
    places = ", ".join(dict.fromkeys(_places(hit)))
    has = (
        f"a hit has {places}"
        if places
        else f"a hit is a {type(hit).__name__} with no field that could be one"
    )
    if id_field:
        return UnreadableResult(f"'id_field: {id_field}' names no document id of its hits", has)
    return UnreadableResult(
        f"no document id under {', '.join(tried)}; name its place with 'id_field'", has
    )


def _no_text(hit: Any, text_field: str | None) -> UnreadableResult:
    has = f"a hit has {', '.join(dict.fromkeys(_places(hit)))}"
    if text_field:
        return UnreadableResult(f"'text_field: {text_field}' names no text of its hits", has)
    tried = ", ".join(TEXTS)
    return UnreadableResult(
        f"'match: text' needs the text of each hit (tried {tried}); name its place with"
        " 'text_field'",
        has,
    )


def _places(hit: Any, prefix: str = "") -> Iterator[str]:
    """Where ids could be: fields that hold text or whole numbers, at most one step deep."""
    if is_mapping(hit):
        fields = {str(name): hit[name] for name in hit.keys()}  # noqa: SIM118 - it may be no dict
    else:
        fields = getattr(hit, "__dict__", {})
    for name, value in list(fields.items())[:12]:
        if _is_id(type(_alone(value))):
            yield prefix + name
        elif (
            not prefix and (is_mapping(value) or hasattr(value, "__dict__")) and not callable(value)
        ):
            yield from _places(value, f"{name}.")
