"""Columns of hits: the values at one place of each, read as ids, scores, titles or texts."""

from __future__ import annotations

import numbers
import re
import uuid
from collections.abc import Callable, Sequence, Set as AbstractSet
from decimal import Decimal
from math import isfinite
from typing import Any, Literal, NamedTuple

from pytest_irquality.edges.printable import clipped
from pytest_irquality.passages.characters import UNSPACED
from pytest_irquality.retrieval.places import Getter, alone, got

WITHOUT_SPACES = re.compile(f"[{UNSPACED}]")
TITLE_LENGTH = 80
Role = Literal["ids", "whole", "fractions", "prose", "other"]
"""Numbers with fractions are never ids; whole ones may be either."""


class Column(NamedTuple):
    """The values at one place of each hit, with all their types."""

    values: Sequence[Any]
    kinds: AbstractSet[type]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Column:
        """The column of some values."""
        return cls(values, {*map(type, values)})

    @classmethod
    def at(cls, hits: Sequence[Any], get: Getter) -> Column:
        """The column at a place of hits; a field that could hold several is its one value."""
        try:
            values = [*map(get, hits)]
        except Exception:
            values = [got(hit, get) for hit in hits]
        column = cls.of(values)
        return cls.of([*map(alone, values)]) if list in column.kinds else column

    @property
    def known(self) -> AbstractSet[type]:
        """The types of the values that are there."""
        return self.kinds - {type(None)}

    @property
    def may_be_ids(self) -> bool:
        """True where every value that is there may be an id."""
        return all(map(_is_id, self.known))

    def role(self, is_prose: Callable[[object], bool]) -> Role:
        """The part that the column may have in a table."""
        if all(map(is_number, self.known)):
            whole = all(issubclass(kind, numbers.Integral) for kind in self.known)
            return "whole" if whole else "fractions"
        if self.known == {str} and any(map(is_prose, self.values)):
            return "prose"
        return "ids" if self.may_be_ids else "other"

    def ids(self) -> tuple[str, ...] | None:
        """The values as ids, or None if there is anything else among them."""
        if self.kinds == {str}:
            ids = tuple(self.values)
        elif all(map(_is_id, self.kinds)):
            ids = tuple(map(str, self.values))
        else:
            return None
        return ids if all(ids) else None

    def scores(self) -> tuple[float, ...] | None:
        """The values as scores, or None if any is missing or no number."""
        if self.kinds == {float}:
            scores = tuple(self.values)
        elif all(map(is_number, self.kinds)):
            try:
                scores = tuple(map(float, self.values))
            except (TypeError, ValueError, OverflowError):  # a whole number of hundreds of digits
                return None
        else:
            return None
        # One that is not finite makes the sum so, too.
        return scores if isfinite(sum(scores)) or all(map(isfinite, scores)) else None

    def words(self) -> Sequence[str]:
        """The values that are text, and nothing for the others."""
        if self.kinds == {str}:
            return self.values
        return [value if isinstance(value, str) else "" for value in self.values]

    def has_words(self) -> bool:
        """Tell whether any value is a text that is not blank."""
        return any(text and not text.isspace() for text in self.words())


# -- types -----------------------------------------------------------------------------------------


def is_id(value: object) -> bool:
    """Tell whether a value may be an id."""
    return _is_id(type(value))


def _is_id(kind: type) -> bool:
    may_be = issubclass(kind, (str, uuid.UUID, Decimal, numbers.Integral))
    return may_be and not issubclass(kind, bool)


def is_number(kind: type) -> bool:
    """Tell whether values of a type are numbers, numpy's and others' too."""
    is_truth = issubclass(kind, bool) or kind.__name__ in ("bool", "bool_")
    return hasattr(kind, "__float__") and not is_truth and not issubclass(kind, str)


# -- texts -----------------------------------------------------------------------------------------


def is_prose(value: object) -> bool:
    """Tell whether a value is a text of several words."""
    return isinstance(value, str) and len(value.split()) > 1


def is_text(value: object) -> bool:
    """Tell whether a value is prose, or a text of a script without spaces."""
    return isinstance(value, str) and (is_prose(value) or WITHOUT_SPACES.search(value) is not None)


def titles(words: Sequence[str]) -> Sequence[str]:
    """Titles: the beginnings of texts, each on one line."""
    return [clipped(" ".join(text[: 4 * TITLE_LENGTH].split()), TITLE_LENGTH) for text in words]


def by_id(ids: Sequence[str], words: Sequence[str]) -> dict[str, str]:
    """Words by document, those of its best hit; documents without any are left out."""
    both = zip(reversed(ids), reversed(words), strict=True)
    return {document: text for document, text in both if text}
