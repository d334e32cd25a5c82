"""Coverage: how many queries were compared, and why the others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pytest_irquality.evaluation.branches import BranchEvaluation
from pytest_irquality.evaluation.constants import MIN_COMPARED_PER_5
from pytest_irquality.evaluation.query_changes import QueryStatus
from pytest_irquality.io.text import Text, format_count, write
from pytest_irquality.suite.model import RetrieverId, Suite


@dataclass(frozen=True)
class Coverage:
    """The number of queries by status. Every current query has exactly one status.

    A suite that runs on two retrievers counts twice.

    Attributes:
        compared: Current queries with an answer in both runs.
        new: Current queries without a baseline answer, or without one on the base branch.
        no_answer: Current queries whose call failed.
        not_run: Current queries that were not selected, were skipped or could not run.
        removed: Queries of the base branch that current suites no longer have.
        comparable: Current queries that were to be compared: they have a baseline answer and were
            not deselected on the command line.
        base_only: Queries that ran only for the base branch.
    """

    compared: int = 0
    new: int = 0
    no_answer: int = 0
    not_run: int = 0
    removed: int = 0
    comparable: int = 0
    base_only: int = 0

    @property
    def total(self) -> int:
        """Return the number of current queries."""
        return self.compared + self.new + self.no_answer + self.not_run

    @property
    def has_large_gap(self) -> bool:
        """Return whether fewer than four in five of the comparable queries were compared."""
        return 5 * self.compared < MIN_COMPARED_PER_5 * self.comparable

    def describe(self) -> Text:
        """Describe the coverage in one line that adds up, such as ``19 compared, 1 removed``."""
        counts = [
            (self.compared, "compared"),
            (self.new, "new"),
            (self.no_answer, "no answer"),
            (self.not_run, "not run"),
        ]
        parts = [f"{count:,} {name}" for count, name in counts if count]
        text = format_count(self.total, "query", "queries")
        if parts:
            text += f": {', '.join(parts)}"
        if self.removed:
            text += f" (and {self.removed:,} removed)"
        return write(text)


def count_coverage(current: BranchEvaluation, base: BranchEvaluation | None = None) -> Coverage:
    """Count the queries of a build by status.

    Args:
        current: The evaluation against the current branch.
        base: The evaluation against the base branch, if there is one.
    """
    statuses: Counter[QueryStatus] = Counter()
    for evaluation in current.evaluations:
        statuses.update(evaluation.comparison.statuses.values())
    compared, new = statuses[QueryStatus.COMPARED], statuses[QueryStatus.NEW]
    no_answer = statuses[QueryStatus.NO_ANSWER]
    # Suites that were not evaluated count as well.
    total = sum(len(suite.queries) for suite in current.branch.suites)

    current_requests = _list_requests(current.branch.suites)
    removed = set()
    base_only = set()
    if base is not None:
        texts = {request for _, request in current_requests}
        base_suites = [
            suite for suite in base.branch.suites if not base.branch.is_deselected(suite)
        ]
        for key in _list_requests(base_suites):
            # A query that only moved to another suite or retriever is not removed.
            if key.request not in texts:
                removed.add(key)
        for evaluation in base.evaluations:
            for key in _list_requests([evaluation.suite]) - current_requests:
                if key.request in evaluation.run.answers:
                    base_only.add(key)
    return Coverage(
        compared=compared,
        new=new,
        no_answer=no_answer,
        not_run=total - compared - new - no_answer,
        removed=len(removed),
        comparable=current.comparable_count,
        base_only=len(base_only),
    )


class _Request(NamedTuple):
    retriever: RetrieverId
    request: str


def _list_requests(suites: Iterable[Suite]) -> set[_Request]:
    requests: set[_Request] = set()
    for suite in suites:
        requests.update(_Request(suite.retriever, query.request) for query in suite.queries)
    return requests
