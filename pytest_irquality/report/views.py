"""Values that the templates and the script of the HTML report are given.

They are words and widths, nothing left to compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pytest_irquality.verdict.result import Chunk
from pytest_irquality.wording.block import State


class MeasureName(NamedTuple):
    """A measure, with the anchor of its definition ("" where the page has none)."""

    text: str
    anchor: str


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
