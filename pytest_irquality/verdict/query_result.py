"""One query as people are shown it: its top documents with grades, and those it missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from statistics import fmean

from pytest_irquality.retrieval.run import Fault, Ranking, Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.not_found import Losses
from pytest_irquality.verdict.result import QueryResult, ShownDocument
from pytest_irquality.verdict.sides import Sides

LEAST_LISTED = 10
MOST_LISTED = 20
NOTHING = Ranking(())


def query_result(
    comparison: Comparison, query: Query, check: str | None, losses: Losses
) -> QueryResult:
    """One query as reports show it. ``check`` is the name of its own item."""
    sides, scores = comparison.sides, comparison.scores
    run = sides.run
    fault = run.faults.get(query.id)
    is_compared = query.id in sides.before and not sides.renumbered
    undefined = (None,) * len(sides.suite.measures)
    documents = _Documents(comparison, query, losses)
    return QueryResult(
        id=query.id,
        text=query.text,
        line=query.place.line,
        file=query.place.path,
        values=scores.now.values.get(query.id, undefined),
        ranking=documents.first(),
        missing=documents.beyond(),
        returned=sides.answers.returned.get(query.id, 0),
        returned_before=sides.answers_before.returned.get(query.id),
        expects_nothing=query.expects_nothing,
        fault=_told(fault) if fault else None,
        skipped=fault is not None and fault.skipped,
        before=comparison.known_then(query) if is_compared else None,
        compared=scores.compared.values[query.id] if is_compared else None,
        ranking_before=documents.first_before(),
        fates=losses.fates(query),
        new=sides.is_new(query),
        check=check,
        tags=query.tags,
        remarks=query.remarks,
        weight=query.weight,
        seconds=_seconds(run, query),
        answers=len(run.answers),
    )


def _told(fault: Fault) -> str:
    said = ("skipped", fault.message) if fault.skipped else (fault.message,)
    return ": ".join(filter(None, said))


class _Documents:
    """The documents of one query as they are shown.

    Suites show tens of thousands of them, so what those of a query share is looked up once. Most
    queries are plain: they go by ids, have one answer, and no document comes twice. Only a single
    answer gives a document a score; of several each document says how many hold it.
    """

    def __init__(self, comparison: Comparison, query: Query, losses: Losses) -> None:
        sides, id = comparison.sides, query.id
        now, then = sides.answers, sides.answers_before
        self.comparison, self.sides = comparison, sides
        self.query = query
        self.losses = losses
        self.grades = query.judgments.grades
        self.relevant = query.judgments.relevant
        self.most = min(max(LEAST_LISTED, sides.suite.top_k), MOST_LISTED)
        self.ids, self.before = now.shown(id), then.shown(id)
        self.ranking = sides.run.first.rankings.get(id, NOTHING)
        self.scores = self.ranking.scores or () if sides.has_order else ()
        self.often = {} if sides.has_order else now.often(id)
        is_in_order = self.ranking.distinct and not self.ranking.besides
        self.is_plain = is_in_order and not (sides.suite.by_text or sides.tells_noise)
        self.is_as_before = self.is_plain and self.before == self.ids
        is_one_ranking = self.is_as_before or (self.is_plain and not self.before)
        self.ranks_before = {} if is_one_ranking else then.ranks(id)
        self.ranks = self._judged_ranks() if is_one_ranking else now.ranks(id)

    def _judged_ranks(self) -> Mapping[str, int]:
        """The ranks of the judged documents alone, where no rule asks for others.

        They are known, and to find any other reads the whole ranking.
        """
        id = self.query.id
        if self.query.rules:
            return self.sides.answers.ranks(id)
        if id not in self.sides.rankings:
            return {}
        return self.comparison.scoring.judged_ranks(self.sides.answers[0], id)

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
        """Expected documents that are not among the first: the best, then what rules name."""
        expected = sorted(self.relevant)
        expected.sort(key=self.grades.__getitem__, reverse=True)
        for rule in self.query.rules:
            expected += rule.wanted
        ranked = [(self.ranks.get(id), id) for id in dict.fromkeys(expected)]
        documents = self.shown((rank, id) for rank, id in ranked if (rank or inf) > self.most)
        if not _has_reasons(self.sides, self.query):
            return documents
        return tuple(map(self.with_reason, documents))

    def first_before(self) -> tuple[ShownDocument, ...]:
        """The baseline's first ones; nothing where they are those of today."""
        then = self.sides.baseline_run
        if then is None or not self.before:
            return ()
        ids, own_before = self.before[: self.most], then.first.rankings[self.query.id].own
        if (
            ids == self.ids[: self.most]
            and own_before[: self.most] == self.ranking.own[: self.most]
        ):
            return ()
        documents = self.shown((self.ranks.get(id), id) for id in ids)
        if not _has_reasons(self.sides, self.query):
            return documents
        return tuple(map(self.was_there, documents))

    def shown(self, ranked: Iterable[tuple[int | None, str]]) -> tuple[ShownDocument, ...]:
        """Documents with their ranks as they are shown."""
        title_of, grade_of = self.comparison.titles.get, self.grades.get
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
        """A document with what only passages, repeated documents and several answers have."""
        id, grade = document.id, document.grade
        if grade is None and self.holds_no_passage(id):
            grade = 0.0
        return document._replace(
            grade=grade,
            score=self.score(document),
            in_answers=None if self.sides.has_order else self.often.get(id, 0),
        )

    def holds_no_passage(self, document: str) -> bool:
        """Tell whether it is a result that stands for no passage.

        Under ``match: text`` that is known, not unjudged.
        """
        if self.sides.suite.match != "text":
            return False
        runs = (self.sides.run, self.sides.baseline_run)
        return any(document in run.first.texts for run in runs if run)

    def score(self, document: ShownDocument) -> float | None:
        """The retriever's score; a passage has that of the result that it stands in."""
        if document.rank is None or not self.scores:
            return document.score
        own = self.ranking.besides.get(document.id, document.id)
        return self.scores[self.ranking.ids.index(own)]

    def with_reason(self, document: ShownDocument) -> ShownDocument:
        """A document with why it is not among the first."""
        loss = self.losses.of(self.query, document.id)
        return document._replace(loss=loss, title=self.losses.title(self.query, document, loss))

    def was_there(self, document: ShownDocument) -> ShownDocument:
        """A document of the baseline with why it is lost.

        A passage comes with the chunk that it stood in.
        """
        if document.relevant and document.rank is None:
            document = self.with_reason(document)
        then = self.sides.baseline_run
        place = then.first.titles.get(document.id) if then and self.sides.suite.by_text else None
        return document._replace(title=place) if place else document


def _has_reasons(sides: Sides, query: Query) -> bool:
    """Tell whether there may be a reason why a document is missing."""
    return sides.suite.by_text or bool(sides.stages)


def _seconds(run: Run, query: Query) -> float | None:
    """The time of a call, the mean over a query's answers."""
    calls = [answer.rankings.get(query.id) for answer in run.answers]
    took = [call.seconds for call in calls if call is not None and call.seconds is not None]
    return fmean(took) if took else None
