"""Documents that seem to have other ids now: the same titles or texts at nearly the same ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from pytest_irquality.retrieval.run import Answer
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.sides import Ids, Sides

NEAR = 2  # ranks that a counterpart may stand apart
MOST = 0.5  # the share of the baseline's documents that have a counterpart, at the least


@dataclass(frozen=True)
class Renumbered(Fact):
    """So many ``documents`` of the baseline, of ``total``, seem to have another id now.

    ``before`` and ``now`` are the ids of the first.
    """

    before: str
    now: str
    documents: int
    total: int


def renumbered(sides: Sides) -> Iterator[Renumbered]:
    """The fact that documents have other ids, where most have a counterpart and none its id."""
    by_id = [] if sides.suite.by_text else [*sides.before]
    if any(not {*sides.before[id]}.isdisjoint(sides.rankings[id]) for id in by_id):
        return
    documents = {*chain.from_iterable(sides.before[id] for id in by_id)}
    if sides.baseline_run is None or not documents:
        return
    then, today = sides.baseline_run.first, sides.run.first
    counterparts: dict[str, str] = {}
    for id in by_id:
        counterparts.update(_counterparts(sides.before[id], then, sides.rankings[id], today))
    if len(counterparts) > MOST * len(documents):
        before, now = next(iter(counterparts.items()))
        yield Renumbered(before, now, len(counterparts), len(documents))


def _counterparts(before: Ids, then: Answer, now: Ids, today: Answer) -> Mapping[str, str]:
    """The document of today that each of the baseline's seems to be."""
    at = {_look(document, today): (rank, document) for rank, document in enumerate(now)}
    found = {}
    for rank, document in enumerate(before):
        look = _look(document, then)
        if look and look in at and abs(at[look][0] - rank) <= NEAR:
            found[document] = at[look][1]
    return found


def _look(document: str, answer: Answer) -> str:
    """The title or the text of a document, by which it can be told under another id."""
    title = answer.titles.get(document)
    return (title if title != document else None) or answer.texts.get(document) or ""
