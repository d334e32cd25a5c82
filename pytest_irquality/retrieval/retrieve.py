"""One pass over the queries: ask each, keep what came or what went wrong."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pytest_irquality.retrieval.beside import Counter, counter_of
from pytest_irquality.retrieval.call import Call, RetrieverError, how_to_call, takes_batches
from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.jobs import (
    Job,
    Reply,
    TimedOut,
    forget,
    is_fault,
    is_skip,
    message_of,
    said_of,
)
from pytest_irquality.retrieval.pace import Pace, one_by_one
from pytest_irquality.retrieval.results import Returned, distinct_ids, read_result, split_batch
from pytest_irquality.retrieval.retries import is_refusal, is_retried, wait_before
from pytest_irquality.retrieval.run import Answer, Fault, Ranking, Run, one_side
from pytest_irquality.retrieval.service import Service
from pytest_irquality.retrieval.staging import (
    FirstStages,
    first_stages,
    names_in,
    part_of,
    read_stages,
)
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.suite.model import Query, Suite

Progress = Callable[[int, int], None]
"""Told how many queries were answered, and of how many."""
Arrived = Callable[[Query, int, Run], None]
"""Told of each answer to a query or a variant: its number, and a run of it alone."""
ReadHits = Callable[[Query, object], Any]

FIRST_STAGE = -1  # in place of the number of an answer: what the first stage gives
GIVE_UP = 20  # time-outs in a row; three times the calls in flight where that is more


def retrieve(
    suite: Suite,
    retriever: object,
    queries: Iterable[Query] | None = None,
    name: str = "",
    *,
    concurrency: int | None = None,
    progress: Progress | None = None,
    details: bool = False,
    pace: Pace | None = None,
    arrived: Arrived | None = None,
    in_stages: bool = True,
) -> Run:
    """Ask a retriever every query and its variants, each ``suite.repeat`` times.

    ``queries`` are those of the suite to ask; None: all. A call that raises, takes longer than
    ``suite.timeout`` or returns what cannot be read is that query's ``Fault``; the others are asked
    all the same. Only a retriever that times out again and again, and answers nothing in between,
    is given up: the queries that were left are faults too. Without a ``timeout`` coroutines may
    take a minute, and plain functions as long as they like: a limit would move them into other
    threads. What is in the run stands in the suite's order, whatever was answered first.

    A retriever's ``stages(query, k)``, or else its ``candidates(query, k)``, is asked every query
    once, too, in the same pass: what they give are the run's stages (none without ``in_stages``).

    ``concurrency`` calls are in flight (None: as many as the suite says, or one): plain functions
    in threads, coroutines in one event loop. One call at a time and without a time-out is made in
    the caller's own thread. ``progress`` is told of each query that was answered.
    ``name`` tells retrievers of one suite apart. With ``details`` the run keeps what people must
    see of a document to grade it. ``pace`` is that of the retriever's calls, where other suites
    ask it, too; ``arrived`` is told of each answer as it comes. Raises ``RetrieverError`` where the
    object cannot be called at all. Ctrl-C ends the pass and marks it interrupted.
    """
    __tracebackhide__ = True
    asked = suite.queries if queries is None else tuple(queries)
    own = {query.id for query in asked}
    variants = tuple(variant for variant in suite.reworded if variant.of in own)
    count = counter_of(suite, retriever)
    concurrency = concurrency or suite.concurrency or 1
    timeout = suite.timeout
    if isinstance(retriever, Service):
        retriever, timeout = retriever.within(timeout or TimedOut.usual), None
    jobs = deque(_rounds(suite, retriever, (*asked, *variants), details))
    staged = first_stages(retriever) if in_stages else None
    if staged:
        jobs.extend(_of_first_stages(suite, staged, asked))
    pace = pace or Pace(suite.rate)
    kept = _Kept(jobs, max(GIVE_UP, 3 * concurrency), progress, timeout, count)
    timed = not takes_batches(retriever)  # no query of a batch has a time of its own
    if arrived:
        kept.arrived = lambda query, answer: arrived(
            query, answer, kept.part(suite, name, [query], answer, timed)
        )
    try:
        kept.tell()
        _ask(kept, jobs, concurrency, pace)
        _ask_again(suite, kept, concurrency, pace)
    except KeyboardInterrupt:
        kept.interrupted = True
    runs = []
    for answer in range(suite.repeat):
        run = kept.run(name, asked, answer, timed)
        if variants:
            run = replace(run, variants=kept.run(name, variants, answer, timed))
        runs.append(run)
    run = one_side(runs)
    return replace(run, stages=kept.stages(suite, name, asked)) if staged else run


@dataclass
class _Kept:
    """The answers that came so far, by their number and query.

    Enough time-outs in a row end the pass. ``timeout``: the seconds after which it ends a call.
    """

    jobs: deque[Job]
    give_up_after: int
    progress: Progress | None
    timeout: float | None
    count: Counter
    arrived: Callable[[Query, int], None] | None = None
    total: int = 0
    retries: int = 0
    made: tuple[Job, ...] = ()
    in_a_row: int = 0
    given_up: str = ""
    interrupted: bool = False
    replies: dict[tuple[int, str], Reply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = sum(len(job.subject) for job in self.jobs)
        self.made = tuple(self.jobs)

    def to_retry(self, on: Iterable[str]) -> list[Job]:
        """The calls that failed in one of these ways, as they were made first."""
        on = frozenset(on)
        return [
            job for job in self.made if any(is_retried(error, on) for error in self.errors([job]))
        ]

    def errors(self, jobs: Iterable[Job]) -> Iterator[BaseException]:
        """The errors of calls, from the last time that they were made."""
        for job in jobs:
            for query in job.subject:
                reply = self.replies.get((job.answer, query.id))
                if reply is not None and reply.error is not None:
                    yield reply.error

    def keep(self, job: Job, reply: Reply) -> None:
        self.retries += reply.refused
        why = _why_no_answer(reply.error)
        self.in_a_row = self.in_a_row + 1 if why else 0
        if self.in_a_row == self.give_up_after:
            self.given_up = f"{self.give_up_after} calls in a row had {why}"
            self.jobs.clear()
        values = reply.value or [None] * len(job.subject)
        for query, value in zip(job.subject, values, strict=True):
            error = value if isinstance(value, BaseException) else reply.error
            self.replies[job.answer, query.id] = reply._replace(value=value, error=error)
            if self.arrived:
                self.arrived(query, job.answer)
        self.tell()

    def tell(self) -> None:
        """Tell how far the pass is."""
        if self.progress:
            self.progress(len(self.replies), self.total)

    def part(
        self, suite: Suite, name: str, asked: Sequence[Query], number: int, timed: bool
    ) -> Run:
        """The answers of a number, or else what the stages gave, as a run."""
        if number == FIRST_STAGE:
            return Run(name, stages=self.stages(suite, name, asked))
        return self.run(name, asked, number, timed)

    def stages(self, suite: Suite, name: str, asked: Sequence[Query]) -> Mapping[str, Run]:
        """The runs of all stages, in their order. One alone has times of its own."""
        replies = [self.replies.get((FIRST_STAGE, query.id)) for query in asked]
        names, depth = names_in(replies, suite.stages), suite.stage_depth
        timed = len(names) == 1
        return {
            stage: replace(self.run(name, asked, FIRST_STAGE, timed, stage), depth=depth)
            for stage in names
        }

    def run(
        self, name: str, asked: Sequence[Query], number: int, timed: bool, stage: str = ""
    ) -> Run:
        """One answer to each of the queries, as a run."""
        rankings: dict[str, Ranking] = {}
        faults: dict[str, Fault] = {}
        titles: dict[str, str] = {}
        texts: dict[str, str] = {}
        details: dict[str, Details] = {}
        for query in asked:
            reply = part_of(self.replies.get((number, query.id)), stage)
            fault = self._fault(query, reply)
            if fault is not None:
                faults[query.id] = fault
            if fault is not None or reply is None:
                continue
            hits: Returned = reply.value
            ids = hits.ids
            if hits.texts:
                ids = distinct_ids(hits.ids, map(hits.texts.__getitem__, hits.ids), texts)
            seconds = reply.seconds if timed else None
            ranking = Ranking(ids, hits.scores, seconds)
            rankings[query.id] = self.count(hits, ranking)
            for own, document in zip(ids, hits.ids, strict=True) if hits.titles else ():
                if document in hits.titles:
                    titles.setdefault(own, hits.titles[document])
            details.update(hits.details)
        return Run(
            name,
            (Answer(rankings, titles, texts, details),),
            faults,
            interrupted=self.interrupted,
            retries=self.retries,
        )

    def _fault(self, query: Query, reply: Reply | None) -> Fault | None:
        """The reason why a query has no ranking.

        None where it has one, or the user ended the pass before its turn.
        """
        if reply is not None:
            return _fault(query, reply, self.timeout)
        if self.interrupted:
            return None
        return Fault(f"not asked: {self.given_up}")


def _rounds(
    suite: Suite, retriever: object, queries: Sequence[Query], details: bool
) -> Iterator[Job]:
    """The calls of every round: each query has its answer before any has its second."""
    __tracebackhide__ = True
    jobs_of = _batches if takes_batches(retriever) else _singles
    read_hits = partial(_read, suite, details)
    for answer in range(suite.repeat):
        for job in jobs_of(suite, retriever, queries, read_hits):
            yield job._replace(answer=answer)


def _of_first_stages(suite: Suite, staged: FirstStages, queries: Sequence[Query]) -> Iterator[Job]:
    """The calls that ask for what stands before the ranking."""
    __tracebackhide__ = True
    depth = suite.stage_depth

    def read(query: Query, result: object) -> Mapping[str, Returned | Exception]:
        read_hits = partial(_read, suite, False, query, depth=depth)
        return read_stages(result, read_hits, suite.stages, named=staged.named)

    for job in _singles(suite, staged.ask, queries, read, depth):
        yield job._replace(answer=FIRST_STAGE)


def _singles(
    suite: Suite,
    retriever: object,
    asked: Sequence[Query],
    read_hits: ReadHits,
    depth: int | None = None,
) -> Iterable[Job]:
    """A call for each query, for ``depth`` results (None: as many as the suite reads)."""
    __tracebackhide__ = True
    depth = depth or suite.depth
    # How to call depends on the names that are given, not on their values.
    of_each_kind = {frozenset(query.params): query for query in asked}
    calls = {names: _settle(suite, retriever, query) for names, query in of_each_kind.items()}

    def job(query: Query) -> Job:
        call, params = calls[frozenset(query.params)], {**suite.params, **query.params}
        return Job(
            (query,),
            lambda: call(query.text, depth, params),
            lambda result: [read_hits(query, result)],
        )

    return map(job, asked)


def _batches(
    suite: Suite, retriever: object, asked: Sequence[Query], read_hits: ReadHits
) -> Iterable[Job]:
    """A call for all queries that share their params, which has no latency of a single query."""
    __tracebackhide__ = True
    for measure in suite.limited:
        if measure.unit == "seconds":
            raise RetrieverError(
                f"{measure} is the time of one query, and {type(retriever).__name__}.batch answers"
                " many at once; let the fixture give what takes a single query"
            )
    groups: dict[str, list[Query]] = {}
    for query in asked:
        groups.setdefault(repr(sorted(query.params.items())), []).append(query)

    def read(query: Query, result: object) -> Any:
        try:
            return read_hits(query, result)
        except BaseException as error:  # one query's results do not spoil those of the others
            if not is_fault(error):
                raise
            return error

    def job(group: Sequence[Query]) -> Job:
        params = {**suite.params, **group[0].params}
        call = _settle(suite, retriever, group[0])
        return Job(
            tuple(group),
            lambda: call([query.text for query in group], suite.depth, params),
            lambda results: [*map(read, group, split_batch(results, len(group)))],
        )

    return [job(group) for group in groups.values()]


def _settle(suite: Suite, retriever: object, query: Query) -> Call:
    """The call of the retriever with a query's params; an error knows where those stand."""
    __tracebackhide__ = True
    try:
        return how_to_call(retriever, {**suite.params, **query.params})
    except RetrieverError as error:
        error.place = query.place if query.params else suite.places.get("params")
        raise


