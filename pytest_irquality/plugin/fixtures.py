"""The fixture ``bm25_retriever``, the yardstick of suites that know their corpus."""

from __future__ import annotations

import pytest

from pytest_irquality.plugin.collection import SuiteModule
from pytest_irquality.retrieval.corpus import BM25Retriever, CorpusError, load_corpus
from pytest_irquality.retrieval.errors import RetrieverError


@pytest.fixture(scope="module")
def bm25_retriever(request: pytest.FixtureRequest) -> BM25Retriever:
    """Search the 'corpus' of the suite with BM25 (extra ``pytest-irquality[yardstick]``)."""
    module = request.node
    suite = module.suite if isinstance(module, SuiteModule) else None
    if suite is None or not suite.settings.corpus.files:
        path = suite.path if suite is not None else "This test"
        pytest.fail(f"{path}: 'bm25_retriever' needs the key 'corpus'.", pytrace=False)
    try:
        return BM25Retriever(load_corpus(suite.settings))
    except (CorpusError, RetrieverError) as error:
        pytest.fail(f"{suite.path}: {error}", pytrace=False)
