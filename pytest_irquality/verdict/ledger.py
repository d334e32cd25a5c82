"""The ledger: every query and every check is in exactly one class, so that the sums add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

QUERIES = (
    "not asked",
    "skipped",
    "removed",
    "variant",
    "reworded",
    "moved",
    "unanswered now",
    "unanswered then",
    "unjudged now",
    "tie unsettled",
    "compared with other judgments",
    "compared",
    "new",
    "other",
)
"""Classes of queries: each is in the first that fits. ``other``: nothing is compared."""
CHECKS = ("judged", "deselected", "skipped", "not evaluated", "unable to fail")
MISSING = (
    "not asked",
    "skipped",
    "unanswered now",
    "unanswered then",
    "tie unsettled",
    "deselected",
    "not evaluated",
)
"""Classes of either kind that cost the tick."""
REFUSED = ("not asked", "tie unsettled", "deselected", "skipped", "not evaluated")
"""Those of which ``ir_strict`` allows none."""
CHOSEN = ("not asked", "deselected")
"""Those that whoever selects items asks for."""
COMPARED = ("moved", "unjudged now", "compared with other judgments", "compared")
WITHOUT_THEN = ("new", "other")
ENOUGH = 0.8  # the share of the base's queries that is to be compared under ``ir_strict``


@dataclass(frozen=True)
class Ledger:
    """The number of queries and of checks in each class; classes of none are left out."""

    queries: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> Mapping[str, int]:
        """The classes that cost the tick."""
        every = {**self.queries, **self.checks}
        return {name: every[name] for name in MISSING if name in every}

    def refused(self, *, chosen: bool) -> tuple[str, ...]:
        """The classes for which ``ir_strict`` fails the run; "compared": too few of then are.

        ``chosen``: the command line itself asked for less.
        """
        excused = CHOSEN if chosen else ()
        found = [name for name in REFUSED if name in self.missing and name not in excused]
        uncounted = (*WITHOUT_THEN, *excused)
        known = sum(many for name, many in self.queries.items() if name not in uncounted)
        compared = sum(self.queries.get(name, 0) for name in COMPARED)
        if compared < ENOUGH * known:
            found.append("compared")
        return tuple(found)


def in_order(found: Mapping[str, int], classes: tuple[str, ...]) -> Mapping[str, int]:
    """The classes of which there are any, as they are told."""
    return {name: found[name] for name in classes if found.get(name)}
