"""Columns of hits: the values at one place of each hit, read as ids, scores, titles or texts.

Reading works on columns because a response of 1,000 hits then costs a few passes in C instead of
1,000 decisions in Python.
"""

from __future__ import annotations

import numbers
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence, Set as AbstractSet
from datetime import date
from decimal import Decimal
from math import isfinite
from operator import attrgetter, countOf
from typing import Any, Literal, NamedTuple

from pytest_irquality.io.escaping import clip
from pytest_irquality.io.fields import Step, is_data, settle_path
from pytest_irquality.io.secrets import MaskedText
from pytest_irquality.retrieval.errors import ResultError

MAX_FIELD_CHARS = 4_000
# Characters of a picture in a ``data:`` URI, some 200 kB.
MAX_IMAGE_CHARS = 300_000
MAX_LIST_VALUES = 100
MAX_TITLE_CHARS = 80
# Four times a title's length, since much of it may be white space.
MAX_RAW_TITLE_CHARS = 4 * MAX_TITLE_CHARS
# Scripts without spaces between words: Thai to Burmese, Khmer, Chinese, Japanese.
_UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
Steps = Sequence[Step]
# What a column of rows may hold. Decimals are never ids; integers may be ids or scores.
Role = Literal["ids", "integers", "decimals", "prose", "other"]


class Column(NamedTuple):
    """The values at one place of each hit, with their types."""

    values: Sequence[Any]
    kinds: AbstractSet[type]

    @property
    def known_kinds(self) -> AbstractSet[type]:
        """Return the types of the values that are not ``None``."""
        return self.kinds - {type(None)}

    @property
    def may_be_ids(self) -> bool:
        """Return whether every value that is not ``None`` may be an id."""
        return all(map(_is_id_type, self.known_kinds))

    def find_role(self, is_prose: Callable[[str], bool]) -> Role:
        """Return what the column may be in a table."""
        kinds = self.known_kinds
        if all(map(is_number_type, kinds)):
            is_whole = all(issubclass(kind, numbers.Integral) for kind in kinds)
            return "integers" if is_whole else "decimals"
        if kinds == {str}:
            texts = self.values if len(self.kinds) == 1 else self.get_texts()
            return "prose" if has_prose(texts, is_prose) else "ids"
        return "ids" if self.may_be_ids else "other"

    def get_ids(self) -> tuple[str, ...] | None:
        """Return the values as ids, or ``None`` if one of them cannot be an id.

        Raises:
            ResultError: An id contains a secret.
        """
        if MaskedText in self.kinds:
            raise ResultError("A document id contains a secret that 'ir_headers' names")
        if self.kinds == {str}:
            ids = tuple(self.values)
        elif all(map(_is_id_type, self.kinds)):
            ids = tuple(map(str, self.values))
        else:
            return None
        return ids if all(ids) else None

    def get_scores(self) -> tuple[float, ...] | None:
        """Return the values as scores, or ``None`` if one is missing or no finite number."""
        if self.kinds == {float}:
            scores = tuple(self.values)
        elif all(map(is_number_type, self.kinds)):
            try:
                scores = tuple(map(float, self.values))
            except (TypeError, ValueError, OverflowError):  # an integer of hundreds of digits
                return None
        else:
            return None
        # A sum is finite unless a score is not; only sums that overflow need the second look.
        return scores if isfinite(sum(scores)) or all(map(isfinite, scores)) else None

    def get_texts(self) -> Sequence[str]:
        """Return the values that are text, and an empty text for the others."""
        if self.kinds == {str}:
            return self.values
        return [str(value) if isinstance(value, str) else "" for value in self.values]

    def has_texts(self) -> bool:
        """Return whether any value is a text that is not blank."""
        return any(text and not text.isspace() for text in self.get_texts())


def make_column(values: Sequence[Any]) -> Column:
    """Make a column of values, of which there must be one at least."""
    kind = type(values[0])
    # Most columns have one type, and counting it is faster than collecting all types.
    is_uniform = countOf(map(type, values), kind) == len(values)
    return Column(values, {kind} if is_uniform else set(map(type, values)))


def get_value(hit: Any, steps: Steps) -> Any:
    """Return what the steps lead to, or ``None`` if a step fails or meets code."""
    try:
        for step in steps:
            hit = step(hit)
            if not is_data(hit):
                return None
    except Exception:  # a property of the user's own class may raise anything
        return None
    return hit