def _read(
    suite: Suite, details: bool, query: Query, result: object, depth: int | None = None
) -> Returned:
    return read_result(
        result,
        depth or suite.depth,
        id_field=suite.id_field,
        text_field=suite.text_field,
        texts=suite.by_text,
        show=suite.show if details or suite.show else None,
        with_text=details,
        counted=bool(suite.counts) and not depth,
    )


def _ask(kept: _Kept, jobs: deque[Job], concurrency: int, pace: Pace) -> None:
    """Make the calls. Which way they are made is settled by what the first call gives."""
    __tracebackhide__ = True
    if concurrency == 1 and kept.timeout is None:
        left = one_by_one(jobs, kept.keep, pace)
    else:
        from pytest_irquality.retrieval.threads import in_threads  # noqa: PLC0415

        left = in_threads(jobs, kept.keep, concurrency, kept.timeout, pace)
    if not left:
        return
    from pytest_irquality.retrieval.loop import in_loop, one_loop  # noqa: PLC0415 - imports asyncio

    jobs.extend(left)
    timeout = kept.timeout or TimedOut.usual
    try:
        with one_loop() as run:
            run(in_loop(jobs, kept.keep, concurrency, timeout, pace))
    finally:
        forget(jobs)


def _ask_again(suite: Suite, kept: _Kept, concurrency: int, pace: Pace) -> None:
    """Make failed calls again, as often as the suite says."""
    __tracebackhide__ = True
    for round in range(suite.retry.times):
        again = kept.to_retry(suite.retry.on)
        if not again or kept.given_up:
            return
        time.sleep(wait_before(round, kept.errors(again)))
        kept.retries += len(again)
        _ask(kept, deque(again), concurrency, pace)


def _why_no_answer(error: BaseException | None) -> str:
    """The fault of an engine that answers nothing; "" of any other."""
    if isinstance(error, TimedOut):
        return "timed out"
    return "been refused" if error and is_refusal(error) else ""


def _fault(query: Query, reply: Reply, timeout: float | None) -> Fault | None:
    error = reply.error
    if isinstance(error, TimedOut):
        return Fault(str(error))
    if isinstance(error, UnreadableResult):
        return Fault(str(error), error, query.text)
    if error is not None and is_skip(error):
        return Fault(message_of(error), error, query.text, skipped=True)
    if error is not None:
        return Fault(said_of(error), error, query.text)
    if timeout is not None and reply.seconds > timeout:
        return Fault(
            f"answered after {reply.seconds:.1f} s, later than 'timeout' of {timeout:g} s allows"
        )
    return None
