"""What notices about a suite are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_irquality.evaluation.comparison import Comparison
from pytest_irquality.evaluation.results import CheckResult, EvaluationContext, Notice, Outcome
from pytest_irquality.io.text import DocPart, QueryPart, Text, list_some
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Suite


@dataclass(frozen=True)
class SuiteFacts:
    """A suite, its answers and the results of its checks.

    Attributes:
        labels_without_unjudged: The failed checks that would hold if unjudged documents were
            ignored.
    """

    comparison: Comparison
    results: Sequence[CheckResult]
    context: EvaluationContext
    labels_without_unjudged: Sequence[str] = ()

    @property
    def suite(self) -> Suite:
        """Return the suite."""
        return self.comparison.suite

    @property
    def run(self) -> Run:
        """Return the current answers."""
        return self.comparison.run

    def create(
        self,
        code: str,
        text: Text,
        query_ids: Iterable[str] = (),
        *,
        doc_ids: Iterable[str] = (),
        outcome: Outcome = Outcome.PASSED,
        is_cause: bool = False,
        next_step: Text = Text(),  # noqa: B008 - immutable
    ) -> Notice:
        """Create a notice about the suite."""
        return Notice(
            code=code,
            outcome=outcome,
            subject=self.suite.name,
            text=text,
            query_ids=tuple(query_ids),
            doc_ids=tuple(doc_ids),
            suite_path=self.suite.path,
            retriever=self.suite.retriever,
            is_cause=is_cause,
            next_step=next_step,
        )

    def name_queries(self, query_ids: Iterable[str]) -> Text:
        """Name the first few queries and count the others."""
        queries = self.suite.queries_by_id
        return list_some(QueryPart(query_id, queries[query_id].text) for query_id in query_ids)

    def name_doc(self, doc_id: str) -> DocPart:
        """Name a document by its title and id."""
        return DocPart(doc_id, self.comparison.titles.get(doc_id, ""))
