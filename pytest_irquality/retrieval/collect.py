"""Collect a run: one pass over the queries, in which each request is sent once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from pytest_irquality.retrieval.rate_limit import RateLimiter
from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query, Settings

KeepAnswer = Callable[[Run], None]
"""Called with a run of one request as soon as it has all its answers, or its error."""
ReportProgress = Callable[[int, int], None]
"""Called with the number of calls that ended, and the number of all calls."""


@dataclass(frozen=True)
class ExceptionPolicy:
    """Exceptions that are not errors of a query.

    Attributes:
        skips: A call raises one of these to have its query left out (``pytest.skip``).
        escapes: These end the pass and are raised again (``pytest.exit``). Ctrl-C is not one of
            them: it keeps the answers so far and marks the run as interrupted.
    """

    skips: tuple[type[BaseException], ...] = ()
    escapes: tuple[type[BaseException], ...] = ()


def collect_run(
    retriever: object,
    queries: Iterable[Query],
    settings: Settings = Settings(),  # noqa: B008 - frozen
    *,
    depth: int = 10,
    fields: Collection[str] = (),
    needs_texts: bool = False,
    size_units: Collection[str] = (),
    stages: Collection[str] | None = None,
    stage_depth: int = 100,
    concurrency: int | None = None,
    rate_limiter: RateLimiter | None = None,
    exceptions: ExceptionPolicy = ExceptionPolicy(),  # noqa: B008 - frozen
    known: Run | None = None,
    keep: KeepAnswer | None = None,
    report_progress: ReportProgress | None = None,
) -> Run:
    """Run queries on a retriever, each request ``settings.repeat`` times.

    A call that raises, takes too long or returns a result that cannot be read becomes the error of
    its request; the other requests still run. Answers are in the order of the queries, whatever
    came first.

    Args:
        retriever: The value of the retriever fixture: a function or coroutine function of
            ``(query)`` or ``(query, k)``, an object with such a method or with
            ``batch(queries, k)``, or a ``Service``.
        queries: The queries. Those that share a request are sent once.
        settings: How the queries of the suite run, and how results are read.
        depth: How many results are requested.
        fields: Paths of fields that ``Ranking.fields`` needs.
        needs_texts: Whether to keep the texts of hits, if they have any. With ``match: text`` they
            are kept in any case, and a result without texts is an error.
        size_units: The units of ``Ranking.sizes``, of ``words`` and ``tokens``.
        stages: The stages that metrics use. ``stages(query, k)`` of the retriever is called for
            each request, and ``Run.stages`` has all stages it returns. ``None`` calls nothing.
        stage_depth: How many results of each stage are requested.
        concurrency: The number of calls in flight, or ``None`` for that of the settings.
        rate_limiter: The limiter that all calls of this retriever share.
        exceptions: Which exceptions skip a query or end the pass.
        known: An earlier run. Requests that it answers are not sent again.
        keep: Called in this thread as answers come, to store them.
        report_progress: Called in this thread as calls end.

    Returns:
        The run, which contains the answers of ``known``. Ctrl-C ends the pass, and the run has the
        answers so far and is marked as interrupted.

    Raises:
        RetrieverError: The retriever cannot be called, or not with these parameters.
    """
    raise NotImplementedError


def collect_stages(
    retriever: object,
    queries: Iterable[Query],
    settings: Settings = Settings(),  # noqa: B008 - frozen
    *,
    depth: int = 100,
    rate_limiter: RateLimiter | None = None,
    exceptions: ExceptionPolicy = ExceptionPolicy(),  # noqa: B008 - frozen
) -> Mapping[str, Run]:
    """Ask the retriever's ``stages(query, k)`` about some queries, after comparing.

    Returns:
        A run by the name of each stage, in the retriever's order; empty without such a method.
    """
    raise NotImplementedError
