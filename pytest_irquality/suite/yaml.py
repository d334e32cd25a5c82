"""YAML as positions and text: nothing here knows what a suite is.

PyYAML's events carry every scalar as written and where it stands. Reading them directly leaves
``0123``, ``NO`` and ``2024-01-01`` alone, sees repeated keys, and has no aliases to expand, so no
bombs and no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from pytest_irquality.edges import bounds
from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.printable import terminal
from pytest_irquality.suite.mistakes import Mistake, Mistakes

try:
    from yaml import CBaseLoader as Loader
except ImportError:  # PyYAML built without libyaml
    from yaml import BaseLoader as Loader  # type: ignore[assignment]

MOST_WORDS = 8
LEVELS = {MappingStartEvent: 1, SequenceStartEvent: 1, MappingEndEvent: -1, SequenceEndEvent: -1}


class Place(NamedTuple):
    """A place in a file: line and column, which count from 1.

    ``path`` is that of another file than the suite's.
    """

    line: int
    column: int = 1
    path: str = ""


class SuiteError(Mistake):
    """Bad input: one line, ``path:line:column: what is wrong``.

    ``line`` and ``column`` count from 1.
    """

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        super().__init__(terminal(f"{path}:{line}:{column}: {message}"))
        self.path: str = path
        self.line: int = line
        self.column: int = column


def short(text: str) -> str:
    """A value as an error quotes it: never longer than a line."""
    return repr(clipped(text))


def clipped(text: str) -> str:
    """A text that fits a line beside others."""
    return text if len(text) <= 60 else text[:57] + "..."


class Document(Mistakes):
    """One YAML document, read from its first event to its last.

    The caller knows what should come.
    """

    def __init__(self, path: str, events: Iterator[Event], beside: bool = False) -> None:
        """``beside``: it is a line of another file than the suite's."""
        self.path = path
        self.beside = path if beside else ""
        self.numbers: dict[str, float] = {}  # those read so far; grades are few and stand often
        super().__init__(events, beside)

    @classmethod
    def of_text(cls, path: str, text: str) -> Document:
        """The document that a text holds.

        Syntax errors come up as it is read; ``finish`` reads whatever is left.
        """
        document = cls(path, iter(()))
        document.events = document._checked(text)
        return document

    @classmethod
    def of_json(cls, path: str, value: Any, line: int) -> Document:
        """A value on a line of JSON, as the events that YAML would give.

        Its numbers are plain text.
        """
        mark = yaml.Mark(path, 0, line - 1, 0, None, 0)
        return cls(path, _json_events(value, mark), beside=True)

    def finish(self) -> None:
        """Read on to the end of the file, and raise its mistakes.

        A syntax error, wherever it stands, goes before all others.
        """
        for _ in self.events:
            pass
        self.tell()

    def _checked(self, text: str) -> Iterator[Event]:
        """The events of a text, each checked for what no suite may hold whatever its schema."""
        depth = documents = 0
        try:
            for event in yaml.parse(text, Loader=Loader):
                kind = type(event)
                if kind is not ScalarEvent:
                    depth += LEVELS.get(kind, 0)
                    documents += kind is DocumentStartEvent
                    self.depth = depth
                    self._refuse(event, depth, documents)
                yield event
        except yaml.YAMLError as error:
            self.is_over = True
            raise _syntax_error(self.path, text, error) from None
        except SuiteError:
            self.is_over = True
            raise

    def _refuse(self, event: Event, depth: int, documents: int) -> None:
        """Refuse an event that no suite may hold, ``depth`` levels within so many documents."""
        if isinstance(event, AliasEvent):
            self.fail(event, "aliases (*name) are not allowed in a suite; write the value out")
        if depth > bounds.DEPTH:
            self.fail(event, f"nested deeper than {bounds.DEPTH} levels")
        if documents > 1 and isinstance(event, DocumentStartEvent):
            self.fail(event, "a suite is one document; here begins another")

    def fail(self, event: Event, message: str) -> NoReturn:
        """Raise the one-line error at an event's place."""
        raise SuiteError(self.path, *position(event), message)

    def _refuse_key(self, key: Event, message: str, _: Event) -> NoReturn:
        self.fail(key, message)

    def place(self, event: Event) -> Place:
        """The place where an event begins."""
        return Place(*position(event), self.beside)

    def fail_at(self, place: Place, message: str) -> NoReturn:
        """Raise the one-line error at a place that was kept."""
        raise SuiteError(place.path or self.path, place.line, place.column, message)

    def root(self) -> Event:
        """The first event of the document's content."""
        next(self.events)  # stream start
        if isinstance(start := next(self.events), StreamEndEvent):
            self.fail(start, "the suite is empty; it needs 'queries'")
        return next(self.events)

    def first(self) -> Event:
        """The first event of a value of JSON."""
        return next(self.events)

    def items(self, start: Event, what: str) -> Iterator[tuple[str, ScalarEvent, Event]]:
        """Key text, key and value of each entry of a mapping.

        The caller reads each value to its end.
        """
        if not isinstance(start, MappingStartEvent):
            self.fail(start, f"{what} must be a mapping, not {kind(start)}{_instead(start, what)}")
        seen: dict[str, Event] = {}
        for key in self.events:
            if isinstance(key, MappingEndEvent):
                break
            name = self.text(key, "a key")
            assert isinstance(key, ScalarEvent)
            if name in seen:
                self.fail(key, f"{short(name)} is already given on line {position(seen[name])[0]}")
            seen[name] = key
            yield name, key, next(self.events)

    def fields(
        self, start: Event, what: str, known: Iterable[str]
    ) -> Iterator[tuple[str, ScalarEvent, Event]]:
        """The entries of a mapping of which only some keys are known.

        The caller reads each value to its end.
        """
        for name, key, value in self.items(start, what):
            if name not in known:
                near = did_you_mean(name, known)
                if "@" in name and "thresholds" in known:
                    near = "; limits on measures stand under 'thresholds'"
                unknown = f"unknown key {short(name)} in {what}{near}"
                yield from self.tried(partial(self._refuse_key, key, unknown), value)
            else:
                yield name, key, value

    def entries(self, start: Event, what: str) -> Iterator[Event]:
        """The entries of a list. The caller reads each to its end."""
        if not isinstance(start, SequenceStartEvent):
            self.fail(start, f"{what} must be a list, not {kind(start)}")
        for entry in self.events:
            if isinstance(entry, SequenceEndEvent):
                break
            yield entry

    def texts(self, start: Event, what: str) -> list[tuple[str, Event]]:
        """A list of texts, each once."""
        found: dict[str, Event] = {}
        for entry in self.entries(start, what):
            text = self.text(entry, f"an entry of {what}")
            if text in found:
                self.fail(entry, f"{short(text)} is listed twice in {what}")
            found[text] = entry
        return list(found.items())

    def text(self, event: Event, what: str) -> str:
        """A scalar as written; an empty unquoted one is an error."""
        if not isinstance(event, ScalarEvent):
            self.fail(event, f"{what} must be text, not {kind(event)}")
        value: str = event.value
        if not value or value.isspace():
            self.fail(event, f"{what} is empty")
        return value

    def number(self, event: Event, what: str) -> float:
        """A finite number, unquoted."""
        text = self.text(event, what)
        value = as_number(text)
        if value is None or self.quoted(event):
            self.fail(event, f"{what} must be a number, not {short(text)}")
        return value

    def count(self, event: Event, what: str, least: int = 1, most: int = bounds.CUTOFF) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.number(event, what)
        if value != int(value) or value < least:
            text = short(self.text(event, what))
            self.fail(event, f"{what} must be a whole number of at least {least}, not {text}")
        if value > most:
            self.fail(event, f"{what} is at most {most}, not {value:.0f}")
        return int(value)

    def quoted(self, event: Event) -> bool:
        """Tell whether a scalar stands in quotes or in a block: it is text whatever it spells."""
        return bool(getattr(event, "style", None))

    def is_empty(self, event: Event) -> bool:
        """Tell whether nothing was written: a key with no value."""
        return isinstance(event, ScalarEvent) and not event.value and not event.style

    def choice(self, event: Event, what: str, known: Iterable[str]) -> str:
        """One of some words."""
        text = self.text(event, what)
        if text not in known:
            near = did_you_mean(text, known)
            self.fail(event, f"{what} must be {' or '.join(known)}, not {short(text)}{near}")
        return text

    def value(self, event: Event) -> Any:
        """Any value, with YAML's own types: what a user hands through to a retriever."""
        if isinstance(event, MappingStartEvent):
            return {name: self.value(value) for name, _, value in self.items(event, "params")}
        if isinstance(event, SequenceStartEvent):
            return [self.value(entry) for entry in self.entries(event, "a list")]
        assert isinstance(event, ScalarEvent)
        if event.style:
            return event.value
        loader = yaml.SafeLoader("")
        try:
            tag = loader.resolve(yaml.ScalarNode, event.value, (True, False))  # type: ignore[no-untyped-call]
            if len(event.value) > bounds.DIGITS and not tag.endswith(":str"):
                self.fail(event, f"a number longer than {bounds.DIGITS} characters")
            return loader.construct_object(yaml.ScalarNode(tag, event.value))
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            self.fail(event, f"{short(event.value)} is no value YAML knows: {error}")


