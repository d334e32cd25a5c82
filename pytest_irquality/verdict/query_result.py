"""What a person is shown of one query: its top documents with grades, and those it missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from operator import itemgetter
from statistics import fmean

from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.deferred import Deferred
from pytest_irquality.verdict.losses import Losses
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.result import QueryResult, ShownDocument

LEAST_LISTED = 10
MOST_LISTED = 20
NOTHING = Ranking(())

FIRST, SECOND, THIRD = map(itemgetter, range(3))

Listed = Sequence[ShownDocument]


def query_result(now: Measured, query: Query, check: str | None, losses: Losses) -> QueryResult:
    """One query as reports show it. ``check`` is the name of its own item."""
    run, then = now.run, now.baseline_run
    fault = run.faults.get(query.id)
    is_compared = query.id in now.before and not now.renumbered
    undefined = (None,) * len(now.suite.measures)
    ranking, missing, ranking_before = _lists(now, query, losses)
    return QueryResult(
        id=query.id,
        text=query.text,
        line=query.place.line,
        file=query.place.path,
        values=now.scores.values.get(query.id, undefined),
        ranking=ranking,
        missing=missing,
        returned=now.returned(query.id) or 0,
        returned_before=now.returned_before(query.id),
        expects_nothing=query.expects_nothing,
        fault=fault.message if fault else None,
        before=now.scores_before.values[query.id] if is_compared else None,
        compared=now.scores_compared.values[query.id] if is_compared else None,
        ranking_before=ranking_before if then else (),
        stages=now.stages(query),
        new=now.is_new(query),
        check=check,
        tags=query.tags,
        remarks=query.remarks,
        weight=query.weight,
        seconds=_seconds(run, query),
        seconds_before=_seconds(then, query) if then else None,
        answers=len(run.answers),
    )


def _lists(now: Measured, query: Query, losses: Losses) -> Sequence[Listed]:
    """Today's ranking, what it misses, and the baseline's ranking, each made when it is read.

    Why passages are missing is looked into at once, and for the first of them alone: their order
    counts.
    """
    if _has_reasons(now, query):
        return _all_lists(now, query, losses)
    lists = Deferred(_all_lists, now, query, losses)
    return Deferred(FIRST, lists), Deferred(SECOND, lists), Deferred(THIRD, lists)


def _all_lists(now: Measured, query: Query, losses: Losses) -> tuple[Listed, ...]:
    return _Documents(now, query, losses).lists()


class _Documents:
    """The documents of one query as they are shown.

    Suites show tens of thousands of them, so what those of a query share is looked up once. Most
    queries are plain: they go by ids, have one answer, and no document comes twice.
    """

    def __init__(self, now: Measured, query: Query, losses: Losses) -> None:
        self.now = now
        self.query = query
        self.losses = losses
        self.grades = query.judgments.grades
        self.relevant = query.judgments.relevant
        self.most = min(max(LEAST_LISTED, now.suite.top_k), MOST_LISTED)
        self.ids, self.before = now.top(query), now.top_before(query)
        self.ranking = now.run.first.rankings.get(query.id, NOTHING)
        self.several = not now.has_order  # whose scores differ as their ranks do
        self.often = now.often(query)
        self.scores = () if self.several else self.ranking.scores or ()
        self.is_in_order = self.ranking.distinct and not self.ranking.besides
        goes_by_ids = not now.suite.reads_texts(query) and now.suite.match != "text"
        self.is_plain = self.is_in_order and goes_by_ids and not self.several
        self.has_reasons = _has_reasons(now, query)
        self.is_as_before = self.is_plain and not now.several and self.before == self.ids
        # Where judged documents stand is known; finding any other reads the whole ranking.
        is_new = self.is_plain and not now.several and not self.before
        one_ranking = self.is_as_before or is_new
        is_known = one_ranking and not query.rules
        self.ranks = now.ranks_of_judged(query) if is_known else now.ranks(query)
        self.ranks_before = {} if one_ranking else now.ranks_before(query.id)

    def lists(self) -> tuple[Listed, ...]:
        """Today's ranking, what it misses, and the baseline's ranking."""
        return self.first(), self.beyond(), self.first_before()

    def first(self) -> tuple[ShownDocument, ...]:
        """Today's first ones, with the passages that they hold besides, by rank."""
        ids = self.ids[: self.most]
        if self.is_plain:
            return self.shown(enumerate(ids, 1))
        besides = self.ranking.besides
        held = [passage for passage in besides if self.ranks.get(passage, inf) <= self.most]
        both = [*dict.fromkeys([*ids, *held])]
        if held:
            both.sort(key=self.ranks.__getitem__)
        return self.shown((self.ranks[id], id) for id in both)

    def beyond(self) -> tuple[ShownDocument, ...]:
        """What is expected and not among the first ones: the best first, then what rules name."""
        expected = sorted(self.relevant)
        expected.sort(key=self.grades.__getitem__, reverse=True)
        for rule in self.query.rules:
            expected += rule.wanted
        ranked = [(self.ranks.get(id), id) for id in dict.fromkeys(expected)]
        documents = self.shown((rank, id) for rank, id in ranked if (rank or inf) > self.most)
        return tuple(map(self.with_reason, documents)) if self.has_reasons else documents

    def first_before(self) -> tuple[ShownDocument, ...]:
        """The baseline's first ones; nothing where they are those of today."""
        then = self.now.baseline_run
        if then is None or not self.before:
            return ()
        ids, own_before = self.before[: self.most], then.first.rankings[self.query.id].own
        if (
            ids == self.ids[: self.most]
            and own_before[: self.most] == self.ranking.own[: self.most]
        ):
            return ()
        documents = self.shown((self.ranks.get(id), id) for id in ids)
        return tuple(map(self.was_there, documents)) if self.has_reasons else documents

    def shown(self, ranked: Iterable[tuple[int | None, str]]) -> tuple[ShownDocument, ...]:
        """Documents with their ranks as they are shown."""
        title_of, grade_of = self.now.titles.get, self.grades.get
        relevant, scores = self.relevant, self.scores
        rank_before_of, is_as_before = self.ranks_before.get, self.is_as_before
        documents = []
        for rank, id in ranked:
            grade = grade_of(id)
            document = ShownDocument(
                rank,
                id,
                title_of(id) or None,
                grade,
                grade is not None and id in relevant,
                scores[rank - 1] if scores and rank else None,
                rank if is_as_before else rank_before_of(id),
            )
            documents.append(document)
        return tuple(documents if self.is_plain else map(self.with_more, documents))

    def with_more(self, document: ShownDocument) -> ShownDocument:
        """One with what only passages, documents that came twice and several answers have."""
        id, grade = document.id, document.grade
        if grade is None and self.now.lacks_passages(id):
            grade = 0.0
        return document._replace(
            grade=grade,
            score=self.score(document),
            in_answers=self.often.get(id, 0) if self.several else None,
        )

    def score(self, document: ShownDocument) -> float | None:
        """What the retriever gave it; a passage has that of the result that it stands in."""
        if self.is_in_order or document.rank is None or not self.scores:
            return document.score
        own = self.ranking.besides.get(document.id, document.id)
        return self.scores[self.ranking.ids.index(own)]

    def with_reason(self, document: ShownDocument) -> ShownDocument:
        """One with why it is not among the first."""
        return document._replace(
            loss=self.losses.of(self.query, document.id),
            candidate=self.now.candidate(self.query, document.id),
        )

    def was_there(self, document: ShownDocument) -> ShownDocument:
        """One of the baseline with why it is lost; a passage with the chunk that it stood in."""
        if document.relevant and document.rank is None:
            document = self.with_reason(document)
        then = self.now.baseline_run
        reads_texts = self.now.suite.reads_texts(self.query)
        place = then.first.titles.get(document.id) if then and reads_texts else None
        return document._replace(title=place) if place else document


def _has_reasons(now: Measured, query: Query) -> bool:
    """Whether there may be a reason why a document is missing."""
    return now.suite.reads_texts(query) or now.candidates is not None


def _seconds(run: Run, query: Query) -> float | None:
    """How long a call took, the mean over a query's answers."""
    calls = [answer.rankings.get(query.id) for answer in run.answers]
    took = [call.seconds for call in calls if call is not None and call.seconds is not None]
    return fmean(took) if took else None
