"""What the templates of the HTML report are given: words and widths, nothing left to compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """An outcome, never told by its colour alone. ``css`` is one of good, bad, warn, quiet."""

    css: str
    symbol: str
    word: str


STATES: Mapping[str, State] = {
    "passed": State("good", "✓", "passed"),
    "failed": State("bad", "✗", "failed"),
    "error": State("bad", "⊘", "error"),
    "fixed": State("bad", "★", "fixed, still marked as known issue"),
    "not evaluated": State("bad", "◌", "not evaluated"),
    "known": State("warn", "⚠", "known issue"),
    "warned": State("warn", "⚠", "warning"),
    "no rules": State("quiet", "·", "no rules"),
}


@dataclass(frozen=True)
class Name:
    """A measure, with the anchor of its definition ("" where the page has none)."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Bar:
    """Percent of the width: how far it is filled, and where the tick stands."""

    css: str
    filled: str
    tick: str | None = None


@dataclass(frozen=True)
class Reason:
    """A line under the headline, linked to where the rest is told."""

    state: State
    where: str
    text: str
    anchor: str
    query: bool


@dataclass(frozen=True)
class Held:
    """One demand of a line of limits, as a row."""

    subject: str
    anchor: str
    state: State
    text: str
    value: str
    limit: str
    queries: str
    bar: Bar | None


@dataclass(frozen=True)
class Line:
    """A line of limits: one demand tells it whole, of several only the broken are spread out."""

    anchor: str
    label: str
    place: str
    state: State
    reason: str
    rerun: str
    only: Held | None
    spread: tuple[Held, ...]
    kept: tuple[Held, ...]
    folded: str
    unsaid: str


@dataclass(frozen=True)
class Cell:
    """A mean, marked where a limit on it is broken. ``over`` says of how many, where its row does not."""

    measure: str
    value: str
    over: str
    state: State | None
    bar: Bar | None


@dataclass(frozen=True)
class Row:
    """A tag's means, or a retriever's."""

    name: str
    anchor: str
    state: State | None
    queries: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Document:
    """A document. ``css`` is its grade's colour, ``grade`` that in words; ``place`` where a missing one is instead."""

    rank: str
    place: str
    id: str
    title: str
    css: str
    grade: str
    score: str


@dataclass(frozen=True)
class Rule:
    """A demand on this query, kept or not."""

    state: State
    text: str


@dataclass(frozen=True)
class Query:
    """A query's row, and what it opens to."""

    anchor: str
    text: str
    whole: str
    id: str
    tags: tuple[str, ...]
    values: tuple[tuple[str, str], ...]
    state: State
    outcome: str
    summary: str
    opened: bool
    why: str
    fault: str
    rules: tuple[Rule, ...]
    ranking: tuple[Document, ...]
    ranked: str
    missing: tuple[Document, ...]
    place: str
    latency: str
    rerun: str


@dataclass(frozen=True)
class Section:
    """A suite and retriever."""

    anchor: str
    title: str
    retriever: str
    path: str
    state: State
    facts: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    measures: tuple[Name, ...]
    lines: tuple[Line, ...]
    total: Row
    tags: tuple[Row, ...]
    coverage: str
    coverage_bar: Bar | None
    queries: tuple[Query, ...]
    counts: tuple[tuple[State, str], ...]


@dataclass(frozen=True)
class Page:
    """The report."""

    title: str
    state: State
    headline: str
    reasons: tuple[Reason, ...]
    more: str
    facts: tuple[str, ...]
    not_evaluated: tuple[str, ...]
    generated: str
    compared: tuple[Name, ...]
    sections: tuple[Section, ...]
    rows: tuple[Row, ...]
    definitions: tuple[tuple[Name, str], ...]
