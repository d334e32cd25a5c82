"""One pass over the queries: ask each, keep what came or what went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from pytest_irquality.retrieval.call import RetrieverError, how_to_call, takes_batches
from pytest_irquality.retrieval.results import UnreadableResult, read_result, split_batch
from pytest_irquality.retrieval.run import Fault, Ranking, Run
from pytest_irquality.suite.model import Query, Suite


def retrieve(suite: Suite, retriever: object, queries: Iterable[Query] | None = None, name: str = "") -> Run:
    """Ask a retriever every query (or the given ones), in order, each once.

    A call that raises, or returns what cannot be read, is that query's ``Fault``; the others are asked all the same.
    ``name`` tells retrievers of one suite apart. Raises ``RetrieverError`` where the object cannot be called at all.
    """
    __tracebackhide__ = True
    asked = suite.queries if queries is None else tuple(queries)
    if takes_batches(retriever):
        return _retrieve_batches(suite, retriever, asked, name)
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
            faults[query.id] = _fault(error)
            continue
        rankings[query.id] = Ranking(hits.ids, hits.scores, time.perf_counter() - start)
        for document, title in hits.titles.items():
            titles.setdefault(document, title)
    return Run(name, rankings, faults, titles, interrupted=interrupted)


def _retrieve_batches(suite: Suite, retriever: object, asked: Sequence[Query], name: str) -> Run:
    """Ask all queries that share their params in one call, which has no latency of a single query."""
    __tracebackhide__ = True
    owners = [check.query.thresholds if check.query else (check.limits,) for check in suite.checks]
    for limits in (limits for owner in owners for limits in owner if limits and limits.measure.unit == "seconds"):
        raise RetrieverError(
            f"{limits.measure} is the time of one query, and {type(retriever).__name__}.batch answers many at once;"
            " let the fixture give what takes a single query"
        )
    groups: dict[str, list[Query]] = {}
    for query in asked:
        groups.setdefault(repr(sorted(query.params.items())), []).append(query)
    batches = [({**suite.params, **group[0].params}, group) for group in groups.values()]
    calls = [how_to_call(retriever, params) for params, _ in batches]
    rankings: dict[str, Ranking] = {}
    faults: dict[str, Fault] = {}
    titles: dict[str, str] = {}
    interrupted = False
    for call, (params, group) in zip(calls, batches, strict=True):
        try:
            results = split_batch(call([query.text for query in group], suite.depth, params), len(group))
        except KeyboardInterrupt:
            interrupted = True
            break
        except Exception as error:
            faults.update(dict.fromkeys([query.id for query in group], _fault(error)))
            continue
        for query, result in zip(group, results, strict=True):
            try:
                hits = read_result(result, suite.depth)
            except Exception as error:
                faults[query.id] = _fault(error)
                continue
            rankings[query.id] = Ranking(hits.ids, hits.scores)
            titles.update({document: title for document, title in hits.titles.items() if document not in titles})
    return Run(name, rankings, faults, titles, interrupted=interrupted)


def _fault(error: Exception) -> Fault:
    message = str(error) if isinstance(error, UnreadableResult) else _message(error)
    return Fault(message, error)


def _message(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
