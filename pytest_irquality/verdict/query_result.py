"""What a person is shown of one query: its top documents with grades, and those it missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.losses import Losses
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.result import QueryResult, ShownDocument

LEAST_LISTED = 10
MOST_LISTED = 20
NOTHING = Ranking(())


def query_result(now: Measured, query: Query, check: str | None, losses: Losses) -> QueryResult:
    """One query as reports show it. ``check`` is the name of its own item."""
    suite, run, then = now.suite, now.run, now.baseline_run
    ids, before = now.top(query), now.top_before(query)
    is_compared = query.id in now.before and not now.renumbered
    documents = _Documents(now, query, losses)
    most = min(max(LEAST_LISTED, suite.top_k), MOST_LISTED)
    own, own_before = _results(run, query, most), _results(then, query, most)
    is_other = before[:most] != ids[:most] or (bool(before) and own != own_before)
    undefined = (None,) * len(suite.measures)
    return QueryResult(
        id=query.id,
        text=query.text,
        line=query.place.line,
        file=query.place.path,
        values=now.scores.values.get(query.id, undefined),
        ranking=documents.shown(documents.first(ids, most)),
        missing=documents.missed(documents.beyond(most)),
        returned=now.returned(query.id) or 0,
        returned_before=now.returned_before(query.id),
        expects_nothing=query.expects_nothing,
        fault=now.faults.get(query.id),
        before=now.scores_before.values[query.id] if is_compared else None,
        compared=now.scores_compared.values[query.id] if is_compared else None,
        ranking_before=documents.were_there(before[:most]) if is_other else (),
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


class _Documents:
    """The documents of one query as they are shown.

    Suites show tens of thousands of them, so what those of a query share is looked up once.
    """

    def __init__(self, now: Measured, query: Query, losses: Losses) -> None:
        self.now = now
        self.query = query
        self.losses = losses
        self.grades = query.judgments.grades
        self.relevant = query.judgments.relevant
        self.ranking = now.run.rankings.get(query.id, NOTHING)
        self.ranks = now.ranks(query) if query.id in now.rankings else {}
        self.reads_texts = now.suite.reads_texts(query)
        is_as_before = now.top_before(query) == now.top(query) and not self.reads_texts
        self.ranks_before = self.ranks if is_as_before else now.ranks_before(query.id)
        self.often = now.often(query)
        self.several = bool(now.run.again)  # whose scores differ as their ranks do
        self.scores = () if self.several else self.ranking.scores or ()
        self.is_in_order = self.ranking.distinct and not self.ranking.besides
        self.is_plain = self.is_in_order and not self.several and now.suite.match != "text"
        self.has_reasons = self.reads_texts or now.candidates is not None

    def first(self, ids: Sequence[str], most: int) -> Sequence[str]:
        """The first ones with the passages that they hold besides, by rank."""
        besides = self.ranking.besides
        if not besides:
            return ids[:most]
        held = [passage for passage in besides if self.ranks.get(passage, most + 1) <= most]
        return sorted(dict.fromkeys([*ids[:most], *held]), key=self.ranks.__getitem__)

    def beyond(self, most: int) -> Sequence[str]:
        """What is expected and not among the first ones: the best first, then what rules name."""
        missing = [id for id in self.relevant if self.ranks.get(id, most + 1) > most]
        missing.sort()
        missing.sort(key=self.grades.__getitem__, reverse=True)
        if not self.query.rules:
            return missing
        rules = [rule for rule in self.query.rules if rule.kind != "must_not_find"]
        named = [id for rule in rules for id in rule.documents]
        missing += [id for id in named if self.ranks.get(id, most + 1) > most]
        return [*dict.fromkeys(missing)]

    def shown(self, ids: Iterable[str]) -> tuple[ShownDocument, ...]:
        """Some of any ranking."""
        rank_of, rank_before_of = self.ranks.get, self.ranks_before.get
        title_of, grade_of = self.now.titles.get, self.grades.get
        relevant, scores = self.relevant, self.scores
        documents = []
        for id in ids:
            rank = rank_of(id)
            score = scores[rank - 1] if scores and rank else None
            documents.append(
                ShownDocument(
                    rank, id, title_of(id) or None, grade_of(id), id in relevant, score,
                    rank_before_of(id),
                )
            )  # fmt: skip
        return tuple(documents if self.is_plain else map(self.with_more, documents))

    def with_more(self, document: ShownDocument) -> ShownDocument:
        """One with what only passages, documents that came twice and several answers have."""
        id, grade = document.id, document.grade
        if grade is None and self.now.lacks_passages(id):
            grade = 0.0
        return document._replace(
            grade=grade,
            score=self.score(document),
            share=self.ranking.shares.get(id),
            in_answers=self.often.get(id, 0) if self.several else None,
        )

    def score(self, document: ShownDocument) -> float | None:
        """What the retriever gave it; a passage has that of the result that it stands in."""
        if self.is_in_order or document.rank is None or not self.scores:
            return document.score
        own = self.ranking.besides.get(document.id, document.id)
        return self.scores[self.ranking.ids.index(own)]

    def missed(self, ids: Iterable[str]) -> tuple[ShownDocument, ...]:
        """Some that are expected and not among the first, with why."""
        documents = self.shown(ids)
        return tuple(map(self.with_reason, documents)) if self.has_reasons else documents

    def with_reason(self, document: ShownDocument) -> ShownDocument:
        """One with why it is not among the first."""
        return document._replace(
            loss=self.losses.of(self.query, document.id),
            candidate=self.now.candidate(self.query, document.id),
        )

    def were_there(self, ids: Iterable[str]) -> tuple[ShownDocument, ...]:
        """Some of the baseline."""
        documents = self.shown(ids)
        return tuple(map(self.was_there, documents)) if self.has_reasons else documents

    def was_there(self, document: ShownDocument) -> ShownDocument:
        """One of the baseline with why it is lost; a passage with the chunk that it stood in."""
        if document.relevant and document.rank is None:
            document = self.with_reason(document)
        then = self.now.baseline_run
        place = then.titles.get(document.id) if then and self.reads_texts else None
        return document._replace(title=place) if place else document


def _results(run: Run | None, query: Query, most: int) -> Sequence[str]:
    """The first results of a query that looks for passages, by their own ids."""
    ranking = run.rankings.get(query.id) if run else None
    return ranking.own[:most] if ranking else ()


def _seconds(run: Run, query: Query) -> float | None:
    """How long a call took, the mean over a query's answers."""
    calls = [answer.rankings.get(query.id) for answer in run.answers]
    took = [call.seconds for call in calls if call is not None and call.seconds is not None]
    return fmean(took) if took else None
