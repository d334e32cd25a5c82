"""Results of a retriever, read as ids, scores, titles and texts.

The shape is settled once a result, from its first hits, and the order is always the retriever's
own: full-text scores may be negative, distances are better low, and some engines give no score at
all.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from pytest_irquality.retrieval.columns import (
    Column,
    Role,
    by_id,
    is_number,
    is_prose,
    is_text,
    titles,
)
from pytest_irquality.retrieval.details import Details, details_of
from pytest_irquality.retrieval.fields import (
    ID_ATTRIBUTES,
    INSIDE,
    SCORES,
    TEXTS,
    TITLES,
    no_id,
    no_text,
)
from pytest_irquality.retrieval.places import Getter, getter
from pytest_irquality.retrieval.wrappers import (
    ID_KEYS,
    UnreadableResult,
    hits_of,
    in_brief,
    is_mapping,
    results_of,
)

FIRST = 3

Hits = Sequence[Any]


class Returned(NamedTuple):
    """A result as read: ids best first, scores if there are any, titles and whole texts by id.

    ``in_order`` has the text of each hit, where a measure reads its length.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...] | None = None
    titles: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    details: Mapping[str, Details] = {}
    in_order: tuple[str, ...] | None = None


class Looked(NamedTuple):
    """The places that a suite names for ids and texts, and whether it needs texts at all."""

    id_field: str | None = None
    text_field: str | None = None
    texts: str = ""  # what needs them


def read_result(
    result: object,
    depth: int,
    *,
    id_field: str | None = None,
    text_field: str | None = None,
    texts: bool = False,
    show: Sequence[str] | None = None,
    with_text: bool = True,
    counted: bool = False,
) -> Returned:
    """The first ``depth`` hits of what a call returned.

    ``id_field`` and ``text_field`` are where an id and a text stand, with dots
    (``metadata.source``), if not in a usual place. With ``texts`` hits must have texts, though that
    of an empty chunk is empty, and one without an id gets one from its text. With ``show`` the
    details of each hit are read, with the fields that it names and, if wanted, its text. A shown
    field may be the title of hits that have no other. The lengths of texts are to be ``counted``
    where a measure reads them. Raises ``UnreadableResult``.
    """
    try:
        hits = hits_of(result, depth, id_field)
        read = _read(hits, Looked(id_field, text_field, "'match: text'" if texts else ""))
        places = TEXTS if text_field is None else (text_field,)
        if counted:
            known = _read(hits, Looked(id_field, text_field, "a measure over texts"))
            read = read._replace(in_order=tuple(map(known.texts.__getitem__, known.ids)))
        if show is None:
            return read
        return _with(read, details_of(hits, read.ids, show, places if with_text else (), INSIDE))
    except UnreadableResult as error:
        if inspect.iscoroutine(result):
            result.close()
        raise _unreadable(error, result) from None


def _with(read: Returned, details: Mapping[str, Details]) -> Returned:
    """A result with details, which may have titles where it has none."""
    titles = read.titles or {id: one.title for id, one in details.items() if one.title}
    return read._replace(details=details, titles=titles)


def split_batch(result: object, queries: int) -> list[Any]:
    """The result of each query of a call for many.

    Raises ``UnreadableResult``.
    """
    try:
        return results_of(result, queries)
    except UnreadableResult as error:
        raise _unreadable(error, result) from None


def _unreadable(error: UnreadableResult, result: object) -> UnreadableResult:
    detail = f"{error.detail}; {in_brief(result)}" if error.detail else in_brief(result)
    return UnreadableResult(f"cannot read the retriever's result: {error.cause}", detail)


def distinct_ids(
    ids: Sequence[str], texts: Iterable[str], known: dict[str, str]
) -> tuple[str, ...]:
    """The ids, one that stands for another text in ``known`` made a new one.

    ``known`` learns them all. Chunks may well have their document's id in common, and a text
    belongs to one id.
    """
    found = []
    for id, text in zip(ids, texts, strict=True):
        own = id if known.setdefault(id, text) == text else f"{id}#{_digest(text)[:6]}"
        known[own] = text
        found.append(own)
    return tuple(found)


