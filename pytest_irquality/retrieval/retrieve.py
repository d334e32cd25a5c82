"""One pass over the queries: ask each, keep what came or what went wrong."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice

from pytest_irquality.edges.printable import clipped
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.call import Call, RetrieverError, how_to_call, takes_batches
from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.jobs import Done, Job, Reply, TimedOut, forget, in_turn
from pytest_irquality.retrieval.results import Returned, apart, read_result, split_batch
from pytest_irquality.retrieval.retries import is_retried, wait_before
from pytest_irquality.retrieval.run import Answer, Fault, Ranking, Run, one_side
from pytest_irquality.retrieval.service import Service
from pytest_irquality.retrieval.wrappers import UnreadableResult
from pytest_irquality.suite.model import Query, Suite

Progress = Callable[[int, int, str], None]
"""Told how many queries were answered, of how many, and what is waited for now."""
ReadHits = Callable[[Query, object], Returned]

LONGEST = 300  # characters of an error's message; its traceback has all of it
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
) -> Run:
    """Ask a retriever every query and its variants, each ``suite.repeat`` times.

    ``queries`` are those of the suite to ask; None: all. A call that raises, takes longer than
    ``suite.timeout`` or returns what cannot be read is that query's ``Fault``; the others are asked
    all the same. Only a retriever that times out again and again, and answers nothing in between,
    is given up: the queries that were left are faults too. Without a ``timeout`` coroutines may
    take a minute, and plain functions as long as they like: a limit would move them into other
    threads. What is in the run stands in the suite's order, whatever was answered first.

    A retriever's ``candidates(query, k)`` is asked every query once, too, in the same pass: what
    its first stage gives is the run's stage of that name.

    ``concurrency`` calls are in flight (None: as many as the suite says, or one): plain functions
    in threads, coroutines in one event loop. One call at a time and without a time-out is made in
    the caller's own thread. ``progress`` is told of each query that was answered.
    ``name`` tells retrievers of one suite apart. With ``details`` the run keeps what people must
    see of a document to grade it. Raises ``RetrieverError`` where the object cannot be called at
    all. Ctrl-C ends the pass and marks it interrupted.
    """
    __tracebackhide__ = True
    asked = suite.queries if queries is None else tuple(queries)
    own = {query.id for query in asked}
    variants = tuple(variant for variant in suite.reworded if variant.of in own)
    concurrency = concurrency or suite.concurrency or 1
    timeout = limit = suite.timeout
    if isinstance(retriever, Service):  # it ends its calls itself
        timeout, limit = None, limit or TimedOut.usual
        retriever = retriever.within(limit)
    jobs = deque(_rounds(suite, retriever, (*asked, *variants), details))
    warmup = deque(islice(cycle(jobs), suite.warmup))
    first_stage = getattr(retriever, "candidates", None)
    if callable(first_stage):
        jobs.extend(_of_first_stage(suite, first_stage, asked))
    kept = _Kept(jobs, max(GIVE_UP, 3 * concurrency), progress, timeout, limit)
    try:
        kept.tell()
        _ask(kept, [(warmup, _forget), (jobs, kept.keep)], concurrency)
        _ask_again(suite, kept, concurrency)
    except KeyboardInterrupt:
        kept.interrupted = True
    timed = not takes_batches(retriever)  # no query of a batch has a time of its own
    runs = []
    for answer in range(suite.repeat):
        run = kept.run(suite, name, asked, answer, timed)
        if variants:
            run = replace(run, variants=kept.run(suite, name, variants, answer, timed))
        runs.append(run)
    run = one_side(runs)
    if callable(first_stage):
        stage = kept.run(suite, name, asked, FIRST_STAGE, timed=True)
        stages = {CANDIDATES: replace(stage, depth=suite.depth_of(CANDIDATES))}
        run = replace(run, stages=stages)
    return run


@dataclass
class _Kept:
    """The answers that came so far, by their number and query.

    Enough time-outs in a row end the pass. ``timeout``: the seconds after which the pass ends a
    call; ``limit``: after which somebody does.
    """

    jobs: deque[Job]
    give_up_after: int
    progress: Progress | None
    timeout: float | None
    limit: float | None
    total: int = 0
    first: int = 0  # of ``made`` that has no answer yet
    retries: int = 0
    made: tuple[Job, ...] = ()
    in_a_row: int = 0
    interrupted: bool = False
    replies: dict[tuple[int, str], Reply] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = sum(len(job.subject) for job in self.jobs)
        self.made = tuple(self.jobs)

    @property
    def gave_up(self) -> bool:
        """True where the last calls all timed out, too many of them to go on."""
        return self.in_a_row >= self.give_up_after

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
        self.in_a_row = self.in_a_row + 1 if isinstance(reply.error, TimedOut) else 0
        if self.in_a_row == self.give_up_after:
            self.jobs.clear()
        values = reply.value or [None] * len(job.subject)
        for query, value in zip(job.subject, values, strict=True):
            error = value if isinstance(value, Exception) else reply.error
            self.replies[job.answer, query.id] = reply._replace(value=value, error=error)
        self.tell()

    def tell(self) -> None:
        """Tell how far the pass is, and what it waits for."""
        if self.progress:
            self.progress(len(self.replies), self.total, self._waiting())

    def _waiting(self) -> str:
        """The first query that has no answer: calls begin in order, so it is one under way."""
        limit = "no time limit is set" if self.limit is None else f"for {self.limit:g} s at most"
        while self.first < len(self.made):
            job = self.made[self.first]
            query = job.subject[0]
            if (job.answer, query.id) not in self.replies:
                return f"still waiting for {query.text!r}: {limit}"
            self.first += 1
        return ""

    def run(self, suite: Suite, name: str, asked: Sequence[Query], number: int, timed: bool) -> Run:
        """One answer to each of the queries, as a run."""
        rankings: dict[str, Ranking] = {}
        faults: dict[str, Fault] = {}
        titles: dict[str, str] = {}
        texts: dict[str, str] = {}
        details: dict[str, Details] = {}
        for query in asked:
            reply = self.replies.get((number, query.id))
            fault = self._fault(query, reply)
            if fault is not None:
                faults[query.id] = fault
            if fault is not None or reply is None:
                continue
            hits: Returned = reply.value
            ids = hits.ids
            if hits.texts:
                ids = apart(hits.ids, map(hits.texts.__getitem__, hits.ids), texts)
            seconds = reply.seconds if timed else None
            rankings[query.id] = Ranking(ids, hits.scores, seconds)
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
        return Fault(f"not asked: {self.give_up_after} calls in a row had timed out")


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


def _of_first_stage(suite: Suite, first_stage: object, queries: Sequence[Query]) -> Iterator[Job]:
    """The calls that ask for candidates."""
    __tracebackhide__ = True
    depth = suite.depth_of(CANDIDATES)
    read_hits = partial(_read, suite, False, depth=depth)
    for job in _singles(suite, first_stage, queries, read_hits, depth):
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
            depth,
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

    def read(query: Query, result: object) -> Returned | Exception:
        try:
            return read_hits(query, result)
        except Exception as error:  # one query's results do not spoil those of the others
            return error

    def job(group: Sequence[Query]) -> Job:
        params = {**suite.params, **group[0].params}
        call = _settle(suite, retriever, group[0])
        return Job(
            tuple(group),
            lambda: call([query.text for query in group], suite.depth, params),
            lambda results: [*map(read, group, split_batch(results, len(group)))],
            len(group),
        )

    return [job(group) for group in groups.values()]


def _settle(suite: Suite, retriever: object, query: Query) -> Call:
    """The call of the retriever with a query's params; an error knows where those stand."""
    __tracebackhide__ = True
    try:
        return how_to_call(retriever, {**suite.params, **query.params}, suite.pipeline)
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
        texts=suite.reads_texts(query),
        show=suite.show if details else None,
    )


