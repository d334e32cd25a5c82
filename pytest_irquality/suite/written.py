"""What is written in a suite, in the file's order, before any of it can mean anything.

Keys may stand in any order, and some (``top_k``, ``grades``) bear on others, so everything is read first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from yaml.events import Event, MappingStartEvent, ScalarEvent, SequenceStartEvent

from pytest_irquality.suite.model import BoundKind, Guard, GuardKind, KnownIssue, Place
from pytest_irquality.suite.yaml import (
    Document,
    SuiteError,
    as_duration,
    as_number,
    position,
    short,
)

T = TypeVar("T")

SUITE_KEYS = (
    "suite", "retriever", "top_k", "depth", "params", "grades", "relevant_from", "undefined", "id_field", "match",
    "duplicates", "concurrency", "timeout", "warmup", "errors", "metrics", "thresholds", "tags", "each_tag",
    "each_query", "baseline", "judgments", "queries",
)  # fmt: skip
QUERY_KEYS = (
    "query", "id", "tags", "why", "relevant", "must_find", "must_find_any", "must_not_find", "in_order", "thresholds",
    "weight", "params", "known_issue", "expect_no_results",
)  # fmt: skip
FOR_QUERY = dict.fromkeys(
    ("q", "text", "search", "search_term", "keyword", "keywords", "question"), "query"
)
FILE_KEYS = ("file", "format", "split")
BOUND_KEYS: Mapping[str, BoundKind] = {
    "min": "min", "max": "max", "warn_below": "warn_below", "warn_above": "warn_above", "max_drop": "max_drop",
    "max_rise": "max_rise", "max_significant_drop": "max_significant_drop",
}  # fmt: skip
GUARDS: tuple[GuardKind, ...] = ("lost_all_relevant", "new_zero_results")
DEEPEST = 100_000
SWITCHES = ("true", "false", "yes", "no", "on", "off", "null", "none", "~")


@dataclass(frozen=True)
class Written:
    """A query as read, before the keys that stand anywhere in the file (top_k, grades) can be applied to it."""

    fields: Mapping[str, Any]
    place: Place
    key_places: Mapping[str, Place]
    bulk: bool = False

    @property
    def id(self) -> str:
        """Its id, which is its text where none is given."""
        id: str = self.fields.get("id", self.fields["query"])
        return id


@dataclass(frozen=True)
class WrittenFile:
    """A file of queries or judgments, or a pattern for several, as the suite names it."""

    file: str
    place: Place
    format: str | None = None
    split: str = "test"
    bare: bool = False  # only a text in the list of queries, where a query may have been meant


@dataclass(frozen=True)
class Word:
    """What stands where a grade should, and is no number: a word of ``grades``, or a mistake."""

    text: str
    place: Place


class WrittenBound(NamedTuple):
    """A number under ``min``, ``max_drop`` and the like; under no ``kind`` where it stands alone."""

    kind: str
    text: str
    place: Place
    quoted: bool


@dataclass(frozen=True)
class Line:
    """A line of a block of limits: its bounds, or the documents of a rule, or a guard (None where it is ignored)."""

    name: str
    place: Place
    bounds: tuple[WrittenBound, ...] = ()
    known: KnownIssue | None = None
    documents: Sequence[tuple[str, int | None]] = ()
    guard: Guard | None = None


class Reader:
    """Reads one document. Whatever is wrong is a ``SuiteError`` at its place."""

    def __init__(self, document: Document, path: str = "") -> None:
        self.doc = document
        self.path = path  # of another file than the suite
        self.numbers: dict[str, float] = {}
        self.query_readers: Mapping[str, Callable[[Event], Any]] = {
            "query": lambda e: document.text(e, "'query'"),
            "id": lambda e: document.text(e, "'id'"),
            "tags": lambda e: (
                tuple(text for text, _ in document.texts(e, "'tags'"))
                if isinstance(e, SequenceStartEvent)
                else (document.text(e, "'tags'"),)
            ),
            "why": lambda e: document.text(e, "'why'"),
            "relevant": self._relevant,
            "must_find": lambda e: self._ranks(e, "must_find"),
            "must_find_any": lambda e: self._ranks(e, "must_find_any"),
            "must_not_find": lambda e: self._ranks(e, "must_not_find"),
            "in_order": lambda e: [text for text, _ in document.texts(e, "in_order")],
            "thresholds": lambda e: self._lines(e, "'thresholds'"),
            "weight": self._weight,
            "params": self._params,
            "known_issue": self._known_issue,
            "expect_no_results": lambda e: (
                document.choice(e, "'expect_no_results'", ("true", "false")) == "true"
            ),
            "file": lambda e: document.text(e, "'file'"),
            "format": self._format,
            "split": lambda e: document.text(e, "'split'"),
        }
        assert tuple(self.query_readers) == (*QUERY_KEYS, *FILE_KEYS)

    def fail(self, place: Place, message: str) -> SuiteError:
        """The error at a place, to be raised."""
        return SuiteError(place.path or self.doc.path, place.line, place.column, message)

    def place(self, event: Event) -> Place:
        """Where an event begins."""
        return Place(*position(event), self.path)

    def suite(self) -> dict[str, Any]:
        """What stands under each key, and under ``key@`` where the key stands."""
        doc = self.doc
        root = doc.root()
        found: dict[str, Any] = {}
        readers: Mapping[str, Callable[[Event], Any]] = {
            "suite": lambda e: doc.text(e, "'suite'"),
            "retriever": lambda e: (self._identifier(e), self.place(e)),
            "top_k": lambda e: self._cutoff(e, "'top_k'"),
            "depth": lambda e: self._cutoff(e, "'depth'"),
            "params": self._params,
            "grades": self._grades,
            "relevant_from": self._relevant_from,
            "undefined": lambda e: doc.choice(e, "'undefined'", ("skip", "zero")),
            "id_field": lambda e: doc.text(e, "'id_field'"),
            "match": lambda e: doc.choice(e, "'match'", ("id", "text")),
            "duplicates": lambda e: doc.choice(e, "'duplicates'", ("collapse", "error")),
            "concurrency": lambda e: doc.count(e, "'concurrency'"),
            "timeout": self._timeout,
            "warmup": lambda e: doc.count(e, "'warmup'", 0),
            "errors": self._errors,
            "metrics": lambda e: [
                (text, self.place(entry)) for text, entry in doc.texts(e, "'metrics'")
            ],
            "thresholds": lambda e: self._lines(e, "'thresholds'"),
            "tags": self._tag_lines,
            "each_tag": lambda e: self._lines(e, "'each_tag'"),
            "each_query": lambda e: self._lines(e, "'each_query'", rules=True),
            "baseline": self._baseline_retriever,
            "judgments": lambda e: self._list_or_one(e, "'judgments'", self._file),
            "queries": lambda e: self._list_or_one(e, "'queries'", self._query),
        }
        assert tuple(readers) == SUITE_KEYS
        for name, key, value in doc.fields(root, "the suite", SUITE_KEYS):
            found[name] = readers[name](value)
            found[f"{name}@"] = self.place(key)
        doc.finish()
        if "queries" not in found:
            doc.fail(root, "the suite has no 'queries'")
        if not found["queries"]:
            raise self.fail(found["queries@"], "'queries' is empty")
        return found

    def query(self) -> Written:
        """The query that is all of the document."""
        query = self._query(self.doc.first())
        assert isinstance(query, Written)
        return query

    def _identifier(self, event: Event) -> str:
        name = self.doc.text(event, "'retriever'")
        if not name.isidentifier():
            self.doc.fail(event, f"'retriever' must be the name of a fixture, not {short(name)}")
        return name

    def _cutoff(self, event: Event, what: str) -> int:
        value = self.doc.count(event, what)
        if value > DEEPEST:
            self.doc.fail(event, f"{what} is at most {DEEPEST}, not {value}")
        return value

    def _params(self, event: Event) -> dict[str, Any]:
        if not isinstance(event, MappingStartEvent):
            self.doc.fail(event, "'params' must be a mapping of keyword arguments")
        params: dict[str, Any] = self.doc.value(event)
        return params

    def _grades(self, event: Event) -> dict[str, float]:
        grades = {}
        for word, key, value in self.doc.items(event, "'grades'"):
            if as_number(word) is not None:
                self.doc.fail(key, f"a grade word cannot be a number: {short(word)}")
            grades[word] = self.doc.number(value, f"the grade {short(word)}")
        return grades

    def _relevant_from(self, event: Event) -> float:
        value = self.doc.number(event, "'relevant_from'")
        if value <= 0:
            self.doc.fail(event, "'relevant_from' must be above 0: a grade of 0 means not relevant")
        return value

    def _timeout(self, event: Event) -> float:
        text = self.doc.text(event, "'timeout'")
        seconds = as_duration(text)
        if not seconds:
            self.doc.fail(
                event, f"'timeout' is a duration with its unit (500ms, 5s, 1min), not {short(text)}"
            )
        return seconds

    def _baseline_retriever(self, event: Event) -> str | None:
        name = None
        for _, _, value in self.doc.fields(event, "'baseline'", ("retriever",)):
            name = self.doc.text(value, "'baseline: retriever'")
        if name is None:
            self.doc.fail(
                event,
                "'baseline' needs 'retriever', the name of one value of the parametrised fixture",
            )
        return name

    def _guard(self, name: str, key: Event, event: Event) -> Line:
        levels = {"fail": 0, "warn": None}
        if isinstance(event, MappingStartEvent):
            most: int | None = 0
            for _, _, value in self.doc.fields(event, name, ("max",)):
                most = self.doc.count(value, f"'{name}: max'", 0)
        elif (level := self.doc.choice(event, name, (*levels, "ignore"))) == "ignore":
            return Line(name, self.place(key))
        else:
            most = levels[level]
        return Line(name, self.place(key), guard=Guard(name, most, self.place(key)))  # type: ignore[arg-type]

    def _errors(self, event: Event) -> int:
        most = 0
        for _, _, value in self.doc.fields(event, "'errors'", ("max",)):
            most = self.doc.count(value, "'errors: max'", 0)
        return most

    def _tag_lines(self, event: Event) -> list[tuple[str, Place, list[Line]]]:
        return [
            (tag, self.place(key), self._lines(value, f"tag {short(tag)}"))
            for tag, key, value in self.doc.items(event, "'tags'")
        ]

    def _lines(self, event: Event, what: str, rules: bool = False) -> list[Line]:
        """The lines of one block."""
        lines = []
        for name, key, value in self.doc.items(event, what):
            if rules and name == "must_not_find":
                lines.append(Line(name, self.place(key), documents=self._ranks(value, name)))
            elif rules and name in GUARDS:
                lines.append(self._guard(name, key, value))
            elif isinstance(value, MappingStartEvent):
                bounds, known = [], None
                for bound, _, number in self.doc.fields(value, name, (*BOUND_KEYS, "known_issue")):
                    if bound == "known_issue":
                        known = self._known_issue(number)
                    else:
                        bounds.append(self._bound(bound, number, f"{bound!r}"))
                lines.append(Line(name, self.place(key), tuple(bounds), known))
            else:
                lines.append(
                    Line(name, self.place(key), (self._bound("", value, f"the limit of {name}"),))
                )
        return lines

    def _bound(self, kind: str, event: Event, what: str) -> WrittenBound:
        return WrittenBound(
            kind, self.doc.text(event, what), self.place(event), bool(getattr(event, "style", None))
        )

    def _ranks(self, event: Event, what: str) -> list[tuple[str, int | None]]:
        """Documents of a rule, each with its rank; a list leaves the rank to top_k."""
        if isinstance(event, SequenceStartEvent):
            found: list[tuple[str, int | None]] = [
                (document, None) for document, _ in self.doc.texts(event, what)
            ]
        else:
            found = [
                (document, self._cutoff(value, f"the rank of {short(document)}"))
                for document, _, value in self.doc.items(event, what)
            ]
        if not found:
            self.doc.fail(event, f"{what} names no document")
        return found

    def _known_issue(self, event: Event) -> KnownIssue:
        if isinstance(event, MappingStartEvent):
            items = self.doc.items(event, "'known_issue'")
            retrievers = {
                name: self._issue(value, f"the known issue of {short(name)}")
                for name, _, value in items
            }
            if not retrievers:
                self.doc.fail(event, "'known_issue' names no retriever")
            return KnownIssue(None, retrievers)
        return KnownIssue(self._issue(event, "'known_issue'"))

    def _issue(self, event: Event, what: str) -> str:
        """The id of an issue. A switch would otherwise pass for one, and turn what is broken green."""
        text = self.doc.text(event, what)
        if not getattr(event, "style", None) and text.lower() in SWITCHES:
            self.doc.fail(
                event,
                f"{what} takes the id of the issue, such as SHOP-123, not {text}; without one, leave it out",
            )
        return text

    def _relevant(self, event: Event) -> tuple[Mapping[str, float | Word | None], list[int]]:
        """Each document's grade (a number, a word still to be looked up, None for a bare list entry), and its line."""
        if isinstance(event, SequenceStartEvent):
            listed = self.doc.texts(event, "'relevant'")
            return {document: None for document, _ in listed}, [
                position(entry)[0] for _, entry in listed
            ]
        grades: dict[str, float | Word | None] = {}
        lines = []
        for document, key, value in self.doc.items(event, "'relevant'"):
            grades[document] = self._grade(document, value)
            lines.append(position(key)[0])
        return grades, lines

    def _grade(self, document: str, event: Event) -> float | Word:
        if not isinstance(event, ScalarEvent):
            self.doc.fail(
                event, f"the grade of {short(document)} must be a number or a word of 'grades'"
            )
        text = event.value or self.doc.text(event, f"the grade of {short(document)}")
        if not event.style:
            if text in self.numbers:
                return self.numbers[text]
            if (number := as_number(text)) is not None:
                return self.numbers.setdefault(text, number)
        return Word(text, self.place(event))

    def _list_or_one(self, event: Event, what: str, read: Callable[[Event], T]) -> list[T]:
        if isinstance(event, SequenceStartEvent):
            return [read(entry) for entry in self.doc.entries(event, what)]
        return [] if self.doc.is_empty(event) else [read(event)]

    def _file(self, event: Event) -> WrittenFile:
        if isinstance(event, ScalarEvent):
            return WrittenFile(self.doc.text(event, "the path of a file"), self.place(event))
        readers = {key: self.query_readers[key] for key in FILE_KEYS}
        found = {
            name: readers[name](value)
            for name, _, value in self.doc.fields(event, "a file", readers)
        }
        if "file" not in found:
            self.doc.fail(event, "no 'file': write the path, or {file: path, format: name}")
        return WrittenFile(place=self.place(event), **found)

    def _format(self, event: Event) -> str:
        from pytest_irquality.suite.files.source import NAMES  # noqa: PLC0415 - the formats only where one is named

        return self.doc.choice(event, "'format'", NAMES)

    def _query(self, event: Event) -> Written | WrittenFile:
        """A query, or a file of queries: which of the two the keys tell."""
        if isinstance(event, ScalarEvent):
            return replace(self._file(event), bare=True)
        found, places = {}, {}
        for name, key, value in self.doc.fields(event, "a query", self.query_readers, FOR_QUERY):
            found[name], places[name] = self.query_readers[name](value), self.place(key)
        if of_file := next((name for name in found if name in FILE_KEYS), None):
            if other := next((name for name in found if name not in FILE_KEYS), None):
                raise self.fail(
                    places[other],
                    f"{other!r} does not go with {of_file!r}: this is a query or a file of them",
                )
            if "file" not in found:
                self.doc.fail(event, "no 'file': write the path, or {file: path, format: name}")
            return WrittenFile(place=self.place(event), **found)
        if "query" not in found:
            self.doc.fail(event, "a query has no 'query'")
        if len(found.get("in_order", "ab")) < 2:
            raise self.fail(places["in_order"], "in_order needs at least two documents")
        return Written(found, self.place(event), places)

    def _weight(self, event: Event) -> float:
        value = self.doc.number(event, "'weight'")
        if value < 0:
            self.doc.fail(event, "'weight' must not be negative")
        return value