def _digest(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[
        :12
    ]


def _read(hits: Hits, looked: Looked) -> Returned:
    if not hits:
        return Returned(())
    column = Column.of(hits)
    if looked.texts and column.kinds == {str} and any(map(is_text, hits)):
        return _with_texts(None, None, (), hits)
    ids = column.ids()
    if ids is not None:
        return _bare(ids, looked)
    if all(map(is_number, column.kinds)):
        raise UnreadableResult(
            "numbers with fractions are scores, not ids; an array of scores in the order of the"
            " corpus is no ranking: return the ids (or ids and scores) of the best"
        )
    if all(map(_is_row, column.kinds)) and not _names_its_id(hits[0], looked.id_field):
        return _rows(hits, looked)
    return _fields(hits, looked)


def _is_row(kind: type) -> bool:
    return issubclass(kind, (tuple, list)) or hasattr(kind, "_fields")


def _names_its_id(row: Any, id_field: str | None) -> bool:
    """Tell whether a row is a named tuple of which one field is an id's."""
    return not {id_field, *ID_ATTRIBUTES}.isdisjoint(getattr(row, "_fields", ()))


def _bare(ids: tuple[str, ...], looked: Looked) -> Returned:
    """The result that is nothing but ids."""
    if looked.texts:
        raise UnreadableResult(
            f"{looked.texts} needs the text of each hit, and these are ids alone"
        )
    return Returned(ids)


def _with_texts(
    ids: tuple[str, ...] | None,
    scores: tuple[float, ...] | None,
    named: Sequence[str],
    texts: Sequence[str],
) -> Returned:
    """A result whose texts are kept; where there are no ids, they are made of these."""
    if ids is None:
        ids = tuple(map(_digest, texts))
        return Returned(ids, scores, by_id(ids, titles(texts)), dict(zip(ids, texts, strict=True)))
    known: dict[str, str] = {}
    ids = distinct_ids(ids, texts, known)
    return Returned(ids, scores, by_id(ids, titles(named)), known)


# -- hits that are rows ----------------------------------------------------------------------------


def _rows(hits: Hits, looked: Looked) -> Returned:
    """``(id, score)``, ``(score, id)``, or rows of a table: told apart by all their types."""
    if len(set(map(len, hits))) > 1:
        raise UnreadableResult("its rows are of different lengths")
    for number in filter(str.isdigit, (looked.id_field or "", looked.text_field or "")):
        raise UnreadableResult(f"columns of rows have no number as a name ({number!r})")
    columns = [Column.of(values) for values in zip(*hits, strict=True)]
    if len(columns) == 1 and columns[0].may_be_ids:
        return _read(columns[0].values, looked)
    prose = is_text if looked.texts else is_prose
    at, score = _id_and_score([column.role(prose) for column in columns])
    scores = None if score is None else columns[score].scores()
    others = [*columns[:at], *columns[at + 1 :]]
    words = [column.words() for column in others if column.known == {str}]
    if not words or not looked.texts:
        read = _read(columns[at].values, looked)
        named = read.titles or (by_id(read.ids, titles(words[0])) if words else {})
        return read._replace(titles=named, scores=scores or read.scores)
    return _with_texts(columns[at].ids(), scores, words[0], words[-1])


def _id_and_score(roles: Sequence[Role]) -> tuple[int, int | None]:
    """The places of the column of ids and of that of scores, if there is any.

    Scores are the last column with fractions, and ids the first other that is no prose.
    """
    if not roles or ("other" in roles and not {"whole", "fractions"} & {*roles}):
        raise UnreadableResult(
            "it looks like the results of several queries; return those of the one that was asked"
        )
    score = _score_of_pairs(roles) if len(roles) == 2 else _last(roles, "fractions")
    return _place_of_ids(roles, score), score


def _place_of_ids(roles: Sequence[Role], score: int | None) -> int:
    others = [at for at in range(len(roles)) if at != score]
    no_prose = [at for at in others if roles[at] != "prose"]
    if no_prose:
        return no_prose[0]
    if len(roles) == 2:  # the texts themselves
        return others[0]
    raise UnreadableResult("none of its columns is an id")


def _score_of_pairs(roles: Sequence[Role]) -> int | None:
    """The side of pairs that is the score.

    The one side with fractions is, whatever the other holds. Else whole numbers will do, if neither
    side is prose.
    """
    if roles.count("fractions") == 1:
        return roles.index("fractions")
    if "prose" in roles:
        return None
    score = _last(roles, "whole", "fractions")
    if score is None:
        raise UnreadableResult("neither side of its pairs is a score")
    return score


def _last(roles: Sequence[Role], *wanted: Role) -> int | None:
    return max((at for at, role in enumerate(roles) if role in wanted), default=None)


# -- hits with named fields ------------------------------------------------------------------------


def _fields(hits: Hits, looked: Looked) -> Returned:
    get_id = _find_id(hits, looked.id_field)
    if get_id is None and (as_dicts := _as_dicts(hits, looked)):
        return _fields(as_dicts, looked)
    inside = [
        place
        for place in INSIDE
        if not place or getter(hits[0], place.removesuffix(".")) is not None
    ]
    named = _named(hits, inside)
    texts: Sequence[str] = ()
    if looked.texts or not all(named):
        texts = _texts(hits, looked, inside)
        named = [name or text for name, text in zip(named, texts, strict=True)]
    scores = _scores(hits)
    if get_id is not None:
        ids = _ids_at(hits, get_id)
        if not looked.texts:
            return Returned(ids, scores, by_id(ids, titles(named)))
        return _with_texts(ids, scores, named, texts)
    if looked.texts and not looked.id_field:
        return _with_texts(None, scores, named, texts)
    raise no_id(hits[0], looked.id_field)


def _scores(hits: Hits) -> tuple[float, ...] | None:
    get = _settle(hits, SCORES, lambda column: column.scores() is not None)
    return Column.at(hits, get).scores() if get else None


def _find_id(hits: Hits, id_field: str | None) -> Getter | None:
    """The place of the ids: the one that the suite names, or the first usual one."""
    if id_field:
        return _settle(hits, (id_field,), _are_ids)
    get = _settle(hits, ID_KEYS, _are_ids) if is_mapping(hits[0]) else None
    return get or _settle(hits, ID_ATTRIBUTES, _are_ids, attributes=True)


def _are_ids(column: Column) -> bool:
    return column.ids() is not None


def _as_dicts(hits: Hits, looked: Looked) -> list[Any]:
    """Hits as the dicts that they make of themselves; none where the suite names a place."""
    if looked.id_field or not callable(getattr(hits[0], "to_dict", None)):
        return []
    as_dicts = [hit.to_dict() for hit in hits]
    return as_dicts if all(isinstance(hit, dict) for hit in as_dicts) else []


def _named(hits: Hits, inside: Sequence[str]) -> Sequence[str]:
    """The title of each hit, empty where it has none: then its text has to do."""
    places = [place + name for name in TITLES for place in inside]
    get = _settle(hits, places, Column.has_words)
    return Column.at(hits, get).words() if get else [""] * len(hits)


def _texts(hits: Hits, looked: Looked, inside: Sequence[str]) -> Sequence[str]:
    """The text of each hit. Where texts are needed, one place must have them."""
    places = [place + name for name in TEXTS for place in inside]
    if looked.text_field:
        places = [looked.text_field]
    get = _settle_text(hits if looked.texts else hits[:FIRST], places)
    if looked.texts and get is None:
        raise no_text(hits[0], looked.text_field, looked.texts)
    return Column.at(hits, get).words() if get else [""] * len(hits)


def _settle_text(hits: Hits, places: Sequence[str]) -> Getter | None:
    """The place of the texts. The first chunks may be empty: the next that has a text tells."""
    for start in range(0, len(hits), FIRST):
        some = hits[start : start + FIRST]
        for at in range(len(some)):
            if get := _settle(some[at:], places, Column.has_words):
                return get
    return None


def _settle(
    hits: Hits,
    places: Iterable[str],
    accept: Callable[[Column], bool],
    *,
    attributes: bool = False,
) -> Getter | None:
    """The first place at which the first hits have what is looked for.

    ``attributes``: look at attributes alone.
    """
    first = hits[:FIRST]
    for place in places:
        get = attrgetter(place) if attributes else getter(first[0], place)
        if get is not None and accept(Column.at(first, get)):
            return get
    return None


def _ids_at(hits: Hits, get: Getter) -> tuple[str, ...]:
    column = Column.at(hits, get)
    ids = column.ids()
    if ids is not None:
        return ids
    rank, value = next(
        (i, value) for i, value in enumerate(column.values, 1) if Column.of([value]).ids() is None
    )
    raise UnreadableResult(
        "not every hit has a document id", f"that of the hit at rank {rank} is {value!r}"
    )
