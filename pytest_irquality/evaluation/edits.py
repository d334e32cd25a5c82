"""What a change edits in suites, by name and as a plain diff.

Edits inform the reader and decide nothing: the base suites are evaluated as they were. Only a suite
of which nothing is left needs a review, because nobody will notice the next loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_irquality.io.text import Text

if TYPE_CHECKING:
    from pytest_irquality.evaluation.branches import Branch


@dataclass(frozen=True)
class SuiteEdit:
    """What a change edits in one suite.

    Attributes:
        subject: The name of the suite.
        path: The path of the suite on the base branch or, for an added suite, on the current one.
        texts: The edits, such as ``3 queries removed`` or ``1 threshold lowered``.
        query_ids: The base queries that the edits touch.
        is_removed: Whether the current branch no longer has the suite.
        is_added: Whether the base branch does not have the suite.
        is_nothing_left: Whether no request and no query id of the suite is left.
        diff: The unified diff of the file, or empty if the texts of the files are not known.
    """

    subject: str
    path: str
    texts: tuple[Text, ...] = ()
    query_ids: tuple[str, ...] = ()
    is_removed: bool = False
    is_added: bool = False
    is_nothing_left: bool = False
    diff: str = ""


def find_edits(current: Branch, base: Branch) -> tuple[SuiteEdit, ...]:
    """Find what the current branch edits in suites, in the order of the base suites.

    Args:
        current: The suites of the change.
        base: The suites of the base branch.

    Returns:
        One edit for each suite file that differs, suites that are new included.
    """
    raise NotImplementedError
