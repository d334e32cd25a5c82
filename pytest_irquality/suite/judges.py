"""Several judges of one pair: what their grades come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import fsum

from pytest_irquality.metrics import Judgments

UNNAMED = ""
"""The judge of grades that stand in the suite itself, or in a file that does not say whose they
are.
"""

DECISION = " decision"
"""The judge of decisions, whose grade of a pair wins over all others. No file can name it: names
are stripped.
"""
THE_QUERY = ""
"""The document of a row that is about its query: it was skipped, and the note says why."""

Votes = Mapping[str, Mapping[str, float]]
"""Grades by judge, by document."""


def joined(votes: Votes) -> tuple[dict[str, float], dict[str, Sequence[float]]]:
    """The mean grade of each document, and the grades of those whose relevance is voted on."""
    grades: dict[str, float] = {}
    voted: dict[str, Sequence[float]] = {}
    for document, given in votes.items():
        counted = [*given.values()]
        grades[document] = mean(counted)
        if len(counted) > 1:
            voted[document] = counted
    return grades, voted


def mean(grades: Sequence[float]) -> float:
    """The mean, exact where all agree."""
    return grades[0] if len(set(grades)) == 1 else fsum(grades) / len(grades)


# -- what was said of one query --------------------------------------------------------------------


@dataclass(frozen=True)
class Vote:
    """A grade by a judge who is named.

    ``date`` is when it was given, where that is known, ``note`` what the judge wrote beside it.
    """

    grade: float
    date: datetime | None = None
    note: str = ""

    def after(self, before: Vote) -> Vote | None:
        """The grade that the judge holds now, having graded the pair ``before``.

        None where nothing tells which came later.
        """
        if self.grade != before.grade and _when(self) == _when(before):
            return None
        return max(self, before, key=_when)


def _when(vote: Vote) -> float:
    return vote.date.timestamp() if vote.date else float("-inf")


NamedVotes = dict[str, dict[str, Vote]]
"""By judge, by document."""


@dataclass(frozen=True)
class Said:
    """Everything that the suite and all its files say of one query.

    ``grades`` are those of nobody in particular, ``named`` those of judges with names.
    """

    grades: Mapping[str, float]
    named: NamedVotes = field(default_factory=dict)

    @cached_property
    def _every(self) -> Votes:
        """Every grade of the documents that somebody with a name graded or decided on."""
        every: dict[str, dict[str, float]] = {}
        for document, given in self.named.items():
            if document == THE_QUERY:
                continue
            votes = every[document] = {}
            if document in self.grades:
                votes[UNNAMED] = self.grades[document]
            votes.update((judge, vote.grade) for judge, vote in given.items())
        return every

    @property
    def votes(self) -> Votes:
        """The grades of those documents that nobody decided on."""
        return {doc: votes for doc, votes in self._every.items() if DECISION not in votes}

    @property
    def settled(self) -> Mapping[str, Sequence[str]]:
        """The judges of those documents that somebody decided on."""
        return {
            document: tuple(judge for judge in votes if judge != DECISION)
            for document, votes in self._every.items()
            if DECISION in votes
        }

    @property
    def notes(self) -> Mapping[str, Mapping[str, str]]:
        """The notes of judges, by document; of ``THE_QUERY`` why they skipped it."""
        written = {
            document: {judge: vote.note for judge, vote in given.items() if vote.note}
            for document, given in self.named.items()
        }
        return {document: notes for document, notes in written.items() if notes}

    def judgments(self, relevant_from: float) -> Judgments:
        """The judgments that the measures read."""
        if not self.named:
            return Judgments(self.grades, relevant_from)
        grades, voted = joined(self.votes)
        decided = {document: self._every[document][DECISION] for document in self.settled}
        return Judgments({**self.grades, **grades, **decided}, relevant_from, voted)
