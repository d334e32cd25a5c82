"""The decision on a build, over all suites and on both sides of a change.

If the evaluation against the current branch fails, the build fails. If only the evaluation against
the base branch fails, a person has to look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property

from pytest_irquality.evaluation.branches import (
    Branch,
    BranchEvaluation,
    BuildFacts,
    SuiteKey,
    evaluate_branch,
)
from pytest_irquality.evaluation.build_notices import (
    create_base_failure_notice,
    create_branch_notices,
    create_edit_notices,
    create_equal_sides_notice,
    create_missing_baseline_notice,
    create_session_notices,
    create_slow_loss_notices,
    create_stale_notice,
    create_unanswered_base_notices,
    rank_notices,
)
from pytest_irquality.evaluation.coverage import Coverage, count_coverage
from pytest_irquality.evaluation.edits import SuiteEdit, find_edits
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import (
    CheckResult,
    DefaultCheck,
    Notice,
    Outcome,
    find_worst_outcome,
)
from pytest_irquality.io.text import CodePart, DataPart, Text, write
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import RunKey

__all__ = ["BaseFailure", "BuildFacts", "Decision", "SuiteKey", "decide"]


@dataclass(frozen=True)
class BaseFailure:
    """A check of the base branch that fails, while the current branch has no such failure.

    Attributes:
        result: The result of the base check, with the values of both sides of the change.
        current_result: The result of the same check on the current branch, if it still has it.
        edits: The edits of suites that touch the check.
    """

    result: CheckResult
    current_result: CheckResult | None = None
    edits: tuple[SuiteEdit, ...] = ()


@dataclass(frozen=True)
class Decision:
    """The decision on a build.

    Attributes:
        current: The evaluation against the suites of the change.
        base: The evaluation against the suites of the base branch, if there is one.
        notices: Notices about the build rather than a single suite, most severe first.
        coverage: The number of queries by status.
        base_failures: The checks of the base branch that lead a report for ``REVIEW``.
        edits: What the change edits in suites.
        strict: Whether a build exits with 0 only if it passes.
        gate_source: Where the gate comes from, if not from the current branch alone.
        facts: What the plugin knows about the build.
    """

    current: BranchEvaluation
    base: BranchEvaluation | None = None
    notices: tuple[Notice, ...] = ()
    coverage: Coverage = field(default=Coverage())
    base_failures: tuple[BaseFailure, ...] = ()
    edits: tuple[SuiteEdit, ...] = ()
    strict: bool = False
    gate_source: Text = field(default=Text())
    facts: BuildFacts = field(default=BuildFacts(), repr=False)

    @cached_property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the current suites and of the build's notices."""
        return find_worst_outcome(self.current.results, [*self.current.notices, *self.notices])

    @property
    def exit_status(self) -> int:
        """Return 0, 1 or 2.

        Nobody reads the report of a strict build, so it has to pass. A build that compared too few
        of its queries says too little to exit with 0, also if it is for review for another reason.
        """
        if self.outcome is Outcome.ERROR:
            return 2
        if self.facts.is_update:
            return int(self.outcome is Outcome.FAILED)
        if self.strict or self.coverage.has_large_gap:
            return int(self.outcome > Outcome.PASSED)
        return int(self.outcome > Outcome.REVIEW)


