"""What a person is shown of one query: its top documents with grades, and those it missed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import fmean

from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Candidate, Loss
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
        ranking=tuple(map(documents.shown, documents.first(ids, most))),
        missing=tuple(map(documents.missed, documents.beyond(most))),
        returned=now.returned(query.id) or 0,
        returned_before=now.returned_before(query.id),
        expects_nothing=query.expects_nothing,
        fault=now.faults.get(query.id),
        before=now.scores_before.values[query.id] if is_compared else None,
        compared=now.scores_compared.values[query.id] if is_compared else None,
        ranking_before=tuple(map(documents.was_there, before[:most])) if is_other else (),
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
        best_first = sorted(sorted(self.relevant), key=self.grades.__getitem__, reverse=True)
        rules = [rule for rule in self.query.rules if rule.kind != "must_not_find"]
        expected = dict.fromkeys(chain(best_first, *(rule.documents for rule in rules)))
        return [id for id in expected if self.ranks.get(id, most + 1) > most]

    def shown(
        self, id: str, loss: Loss | None = None, candidate: Candidate | None = None
    ) -> ShownDocument:
        """One of any ranking."""
        grade = self.grades.get(id)
        if grade is None and self.now.lacks_passages(id):
            grade = 0.0
        rank = self.ranks.get(id)
        return ShownDocument(
            rank,
            id,
            self.now.title(id),
            grade,
            id in self.relevant,
            self.score(id, rank),
            self.ranks_before.get(id),
            share=self.ranking.shares.get(id),
            loss=loss,
            in_answers=self.often.get(id, 0) if self.several else None,
            candidate=candidate,
        )

    def score(self, id: str, rank: int | None) -> float | None:
        """What the retriever gave it; a passage has that of the result that it stands in."""
        if rank is None or not self.scores:
            return None
        if self.is_in_order:
            return self.scores[rank - 1]
        return self.scores[self.ranking.ids.index(self.ranking.besides.get(id, id))]

    def missed(self, id: str) -> ShownDocument:
        """One that is expected and not among the first, with why."""
        if not self.has_reasons:
            return self.shown(id)
        return self.shown(id, self.losses.of(self.query, id), self.now.candidate(self.query, id))

    def was_there(self, id: str) -> ShownDocument:
        """One of the baseline; a passage with the chunk that it stood in there."""
        is_lost = id in self.relevant and id not in self.ranks
        found = self.missed(id) if is_lost else self.shown(id)
        then = self.now.baseline_run
        place = then.titles.get(id) if then and self.reads_texts else None
        return found._replace(title=place) if place else found


def _results(run: Run | None, query: Query, most: int) -> Sequence[str]:
    """The first results of a query that looks for passages, by their own ids."""
    ranking = run.rankings.get(query.id) if run else None
    return ranking.own[:most] if ranking else ()


def _seconds(run: Run, query: Query) -> float | None:
    """How long a call took, the mean over a query's answers."""
    calls = [answer.rankings.get(query.id) for answer in run.answers]
    took = [call.seconds for call in calls if call is not None and call.seconds is not None]
    return fmean(took) if took else None
