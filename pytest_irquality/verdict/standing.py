"""Documents of both sides: their titles, and the stages before the ranking they got to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf

from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Candidate, RankedDocument, Stages
from pytest_irquality.verdict.sides import Side, Sides


@dataclass(frozen=True)
class Standing:
    """The documents of both sides."""

    sides: Sides

    @property
    def candidates(self) -> Sides | None:
        """The first stage; None where nothing is known of it."""
        return self.sides.stages.get(CANDIDATES)

    def candidate(self, query: Query, document: str) -> Candidate | None:
        """The place of a document in the first stage; None where that is not known."""
        stage, id = self.candidates, query.id
        if stage is None or id not in stage.rankings:
            return None
        return Candidate(stage.answers.ranks(id).get(document), len(stage.rankings[id]))

    def stages(self, query: Query) -> Stages | None:
        """The stages that relevant documents of a query got to.

        None where its candidates are not known.
        """
        stage = self.candidates
        return self._stages(query, self.sides.answers, stage.answers) if stage else None

    def stages_before(self, query: Query) -> Stages | None:
        """The stages that they got to in the baseline."""
        stage = self.candidates
        if stage is None:
            return None
        return self._stages(query, self.sides.answers_before, stage.answers_before)

    def _stages(self, query: Query, side: Side, candidates: Side) -> Stages | None:
        relevant, top_k = query.judgments.relevant, self.sides.suite.top_k
        if not relevant or not (side.to(query.id) and candidates.to(query.id)):
            return None
        ranks, known = side.ranks(query.id), candidates.ranks(query.id)
        missing = [document for document in relevant if ranks.get(document, inf) > top_k]
        sunk = sum(document in known for document in missing)
        return Stages(len(relevant), len(relevant) - len(missing), sunk, len(missing) - sunk)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of documents, as today's results have them or else the baseline's."""
        run = self.sides.run
        runs = (run.stages.get(CANDIDATES), self.sides.baseline_run, run)
        known = [one.first.titles for one in runs if one and one.first.titles]
        if len(known) == 1:
            return known[0]
        return {id: title for titles in known for id, title in titles.items() if title}

    def document(
        self, id: str, rank: int | None = None, before: int | None = None
    ) -> RankedDocument:
        """A document that a fact or a finding speaks of, with its title."""
        return RankedDocument(id, rank, before, title=self.titles.get(id) or None)
