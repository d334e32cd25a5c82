"""A run: what a retriever returned.

It is plain text and numbers, whatever the engine's own types were.
"""

from __future__ import annotations

import re
from collections.abc import Collection, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

from pytest_irquality.edges import bounds
from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.results import distinct_ids
from pytest_irquality.retrieval.retries import status_of
from pytest_irquality.retrieval.wrappers import UnreadableResult

UNIT = (
    r"(?:[nµu]s|ms|s|secs?|seconds?|milliseconds?|mins?|minutes?|h|hours?|[kmg]i?b|bytes?|[km]"
    r"|tokens?|characters?|%)"
)
# What is said to be an id; hexadecimal; numbers with their unit; and words with a digit.
VARYING = re.compile(
    r"(?<=[ _.-]id)[\s:='\"]+[\w-]+|(?<=\breq)[\s:=#'\"]+[\w-]+"
    r"|0x[0-9a-f]+|\b(?=[a-f-]*\d)[0-9a-f-]{8,}\b"
    rf"|(?<!\w)\d+(?:[.,:]\d+)*(?:\s?{UNIT}\b|\s?%|\b)"
    r"|\b[^\W\d]*-?\d[\w-]*",
    re.IGNORECASE,
)
STATUS = re.compile(rf"(?<![\w.,-])[45]\d\d(?![\w.]|,\d|\s?{UNIT}\b|\s?%)", re.IGNORECASE)
"""An HTTP status that a message names: no time, size or number of tokens."""


@dataclass(frozen=True)
class Ranking:
    """The documents returned for one query, best first, duplicates and all.

    ``scores`` has one number a document, or is None where the engine gives none. ``seconds`` is the
    time of the call. The others are for queries that match by text alone: ``besides`` has further
    passages that a result holds, each with what the result stands for; ``holders`` the result that
    holds a passage, by its own id.

    ``counts`` has the words and tokens of each result as returned, where the suite measures them;
    ``deeper`` is what the query gave when it was asked once more for four times as many results:
    nothing, where that failed.
    """

    ids: tuple[str, ...]
    scores: Sequence[float] | None = None
    seconds: float | None = None
    besides: Mapping[str, str] = field(default_factory=dict)
    holders: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    counts: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    deeper: Ranking | None = None

    @property
    def goes_on(self) -> bool:
        """True where the deeper one begins with just these documents and scores."""
        deeper, many = self.deeper, len(self.ids)
        if deeper is None or not (self.scores and deeper.scores):
            return False
        same = self.ids == deeper.ids[:many] and self.own == deeper.own[:many]
        return same and (*self.scores,) == (*deeper.scores[:many],)

    @property
    def raw(self) -> tuple[str, ...]:
        """The results by their own ids, whatever passages they stand for."""
        return self.own or self.ids

    @cached_property
    def distinct(self) -> bool:
        """True where no document stands twice."""
        return len({*self.ids}) == len(self.ids)

    def within(self, unit: str, most: float, depth: int) -> int | None:
        """The number of documents in whole results that fit into a budget of words or tokens.

        The first result that does not fit ends it. None where nothing was counted.
        """
        if unit not in self.counts:
            return None
        total, fit = 0.0, 0
        for size in self.counts[unit][:depth]:
            total += size
            if total > most:
                break
            fit += 1
        return len({*self.ids[:fit]})

    def at(self, places: Sequence[int]) -> Ranking:
        """The ranking of the results at some places, with all that stands beside them."""

        def left(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[place] for place in places) if values else ()

        return replace(
            self,
            ids=left(self.ids),
            scores=self.scores and left(self.scores),
            own=left(self.own),
            counts={unit: left(values) for unit, values in self.counts.items()},
            deeper=None,
        )

    def collapsed(self, depth: int) -> tuple[str, ...]:
        """The first ``depth`` documents, each once.

        Later copies of a document are removed and the ranks closed up.
        """
        ids = self.ids[:depth]
        return ids if self.distinct else tuple(dict.fromkeys(ids))


