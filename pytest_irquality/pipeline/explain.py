"""Why: what the retriever itself says of the documents that a failure names.

A retriever may have ``explain(query, doc_id)``, which gives any text or mapping, and
``exists(doc_id)``. Both are asked of a few documents only, after judging, and neither can change a
verdict.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from pytest_irquality.pipeline.audit import ExistsError, existing
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.facts import LeftIndex, Loss, RankedDocument
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult

MOST_QUERIES = 10
MOST_DOCUMENTS = 3
MOST_MISSING = 100
LONGEST = 500


def with_reasons(result: SuiteResult, retriever: object, suite: Suite) -> SuiteResult:
    """The result with the retriever's own words on the documents that its failures name.

    Where a query looks for passages, both methods are given passages, never a result's own id.
    """
    explain = _method(retriever, "explain")
    exists = _method(retriever, "exists") or _method(retriever, "exists_all")
    if explain is None and exists is None:
        return result
    named = _named(result, suite)  # nothing, where nothing failed
    gone: Mapping[str, bool] = {}
    lost: dict[str, None] = {}
    if exists is not None:
        lost = {id: None for documents in named.values() for id in documents}
        lost.update(
            {
                d.id: None
                for query in result.queries
                for d in query.missing
                if d.rank is None and d.before
            }
        )
        gone = _gone(retriever, [*lost][:MOST_MISSING])
    texts: dict[tuple[str, str], str] = {}
    if explain is not None:
        for asked, documents in [*named.items()][:MOST_QUERIES]:
            for id in [*documents][:MOST_DOCUMENTS]:
                if said := _text(_ask(explain, result.query(asked).text, id)):
                    texts[asked, id] = said

    passages = {
        name
        for query in suite.queries
        if suite.reads_texts(query)
        for name in suite.names(query)
        if suite.by_text(query) or name in query.passages
    }

    def with_reason(query: QueryResult, document: ShownDocument) -> ShownDocument:
        said = texts.get((query.id, document.id))
        is_gone = gone.get(document.id, False) and document.rank is None
        if is_gone and document.id in passages:
            is_cut = document.loss is not None and document.loss.kind == "cut"
            loss = document.loss if is_cut else Loss("in no chunk")
            return replace(document, loss=loss, explanation=said)
        return replace(document, gone=is_gone, explanation=said) if said or is_gone else document

    told = {id for _, id in texts} | {id for id, is_gone in gone.items() if is_gone}
    queries = []
    for query in result.queries:
        lists = {name: getattr(query, name) for name in ("ranking", "missing", "ranking_before")}
        if any(document.id in told for documents in lists.values() for document in documents):
            lists = {
                name: tuple(with_reason(query, d) for d in documents)
                for name, documents in lists.items()
            }
            query = replace(query, **lists)  # noqa: PLW2901
        queries.append(query)
    return replace(
        result,
        queries=tuple(queries),
        facts=(*result.facts, *_left_index(result, gone, passages, len(gone) < len(lost))),
    )


def _gone(retriever: object, ids: Sequence[str]) -> Mapping[str, bool]:
    """Which of the documents the retriever no longer has; what it fails to say leaves them
    there.
    """
    one = _method(retriever, "exists")
    if one is not None:
        return {id: _ask(one, id) is False for id in ids}
    try:
        return {id: not there for id, there in (existing(retriever, ids) or {}).items()}
    except ExistsError:
        return {}


def _named(result: SuiteResult, suite: Suite) -> Mapping[str, Mapping[str, None]]:
    """The documents that failures name as lost or forbidden, by query, in the order they are told.

    Of a query that looks for passages, only what the suite itself names: its results have ids that
    are mere labels.
    """
    named: dict[str, dict[str, None]] = {}
    known = {query.id: query for query in result.queries}
    broken = [
        finding
        for verdict in result.verdicts
        if verdict.outcome == "failed"
        for finding in verdict.broken
    ]
    for finding in broken:
        if finding.subject in known:
            documents = dict.fromkeys(d.id for d in finding.ranked) or _lost(known[finding.subject])
            named.setdefault(finding.subject, {}).update(documents)
    if any(
        finding.kind.startswith("max_") for finding in broken
    ):  # a mean fell: the queries that lost are told, too
        for query in result.queries:
            if lost := _lost(query):
                named.setdefault(query.id, {}).update(lost)
    for id, documents in named.items():
        asked = suite.by_id.get(id)
        if asked is not None and suite.reads_texts(asked):
            known_names = suite.names(asked)
            named[id] = {name: None for name in documents if name in known_names}
    return named


def _lost(query: QueryResult) -> dict[str, None]:
    """The relevant documents that the baseline had and today has not."""
    return {
        d.id: None for d in query.missing if d.relevant and d.rank is None and d.before is not None
    }


def _left_index(
    result: SuiteResult, gone: Mapping[str, bool], passages: Set[str], at_least: bool
) -> Iterator[LeftIndex]:
    titles = {
        d.id: d.title for query in result.queries for d in (*query.missing, *query.ranking_before)
    }
    left = [
        RankedDocument(id, title=titles.get(id))
        for id, is_gone in gone.items()
        if is_gone and id not in passages
    ]
    if left:
        ids = {document.id for document in left}
        missed = (
            query.id
            for query in result.queries
            if any(d.id in ids for d in query.missing if d.relevant)
        )
        yield LeftIndex(tuple(left), at_least, tuple(missed))


def _method(retriever: object, name: str) -> Callable[..., Any] | None:
    method = getattr(retriever, name, None)
    return method if callable(method) else None


def _ask(method: Callable[..., Any], *args: str) -> Any:
    """An answer, or in words why there is none: a broken explanation must not hide what it should
    explain.
    """
    try:
        answer = method(*args)
    except Exception as error:
        return f"({getattr(method, '__name__', 'it')} raised {type(error).__name__}: {error})"
    if inspect.iscoroutine(answer):
        answer.close()
        return "(it is async, and cannot be asked here)"
    return answer


def _text(answer: object) -> str:
    if isinstance(answer, Mapping):
        answer = json.dumps(answer, ensure_ascii=False, default=str)
    text = " ".join(str(answer).split()) if answer is not None else ""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
