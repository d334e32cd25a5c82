"""Ties put in the baseline's order, so that an engine that breaks them otherwise never counts as drift."""

from __future__ import annotations

from itertools import groupby
from math import inf

from pytest_irquality.retrieval.run import Ranking


def in_baseline_order(now: Ranking, before: Ranking, depth: int) -> tuple[str, ...]:
    """Today's first ``depth`` documents, those with equal scores in the order they had in the baseline.

    The cut at ``depth`` may fall within a tie: a document that the baseline kept with that very score is then as good
    a candidate for the last places as those that came.
    """
    ids, old = now.collapsed(depth), before.collapsed(depth)
    if now.scores is None or ids == old:
        return ids
    score = dict(zip(reversed(now.ids), reversed(now.scores), strict=True))
    rank = {document: rank for rank, document in enumerate(old)}

    def was(document: str) -> float:
        return rank.get(document, inf)

    groups = [list(group) for _, group in groupby(ids, key=score.__getitem__)]
    aligned = [document for group in groups for document in sorted(group, key=was)]
    if groups and before.scores is not None and len(now.ids) >= depth:
        then = dict(zip(reversed(before.ids), reversed(before.scores), strict=True))
        tied = [d for d in old if d not in score and then[d] == score[ids[-1]]]
        aligned[-len(groups[-1]) :] = sorted([*groups[-1], *tied], key=was)[: len(groups[-1])]
    return tuple(aligned)
