"""Kinds of values that keys have: how each is read, its JSON Schema, and its name.

The reference calls it by that. Editors read YAML with types (``0123`` is a number there), the
reader reads text. So the schema takes any single value where a text stands, and leaves what needs
the whole file (ids, tags, words of grades) to the reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from yaml.events import Event, MappingStartEvent, SequenceStartEvent

from pytest_irquality.edges import bounds
from pytest_irquality.suite.key_tables import Kind, Schema, closed
from pytest_irquality.suite.yaml import Document, Place, as_duration, as_number, short

T = TypeVar("T")
Word = TypeVar("Word", bound=str)

DEEPEST = 100_000
SECONDS: Schema = {"type": "string", "pattern": r"^[+]?(\d+(\.\d*)?|\.\d+)\s*(ms|s|min)$"}
RATE_TEXT: Schema = {"type": "string", "pattern": r"^(\d+(\.\d*)?|\.\d+)\s*/\s*(s|min|h)$"}
EACH = {"s": 1.0, "min": 60.0, "h": 3600.0}
PERCENTAGE: Schema = {"type": "string", "pattern": r"^[+]?(\d+(\.\d*)?|\.\d+)%$"}
ANY_TEXT: Schema = {"type": ["string", "number", "boolean"]}


def ref(name: str) -> Schema:
    """A definition of the schema by its name."""
    return {"$ref": f"#/definitions/{name}"}


# -- single values ---------------------------------------------------------------------------------


def _identifier(document: Document, event: Event, what: str) -> str:
    name = document.text(event, what)
    if not name.isidentifier():
        document.fail(event, f"{what} must be the name of a fixture, not {short(name)}")
    return name


def cutoff(document: Document, event: Event, what: str) -> int:
    """A number of results."""
    return document.count(event, what, most=DEEPEST)


def _duration(document: Document, event: Event, what: str) -> float:
    text = document.text(event, what)
    seconds = as_duration(text)
    if not seconds:
        document.fail(
            event, f"{what} is a duration with its unit (500ms, 5s, 1min), not {short(text)}"
        )
    return seconds


def _rate(document: Document, event: Event, what: str) -> float:
    text = document.text(event, what)
    count, _, unit = text.replace(" ", "").partition("/")
    calls, seconds = as_number(count), EACH.get(unit)
    if not calls or calls < 0 or not seconds:
        document.fail(
            event, f"{what} is a number of calls and a time (20/s, 600/min), not {short(text)}"
        )
    return calls / seconds


def _weight(document: Document, event: Event, what: str) -> float:
    value = document.number(event, what)
    if value < 0:
        document.fail(event, f"{what} must not be negative")
    return value


def _params(document: Document, event: Event, what: str) -> Mapping[str, Any]:
    if not isinstance(event, MappingStartEvent):
        document.fail(event, f"{what} must be a mapping of keyword arguments")
    params: dict[str, Any] = document.value(event)
    return params


TEXT: Kind[str] = Kind(Document.text, ANY_TEXT, "text")
IDENTIFIER: Kind[str] = Kind(_identifier, {"type": "string"}, "the name of a fixture")
COUNT: Kind[int] = Kind(Document.count, {"type": "integer", "minimum": 1}, "a number from 1")
FROM_0: Kind[int] = Kind(
    lambda document, event, what: document.count(event, what, 0),
    {"type": "integer", "minimum": 0},
    "a whole number of 0 or more",
)
ANSWERS: Kind[int] = Kind(
    lambda document, event, what: document.count(event, what, most=bounds.ANSWERS),
    {"type": "integer", "minimum": 1, "maximum": bounds.ANSWERS},
    f"a whole number from 1 to {bounds.ANSWERS:,}",
)
CUTOFF: Kind[int] = Kind(
    cutoff, {"type": "integer", "minimum": 1, "maximum": DEEPEST}, "a number from 1"
)
RATE: Kind[float] = Kind(_rate, RATE_TEXT, "`20/s`, `600/min`")
DURATION: Kind[float] = Kind(_duration, SECONDS, "`500ms`, `5s`, `1min`")
WEIGHT: Kind[float] = Kind(_weight, {"type": "number", "minimum": 0}, "a number of 0 or more")
PARAMS: Kind[Mapping[str, Any]] = Kind(_params, {"type": "object"}, "a mapping")


def choice(*words: Word) -> Kind[Word]:
    """One of some words."""

    def read(document: Document, event: Event, what: str) -> Word:
        text = document.choice(event, what, words)
        return words[words.index(text)]

    return Kind(read, {"enum": list(words)}, " or ".join(f"`{word}`" for word in words))


# -- several values --------------------------------------------------------------------------------


def texts(document: Document, event: Event, what: str) -> tuple[str, ...]:
    """A list of distinct texts."""
    return tuple(text for text, _ in document.texts(event, what))


def _placed_texts(document: Document, event: Event, what: str) -> tuple[tuple[str, Place], ...]:
    return tuple((text, document.place(entry)) for text, entry in document.texts(event, what))


def _text_or_texts(document: Document, event: Event, what: str) -> tuple[str, ...]:
    if isinstance(event, SequenceStartEvent):
        return texts(document, event, what)
    return (document.text(event, what),)


def distinct(schema: Schema, **more: object) -> Schema:
    """The schema of a list of distinct values."""
    return {"type": "array", "items": schema, "uniqueItems": True, **more}


def one_or_many(schema: Schema) -> Schema:
    """The schema of a value, or a list of such."""
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


TEXTS: Kind[tuple[str, ...]] = Kind(texts, distinct(ANY_TEXT), "a list of texts")
TEXT_OR_TEXTS: Kind[tuple[str, ...]] = Kind(_text_or_texts, one_or_many(ANY_TEXT), "texts")


def _failures(document: Document, event: Event, what: str) -> tuple[str, ...]:
    found = TEXT_OR_TEXTS.read(document, event, what)
    for one in found:
        if one != "timeout" and not re.fullmatch(r"[45](\d\d|xx)", one):
            document.fail(
                event, f"{what} has {short(one)}: each is 429, 5xx and the like, or timeout"
            )
    return found


USUAL_FAILURES = ("429", "5xx", "timeout")
FAILURES: Kind[tuple[str, ...]] = Kind(
    _failures, one_or_many(ANY_TEXT), "statuses (`429`, `5xx`) and `timeout`"
)


def placed_texts(schema: Schema, form: str) -> Kind[tuple[tuple[str, Place], ...]]:
    """A list of distinct texts, each with its place."""
    return Kind(_placed_texts, distinct(schema), form)


def one_or_list(
    read: Callable[[Document, Event], T], schema: Schema, form: str
) -> Kind[tuple[T, ...]]:
    """A value, or a list of such. Nothing at all is an empty list."""

    def read_all(document: Document, event: Event, what: str) -> tuple[T, ...]:
        if isinstance(event, SequenceStartEvent):
            entries = document.entries(event, what)
            found = (document.tried(partial(read, document), entry) for entry in entries)
            return tuple(chain.from_iterable(found))
        return () if document.is_empty(event) else (read(document, event),)

    return Kind(read_all, schema, form)


def only(name: str, kind: Kind[T]) -> Kind[T]:
    """A mapping with one key."""

    def read(document: Document, event: Event, what: str) -> T:
        found: list[T] = []
        for _, _, value in document.fields(event, what, (name,)):
            found.append(kind.read(document, value, f"'{what[1:-1]}: {name}'"))
        if not found:
            document.fail(event, f"{what} needs {name!r}")
        return found[0]

    return Kind(read, closed({name: kind.schema}, required=[name]), f"`{{{name}: …}}`")
