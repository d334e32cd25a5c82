"""The queries and tags that lost most, in words."""

from __future__ import annotations

from typing import NamedTuple

from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.result import QueryResult
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.moves import left_the_top, moves, shortcomings
from pytest_irquality.wording.numbers import apart, digits_apart, few, figure, signed, times


class Worse(NamedTuple):
    """A query that lost: by how much in words, from what to what, and which documents moved."""

    query: QueryResult
    change: float
    lost: str
    values: str
    moves: str
    moves_of_ids: str


def low(damage: Damage, query: QueryResult) -> Worse:
    """A query's value where nothing is compared, and what keeps it low.

    Where nobody said what is relevant that is what left the top.
    """
    value = query.values[damage.column or 0] or 0.0
    words = figure(value, damage.result.unit(damage.measure))
    moved = "" if any(one.grade is not None for one in query.ranking) else left_the_top(query)
    long, short = (shortcomings(query, titled=titled) or moved for titled in (True, False))
    return Worse(query, value - 1, words, "", long, short)


def worsened(damage: Damage, query: QueryResult) -> Worse:
    """The loss of one query, and the documents that moved."""
    sides = query.sides(damage.column) or (0.0, 0.0)
    unit = damage.result.unit(damage.measure)
    change = sides[1] - sides[0]
    before, now = apart(*sides, unit)
    lost = f"{signed(change, unit, digits_apart(*sides, unit))}{times(damage.weight(query))}"
    short = moves(query, titled=False)
    return Worse(query, change, lost, f"{before} → {now}", moves(query), short)


def worst_tags(damage: Damage) -> str:
    """The tags that lost most."""
    measure, sign = damage.measure, damage.sign
    lost = []
    for mean in damage.result.means:
        if mean.tag is not None and mean.measure == measure and mean.change:
            difference = mean.change.difference
            if sign * difference < -EQUAL:
                lost.append((sign * difference, f"{mean.tag} {signed(difference, mean.unit)}"))
    return few([words for _, words in sorted(lost)])