def _syntax_error(path: str, text: str, error: yaml.YAMLError) -> SuiteError:
    """The error of a text that is no YAML, in words for whoever wrote it."""
    if isinstance(error, yaml.reader.ReaderError):  # carries no mark
        before = text[: error.position] if isinstance(error.position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return SuiteError(path, line, column, f"not YAML: {error.reason}")
    assert isinstance(error, yaml.MarkedYAMLError)
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    what = ", ".join(part for part in (error.problem, error.context) if part)
    return SuiteError(path, line, column, f"not YAML: {what}")


JSON_WORDS = {True: "true", False: "false", None: ""}


def _json_events(value: Any, mark: Any, depth: int = 1) -> Iterator[Event]:
    if depth > bounds.DEPTH and isinstance(value, (dict, list)):
        raise SuiteError(
            mark.name, mark.line + 1, mark.column + 1, f"nested deeper than {bounds.DEPTH} levels"
        )
    if isinstance(value, dict):
        yield MappingStartEvent(None, None, True, mark, mark)
        for key, entry in value.items():
            yield ScalarEvent(None, None, (True, True), key, mark, mark, '"')
            yield from _json_events(entry, mark, depth + 1)
        yield MappingEndEvent(mark, mark)
    elif isinstance(value, list):
        yield SequenceStartEvent(None, None, True, mark, mark)
        for entry in value:
            yield from _json_events(entry, mark, depth + 1)
        yield SequenceEndEvent(mark, mark)
    else:
        text = JSON_WORDS.get(value, value)
        style = '"' if type(value) is str else None  # a number is a text of its own kind
        yield ScalarEvent(None, None, (True, True), text, mark, mark, style)


def position(event: Event) -> tuple[int, int]:
    """Line and column of an event's first character, both from 1."""
    mark = event.start_mark
    assert mark is not None  # an event from a parser carries one
    return mark.line + 1, mark.column + 1


NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def as_number(text: str) -> float | None:
    """The number a text spells, or None. Neither ``1_000`` nor ``nan`` nor ``inf`` is one here."""
    if len(text) > bounds.DIGITS or not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) <= bounds.NUMBER else None


