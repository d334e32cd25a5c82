"""One query as reports show it: its top documents with grades, and those it missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from pytest_irquality.retrieval.run import Run
from pytest_irquality.suite.model import Query
from pytest_irquality.verdict.findings import Candidate, Loss
from pytest_irquality.verdict.losses import Losses
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.result import QueryResult, ShownDocument

LEAST_LISTED = 10
MOST_LISTED = 20


def query_result(now: Measured, query: Query, check: str | None, losses: Losses) -> QueryResult:
    """One query as reports show it. ``check`` is the name of its own item."""
    documents = _Documents(now, query, losses)
    is_compared = query.id in now.before and not now.renumbered
    undefined = (None,) * len(now.suite.measures)
    return QueryResult(
        id=query.id,
        text=query.text,
        line=query.place.line,
        file=query.place.path,
        values=now.scores.values.get(query.id, undefined),
        ranking=documents.ranking(),
        missing=documents.missing(),
        returned=now.returned(query.id) or 0,
        returned_before=now.returned_before(query.id),
        expects_nothing=query.expects_nothing,
        fault=now.faults.get(query.id),
        before=now.scores_before.values[query.id] if is_compared else None,
        compared=now.scores_compared.values[query.id] if is_compared else None,
        ranking_before=documents.ranking_before(),
        stages=now.stages(query),
        new=now.is_new(query),
        check=check,
        tags=query.tags,
        remarks=query.remarks,
        weight=query.weight,
        seconds=_seconds(now.run, query),
        seconds_before=_seconds(now.baseline_run, query) if now.baseline_run else None,
        answers=len(now.run.answers),
    )


class _Documents:
    """The documents of one query as reports list them."""

    def __init__(self, now: Measured, query: Query, losses: Losses) -> None:
        self.now, self.query, self.losses = now, query, losses
        self.reads_texts = now.suite.reads_texts(query)
        self.listed = min(max(LEAST_LISTED, now.suite.top_k), MOST_LISTED)
        self.ids, self.ids_before = now.top(query), now.top_before(query)
        self.returned = now.run.rankings.get(query.id)
        self.ranks = now.ranks(query) if query.id in now.rankings else {}
        # The most frequent case by far, in which nothing is counted twice.
        unchanged = self.ids_before == self.ids and not self.reads_texts
        self.ranks_before = self.ranks if unchanged else now.ranks_before(query.id)
        self.several_answers = bool(now.run.again)
        self.often = now.often(query)

    def ranking(self) -> tuple[ShownDocument, ...]:
        """The first documents, and the passages that stand beside them at their ranks."""
        names = dict.fromkeys(self.ids[: self.listed])
        for passage in self.returned.besides if self.returned else ():
            if self.is_listed(passage):
                names[passage] = None
        return tuple(map(self.document, sorted(names, key=self.ranks.__getitem__)))

    def missing(self) -> tuple[ShownDocument, ...]:
        """What judgments and rules want and the listed ranking lacks, the best grade first."""
        grades = self.query.judgments.grades
        wanted = dict.fromkeys(
            sorted(self.query.judgments.relevant, key=lambda name: (-grades[name], name))
        )
        for rule in self.query.rules:
            if rule.kind != "must_not_find":
                wanted.update(dict.fromkeys(rule.documents))
        return tuple(self.missed(name) for name in wanted if not self.is_listed(name))

    def ranking_before(self) -> tuple[ShownDocument, ...]:
        """The baseline's first documents; none where they are those of today."""
        before = self.ids_before[: self.listed]
        if before == self.ids[: self.listed]:
            results = self._results(self.now.run)
            if not before or results == self._results(self.now.baseline_run):
                return ()
        return tuple(map(self.document_before, before))

    def is_listed(self, name: str) -> bool:
        return self.ranks.get(name, self.listed + 1) <= self.listed

    def document(
        self, name: str, loss: Loss | None = None, candidate: Candidate | None = None
    ) -> ShownDocument:
        """A document or passage, by its id or its words."""
        returned, judgments = self.returned, self.query.judgments
        return ShownDocument(
            self.ranks.get(name),
            name,
            self.now.title(name),
            self.grade(name),
            name in judgments.relevant,
            self.score(name),
            self.ranks_before.get(name),
            share=returned.shares.get(name) if returned else None,
            loss=loss,
            in_answers=self.often.get(name, 0) if self.several_answers else None,
            candidate=candidate,
        )

    def missed(self, name: str) -> ShownDocument:
        """One that the listed ranking lacks, with why."""
        loss = self.losses.of(self.query, name)
        return self.document(name, loss, self.now.candidate(self.query, name))

    def document_before(self, name: str) -> ShownDocument:
        """A document of the baseline; a passage with the chunk that it stood in there."""
        is_lost = name in self.query.judgments.relevant and name not in self.ranks
        document = self.missed(name) if is_lost else self.document(name)
        baseline = self.now.baseline_run
        chunk = baseline.titles.get(name) if baseline and self.reads_texts else None
        return replace(document, title=chunk) if chunk else document

    def grade(self, name: str) -> float | None:
        grade = self.query.judgments.grades.get(name)
        if grade is None and self.now.suite.match == "text" and self.now.lacks_passages(name):
            return 0.0
        return grade

    def score(self, name: str) -> float | None:
        """The retriever's own score. Of several answers there is none: each has another."""
        returned = self.returned
        if self.several_answers or not returned or not returned.scores or name not in self.ranks:
            return None
        result = returned.besides.get(name, name)
        return returned.scores[returned.ids.index(result)]

    def _results(self, run: Run | None) -> Sequence[str]:
        """The first results of a query that looks for passages, by their own ids."""
        ranking = run.rankings.get(self.query.id) if run else None
        return ranking.own[: self.listed] if ranking else ()


def _seconds(run: Run, query: Query) -> float | None:
    """How long a call took, the mean over a query's answers."""
    calls = [answer.rankings.get(query.id) for answer in run.answers]
    seconds = [call.seconds for call in calls if call is not None and call.seconds is not None]
    return fmean(seconds) if seconds else None
