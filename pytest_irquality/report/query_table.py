"""The columns of the query table: what stands in them and how the rows are sorted by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_irquality.report.query_view import QueryViews
from pytest_irquality.report.views import Column, QueryRow, Table
from pytest_irquality.verdict.result import QueryResult

LISTED = 3
"""Measures that have a column; the others are seen in details, and can be sorted by."""

Key = Callable[[QueryResult], "float | str | None"]


def table(views: QueryViews, queries: Sequence[QueryRow]) -> Table:
    """Text, tags and outcome are cells of their own kind in every row; the numbers are columns of
    plain text.
    """
    results = views.ordered
    return Table(
        (
            Column("query", "Query", "", (), _order(results, lambda query: query.text.casefold())),
            Column(
                "tags",
                "Tags",
                "",
                (),
                _order(results, lambda query: " ".join(query.tags).casefold() or None),
            ),
            *_values(views, queries),
            *_latency(results, queries),
            Column("outcome", "Outcome", "", (), tuple(range(len(results)))),
        ),
        tuple(queries),
        tuple(
            views.change(query, views.main) if views.main is not None else None for query in results
        ),
    )


def _order(results: Sequence[QueryResult], key: Key) -> tuple[int, ...]:
    keys = [key(query) for query in results]
    return tuple(
        sorted(
            (row for row, at in enumerate(keys) if at is not None), key=lambda row: (keys[row], row)
        )
    )


def _values(views: QueryViews, queries: Sequence[QueryRow]) -> Iterable[Column]:
    for n, measure in enumerate(views.result.shown):
        at = views.result.measures.index(measure)

        def now(query: QueryResult, at: int = at) -> float | None:
            return query.values[at]

        def before(query: QueryResult, at: int = at) -> float | None:
            return query.before[at] if query.before is not None else None

        def change(query: QueryResult, at: int = at) -> float | None:
            return views.change(query, at)

        cells = [query.values[n] for query in queries]
        main = at == views.main
        if views.compared:
            order = _order(views.ordered, before)
            told = tuple(value.before for value in cells)
            yield Column(f"{measure} before", "before", measure, told, order, listed=main)
        order = _order(views.ordered, now)
        told = tuple(value.now for value in cells)
        yield Column(measure, measure, measure, told, order, listed=main or n < LISTED)
        if views.compared:
            order = _order(views.ordered, change)
            told, sides = (
                tuple(value.change for value in cells),
                tuple(value.css for value in cells),
            )
            yield Column(f"{measure} change", "change", measure, told, order, sides, listed=main)


def _latency(results: Sequence[QueryResult], queries: Sequence[QueryRow]) -> Iterable[Column]:
    if any(query.seconds is not None for query in results):
        order = _order(results, lambda query: query.seconds)
        yield Column(
            "latency", "Latency", "", tuple(query.latency for query in queries), order, listed=False
        )
