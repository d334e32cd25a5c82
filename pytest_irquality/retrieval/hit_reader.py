"""Read what a retriever returned: ids, scores, titles, texts and fields of each hit.

``wrappers`` finds the list of hits, and this module reads the hits. The first hits decide where
ids, scores and other fields are. Hits keep their order, because scores of full-text engines may be
negative, lower distances are better, and some engines return no scores.

Hits are read as columns, because a few passes in C over 1,000 hits are faster than 1,000 decisions
in Python.
"""

from __future__ import annotations

import hashlib
import numbers
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from contextlib import suppress
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from math import isfinite
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from pytest_irquality.io import dataclass, field, field_paths
from pytest_irquality.io.escaping import clip
from pytest_irquality.io.secrets import MASK, MaskedText
from pytest_irquality.retrieval import wrappers
from pytest_irquality.retrieval.errors import ResultError
from pytest_irquality.retrieval.run import Ranking

# The text of a hit is cut at this length, and the run has a note about it.
MAX_TEXT_CHARS = 1_000_000
# The number of hits that decide where fields are.
SAMPLE_HITS = 3
_ID_PATHS = (*wrappers.ID_NAMES, "document.id", "node.id", "ids")
_ID_ATTRIBUTES = (
    "meta.id", "id", "id_", "doc_id", "docid", "document_id", "node_id", "object_id", "uuid",
    "node.node_id",
)  # fmt: skip
_PRODUCT_ID_PATHS = ("sku", "product_id", "item_id")
_SCORE_PATHS = (
    "score", "_score", "_distance", "distance", "relevance", "text_match", "scores", "distances",
    "meta.score", "metadata.score", "metadata.distance",
)  # fmt: skip
_TITLE_NAMES = ("title", "name")
_TEXT_NAMES = (
    "text", "content", "page_content", "contents", "body", "passage", "chunk", "document",
    "documents", "description",
)  # fmt: skip
# The hit, and objects in it that may contain its fields.
_CONTAINERS = (
    "", "_source.", "payload.", "fields.", "properties.", "metadata.", "metadatas.", "meta.",
    "document.", "entity.", "node.",
)  # fmt: skip
# The usual attributes. A comprehension that names one takes half of the time of ``attrgetter``.
_ATTRIBUTE_READERS: Mapping[str, Callable[[Sequence[Any]], list[Any]]] = {
    "id": lambda hits: [hit.id for hit in hits],
    "node_id": lambda hits: [hit.node_id for hit in hits],
    "score": lambda hits: [hit.score for hit in hits],
    "title": lambda hits: [hit.title for hit in hits],
    "metadata": lambda hits: [hit.metadata for hit in hits],
    "payload": lambda hits: [hit.payload for hit in hits],
    "page_content": lambda hits: [hit.page_content for hit in hits],
}
_MAX_TRIED_PATHS = 4
_MAX_HINT_FIELDS = 12
MAX_FIELD_CHARS = 4_000
# Characters of a picture in a ``data:`` URI, some 200 kB.
MAX_IMAGE_CHARS = 300_000
MAX_LIST_VALUES = 100
_LISTS = (list, tuple, set, frozenset)
MAX_TITLE_CHARS = 80
# Four times the length of a title, because much of the text may be white space.
MAX_RAW_TITLE_CHARS = 4 * MAX_TITLE_CHARS
# Scripts without spaces between words: Thai to Burmese, Khmer, Chinese, Japanese. It is compiled
# when a text needs it, because that takes 2 ms.
_UNSPACED = "[\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
# The content of a column of a table. Decimals are never ids. Integers may be ids or scores.
Role = Literal["ids", "integers", "decimals", "prose", "other"]
Scores = tuple[float, ...] | None


@dataclass(frozen=True)
class ReadResult:
    """One result as read.

    Attributes:
        ranking: The hits.
        titles: The text of the title of each hit, for ``clean_title``. Empty if no hit has one.
        cut_text_count: The number of texts that were longer than ``MAX_TEXT_CHARS``.
    """

    ranking: Ranking
    titles: Sequence[str] = ()
    cut_text_count: int = 0