def _ask(kept: _Kept, phases: Sequence[tuple[deque[Job], Done]], concurrency: int) -> None:
    """Make the calls of each phase, one phase after the other.

    Which way they are made is settled by what the first call gives.
    """
    __tracebackhide__ = True
    with ExitStack() as stack:
        run = None
        for jobs, done in phases:
            if concurrency == 1 and kept.timeout is None:
                left = in_turn(jobs, done)
            else:
                from pytest_irquality.retrieval.threads import in_threads  # noqa: PLC0415

                left = in_threads(jobs, done, concurrency, kept.timeout)
            if left:
                from pytest_irquality.retrieval.loop import in_loop, one_loop  # noqa: PLC0415 - imports asyncio

                jobs.extend(left)
                kept.limit = kept.timeout or TimedOut.usual
                kept.tell()
                try:
                    run = run or stack.enter_context(one_loop())
                    run(in_loop(jobs, done, concurrency, kept.limit))
                finally:
                    forget(jobs)


def _ask_again(suite: Suite, kept: _Kept, concurrency: int) -> None:
    """Make failed calls again, as often as the suite says."""
    __tracebackhide__ = True
    for round in range(suite.retry.times):
        again = kept.to_retry(suite.retry.on)
        if not again or kept.gave_up:
            return
        time.sleep(wait_before(round, kept.errors(again)))
        kept.retries += len(again)
        _ask(kept, [(deque(again), kept.keep)], concurrency)


def _forget(job: Job, reply: Reply) -> None:
    """A call to warm up with is not measured; what is wrong with it will be wrong with the next."""


def _fault(query: Query, reply: Reply, timeout: float | None) -> Fault | None:
    error = reply.error
    if isinstance(error, TimedOut):
        return Fault(str(error))
    if isinstance(error, UnreadableResult):
        return Fault(str(error), error, query.text)
    if error is not None:
        return Fault(_message(error) + _hint(error), error, query.text)
    if timeout is not None and reply.seconds > timeout:
        return Fault(
            f"answered after {reply.seconds:.1f} s, later than 'timeout' of {timeout:g} s allows"
        )
    return None


def _message(error: BaseException) -> str:
    text = clipped(" ".join(str(error).split()), LONGEST)
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _hint(error: BaseException) -> str:
    """A hint at how the calls are made, where the error alone does not tell."""
    if "created in a thread can only be used in that same thread" in str(error):
        return (
            " (under 'concurrency' or 'timeout' calls are made in other threads:"
            " connect with check_same_thread=False, or leave both out)"
        )
    frame = error.__traceback__
    while frame:
        if str(frame.tb_frame.f_globals.get("__name__")).partition(".")[0] == "trio":
            return " (coroutines are asked on asyncio; trio is not supported)"
        frame = frame.tb_next
    return ""
