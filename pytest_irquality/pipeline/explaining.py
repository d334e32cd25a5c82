"""The retriever's own words on the documents that a failure names.

It is asked after judging, for the reasons of a few documents and for the existence of all that
failures name, and can change no verdict.
"""

from __future__ import annotations

from pytest_irquality.retrieval.explain import (
    explains,
    explanation,
    no_longer_there,
    tells_of_documents,
)
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.explanations import Reasons, with_reasons
from pytest_irquality.verdict.named import ByQuery, named, not_returned, passages_of
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.totals import totals_of

MOST_QUERIES = 10
MOST_DOCUMENTS = 3


def explained(result: SuiteResult, retriever: object, suite: Suite) -> SuiteResult:
    """The result with the retriever's own words on the documents that its failures name.

    Where a query looks for passages, it is asked of passages, never of a result's own id. Of a
    suite that shows totals only nothing is left but these.
    """
    if suite.show_only:
        return totals_of(result)
    if not tells_of_documents(retriever):
        return result
    by_query = named(result, suite)  # nothing, where nothing failed
    complete, gone = no_longer_there(retriever, not_returned(result, by_query))
    explanations = _explanations(result, retriever, by_query)
    return with_reasons(result, Reasons(explanations, gone, complete, passages_of(suite)))


def _explanations(
    result: SuiteResult, retriever: object, by_query: ByQuery
) -> dict[tuple[str, str], str]:
    """Give the retriever's explanations of a few documents, by query and document."""
    said: dict[tuple[str, str], str] = {}
    if not explains(retriever):
        return said
    for id in [*by_query][:MOST_QUERIES]:
        text = result.query(id).text
        for document in by_query[id][:MOST_DOCUMENTS]:
            said[id, document] = explanation(retriever, text, document)
    return {key: words for key, words in said.items() if words}
