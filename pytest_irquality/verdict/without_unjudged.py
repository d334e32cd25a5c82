"""Today's rankings without the documents that nobody judged.

They show whether the verdict would be another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from operator import is_

from pytest_irquality.retrieval.run import Answer, Ranking, Run
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.sides import Sides


def without_unjudged(sides: Sides, queries: Iterable[str]) -> Run | None:
    """Today's run without unjudged documents that came to some queries (ids) since the baseline.

    None where none came, or could have. Whoever lists passages judges no results.
    """
    suite = sides.suite
    by_ids = [] if suite.by_text else [*queries]
    known = sides.baseline_run.answers if sides.baseline_run else ()
    answers = tuple(_only_judged(suite, answer, by_ids, known) for answer in sides.run.answers)
    if all(map(is_, answers, sides.run.answers)):
        return None
    return replace(sides.run, answers=answers)


def _only_judged(
    suite: Suite, answer: Answer, queries: Iterable[str], before: Iterable[Answer]
) -> Answer:
    """The answer without what is neither judged nor was known before; itself where that is all."""
    fewer = {}
    for id in queries:
        known = [one.rankings[id].ids for one in before if id in one.rankings]
        ranking = answer.rankings.get(id)
        if ranking is None or ranking.ids in known:
            continue
        unjudged = {*ranking.ids}.difference(suite.by_id[id].judgments.grades, *known)
        if unjudged:
            fewer[id] = _without(ranking, unjudged)
    return replace(answer, rankings={**answer.rankings, **fewer}) if fewer else answer


def _without(ranking: Ranking, documents: Collection[str]) -> Ranking:
    return ranking.at([n for n, id in enumerate(ranking.ids) if id not in documents])
