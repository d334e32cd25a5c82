"""The columns of the query table: what stands in them and how the rows are sorted by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_irquality.report.query_view import QueryViews
from pytest_irquality.report.views import Column, QueryRow, Table
from pytest_irquality.verdict.result import QueryResult

LISTED = 3
"""Measures that have a column; the others are seen in details, and can be sorted by."""

Keys = Iterable["float | str | None"]


def table(views: QueryViews, rows: Sequence[QueryRow]) -> Table:
    """Text, tags and outcome are cells of their own kind in every row; the numbers are columns of
    plain text.
    """
    queries, main = views.ordered, views.main
    by_text = _order(query.text.casefold() for query in queries)
    by_tags = _order(" ".join(query.tags).casefold() or None for query in queries)
    changes = [None if main is None else views.change(query, main) for query in queries]
    return Table(
        (
            Column("query", "Query", "", (), by_text),
            Column("tags", "Tags", "", (), by_tags),
            *_values(views),
            *_latency(queries, rows),
            Column("outcome", "Outcome", "", (), tuple(range(len(queries)))),
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
    queries = views.ordered
    for n, measure in enumerate(views.result.shown):
        at = views.result.measures.index(measure)
        main = at == views.main
        cells = [views.value(query, measure) for query in queries]
        if views.compared:
            order = _order(query.before[at] if query.before else None for query in queries)
            told = tuple(value.before for value in cells)
            yield Column(f"{measure} before", "before", measure, told, order, listed=main)
        order = _order(query.values[at] for query in queries)
        told = tuple(value.now for value in cells)
        yield Column(measure, measure, measure, told, order, listed=main or n < LISTED)
        if views.compared:
            order = _order(views.change(query, at) for query in queries)
            told = tuple(value.change for value in cells)
            sides = tuple(value.css for value in cells)
            yield Column(f"{measure} change", "change", measure, told, order, sides, listed=main)


def _latency(queries: Sequence[QueryResult], rows: Sequence[QueryRow]) -> Iterator[Column]:
    if any(query.seconds is not None for query in queries):
        order = _order(query.seconds for query in queries)
        told = tuple(row.latency for row in rows)
        yield Column("latency", "Latency", "", told, order, listed=False)