SECONDS = {"ms": 0.001, "min": 60.0, "s": 1.0}


def as_duration(text: str) -> float | None:
    """The seconds a duration with its unit spells (``200ms``, ``1.5s``, ``2min``), or None."""
    for unit, seconds in SECONDS.items():
        if text.endswith(unit):
            number = as_number(text.removesuffix(unit).rstrip())
            return None if number is None or number < 0 else number * seconds
    return None


def no_grade(written: str, words: Collection[str]) -> str:
    """The error of a grade that is neither a number nor one of the suite's words."""
    near = did_you_mean(written, words)
    a_word = f" or a word of grades ({', '.join(islice(words, MOST_WORDS))})" if words else ""
    return f"a grade must be a number{a_word}, not {short(written)}{near}"


def _instead(start: Event, what: str) -> str:
    """A hint at what to write for a list or a single value that stands in place of a mapping."""
    if isinstance(start, SequenceStartEvent):
        return "; write 'queries:' above it" if what == "the suite" else ""
    if isinstance(start, ScalarEvent) and what == "'relevant'":
        return f"; write [{short(start.value)[1:-1]}]"
    return ""


def kind(event: Event) -> str:
    """The kind of value that an event begins, in words."""
    if isinstance(event, MappingStartEvent):
        return "a mapping"
    return "a list" if isinstance(event, SequenceStartEvent) else "a single value"
