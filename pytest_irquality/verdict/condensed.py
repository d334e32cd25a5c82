"""Rankings without the documents that nobody judged, to see whether the verdict would be
another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import is_

from pytest_irquality.retrieval.run import Answer, Ranking
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.measured import Measured


def condensed(measured: Measured, queries: Collection[str]) -> Measured | None:
    """Today's side without the unjudged documents that came to some queries since the baseline;
    None where none came, or could have.

    Without a baseline all unjudged documents are left out, which tells something only where
    documents that are not relevant were judged, too.
    """
    suite, before = measured.suite, measured.baseline_run
    if all(map(suite.reads_texts, suite.queries)) or (before is None and not _judges_both(suite)):
        return None
    known: dict[str, list[Sequence[str]]] = {id: [] for id in queries}
    for answer in before.answers if before else ():
        for id in queries:
            ranking, today = answer.rankings.get(id), measured.run.first.rankings.get(id)
            if ranking and today and today.ids == ranking.ids and not measured.several:
                known.pop(id, None)  # nothing came
            elif ranking:
                known[id].append(ranking.ids)
    answers = [_without_unjudged(suite, answer, known) for answer in measured.run.answers]
    if all(map(is_, answers, measured.run.answers)):
        return None
    return replace(measured, run=replace(measured.run, answers=tuple(answers)))


def _judges_both(suite: Suite) -> bool:
    """Whether any document was judged to be not relevant."""
    return any(
        len(query.judgments.relevant) < len(query.judgments.grades) for query in suite.queries
    )


def _without_unjudged(
    suite: Suite, answer: Answer, known: Mapping[str, Sequence[Sequence[str]]]
) -> Answer:
    fewer = {}
    for id, before in known.items():
        query, ranking = suite.by_id[id], answer.rankings.get(id)
        if ranking is None or suite.reads_texts(query):
            continue  # whoever lists passages judges no results
        unjudged = {*ranking.ids}.difference(query.judgments.grades, *before)
        if unjudged:
            kept = [document not in unjudged for document in ranking.ids]
            scores = ranking.scores and tuple(compress(ranking.scores, kept))
            fewer[id] = Ranking(tuple(compress(ranking.ids, kept)), scores, ranking.seconds)
    return replace(answer, rankings={**answer.rankings, **fewer}) if fewer else answer
