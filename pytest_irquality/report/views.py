"""Values that the templates and the script of the HTML report are given.

They are words and widths, nothing left to compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_irquality.verdict.result import Chunk, SuiteResult


class State(NamedTuple):
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
    "accepted": State("warn", "▼", "accepted drop"),
    "warned": State("warn", "⚠", "warning"),
    "tied": State("warn", "≈", "tie order only"),
    "new": State("quiet", "+", "new"),
    "uncompared": State("quiet", "–", "nothing to compare"),
    "no rules": State("quiet", "·", "no rules"),
}
IN_PART = State("good", "·", "holds")
"""What passed in a suite that was judged in part: nothing there has a tick."""
LEVELS = {"bad": "✗", "warn": "⚠", "good": "✓"}
EXPECTED = ("known", "accepted")  # broken, and said to be
LOUDEST_FIRST = (
    "failed",
    "error",
    "fixed",
    "not evaluated",
    "accepted",
    "known",
    "passed",
    "no rules",
)


def state_in(result: SuiteResult, outcome: str) -> State:
    """The state of an outcome in a suite's result."""
    return IN_PART if outcome == "passed" and result.partial else STATES[outcome]


def percent(part: float) -> str:
    """A part of a bar's width, never beyond either end."""
    return f"{100 * min(max(part, 0.0), 1.0):.4g}"


def loudness(outcome: str) -> int:
    """The place of an outcome in a list that begins with the worst."""
    return LOUDEST_FIRST.index(outcome)


class MeasureName(NamedTuple):
    """A measure, with the anchor of its definition ("" where the page has none)."""

    text: str
    anchor: str


class Bar(NamedTuple):
    """A bar in percent of its width: how far it is filled, and its ticks.

    ``limit`` and ``before`` are the places of the limit's tick and of the baseline's.
    """

    css: str
    filled: str
    limit: str | None = None
    before: str | None = None


class Reason(NamedTuple):
    """A line under the headline, linked to where the rest is told.

    ``query`` is its row in the section, or None. ``label`` is what broke, in short.
    """

    state: State
    label: str
    where: str
    text: str
    anchor: str
    section: str
    query: int | None


class BoundRow(NamedTuple):
    """One demand of a line of limits, as a row."""

    subject: str
    anchor: str
    query: int | None
    state: State
    text: str
    before: str
    value: str
    limit: str
    note: str
    queries: str
    bar: Bar | None


class LimitView(NamedTuple):
    """A limit as a card.

    ``only``: its one demand, which then says all. Of several, ``rows`` are listed and ``held_rows``
    folded away under ``held_title``, since they hold.
    """

    anchor: str
    label: str
    place: str
    state: State
    reason: str
    rerun: str
    only: BoundRow | None
    rows: tuple[BoundRow, ...]
    held_rows: tuple[BoundRow, ...]
    held_title: str
    unlisted: str
    otherwise: str = ""


class Cell(NamedTuple):
    """A mean, marked where a limit on it is broken.

    ``over`` says of how many, where its row does not. ``best``: no retriever of the suite has a
    better one. ``note`` is how it stands beside the best. ``heat`` is how much changed, 0 to 4.
    """

    measure: str
    before: str
    value: str
    change: str
    css: str
    over: str
    state: State | None
    bar: Bar | None
    best: bool = False
    note: str = ""
    heat: int = 0


class MeansRow(NamedTuple):
    """The means of a tag or a suite.

    That of a suite says too how many checks failed, what queries did and how long calls took.
    """

    name: str
    anchor: str
    state: State | None
    queries: str
    cells: tuple[Cell, ...]
    failures: str = ""
    tally: str = ""
    latency: str = ""


class DocumentRow(NamedTuple):
    """A document in a ranking.

    ``css`` is its grade's colour and ``grade`` that in words; ``move`` where it went.
    """

    rank: int | str
    id: str
    title: str
    css: str
    grade: str
    move: str
    score: str
    chunk: Chunk | None = None
    why: str = ""


class DemandRow(NamedTuple):
    """A demand on this query, kept or not."""

    state: State
    text: str


class Value(NamedTuple):
    """A measure's value for one query; ``before`` and ``change`` are "" without a comparison."""

    measure: str
    now: str
    before: str = ""
    change: str = ""
    css: str = ""


class QueryRow(NamedTuple):
    """A query's row.

    ``kinds`` are the filters that let it through; ``opened``: its detail is seen at once where no
    script runs.
    """

    anchor: str
    text: str
    id: str
    tags: tuple[str, ...]
    state: State
    outcome: str
    said: str
    kinds: tuple[str, ...]
    opened: bool
    latency: str


class Detail(NamedTuple):
    """The contents of a query's row."""

    whole: str
    remarks: tuple[tuple[str, str], ...]
    fault: str
    rules: tuple[DemandRow, ...]
    ranking: tuple[DocumentRow, ...]
    ranked: str
    ranking_before: tuple[DocumentRow, ...]
    ranked_before: str
    missing: tuple[DocumentRow, ...]
    listed: str
    told: tuple[tuple[str, str], ...]
    place: str
    rerun: str
    fates: str = ""
    texts_elsewhere: str = ""


class Listed(NamedTuple):
    """A query as it stands on the page for readers without scripts."""

    query: QueryRow
    values: tuple[Value, ...]
    detail: Detail | None


@dataclass(frozen=True)
class Chip:
    """A filter of the query table and how many pass it."""

    key: str
    label: str
    count: int


class ChangeBar(NamedTuple):
    """A bar of neighbours among all queries in the order of their change; ``find`` lists them."""

    css: str
    x: float
    y: float
    width: float
    height: float
    title: str
    find: str


class Changes(NamedTuple):
    """The changes of every query's value of one measure since the baseline, in one row.

    ``most`` is the change that the tallest bar of the page stands for.
    """

    measure: str
    said: str
    most: str
    steps: tuple[ChangeBar, ...]


class Column(NamedTuple):
    """A column of the query table, a cell for each query. ``order`` are the rows as sorted by it.

    ``key`` is what the page's address calls it. Rows that have nothing to be sorted by are not in
    ``order``. ``sides`` are the colours of the cells, empty where they have none; a column that is
    not ``listed`` is seen in details only.
    """

    key: str
    label: str
    about: str
    cells: tuple[str, ...]
    sides: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    listed: bool = True


class Table(NamedTuple):
    """All the queries of a section, worst first."""

    columns: tuple[Column, ...]
    queries: tuple[QueryRow, ...]
    changes: tuple[float | None, ...] = ()


class Chart(NamedTuple):
    """A measure over the last changes: lines in a box of 300 by 40.

    They are broken where others were measured. ``points`` are commits and values.
    """

    measure: str
    said: str
    lines: tuple[str, ...]
    points: tuple[tuple[str, str], ...]
    limit: str = ""
