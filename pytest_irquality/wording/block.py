"""The parts that a report is made of: states, cells and tables, which every medium lays out.

They are words and facts; nothing is left to be worded. What goes first where there is too little
room stands with each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import Chunk, SuiteResult, Verdict
from pytest_irquality.wording.numbers import grouped

T = TypeVar("T")


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


class Cell(NamedTuple):
    """A cell: its text, and in small by how much that ``moved`` and what stands ``beside`` it.

    Where there is too little room for the text its ``short`` form stands. ``css`` is its colour,
    and ``shade``, from 1 to 4, how dark that is in a map. A cell with a ``query`` (id) or the
    number of a ``section`` leads there, one with ``tags`` to their queries, and one with ``find``
    to those that a search for it finds. Its bar is ``filled`` so far, as a part of its width.
    """

    text: str
    moved: str = ""
    beside: str = ""
    css: str = ""
    shade: int = 1
    state: State | None = None
    filled: float | None = None
    query: str = ""
    section: int = 0
    find: str = ""
    tags: tuple[str, ...] = ()
    short: str = ""

    def __str__(self) -> str:
        """All of it on one line."""
        text = self.text or ", ".join(self.tags)
        if self.state:
            text = f"{self.state.symbol} {text}" if text else marked(self.state)
        text = f"{text} ({self.moved})" if self.moved else text
        return "; ".join(filter(None, (text, self.beside)))


class Column(NamedTuple):
    """A column by its name. Where there is too little room those of the highest ``rank`` go.

    ``key`` is what an address calls it, and ``order`` the rows as sorted by it, those left out that
    have nothing to be sorted by. A column that may be cut has as many characters as it has ``room``
    where that is little, and none in another.
    """

    name: str
    number: bool = False
    rank: int = 0
    about: str = ""
    key: str = ""
    order: tuple[int, ...] = ()
    room: int = 0


class Row(NamedTuple):
    """A row of cells, with what there is to say of it.

    Where there is room for few rows those of the highest ``rank`` go. ``holds``: nobody needs to
    see it, so that it may be folded away. ``at`` is its place in a file and ``again`` the command
    that runs it again. ``kinds`` are the filters that let it through, ``over`` is a heading that
    stands above it, and ``opens`` what it opens to.
    """

    cells: tuple[Cell | str, ...]
    notes: tuple[str, ...] = ()
    state: State | None = None
    rank: int = 0
    holds: bool = False
    at: str = ""
    again: str = ""
    kinds: tuple[str, ...] = ()
    over: str = ""
    opens: Opened | None = None


class Table(NamedTuple):
    """A table. ``left`` says how many rows it does not have.

    ``filters`` are the words of each kind of rows that one lets through, and how many these are.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    left: str = ""
    fold: str = ""
    filters: Mapping[str, tuple[str, int]] = {}

    def most(self, number: int, rank: int | None = None) -> Table:
        """The table with so many rows at the most, none above a ``rank``."""
        rows = [row for row in self.rows if rank is None or row.rank <= rank]
        kept = sorted(range(len(rows)), key=lambda at: rows[at].rank)[:number]
        left = f"and {grouped(len(rows) - len(kept))} more" if len(rows) > number else ""
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


class Step(NamedTuple):
    """A thing to do next, and the command that does it, if any."""

    words: str
    command: str = ""


class ChangeBar(NamedTuple):
    """A bar of neighbours in the order of their change; ``find`` lists its queries.

    It is as high, above or below the axis, as a part of the tallest one.
    """

    css: str
    height: float
    title: str
    find: str


class Changes(NamedTuple):
    """The changes of every query's value since the baseline, the worst first.

    ``most`` is the change that the tallest bar of the page stands for.
    """

    measure: str
    said: str
    most: str
    bars: tuple[ChangeBar, ...]


class Series(NamedTuple):
    """Values as a line in a box of one by one, whose points are counted from its lower left.

    ``said`` is what they are, and ``limit`` the height of what they are held to.
    """

    said: str
    points: tuple[tuple[float, float], ...]
    limit: float | None = None


class Space(NamedTuple):
    """The room that a medium states: parts of a section, rows of a table, and the ranks of both.

    What there is no room for goes here, and by ``within`` where lines are counted.
    """

    parts: int = 100_000
    rows: int = 100_000
    rank: int = 100_000
    rank_of_rows: int | None = None


class Part(NamedTuple):
    """A part of a report. ``lead`` are the first words of a sentence.

    Where there is too little room, those of the highest ``rank`` go.
    """

    rank: int
    block: str | Step | Table | Changes | Series
    lead: str = ""

    def within(self, space: Space) -> Part:
        """The part with the rows that there is room for."""
        if isinstance(self.block, Table):
            return self._replace(block=self.block.most(space.rows, space.rank_of_rows))
        return self


