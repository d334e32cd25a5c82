"""Kinds of values of keys: how a value is read, its JSON Schema, and its form in the docs.

Kinds are composed (``make_list``, ``make_mapping``, ``make_table``), so each value is described
once. Editors read YAML with types (``0123`` is a number to them), but this package reads texts.
Therefore the schema allows any single value where a text is expected. Checks that need the complete
file (ids, tags, words for grades) are left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import pairwise
from typing import Any, Generic, NoReturn, TypeVar, cast

from pytest_irquality.io import dataclass, field
from pytest_irquality.io.text import find_closest, format_count
from pytest_irquality.suite.mistakes import Mistake, quote, shorten
from pytest_irquality.suite.yaml_source import ListNode, MappingNode, Node, ScalarNode, explain_line

T = TypeVar("T")
Word = TypeVar("Word", bound=str)
Schema = Mapping[str, Any]

ANY_TEXT: Schema = {"type": ["string", "number", "boolean"]}

MAX_NUMBER = 1e30  # a grade or weight; sums of these stay finite
MAX_DIGITS = 400
MAX_COUNT = 1_000_000
MAX_CUTOFF = 10_000  # results of a query; a baseline holds as many
MAX_REPEATS = 1_000
MAX_LISTED_WORDS = 8
DASHES = "-–—•* "  # characters that people write for "- "

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)\.\d+([eE][+-]?\d+)?", re.ASCII)
_TYPOGRAPHIC_QUOTES = re.compile("[“„”].*[”“]|[‘‚’].*[’‘]", re.DOTALL)
_DURATION_UNITS = {"ms": 0.001, "min": 60.0, "s": 1.0}
_RATE_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of value.

    Attributes:
        read: Reads a node. Its second argument is the name in messages, such as ``'top_k'``.
        schema: The JSON Schema.
        form: The form of the value on the reference page, if it is not obvious.
    """

    read: Callable[[Node, str], T]
    schema: Schema
    form: str = ""


@dataclass(frozen=True)
class Key:
    """One key of a mapping.

    Attributes:
        help: One sentence for editors and the reference page.
        default: The default on the reference page. Empty if the key is required.
        expects_results: Whether the key of a query contradicts ``expect_no_results``.
    """

    kind: Kind[Any]
    help: str
    default: str = ""
    expects_results: bool = False

    @property
    def schema(self) -> Schema:
        """Return the JSON Schema of the value, with the text that an editor shows."""
        default = f" Default: {self.default}." if self.default else ""
        return {**self.kind.schema, "description": f"{self.help}{default}"}


# -- Words for messages ----------------------------------------------------------------------------


