"""Rankings without the documents that nobody judged, to see whether the verdict would be another."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress, count

from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.measured import Measured


def condensed(measured: Measured) -> Measured | None:
    """Both sides without their unjudged documents; None where every document has a grade, or none could have."""
    suite = measured.suite
    if all(map(suite.reads_texts, suite.queries)):
        return None
    now = _judged_only(suite, measured.run)
    before = _judged_only(suite, measured.baseline_run) if measured.baseline_run else None
    if now is measured.run and before is measured.baseline_run:
        return None
    return Measured(suite, now, before)


def _judged_only(suite: Suite, run: Run) -> Run:
    rankings = {}
    changed = False
    for id, ranking in run.rankings.items():
        if id in suite.by_id and suite.reads_texts(suite.by_id[id]):
            rankings[id] = ranking  # whoever lists passages judges no results
            continue
        grades = suite.by_id[id].judgments.grades if id in suite.by_id else {}
        kept = [*compress(count(), map(grades.__contains__, ranking.ids))]
        changed |= len(kept) < len(ranking.ids)
        scores = None if ranking.scores is None else tuple(ranking.scores[place] for place in kept)
        rankings[id] = Ranking(tuple(ranking.ids[place] for place in kept), scores, ranking.seconds)
    return replace(run, rankings=rankings) if changed else run
