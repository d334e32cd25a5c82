"""Ties put in the baseline's order, so that an engine that breaks them otherwise never counts as drift."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, takewhile
from math import inf

from pytest_irquality.retrieval.run import Ranking


def in_baseline_order(
    ids: tuple[str, ...], now: Ranking, old: tuple[str, ...], before: Ranking, depth: int
) -> tuple[str, ...]:
    """Today's first ``depth`` documents, those with equal scores in the order they had in the baseline.

    ``ids`` and ``old`` are both rankings as they are judged, cut to ``depth`` and without duplicates.
    The cut at ``depth`` may fall within a tie: where all above it is as it was, a document that the baseline kept with
    that very score is as good a candidate for the last places as those that came.
    """
    if now.scores is None or ids == old:
        return ids
    score = (
        now.scores[: len(ids)]
        if ids == now.ids[:depth]
        else tuple(map(_scores(now).__getitem__, ids))
    )
    rank = dict(zip(old, range(len(old)), strict=True))

    def was(document: str) -> float:
        return rank.get(document, inf)

    aligned = list(ids)
    if len(set(score)) < len(score):
        places = (list(group) for _, group in groupby(range(len(ids)), key=score.__getitem__))
        aligned = [
            document
            for tie in places
            for document in sorted((ids[place] for place in tie), key=was)
        ]
    if ids and before.scores is not None and len(now.ids) >= depth and score[-1] in before.scores:
        last = sum(1 for _ in takewhile(score[-1].__eq__, reversed(score)))
        then = _scores(before)
        above = dict(zip(ids[:-last], score, strict=False))
        if above == {document: then[document] for document in old if then[document] != score[-1]}:
            tied = [
                document for document in set(old).difference(ids) if then[document] == score[-1]
            ]
            aligned[-last:] = sorted([*aligned[-last:], *tied], key=was)[:last]
    return tuple(aligned)


def made_up(rankings: Iterable[Ranking]) -> bool:
    """Whether scores tell no ties, being alike at each rank of all rankings: ones throughout, or 1 / rank."""
    given = [ranking.scores for ranking in rankings if ranking.scores]
    longest = max(given, key=len, default=())
    return len(given) > 1 and all(scores == longest[: len(scores)] for scores in given)


def _scores(ranking: Ranking) -> dict[str, float]:
    """The score of each document where it first stands."""
    assert ranking.scores is not None
    return dict(zip(reversed(ranking.ids), reversed(ranking.scores), strict=True))
