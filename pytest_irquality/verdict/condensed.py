"""Rankings without the documents that nobody judged, to see whether the verdict would be
another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import compress, count
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
    known: dict[str, set[str]] = {}
    for answer in before.answers if before else ():
        for id, ranking in answer.rankings.items():
            today = measured.run.rankings.get(id)
            if today is not None and today.ids == ranking.ids and not measured.several:
                unchanged.add(id)  # nothing came
            else:
                known.setdefault(id, set()).update(ranking.ids)
    answers = [
        _without_unjudged(suite, answer, known, unchanged) for answer in measured.run.answers
    ]
    if all(map(is_, answers, measured.run.answers)):
        return None
    return replace(measured, run=replace(answers[0], again=tuple(answers[1:])))


def _judges_both(suite: Suite) -> bool:
    """Whether any document was judged to be not relevant."""
    return any(
        len(query.judgments.relevant) < len(query.judgments.grades) for query in suite.queries
    )


def _without_unjudged(
    suite: Suite, run: Run, known: Mapping[str, Collection[str]], unchanged: Collection[str]
) -> Run:
    rankings = {}
    changed = False
    for id, ranking in run.rankings.items():
        reads_texts = id in suite.by_id and suite.reads_texts(suite.by_id[id])
        if reads_texts or id in unchanged:
            rankings[id] = ranking  # whoever lists passages judges no results
            continue
        kept_ids = {*known.get(id, ())}
        if id in suite.by_id:
            kept_ids.update(suite.by_id[id].judgments.grades)
        kept = [*compress(count(), map(kept_ids.__contains__, ranking.ids))]
        changed |= len(kept) < len(ranking.ids)
        scores = None if ranking.scores is None else tuple(ranking.scores[place] for place in kept)
        rankings[id] = Ranking(tuple(ranking.ids[place] for place in kept), scores, ranking.seconds)
    return replace(run, rankings=rankings) if changed else run
