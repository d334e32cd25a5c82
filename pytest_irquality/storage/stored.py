"""A stored run as it is known before it is written and after it is read.

It is a baseline, a kept run or a share of one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from pytest_irquality.edges import bounds
from pytest_irquality.edges.open import Allowed, Unreadable, open_bytes
from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.results import distinct_ids
from pytest_irquality.retrieval.run import Answer, Fault, Ranking, Run
from pytest_irquality.storage.matching import Matching, Question
from pytest_irquality.suite.model import Query, Suite

Opener = Callable[[Path, "Allowed | None"], BinaryIO]
Name = Annotated[str, lambda name: len(name) <= bounds.PATH]
Depth = Annotated[int, lambda depth: 1 <= depth <= bounds.CUTOFF]


class StoredRunError(Exception):
    """A file that is no run, or not the one that is asked for.

    Its message is one line, ``path:line: what is wrong``.
    """


class DamagedRunError(StoredRunError):
    """A run of ours that cannot be read, and may be written anew.

    A merge, a crash or an older version left it so.
    """


@dataclass(frozen=True)
class Header:
    """The description of a run: all but its rankings.

    ``path`` is the suite's: as messages name it, in a baseline its name. ``depth`` is how many
    results were asked for, ``candidates`` how many of the first stage, where that was asked,
    ``texts`` how many of the results have their texts, where not all of them have. The rest is
    known of kept runs only, since a baseline's header holds nothing that two branches would both
    change. ``digest`` stands for the queries that the suite asks (not for what it demands of them),
    ``shard`` (``2/5``) says which share of the queries this is, ``version`` is the retriever's own,
    ``commit`` that of the code, ``code`` a name for that with its edits, ``time`` ISO 8601 in UTC.
    """

    suite: Name
    path: Name
    depth: Depth
    retriever: Name = ""
    digest: Name = ""
    shard: Name | None = None
    version: Name | None = None
    commit: Name | None = None
    time: Name | None = None
    candidates: Depth | None = None
    code: Name | None = None
    texts: Depth | None = None


@dataclass(frozen=True)
class StoredQuery:
    """One line: a query as it was asked, and its ranking or its fault.

    ``titles`` and ``texts`` are those of its documents, one each where any is known. In a baseline
    ``version`` is that of the retriever which gave this ranking.

    ``answers`` are further answers to the query, each with the number of the ``build`` it came
    from. A line that is ``of`` another query (its id) is a variant's. ``stages`` is what those
    before the ranking gave, by their names, ranking or fault; ``deeper`` what the query gave when
    it was asked for more.
    ``skipped``: the fault is why the query was left out. ``fields`` are those that the suite
    shows of documents, by id; baselines have none.
    """

    id: str
    text: str
    params: Mapping[str, Any] = field(default_factory=dict)
    ranking: Ranking | None = None
    fault: str | None = None
    titles: Sequence[str | None] = ()
    texts: Sequence[str | None] = ()
    version: str | None = None
    answers: tuple[StoredQuery, ...] = ()
    build: int = 0
    of: str = ""
    stages: Mapping[str, StoredQuery] = field(default_factory=dict)
    deeper: StoredQuery | None = None
    skipped: bool = False
    fields: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def every_answer(self) -> tuple[StoredQuery, ...]:
        """All answers to the query, this one first."""
        return (self, *self.answers)

    @property
    def knows_texts(self) -> bool:
        """True where every result of every answer, and of the stages, has its text."""
        others = (*self.answers, *self.stages.values())
        results = {*self.ranking.ids} if self.ranking else set()
        known = self.by_document(self.texts)
        return results <= known.keys() and all(other.knows_texts for other in others)

    def answer(self, number: int) -> StoredQuery:
        """Give one of its answers.

        A query with fewer than others, as a partial update leaves it, repeats its own.
        """
        return self.every_answer[number % (1 + len(self.answers))]

    def by_document(self, words: Sequence[str | None]) -> dict[str, str]:
        """The ``titles`` or ``texts`` by document id."""
        known = zip(self.ranking.ids if self.ranking else (), words, strict=False)
        return {id: text for id, text in known if text is not None}

    def with_distinct_ids(self, texts: dict[str, str]) -> StoredQuery:
        """Give other ids to results that have an id in common with other texts.

        ``texts`` learns its own.
        """
        own = self.by_document(self.texts)
        if self.ranking is None or not own:
            return self
        names = dict(zip(own, distinct_ids(tuple(own), own.values(), texts), strict=True))
        ids = tuple(names.get(id, id) for id in self.ranking.ids)
        return replace(self, ranking=replace(self.ranking, ids=ids))

    @property
    def question(self) -> Question:
        """The words and params that it asks, to compare with another's."""
        params = json.dumps(self.params, sort_keys=True, default=str) if self.params else ""
        return Question(self.text, params)

    def same_ranking(self, other: StoredQuery) -> bool:
        """Tell whether both got the same documents in the same order for the same question.

        Scores and titles may wobble.
        """
        found = [
            (query.ranking.ids, query.ranking.counts) if query.ranking else None
            for query in (self, other)
        ]
        same = (
            found[0] == found[1]
            and (*self.texts,) == (*other.texts,)
            and self.question == other.question
        )
        return (
            same
            and self._same_stages(other)
            and len(self.answers) == len(other.answers)
            and all(map(StoredQuery.same_ranking, self.answers, other.answers))
        )

    def _same_stages(self, other: StoredQuery) -> bool:
        """Tell whether this holds all that the newer one has of stages, and the same."""
        return all(
            name in self.stages and self.stages[name].same_ranking(stage)
            for name, stage in other.stages.items()
        )


