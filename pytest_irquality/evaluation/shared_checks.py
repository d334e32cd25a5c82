"""The default checks that several suites share.

Every retriever is tested over all its suites together, so a drop that is spread over small suites
is noticed. Large suites are tested alone as well, so the gains of one suite do not hide the drop of
another. Tests of a kind share their level, so the false alarms of a build add up to a few percent.
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from typing import TYPE_CHECKING

from pytest_irquality.evaluation.results import CheckResult

if TYPE_CHECKING:
    from pytest_irquality.evaluation.evaluate import Evaluation


def check_shared(
    evaluations: Sequence[Evaluation], base_suite_paths: AbstractSet[str] | None = None
) -> tuple[CheckResult, ...]:
    """Make the default checks that need all suites: 1 for queries from files, 2 and 3.

    Args:
        evaluations: The suites of one branch.
        base_suite_paths: The suites that the base branch has. Copies of a query in other suites do
            not count. ``None`` if there is no base branch, and all suites count.

    Returns:
        A result for each check, failed or passed. ``was_evaluated`` is false for a check that
        cannot fail with the queries at hand.
    """
    raise NotImplementedError
