"""Documents that a retriever no longer has, laid over a result. They can change no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_irquality.verdict.facts import LeftIndex
from pytest_irquality.verdict.findings import Finding, Loss, RankedDocument
from pytest_irquality.verdict.not_found import recounted
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict

UNEXPLAINED = ("in no stage", "not returned")


@dataclass(frozen=True)
class Gone:
    """Documents that are ``gone``, none of which anything has returned.

    ``complete``: all that could be gone were looked up. ``passages``: that is what they are, which
    leave no index.
    """

    gone: Sequence[str]
    complete: bool
    passages: bool


def with_gone(result: SuiteResult, found: Gone) -> SuiteResult:
    """The result with which of its documents are gone."""
    if not found.gone:
        return result
    facts = result.facts
    if not found.passages:
        facts = (*facts, _left_index(result, found))
    queries = tuple(_of_query(query, found) for query in result.queries)
    return replace(
        result,
        queries=queries,
        verdicts=tuple(_of_verdict(verdict, found) for verdict in result.verdicts),
        facts=facts,
        fates=result.fates and recounted(result.fates, queries),
    )


def _of_query(query: QueryResult, found: Gone) -> QueryResult:
    """One query with which of its documents are gone."""
    gone = {*found.gone}

    def with_reason(document: ShownDocument) -> ShownDocument:
        if document.id not in gone:
            return document
        return document._replace(gone=not found.passages, loss=_nowhere(document.loss))

    return replace(
        query,
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


def _of_verdict(verdict: Verdict, found: Gone) -> Verdict:
    """A verdict whose findings say which of the documents that they speak of left the index."""
    gone = {*found.gone}

    def of_document(document: RankedDocument) -> RankedDocument:
        if document.id not in gone:
            return document
        return replace(document, gone=not found.passages, loss=_nowhere(document.loss))

    def of_finding(finding: Finding) -> Finding:
        if gone.isdisjoint(document.id for document in finding.ranked):
            return finding
        return replace(finding, ranked=tuple(map(of_document, finding.ranked)))

    return replace(verdict, findings=tuple(map(of_finding, verdict.findings)))


def _left_index(result: SuiteResult, found: Gone) -> LeftIndex:
    titles: dict[str, str | None] = {}
    missed = []
    left = {*found.gone}
    for query in result.queries:
        titles |= {d.id: d.title for d in (*query.missing, *query.ranking_before)}
        if any(document.relevant and document.id in left for document in query.missing):
            missed.append(query.id)
    documents = [RankedDocument(id, title=titles.get(id)) for id in found.gone]
    return LeftIndex(tuple(documents), not found.complete, tuple(missed))