@dataclass(frozen=True)
class ResultReader:
    """What to read from the hits of a result, and where.

    Attributes:
        id_field: The path of the document id, with dots, if it is not in a usual place.
        text_field: The path of the text, if it is not in a usual place.
        matches_text: Whether queries match by text (``match: text``). A result without texts is an
            error then, and a hit without an id gets one made from its text.
        keeps_texts: Whether to keep texts if there are any.
        fields: The paths of fields to read.
        size_counters: Functions that measure the length of a text, by unit, if metrics need them. A
            result without texts is an error then.
    """

    id_field: str = ""
    text_field: str = ""
    matches_text: bool = False
    keeps_texts: bool = False
    fields: tuple[str, ...] = ()
    size_counters: Mapping[str, Callable[[str], float]] = field(default_factory=dict)

    @property
    def requirement(self) -> str:
        """Return the name of the feature that needs the text of each hit, or an empty string."""
        if self.matches_text:
            return "'match: text'"
        return "A metric of words or tokens" if self.size_counters else ""

    def read(self, result: object, depth: int) -> ReadResult:
        """Read the first ``depth`` hits of a result.

        Raises:
            ResultError: No document ids can be read, or the engine says that its answer is partial.
        """
        try:
            return self.read_hits(result, depth)
        except ResultError as error:
            raise _describe_in_error(error, result) from None

    def read_hits(self, result: object, depth: int) -> ReadResult:
        """Read as ``read`` does, but do not show the result in errors."""
        hits = wrappers.open_hits(result, depth, self.id_field)
        parts = _read_hits(Column(hits), self) if hits else _Parts(())
        texts, sizes, cut_count = parts.texts, {}, 0
        for unit, count_size in self.size_counters.items():
            sizes[unit] = tuple(map(count_size, texts))
        if not (self.matches_text or self.keeps_texts):
            texts = ()
        if texts and max(map(len, texts)) > MAX_TEXT_CHARS:
            cut_count = sum(len(text) > MAX_TEXT_CHARS for text in texts)
            texts = [text[:MAX_TEXT_CHARS] for text in texts]
        ranking = Ranking(
            parts.doc_ids,
            parts.scores,
            texts=tuple(texts),
            fields=_read_fields(hits, self.fields) if self.fields else (),
            sizes=sizes,
        )
        titles = parts.titles.get_titles() if parts.titles else ()
        return ReadResult(ranking, titles, cut_count)


def split_batch(result: object, count: int) -> Sequence[object]:
    """Split the result of ``batch`` into the result of each query.

    Raises:
        ResultError: The result does not have one list of hits for each query.
    """
    try:
        return wrappers.open_batch(result, count)
    except ResultError as error:
        raise _describe_in_error(error, result) from None


def _describe_in_error(error: ResultError, result: object) -> ResultError:
    """Return an error that also shows the result that cannot be read."""
    description = wrappers.describe_result(result)
    detail = f"{error.detail}. {description}" if error.detail else description
    return ResultError(f"Cannot read the result: {error.cause}", detail)


def make_distinct_ids(
    doc_ids: Sequence[str], texts: Sequence[str], known: dict[str, str]
) -> tuple[str, ...]:
    """Return the ids of chunks, with a suffix where one id has several texts.

    Chunks may share the id of their document. The first text keeps the id, and other texts get a
    suffix that is made from the text.

    Args:
        doc_ids: The ids of the hits of a ranking.
        texts: The texts of the hits.
        known: The text of each id so far. The returned ids are added.
    """
    distinct = []
    for doc_id, text in zip(doc_ids, texts, strict=True):
        if known.setdefault(doc_id, text) != text:
            doc_id = f"{doc_id}#{_make_digest(text)[:6]}"  # noqa: PLW2901
            known[doc_id] = text
        distinct.append(doc_id)
    return tuple(distinct)


class _Parts(NamedTuple):
    """The columns of a result. ``texts`` are empty or have an entry for each hit."""

    doc_ids: tuple[str, ...]
    scores: Scores = None
    titles: Column | None = None
    texts: Sequence[str] = ()


