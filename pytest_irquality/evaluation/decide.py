"""The decision on a build, over all suites and on both sides of a change.

If the evaluation against the current branch fails, the build fails. If only the evaluation against
the base branch fails, a person has to look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pytest_irquality.evaluation.branches import Branch, BranchEvaluation
from pytest_irquality.evaluation.coverage import Coverage
from pytest_irquality.evaluation.edits import SuiteEdit
from pytest_irquality.evaluation.results import (
    CheckResult,
    Notice,
    Outcome,
    find_worst_outcome,
)
from pytest_irquality.io.text import Text
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import RetrieverId, RunKey

if TYPE_CHECKING:
    from pytest_irquality.evaluation.evaluate import EvaluationContext


class SuiteKey(NamedTuple):
    """What identifies a suite in a build: its file and the retriever that it runs on."""

    path: str
    retriever: RetrieverId


@dataclass(frozen=True)
class BuildFacts:
    """What the plugin knows about a build and neither suites, runs nor baselines say.

    Attributes:
        selected_items: The names of the selected items of each suite, if there is a selection.
            A suite that is not among the keys is complete.
        deselected_by: What deselected the others, such as ``-m smoke in addopts``, for messages.
        is_selected_in_addopts: Whether the selection comes from ``addopts``. It is held against the
            run then.
        saved_runs_in_addopts: The value of ``--ir-runs`` if only ``addopts`` names it.
        is_interrupted: Whether Ctrl-C or ``--maxfail`` ended the session.
        has_code_changes: Whether code differs between the two commits of ``run:``.
            history: Earlier values of a suite's primary metric, oldest first.
        update_command: The command that updates the baselines.
    """

    selected_items: Mapping[SuiteKey, frozenset[str]] = field(default_factory=dict)
    deselected_by: str = ""
    is_selected_in_addopts: bool = False
    saved_runs_in_addopts: str = ""
    is_interrupted: bool = False
    has_code_changes: bool = False
    history: Mapping[SuiteKey, Sequence[float]] = field(default_factory=dict)
    update_command: str = "pytest --ir-update-baseline"


@dataclass(frozen=True)
class BaseFailure:
    """A check of the base branch that fails, while the current branch fails no such check.

    Attributes:
        result: The result of the base check.
        current_result: The result of the same check on the current branch, if it still has it.
        edits: What this change edits that touches the check.
    """

    result: CheckResult
    current_result: CheckResult | None = None
    edits: tuple[Text, ...] = ()


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
        strict_source: Why it is strict, such as ``main says 'ir_gate = strict'``, or empty.
        facts: What the plugin knows about the build.
    """

    current: BranchEvaluation
    base: BranchEvaluation | None = None
    notices: tuple[Notice, ...] = ()
    coverage: Coverage = field(default=Coverage())
    base_failures: tuple[BaseFailure, ...] = ()
    edits: tuple[SuiteEdit, ...] = ()
    strict: bool = False
    strict_source: Text = field(default=Text())
    facts: BuildFacts = BuildFacts()

    @cached_property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the current suites and of the build's notices."""
        return find_worst_outcome(self.current.results, [*self.current.notices, *self.notices])

    @property
    def exit_status(self) -> int:
        """Return 0, 1 or 2.

        Nobody reads the report of a strict build, so it has to pass. A build that compared too few
        queries says too little to exit with 0, whatever its outcome is called.
        """
        if self.outcome is Outcome.ERROR:
            return 2
        if self.strict or self.coverage.has_large_gap:
            return int(self.outcome > Outcome.PASSED)
        return int(self.outcome > Outcome.REVIEW)


def decide(
    current: Branch,
    runs: Mapping[RunKey, Run],
    base: Branch | None = None,
    *,
    strict: bool | None = None,
    facts: BuildFacts = BuildFacts(),
    context: EvaluationContext | None = None,
) -> Decision:
    """Decide on a build.

    Args:
        current: The suites and baselines of the change.
        runs: The current answers, to the queries of both branches.
        base: The suites and baselines of the base branch, or ``None`` to compare with the
            committed baselines only.
        strict: The gate on the command line, which counts over both branches. ``None`` for the
            stricter gate of the branches' own configuration.
        facts: What the plugin knows about the build.
        context: What suites are evaluated with besides their answers.

    Returns:
        The decision, with everything that reports show.
    """
    raise NotImplementedError
