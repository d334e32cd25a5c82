"""The judgments of one query, and what metrics need of them before they see a ranking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import isfinite, log2

from pytest_irquality.metrics.errors import MetricError


@dataclass(frozen=True)
class Judgments:
    """The grades of one query's documents.

    A grade above 0 is a gain. A document is relevant if its grade reaches ``relevant_from``. A
    negative grade means "pooled but not judged", as in trec_eval: the document counts as unjudged.

    Attributes:
        grades: The grade of each document by its id.
        relevant_from: The lowest grade that counts as relevant, above 0.
        votes: The grades of several assessors, for documents on which they vote. Such a document is
            relevant if its grade is positive and at least half of its votes reach
            ``relevant_from``.

    Raises:
        MetricError: A grade is not a finite number, or ``relevant_from`` is not above 0.
    """

    grades: Mapping[str, float]
    relevant_from: float = 1
    votes: Mapping[str, Sequence[float]] = field(default_factory=dict)

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
        # Most suites list relevant documents only, and need no second mapping then.
        if min(self.grades.values(), default=0) > 0:
            return self.grades
        return {doc_id: grade for doc_id, grade in self.grades.items() if grade > 0}

    @cached_property
    def relevant(self) -> frozenset[str]:
        """Return the ids of the relevant documents."""
        lowest = self.relevant_from
        relevant = {doc_id for doc_id, gain in self.gains.items() if gain >= lowest}
        for doc_id, votes in self.votes.items():
            # A tie of the assessors counts in favor, as a mean of the level itself would.
            votes_in_favor = sum(vote >= lowest for vote in votes)
            if doc_id in self.gains and 2 * votes_in_favor >= len(votes):
                relevant.add(doc_id)
            else:
                relevant.discard(doc_id)
        return frozenset(relevant)

    @cached_property
    def relevant_count(self) -> int:
        """Return the number of relevant documents."""
        return len(self.relevant)

    @cached_property
    def nonrelevant(self) -> frozenset[str]:
        """Return the ids of documents that were judged and are not relevant."""
        return frozenset(self.judged_doc_ids - self.relevant)

    @cached_property
    def judged_doc_ids(self) -> frozenset[str]:
        """Return the ids of judged documents, which are those without a negative grade."""
        return frozenset(doc_id for doc_id, grade in self.grades.items() if grade >= 0)

    @cached_property
    def top_grade(self) -> float:
        """Return the highest positive grade, or 0 without one."""
        return max(self.gains.values(), default=0)

    @cached_property
    def ideal_dcg(self) -> list[float]:
        """Return the DCG of the best possible ranking at each cutoff, from 0."""
        return _compute_ideal_dcg(self.gains.values())

    @cached_property
    def ideal_exponential_dcg(self) -> list[float]:
        """Return the same as ``ideal_dcg`` with exponential gains."""
        return _compute_ideal_dcg(map(compute_exponential_gain, self.gains.values()))

    @cached_property
    def _by_relevant_from(self) -> dict[float, Judgments]:
        return {self.relevant_from: self}

    def with_relevant_from(self, relevant_from: float) -> Judgments:
        """Return these grades with another lowest relevant grade. The result is cached."""
        known = self._by_relevant_from
        if relevant_from not in known:
            known[relevant_from] = Judgments(self.grades, relevant_from, self.votes)
        return known[relevant_from]


def compute_exponential_gain(grade: float) -> float:
    """Compute the gain 2^grade − 1, which makes one excellent document worth many good ones."""
    return float(2.0**grade - 1)


def _compute_ideal_dcg(gains: Iterable[float]) -> list[float]:
    best_first = enumerate(sorted(gains, reverse=True), start=1)
    discounted = (gain / log2(rank + 1) for rank, gain in best_first)
    return [0.0, *accumulate(discounted)]
