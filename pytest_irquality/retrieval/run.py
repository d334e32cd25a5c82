"""A run: what a retriever returned, as plain text and numbers whatever the engine's own types
were.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from urllib.parse import quote, quote_plus

from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.results import UnreadableResult, apart
from pytest_irquality.retrieval.retries import UNIT, status_in, status_of

# What is said to be an id; hexadecimal; numbers with their unit; and words with a digit.
VARYING = re.compile(
    r"(?<=request.id)[\s:='\"]+[\w-]+|(?<=trace.id)[\s:='\"]+[\w-]+"
    r"|0x[0-9a-f]+|\b(?=[a-f-]*\d)[0-9a-f-]{8,}\b"
    rf"|(?<!\w)\d+(?:[.,:]\d+)*(?:\s?{UNIT}\b|\s?%|\b)"
    r"|\b[^\W\d]*-?\d[\w-]*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Ranking:
    """The documents returned for one query, best first, duplicates and all.

    ``scores`` has one number a document, or is None where the engine gives none. ``seconds`` is the
    time of the call. The others are for queries that match by text alone: ``besides`` has further
    passages that a result holds, each with what the result stands for; ``holders`` the result that
    holds a passage, by its own id.
    """

    ids: tuple[str, ...]
    scores: Sequence[float] | None = None
    seconds: float | None = None
    besides: Mapping[str, str] = field(default_factory=dict)
    holders: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()

    @property
    def raw(self) -> tuple[str, ...]:
        """The results by their own ids, whatever passages they stand for."""
        return self.own or self.ids

    @cached_property
    def distinct(self) -> bool:
        """Whether no document stands twice."""
        return len({*self.ids}) == len(self.ids)

    def said_distinct(self) -> Ranking:
        """The same, of which it is known that no document stands twice, so that nobody looks."""
        vars(self)["distinct"] = True
        return self

    def collapsed(self, depth: int) -> tuple[str, ...]:
        """The first ``depth`` documents, later copies of a document removed and the ranks closed
        up.
        """
        ids = self.ids[:depth]
        return ids if self.distinct else tuple(dict.fromkeys(ids))


@dataclass(frozen=True)
class Fault:
    """Why one query has no ranking. ``error`` is what was raised; it stays in this process.

    ``asked`` is the query's text, which messages like to repeat.
    """

    message: str
    error: BaseException | None = field(default=None, compare=False, repr=False)
    asked: str = field(default="", compare=False, repr=False)

    @property
    def cause(self) -> str:
        """What queries that failed alike have in common: not their words, addresses, ports, ids and
        times.
        """
        if isinstance(self.error, UnreadableResult):
            return self.error.cause
        text = self.message
        if self.asked:
            forms = {self.asked, quote(self.asked), quote_plus(self.asked)}
            either = "|".join(map(re.escape, forms))
            text = re.sub(rf"(?<!\w)({either})(?!\w)", "…", text)
        status = status_of(self.error) if self.error else status_in(text)
        return f"{status or ''} {VARYING.sub('#', text)}"


JUDGMENTS = "judgments"
"""In ``Run.scored``, beside what a query scored, how many judgments it had."""


@dataclass(frozen=True)
class Run:
    """The rankings of the queries that were answered and the faults of those that were not, by
    query id.

    ``titles`` holds the words that results came with, by document id: a title belongs to a
    document, not to a query. ``texts`` holds whole passages by document id, kept only for suites
    that match by text; ``details`` what people must see of a document to grade it, kept where they
    will. ``depth`` is the number of results asked for, where a kept run says so; ``version`` the
    retriever's own.

    ``retries`` counts the calls that were made again after a failure.

    ``candidates`` is what the first stage gave for the same queries, None where the retriever
    tells nothing of it; its faults are no faults of the queries.

    ``again`` holds the other answers to the same queries, each a run of its own; ``build`` numbers
    the builds of the index that they came from. ``variants`` is the run of the queries' other
    wordings. ``scored`` is what a baseline's rankings scored on the day they were kept, by query id
    and measure.
    """

    retriever: str
    rankings: Mapping[str, Ranking]
    faults: Mapping[str, Fault] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    depth: int | None = None
    interrupted: bool = False
    again: tuple[Run, ...] = ()
    build: int = 0
    variants: Run | None = None
    candidates: Run | None = None
    details: Mapping[str, Details] = field(default_factory=dict)
    scored: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    retries: int = 0

    @property
    def answers(self) -> tuple[Run, ...]:
        """Every answer of this side, this one first."""
        return (self, *self.again)

    @property
    def unanswered(self) -> Mapping[str, Fault]:
        """The faults of queries, and those of their first stage alone."""
        of_candidates = self.candidates.faults if self.candidates else {}
        return {**of_candidates, **self.faults}

    @property
    def units(self) -> tuple[tuple[Run, ...], ...]:
        """The answers of each build; where there is one build, each answer by itself."""
        builds: dict[int, list[Run]] = {}
        for answer in self.answers:
            builds.setdefault(answer.build, []).append(answer)
        if len(builds) > 1:
            return tuple(map(tuple, builds.values()))
        return tuple((answer,) for answer in self.answers)

    def retried(self, again: Run, readers: Collection[str]) -> Run:
        """The same run with what asking the queries that had faults once more gave.

        ``readers`` are the ids of the queries that look for passages in texts.
        """
        again = again._apart_from(self.texts, readers)
        unanswered = {id: fault for id, fault in self.faults.items() if id not in again.rankings}
        return replace(
            self,
            rankings={**self.rankings, **again.rankings},
            faults={**unanswered, **again.faults},
            titles={**again.titles, **self.titles},
            texts={**again.texts, **self.texts},
            details={**again.details, **self.details},
            interrupted=again.interrupted,
            again=tuple(map(partial(Run.retried, readers=readers), self.again, again.again)),
            variants=_retried(self.variants, again.variants, readers),
            candidates=_retried(self.candidates, again.candidates, readers),
        )

    def _apart_from(self, texts: Mapping[str, str], readers: Collection[str]) -> Run:
        """The run with other ids for results that have an id in common with other texts.

        A query that goes by ids keeps them, whatever texts other queries have read of them.
        """
        if not self.texts or not texts:
            return self
        known = dict(texts)
        rankings, titles = dict(self.rankings), dict(self.titles)
        for query, ranking in self.rankings.items():
            if query not in readers:
                continue
            ids = apart(ranking.ids, (self.texts[id] for id in ranking.ids), known)
            rankings[query] = replace(ranking, ids=ids)
            titles.update(
                (own, titles[id]) for own, id in zip(ids, ranking.ids, strict=True) if id in titles
            )
        return replace(self, rankings=rankings, texts=known, titles=titles)


def one_side(answers: Sequence[Run]) -> Run:
    """Several answers to the same queries as one run, the first with the others as its ``again``.

    A query that one of them lacks has no answer: what is left would not be its mean. The same holds
    for variants, by themselves.
    """
    if len(answers) == 1:
        return answers[0]
    everywhere = set(answers[0].rankings).intersection(*(run.rankings for run in answers))
    faults = {id: fault for run in reversed(answers) for id, fault in run.faults.items()}
    first, *again = [
        replace(
            run,
            rankings={id: found for id, found in run.rankings.items() if id in everywhere},
            faults=faults,
            variants=None,
            again=(),
        )
        for run in answers
    ]
    variants = [run.variants for run in answers if run.variants]
    return replace(
        first,
        again=tuple(again),
        variants=one_side(variants) if len(variants) == len(answers) else None,
    )


def _retried(run: Run | None, again: Run | None, readers: Collection[str]) -> Run | None:
    return run.retried(again, readers) if run and again else again or run
