"""Definitions of metrics, and metrics as suites name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pytest_irquality.io import dataclass, replace
from pytest_irquality.metrics.judgments import JudgedRankings, Judgments

Value = float | str
ScoreFunction = Callable[[JudgedRankings], Sequence[float | None]]
Aggregation = Literal["mean", "sum", "p50", "p95"]
Unit = Literal["", "count", "seconds"]

SHOWN_DIGITS = 3

WEIGHTED = "weighted"
CANDIDATES = "candidates"


@dataclass(frozen=True)
class Parameter:
    """A parameter in the parentheses of a name: one of several words, or a number above 0.

    Attributes:
        default: The value if the name gives none, or ``None`` if the suite decides.
        meaning: What the parameter does, for the documentation.
        choices: The allowed words. Without any, the parameter is a number.
    """

    name: str
    default: Value | None
    meaning: str
    choices: tuple[str, ...] = ()


RELEVANT_FROM = Parameter(
    "rel", None, "lowest grade that counts as relevant; the suite's `relevant_from` by default"
)
BUDGETS = (
    Parameter("tokens", None, "results that fit into this many tokens, in place of a cutoff"),
    Parameter("words", None, "results that fit into this many words, in place of a cutoff"),
)


@dataclass(frozen=True, eq=False)
class Definition:
    """One family of metrics: how it is computed, and what its documentation says.

    Attributes:
        name: The name in suites, without cutoff and parameters.
        title: The name in the documentation.
        formula: The definition in one line.
        source: The paper or program that defines the metric.
        make: Receives ``cutoff`` (unless ``has_cutoff`` is false) and the parameters, and returns
            the function that scores a batch of rankings.
        undefined: The queries for which the metric has no value.
        differences: How other tools differ.
        aliases: Other names, as other tools write them.
        has_cutoff: Whether ``@k`` belongs to the name.
        needs: What a query must have: a relevant document, a document with a gain, or neither.
        reach: The results that the metric reads: down to the cutoff or to the number of relevant
            documents, all, only the first, or none.
        range: The lowest and the highest value.
        compares: Whether the metric compares the ranking with one of the baseline.
        is_own: Whether the metric comes from a user's project.
    """

    name: str
    title: str
    formula: str
    source: str
    make: Callable[..., ScoreFunction]
    undefined: str = "for a query without a relevant document"
    differences: str = ""
    aliases: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    has_cutoff: bool = True
    needs: Literal["relevant", "gain", ""] = "relevant"
    reach: Literal["cutoff", "relevant", "all", "first", "nothing"] = "cutoff"
    range: tuple[float, float] = (0, 1)
    higher_is_better: bool = True
    aggregate: Aggregation = "mean"
    unit: Unit = ""
    compares: bool = False
    is_own: bool = False

    @property
    def allowed_parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters that a name may give, budgets included."""
        reads_top = self.has_cutoff and self.reach == "cutoff" and bool(self.needs)
        has_budget = reads_top and self.higher_is_better
        return self.parameters + (BUDGETS if has_budget else ())

    @property
    def usual_name(self) -> str:
        """Return the most common form of the name, such as ``ndcg@10``."""
        return f"{self.name}@10" if self.has_cutoff else self.name


