"""Guards: what no single query may do between the baseline and today, whatever the means say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from pytest_irquality.suite.model import Guard, Query
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
    now, gates = sides.measured, guard.can_fail
    if not has_baseline:
        ok = updating or not guard.written
        yield Finding("", guard.key, ok, gates, lacks=Lack("baseline"))
    elif lacks := _not_compared(sides):
        ok = updating or lacks.why.excused
        yield Finding("", guard.key, ok, gates, lacks=lacks, of=len(now.rankings))
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
    bad = list(broken(guard, now))
    fails = guard.refuses(len(bad))
    for query, documents in bad:
        yield Finding(query.id, guard.key, False, fails, queries=1, ranked=documents)
    if not fails:
        yield from _held_by_ties(guard, now, {query.id for query, _ in bad})
    if not bad:
        compared, of = len(now.before), len(now.rankings)
        yield Finding("", guard.key, True, guard.can_fail, queries=compared, of=of)


def _held_by_ties(guard: Guard, now: Measured, bad: Collection[str]) -> Iterator[Finding]:
    """The queries that break a guard as returned, where it holds in the order of equal scores
    alone.
    """
    as_returned = list(broken(guard, now, returned=True)) if now.reordered else []
    if not guard.refuses(len(as_returned)):
        return
    many = float(len(as_returned))
    for query, gone in as_returned:
        if query.id not in bad:
            yield Finding(query.id, guard.key, True, queries=1, ranked=gone, as_returned=many)


def _hold_in_answers(guard: Guard, now: Measured) -> Iterator[Finding]:
    """A guard over several answers: as many losses as wavering may give are named, and fail
    nothing.
    """
    losses = lost(now, lambda answer, query: has(guard, query, answer.aligned[query.id], answer))
    may_be_wavering = not losses.beyond_chance
    fails = guard.refuses(len(losses.queries)) and not may_be_wavering
    for query in losses.queries:
        before = [answer.rankings[query.id] for answer in now.answers_before]
        yield Finding(
            query.id,
            guard.key,
            False,
            fails,
            queries=1,
            ranked=documents_lost(guard, query, now, before, now.ranks(query)),
            wavering=losses.wavering if may_be_wavering else 0,
        )
    if not losses.queries:
        yield Finding("", guard.key, True, guard.can_fail, queries=len(now.before))


# -- what it watches for ---------------------------------------------------------------------------


def broken(
    guard: Guard, measured: Measured, *, returned: bool = False
) -> Iterator[tuple[Query, Documents]]:
    """Every query with a baseline that lost what the guard watches over, and the documents lost.

    ``returned``: in the order as returned, not in that of equal scores as the baseline had them,
    where a tie that fell the other way is no loss.
    """
    rankings = measured.rankings if returned else measured.aligned
    before = measured.before
    for query in measured.suite.queries:
        id = query.id
        # A query that returns what it returned did nothing.
        if id not in before or rankings[id] is before[id] or query.expects_nothing:
            continue
        if has(guard, query, before[id], measured) and not has(
            guard, query, rankings[id], measured
        ):
            ranks = {document: rank for rank, document in enumerate(measured.rankings[id], 1)}
            yield query, documents_lost(guard, query, measured, [before[id]], ranks)


def has(guard: Guard, query: Query, ids: Sequence[str], measured: Measured) -> bool:
    """Whether an answer to a query has what the guard watches over."""
    return guard.has(ids[: measured.suite.top_k], query.judgments.relevant)


def documents_lost(
    guard: Guard,
    query: Query,
    measured: Measured,
    before: Iterable[Sequence[str]],
    ranks: Mapping[str, int],
) -> Documents:
    """The relevant documents of the baseline's answers to a query, each at the middle of the ranks
    that these had it at, and at today's.
    """
    if not guard.needs_relevant:
        return ()
    found: dict[str, list[int | None]] = {}
    for ids in before:
        for rank, document in enumerate(ids[: measured.suite.top_k], 1):
            if document in query.judgments.relevant:
                found.setdefault(document, []).append(rank)
    lost = [
        RankedDocument(id, ranks.get(id), median_rank(all_ranks), title=measured.title(id))
        for id, all_ranks in found.items()
    ]
    return tuple(sorted(lost, key=lambda document: document.before or 0))
