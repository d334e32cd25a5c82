"""Parse thresholds: metrics by name, and bounds in the unit of the metric.

A bound that no value can break, or that every value breaks, is a mistake, because a check that
cannot fail looks like protection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf
from typing import Any

from pytest_irquality.io import dataclass, field
from pytest_irquality.metrics import Definition, Judgments, Metric, MetricError, parse_metric
from pytest_irquality.suite import kinds
from pytest_irquality.suite.keys import THRESHOLD_KEYS
from pytest_irquality.suite.kinds import MAX_CUTOFF, describe_node
from pytest_irquality.suite.mistakes import Location, Mistake, MistakeList, quote
from pytest_irquality.suite.model import CHANGE_BOUNDS, Bound, BoundUnit, Threshold
from pytest_irquality.suite.yaml_source import MappingNode, Node, ScalarNode

MAX_RELATIVE_DROP = 100  # percent; nothing drops by more than all of it


@dataclass
class ThresholdParser:
    """Parses metrics and thresholds of one suite.

    Attributes:
        top_k: The cutoff of metrics that name none.
        own_metrics: Metrics that the project defines.
        matches_text: Whether the suite has ``match: text``.
    """

    mistakes: MistakeList
    path: str
    top_k: int = 10
    own_metrics: Sequence[Definition] = ()
    matches_text: bool = False
    _metrics: dict[str, Metric] = field(default_factory=dict)

    def parse_metric(self, node: Node) -> Metric:
        """Parse the name of a metric.

        Raises:
            Mistake: There is no such metric, or it cannot be used with passages.
        """
        text = kinds.read_text(node, "A metric")
        if text in self._metrics:
            return self._metrics[text]
        try:
            metric = parse_metric(text, self.own_metrics, top_k=self.top_k)
        except MetricError as error:
            raise Mistake(node.line, str(error)) from None
        if self.matches_text and metric.definition.name == "judged":
            message = f"{metric} cannot be used with 'match: text': passages are not results"
            raise Mistake(node.line, message)
        if metric.cutoff and metric.cutoff > MAX_CUTOFF:
            limit = f"and at most {MAX_CUTOFF:,} are kept"
            raise Mistake(node.line, f"{metric} needs {metric.cutoff:,} results, {limit}")
        self._metrics[text] = metric
        return metric

    def parse_block(self, node: Node, name: str, path: str = "") -> Iterator[Threshold]:
        """Parse a mapping from metrics to thresholds. Mistakes are collected.

        Args:
            node: The mapping.
            name: The key, for messages.
            path: The file, if it is not the suite.
        """
        lines: dict[Metric, int] = {}
        kinds.refuse_decimal_comma(node)
        for key, value in kinds.read_entries(node, name):
            with self.mistakes.collect(path):
                threshold = self.parse_threshold(key, value, path)
                check_repeated(threshold, lines)
                yield threshold

    def parse_threshold(self, key: ScalarNode, node: Node, path: str = "") -> Threshold:
        """Parse the threshold on one metric.

        Raises:
            Mistake: The metric or a bound is not valid.
        """
        metric = self.parse_metric(key)
        location = Location(path or self.path, key.line)
        bounds: dict[str, Any] = {}
        if not isinstance(node, MappingNode):
            name = "min" if metric.higher_is_better else "max"
            bounds[name] = _parse_bound(metric, name, node)
            return Threshold(metric, location=location, **bounds)
        owner = f"the threshold of {key.text}"
        report = partial(self.mistakes.add, path=path)
        elsewhere = {"known_issue": ", but of a query. Write it below its query."}
        fields = kinds.read_fields(node, THRESHOLD_KEYS, owner, report, elsewhere=elsewhere)
        is_warning = fields.values.pop("warn", False)
        for name, value in fields.values.items():
            bounds[name] = _parse_bound(metric, name, value)
        if not bounds and not fields.has_mistakes:
            message = f"{key.text} has no bound. Write min, max, max_drop or max_significant_drop."
            raise Mistake(key.line, message)
        threshold = Threshold(metric, is_warning=is_warning, location=location, **bounds)
        low, high = threshold.min, threshold.max
        if low and high and low.unit == high.unit and low.value > high.value:
            message = f"The minimum {low} of {metric} is above the maximum {high}"
            raise Mistake(key.line, message)
        return threshold


# -- One bound -------------------------------------------------------------------------------------


def _parse_bound(metric: Metric, name: str, node: Node) -> Bound:
    if not isinstance(node, ScalarNode):
        message = f"'{name}' of {metric} must be a number, not {describe_node(node)}"
        raise Mistake(node.line, message)
    text = kinds.read_text(node, f"'{name}' of {metric}")
    if name in CHANGE_BOUNDS:
        return _parse_change(metric, name, node, text)
    if metric.unit == "seconds":
        seconds = kinds.parse_duration(text)
        if seconds is None:
            message = f"'{name}' of {metric} must be a duration with a unit, such as 200ms"
            raise Mistake(node.line, f"{message}, not {quote(text)}")
        return Bound(seconds, text=text)
    return _parse_value_bound(metric, name, node, text)


def _parse_value_bound(metric: Metric, name: str, node: ScalarNode, text: str) -> Bound:
    is_count = metric.definition.aggregate == "sum"
    is_percentage = text.endswith("%") and (is_count or metric.definition.range[1] == 1)
    number = kinds.parse_number(text.removesuffix("%") if is_percentage else text)
    if number is None and is_percentage and kinds.parse_number(text.rstrip("% ")) is not None:
        raise Mistake(node.line, f"Write {quote(text)} without the space")
    if number is None or (node.is_quoted and not is_percentage):
        message = f"'{name}' of {metric} must be a number without quotes, not {quote(text)}"
        raise Mistake(node.line, message)
    low, high = metric.definition.range
    if is_percentage:
        number /= 100
        if number > 1:
            raise Mistake(node.line, f"A percentage is between 0% and 100%, not {text}")
    if name == "max" and metric.higher_is_better and high == 1:
        message = f"'max' would reject good results, because a higher {metric} is better"
        raise Mistake(node.line, f"{message}. Use 'min'.")
    highest = 1 if is_percentage else high
    if number == (low if name == "min" else highest):
        raise Mistake(node.line, f"'{name}: {text}' can never fail for {metric}. Remove it.")
    if not low <= number <= high:
        hint = f". Did you mean {number / 100:g}?" if high == 1 and 1 < number <= 100 else ""
        limits = f"between {low:g} and {high:g}" if high < inf else f"at least {low:g}"
        message = f"{metric} is always {limits}, so {text} cannot be a bound{hint}"
        raise Mistake(node.line, message)
    # A percentage of a count is a fraction of the queries. For a mean, 85% is the same as 0.85.
    unit = BoundUnit.QUERY_FRACTION if is_percentage and is_count else BoundUnit.VALUE
    return Bound(number, unit, text)


def _parse_change(metric: Metric, name: str, node: ScalarNode, text: str) -> Bound:
    problem = _explain_unfit_change(metric, name)
    if problem:
        raise Mistake(node.line, problem)
    is_relative = text.endswith("%")
    number = kinds.parse_number(text.removesuffix("%"))
    if number is None or number < 0 or (node.is_quoted and not is_relative):
        message = f"'{name}' of {metric} must be 0 or more, or a percentage of the baseline"
        raise Mistake(node.line, f"{message}, not {quote(text)}")
    width = metric.definition.range[1] - metric.definition.range[0]
    largest_change = width
    if is_relative:
        largest_change = inf if name == "max_rise" else MAX_RELATIVE_DROP
    if number >= largest_change:
        hint = f". Did you mean {text}%?" if not is_relative and width == 1 <= number <= 100 else ""
        message = f"{metric} can never change by more than {text}, so '{name}' cannot fail{hint}"
        raise Mistake(node.line, message)
    if is_relative:
        return Bound(number / 100, BoundUnit.BASELINE_FRACTION, text)
    return Bound(number, text=text)


def _explain_unfit_change(metric: Metric, name: str) -> str:
    """Return why a metric cannot have a bound on its change, or an empty string."""
    if metric.unit == "seconds":
        return f"'{name}' cannot be used with {metric}, because baselines have no times. Use 'max'."
    if metric.definition.compares:
        return f"{metric} is a comparison with the baseline already. Use 'min'."
    if metric.higher_is_better and name == "max_rise":
        return f"'max_rise' would reject good results: a higher {metric} is better. Use 'max_drop'."
    if not metric.higher_is_better and name != "max_rise":
        return f"'{name}' would reject good results: a lower {metric} is better. Use 'max_rise'."
    return ""


def check_repeated(threshold: Threshold, lines: dict[Metric, int]) -> None:
    """Record the line of a threshold, and refuse a second one on the metric, however spelled.

    Args:
        threshold: The threshold.
        lines: The lines of the thresholds so far, to which this one is added.

    Raises:
        Mistake: There is already a threshold on this metric.
    """
    metric, line = threshold.metric, threshold.location.line
    if metric in lines:
        raise Mistake(line, f"{metric} already has a threshold on line {lines[metric]}")
    lines[metric] = line


# -- Thresholds of single queries ------------------------------------------------------------------


def check_for_single_queries(threshold: Threshold) -> None:
    """Check a threshold that every query must hold on its own.

    Raises:
        Mistake: The metric or bound needs several queries.
    """
    metric, line = threshold.metric, threshold.location.line
    if metric.is_weighted or metric.definition.aggregate not in ("mean", "sum"):
        raise Mistake(line, f"{metric} is about many queries, so a single query cannot have it")
    if threshold.max_significant_drop:
        message = "'max_significant_drop' is a test over many queries"
        raise Mistake(line, f"{message}. Use 'max_drop' for a single query.")


def check_for_query(threshold: Threshold, judgments: Judgments) -> None:
    """Check a threshold that is written under a query with these judgments.

    Raises:
        Mistake: The threshold cannot be evaluated for this query.
    """
    check_for_single_queries(threshold)
    metric = threshold.metric
    if not metric.is_defined_for(judgments):
        message = f"{metric} is undefined for this query, because it has no relevant document"
        raise Mistake(threshold.location.line, message)