@dataclass(frozen=True)
class StoredRun:
    """A run in a file, or about to be written to one: its queries by id, in suite order.

    ``homes`` are the queries behind which its texts stand there.
    """

    header: Header
    queries: Mapping[str, StoredQuery]
    homes: Mapping[str, str] = field(default_factory=dict, compare=False)

    def run(self, suite: Suite, matching: Matching | None = None) -> Run:
        """Give its answers to today's queries.

        One that has another text or other params by now is not among them. ``matching`` is that of
        the suite, where it is known.
        """
        matching = matching or self.matching(suite)
        same = {id: self.queries[of] for id, of in matching.same.items()}
        by_text = suite.by_text
        run = replace(self._answers(same, by_text), stages=self._stages(same, by_text))
        lines = {line.question: line for line in self.queries.values() if line.of}
        reworded = {
            variant.id: line
            for variant in suite.reworded
            if (line := lines.get(asked(suite, variant).question)) is not None
        }
        return replace(run, variants=self._answers(reworded, by_text)) if reworded else run

    def _answers(self, lines: Mapping[str, StoredQuery], by_text: bool) -> Run:
        """Every answer to some queries, by their ids of today."""
        count = max((1 + len(line.answers) for line in lines.values()), default=1)
        return Run(
            self.header.retriever,
            tuple(
                _answer({id: line.answer(number) for id, line in lines.items()}, by_text)
                for number in range(count)
            ),
            {
                id: Fault(line.fault or "no ranking was kept", skipped=line.skipped)
                for id, line in lines.items()
                if line.ranking is None
            },
            self.version,
            self.header.depth,
            read=self.header.texts,
        )

    def _stages(self, lines: Mapping[str, StoredQuery], by_text: bool) -> Mapping[str, Run]:
        """Give the runs of the stages before the ranking, where anything of them was kept."""
        if self.header.candidates is None:
            return {}
        names = dict.fromkeys(name for line in lines.values() for name in line.stages)
        of_each = {
            name: {id: line.stages[name] for id, line in lines.items() if name in line.stages}
            for name in names
        }
        return {
            name: replace(self._answers(kept, by_text), depth=self.header.candidates, read=None)
            for name, kept in of_each.items()
        }

    @property
    def version(self) -> str | None:
        """The retriever's own version; several where a baseline holds rankings of several."""
        several = dict.fromkeys(query.version for query in self.queries.values() if query.version)
        return self.header.version or " and ".join(several) or None

    def lacks_texts(self, suite: Suite) -> bool:
        """Tell whether it lacks the passages that the suite now looks for.

        None of them would be found.
        """
        if suite.match != "text":
            return False
        lines = self.queries.values()
        return any(line.ranking and line.ranking.ids and not line.texts for line in lines)

    def lacks(self, suite: Suite, *, staged: bool) -> str:
        """Say what it lacks of all that a suite asks for; "" where nothing.

        ``staged``: candidates are asked for, too.
        """
        depth, candidates = self.header.depth, self.header.candidates or 0
        if depth < suite.depth:
            return f"{depth} results a query, and the suite asks for {suite.depth}"
        if staged and candidates < suite.stage_depth:
            most = suite.stage_depth
            return f"{candidates} candidates a query, and the suite reads {most}"
        return "no texts, which 'match: text' needs" if self.lacks_texts(suite) else ""

    def matching(self, suite: Suite) -> Matching:
        """Pair its queries with those of today."""
        return Matching(
            {id: line.question for id, line in self.queries.items() if not line.of},
            {query.id: asked(suite, query).question for query in suite.queries},
        )


