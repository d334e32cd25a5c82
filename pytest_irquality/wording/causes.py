"""The known causes of what got worse."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.facts import Fact
from pytest_irquality.verdict.renumbered import Renumbered
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.moves import name
from pytest_irquality.wording.notes import note, other_ids
from pytest_irquality.wording.numbers import few

CAUSES: tuple[type[Fact], ...] = (
    facts.Unanswered,
    Renumbered,
    facts.ReturnedNothing,
    facts.LeftIndex,
)
"""Facts that may be why search got worse, the most telling first."""


def known_causes(result: SuiteResult) -> Iterator[str]:
    """The known causes, the most telling first."""
    news = [fact for fact in result.facts if not as_before(fact)]
    for kind in CAUSES:
        yield from (note(fact, result) for fact in news if isinstance(fact, kind))


def risen(damage: Damage) -> Iterator[str]:
    """The documents that rose where search got worse, which may be why."""
    if damage.risen:
        rose = [f"{name(document)} in {times}" for document, times in damage.risen]
        yield f"rose in several queries that got worse: {few(rose)}"


def renumbered(result: SuiteResult) -> str:
    """The headline where documents seem to have other ids; "" where they do not."""
    found = (fact for fact in result.facts if isinstance(fact, Renumbered))
    return next((f"D{other_ids(fact)[1:]}" for fact in found), "")


def as_before(fact: Fact) -> bool:
    """Tell whether a fact is of queries that return nothing, as they did in the baseline."""
    return isinstance(fact, facts.ReturnedNothing) and bool(fact.compared) and not fact.newly
