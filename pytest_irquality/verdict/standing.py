"""Documents of both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pytest_irquality.verdict.findings import RankedDocument
from pytest_irquality.verdict.sides import Sides


@dataclass(frozen=True)
class Standing:
    """The documents of both sides."""

    sides: Sides

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of documents, as today's results have them or else the baseline's."""
        run = self.sides.run
        runs = (*run.stages.values(), self.sides.baseline_run, run)
        known = [one.first.titles for one in runs if one and one.first.titles]
        if len(known) == 1:
            return known[0]
        return {id: title for titles in known for id, title in titles.items() if title}

    def document(
        self, id: str, rank: int | None = None, before: int | None = None
    ) -> RankedDocument:
        """A document that a fact or a finding speaks of, with its title."""
        return RankedDocument(id, rank, before, title=self.titles.get(id) or None)