def decide(
    current: Branch,
    runs: Mapping[RunKey, Run],
    base: Branch | None = None,
    *,
    strict: bool | None = None,
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
        strict: The gate on the command line, which counts over both branches. ``None`` for the
            stricter gate of the branches' own configuration.
        today: The date in UTC, or ``None`` if no known issue is to expire.
        facts: What the plugin knows about the build.
        evaluations: Current suites that ``evaluate_suite`` has evaluated already, with the same
            branches, date and facts.

    Returns:
        The decision, with everything that reports show.
    """
    facts = facts or BuildFacts()
    if base is not None and not base.name:
        base = replace(base, name="the base branch")
    current_evaluation = evaluate_branch(
        current, runs, base, today=today, facts=facts, evaluations=evaluations
    )
    base_evaluation = None
    if base is not None:
        base_evaluation = evaluate_branch(base, runs, is_base_side=True, today=today)
    coverage = count_coverage(current_evaluation, base_evaluation)
    is_strict, gate_source = _choose_gate(current, base, strict)

    # What the command line leaves out is not held against a run.
    is_deselected = any(map(current.is_deselected, current.suites))
    has_evaluations = bool(current_evaluation.evaluations) or is_deselected
    notices = list(create_branch_notices(current_evaluation))
    edits: tuple[SuiteEdit, ...] = ()
    base_failures: tuple[BaseFailure, ...] = ()
    if base is not None and base_evaluation is not None:
        has_evaluations |= bool(base_evaluation.evaluations)
        edits = find_edits(current, base)
        base_failures = _find_base_failures(base_evaluation, current_evaluation, edits)
        for failure in base_failures:
            notices.append(create_base_failure_notice(failure.result, base.name, failure.edits))
        notices += create_branch_notices(base_evaluation, base.name)
        notices += create_unanswered_base_notices(base_evaluation, current_evaluation, facts)
        notices += create_edit_notices(edits, base)
        if notice := create_equal_sides_notice(current_evaluation, base, facts):
            notices.append(notice)
    notices += create_session_notices(
        facts, list(runs.values()), coverage, has_evaluations=has_evaluations
    )
    notices += create_slow_loss_notices(current_evaluation, facts)

    decision = Decision(
        current_evaluation,
        base_evaluation,
        rank_notices(notices),
        coverage,
        base_failures,
        edits,
        is_strict,
        gate_source,
        facts,
    )
    return _add_baseline_notices(decision, base)


def _add_baseline_notices(decision: Decision, base: Branch | None) -> Decision:
    """Add notices about baselines that are out of date or missing.

    A failure or a review must be looked into first, and updating the baseline would hide it.
    """
    facts = decision.facts
    if facts.is_update or decision.outcome > Outcome.INCOMPLETE:
        return decision
    notices = [*decision.notices]
    if notice := create_stale_notice(decision.current, facts, strict=decision.strict):
        notices.append(notice)
    if base is not None:
        missing_notice = create_missing_baseline_notice(
            decision.current, base, facts, strict=decision.strict
        )
        if missing_notice:
            notices.append(missing_notice)
    return replace(decision, notices=rank_notices(notices))


def _choose_gate(current: Branch, base: Branch | None, strict: bool | None) -> tuple[bool, Text]:
    """Return whether the gate is strict, and what to tell the reader about it."""
    if strict is not None:
        return strict, write("'ir_gate' is set on the command line")
    if base is not None and base.is_strict and not current.is_strict:
        return True, write(DataPart(base.name), " has ", CodePart("ir_gate = strict"))
    return current.is_strict, Text()


# -- Failures of the base branch ------------------------------------------------------------------


def _find_base_failures(
    base: BranchEvaluation, current: BranchEvaluation, edits: Sequence[SuiteEdit]
) -> tuple[BaseFailure, ...]:
    """Find the checks of the base branch that fail, unless the current branch fails them too."""
    current_results: dict[tuple[object, ...], CheckResult] = {}
    current_findings = set()
    for result in current.results:
        key = _get_key(result)
        known_result = current_results.get(key, result)
        current_results[key] = max(result, known_result, key=lambda known: known.outcome)
        current_findings.add((result.outcome, result.check, str(result.text)))

    failures = []
    for result in base.results:
        current_result = current_results.get(_get_key(result))
        # The same finding in a renamed suite is the same failure under another name.
        is_known = (result.outcome, result.check, str(result.text)) in current_findings
        is_known |= current_result is not None and current_result.outcome >= result.outcome
        if result.outcome >= Outcome.REVIEW and not is_known:
            path = result.suite_path
            touching = [e for e in edits if e.path and not e.is_added and path in ("", e.path)]
            failures.append(BaseFailure(result, current_result, tuple(touching)))
    return tuple(failures)


def _get_key(result: CheckResult) -> tuple[object, ...]:
    """Return what identifies a check on both branches, whatever its bounds are."""
    check: object = result.check
    if not isinstance(check, DefaultCheck):
        check = (type(check), result.label)
    suite = result.suite_path or result.subject
    return (check, suite, result.retriever, result.tag, result.item)