def _read_hits(column: Column, reader: ResultReader, scores: Scores = None) -> _Parts:
    """Read hits of any kind. ``scores`` are numbers that were next to the hits, if any."""
    hits = column.values
    if _is_object_type(type(hits[0])):
        return _read_objects(hits, reader, scores)
    if reader.requirement and column.types == {str} and any(map(is_text, hits)):
        return _complete(_Parts((), titles=column, texts=hits), reader)
    doc_ids = column.get_ids()
    if doc_ids is not None:
        return _complete(_Parts(doc_ids), reader)
    if all(map(is_number_type, column.types)):
        raise ResultError(
            "Numbers with decimals are scores, not ids. An array of scores in the order of the"
            " corpus is not a ranking. Return the ids of the best documents, or ids and scores"
        )
    # A named tuple with a field for the id is an object.
    id_names = {reader.id_field, *_ID_ATTRIBUTES}.intersection(getattr(hits[0], "_fields", ()))
    if id_names or not all(map(_is_row_type, column.types)):
        return _read_objects(hits, reader)
    return _read_rows(hits, reader)


def _complete(parts: _Parts, reader: ResultReader) -> _Parts:
    """Make ids from texts if there are no ids. Texts may be required."""
    if not parts.texts and reader.requirement:
        raise ResultError(f"{reader.requirement} needs the text of each hit, not only ids")
    return parts._replace(doc_ids=parts.doc_ids or tuple(map(_make_digest, parts.texts)))


def _make_digest(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]


def _is_object_type(cls: type) -> bool:
    return not (_is_row_type(cls) or is_number_type(cls) or issubclass(cls, (str, uuid.UUID)))


# -- Hits that are rows ----------------------------------------------------------------------------


def _is_row_type(cls: type) -> bool:
    return issubclass(cls, (tuple, list)) or hasattr(cls, "_fields")


def _read_rows(rows: Sequence[Any], reader: ResultReader) -> _Parts:
    """Read ``(id, score)``, ``(score, id)`` or rows of a table. The types of columns decide."""
    for name in (reader.id_field, reader.text_field):
        if name.isdecimal():
            raise ResultError(f"Rows have no field '{name}'. Return dicts instead")
    try:
        if len(rows[0]) == 2:
            # Most rows are pairs. For each row, ``zip`` would make an iterator, and so many objects
            # start the garbage collector.
            values: list[Any] = [[first for first, _ in rows], [second for _, second in rows]]
        else:
            values = list(zip(*rows, strict=True))
    except ValueError:
        raise ResultError("Its rows differ in length") from None
    columns = list(map(Column, values))
    if len(columns) == 1 and all(map(_is_id_type, columns[0].known_types)):
        return _read_hits(columns[0], reader)
    is_prose_text = is_text if reader.requirement else is_prose
    id_place, score_place = _find_places([column.find_role(is_prose_text) for column in columns])
    others = [*columns[:id_place], *columns[id_place + 1 :]]
    words = [column for column in others if column.known_types == {str}]
    id_column = columns[id_place]
    scores = None if score_place is None else columns[score_place].get_scores()
    titles = words[0] if words else None
    texts = words[-1].get_texts() if words else ()
    if words and reader.requirement:
        return _complete(_Parts(id_column.get_ids() or (), scores, titles, texts), reader)
    parts = _read_hits(id_column, reader, scores)
    titles, texts = parts.titles or titles, parts.texts or texts
    return _Parts(parts.doc_ids, scores or parts.scores, titles, texts)


def _find_places(roles: Sequence[Role]) -> tuple[int, int | None]:
    """Return the place of the column of ids, and the place of scores if there are any.

    Scores are the last column with decimals. In pairs without exactly one such column, they are the
    last column with numbers, unless a column is prose. Ids are the first other column that is not
    prose.
    """
    decimals = [place for place, role in enumerate(roles) if role == "decimals"]
    numbers = [place for place, role in enumerate(roles) if role in ("integers", "decimals")]
    if not roles or ("other" in roles and not numbers):
        raise ResultError("It looks like the results of several queries. Return one list")
    score_place = decimals[-1] if decimals else None
    if len(roles) == 2 and len(decimals) != 1:
        if not numbers and "prose" not in roles:
            raise ResultError("Neither side of its pairs is a score")
        score_place = None if "prose" in roles else numbers[-1]
    others = [place for place in range(len(roles)) if place != score_place]
    for place in others:
        if roles[place] != "prose":
            return place, score_place
    if len(roles) == 2:  # The texts are ids as well.
        return others[0], score_place
    raise ResultError("None of its columns is an id")


