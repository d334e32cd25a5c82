"""One pass over the queries: ask each, keep what came or what went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable

from pytest_irquality.retrieval.call import how_to_call
from pytest_irquality.retrieval.results import UnreadableResult, read_result
from pytest_irquality.retrieval.run import Fault, Ranking, Run
from pytest_irquality.suite.model import Query, Suite


def retrieve(suite: Suite, retriever: object, queries: Iterable[Query] | None = None, name: str = "") -> Run:
    """Ask a retriever every query (or the given ones), in order, each once.

    A call that raises, or returns what cannot be read, is that query's ``Fault``; the others are asked all the same.
    ``name`` tells retrievers of one suite apart. Raises ``RetrieverError`` where the object cannot be called at all.
    """
    __tracebackhide__ = True
    asked = suite.queries if queries is None else tuple(queries)
    calls = {frozenset(query.params): how_to_call(retriever, {**suite.params, **query.params}) for query in asked}
    rankings: dict[str, Ranking] = {}
    faults: dict[str, Fault] = {}
    titles: dict[str, str] = {}
    interrupted = False
    for query in asked:
        call = calls[frozenset(query.params)]
        start = time.perf_counter()
        try:
            result = call(query.text, suite.depth, {**suite.params, **query.params})
            hits = read_result(result, suite.depth)  # a generator does its work while it is read
        except KeyboardInterrupt:
            interrupted = True
            break
        except Exception as error:
            message = str(error) if isinstance(error, UnreadableResult) else _message(error)
            faults[query.id] = Fault(message, error)
            continue
        rankings[query.id] = Ranking(hits.ids, hits.scores, time.perf_counter() - start)
        for document, title in hits.titles.items():
            titles.setdefault(document, title)
    return Run(name, rankings, faults, titles, interrupted=interrupted)


def _message(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
