"""Values of fields that reports show and rules read, as plain data.

They leave the process of the retriever (xdist, JSON), so they are texts, numbers, booleans, and
lists of those.
"""

from __future__ import annotations

import numbers
import uuid
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any

from pytest_irquality.io.escaping import clip
from pytest_irquality.io.fields import settle_path
from pytest_irquality.retrieval.columns import get_single, get_value

MAX_FIELD_CHARS = 4_000
# Characters of a picture in a ``data:`` URI, some 200 kB.
MAX_IMAGE_CHARS = 300_000
MAX_LIST_VALUES = 100


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
    if isinstance(value, Enum):
        return make_plain(value.value)
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
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    return None
