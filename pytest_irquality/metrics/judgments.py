"""The judgments of one query, and the places of judged documents in rankings.

Most documents of a ranking have no grade. The few graded ones are found once for all metrics, down
to the deepest cutoff, and every metric then reads these short lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from functools import cached_property
from itertools import accumulate, compress
from math import isfinite, log2
from typing import NamedTuple

from pytest_irquality.io import dataclass, replace

MAX_EXPONENT = 1000  # 2^1024 overflows a float


class MetricError(ValueError):
    """A metric or judgment that cannot be used as written, in one line that says what to do."""


@dataclass(frozen=True)
class Judgments:
    """The grades of one query's documents.

    A grade above 0 is a gain. A document is relevant if its grade reaches ``relevant_from``. A
    negative grade means "pooled but not judged", as in trec_eval: the document counts as unjudged.

    Attributes:
        grades: The grade of each document by its id.
        relevant_from: The lowest grade that counts as relevant, above 0.

    Raises:
        MetricError: A grade is not a finite number, or ``relevant_from`` is not above 0.
    """

    grades: Mapping[str, float]
    relevant_from: float = 1

    def __post_init__(self) -> None:
        if not self.relevant_from > 0:
            raise MetricError(
                f"'relevant_from' is {self.relevant_from}, but it must be above 0, because a"
                " document of grade 0 is not relevant"
            )
        for doc_id, grade in self.grades.items():
            if not isfinite(grade):
                raise MetricError(f"The grade of '{doc_id}' is {grade}. Use a finite number.")

    # Each property is computed when it is first read, because a suite of a million judgments is
    # often loaded to run only a few of its queries.

    @cached_property
    def gains(self) -> Mapping[str, float]:
        """Return the positive grades by document id."""
        # Most suites list relevant documents only, so the grades are the gains.
        if min(self.grades.values(), default=0) > 0:
            return self.grades
        return {doc_id: grade for doc_id, grade in self.grades.items() if grade > 0}

    @cached_property
    def relevant(self) -> AbstractSet[str]:
        """Return the ids of the relevant documents."""
        lowest = self.relevant_from
        # Usually all documents with a gain are relevant, so no new set is needed.
        if min(self.gains.values(), default=lowest) >= lowest:
            return self.gains.keys()
        return frozenset(doc_id for doc_id, gain in self.gains.items() if gain >= lowest)

    @property
    def relevant_count(self) -> int:
        """Return the number of relevant documents."""
        return len(self.relevant)

    @cached_property
    def ideal_dcg(self) -> list[float]:
        """Return the DCG of the best possible ranking at each cutoff, from 0."""
        return _compute_ideal_dcg(self.gains.values())

    @cached_property
    def ideal_exponential_dcg(self) -> list[float]:
        """Return the DCG of the best possible ranking at each cutoff with exponential gains."""
        return _compute_ideal_dcg(map(compute_exponential_gain, self.gains.values()))

    def with_relevant_from(self, relevant_from: float) -> Judgments:
        """Return these grades with another lowest relevant grade."""
        return replace(self, relevant_from=relevant_from)


def compute_exponential_gain(grade: float) -> float:
    """Compute the gain 2^grade − 1, which makes one excellent document worth many good ones.

    Raises:
        MetricError: The grade is so high that a sum of gains may overflow.
    """
    if grade > MAX_EXPONENT:
        raise MetricError(
            f"The grade {grade:g} is too high for 'gains=exp', which allows {MAX_EXPONENT}"
        )
    return float(2.0**grade - 1)


def _compute_ideal_dcg(gains: Iterable[float]) -> list[float]:
    best_first = enumerate(sorted(gains, reverse=True), start=1)
    discounted = (gain / log2(rank + 1) for rank, gain in best_first)
    return [0.0, *accumulate(discounted)]


# -- Rankings --------------------------------------------------------------------------------------

# With so few gains, searching the ranking for each is faster than looking up each result.
MAX_SEARCHED_GAINS = 12

DocIds = Sequence[str]
RankedGains = Sequence[tuple[int, float]]


class JudgedRankings(NamedTuple):
    """Rankings as metrics see them. All sequences have one entry for each ranking.

    Attributes:
        rankings: Document ids, best first. They have no duplicates down to the depth that metrics
            read.
        gains: The rank (from 1) and the grade of each document with a positive grade, by rank.
        relevant_ranks: The ranks of relevant documents, ascending.
        relevant_counts: The number of relevant documents, returned or not.
        baseline_rankings: The rankings to compare with, if there are any.
    """

    rankings: Sequence[DocIds]
    judgments: Sequence[Judgments]
    gains: Sequence[RankedGains]
    relevant_ranks: Sequence[Sequence[int]]
    relevant_counts: Sequence[int]
    baseline_rankings: Sequence[DocIds | None]

    def with_relevant_from(self, relevant_from: float) -> JudgedRankings:
        """Return the same rankings with another lowest relevant grade."""
        judgments = [each.with_relevant_from(relevant_from) for each in self.judgments]
        return self._replace(
            judgments=judgments,
            relevant_ranks=list(map(find_relevant_ranks, judgments, self.gains)),
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
        # Duplicates are rare, so they are only removed from rankings that have some.
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


def find_relevant_ranks(judgments: Judgments, gains: RankedGains) -> Sequence[int]:
    """Return the ranks of relevant documents."""
    lowest = judgments.relevant_from
    return [rank for rank, gain in gains if gain >= lowest]
