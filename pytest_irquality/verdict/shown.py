"""What a person is shown of one query: its top documents with grades, and those it missed."""

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

SHOWN_RESULTS = 10
MOST_SHOWN = 20


def query_result(now: Measured, query: Query, check: str | None, losses: Losses) -> QueryResult:
    """One query as reports show it. ``check`` is the name of its own item."""
    suite, run = now.suite, now.run
    ids, before = now.top(query), now.top_before(query)
    raw = run.rankings.get(query.id)
    is_compared = query.id in now.before and not now.renumbered
    grades, relevant = query.judgments.grades, query.judgments.relevant
    ranks = now.ranks(query) if query.id in now.rankings else {}
    alike = before == ids and not suite.reads_texts(query)
    old = ranks if alike else now.ranks_before(query.id)
    wanted = [d for rule in query.rules for d in rule.documents if rule.kind != "must_not_find"]
    often = now.often(query)
    several = bool(run.again)  # whose scores differ as their ranks do
    expected = dict.fromkeys([*sorted(relevant, key=lambda d: (-grades[d], d)), *wanted])

    def document(
        id: str, loss: Loss | None = None, candidate: Candidate | None = None
    ) -> ShownDocument:
        score = (
            raw.scores[raw.ids.index(raw.besides.get(id, id))]
            if raw and raw.scores and id in ranks and not several
            else None
        )
        grade = grades.get(id)
        if grade is None and suite.match == "text" and now.lacks_passages(id):
            grade = 0.0
        return ShownDocument(
            ranks.get(id),
            id,
            now.title(id),
            grade,
            id in relevant,
            score,
            old.get(id),
            share=raw.shares.get(id) if raw else None,
            loss=loss,
            in_answers=often.get(id, 0) if several else None,
            candidate=candidate,
        )

    def lost(id: str) -> ShownDocument:
        """One that is not in the shown ranking, with why."""
        return document(id, losses.of(query, id), now.candidate(query, id))

    most = min(max(SHOWN_RESULTS, suite.top_k), MOST_SHOWN)
    besides = [
        passage for passage in (raw.besides if raw else ()) if ranks.get(passage, most + 1) <= most
    ]
    then = now.baseline_run
    own, own_before = _results(run, query, most), _results(then, query, most)
    is_other = before[:most] != ids[:most] or (bool(before) and own != own_before)

    def was_there(id: str) -> ShownDocument:
        """A document of the baseline; a passage with the chunk that it stood in there."""
        found = lost(id) if id in relevant and id not in ranks else document(id)
        place = then.titles.get(id) if then and suite.reads_texts(query) else None
        return replace(found, title=place) if place else found

    undefined = (None,) * len(suite.measures)
    return QueryResult(
        id=query.id,
        text=query.text,
        line=query.place.line,
        file=query.place.path,
        values=now.scores.values.get(query.id, undefined),
        ranking=tuple(
            map(document, sorted(dict.fromkeys([*ids[:most], *besides]), key=ranks.__getitem__))
        ),
        missing=tuple(lost(id) for id in expected if ranks.get(id, most + 1) > most),
        returned=now.returned(query.id) or 0,
        returned_before=now.returned_before(query.id),
        expects_nothing=query.expects_nothing,
        fault=now.faults.get(query.id),
        before=now.scores_before.values[query.id] if is_compared else None,
        compared=now.scores_compared.values[query.id] if is_compared else None,
        ranking_before=tuple(map(was_there, before[:most])) if is_other else (),
        stages=now.stages(query),
        new=now.is_new(query),
        check=check,
        tags=query.tags,
        remarks=query.remarks,
        weight=query.weight,
        seconds=_seconds(run, query),
        seconds_before=_seconds(now.baseline_run, query) if now.baseline_run else None,
        answers=len(run.answers),
    )


def _results(run: Run | None, query: Query, most: int) -> Sequence[str]:
    """The first results of a query that looks for passages, by their own ids."""
    ranking = run.rankings.get(query.id) if run else None
    return ranking.own[:most] if ranking else ()


def _seconds(run: Run, query: Query) -> float | None:
    """How long a call took, the mean over a query's answers."""
    calls = [answer.rankings.get(query.id) for answer in run.answers]
    took = [call.seconds for call in calls if call is not None and call.seconds is not None]
    return fmean(took) if took else None
