"""What an evaluation must know besides the suite and the answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date


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
        regraded_query_ids: The queries whose judgments differ from the base branch.
    """

    today: date | None = None
    has_base_branch: bool = False
    is_base_side: bool = False
    corpus_texts: Mapping[str, str] | None = field(default=None, repr=False)
    selected_items: frozenset[str] | None = None
    deselected_query_ids: Collection[str] = frozenset()
    regraded_query_ids: Collection[str] = frozenset()

    @property
    def expiry_date(self) -> date | None:
        """Return the date that ends known issues, or ``None`` if none may fail for its date."""
        return None if self.has_base_branch else self.today