# -- Hits that are objects with named fields -------------------------------------------------------


def _read_objects(hits: Sequence[Any], reader: ResultReader, scores: Scores = None) -> _Parts:
    fields = _Fields(hits)
    id_paths = _list_paths([reader.id_field]) if reader.id_field else list_id_paths(hits[0])
    ids = fields.find(id_paths, Column.get_ids)
    if ids is None and not reader.id_field and callable(getattr(hits[0], "to_dict", None)):
        dicts = [hit.to_dict() for hit in hits]
        if all(isinstance(hit, dict) for hit in dicts):
            return _read_objects(dicts, reader, scores)
    titles = fields.find(_list_paths(_TITLE_NAMES, fields.containers), Column.has_texts)
    texts: Sequence[str] = ()
    if reader.requirement or reader.keeps_texts or not titles or not all(titles.get_texts()):
        text_column = _find_texts(fields, reader)
        texts = text_column.get_texts() if text_column else ()
        if titles and texts:
            pairs = zip(titles.get_texts(), texts, strict=True)
            titles = Column([title or text for title, text in pairs])
        titles = titles or text_column
    if scores is None:
        score_column = fields.find(_SCORE_PATHS, Column.get_scores)
        scores = None if score_column is None else score_column.get_scores()
    if ids is not None:
        return _Parts(_get_all_ids(ids), scores, titles, texts)
    if reader.matches_text and not reader.id_field:
        return _complete(_Parts((), scores, titles, texts), reader)
    raise _make_id_error(hits, reader.id_field)


class _Fields:
    """The fields of hits that are objects. The first hits show where a field is."""

    def __init__(self, hits: Sequence[Any]) -> None:
        self.hits = hits
        self._columns = {"": Column(hits)}
        self.containers = [""]
        for container in _skip_missing(hits[0], _CONTAINERS):
            if field_paths.settle_path(hits[0], container[:-1]) is not None:
                self.containers.append(container)

    def find(
        self, paths: Iterable[str], accept: Callable[[Column], object], start: int = 0
    ) -> Column | None:
        """Read the first path whose column is accepted, in a sample of hits from ``start`` on."""
        hit = self.hits[start]
        for path in _skip_missing(hit, paths):
            steps = field_paths.settle_path(hit, path)
            if steps is not None:
                column = _read_column(self._columns, path, steps)
                if accept(Column(column.values[start : start + SAMPLE_HITS], is_field=True)):
                    return column
        return None


def _list_paths(names: Sequence[str], containers: Sequence[str] = _CONTAINERS) -> list[str]:
    """Return the paths of fields with these names in a hit and the objects in it."""
    return [container + name for name in names for container in containers]


def _skip_missing(hit: Any, paths: Iterable[str]) -> Iterable[str]:
    """Return the paths that start with a name that a hit has.

    Most names are missing, and this check is ten times as fast as a step that fails.
    """
    if type(hit) is dict:
        return (path for path in paths if path in hit or path.partition(".")[0] in hit)
    # Objects of pydantic take longest to answer, and this asks them once for all paths.
    if field_paths.is_mapping(hit):
        return paths
    return (path for path in paths if hasattr(hit, path.partition(".")[0]))


def list_id_paths(hit: Any) -> tuple[str, ...]:
    """Return the paths at which a hit may have its id."""
    if type(hit) is dict:
        return (*_ID_PATHS, *_ID_ATTRIBUTES, *_PRODUCT_ID_PATHS)
    # In elasticsearch.dsl, the keys of a hit are the fields of its document.
    if field_paths.is_mapping(hit):
        return ("meta.id", *_ID_PATHS, *_ID_ATTRIBUTES, *_PRODUCT_ID_PATHS)
    return _ID_ATTRIBUTES


