"""Where judged documents stand in a ranking: the one seam at which rankings and judgments meet.

Most documents of a ranking are not relevant. One pass, no deeper than the deepest cutoff asked for, finds the few that
are; every measure then reads that short list.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import compress, count

from pytest_irquality.metrics.judgments import Judgments


class Hits:
    """What the measures see of one query; ranks count from 1 and ascend.

    `gains` is the grade at each rank where it is positive, `relevant` the ranks of the relevant documents among those.
    """

    __slots__ = ("before", "gains", "judgments", "query", "ranking", "relevant", "seconds")

    def __init__(self, query: str, ranking: Sequence[str], judgments: Judgments, depth: int | None = None) -> None:
        """Look for judged documents in the first `depth` results."""
        gain_of = judgments.gains
        ranks = [*compress(count(1), map(gain_of.__contains__, ranking[:depth]))]
        if len({ranking[rank - 1] for rank in ranks}) < len(ranks):  # a document is credited once, and ranks close up
            ranking = [*dict.fromkeys(ranking)]
            ranks = [*compress(count(1), map(gain_of.__contains__, ranking[:depth]))]
        self.query = query
        self.ranking = ranking
        self.judgments = judgments
        self.gains = {rank: gain_of[ranking[rank - 1]] for rank in ranks}
        self.relevant = ranks if judgments.all_gains_relevant else ranks_from(judgments.relevant_from, self.gains)
        self.seconds: float | None = None
        self.before: Sequence[str] | None = None

    def at(self, relevant_from: float) -> Hits:
        """The same ranking, seen with another lowest relevant grade."""
        seen = copy(self)
        seen.judgments = self.judgments.at(relevant_from)
        seen.relevant = ranks_from(relevant_from, self.gains)
        return seen


def ranks_from(relevant_from: float, gains: dict[int, float]) -> list[int]:
    """The ranks where the grade suffices."""
    return [rank for rank, gain in gains.items() if gain >= relevant_from]
