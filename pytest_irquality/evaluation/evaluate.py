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
from pytest_irquality.io.decoding import pause_garbage_collection
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Suite


@dataclass(frozen=True)
class Evaluation:
    """A suite and everything that is known about its answers.

    Attributes:
        results: The results of all checks of the suite. The default checks that several suites
            share are not among them.
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
    # What is created here stays, so the collector would look for garbage in vain.
    with pause_garbage_collection():
        comparison = compare_runs(
            suite, run, baseline_run, is_new=is_new, corpus_texts=context.corpus_texts
        )
        results = check_suite(comparison, context)
        labels = _list_checks_that_unjudged_break(comparison, results, context)
        facts = SuiteFacts(comparison, results, context, labels)
        notices = create_notices(facts)
    return Evaluation(suite, run, comparison, results, notices, baseline_run)


def check_suite(comparison: Comparison, context: EvaluationContext) -> tuple[CheckResult, ...]:
    """Make the checks of a suite whose items are selected."""
    today = context.expiry_date
    requirements = RequirementChecks(comparison, today, accepts_fixed_issues=context.is_base_side)
    results = []
    for result in (*requirements.check_all(), *check_suite_defaults(comparison, today)):
        if context.selected_items is None or result.item in context.selected_items:
            results.append(assign_suites(result, [comparison.suite]))
    return tuple(results)


def _list_checks_that_unjudged_break(
    comparison: Comparison, results: Sequence[CheckResult], context: EvaluationContext
) -> list[str]:
    """Return the labels of failed checks that would hold if unjudged documents were ignored."""
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    run = _remove_unjudged(comparison) if failed else None
    if run is None:
        return []
    other = compare_runs(comparison.suite, run, comparison.baseline_run, is_new=comparison.is_new)
    other_outcomes = {}
    for result in check_suite(other, context):
        other_outcomes[result.item, result.label, result.query_ids] = result.outcome
    labels = []
    for result in failed:
        # A check that names other queries then is broken in another way.
        outcome = other_outcomes.get((result.item, result.label, result.query_ids))
        if outcome is not None and outcome < Outcome.REVIEW:
            labels.append(result.label)
    return labels


def _remove_unjudged(comparison: Comparison) -> Run | None:
    """Return the current run without unjudged documents that came since the baseline.

    Returns:
        The run, or ``None`` if that removes nothing. Whoever lists passages judges no results.
    """
    if comparison.suite.settings.match == "text":
        return None
    answers = dict(comparison.run.answers)
    is_changed = False
    for query in comparison.answered_queries:
        change = comparison.changes_by_id.get(query.id)
        if not query.judgments.grades or (change and change.is_unchanged):
            continue
        expected = {*query.judgments.grades, *(change.doc_ids_before if change else ())}
        rankings = []
        for ranking in answers[query.request]:
            doc_ids = tuple(doc_id for doc_id in ranking.doc_ids if doc_id in expected)
            is_changed = is_changed or len(doc_ids) < len(ranking.doc_ids)
            rankings.append(Ranking(doc_ids, seconds=ranking.seconds))
        answers[query.request] = tuple(rankings)
    return replace(comparison.run, answers=answers) if is_changed else None