def _get_all_ids(column: Column) -> tuple[str, ...]:
    doc_ids = column.get_ids()
    if doc_ids is None:
        is_missing = [Column([value]).get_ids() is None for value in column.values]
        rank = is_missing.index(True) + 1
        detail = f"The id of the hit at rank {rank} is {column.values[rank - 1]!r}"
        raise ResultError("Not every hit has a document id", detail)
    return doc_ids


def _find_texts(fields: _Fields, reader: ResultReader) -> Column | None:
    """Read the text of each hit. If texts are required, there must be a place with texts."""
    paths = _list_paths(_TEXT_NAMES, fields.containers)
    if reader.text_field:
        paths = _list_paths([reader.text_field])
    count = len(fields.hits)
    if not (reader.requirement or reader.keeps_texts):
        count = min(count, SAMPLE_HITS)
    for start in range(count):  # Chunks may be empty, so the first one with a text decides.
        column = fields.find(paths, Column.has_texts, start)
        if column is not None:
            return column
    if not reader.requirement:
        return None
    cause = f"{reader.requirement} needs the text of each hit. Name its field with 'text_field'"
    if reader.text_field:
        cause = f"'text_field: {reader.text_field}' leads to no text in the hits"
    raise ResultError(cause, _describe_fields(fields.hits[0]))


# -- Columns ---------------------------------------------------------------------------------------


class Column:
    """The values at one place of all hits, and what is known of them. There is at least one hit.

    Passes over the values are what takes the time of reading, so their types are counted once, and
    their texts are joined once.

    Args:
        values: The values.
        is_field: Whether they come from a field. There, a list of one value counts as the value.
    """

    def __init__(self, values: Sequence[Any], *, is_field: bool = False) -> None:
        self.values = values
        self._is_field = is_field
        self._types: AbstractSet[type] | None = None
        self._texts: Sequence[str] | None = None
        self._joined_texts = ""

    @property
    def types(self) -> AbstractSet[type]:
        """Return the types of the values."""
        if self._types is None:
            self._types = wrappers.collect_types(self.values)
            if list in self._types and self._is_field:
                self.values = _get_singles(self.values, self._types)
                self._types = wrappers.collect_types(self.values)
        return self._types

    @property
    def known_types(self) -> AbstractSet[type]:
        """Return the types of the values that are not ``None``."""
        return self.types - {type(None)}

    def find_role(self, test_prose: Callable[[str], bool]) -> Role:
        """Return the role that the column may have in a table."""
        if self.values[0] is not None and _is_object_type(type(self.values[0])):
            return "other"  # One object shows it, so its types need not be counted.
        types = self.known_types
        if all(map(is_number_type, types)):
            is_whole = all(issubclass(each, numbers.Integral) for each in types)
            return "integers" if is_whole else "decimals"
        if types == {str}:
            return "prose" if self._has_prose(test_prose) else "ids"
        return "ids" if all(map(_is_id_type, types)) else "other"

    def get_ids(self) -> tuple[str, ...] | None:
        """Return the values as ids, or ``None`` if one of them cannot be an id.

        Raises:
            ResultError: An id contains a secret.
        """
        # Joining is faster than counting types, and shows whether a secret was masked.
        may_be_texts = self._types is None and type(self.values[0]) is str
        if may_be_texts and self.get_texts() is self.values and MASK[0] not in self._joined_texts:
            return tuple(self.values) if all(self.values) else None
        if MaskedText in self.types:
            raise ResultError("A document id contains a secret that 'ir_headers' names")
        if not all(map(_is_id_type, self.types)):
            return None
        if self.types == {int}:
            return tuple(map(repr, self.values))  # is str() of a number, and faster
        ids = tuple(self.values if self.types == {str} else map(str, self.values))
        return ids if all(ids) else None

    def get_scores(self) -> Scores:
        """Return the values as scores, or ``None`` if one is missing or not a finite number."""
        if not all(map(is_number_type, self.types)):
            return None
        try:
            scores = tuple(self.values if self.types == {float} else map(float, self.values))
        except (TypeError, ValueError, OverflowError):  # an integer of hundreds of digits
            return None
        # If the sum is finite, all scores are. Otherwise it may have overflowed, so check each one.
        return scores if isfinite(sum(scores)) or all(map(isfinite, scores)) else None

    def get_texts(self) -> Sequence[str]:
        """Return the values that are text, and an empty text for the others."""
        if self._texts is not None:
            return self._texts
        try:
            # Joining fails unless all are texts, and is faster than counting types.
            self._joined_texts = "".join(self.values)
            self._texts = self.values
        except TypeError:
            if self.known_types == {str}:
                self._texts = [text or "" for text in self.values]
            else:
                self._texts = [str(each) if isinstance(each, str) else "" for each in self.values]
            self._joined_texts = "".join(self._texts)
        return self._texts

    def has_texts(self) -> bool:
        """Return whether any value is a text that is not blank."""
        return any(text and not text.isspace() for text in self.get_texts())

    def _has_prose(self, test_prose: Callable[[str], bool]) -> bool:
        """Return whether any text is prose."""
        texts = self.get_texts()
        if any(map(test_prose, texts[:SAMPLE_HITS])):
            return True
        # Most other columns are ids without spaces, which one test of the joined text shows.
        if self._joined_texts.isascii() and not is_prose(self._joined_texts):
            return False
        return any(map(test_prose, texts))

    def get_titles(self) -> Sequence[str]:
        """Return the texts. Unless they are short on average, cut them as ``clean_title`` does."""
        texts = self.get_texts()
        if len(self._joined_texts) > MAX_RAW_TITLE_CHARS * len(texts):
            return [text[:MAX_RAW_TITLE_CHARS] for text in texts]
        return texts


