"""Where judged documents stand in a ranking: the one seam at which rankings and judgments meet.

Most documents of a ranking are not relevant. One pass, no deeper than the deepest cutoff asked for, finds the few that
are; every measure then reads that short list.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count

from pytest_irquality.metrics.judgments import Judgments


class Hits:
    """What the measures see of one query: ranks (from 1, ascending) and gains of the documents found."""

    __slots__ = ("before", "gains", "judgments", "query", "ranking", "ranks", "relevant", "seconds")

    def __init__(
        self,
        query: str,
        ranking: Sequence[str],
        judgments: Judgments,
        ranks: list[int],
        gains: list[float],
        *,
        seconds: float | None = None,
        before: Sequence[str] | None = None,
    ) -> None:
        self.query = query
        self.ranking = ranking
        self.judgments = judgments
        self.ranks = ranks
        self.gains = gains
        self.seconds = seconds
        self.before = before
        if judgments.all_gains_relevant:
            self.relevant = ranks
        else:
            level = judgments.relevant_from
            self.relevant = [rank for rank, gain in zip(ranks, gains, strict=True) if gain >= level]

    def at(self, relevant_from: float) -> Hits:
        """The same documents with another lowest relevant grade."""
        judgments = self.judgments.at(relevant_from)
        return Hits(
            self.query, self.ranking, judgments, self.ranks, self.gains, seconds=self.seconds, before=self.before
        )


def find(
    query: str,
    ranking: Sequence[str],
    judgments: Judgments,
    depth: int | None = None,
    *,
    seconds: float | None = None,
    before: Sequence[str] | None = None,
) -> Hits:
    """Look for the documents that carry a gain in the first `depth` results."""
    gain_of = judgments.gains
    ranks = [*compress(count(1), map(gain_of.__contains__, ranking[:depth]))]
    documents = [ranking[rank - 1] for rank in ranks]
    if len(set(documents)) < len(documents):  # a document is credited once, and the ranks behind its copy close up
        return find(query, [*dict.fromkeys(ranking)], judgments, depth, seconds=seconds, before=before)
    gains = [gain_of[document] for document in documents]
    return Hits(query, ranking, judgments, ranks, gains, seconds=seconds, before=before)
