"""The places of judged documents in rankings, found once for all metrics.

Most documents of a ranking have no grade. The few that have one are found no deeper than the
deepest cutoff, and every metric then reads these short lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import NamedTuple

from pytest_irquality.metrics.judgments import Judgments

# Up to this many gains, a search for each in the ranking is faster than a walk over the ranking.
MAX_SEARCHED_GAINS = 12

DocIds = Sequence[str]
RankedGains = Sequence[tuple[int, float]]


class JudgedRankings(NamedTuple):
    """Rankings as metrics see them. All sequences have one entry for each ranking.

    Attributes:
        rankings: Document ids, best first, without duplicates as deep as metrics read.
        gains: The rank (from 1) and the grade of each document with a positive grade, by rank.
        relevant_ranks: The ranks of relevant documents, ascending.
        relevant_counts: How many documents are relevant, returned or not.
        seconds: How long each call took, if known.
        baseline_rankings: The rankings to compare with, if there are any.
        positions: The index of each ranking in the batch that was to be scored.
    """

    rankings: Sequence[DocIds]
    judgments: Sequence[Judgments]
    gains: Sequence[RankedGains]
    relevant_ranks: Sequence[Sequence[int]]
    relevant_counts: Sequence[int]
    seconds: Sequence[float | None]
    baseline_rankings: Sequence[DocIds | None]
    positions: Sequence[int]

    def with_relevant_from(self, relevant_from: float) -> JudgedRankings:
        """Return the same rankings with another lowest relevant grade."""
        judgments = [each.with_relevant_from(relevant_from) for each in self.judgments]
        return self._replace(
            judgments=judgments,
            relevant_ranks=list(map(find_relevant_ranks, self.rankings, judgments, self.gains)),
            relevant_counts=[each.relevant_count for each in judgments],
        )

    def select(self, selected: Sequence[bool]) -> JudgedRankings:
        """Return only those rankings for which an entry of ``selected`` is true."""
        return JudgedRankings._make(list(compress(entries, selected)) for entries in self)


def find_gains(
    ranking: DocIds, gain_by_doc_id: Mapping[str, float], depth: int
) -> tuple[DocIds, RankedGains]:
    """Find the documents with a positive grade among the first results.

    Returns:
        The ranking, without duplicates if its first ``depth`` results have any, and the rank and
        grade of each document with a positive grade among these results.
    """
    top = ranking if len(ranking) <= depth else ranking[:depth]
    doc_ids = set(top)
    if len(doc_ids) < len(top):
        # Duplicates are rare, so only rankings that have some pay for their removal.
        return find_gains(list(dict.fromkeys(ranking)), gain_by_doc_id, depth)
    gains = []
    if len(gain_by_doc_id) <= MAX_SEARCHED_GAINS:
        for doc_id, gain in gain_by_doc_id.items():
            if doc_id in doc_ids:
                gains.append((top.index(doc_id) + 1, gain))
        gains.sort()
    else:
        for rank, doc_id in enumerate(top, start=1):
            if doc_id in gain_by_doc_id:
                gains.append((rank, gain_by_doc_id[doc_id]))
    return ranking, gains


def find_relevant_ranks(ranking: DocIds, judgments: Judgments, gains: RankedGains) -> Sequence[int]:
    """Return the ranks of relevant documents."""
    # With votes the mean grade does not decide, so the documents have to be looked up.
    if judgments.votes:
        relevant = judgments.relevant
        return [rank for rank, _ in gains if ranking[rank - 1] in relevant]
    lowest = judgments.relevant_from
    return [rank for rank, gain in gains if gain >= lowest]