def _get_singles(values: Sequence[Any], types: AbstractSet[type]) -> list[Any]:
    """Return the values, and the only value instead of a list of one value."""
    if types == {list}:
        with suppress(ValueError):  # A list may have more than one value.
            return [value for (value,) in values]
    return list(map(get_single, values))


def _read_column(columns: dict[str, Column], path: str, steps: field_paths.Steps) -> Column:
    """Read a column.

    Args:
        columns: The hits under "", and the columns that were read before under the names that lead
            to them, with slashes, because a key may contain dots.
        path: The path.
        steps: Its steps.
    """
    column = columns[""]
    names = path.split(".") if len(steps) > 1 else [path]
    path = ""
    try:
        for name, step in zip(names, steps, strict=True):
            path = f"{path}/{name}"
            if path not in columns:
                is_first = column is columns[""]
                columns[path] = Column(_take_step(column, name, step, is_first))
            column = columns[path]
    except Exception:
        column = Column([field_paths.follow_steps(hit, steps) for hit in columns[""].values])
    return Column(column.values, is_field=True)


def _take_step(column: Column, name: str, step: field_paths.Step, is_first: bool) -> list[Any]:
    """Return the values to which a step of a path leads.

    Raises:
        Exception: The step fails for a value, or leads through code.
    """
    values = column.values
    if type(values) is wrappers.Table:
        return list(step(values.columns_by_name))
    if type(step) is attrgetter:
        if not is_first:  # an attribute of code may lead anywhere
            _refuse_code(column)
        if name in _ATTRIBUTE_READERS:
            return _ATTRIBUTE_READERS[name](values)
    try:
        return list(map(step, values))
    except (KeyError, TypeError):
        if not column.types <= {dict, type(None)}:
            raise
        return [None if value is None else value.get(name) for value in values]


def _refuse_code(column: Column) -> None:
    """Raise ``TypeError`` if any value is code. One value of each type shows it."""
    for value_type in column.types:
        value = next(value for value in column.values if type(value) is value_type)
        if not field_paths.is_data(value):
            raise TypeError(f"a path may not lead through a {value_type.__name__}")


