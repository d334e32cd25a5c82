"""The table of queries: one row for each query of a suite, and the columns that reports show.

To add a column, add it to ``QUERY_COLUMNS``. Every report reads its columns from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from pytest_irquality.evaluation.comparison import QueryChange, QueryStatus
from pytest_irquality.evaluation.documents import DocChange
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.text import DataPart, DocPart, Text, join, write
from pytest_irquality.reports.numbers import Number
from pytest_irquality.suite.model import Query


class Direction(Enum):
    """How the answer to a query changed, in the primary metric of its suite.

    Attributes:
        CHANGED: The ranking of a query without judgments changed, or of one whose metric did not.
        NONE: The query was not compared.
    """

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NONE = "not compared"


@dataclass(frozen=True)
class Move:
    """A document of a query that moved.

    Attributes:
        finding: Why the document is missing or lower, if known.
    """

    doc: DocPart
    rank_before: int | None
    rank_now: int | None
    is_loss: bool
    finding: Text = Text()

    @property
    def ranks(self) -> str:
        """Return both ranks: ``1 → 3``."""
        raise NotImplementedError

    @property
    def text(self) -> Text:
        """Return the title and both ranks."""
        raise NotImplementedError


@dataclass(frozen=True)
class QueryRow:
    """A query in the table of queries.

    Attributes:
        suite: The name of the suite.
        outcome: The worst outcome of the query's own checks, or ``FAILED`` without an answer.
        metric: The primary metric of the suite, of which ``before`` and ``now`` are values.
        delta: The change, negative for the worse, or 0.
        evaluation: The evaluation of the suite, for details.
    """

    query: Query
    suite: str
    suite_path: str
    retriever: str
    status: QueryStatus
    direction: Direction
    outcome: Outcome
    metric: str
    before: Number | None = None
    now: Number | None = None
    change: Number | None = None
    delta: float = 0.0
    change_of_query: QueryChange | None = field(default=None, repr=False, compare=False)
    evaluation: Evaluation | None = field(default=None, repr=False, compare=False)

    @cached_property
    def documents(self) -> tuple[DocChange, ...]:
        """Return the documents of both rankings."""
        raise NotImplementedError

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """Return the documents that explain the change, most important first."""
        raise NotImplementedError

    @cached_property
    def moves_text(self) -> Text:
        """Return the most important moves as a text."""
        raise NotImplementedError

    @cached_property
    def replacement(self) -> Text:
        """Return what came instead: ``now first: Keyboard Wrist Rest``."""
        raise NotImplementedError


Cell = Text | Number | str | None


@dataclass(frozen=True)
class Column:
    """A column of the table of queries.

    Attributes:
        key: The name in the JSON report.
        read: Returns the cell of a row.
        is_number: Whether cells are numbers, which are aligned to the right.
        rank: Columns with the highest rank are left out first if a line is too narrow.
    """

    key: str
    heading: str
    read: Callable[[QueryRow], Cell]
    is_number: bool = False
    rank: int = 0


QUERY_COLUMNS: tuple[Column, ...] = (
    Column("query", "query", lambda row: write(DataPart(row.query.text))),
    Column("tags", "tags", lambda row: join([DataPart(tag) for tag in row.query.tags]), rank=2),
    Column("before", "before", lambda row: row.before, is_number=True),
    Column("now", "now", lambda row: row.now, is_number=True),
    Column("change", "change", lambda row: row.change, is_number=True),
    Column("documents", "documents that moved", lambda row: row.moves_text),
    Column("replacement", "came instead", lambda row: row.replacement, rank=1),
)


def build_query_rows(
    evaluation: Evaluation, results: Sequence[CheckResult] = ()
) -> tuple[QueryRow, ...]:
    """Build the rows of a suite, in the order of the suite.

    Args:
        evaluation: The evaluation of the suite.
        results: Results of checks that several suites share and that name queries of the suite.
    """
    raise NotImplementedError
