"""Ties in the baseline's order.

So an engine that breaks them otherwise never counts as drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import eq, ne

from pytest_irquality.retrieval.run import Ranking


def in_baseline_order(
    ids: tuple[str, ...],
    now: Ranking,
    old: tuple[str, ...],
    before: Ranking,
    depth: int,
    *,
    scaled: bool = False,
) -> tuple[str, ...]:
    """Today's documents, those that are tied on both sides in the order they had in the baseline.

    ``ids`` and ``old`` are both rankings as they are judged, without duplicates; ``depth`` is how
    far both were asked. Documents that were tied before, and are now, exchange only the places they
    hold between them. A tie that the change itself made, as rounded scores do, is left as it was
    returned: those who search see that order.
    """
    if ids == old or now.scores is None or before.scores is None:
        return ids
    any_tie = _has_ties(now.scores) and _has_ties(before.scores)
    aligned = _exchanged(ids, _ties(now), _ties(before)) if any_tie else ids
    if len(now.ids) < depth or len(before.ids) < depth:
        return aligned  # nothing was cut off, so no tie was cut in two
    end = old[:depth]
    if not _may_end_alike(aligned[:depth], end, now):
        return aligned
    if not _end_alike(aligned[:depth], end, _scores(now), _scores(before), scaled):
        return aligned
    return (*end, *(document for document in aligned if document not in end))[: len(ids)]


def made_up(rankings: Iterable[Ranking]) -> bool:
    """Tell whether scores tell no ties, being alike at each rank of all rankings.

    They are ones throughout, or 1 / rank.
    """
    given = [ranking.scores for ranking in rankings if ranking.scores]
    longest = max(given, key=len, default=())
    return len(given) > 1 and all(scores == longest[: len(scores)] for scores in given)


def end_in_one_score(rankings: Iterable[Ranking]) -> bool:
    """Tell whether all end in one score.

    Where scores are scaled to between 1 and 0, the last is 0 whatever it is.
    """
    given = [ranking.scores[-1] for ranking in rankings if ranking.scores]
    return len(given) > 1 and len({*given}) == 1


def _exchanged(
    ids: tuple[str, ...], today: Mapping[str, int], then: Mapping[str, int]
) -> tuple[str, ...]:
    """The ranking with documents that share a tie on both sides in the baseline's order."""
    order = {document: place for place, document in enumerate(then)}
    groups: dict[tuple[int, int], list[int]] = {}
    for place, document in enumerate(ids):
        if document in then:
            groups.setdefault((today[document], then[document]), []).append(place)
    aligned = list(ids)
    for places in groups.values():
        in_order = sorted((ids[place] for place in places), key=order.__getitem__)
        for place, document in zip(places, in_order, strict=True):
            aligned[place] = document
    return tuple(aligned)


def _has_ties(scores: Sequence[float]) -> bool:
    return any(map(eq, scores, islice(scores, 1, None)))


def _may_end_alike(ids: tuple[str, ...], old: tuple[str, ...], now: Ranking) -> bool:
    """Tell whether the last score's documents are as many as stand below what is alike."""
    assert now.scores is not None
    alike = next((place for place, pair in enumerate(zip(ids, old)) if ne(*pair)), len(ids))  # noqa: B905
    return now.scores.count(now.scores[now.ids.index(ids[-1])]) >= len(ids) - alike


def _end_alike(
    ids: tuple[str, ...],
    old: tuple[str, ...],
    today: Mapping[str, float],
    then: Mapping[str, float],
    scaled: bool,
) -> bool:
    """Tell whether both end within one tie, and all above it is alike, scores included.

    Which documents of such a tie are returned is the engine's whim. One that the other side has
    under another score is not of the tie, and its coming or going no whim.
    """
    score = today[ids[-1]]
    last = [document for document in ids if today[document] == score]
    tied = [document for document in old if then[document] == score]
    above = ids[: len(ids) - len(last)]
    return (
        (len(last) > 1 or not scaled)
        and above == old[: len(old) - len(tied)]
        and all(today[document] == then[document] for document in above)
        and all(then.get(document, score) == score for document in last)
        and all(today.get(document, score) == score for document in tied)
    )


def _ties(ranking: Ranking) -> dict[str, int]:
    """The number of the tie that each document stands in, where it first stands."""
    assert ranking.scores is not None
    ties: dict[str, int] = {}
    number, last = 0, None
    for document, score in zip(ranking.ids, ranking.scores, strict=True):
        if score != last:  # as one that is no number always is
            number, last = number + 1, score
        ties.setdefault(document, number)
    return ties


def _scores(ranking: Ranking) -> dict[str, float]:
    """The score of each document where it first stands."""
    assert ranking.scores is not None
    return dict(zip(reversed(ranking.ids), reversed(ranking.scores), strict=True))
