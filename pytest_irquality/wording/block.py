"""The parts that a report is made of: states, cells and tables, which every medium lays out.

They are words and facts; nothing is left to be worded. What goes first where there is too little
room stands with each part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.numbers import counted


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


def loudness(outcome: str) -> int:
    """The place of an outcome in a list that begins with the worst."""
    return LOUDEST_FIRST.index(outcome)


def state_in(result: SuiteResult, outcome: str) -> State:
    """The state of an outcome in a suite's result."""
    return IN_PART if outcome == "passed" and result.partial else STATES[outcome]


def state_of(result: SuiteResult, verdict: Verdict, finding: Finding) -> State:
    """The state of a single demand."""
    if finding.ok:
        return state_in(result, "passed")
    if not finding.fails:
        return STATES["warned"]
    return STATES[verdict.outcome if verdict.outcome in EXPECTED else "failed"]


def marked(state: State) -> str:
    """A state where there is little room: a tick or a cross says all."""
    word = "" if state in (STATES["passed"], STATES["failed"]) else f" {state.word}"
    return f"{state.symbol}{word}"


class Bar(NamedTuple):
    """A bar: how far it is filled, and where its ticks are, as parts of its width."""

    css: str
    filled: float
    limit: float | None = None
    before: float | None = None


class Cell(NamedTuple):
    """A cell: its text, and in small by how much that ``moved`` and what stands ``beside`` it.

    ``css`` is its colour, for a picture with its shade. A cell with a ``query`` (id) or the
    number of a ``section`` leads there, one with a ``tag`` to its queries.
    """

    text: str
    moved: str = ""
    beside: str = ""
    css: str = ""
    state: State | None = None
    bar: Bar | None = None
    query: str = ""
    section: int = 0
    tag: str = ""

    def __str__(self) -> str:
        """All of it on one line."""
        text = self.text
        if self.state:
            text = f"{self.state.symbol} {text}" if text else marked(self.state)
        text = f"{text} ({self.moved})" if self.moved else text
        return "; ".join(filter(None, (text, self.beside)))


class Column(NamedTuple):
    """A column by its name. Where there is too little room those of the highest ``rank`` go."""

    name: str
    number: bool = False
    rank: int = 0
    about: str = ""


class Row(NamedTuple):
    """A row of cells, with what there is to say of it.

    Where there is room for few rows those of the highest ``rank`` go. ``holds``: nobody needs to
    see it, so that it may be folded away. ``name`` is unique within its report, ``at`` its place
    in a file and ``again`` the command that runs it again.
    """

    cells: tuple[Cell | str, ...]
    notes: tuple[str, ...] = ()
    state: State | None = None
    rank: int = 0
    holds: bool = False
    name: str = ""
    at: str = ""
    again: str = ""


class Table(NamedTuple):
    """A table. ``left`` says how many rows it does not have."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    left: str = ""
    fold: str = ""

    def most(self, number: int, rank: int | None = None) -> Table:
        """The table with so many rows at the most, none above a ``rank``."""
        rows = [row for row in self.rows if rank is None or row.rank <= rank]
        kept = sorted(range(len(rows)), key=lambda at: rows[at].rank)[:number]
        left = f"and {counted(len(rows) - len(kept), 'more row')}" if len(rows) > number else ""
        return self._replace(rows=tuple(rows[at] for at in sorted(kept)), left=left or self.left)

    def without_empty(self) -> Table:
        """The table without columns that are empty below their heads."""
        return self.only([n for n, c in enumerate(self.columns) if any(map(str, self.column(n)))])

    def column(self, at: int) -> Sequence[Cell | str]:
        """The cells of a column."""
        return [row.cells[at] for row in self.rows]

    def only(self, places: Sequence[int]) -> Table:
        """The table with the columns at these places."""
        rows = (row._replace(cells=tuple(row.cells[at] for at in places)) for row in self.rows)
        return self._replace(columns=tuple(self.columns[at] for at in places), rows=tuple(rows))
