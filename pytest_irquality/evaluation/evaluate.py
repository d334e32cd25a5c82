"""Evaluation of a suite: whether the answers of a retriever meet its requirements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pytest_irquality.evaluation.comparison import Comparison, compare_runs
from pytest_irquality.evaluation.default_checks import check_suite_defaults
from pytest_irquality.evaluation.notices import SuiteFacts, create_notices
from pytest_irquality.evaluation.requirement_checks import RequirementChecks
from pytest_irquality.evaluation.results import (
    CheckResult,
    EvaluationContext,
    Notice,
    Outcome,
    assign_suites,
    find_worst_outcome,
)
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Suite


@dataclass(frozen=True)
class Evaluation:
    """A suite and everything that is known about its answers.

    Attributes:
        results: The results of all checks of the suite. The default checks that several suites
            share are made by ``shared_checks``.
        notices: The observations, causes of the outcome first.
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
    context = context or EvaluationContext()
    comparison = compare_runs(
        suite, run, baseline_run, is_new=is_new, corpus_texts=context.corpus_texts
    )
    results = check_suite(comparison, context)
    labels = _list_checks_that_unjudged_break(comparison, results, context)
    facts = SuiteFacts(comparison, results, context, labels)
    return Evaluation(suite, run, comparison, results, create_notices(facts), baseline_run)


def check_suite(comparison: Comparison, context: EvaluationContext) -> tuple[CheckResult, ...]:
    """Make the checks of a suite whose items are selected."""
    requirements = RequirementChecks(
        comparison, context.expiry_date, accepts_fixed_issues=context.is_base_side
    )
    suite = comparison.suite
    results = []
    for result in (
        *requirements.check_all(),
        *check_suite_defaults(comparison, context.expiry_date),
    ):
        results.append(assign_suites(result, [suite]))
    if context.selected_items is None:
        return tuple(results)
    return tuple(result for result in results if result.item in context.selected_items)


def _list_checks_that_unjudged_break(
    comparison: Comparison, results: Sequence[CheckResult], context: EvaluationContext
) -> list[str]:
    """Return the labels of failed checks that would hold if unjudged documents were ignored."""
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    run = remove_unjudged(comparison) if failed else None
    if run is None:
        return []
    without_unjudged = compare_runs(
        comparison.suite, run, comparison.baseline_run, is_new=comparison.is_new
    )
    others = {}
    for other in check_suite(without_unjudged, context):
        others[other.item, other.label, other.query_ids] = other.outcome
    labels = []
    for result in failed:
        other_outcome = others.get((result.item, result.label, result.query_ids))
        if other_outcome is not None and other_outcome < Outcome.REVIEW:
            labels.append(result.label)
    return labels


def remove_unjudged(comparison: Comparison) -> Run | None:
    """Return the current run without unjudged documents that came since the baseline.

    Returns:
        The run, or ``None`` if that removes nothing. Whoever lists passages judges no results.
    """
    if comparison.suite.settings.match == "text":
        return None
    answers = dict(comparison.run.answers)
    is_changed = False
    for query in comparison.answered_queries:
        grades = query.judgments.grades
        change = comparison.changes_by_id.get(query.id)
        if not grades or (change and change.is_unchanged):
            continue
        known = (
            {doc_id for ranking in change.before for doc_id in ranking.doc_ids} if change else set()
        )
        rankings = []
        for ranking in answers[query.request]:
            kept = [doc_id for doc_id in ranking.doc_ids if doc_id in grades or doc_id in known]
            is_changed = is_changed or len(kept) < len(ranking.doc_ids)
            rankings.append(Ranking(tuple(kept), seconds=ranking.seconds))
        answers[query.request] = tuple(rankings)
    return replace(comparison.run, answers=answers) if is_changed else None