def read_column(hits: Sequence[Any], steps: Steps) -> Column:
    """Read a column from hits. A list of one value, as of a stored field, counts as the value."""
    values = hits
    try:
        for number, step in enumerate(steps):
            if number and type(step) is attrgetter:  # an attribute of code may lead anywhere
                _refuse_code(values)
            values = list(map(step, values))
    except Exception:
        values = [get_value(hit, steps) for hit in hits]
    column = make_column(values)
    if list in column.kinds:
        return make_column([get_single(value) for value in values])
    return column


def _refuse_code(values: Sequence[Any]) -> None:
    """Raise ``TypeError`` if any value is code, which its type shows."""
    for kind in set(map(type, values)):
        value = next(value for value in values if type(value) is kind)
        if not is_data(value):
            raise TypeError(f"a path may not lead through a {kind.__name__}")


def get_single(value: Any) -> Any:
    """Return the only value of a list, or the value itself."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def is_id(value: object) -> bool:
    """Return whether a value may be an id."""
    return _is_id_type(type(value))


def _is_id_type(kind: type) -> bool:
    may_be_id = issubclass(kind, (str, uuid.UUID, Decimal, numbers.Integral))
    return may_be_id and not issubclass(kind, bool)


def is_number_type(kind: type) -> bool:
    """Return whether values of a type are numbers, those of numpy and others included."""
    is_boolean = issubclass(kind, bool) or kind.__name__ in ("bool", "bool_")
    return hasattr(kind, "__float__") and not is_boolean and not issubclass(kind, str)


def is_prose(text: str) -> bool:
    """Return whether a text has several words."""
    return len(text.split(maxsplit=1)) > 1


def is_text(text: str) -> bool:
    """Return whether a text has several words, or is in a script without spaces."""
    return is_prose(text) or _UNSPACED.search(text) is not None


def has_prose(texts: Collection[str], is_prose: Callable[[str], bool]) -> bool:
    """Return whether any of some texts is prose."""
    joined = "".join(texts)
    # Most columns are ids without any space, and one look at the sum of them shows it.
    if joined.isascii() and joined.isprintable() and " " not in joined:
        return False
    return any(map(is_prose, texts))


def cut_raw_titles(texts: Sequence[str]) -> Sequence[str]:
    """Cut texts to what ``clean_title`` needs of them, unless they are short on average."""
    if len("".join(texts)) > MAX_RAW_TITLE_CHARS * len(texts):
        return [text[:MAX_RAW_TITLE_CHARS] for text in texts]
    return texts


def clean_title(text: str) -> str:
    """Make a title of the beginning of a text, on one line."""
    if len(text) <= MAX_TITLE_CHARS and text.isprintable() and "  " not in text:
        return text.strip()
    return clip(" ".join(text[:MAX_RAW_TITLE_CHARS].split()), MAX_TITLE_CHARS)


# Values of fields that reports show and rules read. They leave the process of the retriever (xdist,
# JSON), so they are texts, numbers, booleans, and lists of those.


def read_fields(
    hits: Sequence[Any], paths: Sequence[str], containers: Sequence[str]
) -> tuple[Mapping[str, object], ...]:
    """Return the values at some paths of each hit, as plain data.

    A path is looked for in the hit and in its containers, such as ``_source``.

    Args:
        hits: The hits as returned.
        paths: Paths with dots.
        containers: The beginnings of paths, such as ``""`` and ``"_source."``.

    Returns:
        A mapping for each hit, without the fields that the hit lacks.
    """
    values: list[dict[str, object]] = [{} for _ in hits]
    for path in paths:
        steps = None
        for hit, fields in zip(hits, values, strict=True):
            value = None if steps is None else get_value(hit, steps)
            if value is None:  # another shape than the hits before
                for container in containers:
                    found = settle_path(hit, container + path)
                    if found is not None:
                        steps, value = found, get_value(hit, found)
                        break
            plain = make_plain(get_single(value))
            if plain is not None:
                fields[path] = plain
    return tuple(values)


def make_plain(value: object) -> object:
    """Return a value as a text, number, boolean or list of those, or ``None`` if it is neither."""
    if isinstance(value, (list, tuple, set, frozenset)):
        plain = [make_plain(entry) for entry in list(value)[:MAX_LIST_VALUES]]
        return [entry for entry in plain if entry is not None and not isinstance(entry, list)]
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