def describe_node(node: Node) -> str:
    """Describe a node in words."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    return quote(node.text) if node.text else "empty"


def list_words(words: Iterable[str], last: str = "or", limit: int | None = MAX_LISTED_WORDS) -> str:
    """List words in quotes, such as ``'id' or 'text'``."""
    all_words = list(words)
    quoted = [quote(word) for word in all_words[:limit]]
    hidden = len(all_words) - len(quoted)
    if hidden:
        return f"{', '.join(quoted)} and {hidden} others"
    return f" {last} ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))


def suggest(
    text: str, known: Iterable[str], otherwise: str = "", min_similarity: float = 0.6
) -> str:
    """Return a sentence that suggests the closest known word, to follow another sentence."""
    words = list(known)
    closest = find_closest(text, words, min_similarity)
    closest = closest or find_closest(text.lower(), words, min_similarity)
    if closest:
        return f". Did you mean '{closest}'?"
    return f". {otherwise}" if otherwise else ""


# -- Single values ---------------------------------------------------------------------------------


def read_text(node: Node, name: str) -> str:
    """Read a text as written. An empty value is a mistake."""
    if not isinstance(node, ScalarNode):
        hint = ""
        if isinstance(node, MappingNode):
            hint = ". Put text that contains ': ' or braces in quotes."
        raise Mistake(node.line, f"{name} must be text, not {describe_node(node)}{hint}")
    is_suspicious = not (node.is_quoted or node.text.isascii())
    if is_suspicious and _TYPOGRAPHIC_QUOTES.fullmatch(node.text):
        hint = "Write \" instead, or put all of it between ' and '."
        raise Mistake(node.line, f"{node.text[0]} is not a quote in YAML. {hint}")
    if not node.text or node.text.isspace():
        hint = ""
        if node.comment:
            hint = f", because '#' begins a comment. Put {quote(node.comment)} in quotes."
        raise Mistake(node.line, f"{name} is empty{hint}")
    return node.text


def _read_query_text(node: Node, name: str) -> str:
    text = read_text(node, name)
    # Linters want two spaces before a comment. After one space, the author may mean a query.
    if isinstance(node, ScalarNode) and node.comment:
        complete = quote(f"{text} {node.comment}")
        message = f"{name} is only {quote(text)}, because '#' begins a comment"
        hint = f"Write {complete} in quotes, or two spaces before the '#'."
        raise Mistake(node.line, f"{message}. {hint}")
    return text


def parse_number(text: str) -> float | None:
    """Parse a number. ``1_000``, ``nan`` and ``inf`` are not numbers."""
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


def make_parsed(
    parse: Callable[[str], T | None],
    requirement: str,
    form: str = "",
    *,
    schema: Schema | None = None,
    is_number: bool = False,
) -> Kind[T]:
    """Make the kind of single values that a function parses.

    Args:
        parse: Returns the value of a text, or ``None`` if the text is not such a value.
        requirement: What the value must be, for messages.
        form: The form of the value on the reference page, if it differs from ``requirement``.
        schema: The JSON Schema, if not every number or text is allowed.
        is_number: Whether the value is a number, which must not have quotes.
    """

    def read(node: Node, name: str) -> T:
        if not isinstance(node, ScalarNode):
            raise Mistake(node.line, f"{name} must be {requirement}, not {describe_node(node)}")
        text = read_text(node, name)
        value = parse(text)
        if value is None:
            raise Mistake(node.line, f"{name} must be {requirement}, not {quote(text)}")
        if is_number and node.is_quoted:
            message = f"{name} must be a number. Remove the quotes of {quote(text)}."
            raise Mistake(node.line, message)
        return value

    default_schema = {"type": "number"} if is_number else ANY_TEXT
    return Kind(read, schema or default_schema, form or requirement)


def make_count(minimum: int = 1, maximum: int = MAX_COUNT) -> Kind[int]:
    """Make the kind of whole numbers within bounds."""

    def parse(text: str) -> int | None:
        value = parse_number(text)
        is_count = value is not None and value == int(value) and minimum <= value <= maximum
        return int(value) if is_count and value is not None else None

    schema: dict[str, Any] = {"type": "integer", "minimum": minimum}
    requirement = f"a whole number of {minimum} or more"
    if maximum < MAX_COUNT:
        schema["maximum"] = maximum
        requirement = f"a whole number from {minimum} to {maximum:,}"
    return make_parsed(parse, requirement, schema=schema, is_number=True)


def make_choice(*words: Word) -> Kind[Word]:
    """Make the kind of value that is one of some words."""
    known: Mapping[str, Word] = {word: word for word in words}
    form = " or ".join(f"`{word}`" for word in words)
    return make_parsed(known.get, list_words(words), form, schema={"enum": list(words)})


def _parse_rate(text: str) -> float | None:
    count, _, unit = text.replace(" ", "").partition("/")
    calls, seconds = parse_number(count), _RATE_UNITS.get(unit)
    return calls / seconds if calls and seconds and calls > 0 else None


def _parse_weight(text: str) -> float | None:
    value = parse_number(text)
    return None if value is None or value < 0 else value


def _parse_date(text: str) -> date | None:
    # `fromisoformat` of Python 3.11 also takes other forms, which 3.10 refuses.
    if len(text) == len("2027-03-01"):
        with suppress(ValueError):
            return date.fromisoformat(text)
    return None


def _parse_retry_failure(text: str) -> str | None:
    is_status = re.fullmatch(r"[45](\d\d|xx)", text, re.ASCII)
    return text if is_status or text == "timeout" else None


def read_value(node: Node, name: str) -> Any:
    """Read a value of a parameter: a text, number, boolean, ``null``, list or mapping.

    A value in quotes is a text. ``NO``, ``0123`` and ``2024-01-01`` are texts, too, although they
    are a boolean, the number 83 and a date in YAML 1.1.
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


# -- Lists -----------------------------------------------------------------------------------------