def get_single(value: Any) -> Any:
    """Return the only value of a list, or the value itself."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


# Abstract types, such as `Integral`, take long to answer.
@lru_cache(maxsize=256)
def _is_id_type(cls: type) -> bool:
    return cls is not bool and issubclass(cls, (str, uuid.UUID, Decimal, numbers.Integral))


@lru_cache(maxsize=256)
def is_number_type(cls: type) -> bool:
    """Return whether values of a type are numbers, those of numpy and others included."""
    is_boolean = cls.__name__ in ("bool", "bool_")
    return hasattr(cls, "__float__") and not is_boolean and not issubclass(cls, str)


def is_prose(text: str) -> bool:
    """Return whether a text has several words."""
    return len(text.split(maxsplit=1)) > 1


def is_text(text: str) -> bool:
    """Return whether a text has several words, or is in a script without spaces."""
    return is_prose(text) or (not text.isascii() and re.search(_UNSPACED, text) is not None)


def clean_title(text: str) -> str:
    """Make a title from the beginning of a text, on one line."""
    if len(text) <= MAX_TITLE_CHARS and text.isprintable() and "  " not in text:
        return text.strip()
    return clip(" ".join(text[:MAX_RAW_TITLE_CHARS].split()), MAX_TITLE_CHARS)


# -- Values of fields ------------------------------------------------------------------------------


def _read_fields(hits: Sequence[Any], paths: Sequence[str]) -> tuple[Mapping[str, object], ...]:
    """Return the values at some paths of each hit, or of its containers, as plain data.

    Only plain data can be sent to another process (pytest-xdist) or written as JSON. A hit that
    lacks a field has no entry for it.
    """
    values: list[dict[str, object]] = [{} for _ in hits]
    for path in paths:
        places = _list_paths([path])
        for hit, fields in zip(hits, values, strict=True):
            plain = make_plain(get_single(_find_value(hit, places)))
            if plain is not None:
                fields[path] = plain
    return tuple(values)


def _find_value(hit: Any, places: Sequence[str]) -> Any:
    """Return the value at the first of some places where a hit has one."""
    if not isinstance(hit, (dict, list, tuple)):  # Attributes take longest to be missing.
        with suppress(Exception):  # A property may raise anything.
            places = list(_skip_missing(hit, places))
    found = (field_paths.get_field(hit, place) for place in places)
    return next((value for value in found if value is not None), None)


def make_plain(value: object) -> object:
    """Return a value as a text, number, boolean or list of those.

    Returns:
        The plain value, or ``None`` if it is none of these.
    """
    if isinstance(value, _LISTS):
        entries = [each for each in islice(value, MAX_LIST_VALUES) if not isinstance(each, _LISTS)]
        return [plain for plain in map(make_plain, entries) if plain is not None]
    if isinstance(value, str):
        is_image = value.startswith("data:image/")
        return clip(str(value), MAX_IMAGE_CHARS if is_image else MAX_FIELD_CHARS)
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (numbers.Real, Decimal)):
        number = float(value)
        return number if isfinite(number) else None
    if isinstance(value, date):  # a datetime is a date
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else None


# -- Hints -----------------------------------------------------------------------------------------


def _make_id_error(hits: Sequence[Any], id_field: str) -> ResultError:
    fields = _describe_fields(hits[0])
    if id_field:
        return ResultError(f"'id_field: {id_field}' leads to no document id in the hits", fields)
    tried = ", ".join(list_id_paths(hits[0])[:_MAX_TRIED_PATHS])
    return ResultError(
        f"No document id under {tried} or similar names. Write the name of its field into the suite"
        " as 'id_field', or into the ini file as 'ir_id_field'",
        fields,
    )


def _describe_fields(hit: Any) -> str:
    fields = getattr(hit, "__dict__", {})
    if field_paths.is_mapping(hit):
        fields = {name: hit[name] for name in hit.keys()}  # noqa: SIM118 - not always a dict
    names: list[str] = []
    for name, value in fields.items():
        inside = list(value) if isinstance(value, dict) else []
        names += [f"{name}.{key}" for key in inside] or [str(name)]
    if not names:
        return f"A hit is a {type(hit).__name__} without fields"
    return f"A hit has the fields {', '.join(names[:_MAX_HINT_FIELDS])}"
