"""Tiles of metrics, and the numbers and marks in them and in all other parts of reports.

A tile is a metric over a suite or a tag, with its change, its threshold and its baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_irquality.evaluation.comparison import QueryStatus
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Outcome
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.text import format_count
from pytest_irquality.metrics import Metric
from pytest_irquality.suite.model import Bound, BoundUnit, ItemKind, Threshold

MARKS = {
    Outcome.PASSED: "✓",
    Outcome.INCOMPLETE: "⚠",
    Outcome.REVIEW: "⚠",
    Outcome.FAILED: "✗",
    Outcome.ERROR: "✗",
}
MINUS = "−"


@dataclass(frozen=True, slots=True)
class Number:
    """A number and its text, so programs get one and readers the other."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


def format_value(metric: Metric, value: float | None) -> Number | None:
    """Format a value of a metric: ``0.850``, ``3``, ``41 ms``."""
    if value is None:
        return None
    return Number(value, metric.format_value(value))


def format_change(metric: Metric, before: float | None, now: float | None) -> Number | None:
    """Format the change of a metric with its sign.

    The text is the difference of the two texts and not of the two values, because readers check
    the difference of what they see.
    """
    if before is None or now is None:
        return None
    digits = metric.get_digits(before, now)
    shown = round(now, digits) - round(before, digits)
    text = metric.format_value(abs(shown))
    if any(digit in text for digit in "123456789"):
        text = (MINUS if shown < 0 else "+") + text
    return Number(now - before, text)


def format_check_values(result: CheckResult) -> tuple[str, str, str]:
    """Format what a check compares: the baseline's value, the current value, and the bound."""
    check = result.check
    if isinstance(check, Threshold):
        before = format_value(check.metric, result.baseline_value)
        now = format_value(check.metric, result.value)
        return str(before or ""), str(now or ""), result.bound_text
    return "", "", ""


# -- Tiles -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BarPositions:
    """Where value, bound and baseline are on the bar of a tile, from 0 to 1."""

    value: float
    bound: float | None = None
    baseline: float | None = None


@dataclass(frozen=True)
class Tile:
    """A metric over a suite or over the queries of a tag.

    Attributes:
        label: What the tile is about, such as ``ndcg@10`` or ``head ndcg@10``.
        status: How the value compares with its threshold, such as ``below 0.87``, or empty.
        bound: The minimum or maximum, and ``bound_name`` which of them.
        improvement: The change for the better, negative for the worse.
        compared: The value over the queries that have a baseline, which ``change`` is about.
        note: How many queries were answered, if not all, or how the compared queries changed, if
            ``value`` is also over queries without baseline.
        is_warning: Whether the threshold is broken, but only warns.
        bar: Where the numbers are on the bar.
    """

    label: str
    metric: str
    tag: str
    outcome: Outcome
    status: str = ""
    value: Number | None = None
    change: Number | None = None
    baseline: Number | None = None
    bound: Number | None = None
    bound_name: str = ""
    improvement: float = 0.0
    compared: Number | None = None
    note: str = ""
    is_warning: bool = False
    bar: BarPositions | None = None

    @property
    def mark(self) -> str:
        """Return the mark of the threshold, or nothing if there is none."""
        if self.is_warning:
            return MARKS[Outcome.INCOMPLETE]
        return MARKS[self.outcome] if self.status else ""


def build_tiles(evaluation: Evaluation, results: Sequence[CheckResult]) -> tuple[Tile, ...]:
    """Build the tiles of a suite: broken thresholds first, then every metric shown.

    Args:
        evaluation: The evaluation of the suite.
        results: Its results, and those of checks that it shares with other suites.
    """
    suite = evaluation.suite
    thresholds = _collect_threshold_results(evaluation)
    primary_key = (suite.primary_metric, "")
    drops = [result for result in results if result.check is DefaultCheck.SIGNIFICANT_DROP]
    has_dropped = any(result.outcome is Outcome.FAILED for result in drops)
    failed = [primary_key] if has_dropped else []
    warned = []
    for key, (_, result) in thresholds.items():
        if result.outcome >= Outcome.FAILED:
            failed.append(key)
        elif result.is_warning:
            warned.append(key)
    # Headlines and tables are about the primary metric, also if 'metrics' leaves it out.
    shown = [primary_key, *((metric, "") for metric in suite.metrics)]
    tiles = []
    for metric, tag in dict.fromkeys([*failed, *warned, *shown, *thresholds]):
        tile = build_tile(evaluation, metric, tag, *thresholds.get((metric, tag), ()))
        is_primary = (metric, tag) == primary_key
        if is_primary and has_dropped and tile.outcome is not Outcome.FAILED:
            tile = replace(tile, outcome=Outcome.FAILED, status="significant drop")
        if tile.value is not None or tile.outcome is not Outcome.PASSED:
            tiles.append(tile)
    return tuple(tiles)


