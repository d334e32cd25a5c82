"""Evaluation of a suite: whether the answers of a retriever meet its requirements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from pytest_irquality.evaluation.comparison import Comparison
from pytest_irquality.evaluation.results import CheckResult, Notice, Outcome, find_worst_outcome
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Suite


@dataclass(frozen=True)
class EvaluationContext:
    """What an evaluation must know about the build. The defaults are those of a plain run.

    Attributes:
        today: The date in UTC, or ``None`` if no known issue is to expire.
        has_base_branch: Whether the build compares with a branch (``git:``, ``run:``), in which an
            expired known issue is a notice, so that the calendar breaks no pull request.
        is_base_side: Whether the suite is the base branch's. A known issue that holds again is no
            failure of it.
        corpus_texts: The text of every document or chunk by id, to explain missing passages.
        selected_items: The names of the items that run, or ``None`` if all do. Checks of the
            others are not evaluated.
        deselected_query_ids: The queries that the command line left out, which is no gap.
    """

    today: date | None = None
    has_base_branch: bool = False
    is_base_side: bool = False
    corpus_texts: Mapping[str, str] | None = None
    selected_items: frozenset[str] | None = None
    deselected_query_ids: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Evaluation:
    """A suite and everything that is known about its answers.

    Attributes:
        results: The results of all checks of the suite. The default checks that several suites
            share are made by ``shared_checks``.
    """

    suite: Suite
    run: Run = field(repr=False)
    comparison: Comparison = field(repr=False)
    results: tuple[CheckResult, ...]
    notices: tuple[Notice, ...]
    baseline_run: Run | None = field(default=None, repr=False)

    @property
    def outcome(self) -> Outcome:
        """Return the worst outcome of all results and notices."""
        return find_worst_outcome(self.results, self.notices)


def evaluate(
    suite: Suite,
    run: Run,
    baseline_run: Run | None = None,
    *,
    is_new: bool = False,
    context: EvaluationContext | None = None,
) -> Evaluation:
    """Evaluate the answers of a retriever to the queries of a suite.

    Args:
        suite: The queries and the requirements on their answers.
        run: The current answers.
        baseline_run: The answers to compare with, if there are any.
        is_new: Whether the base branch has an answer to none of the queries.
        context: What else is known about the build.

    Returns:
        The evaluation. It lacks the default checks that all suites of a build share.
    """
    raise NotImplementedError


def has_drop_threshold(evaluation: Evaluation) -> bool:
    """Return whether the suite says itself how far relevance may drop.

    Such a suite takes no part in checks 2 and 3. A threshold that only warns or cannot fail says
    nothing: a metric cannot drop by more than it was.
    """
    raise NotImplementedError
