"""Decide on a build from the evaluations of all suites on both branches.

If the evaluation against the current branch fails, the build fails. If only the evaluation against
the base branch fails, a person has to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date
from functools import cached_property

from pytest_irquality.evaluation.build_notices import BuildEvaluation, create_build_notices
from pytest_irquality.evaluation.comparison import QueryStatus
from pytest_irquality.evaluation.edits import SuiteEdit, find_edits
from pytest_irquality.evaluation.evaluate import (
    AnswerKey,
    Branch,
    BranchEvaluation,
    BranchEvaluator,
    BuildFacts,
    Evaluation,
    SuiteKey,
    list_answer_keys,
)
from pytest_irquality.evaluation.results import (
    CheckResult,
    Coverage,
    Notice,
    Outcome,
    find_worst_outcome,
)
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import CodePart, DataPart, Text, write
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import RunKey


@dataclass(frozen=True)
class Decision(BuildEvaluation):
    """The decision on a build: its evaluation, and what a reader should know about it.

    Attributes:
        notices: Notices about the build rather than a single suite, most severe first.
        gate_source: Where the gate comes from, if not from the current branch alone.
    """

    notices: tuple[Notice, ...] = ()
    gate_source: Text = field(default=Text())

    @cached_property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the current suites and of the build's notices."""
        return find_worst_outcome(self.current.results, [*self.current.notices, *self.notices])

    @property
    def exit_status(self) -> int:
        """Return 0, 1 or 2.

        A strict build must pass, because nobody reads its report. A build that compared too few
        queries exits with 1 even if its outcome is ``REVIEW``.
        """
        if self.outcome is Outcome.ERROR:
            return 2
        if self.facts.is_update:
            return int(self.outcome is Outcome.FAILED)
        if self.is_strict or self.coverage.has_large_gap:
            return int(self.outcome > Outcome.PASSED)
        return int(self.outcome > Outcome.REVIEW)


def decide(
    current: Branch,
    runs: Mapping[RunKey, Run],
    base: Branch | None = None,
    *,
    strict_override: bool | None = None,
    today: date | None = None,
    facts: BuildFacts | None = None,
    evaluations: Mapping[SuiteKey, Evaluation] | None = None,
) -> Decision:
    """Decide on a build.

    Args:
        current: The suites and baselines of the change.
        runs: The current answers, to the queries of both branches.
        base: The suites and baselines of the base branch, or ``None`` to compare with the
            committed baselines only.
        strict_override: Whether the gate on the command line is strict, which overrides the
            configuration of both branches. ``None`` uses the stricter gate of both.
        today: The date in UTC, or ``None`` if no known issue is to expire.
        facts: What the plugin knows about the build.
        evaluations: Current suites that a ``BranchEvaluator`` with the same branches, date and
            facts has evaluated already.

    Returns:
        The decision, with everything that reports show.
    """
    facts = facts or BuildFacts()
    if base is not None and not base.name:
        base = replace(base, name="the base branch")
    evaluator = BranchEvaluator(current, runs, base, today=today, facts=facts)
    current_evaluation = evaluator.evaluate_branch(evaluations)
    base_evaluation = None
    is_base_strict = base is not None and base.is_strict
    base_failures: tuple[CheckResult, ...] = ()
    edits: tuple[SuiteEdit, ...] = ()
    if base is not None:
        base_evaluator = BranchEvaluator(base, runs, is_base_branch=True, today=today)
        base_evaluation = base_evaluator.evaluate_branch()
        base_failures = _find_base_failures(base_evaluation, current_evaluation)
        edits = find_edits(current, base)
    # Notices describe the rest of the decision, so they are created last.
    without_notices = Decision(
        current_evaluation,
        base_evaluation,
        coverage=count_coverage(current_evaluation, base_evaluation),
        base_failures=base_failures,
        edits=edits,
        is_strict=is_gate_strict(strict_override, current.is_strict, is_base_strict),
        gate_source=_describe_gate(current, base, strict_override),
        facts=facts,
    )
    return replace(without_notices, notices=create_build_notices(without_notices))


def is_gate_strict(strict_override: bool | None, *configured: bool) -> bool:
    """Return what the command line says or, if it says nothing, whether any branch is strict."""
    return any(configured) if strict_override is None else strict_override


def _describe_gate(current: Branch, base: Branch | None, strict_override: bool | None) -> Text:
    """Describe where the gate comes from, if not from the current branch alone."""
    if strict_override is not None:
        return write("'ir_gate' is set on the command line")
    if base is not None and base.is_strict and not current.is_strict:
        return write(DataPart(base.name), " has ", CodePart("ir_gate = strict"))
    return Text()


# -- Failures of the base branch -------------------------------------------------------------------


def _find_base_failures(
    base: BranchEvaluation, current: BranchEvaluation
) -> tuple[CheckResult, ...]:
    """Find the checks of the base branch that fail, unless the current branch fails them too."""
    current_outcomes: dict[object, Outcome] = {}
    for result in current.results:
        for key in _list_keys(result):
            current_outcomes[key] = max(result.outcome, current_outcomes.get(key, result.outcome))
    failures = []
    for result in base.results:
        current_outcome = max(
            current_outcomes.get(key, Outcome.PASSED) for key in _list_keys(result)
        )
        if result.outcome >= Outcome.REVIEW and current_outcome < result.outcome:
            failures.append(result)
    return tuple(failures)


def _list_keys(result: CheckResult) -> tuple[object, object]:
    # Equal texts have equal values, so they are the same failure, even in a renamed suite.
    return result.key, (result.check, str(result.text))


# -- Coverage --------------------------------------------------------------------------------------


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

    current_keys = list_answer_keys(current.branch.suites)
    removed: set[AnswerKey] = set()
    base_only: set[AnswerKey] = set()
    if base is not None:
        requests = {key.request for key in current_keys}
        base_suites = [each for each in base.branch.suites if not base.branch.is_deselected(each)]
        # A query that only moved to another suite or retriever is not removed.
        removed.update(key for key in list_answer_keys(base_suites) if key.request not in requests)
        for evaluation in base.evaluations:
            only_base = list_answer_keys([evaluation.suite]) - current_keys
            base_only.update(key for key in only_base if key.request in evaluation.run.answers)
    return Coverage(
        compared=compared,
        new=new,
        no_answer=no_answer,
        not_run=total - compared - new - no_answer,
        removed=len(removed),
        comparable=current.comparable_count,
        base_only=len(base_only),
    )
