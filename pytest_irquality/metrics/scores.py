"""The values of a run, and what they come to over many queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, fsum

from pytest_irquality.metrics.errors import MeasureError
from pytest_irquality.metrics.measure import Measure


@dataclass(frozen=True)
class Aggregate:
    """One value over ``n`` queries; ``undefined`` further ones had none.

    Without any, the value is None.
    """

    value: float | None
    n: int
    undefined: int


@dataclass(frozen=True)
class Scores:
    """Values of a run by query, in the order of ``measures``.

    None where the measure is undefined.
    """

    measures: tuple[Measure, ...]
    values: Mapping[str, tuple[float | None, ...]]

    @cached_property
    def columns(self) -> tuple[tuple[float | None, ...], ...]:
        """The values of each measure, over all queries."""
        return tuple(zip(*self.values.values(), strict=True)) or ((),) * len(self.measures)

    @cached_property
    def column_of(self) -> Mapping[Measure, int]:
        """The place of each measure in a row of values."""
        return {measure: place for place, measure in enumerate(self.measures)}

    def value(self, query: str, measure: Measure) -> float | None:
        """The value of one query by a measure; None where it is undefined."""
        return self.values[query][self.column_of[measure]]

    def aggregate(
        self,
        measure: Measure,
        queries: Iterable[str] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> Aggregate:
        """The value of many queries together: of all, or of those named.

        A weight that is not given is 1.
        """
        place = self.column_of[measure]
        column: Sequence[float | None] = self.columns[place]
        chosen = list(self.values if queries is None else queries)
        if queries is not None:
            column = [self.values[query][place] for query in chosen]
        if measure.weighted:
            return weighted_mean(column, [weight_of(query, weights or {}) for query in chosen])
        defined = [value for value in column if value is not None]
        value = together(measure.aggregate, defined)
        return Aggregate(value, len(defined), len(column) - len(defined))


def weighted_mean(column: Sequence[float | None], weights: Sequence[float]) -> Aggregate:
    """Σwx ÷ Σw; a query of weight 0 counts neither among the defined nor among the undefined."""
    products, divisors, undefined = [], [], 0
    for value, weight in zip(column, weights, strict=True):
        if weight and value is None:
            undefined += 1
        elif weight and value is not None:
            products.append(value * weight)
            divisors.append(weight)
    mean = fsum(products) / fsum(divisors) if divisors else None
    return Aggregate(mean, len(divisors), undefined)


def weight_of(query: str, weights: Mapping[str, float]) -> float:
    """The weight of a query, refused where a mean would lose its meaning."""
    weight = weights.get(query, 1)
    if not 0 <= weight < float("inf"):
        raise MeasureError(
            f"the weight of {query!r} is {weight}, but a weight is a number of 0 or more"
        )
    return weight


def together(aggregate: str, values: list[float]) -> float | None:
    """One value of many, as the measure asks: their mean, sum or nearest-rank percentile."""
    if not values:
        return None
    if aggregate == "mean":
        return fsum(values) / len(values)
    if aggregate == "sum":
        return fsum(values)
    percent = int(aggregate.removeprefix("p"))
    rank = ceil(percent * len(values) / 100)
    return sorted(values)[rank - 1]
