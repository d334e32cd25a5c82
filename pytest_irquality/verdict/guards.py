"""Guards: what no single query may do between the baseline and today, whatever the means say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_irquality.suite.model import GuardKind, Query
from pytest_irquality.suite.tables import complete
from pytest_irquality.verdict.facts import RankedDocument
from pytest_irquality.verdict.measured import Measured

Documents = tuple[RankedDocument, ...]


def broken(kind: GuardKind, measured: Measured) -> Iterator[tuple[Query, Documents]]:
    """Every query with a baseline that did what the guard watches for, and the documents it concerns."""
    for query in measured.suite.queries:
        if query.id in measured.before and not query.expects_nothing:
            documents = GUARDS[kind](measured, query)
            if documents is not None:
                yield query, documents


def _lost_all_relevant(measured: Measured, query: Query) -> Documents | None:
    """A relevant document in the top k before, none now; a tie that fell the other way is no loss."""
    k, relevant = measured.suite.top_k, query.judgments.relevant
    before, now = measured.before[query.id], measured.aligned[query.id]
    if relevant.isdisjoint(before[:k]) or not relevant.isdisjoint(now[:k]):
        return None
    ranks = {document: rank for rank, document in enumerate(now, 1)}
    return tuple(
        RankedDocument(document, ranks.get(document), rank, title=measured.title(document))
        for rank, document in enumerate(before[:k], 1)
        if document in relevant
    )


def _new_zero_results(measured: Measured, query: Query) -> Documents | None:
    emptied = measured.before[query.id] and not measured.rankings[query.id]
    return () if emptied else None


GUARDS: Mapping[GuardKind, Callable[[Measured, Query], Documents | None]] = complete(
    GuardKind,
    {"lost_all_relevant": _lost_all_relevant, "new_zero_results": _new_zero_results},
)


def finds(kind: GuardKind, answer: Measured, query: Query) -> bool:
    """Whether one of several answers to a query has what the guard watches over."""
    ids = answer.aligned[query.id]
    if kind == "new_zero_results":
        return bool(ids)
    return not query.judgments.relevant.isdisjoint(ids[: answer.suite.top_k])
