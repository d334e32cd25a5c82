"""One measure as a suite names it: a family with its cutoff and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_irquality.metrics.definition import (
    BUDGETS,
    Aggregation,
    Compute,
    Definition,
    Unit,
    Value,
)
from pytest_irquality.metrics.judgments import Judgments

WEIGHTED = "weighted"
"""The word before a measure whose mean is over weights of queries."""
CANDIDATES = "candidates"
"""The word before a measure of a stage before the ranking; the name of a stage that has none."""


@dataclass(frozen=True)
class Measure:
    """Immutable and hashable; `str()` is its one canonical name."""

    definition: Definition
    k: int | None = None
    # Those that differ from their defaults, in the definition's order.
    parameters: tuple[tuple[str, Value], ...] = ()
    weighted: bool = False
    stage: str = ""  # the name of what it is taken of, where that is not the ranking

    def __str__(self) -> str:
        name = self.definition.name
        if self.parameters:
            inside = ",".join(f"{name}={written(value)}" for name, value in self.parameters)
            name = f"{name}({inside})"
        if self.k is not None:
            name = f"{name}@{self.k}"
        words = [WEIGHTED if self.weighted else "", of_stage(self.stage), name]
        return " ".join(filter(None, words))

    @property
    def higher_is_better(self) -> bool:
        """True where higher values are better, and not lower ones."""
        return self.definition.higher_is_better

    @property
    def sign(self) -> float:
        """-1 where less is better, else 1."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest possible value."""
        return self.definition.range

    @property
    def needs_relevant(self) -> bool:
        """True where it is undefined for a query without a relevant document."""
        return bool(self.definition.needs)

    @property
    def is_of_relevance(self) -> bool:
        """True where it is the higher the better rankings are; no stage before them."""
        return self.needs_relevant and self.higher_is_better and not self.stage

    @property
    def is_mean_of_relevance(self) -> bool:
        """True where it is a plain mean of relevance, from 0 to 1."""
        plain = not self.weighted and self.aggregate == "mean"
        return plain and self.is_of_relevance and self.range == (0, 1)

    @property
    def aggregate(self) -> Aggregation:
        """The way in which the values of many queries become one."""
        return self.definition.aggregate

    @property
    def unit(self) -> Unit:
        """The unit of its values, if they count anything."""
        return self.definition.unit

    @property
    def rel(self) -> float | None:
        """The lowest relevant grade, where the name overrides the suite's."""
        value = dict(self.parameters).get("rel")
        return None if value is None else float(value)

    @property
    def budget(self) -> tuple[str, float] | None:
        """The words or tokens that the results may have, where that is its cutoff."""
        given = dict(self.parameters)
        found = (each.name for each in BUDGETS if each.name in given)
        return next(((name, float(given[name])) for name in found), None)

    @property
    def counts(self) -> str:
        """The number of each result that it reads: "words", "tokens", or ""."""
        return self.budget[0] if self.budget else ""

    def at(self, k: int) -> Measure:
        """The measure at a cutoff, in place of its budget."""
        names = [each.name for each in BUDGETS]
        rest = tuple(pair for pair in self.parameters if pair[0] not in names)
        return replace(self, k=k, parameters=rest)

    @property
    def settings(self) -> Mapping[str, Value]:
        """Every parameter that its formula takes, defaults included."""
        parameters = self.definition.parameters
        settings = {each.name: each.default for each in parameters if each.default is not None}
        settings.update(self.parameters)
        for name in ("rel", *(each.name for each in BUDGETS)):
            settings.pop(name, None)
        return settings

    @property
    def top_grade(self) -> float:
        """The highest grade that its formula can take."""
        limit = self.definition.top_grade
        return float("inf") if limit is None else limit(**self.settings)

    def depth(self, relevant_count: int) -> int | None:
        """The number of results that a ranking must have for it; None: all that was returned."""
        reaches = {
            "cutoff": self.k,
            "relevant": relevant_count,
            "all": None,
            "first": 1,
            "nothing": 0,
        }
        return reaches[self.definition.reach]

    def defined_for(self, judgments: Judgments) -> bool:
        """Tell whether the judgments allow it.

        A graded measure needs a positive grade, a binary one a relevant document.
        """
        if self.definition.needs == "relevant":
            return bool(self.judged_at(judgments).relevant)
        return self.definition.needs == "" or bool(judgments.gains)

    def judged_at(self, judgments: Judgments) -> Judgments:
        """The judgments as this measure reads them."""
        return judgments if self.rel is None else judgments.at(self.rel)

    def compute(self) -> Compute:
        """The function that scores a run, its constants worked out.

        What reads more than rankings has no value here.
        """
        if self.budget:
            return lambda hits: [None] * len(hits.queries)
        cutoff = {"k": self.k} if self.definition.takes_cutoff else {}
        return self.definition.make(**cutoff, **self.settings)


def of_stage(stage: str) -> str:
    """The words for a stage before a measure: `candidates`, or `dense candidates`."""
    return f"{stage} {CANDIDATES}" if stage and stage != CANDIDATES else stage


def written(value: Value) -> str:
    """A parameter's value as a name shows it: `2`, not `2.0`."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
