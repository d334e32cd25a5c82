"""Guards: what no single query may do between the baseline and today, whatever the means say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_irquality.suite.model import GuardKind, Query
from pytest_irquality.suite.tables import complete
from pytest_irquality.verdict.facts import RankedDocument
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.medians import median_rank

Documents = tuple[RankedDocument, ...]


def broken(
    kind: GuardKind, measured: Measured, *, returned: bool = False
) -> Iterator[tuple[Query, Documents]]:
    """Every query with a baseline that did what the guard watches for, and the documents it
    concerns.

    ``returned``: in the order as returned, not in that of equal scores as the baseline had them.
    """
    rankings = measured.rankings if returned else measured.aligned
    for query in measured.suite.queries:
        if query.id in measured.before and not query.expects_nothing:
            documents = GUARDS[kind](measured, query, rankings[query.id])
            if documents is not None:
                yield query, documents


def _lost_all_relevant(measured: Measured, query: Query, now: tuple[str, ...]) -> Documents | None:
    """A relevant document in the top k before, none now; a tie that fell the other way is no loss.

    Wherever a document is named, its rank is the one that it was returned at.
    """
    k, relevant, before = measured.suite.top_k, query.judgments.relevant, measured.before[query.id]
    if relevant.isdisjoint(before[:k]) or not relevant.isdisjoint(now[:k]):
        return None
    ranks = {document: rank for rank, document in enumerate(measured.rankings[query.id], 1)}
    return tuple(
        RankedDocument(document, ranks.get(document), rank, title=measured.title(document))
        for rank, document in enumerate(before[:k], 1)
        if document in relevant
    )


def _new_zero_results(measured: Measured, query: Query, now: tuple[str, ...]) -> Documents | None:
    emptied = measured.before[query.id] and not now
    return () if emptied else None


Broke = Callable[[Measured, Query, tuple[str, ...]], Documents | None]

GUARDS: Mapping[GuardKind, Broke] = complete(
    GuardKind,
    {"lost_all_relevant": _lost_all_relevant, "new_zero_results": _new_zero_results},
)


def documents_lost(kind: GuardKind, measured: Measured, query: Query) -> Documents:
    """The documents of a query that several answers of today lost: each at the middle of the ranks
    that answers of the baseline had it at.
    """
    if kind != "lost_all_relevant":
        return ()
    k, asked = measured.suite.top_k, query.judgments.relevant
    before: dict[str, list[int | None]] = {}
    for answer in measured.answers_before:
        for rank, document in enumerate(answer.rankings[query.id][:k], 1):
            if document in asked:
                before.setdefault(document, []).append(rank)
    now = measured.ranks(query)
    lost = [
        RankedDocument(id, now.get(id), median_rank(ranks), title=measured.title(id))
        for id, ranks in before.items()
    ]
    return tuple(sorted(lost, key=lambda document: document.before or 0))


def finds(kind: GuardKind, answer: Measured, query: Query) -> bool:
    """Whether one of several answers to a query has what the guard watches over."""
    ids = answer.aligned[query.id]
    if kind == "new_zero_results":
        return bool(ids)
    return not query.judgments.relevant.isdisjoint(ids[: answer.suite.top_k])
