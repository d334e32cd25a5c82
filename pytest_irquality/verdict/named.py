"""The documents that failures name, and those of them that nothing returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict

ByQuery = Mapping[str, Sequence[str]]


def named(result: SuiteResult, suite: Suite) -> ByQuery:
    """The documents that failures name as lost or forbidden, by query, in the order they are told.

    Of a query that looks for passages, only what the suite itself names: its results have ids that
    are mere labels.
    """
    found: dict[str, dict[str, None]] = {}
    failed = [verdict for verdict in result.verdicts if verdict.outcome == "failed"]
    broken = [finding for verdict in failed for finding in verdict.broken]
    for finding in broken:
        query = result.by_id.get(finding.subject)
        if query is not None:
            documents = [document.id for document in finding.ranked] or _lost(query)
            found.setdefault(query.id, {}).update(dict.fromkeys(documents))
    if any(finding.measure and finding.demand.on_change for finding in broken):
        # A mean fell: the queries that lost are told, too.
        for query in result.queries:
            lost = _lost(query)
            if lost:
                found.setdefault(query.id, {}).update(dict.fromkeys(lost))
    return {id: _of_suite(suite, id, [*documents]) for id, documents in found.items()}


def _of_suite(suite: Suite, query: str, documents: Sequence[str]) -> Sequence[str]:
    asked = suite.by_id.get(query)
    if asked is None or not suite.reads_texts(asked):
        return documents
    names = suite.names(asked)
    return [name for name in documents if name in names]


def _lost(query: QueryResult) -> list[str]:
    """The relevant documents that the baseline had and today has not."""
    return [
        document.id
        for document in query.missing
        if document.relevant and document.rank is None and document.before is not None
    ]


def not_returned(result: SuiteResult, by_query: ByQuery) -> Sequence[str]:
    """The documents to look up: those that failures name, the others that the baseline had, and
    the others that the queries miss on which a failure rests.

    What any query returns is there, whatever is said of it.
    """
    of_failures = {query for verdict in result.verdicts for query in _rests_on(result, verdict)}
    ids = dict.fromkeys(id for documents in by_query.values() for id in documents)
    missing = list(_missing(result))
    ids.update({document.id: None for _, document in missing if document.before})
    ids.update({document.id: None for query, document in missing if query.id in of_failures})
    returned = set(_returned(result))
    return [id for id in ids if id not in returned]


def _missing(result: SuiteResult) -> Iterator[tuple[QueryResult, ShownDocument]]:
    for query in result.queries:
        for document in query.missing:
            if document.rank is None:
                yield query, document


def _returned(result: SuiteResult) -> Iterator[str]:
    for query in result.queries:
        for document in (*query.ranking, *query.missing, *query.ranking_before):
            if document.rank is not None:
                yield document.id
    for verdict in result.verdicts:
        for finding in verdict.findings:
            yield from (one.id for one in finding.ranked if one.rank is not None)


def _rests_on(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries (ids) that the broken demands of a check look at."""
    for finding in verdict.broken:
        if finding.subject in result.by_id and verdict.scope in ("query", "each_query"):
            yield finding.subject
        elif verdict.scope in ("suite", "tag", "each_tag"):
            tag = finding.subject
            yield from (query.id for query in result.queries if not tag or tag in query.tags)


def passages_of(suite: Suite) -> Set[str]:
    """The names under which a suite speaks of passages."""
    names: set[str] = set()
    for query in suite.queries:
        if suite.reads_texts(query):
            by_text = suite.by_text(query)
            names.update(n for n in suite.names(query) if by_text or n in query.passages)
    return names