@dataclass(frozen=True)
class Fault:
    """A reason why one query has no ranking.

    ``error`` is what was raised; it stays in this process. ``asked`` is the query's text, which
    messages like to repeat. ``skipped``: its call said that it is to be left out, and why; that is
    no failure.
    """

    message: str
    error: BaseException | None = field(default=None, compare=False, repr=False)
    asked: str = field(default="", compare=False, repr=False)
    skipped: bool = False

    @property
    def cause(self) -> str:
        """A text that queries which failed alike have in common.

        It is without their words, addresses, ports, ids and times.
        """
        if isinstance(self.error, UnreadableResult):
            return self.error.cause
        text = self.message
        if self.asked:
            forms = {self.asked, quote(self.asked), quote_plus(self.asked)}
            either = "|".join(map(re.escape, forms))
            text = re.sub(rf"(?<!\w)({either})(?!\w)", "…", text)
        status = (status_of(self.error) if self.error else None) or STATUS.findall(text)[:1]
        return f"{status} {VARYING.sub('#', text)}"


def deeper_than(depth: int) -> int:
    """The number of results that a query is asked for once more, to see how a tie goes on."""
    return min(4 * depth, bounds.CUTOFF)


@dataclass(frozen=True)
class Answer:
    """One answer to each query of a run: their rankings by query id, and what these came with.

    ``titles`` holds the words that results came with, by document id: a title belongs to a
    document, not to a query. ``texts`` holds whole passages by document id, kept only for suites
    that match by text; ``details`` what people must see of a document to grade it, kept where they
    will. ``build`` numbers the build of the index that it came from.
    """

    rankings: Mapping[str, Ranking]
    titles: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Details] = field(default_factory=dict)
    build: int = 0

    def only(self, queries: Collection[str]) -> Answer:
        """The answer to these queries (ids) alone."""
        rankings = {id: found for id, found in self.rankings.items() if id in queries}
        return replace(self, rankings=rankings)

    def with_more(self, more: Answer) -> Answer:
        """The answer together with one to other queries."""
        more = more._with_distinct_ids(self.texts)
        return replace(
            self,
            rankings={**self.rankings, **more.rankings},
            titles={**more.titles, **self.titles},
            texts={**more.texts, **self.texts},
            details={**more.details, **self.details},
        )

    def with_deeper(self, deeper: Answer, queries: Collection[str]) -> Answer:
        """The answer with what these of its queries gave, asked for more; nothing where none."""
        joined = self.with_more(deeper)
        rankings = dict(self.rankings)
        for id in queries:
            found = joined.rankings[id] if id in deeper.rankings else Ranking(())
            rankings[id] = replace(rankings[id], deeper=Ranking(found.ids, found.scores))
        return replace(joined, rankings=rankings)

    def _with_distinct_ids(self, texts: Mapping[str, str]) -> Answer:
        """The answer with other ids for results that have an id in common with other texts."""
        if not self.texts or not texts:
            return self
        known = dict(texts)
        rankings, titles = dict(self.rankings), dict(self.titles)
        for query, ranking in self.rankings.items():
            ids = distinct_ids(ranking.ids, (self.texts[id] for id in ranking.ids), known)
            rankings[query] = replace(ranking, ids=ids)
            titles.update(
                (own, titles[id]) for own, id in zip(ids, ranking.ids, strict=True) if id in titles
            )
        return replace(self, rankings=rankings, texts=known, titles=titles)


