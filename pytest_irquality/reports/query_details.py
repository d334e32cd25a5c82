"""What reports show of one query if a reader opens it: all metrics, its checks and its errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_irquality.evaluation.columns import Side
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult
from pytest_irquality.metrics import Metric
from pytest_irquality.reports.next_steps import create_command, create_node_id
from pytest_irquality.reports.numbers import Number, format_change, format_value
from pytest_irquality.reports.query_rows import SUITE_CHECKS
from pytest_irquality.reports.view_model import SuiteView, ViewSettings
from pytest_irquality.suite.model import Suite


@dataclass(frozen=True)
class MetricValue:
    """A metric of one query on both sides."""

    metric: str
    before: Number | None = None
    now: Number | None = None
    change: Number | None = None


@dataclass(frozen=True)
class QueryDetails:
    """What is known about one query besides its row and its documents.

    Attributes:
        values: Every metric shown, and those of the query's thresholds.
        results: The results of the checks that name the query.
        rerun: A command that runs the query again.
    """

    query_id: str
    values: tuple[MetricValue, ...] = ()
    results: tuple[CheckResult, ...] = ()
    rerun: str = ""


def build_query_details(suite_view: SuiteView, settings: ViewSettings) -> Iterator[QueryDetails]:
    """Build the details of every query of a suite, in the order of its rows."""
    evaluation = suite_view.evaluation
    if evaluation is None:
        return
    suite = evaluation.suite
    metrics = list(dict.fromkeys([suite.primary_metric, *suite.metrics]))
    values_before = {}
    values_now = {}
    for metric in metrics:
        values_before[metric] = evaluation.comparison.values(metric, Side.BEFORE)
        values_now[metric] = evaluation.comparison.values(metric, Side.RETURNED)
    results = _group_results(evaluation)
    items = _find_items(suite)
    # Queries from a file have no item, and so one command in common.
    reruns: dict[str, str] = {}
    for row in suite_view.rows:
        query_id = row.query.id
        values = []
        for metric in metrics:
            before = values_before[metric].get(query_id)
            values.append(_create_value(metric, before, values_now[metric].get(query_id)))
        item = items.get(query_id, "")
        if item not in reruns:
            node = create_node_id(settings, suite.path, row.retriever, item)
            reruns[item] = create_command(settings, [node])
        yield QueryDetails(
            query_id=query_id,
            values=tuple(values),
            results=tuple(results.get(query_id, ())),
            rerun=reruns[item],
        )


def _create_value(metric: Metric, before: float | None, now: float | None) -> MetricValue:
    return MetricValue(
        metric=str(metric),
        before=format_value(metric, before),
        now=format_value(metric, now),
        change=format_change(metric, before, now),
    )


def _group_results(evaluation: Evaluation) -> Mapping[str, list[CheckResult]]:
    grouped: dict[str, list[CheckResult]] = {}
    for result in evaluation.results:
        if result.check in SUITE_CHECKS:
            continue
        for query_id in result.query_ids:
            grouped.setdefault(query_id, []).append(result)
    return grouped


def _find_items(suite: Suite) -> Mapping[str, str]:
    """Return the name of the item of each inline query."""
    return {item.query_id: item.name for item in suite.items if item.query_id}
