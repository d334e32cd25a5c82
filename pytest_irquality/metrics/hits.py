"""Where judged documents stand in a ranking: the one seam at which rankings and judgments meet.

Most documents of a ranking are not relevant. The few that are get found once, no deeper than the
deepest cutoff asked for; every measure then reads that short list.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from pytest_irquality.metrics.judgments import Judgments

# judged documents that are sooner looked up in a ranking one by one than its documents among them
FEW = 12


class Hits:
    """What the measures see of one query; ranks count from 1 and ascend.

    `before` is the query's ranking in the baseline, `others` are other answers to it. `gains` are
    the ranks where the grade is positive, each with its grade; `relevant` those where it suffices.
    """

    __slots__ = (
        "before", "gains", "judgments", "others", "query", "ranking", "relevant", "seconds",
    )  # fmt: skip

    def __init__(
        self, query: str, ranking: Sequence[str], judgments: Judgments, depth: int | None = None
    ) -> None:
        """Look for judged documents in the first `depth` results, each document being there
        once.
        """
        top = ranking[:depth]
        documents = {*top}
        if len(documents) < len(top):
            ranking = [*dict.fromkeys(ranking)]
            top = ranking[:depth]
            documents = {*top}
        gain_of = judgments.gains
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
        self.query = query
        self.ranking = ranking
        self.judgments = judgments
        self.gains = gains
        self.relevant = self._relevant()
        self.seconds: float | None = None
        self.before: Sequence[str] | None = None
        self.others: Sequence[Sequence[str]] | None = None

    @property
    def ranks(self) -> dict[str, int]:
        """The documents with a positive grade, each with its rank."""
        return {self.ranking[rank - 1]: rank for rank, _ in self.gains}

    def at(self, relevant_from: float) -> Hits:
        """The same ranking, seen with another lowest relevant grade."""
        seen = copy(self)
        seen.judgments = self.judgments.at(relevant_from)
        seen.relevant = seen._relevant()
        return seen

    def _relevant(self) -> list[int]:
        judgments, relevant_from = self.judgments, self.judgments.relevant_from
        if judgments.votes:  # a grade alone does not tell
            relevant = judgments.relevant
            return [rank for rank, _ in self.gains if self.ranking[rank - 1] in relevant]
        return [rank for rank, gain in self.gains if gain >= relevant_from]
