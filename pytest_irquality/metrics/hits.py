"""Judged documents in rankings: the one seam at which rankings and judgments meet.

Most documents of a ranking are not relevant. The few that are get found once, no deeper than the
deepest cutoff asked for; every measure then reads those short lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

from pytest_irquality.metrics.judgments import Judgments

# judged documents that are sooner looked up in a ranking one by one than its documents among them
FEW = 12

Ranking = Sequence[str]
Gains = Sequence[tuple[int, float]]


class Hits(NamedTuple):
    """A run as the measures see it: each sequence has an entry for each query.

    Ranks count from 1 and ascend. ``gains`` are those where the grade is positive, each with its
    grade; ``relevant`` are those where it suffices. ``before`` is the ranking in the baseline.
    """

    queries: Sequence[str]
    rankings: Sequence[Ranking]
    judgments: Sequence[Judgments]
    gains: Sequence[Gains]
    relevant: Sequence[Sequence[int]]
    relevant_counts: Sequence[int]
    seconds: Sequence[float | None] = ()
    before: Sequence[Ranking | None] = ()

    def ranks(self, place: int) -> dict[str, int]:
        """A query's documents with a positive grade, each with its rank."""
        ranking = self.rankings[place]
        return {ranking[rank - 1]: rank for rank, _ in self.gains[place]}

    def at(self, relevant_from: float) -> Hits:
        """These rankings, seen with another lowest relevant grade."""
        judgments = [judged.at(relevant_from) for judged in self.judgments]
        return self._replace(
            judgments=judgments,
            relevant=[*map(relevant_ranks, self.rankings, judgments, self.gains)],
            relevant_counts=[judged.relevant_count for judged in judgments],
        )

    def where(self, chosen: Sequence[object]) -> Hits:
        """Only those queries for which something is true."""
        return Hits._make([*compress(entries, chosen)] for entries in self)


def find(ranking: Ranking, gain_of: Mapping[str, float], depth: int) -> tuple[Ranking, Gains]:
    """A ranking without repetitions, and its ranks of documents with a positive grade.

    Both hold for its first ``depth`` results; what follows those stays as it is.
    """
    top = ranking if len(ranking) <= depth else ranking[:depth]
    documents = {*top}
    if len(documents) < len(top):
        return find([*dict.fromkeys(ranking)], gain_of, depth)
    gains = []
    if len(gain_of) <= FEW:
        for document, gain in gain_of.items():
            if document in documents:
                gains.append((top.index(document) + 1, gain))
        gains.sort()
    else:
        for rank, document in enumerate(top, 1):
            if document in gain_of:
                gains.append((rank, gain_of[document]))
    return ranking, gains


def relevant_ranks(ranking: Ranking, judgments: Judgments, gains: Gains) -> Sequence[int]:
    """Those of the ranks at which a document is relevant."""
    if judgments.votes:  # a grade alone does not tell
        return [rank for rank, _ in gains if ranking[rank - 1] in judgments.relevant]
    lowest = judgments.relevant_from
    return [rank for rank, gain in gains if gain >= lowest]
