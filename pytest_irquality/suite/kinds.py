"""Kinds of values that keys have: how each is read, its JSON Schema, and its name in the docs.

Editors read YAML with types (``0123`` is a number to them), and this package reads texts.
Therefore the schema allows any single value where a text is expected, and leaves what needs the
complete file (ids, tags, words for grades) to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

from pytest_irquality.io.text import find_closest
from pytest_irquality.suite.yaml_source import (
    ListNode,
    MappingNode,
    Mistake,
    Node,
    ScalarNode,
    find_missing_space,
    quote,
)

T = TypeVar("T")
Word = TypeVar("Word", bound=str)
Schema = Mapping[str, Any]

MAX_NUMBER = 1e30  # a grade or weight; sums of these stay finite
MAX_DIGITS = 400
MAX_CUTOFF = 100_000
MAX_REPEATS = 1_000
MAX_LISTED_WORDS = 8

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)\.\d+([eE][+-]?\d+)?", re.ASCII)
_TYPOGRAPHIC_QUOTES = re.compile("[“„”].*[”“]|[‘‚’].*[’‘]", re.DOTALL)
_DURATION_UNITS = {"ms": 0.001, "min": 60.0, "s": 1.0}
_RATE_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}

ANY_TEXT: Schema = {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of value.

    Attributes:
        read: Reads a node. Its second argument names the value in messages, such as ``'top_k'``.
        schema: The JSON Schema.
        form: What the reference page calls the value, such as "a whole number from 1".
    """

    read: Callable[[Node, str], T]
    schema: Schema
    form: str


def make_reference(name: str) -> Schema:
    """Return the schema that refers to a definition by name."""
    return {"$ref": f"#/definitions/{name}"}


def make_object_schema(properties: Mapping[str, Schema], **more: object) -> dict[str, Any]:
    """Return the schema of a mapping with these keys and no others."""
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, **more}


def make_list_schema(items: Schema, **more: object) -> Schema:
    """Return the schema of a list of distinct values."""
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def make_one_or_many_schema(schema: Schema) -> Schema:
    """Return the schema of a value or a list of such values."""
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


# -- Words for messages ---------------------------------------------------------------------------


