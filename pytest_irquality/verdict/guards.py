"""Guards: what no single query may do between the baseline and today, whatever the means say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from pytest_irquality.suite.model import Guard, Query
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.findings import Finding, Lack, RankedDocument
from pytest_irquality.verdict.sides import Ids, JudgedAnswer, Sides, median_rank
from pytest_irquality.verdict.wavering import Lost, exceeds_wavering, lost

ENOUGH = 0.8  # the share of queries whose loss is to be seen, or else every verdict says so

Documents = tuple[RankedDocument, ...]


@dataclass(frozen=True)
class BlindGuard(Fact):
    """A guard that can see a loss of ``sees`` of the ``of`` queries that the baseline found."""

    guard: str
    sees: int
    of: int


def hold_guard(guard: Guard, comparison: Comparison, updating: bool) -> Iterator[Finding]:
    """A finding for each query that did what the guard watches for.

    One in all where none did, or where there is nothing to compare with.
    """
    sides, gates = comparison.sides, guard.can_fail
    if comparison.baseline is None:
        ok = updating or not guard.written
        yield Finding("", guard.key, ok, gates, lacks=Lack("baseline"))
    elif lacks := _not_compared(comparison):
        ok = updating or lacks.why.excused
        yield Finding("", guard.key, ok, gates, lacks=lacks, of=len(sides.rankings))
    else:
        yield from _hold(guard, comparison)


def _not_compared(comparison: Comparison) -> Lack | None:
    """Say why a guard has nothing to watch, if it has not."""
    sides = comparison.sides
    if sides.renumbered:
        return Lack("documents")
    if sides.before or not sides.rankings:
        return None
    return comparison.nothing_compared(sides.asked)


def _hold(guard: Guard, comparison: Comparison) -> Iterator[Finding]:
    """The findings on what was lost.

    As many losses as wavering may give are named, and fail nothing.
    """
    sides = comparison.sides
    losses = _lost(guard, sides, attrgetter("aligned"))
    may_be_wavering = bool(losses.queries) and not losses.beyond_chance
    fails = guard.refuses(len(losses.queries)) and not may_be_wavering
    for query in losses.queries:
        yield Finding(
            query.id,
            guard.key,
            False,
            fails,
            queries=1,
            ranked=_documents_lost(guard, query, comparison),
            wavering=losses.wavering if may_be_wavering else 0,
        )
    if not fails and not sides.tells_noise and sides.reordered:
        yield from _held_by_ties(guard, comparison, losses)
    if not losses.queries:
        compared, of = len(sides.before), len(sides.rankings)
        yield Finding("", guard.key, True, guard.can_fail, queries=compared, of=of)


def _held_by_ties(guard: Guard, comparison: Comparison, losses: Lost) -> Iterator[Finding]:
    """The queries that break a guard as returned, and hold it in the order of equal scores."""
    as_returned = _lost(guard, comparison.sides, attrgetter("rankings"))
    if not guard.refuses(len(as_returned.queries)):
        return
    for query in as_returned.queries:
        if query not in losses.queries:
            yield Finding(
                query.id,
                guard.key,
                True,
                queries=1,
                ranked=_documents_lost(guard, query, comparison),
                as_returned=float(len(as_returned.queries)),
            )


def blind(comparison: Comparison) -> Iterator[BlindGuard]:
    """The guards that see too few queries lost, since the builds of the baseline differ so much."""
    sides = comparison.sides
    if comparison.baseline is None or not sides.tells_noise or _not_compared(comparison):
        return
    now, before = sides.answers, sides.answers_before
    b, n = (len(side.units(side)) for side in (before, now))
    for check in comparison.suite.checks:
        if isinstance(guard := check.demand, Guard) and guard.can_fail:
            lost = _lost(guard, sides, attrgetter("aligned"))
            seen = exceeds_wavering(check.allowed + 1, lost.wavering, b, n)
            sees = lost.steady if seen else 0
            if sees < ENOUGH * lost.found:
                yield BlindGuard(guard.key, sees, lost.found)


# -- what it watches for ---------------------------------------------------------------------------


def _lost(
    guard: Guard, sides: Sides, rankings: Callable[[JudgedAnswer], Mapping[str, Ids]]
) -> Lost:
    """The queries that lost what the guard watches over, in these rankings of each answer.

    What a tie at the cut may hide is not called lost.
    """
    top_k = sides.suite.top_k
    unsettled = sides.unsettled if guard.needs_relevant else ()
    return lost(
        sides,
        lambda answer, query: (
            query.id in unsettled
            or guard.has(
                rankings(answer)[query.id][:top_k],
                query.judgments.relevant,
                sides.before[query.id][:top_k],
            )
        ),
    )


def _documents_lost(guard: Guard, query: Query, comparison: Comparison) -> Documents:
    """The relevant documents of the baseline's answers to a query.

    Each stands at the middle of the ranks that these had it at, and at today's.
    """
    if not guard.needs_relevant:
        return ()
    sides, found = comparison.sides, defaultdict[str, list[int]](list)
    for answer in sides.answers_before:
        for rank, document in enumerate(answer.rankings[query.id][: sides.suite.top_k], 1):
            if document in query.judgments.relevant:
                found[document].append(rank)
    ranks = sides.answers.ranks(query.id)
    lost = [
        comparison.document(id, ranks.get(id), median_rank(all_ranks))
        for id, all_ranks in found.items()
    ]
    return tuple(sorted(lost, key=lambda document: document.before or 0))
