"""Documents that failures miss, and that left the index.

The retriever is asked after judging which of them it still has, and can change no verdict.
"""

from __future__ import annotations

from pytest_irquality.retrieval.explain import no_longer_there, tells_of_documents
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.explanations import Gone, with_gone
from pytest_irquality.verdict.named import not_returned, passages_of
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.totals import totals_of


def explained(result: SuiteResult, retriever: object, suite: Suite) -> SuiteResult:
    """The result with what the retriever says of the documents that its failures miss.

    Where a query looks for passages, it is asked of passages, never of a result's own id. Of a
    suite that shows totals only nothing is left but these.
    """
    if suite.show_only:
        return totals_of(result)
    if not tells_of_documents(retriever):
        return result
    complete, gone = no_longer_there(retriever, not_returned(result))
    return with_gone(result, Gone(gone, complete, passages_of(suite)))