def build_tile(
    evaluation: Evaluation,
    metric: Metric,
    tag: str = "",
    threshold: Threshold | None = None,
    result: CheckResult | None = None,
) -> Tile:
    """Build the tile of a metric, with its threshold if it has one."""
    score = evaluation.comparison.compare_means(metric, tag)
    value = evaluation.comparison.get_mean(metric, tag)
    if value is None and score is not None:
        value = score.now
    baseline = score.before if score else None
    compared = format_value(metric, score.now) if score else None
    note = ""
    if score and score.query_count < evaluation.comparison.count_values(metric, tag):
        count = format_count(score.query_count, "compared query", "compared queries")
        note = f"{count}: {format_value(metric, baseline)} → {compared}"
    answered = len(evaluation.comparison.answered_queries)
    if not tag and evaluation.comparison.list_query_ids(QueryStatus.NO_ANSWER):
        note = f"{answered} of {len(evaluation.suite.queries)} queries answered"
    bound, bound_name = _get_bound(threshold)
    return Tile(
        label=f"{tag} {metric}" if tag else str(metric),
        metric=str(metric),
        tag=tag,
        outcome=result.outcome if result else Outcome.PASSED,
        status=_describe_status(threshold, result, evaluation.comparison.count_values(metric, tag)),
        value=format_value(metric, value),
        change=format_change(metric, score.before, score.now) if score else None,
        baseline=format_value(metric, baseline),
        bound=Number(bound.value, str(bound)) if bound else None,
        bound_name=bound_name,
        improvement=score.improvement if score else 0.0,
        compared=compared,
        note=note,
        is_warning=bool(result and result.is_warning),
        bar=_place_on_bar(metric, value, bound.value if bound else None, baseline),
    )


def _collect_threshold_results(
    evaluation: Evaluation,
) -> dict[tuple[Metric, str], tuple[Threshold, CheckResult]]:
    """Return the worst result of the thresholds on each metric of the suite or a tag."""
    items = evaluation.suite.items
    query_items = {i.name for i in items if i.query_id or i.kind is ItemKind.EACH_QUERY}
    results: dict[tuple[Metric, str], tuple[Threshold, CheckResult]] = {}
    for result in evaluation.results:
        threshold = result.check
        if not isinstance(threshold, Threshold) or result.item in query_items:
            continue
        key = (threshold.metric, result.tag)
        if key not in results or result.outcome > results[key][1].outcome:
            results[key] = (threshold, result)
    return results


def _get_bound(threshold: Threshold | None) -> tuple[Bound | None, str]:
    """Return the lowest or highest value that a threshold allows, and its name."""
    if threshold is None:
        return None, ""
    if threshold.min is not None:
        return threshold.min, "minimum"
    if threshold.max is not None and threshold.max.unit is BoundUnit.VALUE:
        return threshold.max, "maximum"
    return None, ""


def _describe_status(
    threshold: Threshold | None, result: CheckResult | None, value_count: int
) -> str:
    """Describe how a result compares with its threshold, of which two bounds may have one text."""
    if threshold is None or result is None:
        return ""
    if result.known_issue_id:
        return f"known issue {result.known_issue_id}"
    if result.outcome is Outcome.INCOMPLETE:
        return "not evaluated"
    if result.outcome is Outcome.PASSED and not result.is_warning:
        return "holds"
    value, bound = result.value or 0.0, result.bound or 0.0
    if threshold.max is not None and threshold.max.unit is BoundUnit.QUERY_FRACTION:
        value /= value_count or 1
    if result.bound_text == str(threshold.min) and value < bound:
        status = f"below {threshold.min}"
    elif result.bound_text == str(threshold.max) and value > bound:
        status = f"above {threshold.max}"
    elif not threshold.metric.higher_is_better:
        status = f"rose by more than {threshold.max_rise}"
    elif result.bound_text != str(threshold.max_drop):
        status = f"dropped significantly, by more than {threshold.max_significant_drop}"
    else:
        status = f"dropped by more than {threshold.max_drop}"
    return f"{status} (warning)" if result.is_warning else status


def _place_on_bar(
    metric: Metric, value: float | None, bound: float | None, baseline: float | None
) -> BarPositions | None:
    lowest, highest = metric.definition.range
    if value is None or math.isinf(lowest):
        return None
    if math.isinf(highest):
        # The longest bar leaves a tenth free, so a reader sees that there is no upper end.
        highest = 1.1 * max(value, bound or 0.0, baseline or 0.0) or 1.0
    span = highest - lowest

    def place(number: float | None) -> float | None:
        return None if number is None else min(max((number - lowest) / span, 0.0), 1.0)

    return BarPositions(place(value) or 0.0, place(bound), place(baseline))
