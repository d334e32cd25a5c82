"""Rankings without the documents that nobody judged, to see whether the verdict would be
another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import is_

from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.measured import Measured


def condensed(measured: Measured) -> Measured | None:
    """Today's side without the unjudged documents that came since the baseline; None where none
    came, or could have.

    Without a baseline all unjudged documents are left out, which tells something only where
    documents that are not relevant were judged, too.
    """
    suite, before = measured.suite, measured.baseline_run
    if all(map(suite.reads_texts, suite.queries)) or (before is None and not _judges_both(suite)):
        return None
    unchanged: set[str] = set()
    known: dict[str, list[Sequence[str]]] = {}
    for answer in before.answers if before else ():
        for id, ranking in answer.rankings.items():
            today = measured.run.rankings.get(id)
            if today is not None and today.ids == ranking.ids and not measured.several:
                unchanged.add(id)  # nothing came
            else:
                known.setdefault(id, []).append(ranking.ids)
    answers = [
        _without_unjudged(suite, answer, known, unchanged) for answer in measured.run.answers
    ]
    if all(map(is_, answers, measured.run.answers)):
        return None
    run = replace(answers[0], again=tuple(answers[1:]))
    return replace(measured, run=run, like=None if measured.several else measured)


def _judges_both(suite: Suite) -> bool:
    """Whether any document was judged to be not relevant."""
    return any(
        len(query.judgments.relevant) < len(query.judgments.grades) for query in suite.queries
    )


def _without_unjudged(
    suite: Suite, run: Run, known: Mapping[str, Sequence[Sequence[str]]], unchanged: Collection[str]
) -> Run:
    fewer = {}
    for id, ranking in run.rankings.items():
        query = suite.by_id.get(id)
        if id in unchanged or (query and suite.reads_texts(query)):
            continue  # whoever lists passages judges no results
        judged = query.judgments.grades if query else ()
        unjudged = {*ranking.ids}.difference(judged, *known.get(id, ()))
        if unjudged:
            kept = [document not in unjudged for document in ranking.ids]
            scores = ranking.scores and tuple(compress(ranking.scores, kept))
            fewer[id] = Ranking(tuple(compress(ranking.ids, kept)), scores, ranking.seconds)
    return replace(run, rankings={**run.rankings, **fewer}) if fewer else run