class Section(NamedTuple):
    """Parts under a title. ``tab`` is the part of a page that has it, with a ``note`` beside it.

    ``warns``: its sentences are to be looked at. ``beside``: it may stand beside the others, and
    ``small``: in small below them.
    """

    title: str
    parts: tuple[Part, ...]
    tab: str = "Overview"
    warns: bool = False
    beside: bool = False
    small: bool = False
    note: str = ""

    def within(self, space: Space) -> Section:
        """The section as far as there is room, with how much more there is."""
        parts = [part.within(space) for part in self.parts if part.rank <= space.rank]
        if len(parts) > space.parts:
            more = f"and {len(parts) - space.parts} more, all in the report"
            parts[space.parts :] = [Part(parts[space.parts].rank, more)]
        return self._replace(parts=tuple(parts))


def within(parts: Sequence[tuple[int, T]], room: int, size: Callable[[T], int]) -> Sequence[T]:
    """Keep as many parts as there is room for, in their order.

    Each comes with its rank: the least weighty (the largest) go first.
    """
    kept = set[int]()
    for place in sorted(range(len(parts)), key=lambda place: parts[place][0]):
        if (needs := size(parts[place][1])) <= room:
            kept.add(place)
            room -= needs
    return [part for place, (_, part) in enumerate(parts) if place in kept]


class Placed(NamedTuple):
    """A document in a ranking.

    ``other`` is its rank on the other side, ``move`` where it came from or went, ``css`` the colour
    of its grade, ``why`` the reason that it was lost, and
    ``often`` in how many of several answers it is.
    """

    rank: int | None
    other: int | None
    id: str
    title: str
    css: str
    grade: str
    move: str
    score: str = ""
    why: str = ""
    chunk: Chunk | None = None
    often: str = ""


class Documents(NamedTuple):
    """Documents under a title. There is something ``said`` of how many they are, in all ``of``."""

    title: str
    said: str
    of: int
    documents: tuple[Placed, ...]


RANKED = (
    Column("rank", number=True),
    Column("was", number=True),
    Column("grade", number=True),
    Column("result"),
    Column("", about="id"),
    Column("", about="why"),
)


class Pair(NamedTuple):
    """The rankings of one query, then and now, with what is expected and in neither.

    ``then`` is None where nothing is compared, ``now`` where nothing answered. ``top`` is the rank
    that counting ends after.
    """

    then: Documents | None
    now: Documents | None
    missing: Documents | None
    top: int

    def as_table(self, most: int) -> Table:
        """Today's ranking, and so many of what is not in it, where there is no room for two."""
        now, missing, then = map(_all, (self.now, self.missing, self.then))
        here = {(one.id, one.other) for one in (*now, *missing)}  # long ids are cut
        left = [one for one in then if (one.id, one.rank) not in here]
        gone = [one._replace(rank=one.other, other=one.rank) for one in left]
        parts = (
            ("", now, len(now)),
            ("expected, but not above", missing[:most], self.missing.of if self.missing else 0),
            ("above before, but not now", gone[:most], len(gone)),
        )
        return Table(RANKED, tuple(row for part in parts for row in self._rows(*part)))

    def _rows(self, title: str, some: Sequence[Placed], of: int) -> Iterator[Row]:
        """The rows of a part of the table, under its title; what moved has the lower rank."""
        first = f", the first {len(some)} of {grouped(of)}" if of > len(some) else ""
        for place, one in enumerate(some):
            over = f"{title}{first}:" if title and not place else ""
            was = placed(one.other) if self.then else ""
            result = (one.title, one.id) if one.title else (one.id, "")
            why = "; ".join(filter(None, (one.often, one.why)))
            cells = (placed(one.rank), was, one.grade, *result, f"← {why}" if why else "")
            yield Row(cells, rank=int(one.move == "="), over=over)


def _all(side: Documents | None) -> Sequence[Placed]:
    return side.documents if side else ()


def placed(rank: int | None) -> str:
    """A rank; a dash of what is not there."""
    return "–" if rank is None else str(rank)


class Opened(NamedTuple):
    """The contents of a query's row: all that there is to say of it.

    ``whole`` is its text where the row has a part of it, ``elsewhere`` the place of texts that are
    not here, and ``fates`` what became of what is relevant.
    """

    whole: str
    remarks: tuple[tuple[str, str], ...]
    fault: str
    rules: tuple[tuple[State, str], ...]
    pair: Pair
    fates: str
    at: str
    again: str
