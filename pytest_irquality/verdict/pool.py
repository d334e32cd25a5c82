"""The pool: all that retrievers, baselines and kept runs returned, to be graded.

It says which queries matter most. Which retriever returned a document, and where, is told to no
judge.

A document at rank r adds at most 1 / log2(r + 1) to a query's score, and that over n to a mean of n
queries. Of the distance between a value and its limit that is a share, at most all of it; the
shares of all limits that see the query add up. Queries with a document whose grade alone could turn
the verdict stand before these, whichever way it stands, so that nobody grades towards green; before
all, those that returned nothing, or nothing good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf, log2

from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.run import Answer, Run
from pytest_irquality.suite.judges import THE_QUERY, UNNAMED
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.result import SuiteResult, Verdict

NEEDS_NO_GRADE = ("rbo", "overlap")
NEAREST = 1e-9


@dataclass(frozen=True)
class Pooled:
    """A document that something returned for a query, or that a named judge graded for it.

    ``rank`` is the best that it had anywhere, None where nothing returned it.

    ``judges`` are those who graded it (``""`` where nobody in particular did), empty where none
    did. ``disputed`` is who gave which grade, with which note, where they differ and nobody
    decided.
    """

    id: str
    rank: int | None
    title: str = ""
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    judges: tuple[str, ...] = ()
    disputed: tuple[tuple[str, float, str], ...] = ()

    @property
    def is_bare(self) -> bool:
        """True where nothing is known of it but its id."""
        return not (self.title or self.text or self.fields)


@dataclass(frozen=True)
class PooledQuery:
    """A query and its documents.

    ``found``: a relevant one is known. ``skipped`` are the judges who skipped it. ``decides``: one
    of its grades could turn the verdict.
    """

    id: str
    text: str
    why: str = ""
    tags: tuple[str, ...] = ()
    documents: tuple[Pooled, ...] = ()
    found: bool = False
    skipped: tuple[str, ...] = ()
    decides: bool = False

    @property
    def to_grade(self) -> tuple[Pooled, ...]:
        """The documents that nobody graded, where nobody skipped the query."""
        return tuple(one for one in self.documents if not (one.judges or self.skipped))

    @property
    def empty(self) -> bool:
        """True where nothing returned anything for it."""
        return all(document.rank is None for document in self.documents)

    @property
    def lacking(self) -> bool:
        """True where nothing is left to grade, and no relevant document is known."""
        return not (self.found or self.skipped or self.to_grade)


@dataclass(frozen=True)
class Pool:
    """The results of a suite's retrievers, to be graded.

    ``scale`` are the grades to give, lowest first, in words, of which those from ``good`` on are
    relevant. ``corpus`` are all documents, with their texts cut short, where they are at hand.
    """

    path: str
    suite: str
    scale: tuple[tuple[str, float], ...]
    queries: tuple[PooledQuery, ...]
    good: float = 1.0
    corpus: tuple[tuple[str, str, str], ...] = ()

    def joined(self, other: Pool) -> Pool:
        """The pool with what another of the suite's retrievers returned."""
        more = {query.id: query for query in other.queries}
        both = []
        for query in self.queries:
            same = more.pop(query.id, None)
            both.append(replace(query, documents=_union(query, same)) if same else query)
        corpus = self.corpus or other.corpus
        return replace(self, queries=(*both, *more.values()), corpus=corpus)


def pool(suite: Suite, runs: Iterable[Run], depth: int) -> Pool:
    """The first ``depth`` results of every run for every query that it answers.

    Queries that match by text have nothing to grade: what they judge are passages, not results.
    """
    answers = [answer for run in runs for answer in run.answers]
    answered = {id for answer in answers for id in answer.rankings}
    queries = tuple(
        _pooled(query, answers, depth)
        for query in suite.queries
        if query.id in answered and not query.expects_nothing and not suite.reads_texts(query)
    )
    return Pool(suite.path, suite.name, scale(suite), queries, float(suite.relevant_from))


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
    ranks: dict[str, int | None] = {}
    for answer in answers:
        ranking = answer.rankings.get(query.id)
        for rank, id in enumerate(ranking.collapsed(depth) if ranking else (), 1):
            ranks[id] = _best(ranks.get(id), rank)
    for id in (*query.votes, *query.settled):
        ranks.setdefault(id, None)
    return PooledQuery(
        query.id,
        query.text,
        query.why or "",
        query.tags,
        tuple(_document(query, id, rank, answers) for id, rank in ranks.items()),
        found=bool(query.judgments.relevant),
        skipped=tuple(query.notes.get(THE_QUERY, ())),
    )


def _best(rank: int | None, other: int | None) -> int | None:
    return min(filter(None, (rank, other)), default=None)


def _document(query: Query, id: str, rank: int | None, answers: Sequence[Answer]) -> Pooled:
    title = next((one.titles[id] for one in answers if one.titles.get(id)), "")
    details = next((one.details[id] for one in answers if id in one.details), Details())
    votes, notes = query.votes.get(id, {}), query.notes.get(id, {})
    disputed = [(judge, grade, notes.get(judge, "")) for judge, grade in sorted(votes.items())]
    differ = len({*votes.values()}) > 1
    judges = tuple(query.settled.get(id, votes))
    if not judges and id in query.judgments.grades:
        judges = (UNNAMED,)
    return Pooled(
        id, rank, title, details.text, details.fields, judges, tuple(disputed) if differ else ()
    )


