"""Judgments of one query's documents, prepared once so that no scoring pass has to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import isfinite, log2
from types import MappingProxyType

from pytest_irquality.metrics.errors import MeasureError


class Judgments:
    """One query's grades by document id, with what measures need of them before a ranking is seen.

    ``votes`` are the grades that several judges gave a document, for documents on which they vote:
    such a document is relevant when at least half of them reach ``relevant_from``, whatever its own
    grade, which must be above 0. Raises ``MeasureError`` for a grade that is no number, and a
    ``relevant_from`` that is not above 0.
    """

    def __init__(
        self,
        grades: Mapping[str, float],
        relevant_from: float = 1,
        votes: Mapping[str, Sequence[float]] = MappingProxyType({}),
    ) -> None:
        if not relevant_from > 0:
            raise MeasureError(
                f"relevant_from is {relevant_from}, but it must be above 0: a grade of 0 is not"
                " relevant"
            )
        self.grades: Mapping[str, float] = dict(grades)
        if not all(map(isfinite, self.grades.values())):
            document, grade = next(pair for pair in self.grades.items() if not isfinite(pair[1]))
            raise MeasureError(f"the grade of {document!r} is {grade}, which is no number")
        self.relevant_from = relevant_from
        self.votes = votes

    # Each is worked out when first read: a suite of a million judgments is often loaded to ask a
    # few of its queries.

    @cached_property
    def gains(self) -> Mapping[str, float]:
        """The positive grades."""
        if min(self.grades.values(), default=0) > 0:  # as where only what is relevant is listed
            return self.grades
        return {document: grade for document, grade in self.grades.items() if grade > 0}

    @cached_property
    def relevant(self) -> frozenset[str]:
        """The documents graded ``relevant_from`` or better.

        Of those voted on, the ones that at least half found so.
        """
        lowest = self.relevant_from
        relevant = {document for document, gain in self.gains.items() if gain >= lowest}
        for document, given in self.votes.items():
            in_favour = sum(grade >= lowest for grade in given)
            if document in self.gains and 2 * in_favour >= len(given):
                relevant.add(document)
            else:
                relevant.discard(document)
        return frozenset(relevant)

    @cached_property
    def relevant_count(self) -> int:
        """The number of relevant documents."""
        return len(self.relevant)

    @cached_property
    def top_grade(self) -> float:
        """The best grade given, 0 where there is none above."""
        return max(self.gains.values(), default=0)

    @cached_property
    def ideal(self) -> list[float]:
        """The DCG of the best ranking, at each cutoff from 0."""
        return ideal_dcg(self.gains.values())

    @cached_property
    def ideal_exponential(self) -> list[float]:
        """`ideal`, with gains of 2^grade - 1."""
        return ideal_dcg(map(exponential, self.gains.values()))

    @cached_property
    def nonrelevant(self) -> frozenset[str]:
        """Documents judged and found wanting.

        A negative grade says *pooled, not judged*, as in trec_eval.
        """
        judged = {document for document, grade in self.grades.items() if grade >= 0}
        return frozenset(judged - self.relevant)

    @cached_property
    def _levels(self) -> dict[float, Judgments]:
        return {self.relevant_from: self}

    def at(self, relevant_from: float) -> Judgments:
        """These grades with another lowest relevant one; remembered."""
        if relevant_from not in self._levels:
            self._levels[relevant_from] = Judgments(self.grades, relevant_from, self.votes)
        return self._levels[relevant_from]


def exponential(grade: float) -> float:
    """The gain 2^grade - 1, which makes a top document worth many good ones."""
    return float(2.0**grade - 1)


def ideal_dcg(gains: Iterable[float]) -> list[float]:
    """The DCG of the best possible ranking, at each cutoff from 0 to the number of gains."""
    best_first = enumerate(sorted(gains, reverse=True), 1)
    discounted = (gain / log2(rank + 1) for rank, gain in best_first)
    return [0.0, *accumulate(discounted)]