@dataclass(frozen=True)
class Metric:
    """A metric as a suite names it. ``str()`` returns its canonical name.

    Attributes:
        cutoff: The last rank that counts, or ``None`` without one.
        parameters: The parameters that the canonical name shows, in the order of the definition.
        is_weighted: Whether the mean over queries uses their weights.
        stage: The stage of the retriever that is scored, or empty for the final ranking.
    """

    definition: Definition
    cutoff: int | None = None
    parameters: tuple[tuple[str, Value], ...] = ()
    is_weighted: bool = False
    stage: str = ""

    def __str__(self) -> str:
        # Equal metrics must have equal names, because reports and baselines store values by name.
        words = [WEIGHTED] if self.is_weighted else []
        if self.stage:
            words.append(self.stage)
        if self.stage not in ("", CANDIDATES):
            words.append(CANDIDATES)
        name = self.definition.name
        if self.parameters:
            settings = ",".join(f"{key}={_format_value(value)}" for key, value in self.parameters)
            name += f"({settings})"
        if self.cutoff is not None:
            name += f"@{self.cutoff}"
        return " ".join([*words, name])

    @property
    def higher_is_better(self) -> bool:
        """Return whether a higher value is better."""
        return self.definition.higher_is_better

    @property
    def unit(self) -> Unit:
        """Return the unit of the values: ``count``, ``seconds``, or an empty string."""
        return self.definition.unit

    @property
    def needs_judgments(self) -> bool:
        """Return whether the metric is undefined for a query without relevant documents."""
        return bool(self.definition.needs)

    @property
    def rates_relevance(self) -> bool:
        """Return whether a higher value means that the final ranking is more relevant."""
        return self.needs_judgments and self.higher_is_better and not self.stage

    @property
    def can_be_primary(self) -> bool:
        """Return whether headlines and default checks may use the metric."""
        definition = self.definition
        is_mean = definition.aggregate == "mean" and definition.range == (0, 1)
        # A budget needs sizes that a baseline may lack, so a default check could lose its values.
        return is_mean and self.rates_relevance and not definition.is_own and not self.budget

    @property
    def relevant_from(self) -> float | None:
        """Return the lowest relevant grade, if the name overrides ``relevant_from``."""
        value = dict(self.parameters).get(RELEVANT_FROM.name)
        return None if value is None else float(value)

    @property
    def budget(self) -> tuple[str, int] | None:
        """Return the unit (``tokens`` or ``words``) and size of the budget, if there is one."""
        for name, value in self.parameters:
            if name in ("tokens", "words"):
                return name, int(value)
        return None

    @property
    def formula_parameters(self) -> Mapping[str, Value]:
        """Return the parameters of the formula, defaults included."""
        values = dict(self.parameters)
        formula_parameters = {}
        for parameter in self.definition.parameters:
            value = values.get(parameter.name, parameter.default)
            # `rel` changes the judgments, not the formula.
            if value is not None and parameter is not RELEVANT_FROM:
                formula_parameters[parameter.name] = value
        return formula_parameters

    def compute_depth(self, relevant_count: int = 0) -> int | None:
        """Compute how many results the metric reads, or return ``None`` for all of them.

        Args:
            relevant_count: The number of relevant documents of the query.
        """
        fixed = {"all": None, "first": 1, "nothing": 0}
        depths = {"cutoff": self.cutoff, "relevant": relevant_count, **fixed}
        return depths[self.definition.reach]

    def is_defined_for(self, judgments: Judgments) -> bool:
        """Return whether the metric has a value for a query with these judgments."""
        if self.definition.needs == "relevant":
            if self.relevant_from is not None:
                judgments = judgments.with_relevant_from(self.relevant_from)
            return bool(judgments.relevant)
        return not self.definition.needs or bool(judgments.gains)

    def with_cutoff(self, cutoff: int) -> Metric:
        """Return the metric with another cutoff, which also replaces a budget."""
        others = tuple(pair for pair in self.parameters if pair[0] not in ("tokens", "words"))
        return replace(self, cutoff=cutoff, parameters=others)

    def format_value(self, value: float, digits: int | None = None) -> str:
        """Format a value, such as ``0.850``, ``3`` or ``41 ms``."""
        if self.unit == "seconds":
            return f"{value * 1000:.0f} ms" if round(abs(value), 3) < 1 else f"{value:.2f} s"
        decimals = self.get_digits(value) if digits is None else digits
        return f"{value:,.{decimals}f}"

    def get_digits(self, *values: float) -> int:
        """Return the number of decimals with which these values are shown."""
        if not self.unit:
            return SHOWN_DIGITS
        if self.unit == "seconds":
            return 3 if max(map(abs, values)) < 1 else 2
        return 0 if all(value == int(value) for value in values) else 1

    def make_score_function(self) -> ScoreFunction:
        """Return the function that scores a batch of rankings."""
        if self.definition.has_cutoff:
            return self.definition.make(cutoff=self.cutoff, **self.formula_parameters)
        return self.definition.make(**self.formula_parameters)


def _format_value(value: Value) -> str:
    """Format the value of a parameter, such as ``2`` for ``2.0``."""
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
