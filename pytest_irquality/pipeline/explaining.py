"""Words of a retriever on documents that failures miss: whether they exist, and why they sank.

It is asked after judging, and can change no verdict.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_irquality.retrieval.explain import explanation, no_longer_there
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.explanations import with_gone
from pytest_irquality.verdict.named import not_returned
from pytest_irquality.verdict.result import SuiteResult

MOST_EXPLAINED = 10


def explained(result: SuiteResult, retriever: object, suite: Suite) -> SuiteResult:
    """The result with what the retriever says of the documents that its failures miss.

    A passage has no id that it could be asked of: what became of it the corpus tells.
    """
    if suite.by_text:
        return result
    complete, gone = no_longer_there(retriever, not_returned(result))
    return _in_its_words(with_gone(result, gone, complete=complete), retriever)


def _in_its_words(result: SuiteResult, retriever: object) -> SuiteResult:
    """The result with the retriever's reasons for one document of each of the first failures."""
    documents: dict[str, str] = {}
    for finding in result.broken:
        if query := result.by_id.get(finding.subject):
            named = [one.id for one in finding.ranked]
            named += [one.id for one in query.missing if one.relevant]
            documents.setdefault(query.id, next(iter(named), ""))
    queries = dict(result.by_id)
    for id in [*filter(documents.get, documents)][:MOST_EXPLAINED]:
        query, document = queries[id], documents[id]
        if words := explanation(retriever, query.text, document):
            remarks = {**query.remarks, "explain": f"{document}: {words}"}
            queries[id] = replace(query, remarks=remarks)
    return replace(result, queries=tuple(queries.values()))