def make_list(
    item: Kind[T], *, minimum: int = 0, is_single_allowed: bool = False, form: str = ""
) -> Kind[tuple[T, ...]]:
    """Make the kind of lists of distinct values. A single value may be allowed as well."""

    def read(node: Node, name: str) -> tuple[T, ...]:
        if is_single_allowed and not isinstance(node, ListNode):
            return (item.read(node, name),)
        if not isinstance(node, ListNode):
            raise Mistake(node.line, f"{name} must be a list, not {describe_node(node)}")
        values: dict[T, None] = {}
        for each in node.items:
            if isinstance(each, MappingNode) and len(each.entries) == 1:
                raise Mistake(each.line, _explain_pair(each, name))
            value = item.read(each, f"An entry of {name}")
            if value in values:
                raise Mistake(each.line, f"{quote(str(value))} appears twice in {name}")
            values[value] = None
        if len(values) < minimum:
            count = format_count(minimum, "entry", "entries")
            raise Mistake(node.line, f"{name} needs at least {count}")
        return tuple(values)

    list_schema = {"type": "array", "items": item.schema, "uniqueItems": True, "minItems": minimum}
    schema = {"anyOf": [item.schema, list_schema]} if is_single_allowed else list_schema
    return Kind(read, schema, form)


def _explain_pair(node: MappingNode, name: str) -> str:
    """Explain an entry of a list such as ``- sku-12: 3``."""
    key, value = node.entries[0]
    message = f"An entry of {name} must be text, not a mapping"
    if not isinstance(key, ScalarNode) or not isinstance(value, ScalarNode):
        return message
    pair = quote(f"{key.text}: {value.text}")
    if parse_number(value.text) is not None:
        return f"{message}. Remove the dash or the brackets around {pair}."
    return f"{message}. Put text that contains ': ' in quotes: {pair}."


# -- Mappings --------------------------------------------------------------------------------------


def read_entries(node: Node, name: str) -> Sequence[tuple[ScalarNode, Node]]:
    """Return the keys and values of a mapping, in which no key may repeat."""
    if not isinstance(node, MappingNode):
        raise Mistake(node.line, _explain_missing_mapping(node, name))
    seen: dict[str, int] = {}
    key_name = f"A key of {name}"
    for key, _ in node.entries:
        text = read_text(key, key_name)
        if text in seen:
            raise Mistake(key.line, f"{quote(text)} is already on line {seen[text]}")
        seen[text] = key.line
    return cast("Sequence[tuple[ScalarNode, Node]]", node.entries)


def _explain_missing_mapping(node: Node, name: str) -> str:
    message = f"{name[:1].upper()}{name[1:]} must have lines such as 'key: value'"
    if isinstance(node, ListNode):
        return f"{message}, but is a list. Remove the dashes, or write {{key: value}}."
    if isinstance(node, ScalarNode) and re.fullmatch(r"[^\s/]+:\S+", node.text):
        key, _, value = node.text.rpartition(":")
        return f"Write a space after the colon: {quote(f'{key}: {value}')}"
    return f"{message}, but is {describe_node(node)}"


def check_pair(key: ScalarNode, value: Node, noun: str, owner: str) -> None:
    """Refuse an entry without a value, such as ``{sku-609:3}``, which YAML reads as one key.

    Args:
        key: The key.
        value: The value.
        noun: The word for the value, such as "grade".
        owner: The key of the mapping in quotes. Its value may be a list instead.

    Raises:
        Mistake: The value is empty.
    """
    if not isinstance(value, ScalarNode) or value.text or value.is_quoted:
        return
    doc_id, colon, number = shorten(key.text).rpartition(":")
    if colon and number.isdecimal():
        hint = f"Write a space after the colon: '{doc_id}: {number}'."
        raise Mistake(key.line, f"{quote(key.text)} has no {noun}. {hint}")
    hint = f"Write a number, or a list such as {owner.strip(chr(39))}: [{shorten(key.text)}]."
    raise Mistake(key.line, f"The {noun} of {quote(key.text)} is empty. {hint}")


def refuse_decimal_comma(node: Node) -> None:
    """Refuse ``{ndcg@10: 0,8}``, which YAML reads as a bound of 0 and an empty key 8."""
    if not isinstance(node, MappingNode):
        return
    for (_, before), (key, value) in pairwise(node.entries):
        if not isinstance(value, ScalarNode) or value.text:
            continue
        scalars = [each.text for each in (before, key) if isinstance(each, ScalarNode)]
        if len(scalars) == 2 and all(map(str.isdecimal, scalars)):
            whole, decimals = scalars
            message = f"Write {whole}.{decimals} with a point, not {whole},{decimals}"
            raise Mistake(key.line, message)


