"""Suites and runs for tests of baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_irquality.retrieval.run import Provenance, Ranking, Run
from pytest_irquality.suite.model import Query, RetrieverId, Suite

FOLDER_OF_CONFTEST = RetrieverId("retriever", "")


def make_suite(*texts: str, path: str = "shop.ir.yaml", **fields: Any) -> Suite:
    """Make a suite with a query for each text."""
    queries = tuple(Query(text, text) for text in texts)
    return Suite(name="shop", queries=queries, path=path, **fields)


def make_run(answers: Mapping[str, Sequence[object]], *, depth: int = 10, **fields: Any) -> Run:
    """Make a run: ``make_run({"desk": ["d1", "d2"]})``. Pairs have a score."""
    rankings = {}
    for text, hits in answers.items():
        doc_ids = tuple(hit[0] if isinstance(hit, tuple) else str(hit) for hit in hits)
        scores = tuple(hit[1] for hit in hits if isinstance(hit, tuple)) or None
        rankings[text] = (Ranking(doc_ids, scores),)
    return Run(rankings, provenance=Provenance(depth=depth), **fields)


def get_doc_ids(run: Run) -> dict[str, list[list[str]]]:
    """Return the documents of every answer."""
    documents = {}
    for request, rankings in run.answers.items():
        documents[request] = [list(ranking.doc_ids) for ranking in rankings]
    return documents
