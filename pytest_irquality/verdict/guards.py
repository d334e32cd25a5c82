"""Guards: what no single query may do between the baseline and today, whatever the means say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from pytest_irquality.suite.model import Guard, GuardKind, Query
from pytest_irquality.suite.tables import complete
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.findings import Finding, Lack, RankedDocument
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.medians import median_rank
from pytest_irquality.verdict.wavering import lost

Documents = tuple[RankedDocument, ...]


def hold_guard(
    guard: Guard, sides: Comparison, has_baseline: bool, updating: bool
) -> Iterator[Finding]:
    """A finding for each query that did what the guard watches for; one in all where none did, or
    where there is nothing to compare with.
    """
    now, gates = sides.measured, guard.most is not None
    if not has_baseline:
        ok = updating or not guard.written
        yield Finding("", guard.kind, ok, gates, lacks=Lack("baseline"))
    elif lacks := _not_compared(sides):
        ok = updating or lacks.kind == "new"
        yield Finding("", guard.kind, ok, gates, lacks=lacks, of=len(now.rankings))
    elif now.several:
        yield from _hold_in_answers(guard, now)
    else:
        yield from _hold_in_one_answer(guard, now)


def _not_compared(sides: Comparison) -> Lack | None:
    """Why a guard has nothing to watch."""
    now = sides.measured
    if now.renumbered:
        return Lack("documents")
    if now.before or not now.rankings:
        return None
    return sides.nothing_compared(now.asked)


def _hold_in_one_answer(guard: Guard, now: Measured) -> Iterator[Finding]:
    bad = list(broken(guard.kind, now))
    fails = guard.most is not None and len(bad) > guard.most
    for query, documents in bad:
        yield Finding(query.id, guard.kind, False, fails, queries=1, ranked=documents)
    if not fails:
        yield from _held_by_ties(guard, now, {query.id for query, _ in bad})
    if not bad:
        compared, of = len(now.before), len(now.rankings)
        yield Finding("", guard.kind, True, guard.most is not None, queries=compared, of=of)


def _held_by_ties(guard: Guard, now: Measured, bad: Collection[str]) -> Iterator[Finding]:
    """The queries that break a guard as returned, where it holds in the order of equal scores
    alone.
    """
    if guard.most is None or not now.reordered:
        return
    as_returned = list(broken(guard.kind, now, returned=True))
    if len(as_returned) <= guard.most:
        return
    for query, documents in as_returned:
        if query.id not in bad:
            yield Finding(
                query.id,
                guard.kind,
                True,
                queries=1,
                ranked=documents,
                as_returned=float(len(as_returned)),
            )


def _hold_in_answers(guard: Guard, now: Measured) -> Iterator[Finding]:
    """A guard over several answers: as many losses as wavering may give are named, and fail
    nothing.
    """
    losses = lost(now, partial(finds, guard.kind))
    may_be_wavering = not losses.beyond_chance
    fails = guard.most is not None and len(losses.queries) > guard.most and not may_be_wavering
    for query in losses.queries:
        yield Finding(
            query.id,
            guard.kind,
            False,
            fails,
            queries=1,
            ranked=documents_lost(guard.kind, now, query),
            wavering=losses.wavering if may_be_wavering else 0,
        )
    if not losses.queries:
        yield Finding("", guard.kind, True, guard.most is not None, queries=len(now.before))


# -- what each kind watches for --------------------------------------------------------------------


def broken(
    kind: GuardKind, measured: Measured, *, returned: bool = False
) -> Iterator[tuple[Query, Documents]]:
    """Every query with a baseline that did what the guard watches for, and the documents it
    concerns.

    ``returned``: in the order as returned, not in that of equal scores as the baseline had them.
    """
    rankings = measured.rankings if returned else measured.aligned
    before, broke = measured.before, GUARDS[kind]
    for query in measured.suite.queries:
        id = query.id
        # A query that returns what it returned did nothing.
        if id in before and rankings[id] is not before[id] and not query.expects_nothing:
            documents = broke(measured, query, rankings[id])
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
