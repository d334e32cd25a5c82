"""Checks of thresholds: the value of a metric, or its change, against every bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from statistics import fmean

from pytest_irquality.evaluation.comparison import Comparison, Side
from pytest_irquality.evaluation.constants import (
    MIN_TESTABLE_QUERIES,
    ROUNDING_ERROR,
    SIGNIFICANT_DROP_ALPHA,
)
from pytest_irquality.evaluation.query_changes import MetricChange, QueryStatus
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.evaluation.statistics import (
    SignificanceTest,
    create_drop_test,
    select_rejecting,
)
from pytest_irquality.io.text import CodePart, DataPart, QueryPart, Text, write
from pytest_irquality.metrics import Metric
from pytest_irquality.suite.model import (
    CHANGE_BOUNDS,
    VALUE_BOUNDS,
    Bound,
    BoundUnit,
    CheckItem,
    Query,
    Threshold,
)

SHOWN_DIGITS = 3
MAX_SHOWN_DIGITS = 6


@dataclass(frozen=True)
class BoundFinding:
    """The outcome of one bound of a threshold.

    Attributes:
        text: The finding, which begins with the metric.
        can_fail: Whether any answers could break the bound.
    """

    outcome: Outcome
    text: Text
    bound: Bound
    value: float | None = None
    can_fail: bool = True


class SignificanceTests:
    """The paired tests of all ``max_significant_drop`` of a suite, which share their level."""

    def __init__(self, comparison: Comparison) -> None:
        self._tests: dict[tuple[Threshold, str], SignificanceTest] = {}
        for item in comparison.suite.items:
            threshold = item.threshold
            if threshold is None or threshold.max_significant_drop is None or item.query_id:
                continue
            for tag in list_tags(comparison, item):
                deltas = comparison.collect_deltas(threshold.metric, tag, includes_variants=False)
                means = [fmean(unit_deltas) for unit_deltas in deltas.values()]
                self._tests[threshold, tag] = create_drop_test(means, SIGNIFICANT_DROP_ALPHA)
        self._rejecting = frozenset(select_rejecting(self._tests))

    def correct(
        self, finding: BoundFinding, threshold: Threshold, tag: str, change: MetricChange
    ) -> BoundFinding:
        """Return a finding that fails only if the drop is significant as well."""
        key = (threshold, tag)
        p_value = self._tests[key].p_value if key in self._tests else 1.0
        is_failed = finding.outcome is Outcome.FAILED and key in self._rejecting
        chance = "" if is_failed or finding.outcome is Outcome.PASSED else ", which may be chance"
        return replace(
            finding,
            outcome=Outcome.FAILED if is_failed else Outcome.PASSED,
            text=finding.text + f"{chance} (p = {p_value:.3f})",
            can_fail=finding.can_fail and change.query_count >= MIN_TESTABLE_QUERIES,
        )


def list_tags(comparison: Comparison, item: CheckItem) -> Sequence[str]:
    """Return the tags that a threshold applies to, or one empty tag for the suite.

    ``each_tag`` means the tags that people wrote. Typos, which have the tag ``variant``, need not
    do as well as queries.
    """
    if not item.is_each_tag:
        return (item.tag,)
    tags: dict[str, None] = {}
    for query in comparison.suite.queries:
        if not query.is_variant and query.probe is None:
            tags.update(dict.fromkeys(query.tags))
    return tuple(tags)


def check_threshold(
    threshold: Threshold,
    comparison: Comparison,
    tests: SignificanceTests,
    *,
    tag: str = "",
    query: Query | None = None,
    label: str = "",
    item: str = "",
) -> CheckResult:
    """Check a threshold over the suite, a tag or one query.

    The result is ``INCOMPLETE`` if a bound cannot be compared, or if a query has no answer or did
    not run, unless another bound fails already.
    """
    subject = _Subject(comparison, threshold.metric, tag, query)
    findings = list(_check_bounds(threshold, subject, tests))
    gap = subject.describe_gap()
    failed = [finding for finding in findings if finding.outcome is Outcome.FAILED]
    unknown = [finding for finding in findings if finding.outcome is Outcome.INCOMPLETE]
    decisive = (failed or unknown or findings)[0]
    outcome, text = decisive.outcome, decisive.text
    if not failed and gap:
        outcome, text = Outcome.INCOMPLETE, gap
    is_warning = threshold.is_warning and bool(failed)
    return CheckResult(
        check=threshold,
        subject=comparison.suite.name,
        outcome=Outcome.PASSED if is_warning else outcome,
        text=text,
        label=label or str(threshold.metric),
        item=item,
        value=decisive.value,
        baseline_value=subject.change.before if subject.change else None,
        bound=decisive.bound.value,
        bound_text=str(decisive.bound),
        tag=tag,
        query_ids=(query.id,) if query else (),
        is_warning=is_warning,
        was_evaluated=any(finding.can_fail for finding in findings),
        location=threshold.location,
    )


@dataclass(frozen=True, eq=False)
class _Subject:
    """What a threshold is about: a metric over the suite, a tag or one query."""

    comparison: Comparison
    metric: Metric
    tag: str = ""
    query: Query | None = None

    @property
    def name(self) -> Text:
        """Return how texts begin."""
        if self.query is not None:
            return write(QueryPart(self.query.id, self.query.text), f": {self.metric}")
        if self.tag:
            return write(str(self.metric), " of '", DataPart(self.tag), "'")
        return write(str(self.metric))

    @cached_property
    def queries(self) -> Sequence[Query]:
        """Return the queries whose mean is compared."""
        if self.query is not None:
            return (self.query,)
        query_ids = self.comparison.list_query_ids_in_mean(self.metric, self.tag)
        return [query for query in self.comparison.suite.queries if query.id in query_ids]

    @property
    def is_too_deep(self) -> bool:
        """Return whether the baseline is too shallow for the cutoff."""
        cutoff = 0 if self.metric.stage else self.metric.cutoff or 0
        return cutoff > self.comparison.compared_depth

    @cached_property
    def change(self) -> MetricChange | None:
        """Return the value on both sides, or ``None`` if they cannot be compared."""
        if self.is_too_deep:
            return None
        if self.query is None:
            return self.comparison.score(self.metric, self.tag)
        change = self.comparison.changes_by_id.get(self.query.id)
        return change.score(self.metric) if change else None

    @cached_property
    def value(self) -> float | None:
        """Return the current value, with hits in the order as returned."""
        if self.query is None:
            return self.comparison.suite_value(self.metric, self.tag)
        side = Side.NOW if self.metric.compares else Side.RETURNED
        return self.comparison.values(self.metric, side).get(self.query.id)

    @cached_property
    def value_count(self) -> int:
        """Return the number of queries that a percentage is of."""
        if self.query is not None:
            return 1
        return self.comparison.count_values(self.metric, self.tag)

    def describe_gap(self) -> Text:
        """Say which queries have no value because they have no answer, or return nothing."""
        stage = self.comparison.get_stage(self.metric)
        if stage is None:
            reason = "Not evaluated because the retriever gives no results of "
            return write(reason, DataPart(self.metric.stage))
        if self.query is None:
            return describe_gap(stage, self.queries)
        status = stage.statuses[self.query.id]
        reasons = {QueryStatus.NOT_RUN: "it did not run", QueryStatus.NO_ANSWER: "it has no answer"}
        if status not in reasons:
            return Text()
        query = QueryPart(self.query.id, self.query.text)
        return write(query, f" is not evaluated because {reasons[status]}")


def describe_gap(comparison: Comparison, queries: Sequence[Query]) -> Text:
    """Say how many queries have no answer or did not run, or return nothing if none is missing."""
    statuses = [comparison.statuses[query.id] for query in queries]
    not_run = statuses.count(QueryStatus.NOT_RUN)
    no_answer = statuses.count(QueryStatus.NO_ANSWER)
    if not not_run and no_answer <= comparison.suite.settings.max_errors:
        return Text()
    reason = f"{not_run or no_answer} of {len(statuses)} queries "
    reason += "did not run" if not_run else "have no answer"
    return write(f"Not evaluated because {reason}")


def _check_bounds(
    threshold: Threshold, subject: _Subject, tests: SignificanceTests
) -> Iterator[BoundFinding]:
    for key in VALUE_BOUNDS:
        bound = getattr(threshold, key)
        if bound and subject.value is None:
            text = subject.name + " is undefined for all queries"
            yield BoundFinding(Outcome.INCOMPLETE, text, bound)
        elif bound:
            yield _check_value(subject, key, bound)
    for key in CHANGE_BOUNDS:
        bound = getattr(threshold, key)
        if bound and subject.change is None:
            yield _explain_missing_change(subject, bound)
        elif bound and subject.change:
            finding = _check_change(subject.name, key, bound, subject.change)
            if bound is threshold.max_significant_drop:
                finding = tests.correct(finding, threshold, subject.tag, subject.change)
            yield finding


def _check_value(subject: _Subject, key: str, bound: Bound) -> BoundFinding:
    """Check a minimum or a maximum."""
    metric = subject.metric
    value = subject.value or 0.0
    count = subject.value_count
    lowest, highest = metric.range
    if metric.aggregate == "sum":
        highest = count
    compared = value
    if bound.unit is BoundUnit.QUERY_FRACTION:
        compared, lowest, highest = value / count, 0, 1
    if key == "min":
        is_broken = compared < bound.value - ROUNDING_ERROR
        can_fail = bound.value > lowest
    elif key == "max":
        is_broken = compared > bound.value + ROUNDING_ERROR
        can_fail = bound.value < highest
    else:
        raise NotImplementedError(f"There is no check of '{key}'")
    text = subject.name + f" is {format_value(metric, value, bound.value)}"
    if bound.unit is BoundUnit.QUERY_FRACTION:
        text += f" ({compared:.1%} of the queries)"
    if is_broken:
        text += f", but '{key}' is {bound}"
    outcome = Outcome.FAILED if is_broken else Outcome.PASSED
    return BoundFinding(outcome, text, bound, value, can_fail)


def _check_change(name: Text, key: str, bound: Bound, change: MetricChange) -> BoundFinding:
    """Check how far a metric changed for the worse."""
    metric = change.metric
    lowest, highest = metric.range
    largest = change.before - lowest if metric.higher_is_better else highest - change.before
    if metric.aggregate == "sum":
        largest = change.query_count - change.before
    is_broken = _convert(-change.gain, bound.unit, change) > bound.value + ROUNDING_ERROR
    can_fail = _convert(largest, bound.unit, change) > bound.value + ROUNDING_ERROR
    values = f"{format_value(metric, change.before)} to {format_value(metric, change.now)}"
    if change.delta == 0:
        text = name + f" did not change ({format_value(metric, change.now)})"
    else:
        text = name + f" {'dropped' if change.delta < 0 else 'rose'} from {values}"
    if is_broken:
        text += f", by more than {bound} ('{key}')"
    outcome = Outcome.FAILED if is_broken else Outcome.PASSED
    return BoundFinding(outcome, text, bound, change.now, can_fail)


def _convert(amount: float, unit: BoundUnit, change: MetricChange) -> float:
    """Convert a change to the unit of a bound. A rise from 0 is more than any percentage."""
    if amount <= 0:
        return 0.0
    if unit is BoundUnit.QUERY_FRACTION:
        return amount / change.query_count
    if unit is BoundUnit.BASELINE_FRACTION:
        return amount / abs(change.before) if change.before else inf
    return amount


def limits_drop(threshold: Threshold, comparison: Comparison) -> bool:
    """Return whether a threshold over the suite bounds a drop in relevance, and could fail."""
    subject = _Subject(comparison, threshold.metric)
    is_excused = threshold.is_warning or threshold.known_issue is not None
    if not threshold.limits_drop or is_excused or subject.change is None:
        return False
    for bound in (threshold.max_drop, threshold.max_significant_drop):
        if bound is None:
            continue
        finding = _check_change(subject.name, "", bound, subject.change)
        is_testable = subject.change.query_count >= MIN_TESTABLE_QUERIES
        if finding.can_fail and (is_testable or bound is threshold.max_drop):
            return True
    return False


def _explain_missing_change(subject: _Subject, bound: Bound) -> BoundFinding:
    """Say why a change cannot be computed. That all queries are new is nobody's fault."""
    comparison = subject.comparison
    baseline = comparison.baseline_run
    statuses = {comparison.statuses[query.id] for query in subject.queries}
    command = CodePart("pytest --ir-update-baseline")
    if baseline is None or not baseline.answers:
        text = subject.name + " needs a baseline, and there is none"
        text += write(". Run ", command, " and commit the file.")
    elif subject.is_too_deep:
        text = subject.name + f" needs {subject.metric.cutoff} results, but the baseline has "
        text += write(comparison.compared_depth, ". Update the baseline with ", command, ".")
    elif statuses == {QueryStatus.NEW} and not comparison.is_new:
        text = subject.name + " is not compared, because the queries are new"
        return BoundFinding(Outcome.PASSED, text, bound, can_fail=False)
    else:
        text = subject.name + " cannot be compared, because it is undefined on one of the sides"
    return BoundFinding(Outcome.INCOMPLETE, text, bound)


def format_value(metric: Metric, value: float, bound: float | None = None) -> str:
    """Format a value with as many digits as distinguish it from the bound."""
    if metric.unit == "seconds":
        return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"
    if metric.unit == "count":
        return f"{value:g}"
    digits = SHOWN_DIGITS
    while bound is not None and digits < MAX_SHOWN_DIGITS:
        if value == bound or round(value, digits) != round(bound, digits):
            break
        digits += 1
    return f"{value:.{digits}f}"
