"""What there is to grade: everything that retrievers, baselines and kept runs returned, and which
of it matters most.

A document at rank r adds at most 1 / log2(r + 1) to a query's score, and that over n to a mean of n
queries. Of the distance between a value and its limit that is a share, at most all of it; the
shares of all limits that see the query add up. Documents whose grade alone could turn a failing
verdict stand before all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, log2

from pytest_irquality.retrieval.run import Answer, Run
from pytest_irquality.suite.judges import UNNAMED
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.result import SuiteResult, Verdict

NEEDS_NO_GRADE = ("rbo", "overlap")
NEAREST = 1e-9


@dataclass(frozen=True)
class Pooled:
    """A document that something returned for a query; ``rank`` is the best that it had anywhere.

    ``judges`` are those who graded it (``""`` where nobody in particular did), empty where none
    did.
    """

    id: str
    rank: int
    title: str = ""
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    judges: tuple[str, ...] = ()


@dataclass(frozen=True)
class PooledQuery:
    """A query and its documents."""

    id: str
    text: str
    why: str = ""
    tags: tuple[str, ...] = ()
    documents: tuple[Pooled, ...] = ()

    @property
    def unjudged(self) -> int:
        """How many of its documents nobody graded."""
        return sum(not document.judges for document in self.documents)


@dataclass(frozen=True)
class Pool:
    """What a suite's retrievers returned; ``scale`` are the grades to give, lowest first, in
    words.
    """

    path: str
    suite: str
    scale: tuple[tuple[str, float], ...]
    queries: tuple[PooledQuery, ...]

    def joined(self, other: Pool) -> Pool:
        """The same suite's pool with what another of its retrievers returned."""
        more = {query.id: query for query in other.queries}
        both = []
        for query in self.queries:
            same = more.pop(query.id, None)
            both.append(replace(query, documents=_union(query, same)) if same else query)
        return replace(self, queries=(*both, *more.values()))

    @property
    def unjudged(self) -> int:
        """How many pairs nobody graded."""
        return sum(query.unjudged for query in self.queries)


def pool(suite: Suite, runs: Iterable[Run], depth: int) -> Pool:
    """The first ``depth`` results of every run for every query that has something to grade.

    Queries that match by text have nothing: what they judge are passages, not results.
    """
    answers = [answer for run in runs for answer in run.answers]
    queries = [
        _pooled(query, answers, depth)
        for query in suite.queries
        if not query.expects_nothing and not suite.reads_texts(query)
    ]
    return Pool(suite.path, suite.name, scale(suite), tuple(q for q in queries if q.documents))


def scale(suite: Suite) -> tuple[tuple[str, float], ...]:
    """The grades that a judge may give: those the suite has words for, or else those it uses."""
    words: dict[float, list[str]] = {}
    for word, grade in suite.grades.items():
        words.setdefault(grade, []).append(word)
    if words:
        return tuple((" / ".join(words[grade]), grade) for grade in sorted(words))
    used: set[float] = set()
    for query in suite.queries:
        used.update(query.judgments.grades.values())
        for votes in query.votes.values():
            used.update(votes.values())
    whole = {grade for grade in used if grade == int(grade) and 0 <= grade <= 9}
    grades = sorted({0.0, max(1.0, float(suite.relevant_from)), *whole})
    if len(grades) == 2:
        return ("not relevant", grades[0]), ("relevant", grades[1])
    return tuple((f"{grade:g}", grade) for grade in grades)


def _pooled(query: Query, answers: Sequence[Answer], depth: int) -> PooledQuery:
    documents: dict[str, Pooled] = {}
    for answer in answers:
        ranking = answer.rankings.get(query.id)
        for rank, id in enumerate(ranking.collapsed(depth) if ranking else (), 1):
            known = documents.get(id) or Pooled(id, rank, judges=_judges(query, id))
            details = answer.details.get(id)
            documents[id] = replace(
                known,
                rank=min(known.rank, rank),
                title=known.title or answer.titles.get(id, ""),
                text=known.text or (details.text if details else ""),
                fields=known.fields or (details.fields if details else ()),
            )
    return PooledQuery(query.id, query.text, query.why or "", query.tags, tuple(documents.values()))


