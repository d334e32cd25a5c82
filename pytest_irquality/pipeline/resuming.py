"""Going on with a kept run, so that only those queries are asked which it lacks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.stored import StoredQuery, StoredRunError
from pytest_irquality.suite.model import Suite
from pytest_irquality.wording.words import revision


def resumed(
    found: Found, needed: Collection[str], commit: str | None, version: str | None, *, staged: bool
) -> Run | None:
    """Give the kept answers to those ``needed`` queries of which nothing more would be asked.

    None where there are none. A query is asked again where it failed, has other words or params by
    now, or lacks an answer, a variant, a text or its candidates (``staged``: the retriever tells
    them). ``commit`` and ``version`` are those of today's code and retriever. Raises
    ``StoredRunError`` where others gave the kept answers.
    """
    suite, stored = found.target.suite, found.stored
    if stored is None:
        return None
    _refuse_other_code(found, commit, version)
    if stored.lacks(suite, staged=staged):
        return None
    run = found.run
    assert run is not None
    stages = {CANDIDATES: run.stages[CANDIDATES]} if staged else {}
    run = replace(run, scored={}, stages=stages)
    whole = _whole(found, run).intersection(needed)
    variants = run.variants
    if variants:
        worded = {variant.id for variant in suite.reworded if variant.of in whole}
        variants = replace(variants.only(worded), scored={})
    return replace(run.only(whole), variants=variants) if whole else None


def _whole(found: Found, run: Run) -> set[str]:
    """Give the queries that have everything that would be asked for."""
    assert found.stored is not None
    suite, lines = found.target.suite, found.stored.queries
    same = found.matching.same.items()
    whole = {id for id, stored in same if _is_whole(lines[stored], id, suite)}
    for stage in run.stages.values():
        whole &= stage.answered
    variants = run.variants.answered if run.variants else ()
    return whole - {variant.of for variant in suite.reworded if variant.id not in variants}


def _is_whole(line: StoredQuery, id: str, suite: Suite) -> bool:
    """Tell whether a line has every answer that would be asked for, with its texts."""
    has_texts = id not in suite.readers or line.knows_texts
    return line.ranking is not None and len(line.every_answer) == suite.repeat and has_texts


def _refuse_other_code(found: Found, commit: str | None, version: str | None) -> None:
    assert found.stored is not None
    then = found.stored.header
    for what, before, now in (
        ("commit", then.commit and revision(then.commit), commit and revision(commit)),
        ("version of the retriever", then.version, version),
    ):
        if before and now and before != now:
            raise StoredRunError(
                f"{found.source}: --ir-resume would join answers of two kinds: the {what} was"
                f" {before}, and is {now}; name another folder, or leave --ir-resume out"
            )
