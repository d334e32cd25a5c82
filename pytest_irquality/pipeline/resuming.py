"""Going on with a kept run: what of it still answers today's queries, so that only the rest is
asked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pytest_irquality.edges.open import Allowed
from pytest_irquality.metrics.measure import CANDIDATES
from pytest_irquality.retrieval.run import Run
from pytest_irquality.storage.jsonl import read_run
from pytest_irquality.storage.stored import StoredRun, StoredRunError
from pytest_irquality.suite.model import Suite
from pytest_irquality.wording.words import revision


def kept_so_far(path: Path, shown: str, allowed: Allowed) -> StoredRun | None:
    """The run that an earlier job left in its file; None where there is none.

    Raises ``StoredRunError`` where the file is damaged.
    """
    try:
        return read_run(path, shown, allowed)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoredRunError(f"{shown}: cannot be read: {error.strerror or error}") from None


def refuse_other_code(
    stored: StoredRun, shown: str, commit: str | None, version: str | None
) -> None:
    """Raise ``StoredRunError`` where other code or another retriever gave the kept answers."""
    then = stored.header
    for what, before, now in (
        ("commit", then.commit and revision(then.commit), commit and revision(commit)),
        ("version of the retriever", then.version, version),
    ):
        if before and now and before != now:
            raise StoredRunError(
                f"{shown}: --ir-resume would join answers of two kinds: the {what} was {before},"
                f" and is {now}; name another folder, or leave --ir-resume out"
            )


def still_valid(
    stored: StoredRun, suite: Suite, needed: Collection[str], *, staged: bool
) -> Run | None:
    """What was kept of the needed queries and is all that would be asked of them; None where that
    is nothing.

    A query is asked again where it failed, has other words or params by now, or lacks an answer, a
    variant, a text or its candidates (``staged``: the retriever tells them).
    """
    if stored.header.depth < suite.depth or stored.lacks_texts(suite):
        return None
    if staged and (stored.header.candidates or 0) < suite.depth_of(CANDIDATES):
        return None
    run = stored.run(suite)
    same = stored.matching(suite).same
    stage = run.stages.get(CANDIDATES) if staged else None
    of_variants = run.variants.answered if run.variants else ()
    whole = {
        id
        for id in needed
        if id in run.answered
        and 1 + len(stored.queries[same[id]].answers) == suite.repeat
        and (not stage or id in stage.answered)
        and (id not in suite.readers or stored.queries[same[id]].knows_texts)
    }
    whole -= {variant.of for variant in suite.reworded if variant.id not in of_variants}
    if not whole:
        return None
    variants = {variant.id for variant in suite.reworded if variant.of in whole}
    return replace(
        run.only(whole),
        scored={},
        variants=run.variants and replace(run.variants.only(variants), scored={}),
        stages={CANDIDATES: stage.only(whole)} if stage else {},
    )


def with_others(new: StoredRun, old: StoredRun | None) -> StoredRun:
    """A run to be kept, with the lines of an earlier one for queries that were not asked now."""
    if old is None:
        return new
    return replace(new, queries={**old.queries, **new.queries})
