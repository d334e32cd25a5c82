"""Documents that a retriever no longer has, laid over a result. They can change no verdict."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from pytest_irquality.verdict.facts import LeftIndex
from pytest_irquality.verdict.findings import Loss, RankedDocument
from pytest_irquality.verdict.not_found import recounted
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict

UNEXPLAINED = ("in no stage", "not returned")


def with_gone(result: SuiteResult, gone: Sequence[str], *, complete: bool) -> SuiteResult:
    """The result with which of its documents are ``gone``, none of which anything has returned.

    ``complete``: all that could be gone were looked up.
    """
    if not gone:
        return result
    ids = frozenset(gone)
    queries = tuple(_of_query(query, ids) for query in result.queries)
    return replace(
        result,
        queries=queries,
        verdicts=tuple(_of_verdict(verdict, ids) for verdict in result.verdicts),
        facts=(*result.facts, _left_index(result, gone, complete=complete)),
        fates=result.fates and recounted(result.fates, queries),
    )


def _of_query(query: QueryResult, gone: Set[str]) -> QueryResult:
    """One query with which of its documents are gone."""

    def with_reason(document: ShownDocument) -> ShownDocument:
        if document.id not in gone:
            return document
        return document._replace(gone=True, loss=_nowhere(document.loss))

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


def _of_verdict(verdict: Verdict, gone: Set[str]) -> Verdict:
    """A verdict whose findings say which of the documents that they speak of left the index."""

    def of_document(document: RankedDocument) -> RankedDocument:
        if document.id not in gone:
            return document
        return replace(document, gone=True, loss=_nowhere(document.loss))

    findings = (
        replace(finding, ranked=tuple(map(of_document, finding.ranked)))
        for finding in verdict.findings
    )
    return replace(verdict, findings=tuple(findings))


def _left_index(result: SuiteResult, gone: Sequence[str], *, complete: bool) -> LeftIndex:
    titles: dict[str, str | None] = {}
    missed = []
    for query in result.queries:
        titles |= {d.id: d.title for d in (*query.missing, *query.ranking_before)}
        if any(document.relevant and document.id in gone for document in query.missing):
            missed.append(query.id)
    documents = [RankedDocument(id, title=titles.get(id)) for id in gone]
    return LeftIndex(tuple(documents), not complete, tuple(missed))
