"""Ties: documents with equal scores, which engines return in any order.

For comparisons, tied documents take the order of the baseline, so their order is not a change. The
end of a ranking may cut a tie in two. Then only relevant documents of that tie are given the
benefit of the doubt, because any of its documents could have been returned.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import sub

from pytest_irquality.evaluation.constants import TIE_TOLERANCE
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
    requested: int = 0,
) -> AlignedRanking:
    """Put documents that are tied on both sides into the order of the baseline.

    A tie on one side only is a change: if rounding makes scores equal, relevant documents may drop
    to lower ranks, and users see that order.

    Args:
        now: The current ranking.
        before: The ranking of the baseline.
        max_length: The length up to which equal scores are a tie. Longer ones do not order a
            ranking.
        relevant: The relevant documents of the query.
        requested: How many results were requested. A shorter ranking is complete, so nothing that
            is missing can be hidden behind its end.
    """
    if now.doc_ids == before.doc_ids or not (_may_have_ties(now) and _may_have_ties(before)):
        return AlignedRanking(now)
    ties_now = _number_ties(now, max_length)
    ties_before = _number_ties(before, max_length)
    if not ties_now or not ties_before:
        return AlignedRanking(now)

    order = _order_by_baseline(now, before, ties_now, ties_before)
    aligned = now if order == list(range(len(order))) else _reorder(now, order)
    if len(now.doc_ids) < requested:
        return AlignedRanking(aligned)
    return _restore_cut_documents(aligned, before, ties_now, ties_before, relevant)


def _may_have_ties(ranking: Ranking) -> bool:
    """Return whether scores may be equal. Most rankings have none, which a few C calls tell."""
    scores = ranking.scores
    if scores is None or len(scores) < 2:
        return False
    steps = list(map(sub, scores, islice(scores, 1, None)))
    tolerance = TIE_TOLERANCE * max(abs(scores[0]), abs(scores[-1]))
    return not (min(steps) > tolerance or max(steps) < -tolerance)


def _number_ties(ranking: Ranking, max_length: int) -> dict[str, int]:
    """Return the number of each document's tie. Documents that share no score have no tie."""
    ties: dict[str, int] = {}
    tie = 0
    previous_score = None
    for doc_id, score in zip(ranking.doc_ids, ranking.scores or (), strict=False):
        # Neighbours are compared, because "nearly equal" is not transitive over a ranking.
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
) -> list[int]:
    """Return the indexes of the current hits in their new order.

    Documents that share a tie on both sides exchange only the places that they have between them.
    """
    ranks_before: dict[str, int] = {}
    for rank, doc_id in enumerate(before.doc_ids):
        ranks_before.setdefault(doc_id, rank)
    indexes_by_tie = defaultdict(list)
    for index, doc_id in enumerate(now.doc_ids):
        if doc_id in ties_now and doc_id in ties_before:
            indexes_by_tie[ties_now[doc_id], ties_before[doc_id]].append(index)
    order = list(range(len(now.doc_ids)))
    for indexes in indexes_by_tie.values():
        in_baseline_order = sorted(indexes, key=lambda index: ranks_before[now.doc_ids[index]])
        for place, index in zip(indexes, in_baseline_order, strict=True):
            order[place] = index
    return order


def _restore_cut_documents(
    now: Ranking,
    before: Ranking,
    ties_now: Mapping[str, int],
    ties_before: Mapping[str, int],
    relevant: Collection[str],
) -> AlignedRanking:
    """Take relevant documents to be in their old place if the end of the ranking may hide them."""
    if now.scores is None or before.scores is None:
        return AlignedRanking(now)
    tie_now = _list_end_tie(now, ties_now)
    tie_before = _list_end_tie(before, ties_before)
    if not tie_now or not tie_before or not _are_equal(now.scores[-1], before.scores[-1]):
        return AlignedRanking(now)
    returned = set(now.doc_ids)
    missing = [doc_id for doc_id in tie_before if doc_id in relevant and doc_id not in returned]
    # They take the places of documents that the tie could as well have left out: irrelevant ones
    # first, and newcomers before others. A relevant document that both sides returned stays.
    replaceable = [d for d in reversed(tie_now) if d not in relevant or d not in tie_before]
    replaceable.sort(key=lambda doc_id: (doc_id in relevant, doc_id in tie_before))
    missing = missing[: len(replaceable)]
    if not missing:
        return AlignedRanking(now)

    replaced = set(replaceable[: len(missing)])
    start = len(now.doc_ids) - len(tie_now)
    end = [doc_id for doc_id in tie_now if doc_id not in replaced]
    for count, doc_id in enumerate(missing):
        # A better score may have put other documents above the tie. They stay there.
        place = max(before.doc_ids.index(doc_id) - start, count)
        end.insert(place, doc_id)
    restored = {doc_id: start + end.index(doc_id) + 1 for doc_id in missing}
    indexes: dict[str, int] = {}
    for index, doc_id in enumerate(now.doc_ids):
        indexes.setdefault(doc_id, index)
    order = [*range(start), *(indexes.get(doc_id, doc_id) for doc_id in end)]
    return AlignedRanking(_reorder(now, order), restored)


def _list_end_tie(ranking: Ranking, ties: Mapping[str, int]) -> list[str]:
    """Return the documents of the tie that ends with the last hit, or none."""
    last_tie = ties.get(ranking.doc_ids[-1])
    if last_tie is None:
        return []
    tied = {doc_id for doc_id, tie in ties.items() if tie == last_tie}
    end = ranking.doc_ids[-len(tied) :]
    # A repeated document at the end may belong to a tie further up.
    return list(end) if set(end) == tied else []


def _reorder(ranking: Ranking, order: Sequence[int | str]) -> Ranking:
    """Return the hits in another order. An id in place of an index is a document without a hit."""
    passages = {}
    for place, index in enumerate(order):
        if isinstance(index, int) and index in ranking.passages:
            passages[place] = ranking.passages[index]
    sizes = {}
    for unit, values in ranking.sizes.items():
        sizes[unit] = tuple(values[index] if isinstance(index, int) else 0.0 for index in order)
    return Ranking(
        doc_ids=tuple(ranking.doc_ids[i] if isinstance(i, int) else i for i in order),
        scores=ranking.scores,  # Only equal scores change places.
        seconds=ranking.seconds,
        passages=passages,
        sizes=sizes,
    )
