"""Ties: documents with equal scores, which engines return in any order.

For comparisons, tied documents take the order of the baseline, so their order is not a change. If
the end of a ranking cuts a tie in two, chance decides which documents are returned. Then relevant
documents of that tie are taken to be in their old place.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from operator import sub

from pytest_irquality.evaluation.constants import TIE_TOLERANCE
from pytest_irquality.io import dataclass, field
from pytest_irquality.retrieval.run import Ranking


@dataclass(frozen=True)
class AlignedRanking:
    """A current ranking in which ties do not count as changes.

    Attributes:
        ranking: The ranking with ties in the order of the baseline.
        restored: The relevant documents that the end of the ranking may have cut off, with the rank
            that they are taken to have.
    """

    ranking: Ranking
    restored: Mapping[str, int] = field(default_factory=dict)


def align_ties(
    now: Ranking,
    before: Ranking,
    max_length: int,
    *,
    relevant: Collection[str] = (),
    requested_count: int = 0,
) -> AlignedRanking:
    """Put documents that are tied in both rankings into the order of the baseline.

    A tie in only one of them is a change: if rounding makes scores equal, relevant documents may
    drop to lower ranks, and users see that order.

    Args:
        now: The current ranking.
        before: The ranking of the baseline.
        max_length: The length of the longest tie. If more neighbors have equal scores, scores do
            not order the ranking.
        relevant: The relevant documents of the query.
        requested_count: The number of requested results. A shorter ranking is complete, so its end
            hides no documents.
    """
    if now.doc_ids == before.doc_ids or not (_may_have_ties(now) and _may_have_ties(before)):
        return AlignedRanking(now)
    ties_now = _number_ties(now, max_length)
    ties_before = _number_ties(before, max_length)
    aligned = _order_by_baseline(now, before, ties_now, ties_before)
    if len(now.doc_ids) < requested_count:
        return AlignedRanking(aligned)
    return _restore_hidden(aligned, before, ties_now, ties_before, relevant)


def _may_have_ties(ranking: Ranking) -> bool:
    """Return whether scores may be equal. A few fast calls rule it out for most rankings."""
    scores = ranking.scores
    if scores is None or len(scores) < 2:
        return False
    steps = list(map(sub, scores, islice(scores, 1, None)))
    tolerance = TIE_TOLERANCE * max(abs(scores[0]), abs(scores[-1]))
    return not (min(steps) > tolerance or max(steps) < -tolerance)


def _number_ties(ranking: Ranking, max_length: int) -> dict[str, int]:
    """Return the index of its tie for each document that shares its score."""
    ties: dict[str, int] = {}
    tie = 0
    previous_score = None
    for doc_id, score in zip(ranking.doc_ids, ranking.scores or (), strict=False):
        # Compare neighbors, not the ends of a tie, because "nearly equal" is not transitive.
        if previous_score is None or not _are_equal(score, previous_score):
            tie += 1
        ties.setdefault(doc_id, tie)
        previous_score = score
    lengths = Counter(ties.values())
    return {doc_id: tie for doc_id, tie in ties.items() if 1 < lengths[tie] <= max_length}


def _are_equal(score: float, other: float) -> bool:
    return math.isclose(score, other, rel_tol=TIE_TOLERANCE)


def _order_by_baseline(
    now: Ranking, before: Ranking, ties_now: Mapping[str, int], ties_before: Mapping[str, int]
) -> Ranking:
    """Return the ranking with documents that share a tie in both rankings in the baseline's order.

    Each group of such documents only exchanges its own places.
    """
    ranks_before: dict[str, int] = {}
    for rank, doc_id in enumerate(before.doc_ids):
        ranks_before.setdefault(doc_id, rank)
    doc_ids = list(now.doc_ids)
    places_by_tie = defaultdict(list)
    for place, doc_id in enumerate(doc_ids):
        if doc_id in ties_now and doc_id in ties_before:
            places_by_tie[ties_now[doc_id], ties_before[doc_id]].append(place)
    order = list(range(len(doc_ids)))
    for places in places_by_tie.values():
        in_baseline_order = sorted(places, key=lambda place: ranks_before[doc_ids[place]])
        for place, old_place in zip(places, in_baseline_order, strict=True):
            order[place] = old_place
    if order == sorted(order):
        return now
    return _rearrange(now, [doc_ids[old_place] for old_place in order], order)


def _restore_hidden(
    now: Ranking,
    before: Ranking,
    ties_now: Mapping[str, int],
    ties_before: Mapping[str, int],
    relevant: Collection[str],
) -> AlignedRanking:
    """Put relevant documents in their old place if the end of the ranking may hide them.

    Both rankings must end within a tie of the same score. Otherwise the documents have other scores
    now.
    """
    tie_now, tie_before = _list_last_tie(now, ties_now), _list_last_tie(before, ties_before)
    if not (tie_now and tie_before and now.scores and before.scores):
        return AlignedRanking(now)
    if not _are_equal(now.scores[-1], before.scores[-1]):
        return AlignedRanking(now)
    returned = set(now.doc_ids)
    hidden = [doc_id for doc_id in tie_before if doc_id in relevant and doc_id not in returned]
    # Each hidden document replaces a returned one of the same tie: irrelevant ones first, from the
    # end. A relevant document in both rankings keeps its place.
    replaceable = [d for d in reversed(tie_now) if d not in relevant or d not in tie_before]
    replaceable.sort(key=lambda doc_id: (doc_id in relevant, doc_id in tie_before))
    hidden = hidden[: len(replaceable)]
    if not hidden:
        return AlignedRanking(now)

    tie_start = len(now.doc_ids) - len(tie_now)
    tie = [doc_id for doc_id in tie_now if doc_id not in replaceable[: len(hidden)]]
    for count, doc_id in enumerate(hidden):
        old_place = before.doc_ids.index(doc_id)
        # Documents with better scores may be at the old place. They stay above the tie.
        tie.insert(max(old_place - tie_start, count), doc_id)
    restored = {doc_id: tie_start + tie.index(doc_id) + 1 for doc_id in hidden}
    places = {doc_id: tie_start + index for index, doc_id in enumerate(tie_now)}
    order = [*range(tie_start), *map(places.get, tie)]
    return AlignedRanking(_rearrange(now, [*now.doc_ids[:tie_start], *tie], order), restored)


def _list_last_tie(ranking: Ranking, ties: Mapping[str, int]) -> list[str]:
    """Return the documents of the tie that ends with the last hit, or none."""
    last_tie = ties.get(ranking.doc_ids[-1])
    if last_tie is None:
        return []
    tied = {doc_id for doc_id, tie in ties.items() if tie == last_tie}
    end = ranking.doc_ids[-len(tied) :]
    # A repeated document at the end may belong to a tie further up.
    return list(end) if set(end) == tied else []


def _rearrange(
    ranking: Ranking, doc_ids: Sequence[str], old_places: Sequence[int | None]
) -> Ranking:
    """Return a ranking of these documents, with passages and sizes from their old places.

    A document without an old place was not returned, so it has no passages and the size 0.
    """
    passages = {}
    for place, old_place in enumerate(old_places):
        if old_place is not None and old_place in ranking.passages:
            passages[place] = ranking.passages[old_place]
    sizes = {}
    for unit, values in ranking.sizes.items():
        sizes[unit] = tuple(0.0 if place is None else values[place] for place in old_places)
    return Ranking(
        doc_ids=tuple(doc_ids),
        scores=ranking.scores,  # Only documents with equal scores change places.
        seconds=ranking.seconds,
        passages=passages,
        sizes=sizes,
    )
