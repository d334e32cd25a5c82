"""Guards: what no single query may do between the baseline and today, whatever the means say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pytest_irquality.suite.model import GuardKind, Query
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.wording.numbers import NAMED, and_more, count

Done = tuple[str, tuple[str, ...]]
"""What a query did, in words, and the documents it concerns."""


def broken(kind: GuardKind, measured: Measured) -> Iterator[tuple[Query, str, tuple[str, ...]]]:
    """Every query with a baseline that did what the guard watches for."""
    for query in measured.suite.queries:
        if (
            query.id in measured.before
            and not query.expects_nothing
            and (done := GUARDS[kind](measured, query))
        ):
            yield query, *done


def _lost_all_relevant(measured: Measured, query: Query) -> Done | None:
    """A relevant document in the top k before, none now; a tie that fell the other way is no loss."""
    k, relevant = measured.suite.top_k, query.judgments.relevant
    before, now = measured.before[query.id], measured.aligned[query.id]
    if not relevant.intersection(before[:k]) or not relevant.isdisjoint(now[:k]):
        return None
    ranks = {document: rank for rank, document in enumerate(now, 1)}
    was = {document: rank for rank, document in enumerate(before[:k], 1) if document in relevant}
    lost = [
        f"{measured.name(doc)} {rank} → {ranks.get(doc, 'not returned')}"
        for doc, rank in was.items()
    ]
    named = f"{', '.join(lost[:NAMED])}{and_more(len(lost))}"
    return f"{query.quoted} lost all its relevant documents of the top {k}: {named}", tuple(was)


def _new_zero_results(measured: Measured, query: Query) -> Done | None:
    if not measured.before[query.id] or measured.rankings[query.id]:
        return None
    returned = count(len(measured.before[query.id]), "result", "results")
    return f"{query.quoted} returns nothing now; it returned {returned} before", ()


GUARDS: Mapping[GuardKind, Callable[[Measured, Query], Done | None]] = {
    "lost_all_relevant": _lost_all_relevant,
    "new_zero_results": _new_zero_results,
}
