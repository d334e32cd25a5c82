"""Why: what the retriever itself says of the documents that a failure names.

A retriever may have ``explain(query, doc_id)``, which gives any text or mapping and is asked of a
few documents, and ``exists(doc_id)`` or ``exists_all(doc_ids)``, asked of all that failures name.
Both are asked after judging, and neither can change a verdict.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from pytest_irquality.pipeline.audit import ExistsError, existing
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.facts import Finding, LeftIndex, Loss, RankedDocument
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict

MOST_QUERIES = 10
MOST_DOCUMENTS = 3
MOST_LOOKED_UP = 1000
"""Documents that ``exists`` is asked for one by one; ``exists_all`` is asked for every one."""
LONGEST = 500

ById = Mapping[str, None]


def with_reasons(result: SuiteResult, retriever: object, suite: Suite) -> SuiteResult:
    """The result with the retriever's own words on the documents that its failures name.

    Where a query looks for passages, both methods are given passages, never a result's own id.
    """
    named = _named(result, suite)  # nothing, where nothing failed
    asked, gone = _gone(retriever, _not_returned(result, named))
    texts = _explained(result, retriever, named)
    if not gone and not texts:
        return result
    passages = _passages(suite)
    left = {id for id in gone if id not in passages}
    return replace(
        result,
        queries=tuple(_with_reasons(query, texts, gone, passages) for query in result.queries),
        verdicts=tuple(_that_left(verdict, left) for verdict in result.verdicts),
        facts=(*result.facts, *_left_index(result, [id for id in gone if id in left], not asked)),
    )


def _with_reasons(
    query: QueryResult,
    texts: Mapping[tuple[str, str], str],
    gone: ById,
    passages: Set[str],
) -> QueryResult:
    """One query with why each of its documents is where it is, as far as the retriever says."""

    def with_reason(document: ShownDocument) -> ShownDocument:
        said = texts.get((query.id, document.id))
        is_gone = document.id in gone and document.rank is None
        if is_gone and document.id in passages:
            is_cut = document.loss is not None and document.loss.kind == "cut"
            loss = document.loss if is_cut else Loss("in no chunk")
            return replace(document, loss=loss, explanation=said)
        return replace(document, gone=is_gone, explanation=said) if said or is_gone else document

    return replace(
        query,
        ranking=tuple(map(with_reason, query.ranking)),
        missing=tuple(map(with_reason, query.missing)),
        ranking_before=tuple(map(with_reason, query.ranking_before)),
    )


def _that_left(verdict: Verdict, left: Set[str]) -> Verdict:
    """A verdict whose findings say which of the documents that they speak of left the index."""

    def said(finding: Finding) -> Finding:
        if left.isdisjoint(document.id for document in finding.ranked):
            return finding
        ranked = (
            replace(document, gone=document.rank is None and document.id in left)
            for document in finding.ranked
        )
        return replace(finding, ranked=tuple(ranked))

    return replace(verdict, findings=tuple(map(said, verdict.findings)))


# -- what is asked ---------------------------------------------------------------------------------


def _explained(
    result: SuiteResult, retriever: object, named: Mapping[str, ById]
) -> Mapping[tuple[str, str], str]:
    """What the retriever says of a few documents, by query and document."""
    explain = _method(retriever, "explain")
    if explain is None:
        return {}
    few = [
        (asked, id)
        for asked, documents in [*named.items()][:MOST_QUERIES]
        for id in [*documents][:MOST_DOCUMENTS]
    ]
    said = {(asked, id): _text(_ask(explain, result.query(asked).text, id)) for asked, id in few}
    return {key: text for key, text in said.items() if text}


def _gone(retriever: object, ids: Sequence[str]) -> tuple[bool, ById]:
    """Whether all documents were looked up, and those that the retriever no longer has.

    What it fails to say leaves them there.
    """
    at_once = _method(retriever, "exists_all") is not None
    looked_up = ids if at_once else ids[:MOST_LOOKED_UP]
    batches = [looked_up] if at_once else [[id] for id in looked_up]
    gone: dict[str, None] = {}
    for batch in batches:
        try:
            there = existing(retriever, batch) or {}
        except ExistsError:
            continue
        gone.update(dict.fromkeys(id for id, is_there in there.items() if not is_there))
    return len(looked_up) == len(ids), gone


def _not_returned(result: SuiteResult, named: Mapping[str, ById]) -> Sequence[str]:
    """The documents to look up: those that failures name, the others that the baseline had, and
    the others that the queries miss on which a failure rests.

    What any query returns is there, whatever is said of it.
    """
    of_failures = {query for verdict in result.verdicts for query in _rests_on(result, verdict)}
    missing = [
        (query.id, document)
        for query in result.queries
        for document in query.missing
        if document.rank is None
    ]
    ids = dict.fromkeys(id for documents in named.values() for id in documents)
    ids.update(dict.fromkeys(d.id for _, d in missing if d.before))
    ids.update(dict.fromkeys(d.id for query, d in missing if query in of_failures))
    shown = (d for q in result.queries for d in (*q.ranking, *q.missing, *q.ranking_before))
    returned = {document.id for document in shown if document.rank is not None}
    told = (d for v in result.verdicts for finding in v.findings for d in finding.ranked)
    returned.update(document.id for document in told if document.rank is not None)
    return [id for id in ids if id not in returned]


def _rests_on(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries (ids) that the broken demands of a check look at."""
    for finding in verdict.broken:
        if finding.subject in result.by_id and verdict.scope in ("query", "each_query"):
            yield finding.subject
        elif verdict.scope in ("suite", "tag", "each_tag"):
            tag = finding.subject
            yield from (query.id for query in result.queries if not tag or tag in query.tags)


def _passages(suite: Suite) -> Set[str]:
    return {
        name
        for query in suite.queries
        if suite.reads_texts(query)
        for name in suite.names(query)
        if suite.by_text(query) or name in query.passages
    }


def _named(result: SuiteResult, suite: Suite) -> Mapping[str, ById]:
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


def _left_index(result: SuiteResult, ids: Sequence[str], at_least: bool) -> Iterator[LeftIndex]:
    if not ids:
        return
    titles = {
        d.id: d.title for query in result.queries for d in (*query.missing, *query.ranking_before)
    }
    left = {*ids}
    missed = (
        query.id
        for query in result.queries
        if any(d.id in left for d in query.missing if d.relevant)
    )
    documents = (RankedDocument(id, title=titles.get(id)) for id in ids)
    yield LeftIndex(tuple(documents), at_least, tuple(missed))


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
