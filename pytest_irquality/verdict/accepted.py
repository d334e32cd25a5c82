"""Drops that a change accepts in the open: its own committed baseline says that they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_irquality.retrieval.run import Run
from pytest_irquality.verdict import facts, guards
from pytest_irquality.verdict.facts import Finding, RankedDocument
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.statistics import EQUAL

ON_BASELINE = ("max_drop", "max_rise", "max_significant_drop", *guards.GUARDS)
NAMED = 5  # queries that are told with their documents


@dataclass(frozen=True)
class Accepting:
    """The baseline that HEAD commits, where it is another than that of the merge base.

    ``lacks`` is why nothing can be compared with the merge base's. ``refused``: the project has a
    drop accepted by nobody but who merges it (``ir_accepted = fail``).
    """

    run: Run
    lacks: str = ""
    refused: bool = False


def may_be_accepted(finding: Finding, compares: frozenset[str]) -> bool:
    """Whether a finding is on a change. ``compares`` are the measures that read the baseline's
    ranking.
    """
    return finding.kind in ON_BASELINE or finding.measure in compares


def judged_with(now: Measured, committed: Run) -> Run:
    """The merge base's rankings, with those that are committed anew where today's are just these.

    Where the merge base cannot be compared with at all, or not as deep, all of the committed ones.
    """
    base = now.baseline_run
    shallow = base and base.depth and committed.depth and base.depth < committed.depth
    if base is None or shallow or not base.rankings:
        return committed
    anew = {id: committed.rankings[id] for id in as_committed(now, committed)}
    other = {id: kept for id, kept in committed.rankings.items() if id not in base.rankings}
    candidates = base.candidates
    if now.candidates and committed.candidates:
        candidates = judged_with(now.candidates, committed.candidates)
    return replace(
        base, rankings={**other, **base.rankings, **anew}, again=(), candidates=candidates
    )


def as_committed(now: Measured, committed: Run) -> Sequence[str]:
    """The queries that return what HEAD committed for them, ties aside, in the suite's order.

    Of several answers none is like another: there a query counts whose values are not lower than
    the committed ones by more than its own answers differ.
    """
    beside = replace(now, baseline_run=committed)
    if not now.run.again and not committed.again:
        return [id for id in beside.before if id not in beside.moved]
    return [id for id in beside.before if id not in beside.moved or _within_noise(beside, id)]


def _within_noise(beside: Measured, id: str) -> bool:
    sides = [[answer.scores_compared.values.get(id, ()) for answer in beside.answers]]
    sides.append([answer.scores_before.values.get(id, ()) for answer in beside.answers])
    for place, measure in enumerate(beside.suite.measures):
        today, then = ([row[place] for row in rows if row] for rows in sides)
        values = [value for value in today if value is not None]
        kept = [value for value in then if value is not None]
        if not measure.definition.needs or not values or not kept:
            continue
        drop = sum(kept) / len(kept) - sum(values) / len(values)
        if (
            drop * (-1 if measure.higher_is_better is False else 1)
            > max(values) - min(values) + EQUAL
        ):
            return False
    return True


def acceptance(now: Measured, accepting: Accepting, source: str) -> facts.Accepted:
    """What is accepted: the queries that were committed with another ranking, the documents that
    moved in the first.
    """
    base = now.baseline_run.rankings if now.baseline_run else {}
    beside = Measured(now.suite, now.run, now.baseline_run)
    queries = tuple(
        id for id in as_committed(now, accepting.run) if id not in base or id in beside.moved
    )
    moved = tuple((id, tuple(_moved(beside, id))) for id in queries[:NAMED] if id in base)
    return facts.Accepted(source, queries, moved, accepting.lacks, accepting.refused)


def _moved(beside: Measured, id: str) -> Iterator[RankedDocument]:
    """The documents that people judged relevant and that stand elsewhere now, or else the first
    that do.
    """
    then, now = (
        {document: rank for rank, document in enumerate(ranking, 1)}
        for ranking in (beside.before[id], beside.aligned[id])
    )
    relevant = beside.suite.by_id[id].judgments.relevant
    elsewhere = [document for document in [*then, *now] if then.get(document) != now.get(document)]
    shown = [document for document in elsewhere if document in relevant] or elsewhere
    for document in list(dict.fromkeys(shown))[:3]:
        yield RankedDocument(
            document, now.get(document), then.get(document), title=beside.title(document)
        )
