"""A family of measures: what it computes, and all that a page about it must say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_irquality.metrics.hits import Hits

Value = float | str
Compute = Callable[[Hits], Sequence["float | None"]]
Aggregation = Literal["mean", "sum", "p50", "p95"]
Unit = Literal["", "count", "seconds"]


@dataclass(frozen=True)
class Parameter:
    """A parameter in a name's parentheses: a choice of words, or a number within bounds.

    A number lies above 0 and below ``high``.
    """

    name: str
    default: Value | None  # None: the suite decides (`rel`)
    meaning: str
    choices: tuple[str, ...] = ()
    high: float = float("inf")
    # Printed in the name even at its default, because tools differ in theirs.
    always_shown: bool = False


@dataclass(frozen=True, eq=False)
class Definition:
    """One family of measures.

    ``make`` is given the cutoff and parameters, and returns the function that scores each query of
    a run.
    """

    name: str
    title: str
    formula: str
    source: str
    make: Callable[..., Compute]
    undefined: str = "for a query without a relevant document"
    differs: str = ""
    aliases: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    takes_cutoff: bool = True  # whether `@k` belongs to the name
    needs: Literal["relevant", "gain", ""] = "relevant"
    reach: Literal["cutoff", "relevant", "all", "first", "nothing"] = "cutoff"
    range: tuple[float, float] = (0, 1)
    higher_is_better: bool = True
    aggregate: Aggregation = "mean"
    unit: Unit = ""
    compares: bool = False  # whether it reads the baseline's ranking, and is undefined without one
    # The highest grade that the formula can take, given the parameters.
    top_grade: Callable[..., float] | None = None

    @property
    def takes_budget(self) -> bool:
        """True where a budget of words or tokens may stand in place of its cutoff."""
        is_of_relevance = self.takes_cutoff and self.reach == "cutoff" and self.needs != ""
        return is_of_relevance and self.higher_is_better

    @property
    def usual_name(self) -> str:
        """The name as it is most often written, with what belongs behind the ``@``."""
        return f"{self.name}@10" if self.takes_cutoff else self.name


BUDGETS = (
    Parameter("tokens", None, "whole results that fit into so many tokens, in place of a cutoff"),
    Parameter("words", None, "whole results that fit into so many words, in place of a cutoff"),
)
REL = Parameter(
    "rel", None, "lowest grade that counts as relevant; the suite's `relevant_from` unless written"
)
