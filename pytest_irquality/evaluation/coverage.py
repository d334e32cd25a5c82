"""Coverage: how many queries were compared, and why the others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_irquality.evaluation.branches import BranchEvaluation
from pytest_irquality.evaluation.comparison import QueryStatus
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.io.text import Text, format_count, write
from pytest_irquality.suite.model import RetrieverId, Suite

# A build that compared a smaller fraction of its queries says too little to exit with 0.
MIN_COMPARED_PER_5 = 4


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
    for suite in (*current.missing, *current.deselected):
        statuses[QueryStatus.NOT_RUN] += len(suite.queries)

    removed_count = 0
    base_only_count = 0
    if base is not None:
        current_requests = _list_requests(current.branch.suites)
        texts = {request for _, request in current_requests}
        kept_suites = [s for s in base.branch.suites if not base.branch.is_deselected(s)]
        # A query that only moved to another suite or retriever is not removed.
        for _, request in _list_requests(kept_suites):
            removed_count += request not in texts
        base_only_count = _count_base_only(base.evaluations, current_requests)
    return Coverage(
        compared=statuses[QueryStatus.COMPARED],
        new=statuses[QueryStatus.NEW],
        no_answer=statuses[QueryStatus.NO_ANSWER],
        not_run=statuses[QueryStatus.NOT_RUN],
        removed=removed_count,
        comparable=current.comparable_count,
        base_only=base_only_count,
    )


def _count_base_only(
    base_evaluations: Iterable[Evaluation], current_requests: set[tuple[RetrieverId, str]]
) -> int:
    requests = set()
    for evaluation in base_evaluations:
        for query in evaluation.suite.queries:
            if evaluation.comparison.statuses[query.id] is not QueryStatus.NOT_RUN:
                requests.add((evaluation.suite.retriever, query.request))
    return len(requests - current_requests)


def _list_requests(suites: Iterable[Suite]) -> set[tuple[RetrieverId, str]]:
    requests = set()
    for suite in suites:
        for query in suite.queries:
            requests.add((suite.retriever, query.request))
    return requests
