"""Coverage: how many queries were compared, and why the others were not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coverage:
    """The number of queries by status. Every current query has exactly one status.

    Attributes:
        compared: Current queries with an answer in both runs.
        new: Current queries without a baseline answer, or without one on the base branch.
        no_answer: Current queries whose call failed.
        not_run: Current queries that were not selected, were skipped or could not run.
        removed: Queries of the base branch that current suites no longer have.
        comparable: Current queries that were to be compared: they have a baseline answer and were
            not deselected on the command line.
        base_only_run: Queries that ran only for the base branch.
    """

    compared: int = 0
    new: int = 0
    no_answer: int = 0
    not_run: int = 0
    removed: int = 0
    comparable: int = 0
    base_only_run: int = 0

    @property
    def total(self) -> int:
        """Return the number of current queries."""
        return self.compared + self.new + self.no_answer + self.not_run

    @property
    def has_large_gap(self) -> bool:
        """Return whether fewer than four in five of the comparable queries were compared."""
        return 5 * self.compared < 4 * self.comparable