def _judges(query: Query, document: str) -> tuple[str, ...]:
    unnamed = (UNNAMED,) if document in query.judgments.grades else ()
    return tuple(query.votes.get(document, unnamed))


def _union(one: PooledQuery, other: PooledQuery) -> tuple[Pooled, ...]:
    documents: dict[str, Pooled] = {}
    for document in (*one.documents, *other.documents):
        known = documents.get(document.id, document)
        documents[document.id] = replace(
            known,
            rank=min(known.rank, document.rank),
            title=known.title or document.title,
            text=known.text or document.text,
            fields=known.fields or document.fields,
        )
    return tuple(documents.values())


# -- what matters most -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """A limit that sees a query: the mean is of ``queries``, and so far from it. ``broken``:
    fails.
    """

    queries: int
    distance: float
    broken: bool

    def moved_by(self, rank: int) -> float:
        """Which share of the distance a grade at that rank could make up at most."""
        return min(1.0, 1 / log2(rank + 1) / self.queries / self.distance)


Weight = tuple[bool, float, float]
"""Whether a grade could turn a failing verdict; how much it could move; its rank, better first."""


def by_importance(pools: Iterable[Pool], results: Sequence[SuiteResult]) -> tuple[Pool, ...]:
    """One pool for each suite, the queries and documents first whose grades matter most."""
    joined: dict[str, Pool] = {}
    for one in pools:
        joined[one.path] = joined[one.path].joined(one) if one.path in joined else one
    return tuple(
        _ordered(joined[path], [result for result in results if result.path == path])
        for path in sorted(joined)
    )


def _ordered(one: Pool, results: Sequence[SuiteResult]) -> Pool:
    limits: dict[str, list[Limit]] = {}
    for result in results:
        for id, limit in _limits(result):
            limits.setdefault(id, []).append(limit)

    def weight(query: PooledQuery, document: Pooled) -> Weight:
        seen_by = limits.get(query.id, ())
        shares = [limit.moved_by(document.rank) for limit in seen_by]
        broken = [limit.moved_by(document.rank) for limit in seen_by if limit.broken]
        turns_a_failure = any(share >= 1 for share in broken)
        return turns_a_failure, sum(shares), -document.rank

    def most(query: PooledQuery) -> Weight:
        """The weight of the ungraded document that matters most."""
        to_grade = [document for document in query.documents if not document.judges]
        return max((weight(query, document) for document in to_grade), default=(False, -1.0, -inf))

    queries = []
    for query in sorted(one.queries, key=most, reverse=True):
        documents = sorted(query.documents, key=partial(weight, query), reverse=True)
        queries.append(replace(query, documents=tuple(documents)))
    return replace(one, queries=tuple(queries))


def _limits(result: SuiteResult) -> Iterator[tuple[str, Limit]]:
    """Each limit that grades could move, with each query that it sees."""
    everyone = [query.id for query in result.queries]
    tagged: dict[str, list[str]] = {}
    for query in result.queries:
        for tag in query.tags:
            tagged.setdefault(tag, []).append(query.id)
    for verdict in result.verdicts:
        for queries, limit in _of(verdict, everyone, tagged, result.top_k):
            for id in queries:
                yield id, limit


def _of(
    verdict: Verdict, everyone: Sequence[str], tagged: Mapping[str, Sequence[str]], top_k: int
) -> Iterator[tuple[Sequence[str], Limit]]:
    failed = verdict.outcome == "failed"
    for finding in verdict.findings:
        broken = failed and finding.fails and not finding.ok
        if finding.demand.needs_relevant and not finding.ok:
            # Any document of the top k that proves relevant undoes the loss.
            yield [finding.subject], Limit(1, 1 / log2(top_k + 1), broken)
        graded = finding.measure and finding.unit == ""
        if not graded or finding.measure.startswith(NEEDS_NO_GRADE):
            continue
        if finding.value is None or finding.limit is None:
            continue
        distance = max(abs(finding.value - finding.limit), NEAREST)
        limit = Limit(max(finding.queries, 1), distance, broken)
        if verdict.scope in ("query", "each_query"):
            yield [finding.subject], limit
        else:
            yield tagged.get(finding.subject, ()) if finding.subject else everyone, limit