def make_mapping(
    value: Kind[T],
    value_name: str = "'{key}' of {owner}",
    known_keys: Iterable[str] = (),
    example: str = "",
) -> Kind[dict[str, T]]:
    """Make the kind of mappings whose values are of one kind.

    Args:
        value: The kind of values.
        value_name: The name of a value in messages.
        known_keys: The allowed keys. Without them, every key is allowed.
        example: An example for messages, if the mapping must not be empty.
    """
    known = list(known_keys)

    def read(node: Node, name: str) -> dict[str, T]:
        values = {}
        for key, each in read_entries(node, name):
            if known and key.text not in known:
                raise explain_unknown_key(key, known, name)
            values[key.text] = value.read(each, value_name.format(key=key.text, owner=name))
        if example and not values:
            raise Mistake(node.line, f"{name} is empty. Write {example}.")
        return values

    schema: dict[str, Any] = {"type": "object", "additionalProperties": value.schema}
    if known:
        schema["propertyNames"] = {"enum": known}
    if example:
        schema["minProperties"] = 1
    return Kind(read, schema)


@dataclass
class Fields:
    """The keys of one mapping, with their values and lines.

    Attributes:
        has_mistakes: Whether a key or value was left out because of a mistake.
    """

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    has_mistakes: bool = False

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a key, or the default if it is not written."""
        return self.values.get(name, default)

    def get_line(self, name: str) -> int:
        """Return the line of a key, or of the mapping if the key is not written."""
        return self.lines.get(name, self.line)


def read_fields(
    node: Node,
    keys: Mapping[str, Key],
    owner: str,
    report: Callable[[Mistake], object],
    *,
    value_name: str = "'{key}'",
    elsewhere: Mapping[str, str] | None = None,
) -> Fields:
    """Read a mapping whose keys are known.

    Args:
        node: The mapping.
        keys: The keys that it may have.
        owner: The name of the mapping in messages, such as "a query".
        report: Receives each mistake in a key or value, which is then left out.
        value_name: The name of a value in messages.
        elsewhere: The ends of messages about keys that belong to another place.

    Raises:
        Mistake: The node is not a mapping, or lacks a required key. If another key is a mistake,
            only that is reported, because it is probably the required one, misspelt.
    """
    fields = Fields(node.line)
    if not isinstance(node, MappingNode):
        raise Mistake(node.line, _explain_missing_mapping(node, owner))
    lines, values = fields.lines, fields.values
    empty_key = ""
    for key, value in node.entries:
        name = key.text if isinstance(key, ScalarNode) else ""
        try:
            if name not in keys:
                if empty_key:
                    message = f"{quote(name)} is not a key of {owner}"
                    hint = f"Indent it if it belongs to '{empty_key}'."
                    raise Mistake(key.line, f"{message}. {hint}")
                raise explain_unknown_key(key, keys, owner, elsewhere)
            if name in lines:
                raise Mistake(key.line, f"'{name}' is already on line {lines[name]}")
            lines[name] = key.line
            empty_key = name if isinstance(value, ScalarNode) and not value.text else ""
            values[name] = keys[name].kind.read(value, value_name.format(key=name))
        except Mistake as mistake:
            fields.has_mistakes = True
            report(mistake)
    for name, entry in keys.items():
        if not entry.default and name not in lines and not fields.has_mistakes:
            raise Mistake(node.line, f"{owner[:1].upper()}{owner[1:]} needs '{name}'")
    return fields


def explain_unknown_key(
    key: Node, known: Iterable[str], owner: str, elsewhere: Mapping[str, str] | None = None
) -> Mistake:
    """Say that a mapping has no such key, and list its keys."""
    if not isinstance(key, ScalarNode):
        return Mistake(key.line, f"A key of {owner} must be text, not {describe_node(key)}")
    keys = list(known)
    name = key.text
    message = f"{quote(name)} is not a key of {owner}"
    word, colon, _ = name.partition(":")
    without_dash = name.lstrip(DASHES)
    if without_dash != name and without_dash in keys:
        return Mistake(key.line, f"Write a dash and a space: '- {without_dash}'")
    if colon and word in keys:
        return Mistake(key.line, f"Write a space after the colon of '{word}:'")
    if "@" in name and "thresholds" in keys:
        return Mistake(key.line, f"{message}. Write thresholds of metrics under 'thresholds'.")
    if name[:1].isspace():
        return Mistake(key.line, "This line begins with a non-ASCII space. Type it again.")
    verb = "Its key is" if len(keys) == 1 else "Its keys are"
    all_keys = f". {verb} {list_words(keys, 'and', limit=None)}."
    hint = suggest(name, keys, min_similarity=0.7) or (elsewhere or {}).get(name) or all_keys
    return Mistake(key.line, message + hint)


def _raise(mistake: Mistake) -> NoReturn:
    raise mistake


def make_table(
    keys: Mapping[str, Key],
    form: str = "",
    make: Callable[..., Any] = dict,
    *,
    scalar_key: str = "",
) -> Kind[Any]:
    """Make the kind of a small mapping whose keys are known.

    Args:
        keys: The keys.
        form: An example, such as "`{max: 2}`".
        make: Makes the value from the written keys.
        scalar_key: The key of a single value that is written instead of a mapping, if allowed.
    """

    def read(node: Node, name: str) -> Any:
        if isinstance(node, ScalarNode) and scalar_key:
            return make(**{scalar_key: keys[scalar_key].kind.read(node, name)})
        if form and not isinstance(node, MappingNode):
            message = f"{name} must be written like {form.replace('`', '')}"
            message += f", not {describe_node(node)}"
            explanation = explain_line(node.text) if isinstance(node, ScalarNode) else ""
            raise Mistake(node.line, explanation or message)
        fields = read_fields(node, keys, name, _raise, value_name=f"'{{key}}' of {name}")
        return make(**fields.values)

    schema: Schema = make_keys_schema(keys)
    if scalar_key:
        schema = {"anyOf": [keys[scalar_key].kind.schema, schema]}
    return Kind(read, schema, form)


def make_keys_schema(keys: Mapping[str, Key]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping that has these keys and no others."""
    properties = {name: entry.schema for name, entry in keys.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    schema["additionalProperties"] = False
    required = [name for name, entry in keys.items() if not entry.default]
    if required:
        schema["required"] = required
    return schema


def make_node_kind(schema: Schema) -> Kind[Node]:
    """Make the kind of a value that depends on other keys, so that the parser reads it later."""
    return Kind(lambda node, _: node, schema)


def make_reference(name: str) -> Schema:
    """Return the schema that refers to a definition by name."""
    return {"$ref": f"#/definitions/{name}"}


# -- Kinds -----------------------------------------------------------------------------------------

TEXT = Kind(read_text, ANY_TEXT)
QUERY_TEXT = Kind(_read_query_text, ANY_TEXT)
TEXTS = make_list(TEXT, is_single_allowed=True)
TEXT_LIST = make_list(TEXT)
FIXTURE = make_parsed(lambda text: text if text.isidentifier() else None, "the name of a fixture")
_FLAGS = {"true": True, "false": False}
FLAG = make_parsed(_FLAGS.get, list_words(_FLAGS), "`true` or `false`", schema={"type": "boolean"})
COUNT = make_count()
CUTOFF = make_count(maximum=MAX_CUTOFF)
NUMBER = make_parsed(parse_number, "a number", is_number=True)
WEIGHT = make_parsed(_parse_weight, "a number of 0 or more", is_number=True)
RELEVANT_FROM = make_parsed(
    lambda text: _parse_weight(text) or None,
    "a number above 0, because grade 0 means not relevant",
    "a number above 0",
    is_number=True,
)
DURATION = make_parsed(
    lambda text: parse_duration(text) or None,
    "a duration with a unit, such as 500ms, 5s or 1min",
    "`500ms`, `5s`, `1min`",
)
RATE = make_parsed(
    _parse_rate, "a number of calls per unit of time, such as 20/s or 600/min", "`20/s`, `600/min`"
)
DATE = make_parsed(_parse_date, "a date such as 2027-03-01", "a date such as `2027-03-01`")
PARAMS = make_mapping(Kind(read_value, {}), "{owner}")
RETRY_FAILURES = make_list(
    make_parsed(_parse_retry_failure, "a status such as 429 or 5xx, or timeout"),
    is_single_allowed=True,
    form="statuses (`429`, `5xx`), `timeout`",
)
