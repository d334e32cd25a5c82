"""The documents that failures name, and those of them that nothing returned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain

from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.result import QueryResult, SuiteResult, Verdict

ByQuery = Mapping[str, Sequence[str]]


def named(result: SuiteResult, suite: Suite) -> ByQuery:
    """The documents that failures name as lost or forbidden, by query, in the order they are told.

    Of a query that looks for passages, only what the suite itself names: its results have ids that
    are mere labels.
    """
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for query, documents in _told(result):
        found[query].update(dict.fromkeys(documents))
    return {id: _of_suite(suite, id, [*documents]) for id, documents in found.items()}


def _told(result: SuiteResult) -> Iterator[tuple[str, Sequence[str]]]:
    for finding in result.broken:
        if query := result.by_id.get(finding.subject):
            yield query.id, [document.id for document in finding.ranked] or _lost(query)
    if any(finding.measure and finding.demand.on_change for finding in result.broken):
        # A mean fell: the queries that lost are told, too.
        yield from ((query.id, lost) for query in result.queries if (lost := _lost(query)))


def _of_suite(suite: Suite, query: str, documents: Sequence[str]) -> Sequence[str]:
    asked = suite.by_id.get(query)
    if asked is None or not suite.reads_texts(asked):
        return documents
    names = suite.names(asked)
    return [name for name in documents if name in names]


def _lost(query: QueryResult) -> list[str]:
    """The relevant documents that the baseline had and today has not."""
    return [document.id for document in query.missing if document.lost]


def not_returned(result: SuiteResult, by_query: ByQuery) -> Sequence[str]:
    """The documents to look up.

    They are those that failures name, the others that the baseline had, and the others that the
    queries miss on which a failure rests.

    What any query returns is there, whatever is said of it.
    """
    ids = dict.fromkeys(chain.from_iterable(by_query.values()))
    missing = [document for query in result.queries for document in query.missing]
    ids.update(dict.fromkeys(document.id for document in missing if document.before))
    of_failures = {query for verdict in result.verdicts for query in _rests_on(result, verdict)}
    for query in result.queries:
        if query.id in of_failures:
            ids.update(dict.fromkeys(document.id for document in query.missing))
    returned = set(_returned(result))
    return [id for id in ids if id not in returned]


def _returned(result: SuiteResult) -> Iterator[str]:
    for query in result.queries:
        for document in (*query.ranking, *query.missing, *query.ranking_before):
            if document.rank is not None:
                yield document.id
    for _, finding in result.findings:
        yield from (one.id for one in finding.ranked if one.rank is not None)


def _rests_on(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries (ids) that the broken demands of a check look at."""
    for finding in verdict.broken:
        if finding.subject in result.by_id and verdict.over.queries:
            yield finding.subject
        elif verdict.over.means:
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
