"""Ties put in the baseline's order, so that an engine that breaks them otherwise never counts as drift."""

from __future__ import annotations

from itertools import groupby, takewhile
from math import inf

from pytest_irquality.retrieval.run import Ranking


def in_baseline_order(
    ids: tuple[str, ...], now: Ranking, old: tuple[str, ...], before: Ranking, depth: int
) -> tuple[str, ...]:
    """Today's first ``depth`` documents, those with equal scores in the order they had in the baseline.

    ``ids`` and ``old`` are both rankings as they are judged, cut to ``depth`` and without duplicates.
    The cut at ``depth`` may fall within a tie: a document that the baseline kept with that very score is then as good
    a candidate for the last places as those that came.
    """
    if now.scores is None or ids == old:
        return ids
    score = now.scores[: len(ids)] if ids == now.ids[:depth] else tuple(map(_scores(now).__getitem__, ids))
    rank = dict(zip(old, range(len(old)), strict=True))

    def was(document: str) -> float:
        return rank.get(document, inf)

    aligned = list(ids)
    if len(set(score)) < len(score):
        places = (list(group) for _, group in groupby(range(len(ids)), key=score.__getitem__))
        aligned = [document for tie in places for document in sorted((ids[place] for place in tie), key=was)]
    if ids and before.scores is not None and len(now.ids) >= depth and score[-1] in before.scores:
        last = sum(1 for _ in takewhile(score[-1].__eq__, reversed(score)))
        then = _scores(before)
        tied = [document for document in set(old).difference(ids) if then[document] == score[-1]]
        aligned[-last:] = sorted([*aligned[-last:], *tied], key=was)[:last]
    return tuple(aligned)


def _scores(ranking: Ranking) -> dict[str, float]:
    """The score of each document where it first stands."""
    assert ranking.scores is not None
    return dict(zip(reversed(ranking.ids), reversed(ranking.scores), strict=True))
