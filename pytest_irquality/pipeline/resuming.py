"""Going on with a kept run, so that only those queries are asked which it lacks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.found import Found
from pytest_irquality.storage.stored import StoredQuery, StoredRunError
from pytest_irquality.suite.model import Suite


def resumed(
    found: Found, needed: Collection[str], code: str | None, version: str | None, *, staged: bool
) -> Run | None:
    """Give the kept answers to those ``needed`` queries of which nothing more would be asked.

    None where there are none. A query is asked again where it failed, has other words or params by
    now, or lacks an answer, a variant, a text or a stage (``staged``: the retriever tells
    them). ``code`` and ``version`` are those of today's code and retriever. Raises
    ``StoredRunError`` where others gave the kept answers.
    """
    suite, stored = found.target.suite, found.stored
    if stored is None:
        return None
    _refuse_other_code(found, code, version)
    if stored.lacks(suite, staged=staged):
        return None
    run = found.run
    assert run is not None
    run = replace(run, stages=run.stages if staged else {})
    whole = _whole(found, run, staged=staged).intersection(needed)
    variants = run.variants
    if variants:
        worded = {variant.id for variant in suite.reworded if variant.of in whole}
        variants = variants.only(worded)
    return replace(run.only(whole), variants=variants) if whole else None


def _whole(found: Found, run: Run, *, staged: bool) -> set[str]:
    """Give the queries that have everything that would be asked for."""
    assert found.stored is not None
    suite, lines = found.target.suite, found.stored.queries
    if staged and not _has_stages(run, suite):
        return set()
    same = found.matching.same.items()
    whole = {id for id, stored in same if _is_whole(lines[stored], suite)}
    for stage in run.stages.values():
        whole &= stage.answered
    variants = run.variants.answered if run.variants else ()
    return whole - {variant.of for variant in suite.reworded if variant.id not in variants}


def _has_stages(run: Run, suite: Suite) -> bool:
    """Tell whether a run has any stage, and those that the suite measures."""
    return bool(run.stages) and run.stages.keys() >= suite.stages


def _is_whole(line: StoredQuery, suite: Suite) -> bool:
    """Tell whether a line has every answer that would be asked for, with its texts."""
    has_texts = not suite.by_text or line.knows_texts
    return line.ranking is not None and len(line.every_answer) == suite.repeat and has_texts


def _refuse_other_code(found: Found, code: str | None, version: str | None) -> None:
    assert found.stored is not None
    then = found.stored.header
    if code is None or then.code is None:
        raise StoredRunError(
            f"{found.source}: resume cannot know whether the kept answers are those of this"
            " code, for the project is in no git checkout: name another folder, or leave it out"
        )
    for what, before, now in (
        ("code", then.code, code),
        ("version of the retriever", then.version, version),
    ):
        if before != now:
            raise StoredRunError(
                f"{found.source}: resume would join answers of two kinds: the {what} was"
                f" {before}, and is {now}; name another folder, or leave resume out"
            )