def describe_node(node: Node) -> str:
    """Say what a node is, in words."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    return quote(node.text) if node.text else "empty"


def list_words(words: Sequence[str], last: str = "or", limit: int | None = MAX_LISTED_WORDS) -> str:
    """List words in quotes, such as ``'id' or 'text'``."""
    quoted = [quote(word) for word in words[:limit]]
    hidden = len(words) - len(quoted)
    if hidden:
        return f"{', '.join(quoted)} and {hidden} others"
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def suggest(
    text: str, known: Iterable[str], otherwise: str = "", min_similarity: float = 0.6
) -> str:
    """Return a sentence that suggests the closest known word, to follow another sentence."""
    closest = find_closest(text, known, min_similarity)
    if closest:
        return f". Did you mean '{closest}'?"
    return f". {otherwise}" if otherwise else ""


# -- Single values --------------------------------------------------------------------------------


def read_text(node: Node, name: str) -> str:
    """Read a text as written. A value that is empty is a mistake."""
    if not isinstance(node, ScalarNode):
        hint = ""
        if isinstance(node, MappingNode):
            hint = ". Put a text that contains ': ' or braces in quotes."
        raise Mistake(node.line, f"{name} must be a text, not {describe_node(node)}{hint}")
    if not node.is_quoted and _TYPOGRAPHIC_QUOTES.fullmatch(node.text):
        hint = "Write \" instead, or put all of it between ' and '."
        raise Mistake(node.line, f"{node.text[0]} is no quote to YAML. {hint}")
    if not node.text or node.text.isspace():
        hint = ""
        if node.comment:
            hint = f", because '#' begins a comment. Put {quote(node.comment)} in quotes."
        raise Mistake(node.line, f"{name} is empty{hint}")
    return node.text


def parse_number(text: str) -> float | None:
    """Parse a number. ``1_000``, ``nan`` and ``inf`` are none."""
    if len(text) > MAX_DIGITS or not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) <= MAX_NUMBER else None


def parse_duration(text: str) -> float | None:
    """Parse a duration with its unit (``200ms``, ``1.5s``, ``2min``) into seconds."""
    for unit, seconds in _DURATION_UNITS.items():
        if text.endswith(unit):
            number = parse_number(text.removesuffix(unit).rstrip())
            return None if number is None or number < 0 else number * seconds
    return None


def read_number(node: Node, name: str) -> float:
    """Read a finite number without quotes."""
    text = read_text(node, name)
    value = parse_number(text)
    if value is None:
        raise Mistake(node.line, f"{name} must be a number, not {quote(text)}")
    if isinstance(node, ScalarNode) and node.is_quoted:
        raise Mistake(node.line, f"{name} must be a number. Remove the quotes of {quote(text)}.")
    return value


def read_count(node: Node, name: str, least: int = 1, most: int = 1_000_000) -> int:
    """Read a whole number within bounds."""
    value = read_number(node, name)
    if value != int(value) or value < least:
        text = read_text(node, name)
        raise Mistake(node.line, f"{name} must be a whole number from {least}, not {quote(text)}")
    if value > most:
        raise Mistake(node.line, f"{name} can be at most {most:,}, not {value:,.0f}")
    return int(value)


def read_cutoff(node: Node, name: str) -> int:
    """Read a number of results."""
    return read_count(node, name, most=MAX_CUTOFF)


def read_choice(node: Node, name: str, words: Sequence[str]) -> str:
    """Read one of some words."""
    text = read_text(node, name)
    if text not in words:
        raise Mistake(node.line, f"{name} must be {list_words(words)}, not {quote(text)}")
    return text


def read_flag(node: Node, name: str) -> bool:
    """Read ``true`` or ``false``."""
    return read_choice(node, name, ("true", "false")) == "true"


def _read_fixture_name(node: Node, name: str) -> str:
    text = read_text(node, name)
    if not text.isidentifier():
        raise Mistake(node.line, f"{name} must be the name of a fixture, not {quote(text)}")
    return text


def _read_duration(node: Node, name: str) -> float:
    text = read_text(node, name)
    seconds = parse_duration(text)
    if not seconds:
        message = f"{name} must be a duration with a unit, such as 500ms, 5s or 1min"
        raise Mistake(node.line, f"{message}, not {quote(text)}")
    return seconds


def _read_rate(node: Node, name: str) -> float:
    text = read_text(node, name)
    count, _, unit = text.replace(" ", "").partition("/")
    calls = parse_number(count)
    seconds = _RATE_UNITS.get(unit)
    if not calls or calls < 0 or not seconds:
        message = f"{name} must be a number of calls in a time, such as 20/s or 600/min"
        raise Mistake(node.line, f"{message}, not {quote(text)}")
    return calls / seconds


def read_weight(node: Node, name: str) -> float:
    """Read a number of 0 or more."""
    value = read_number(node, name)
    if value < 0:
        raise Mistake(node.line, f"{name} must not be negative")
    return value


def _read_relevant_from(node: Node, name: str) -> float:
    value = read_number(node, name)
    if value <= 0:
        raise Mistake(node.line, f"{name} must be above 0, because grade 0 means not relevant")
    return value


def read_date(node: Node, name: str) -> date:
    """Read a day such as ``2027-03-01``."""
    text = read_text(node, name)
    try:
        # `fromisoformat` of Python 3.11 also takes other forms, which 3.10 refuses.
        if len(text) != len("2027-03-01"):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        message = f"{name} must be a day such as 2027-03-01, not {quote(text)}"
        raise Mistake(node.line, message) from None


def read_value(node: Node, name: str) -> Any:
    """Read a value of a parameter: a text, number, boolean, ``null``, list or mapping.

    A value in quotes is a text. So is ``NO``, ``0123`` and ``2024-01-01``, of which YAML 1.1 would
    make a boolean, the number 83 and a date.
    """
    if isinstance(node, MappingNode):
        return {key.text: read_value(value, name) for key, value in read_entries(node, name)}
    if isinstance(node, ListNode):
        return [read_value(item, name) for item in node.items]
    text = node.text
    if node.is_quoted:
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("", "null", "~"):
        return None
    if len(text) <= MAX_DIGITS:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text) and parse_number(text) is not None:
            return float(text)
    elif _NUMBER.fullmatch(text):
        raise Mistake(node.line, f"A number in {name} is longer than {MAX_DIGITS} characters")
    return text


def _read_params(node: Node, name: str) -> Mapping[str, Any]:
    if not isinstance(node, MappingNode):
        raise Mistake(node.line, f"{name} must be a mapping of keyword arguments")
    params: dict[str, Any] = read_value(node, name)
    return params


# -- Lists and mappings ---------------------------------------------------------------------------


def read_items(node: Node, name: str) -> Sequence[Node]:
    """Return the items of a list."""
    if not isinstance(node, ListNode):
        raise Mistake(node.line, f"{name} must be a list, not {describe_node(node)}")
    return node.items


def read_entries(node: Node, name: str) -> Sequence[tuple[ScalarNode, Node]]:
    """Return the keys and values of a mapping, in which no key may repeat."""
    if not isinstance(node, MappingNode):
        raise Mistake(node.line, _explain_missing_mapping(node, name))
    entries = []
    seen: dict[str, int] = {}
    for key, value in node.entries:
        text = read_text(key, f"A key of {name}")
        if text in seen:
            raise Mistake(key.line, f"{quote(text)} is already in line {seen[text]}")
        seen[text] = key.line
        assert isinstance(key, ScalarNode)
        entries.append((key, value))
    return entries


def read_table(
    node: Node,
    name: str,
    kinds: Mapping[str, Kind[Any]],
    required: Iterable[str] = (),
    form: str = "",
) -> dict[str, Any]:
    """Read a small mapping whose keys are known, each with its kind of value.

    Args:
        node: The mapping.
        name: What messages call it.
        kinds: The keys.
        required: The keys that it needs.
        form: How it is written, such as "`{max: 2}`".
    """
    if form and isinstance(node, ScalarNode) and node.text and not find_missing_space(node.text):
        example = form.replace("`", "")
        raise Mistake(node.line, f"{name} must be written like {example}, not {quote(node.text)}")
    values = {}
    for key, value in read_entries(node, name):
        if key.text not in kinds:
            keys = "Its key is" if len(kinds) == 1 else "Its keys are"
            hint = suggest(key.text, kinds, f"{keys} {list_words(list(kinds), 'and')}.")
            raise Mistake(key.line, f"{quote(key.text)} is not a key of {name}{hint}")
        values[key.text] = kinds[key.text].read(value, f"'{key.text}' of {name}")
    for key_name in required:
        if key_name not in values:
            raise Mistake(node.line, f"{name} needs '{key_name}'")
    return values


def _explain_missing_mapping(node: Node, name: str) -> str:
    message = f"{name[:1].upper()}{name[1:]} must have lines such as 'key: value'"
    if isinstance(node, ListNode):
        return f"{message}, and is a list. Remove the dashes, or write {{key: value}}."
    if isinstance(node, ScalarNode) and find_missing_space(node.text):
        return f"Write a space after the colon of '{find_missing_space(node.text)}:'"
    return f"{message}, and is {describe_node(node)}"


def check_pair(key: ScalarNode, value: Node, what: str, list_key: str) -> None:
    """Find an entry without a value, such as ``{sku-609:3}``, which YAML reads as one key.

    Args:
        key: The key.
        value: The value.
        what: What the value is, such as "grade".
        list_key: The key of the mapping, which may be a list instead.

    Raises:
        Mistake: The value is empty.
    """
    if not isinstance(value, ScalarNode) or value.text or value.is_quoted:
        return
    doc_id, colon, number = key.text.rpartition(":")
    if colon and number.isdecimal():
        hint = f"Write a space after the colon: '{doc_id}: {number}'."
        raise Mistake(key.line, f"{quote(key.text)} has no {what}. {hint}")
    hint = f"Write a number, or a list such as {list_key.strip(chr(39))}: [{key.text}]."
    raise Mistake(key.line, f"The {what} of {quote(key.text)} is empty. {hint}")


def read_distinct_texts(node: Node, name: str) -> list[tuple[str, int]]:
    """Read a list of texts, each once, with their lines."""
    lines: dict[str, int] = {}
    for item in read_items(node, name):
        if isinstance(item, MappingNode) and len(item.entries) == 1:
            raise Mistake(item.line, _explain_pair(item, name))
        text = read_text(item, f"An entry of {name}")
        if text in lines:
            raise Mistake(item.line, f"{quote(text)} is twice in {name}")
        lines[text] = item.line
    return list(lines.items())


def _explain_pair(node: MappingNode, name: str) -> str:
    """Explain an entry of a list such as ``- sku-12: 3``."""
    key, value = node.entries[0]
    message = f"An entry of {name} must be a text, not a mapping"
    if not isinstance(key, ScalarNode) or not isinstance(value, ScalarNode):
        return message
    pair = quote(f"{key.text}: {value.text}")
    if parse_number(value.text) is not None:
        return f"{message}. Remove the dash or the brackets around {pair}."
    return f"{message}. Put a text that contains ': ' in quotes: {pair}."


def read_texts(node: Node, name: str) -> tuple[str, ...]:
    """Read a text or a list of distinct texts."""
    if isinstance(node, ListNode):
        return tuple(text for text, _ in read_distinct_texts(node, name))
    return (read_text(node, name),)


def _read_text_list(node: Node, name: str) -> tuple[str, ...]:
    return tuple(text for text, _ in read_distinct_texts(node, name))


def _read_retry_failures(node: Node, name: str) -> tuple[str, ...]:
    failures = read_texts(node, name)
    for failure in failures:
        if failure != "timeout" and not re.fullmatch(r"[45](\d\d|xx)", failure, re.ASCII):
            message = f"{name} must be statuses such as 429 and 5xx, or timeout"
            raise Mistake(node.line, f"{message}, not {quote(failure)}")
    return failures


def _read_grade_words(node: Node, name: str) -> Mapping[str, float]:
    grades = {}
    for key, value in read_entries(node, name):
        if parse_number(key.text) is not None:
            raise Mistake(key.line, f"{name} gives grades to words, and {quote(key.text)} is none")
        grades[key.text] = read_number(value, f"The grade of {quote(key.text)}")
    return grades


# -- Kinds ----------------------------------------------------------------------------------------

TEXT: Kind[str] = Kind(read_text, ANY_TEXT, "text")
TEXTS: Kind[tuple[str, ...]] = Kind(read_texts, make_one_or_many_schema(ANY_TEXT), "texts")
TEXT_LIST: Kind[tuple[str, ...]] = Kind(
    _read_text_list, make_list_schema(ANY_TEXT), "a list of texts"
)
FIXTURE: Kind[str] = Kind(_read_fixture_name, {"type": "string"}, "the name of a fixture")
FLAG: Kind[bool] = Kind(read_flag, {"type": "boolean"}, "`true` or `false`")
COUNT: Kind[int] = Kind(read_count, {"type": "integer", "minimum": 1}, "a whole number from 1")
COUNT_FROM_0: Kind[int] = Kind(
    lambda node, name: read_count(node, name, 0),
    {"type": "integer", "minimum": 0},
    "a whole number from 0",
)
REPEATS: Kind[int] = Kind(
    lambda node, name: read_count(node, name, most=MAX_REPEATS),
    {"type": "integer", "minimum": 1, "maximum": MAX_REPEATS},
    f"a whole number from 1 to {MAX_REPEATS:,}",
)
CUTOFF: Kind[int] = Kind(
    read_cutoff, {"type": "integer", "minimum": 1, "maximum": MAX_CUTOFF}, "a whole number from 1"
)
DURATION: Kind[float] = Kind(
    _read_duration,
    {"type": "string", "pattern": r"^[+]?(\d+(\.\d*)?|\.\d+)\s*(ms|s|min)$"},
    "`500ms`, `5s`, `1min`",
)
RATE: Kind[float] = Kind(
    _read_rate,
    {"type": "string", "pattern": r"^(\d+(\.\d*)?|\.\d+)\s*/\s*(s|min|h)$"},
    "`20/s`, `600/min`",
)
WEIGHT: Kind[float] = Kind(read_weight, {"type": "number", "minimum": 0}, "a number from 0")
DATE: Kind[date] = Kind(
    read_date, {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}, "a day such as `2027-03-01`"
)
PARAMS: Kind[Mapping[str, Any]] = Kind(_read_params, {"type": "object"}, "a mapping")
RETRY_FAILURES: Kind[tuple[str, ...]] = Kind(
    _read_retry_failures, make_one_or_many_schema(ANY_TEXT), "statuses (`429`, `5xx`), `timeout`"
)
RELEVANT_FROM: Kind[float] = Kind(
    _read_relevant_from, {"type": "number", "exclusiveMinimum": 0}, "a number above 0"
)
GRADE_WORDS: Kind[Mapping[str, float]] = Kind(
    _read_grade_words,
    {"type": "object", "additionalProperties": {"type": "number"}},
    "words, each with its number",
)


def make_choice(*words: Word) -> Kind[Word]:
    """Make the kind of value that is one of some words."""

    def read(node: Node, name: str) -> Word:
        return words[words.index(read_choice(node, name, words))]

    return Kind(read, {"enum": list(words)}, " or ".join(f"`{word}`" for word in words))
