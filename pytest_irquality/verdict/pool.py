"""The pool: all that retrievers, baselines and kept runs returned, to be graded.

It says which queries matter most. Which retriever returned a document, and where, is told to no
judge.

A document at rank r adds at most 1 / log2(r + 1) to a query's score, and that over n to a mean of n
queries. Queries with a document whose grade alone could turn the verdict stand before others,
whichever way it stands, so that nobody grades towards green; before all, those that returned
nothing, or nothing good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf, log2

from pytest_irquality.retrieval.details import Details
from pytest_irquality.retrieval.run import Answer, Run
from pytest_irquality.suite.judges import THE_QUERY, UNNAMED
from pytest_irquality.suite.model import Query, Suite
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import SuiteResult, Verdict

NEEDS_NO_GRADE = "rbo"


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
        if query.id in answered and not query.expects_nothing and not suite.by_text
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
    failed = any(result.failed for result in results)
    lacks: dict[str, float] = {}
    for result in results:
        for id, lack in _deciding(result, failed):
            lacks[id] = min(lack, lacks.get(id, inf))
    queries = [
        replace(query, documents=_shuffled(query), decides=_decides(query, lacks.get(query.id)))
        for query in one.queries
    ]
    moved = {query.id for result in results for query in result.queries if query.ranking_before}

    def order(query: PooledQuery) -> tuple[bool, ...]:
        return query.empty, query.lacking, query.decides, query.id in moved

    return replace(one, queries=tuple(sorted(queries, key=order, reverse=True)))


def _decides(query: PooledQuery, lack: float | None) -> bool:
    """Tell whether a grade of the best document that nobody graded could turn the verdict."""
    ranks = [document.rank for document in query.to_grade if document.rank]
    return lack is not None and bool(ranks) and 1 / log2(min(ranks) + 1) >= lack


def _shuffled(query: PooledQuery) -> tuple[Pooled, ...]:
    """The documents of a query in an order of chance, the same each time."""

    def chance(document: Pooled) -> bytes:
        return sha256(f"{query.id}\n{document.id}".encode("utf-8", "surrogatepass")).digest()

    return tuple(sorted(query.documents, key=chance))


def _deciding(result: SuiteResult, failed: bool) -> Iterator[tuple[str, float]]:
    """Each query that could turn the verdict, with what it lacks to do so.

    Where the verdict is ``failed`` those limits turn it that are broken, and where it passed those
    that hold.
    """
    for verdict in result.verdicts:
        if verdict.outcome == ("failed" if failed else "passed"):
            for finding in verdict.findings:
                if finding.fails and finding.ok != failed:
                    yield from _lacks(result, verdict, finding)


def _lacks(result: SuiteResult, verdict: Verdict, finding: Finding) -> Iterator[tuple[str, float]]:
    if finding.demand.needs_relevant and not finding.ok:
        # Any document of the top k that proves relevant undoes the loss.
        yield finding.subject, 1 / log2(result.top_k + 1)
    elif _is_of_grades(finding) and finding.value is not None and finding.limit is not None:
        lack = abs(finding.value - finding.limit) * max(finding.queries, 1)
        if verdict.over.queries:
            yield finding.subject, lack
            return
        for query in result.queries:
            if finding.subject in ("", *query.tags):
                yield query.id, lack


def _is_of_grades(finding: Finding) -> bool:
    """Tell whether the value of a finding is that of a measure that reads grades."""
    needs_none = finding.unit != "" or finding.measure.startswith(NEEDS_NO_GRADE)
    return bool(finding.measure) and not needs_none
