"""The columns of the query table: what stands in them and how the rows are sorted by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_irquality.report.query_view import QueryViews
from pytest_irquality.report.views import Column, QueryRow, Table, Value
from pytest_irquality.verdict.result import QueryResult

LISTED = 3
"""Measures that have a column; the others are seen in details, and can be sorted by."""

Keys = Iterable["float | str | None"]


def table(views: QueryViews, rows: Sequence[QueryRow]) -> Table:
    """The query table: text, tags and outcome in every row, and numbers as columns of text."""
    queries, main = views.ordered, views.damage.column
    by_text = _order(query.text.casefold() for query in queries)
    by_tags = _order(" ".join(query.tags).casefold() or None for query in queries)
    changes = [query.change(main) for query in queries]
    return Table(
        (
            Column("query", "Query", "", (), order=by_text),
            Column("tags", "Tags", "", (), order=by_tags),
            *_values(views),
            *_latency(queries, rows),
            Column("outcome", "Outcome", "", (), order=tuple(range(len(queries)))),
        ),
        tuple(rows),
        tuple(changes),
    )


def _order(keys: Keys) -> tuple[int, ...]:
    """The rows as sorted by their keys, those that have none left out."""
    of_rows: dict[int, Any] = {row: key for row, key in enumerate(keys) if key is not None}
    return tuple(sorted(of_rows, key=of_rows.__getitem__))


def _values(views: QueryViews) -> Iterator[Column]:
    """A column for each measure; with a baseline two more: before it, and what changed behind."""
    for n, measure in enumerate(views.result.shown):
        at = views.result.measures.index(measure)
        main = at == views.damage.column
        values = [views.value(query, measure) for query in views.ordered]
        order = _order(query.values[at] for query in views.ordered)
        told = tuple(value.now for value in values)
        column = Column(measure, measure, measure, told, order=order, listed=main or n < LISTED)
        yield from _compared(views, column, at, values) if views.compared else (column,)


def _compared(
    views: QueryViews, column: Column, at: int, values: Sequence[Value]
) -> Iterator[Column]:
    """A measure between what it was and what changed."""
    measure, listed = column.key, at == views.damage.column
    order = _order(query.before[at] if query.before else None for query in views.ordered)
    told = tuple(value.before for value in values)
    yield Column(f"{measure} before", "before", measure, told, order=order, listed=listed)
    yield column
    order = _order(query.change(at) for query in views.ordered)
    told, sides = tuple(value.change for value in values), tuple(value.css for value in values)
    yield Column(f"{measure} change", "change", measure, told, sides, order, listed)


def _latency(queries: Sequence[QueryResult], rows: Sequence[QueryRow]) -> Iterator[Column]:
    if any(query.seconds is not None for query in queries):
        order = _order(query.seconds for query in queries)
        told = tuple(row.latency for row in rows)
        yield Column("latency", "Latency", "", told, order=order, listed=False)
