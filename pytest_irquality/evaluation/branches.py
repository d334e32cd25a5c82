"""The two branches of a build, and the current answers evaluated against each of them.

A change can edit the search, the suites and the baselines at once, so the current suites alone
cannot judge it. The current answers are therefore evaluated twice, by the same functions: against
the suites and baselines of the change, and against those of the base branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_irquality.evaluation.results import CheckResult, Notice
from pytest_irquality.io.text import Text
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import RunKey, Suite

if TYPE_CHECKING:
    from pytest_irquality.baselines import Baseline
    from pytest_irquality.evaluation.evaluate import Evaluation, EvaluationContext


@dataclass(frozen=True)
class Branch:
    """One side of a change: what it requires and what it is compared with.

    Attributes:
        name: How the user names the branch, such as ``main``. Empty for the current branch.
        commit: The full hash of its commit, if known. For the base branch, that is the merge base.
        suites: One suite for each suite file and retriever, so a suite whose fixture has two
            parameters is here twice.
        baselines: The answers of the branch: its committed files or, for the base branch of
            ``run:``, what its code returns.
        committed: The committed baseline files, if ``baselines`` are the answers of the code.
        errors: Why suites and baselines cannot be used, by the path of the file. An error of the
            current branch gives ``ERROR``, an error of the base branch ``REVIEW``.
        missing_retrievers: Why retrievers are not available, by the key of their run.
        texts: The text of each suite file by its path, for the plain diff. Files that suites read
            can be here as well.
        is_strict: Whether the configuration of this branch says ``ir_gate = strict``, at the path
            of any of its suites.
    """

    name: str = ""
    commit: str = ""
    suites: tuple[Suite, ...] = ()
    baselines: tuple[Baseline, ...] = field(default=(), repr=False)
    committed: tuple[Baseline, ...] | None = field(default=None, repr=False)
    errors: Mapping[str, Text] = field(default_factory=dict)
    missing_retrievers: Mapping[RunKey, Text] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_strict: bool = False


@dataclass(frozen=True)
class BranchEvaluation:
    """The current answers, evaluated against the suites and baselines of a branch.

    Attributes:
        branch: The branch.
        evaluations: One for each suite whose retriever ran, in the order of ``branch.suites``.
        shared_results: The default checks that several suites share, passed ones included.
        missing: The suites that cannot be evaluated because their retriever did not run.
        comparable_count: How many queries have a baseline answer, whether they ran or not. Queries
            that were deselected on the command line do not count.
    """

    branch: Branch
    evaluations: tuple[Evaluation, ...] = ()
    shared_results: tuple[CheckResult, ...] = ()
    missing: tuple[Suite, ...] = ()
    comparable_count: int = 0

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Return the results of all checks, those that suites share first."""
        results = list(self.shared_results)
        for evaluation in self.evaluations:
            results += evaluation.results
        return tuple(results)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices of all suites."""
        notices: list[Notice] = []
        for evaluation in self.evaluations:
            notices += evaluation.notices
        return tuple(notices)


def evaluate_branch(
    branch: Branch,
    runs: Mapping[RunKey, Run],
    base: Branch | None = None,
    *,
    context: EvaluationContext | None = None,
) -> BranchEvaluation:
    """Evaluate the current answers against the suites and baselines of a branch.

    Args:
        branch: The suites and baselines to evaluate against.
        runs: The current answers, to the queries of both branches.
        base: The branch that defines which queries of ``branch`` are new, if there is one.
        context: What suites are evaluated with besides their answers.
    """
    raise NotImplementedError


def find_baseline(suite: Suite, branch: Branch, base: Branch | None) -> tuple[Run, bool]:
    """Find the answers that a suite is compared with.

    If there is a base branch, its answers count, and those that the change edits replace them. An
    answer that the change adds proves nothing about the change. Only a suite of new queries is
    compared with the answers that come with it, because it has no others.

    Returns:
        The answers, and whether all queries of the suite are new.
    """
    raise NotImplementedError
