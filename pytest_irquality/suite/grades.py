"""Kinds of grades: what a suite says of documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from yaml.events import Event, ScalarEvent, SequenceStartEvent

from pytest_irquality.suite.key_tables import Kind
from pytest_irquality.suite.values import ANY_TEXT, choice, distinct
from pytest_irquality.suite.yaml import Document, Place, as_number, position, short


class Word(NamedTuple):
    """Something that stands where a grade should, and is no number.

    It is a word of ``grades``, or a mistake.
    """

    text: str
    place: Place


class Relevant(NamedTuple):
    """Each document's grade (None for an entry of a list), and the line where each stands."""

    grades: Mapping[str, float | Word | None]
    lines: tuple[int, ...]

    @property
    def line_of(self) -> Mapping[str, int]:
        """The line of each document."""
        return dict(zip(self.grades, self.lines, strict=True))


def _relevant(document: Document, event: Event, what: str) -> Relevant:
    if isinstance(event, SequenceStartEvent):
        listed = document.texts(event, what)
        lines = tuple(position(entry)[0] for _, entry in listed)
        return Relevant(dict.fromkeys(id for id, _ in listed), lines)
    grades: dict[str, float | Word | None] = {}
    places = []
    for id, key_event, value in document.items(event, what):
        grades[id] = _grade(document, id, value)
        places.append(position(key_event)[0])
    return Relevant(grades, tuple(places))


def _grade(document: Document, id: str, event: Event) -> float | Word:
    if not isinstance(event, ScalarEvent):
        document.fail(event, f"the grade of {short(id)} must be a number or a word of 'grades'")
    text = event.value or document.text(event, f"the grade of {short(id)}")
    if not event.style:
        if text in document.numbers:
            return document.numbers[text]
        if (number := as_number(text)) is not None:
            return document.numbers.setdefault(text, number)
    return Word(text, document.place(event))


def _grade_words(document: Document, event: Event, what: str) -> Mapping[str, float]:
    grades = {}
    for word, key_event, value in document.items(event, what):
        if as_number(word) is not None:
            document.fail(key_event, f"a grade word cannot be a number: {short(word)}")
        grades[word] = document.number(value, f"the grade {short(word)}")
    return grades


def _relevant_from(document: Document, event: Event, what: str) -> float:
    value = document.number(event, what)
    if value <= 0:
        document.fail(event, f"{what} must be above 0: a grade of 0 means not relevant")
    return value


Match = Literal["id", "text"]
MATCH: Kind[Match] = choice("id", "text")
RELEVANT: Kind[Relevant] = Kind(
    _relevant,
    {"anyOf": [distinct(ANY_TEXT), {"type": "object", "additionalProperties": ANY_TEXT}]},
    "documents, with grades or without",
)
GRADE_WORDS: Kind[Mapping[str, float]] = Kind(
    _grade_words,
    {"type": "object", "additionalProperties": {"type": "number"}},
    "words, each with its number",
)
LOWEST_GRADE: Kind[float] = Kind(
    _relevant_from, {"type": "number", "exclusiveMinimum": 0}, "a number above 0"
)
