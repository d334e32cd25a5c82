"""Explanations that a retriever gave of documents, laid over a result.

They can change no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from pytest_irquality.verdict.facts import LeftIndex
from pytest_irquality.verdict.findings import Finding, Loss, RankedDocument
from pytest_irquality.verdict.not_found import recounted
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict

UNEXPLAINED = ("in no stage", "not returned")


@dataclass(frozen=True)
class Reasons:
    """Explanations by query and document, and the documents that are ``gone``.

    Nothing has returned these.

    ``complete``: all that could be gone were looked up. ``passages`` are names of passages, which
    stand in no index themselves.
    """

    explanations: Mapping[tuple[str, str], str]
    gone: Sequence[str]
    complete: bool
    passages: Set[str]

    @property
    def left(self) -> Sequence[str]:
        """The documents that left the index."""
        return [id for id in self.gone if id not in self.passages]


def with_reasons(result: SuiteResult, reasons: Reasons) -> SuiteResult:
    """The result with what is known of its documents besides their ranks."""
    if not reasons.gone and not reasons.explanations:
        return result
    left = {*reasons.left}
    facts = result.facts
    if left:
        facts = (*facts, _left_index(result, reasons))
    queries = tuple(_of_query(query, reasons) for query in result.queries)
    return replace(
        result,
        queries=queries,
        verdicts=tuple(_of_verdict(verdict, reasons) for verdict in result.verdicts),
        facts=facts,
        fates=result.fates and recounted(result.fates, queries),
    )


def _of_query(query: QueryResult, reasons: Reasons) -> QueryResult:
    """One query with why each of its documents is where it is, as far as the retriever says."""
    gone = {*reasons.gone}

    def with_reason(document: ShownDocument) -> ShownDocument:
        said = reasons.explanations.get((query.id, document.id))
        if document.id in gone:
            is_gone = document.id not in reasons.passages
            loss = _nowhere(document.loss)
            return document._replace(gone=is_gone, loss=loss, explanation=said)
        return document._replace(explanation=said) if said else document

    return replace(
        query,
        ranking=tuple(map(with_reason, query.ranking)),
        missing=tuple(map(with_reason, query.missing)),
        ranking_before=tuple(map(with_reason, query.ranking_before)),
        fates=tuple(
            fated._replace(now="not in the corpus")
            if fated.id in gone and fated.now in UNEXPLAINED
            else fated
            for fated in query.fates
        ),
    )


def _nowhere(loss: Loss | None) -> Loss | None:
    """The fate of what stands in no index, unless more is known of it."""
    return Loss("not in the corpus") if loss and loss.fate in UNEXPLAINED else loss


def _of_verdict(verdict: Verdict, reasons: Reasons) -> Verdict:
    """A verdict whose findings say which of the documents that they speak of left the index."""
    gone = {*reasons.gone}

    def of_document(document: RankedDocument) -> RankedDocument:
        if document.id not in gone:
            return document
        is_gone = document.id not in reasons.passages
        return replace(document, gone=is_gone, loss=_nowhere(document.loss))

    def of_finding(finding: Finding) -> Finding:
        if gone.isdisjoint(document.id for document in finding.ranked):
            return finding
        return replace(finding, ranked=tuple(map(of_document, finding.ranked)))

    return replace(verdict, findings=tuple(map(of_finding, verdict.findings)))


def _left_index(result: SuiteResult, reasons: Reasons) -> LeftIndex:
    titles: dict[str, str | None] = {}
    missed = []
    left = {*reasons.left}
    for query in result.queries:
        titles |= {d.id: d.title for d in (*query.missing, *query.ranking_before)}
        if any(document.relevant and document.id in left for document in query.missing):
            missed.append(query.id)
    documents = [RankedDocument(id, title=titles.get(id)) for id in reasons.left]
    return LeftIndex(tuple(documents), not reasons.complete, tuple(missed))