def _union(one: PooledQuery, other: PooledQuery) -> tuple[Pooled, ...]:
    documents: dict[str, Pooled] = {}
    for document in (*one.documents, *other.documents):
        known = documents.get(document.id, document)
        documents[document.id] = replace(
            known,
            rank=_best(known.rank, document.rank),
            title=known.title or document.title,
            text=known.text or document.text,
            fields=known.fields or document.fields,
        )
    return tuple(documents.values())


# -- what matters most -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """A limit that sees a query: the mean is of ``queries``, and so far from it.

    ``turns``: the verdict would be another with this limit's.
    """

    queries: int
    distance: float
    turns: bool

    def moved_by(self, rank: int) -> float:
        """The share of the distance that a grade at that rank could make up at most."""
        return min(1.0, 1 / log2(rank + 1) / self.queries / self.distance)


Weight = tuple[bool, float, float]
"""Whether a grade could turn the verdict; how much it could move; its rank, better first."""
NONE: Weight = (False, -1.0, -inf)


def by_importance(pools: Iterable[Pool], results: Sequence[SuiteResult]) -> tuple[Pool, ...]:
    """One pool for each suite, the queries first whose grades matter most.

    Their documents are in an order that tells nothing.
    """
    joined: dict[str, Pool] = {}
    for one in pools:
        joined[one.path] = joined[one.path].joined(one) if one.path in joined else one
    return tuple(
        _ordered(joined[path], [result for result in results if result.path == path])
        for path in sorted(joined)
    )


def _ordered(one: Pool, results: Sequence[SuiteResult]) -> Pool:
    limits: dict[str, list[Limit]] = {}
    failed = any(result.failed for result in results)
    for result in results:
        for id, limit in _limits(result, failed):
            limits.setdefault(id, []).append(limit)

    def weight(query: PooledQuery, rank: int) -> Weight:
        seen_by = limits.get(query.id, ())
        shares = [limit.moved_by(rank) for limit in seen_by]
        turns = any(limit.turns and limit.moved_by(rank) >= 1 for limit in seen_by)
        return turns, sum(shares), -rank

    def most(query: PooledQuery) -> Weight:
        """The weight of the ungraded document that matters most."""
        ranks = [document.rank for document in query.to_grade]
        return max((weight(query, rank) for rank in ranks if rank), default=NONE)

    weights = {query.id: most(query) for query in one.queries}
    moved = {query.id for result in results for query in result.queries if query.ranking_before}

    def order(query: PooledQuery) -> tuple[float, ...]:
        turns, share, rank = weights[query.id]
        return query.empty, query.lacking, turns, share, query.id in moved, rank

    return replace(
        one,
        queries=tuple(
            replace(query, documents=_shuffled(query), decides=weights[query.id][0])
            for query in sorted(one.queries, key=order, reverse=True)
        ),
    )


def _shuffled(query: PooledQuery) -> tuple[Pooled, ...]:
    """The documents of a query in an order of chance, the same each time."""

    def chance(document: Pooled) -> bytes:
        return sha256(f"{query.id}\n{document.id}".encode("utf-8", "surrogatepass")).digest()

    return tuple(sorted(query.documents, key=chance))


def _limits(result: SuiteResult, failed: bool) -> Iterator[tuple[str, Limit]]:
    """Each limit that grades could move, with each query that it sees.

    Where the verdict is ``failed`` those turn it that are broken, and where it passed those that
    hold.
    """
    everyone = [query.id for query in result.queries]
    tagged: dict[str, list[str]] = {}
    for query in result.queries:
        for tag in query.tags:
            tagged.setdefault(tag, []).append(query.id)
    for verdict in result.verdicts:
        for queries, limit in _of(verdict, failed, (everyone, tagged), result.top_k):
            for id in queries:
                yield id, limit


def _of(
    verdict: Verdict,
    failed: bool,
    scopes: tuple[Sequence[str], Mapping[str, Sequence[str]]],
    top_k: int,
) -> Iterator[tuple[Sequence[str], Limit]]:
    everyone, tagged = scopes
    decides = verdict.outcome == ("failed" if failed else "passed")
    for finding in verdict.findings:
        turns = decides and finding.fails and finding.ok != failed
        if finding.demand.needs_relevant and not finding.ok:
            # Any document of the top k that proves relevant undoes the loss.
            yield [finding.subject], Limit(1, 1 / log2(top_k + 1), turns)
        graded = finding.measure and finding.unit == ""
        if not graded or finding.measure.startswith(NEEDS_NO_GRADE):
            continue
        if finding.value is None or finding.limit is None:
            continue
        distance = max(abs(finding.value - finding.limit), NEAREST)
        limit = Limit(max(finding.queries, 1), distance, turns)
        if verdict.over.queries:
            yield [finding.subject], limit
        else:
            yield tagged.get(finding.subject, ()) if finding.subject else everyone, limit