@dataclass(frozen=True)
class Run:
    """The results of a retriever: one side of a comparison.

    ``answers`` are one or several, and each has a ranking for the same queries. Where a single one
    is meant, as an example or because a format holds no more, it is the ``first``. ``faults`` says
    by query id why other queries have none. ``depth`` is the number of results asked for, where a
    kept run says so, and ``read`` of those with texts, where not all have one; ``version`` the
    retriever's own. ``retries`` counts the calls that were made again after a failure.

    ``stages`` are runs of the same queries by the name of the stage, each what a stage before the
    ranking gave, as far as the retriever tells: their faults are no faults of the queries.
    ``variants`` is the run of the queries' other wordings.
    """

    retriever: str
    answers: tuple[Answer, ...] = (Answer({}),)
    faults: Mapping[str, Fault] = field(default_factory=dict)
    version: str | None = None
    depth: int | None = None
    read: int | None = None
    interrupted: bool = False
    variants: Run | None = None
    stages: Mapping[str, Run] = field(default_factory=dict)
    retries: int = 0

    @property
    def first(self) -> Answer:
        """The first answer."""
        return self.answers[0]

    @property
    def answered(self) -> KeysView[str]:
        """The ids of the queries that have a ranking."""
        return self.first.rankings.keys()

    @property
    def unanswered(self) -> Mapping[str, Fault]:
        """The faults of queries, and those of their stages alone."""
        faults: dict[str, Fault] = {}
        for stage in self.stages.values():
            faults.update(stage.faults)
        return {**faults, **self.faults}

    @property
    def failed(self) -> Mapping[str, Fault]:
        """The faults of queries that nobody skipped."""
        return {id: fault for id, fault in self.faults.items() if not fault.skipped}

    def only(self, queries: Collection[str]) -> Run:
        """The run with the answers to these queries (ids) alone, their faults and their stages."""
        return replace(
            self,
            answers=tuple(answer.only(queries) for answer in self.answers),
            faults={id: fault for id, fault in self.faults.items() if id in queries},
            stages={name: stage.only(queries) for name, stage in self.stages.items()},
        )

    def under(self, ids: Mapping[str, str]) -> Run:
        """The run with its queries under other ids, each with the one that it has now."""
        run = self.only({*ids.values()})
        return replace(
            run,
            answers=tuple(
                replace(
                    a, rankings={new: a.rankings[id] for new, id in ids.items() if id in a.rankings}
                )
                for a in run.answers
            ),
            faults={new: run.faults[id] for new, id in ids.items() if id in run.faults},
            stages={name: stage.under(ids) for name, stage in run.stages.items()},
        )

    def retried(self, again: Run) -> Run:
        """The run with what asking the queries that had faults once more gave."""
        still = {id: fault for id, fault in self.faults.items() if id not in again.answered}
        both = zip(self.answers, again.answers)  # noqa: B905 - a kept run may have had more
        stages = {**self.stages, **again.stages}
        for name in self.stages.keys() & again.stages.keys():
            stages[name] = self.stages[name].retried(again.stages[name])
        variants = self.variants or again.variants
        if self.variants and again.variants:
            variants = self.variants.retried(again.variants)
        return replace(
            self,
            answers=tuple(answer.with_more(more) for answer, more in both),
            faults={**still, **again.faults},
            interrupted=again.interrupted,
            variants=variants,
            stages=stages,
        )


def one_side(runs: Sequence[Run]) -> Run:
    """Several runs of the same queries as one, with the answers of all.

    A query that one of them lacks has no answer: what is left would not be its mean. The same holds
    for variants, by themselves.
    """
    first = runs[0]
    if len(runs) == 1:
        return first
    everywhere = set(first.answered).intersection(*(run.answered for run in runs))
    variants = [run.variants for run in runs if run.variants]
    return replace(
        first,
        answers=tuple(answer.only(everywhere) for run in runs for answer in run.answers),
        faults=_faults_of(runs),
        variants=one_side(variants) if len(variants) == len(runs) else None,
    )


def _faults_of(runs: Sequence[Run]) -> Mapping[str, Fault]:
    """The first fault of each query, and of one that failed and was skipped why it failed."""
    found: dict[str, Fault] = {}
    for run in runs:
        for id, fault in run.faults.items():
            if id not in found or (found[id].skipped and not fault.skipped):
                found[id] = fault
    return found