def _answer(lines: Mapping[str, StoredQuery], by_text: bool) -> Answer:
    """Give one answer to each query.

    Lines that several sessions wrote, or several shares, may have an id in common with other texts:
    where these are read (``by_text``), they become others.
    """
    rankings: dict[str, Ranking] = {}
    titles: dict[str, str] = {}
    texts: dict[str, str] = {}
    details: dict[str, Details] = {}

    def ranking_of(line: StoredQuery, id: str) -> Ranking | None:
        stored = line.with_distinct_ids(texts) if by_text else line
        for document, title in stored.by_document(stored.titles).items():
            titles.setdefault(document, title)
        for document, fields in stored.fields.items():
            details[document] = Details("", tuple(fields.items()))
        if stored.ranking and line.deeper:
            return replace(stored.ranking, deeper=ranking_of(line.deeper, id))
        return stored.ranking

    for id, line in lines.items():
        if (ranking := ranking_of(line, id)) is not None:
            rankings[id] = ranking
    build = max((line.build for line in lines.values()), default=0)
    return Answer(rankings, titles, texts, details, build)


def asked(suite: Suite, query: Query) -> StoredQuery:
    """A query as a retriever is asked it, with no answer yet."""
    return StoredQuery(query.id, query.text, {**suite.params, **query.params})


def answered(suite: Suite, query: Query, run: Run) -> StoredQuery:
    """A query with what a run has for it. Raises ``KeyError`` where the run never asked it."""
    question = asked(suite, query)
    if fault := run.faults.get(query.id):
        return replace(question, fault=fault.message, skipped=fault.skipped)

    def line(answer: Answer, ranking: Ranking) -> StoredQuery:
        texts = answer.texts if suite.by_text else {}
        return replace(
            question,
            ranking=ranking,
            titles=tuple(map(answer.titles.get, ranking.ids)) if answer.titles else (),
            texts=tuple(map(texts.get, ranking.ids)) if texts else (),
            build=answer.build,
            of=query.of,
            deeper=line(answer, ranking.deeper) if ranking.deeper else None,
            fields=_fields(answer, ranking),
        )

    first, *others = (line(answer, answer.rankings[query.id]) for answer in run.answers)
    stages = {
        name: answered(suite, query, stage)
        for name, stage in run.stages.items()
        if query.id in stage.answered or query.id in stage.faults
    }
    return replace(first, answers=tuple(others), stages=stages)


def _fields(answer: Answer, ranking: Ranking) -> Mapping[str, Mapping[str, str]]:
    """The fields of each document that has any; no picture that is given as data."""
    fields = {id: answer.details[id].fields for id in ranking.ids if id in answer.details}
    return {
        id: {name: text for name, text in some if not text.startswith("data:")}
        for id, some in fields.items()
        if some
    }


def stored_run(suite: Suite, run: Run, header: Header) -> StoredRun:
    """A run as it is to be written."""
    return StoredRun(header, stored_lines(suite, run))


def stored_lines(suite: Suite, run: Run) -> Mapping[str, StoredQuery]:
    """Every query that was asked, then their other wordings, in the suite's order."""
    asked = [(query, run) for query in suite.queries]
    if run.variants:
        asked += [(variant, run.variants) for variant in suite.reworded]
    return {
        query.id: answered(suite, query, side)
        for query, side in asked
        if query.id in side.answered or query.id in side.faults
    }


def digest(suite: Suite) -> str:
    """A short hash of what the suite asks: ids, texts and params of its queries, in any order."""
    questions = sorted(
        json.dumps(
            [query.id, query.text, {**suite.params, **query.params}], sort_keys=True, default=str
        )
        for query in suite.queries
    )
    return hashlib.sha256(
        "\n".join([suite.match, *questions]).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


@contextmanager
def opened(
    path: Path, shown: str, allowed: Allowed | None, how: Opener = open_bytes
) -> Iterator[BinaryIO]:
    """Open a stored run's file.

    What is no file to read, in whole or on a line, is a ``StoredRunError``.
    """
    try:
        with how(path, allowed) as file:
            yield file
    except Unreadable as error:
        raise StoredRunError(f"{shown}:{error.line}: {error}") from None
