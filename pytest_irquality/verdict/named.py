"""The documents that failures name, and those of them that nothing returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.verdict.result import SuiteResult, Verdict


def not_returned(result: SuiteResult) -> Sequence[str]:
    """The documents to look up: those that queries miss on which a failure rests, and lost ones.

    What any query returns is there, whatever is said of it.
    """
    of_failures = {query for verdict in result.verdicts for query in _rests_on(result, verdict)}
    ids: dict[str, None] = {}
    for query in result.queries:
        if query.id in of_failures:
            ids.update(dict.fromkeys(document.id for document in query.missing))
    missing = [document for query in result.queries for document in query.missing]
    ids.update(dict.fromkeys(document.id for document in missing if document.before))
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
