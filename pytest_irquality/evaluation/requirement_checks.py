"""Checks of what a suite requires: answers to all queries, rules and thresholds.

A rule checks one ranking (see ``suite/rules.py``). A threshold has up to five bounds. Each bound is
checked on its own, and the first one with the worst outcome decides.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from itertools import chain
from math import inf
from statistics import fmean

from pytest_irquality.evaluation import constants, statistics
from pytest_irquality.evaluation.comparison import Comparison, MetricChange, QueryStatus
from pytest_irquality.evaluation.results import CheckResult, EvaluationContext, Outcome, Requirement
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.text import CodePart, DataPart, Text, format_count, list_some, write
from pytest_irquality.metrics import Metric
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import (
    CHANGE_BOUNDS,
    VALUE_BOUNDS,
    Bound,
    BoundUnit,
    CheckItem,
    ItemKind,
    KnownIssue,
    Query,
    Threshold,
)
from pytest_irquality.suite.rules import ExpectNoResults, Rule

MAX_SHOWN_DIGITS = 6


class RequirementChecks:
    """The checks of all rules and thresholds that a suite states."""

    def __init__(self, comparison: Comparison, context: EvaluationContext) -> None:
        self.comparison = comparison
        self.suite = comparison.suite
        self.context = context
        self._drop_tests = _create_drop_tests(comparison)
        self._significant_drops = frozenset(statistics.select_significant(self._drop_tests))
        has_all_answers = len(comparison.answers) == len(comparison.suite.queries)
        rankings = chain.from_iterable(comparison.answers.values())
        self._has_no_results = has_all_answers and not any(ranking.doc_ids for ranking in rankings)

    def check_all(self) -> Iterator[CheckResult]:
        """Check all requirements, those of queries first."""
        query_items = [item for item in self.suite.items if item.kind is ItemKind.QUERY]
        item_names = {item.query_id: item.name for item in query_items}
        for query in self.suite.queries:
            for result in self._check_query(query):
                yield replace(result, item=item_names.get(query.id, ""))
        for item in self.suite.items:
            for result in self._check_item(item):
                yield replace(result, item=item.name, label=result.label or item.label)

    def _check_query(self, query: Query) -> Sequence[CheckResult]:
        results = [self._check_rule(rule, query) for rule in query.rules]
        for threshold in query.thresholds:
            label = str(threshold.metric)
            results.append(self._check_threshold(threshold, query=query, label=label))
        return self._apply_known_issue(results, query.known_issue)

    def _check_item(self, item: CheckItem) -> Sequence[CheckResult]:
        if item.kind is ItemKind.ANSWERS:
            return [self._check_answers(item)]
        if item.kind is ItemKind.THRESHOLD and item.threshold:
            return self._check_thresholds(item.threshold, item)
        requirement = item.rule or item.threshold
        if item.kind is ItemKind.EACH_QUERY and requirement:
            return [self._check_each_query(requirement, item.label)]
        return []

    def _check_each_query(self, requirement: Rule | Threshold, label: str) -> CheckResult:
        """Check a rule or threshold for every query, and name all queries that break it.

        The result is ``INCOMPLETE`` if a query has no answer, or if none could be checked. A
        threshold does not apply to queries that expect no results.
        """
        failures: list[CheckResult] = []
        passes: list[CheckResult] = []
        fallback = CheckResult(requirement, Outcome.PASSED, write("No query had to be checked"))
        known_issue_id = ""
        for query in self.suite.queries:
            if isinstance(requirement, Rule):
                result = self._check_rule(requirement, query)
            elif not query.expects_no_results:
                result = self._check_threshold(requirement, query=query)
            else:
                continue
            if result.outcome is Outcome.INCOMPLETE:
                fallback = result
            elif result.outcome is Outcome.PASSED and not result.is_warning:
                passes.append(result)
            elif query.known_issue and is_excused(query, self.context.date_for_expiry):
                known_issue_id = query.known_issue.id
            else:
                failures.append(result)
        results = [*failures, *passes]
        first = results[0] if results else fallback
        outcome, text = first.outcome, first.text
        if failures:
            text, known_issue_id = list_some([result.text for result in failures]), ""
        elif gap := _describe_gap(self.comparison, self.suite.queries):
            outcome, text = Outcome.INCOMPLETE, gap
        elif passes:
            text = write(f"All {len(passes)} queries satisfy '{label}'")
        return replace(
            first,
            outcome=outcome,
            text=text,
            label=label,
            query_ids=tuple(query_id for result in failures for query_id in result.query_ids),
            known_issue_id=known_issue_id,
            could_fail=not results or any(result.could_fail for result in results),
        )

    def _check_answers(self, item: CheckItem) -> CheckResult:
        query_ids = self.comparison.list_query_ids(QueryStatus.NO_ANSWER)
        max_errors = self.suite.settings.max_errors
        outcome = Outcome.PASSED
        text = write("Every query has an answer")
        if query_ids:
            text = write(format_count(len(query_ids), "query has", "queries have"), " no answer")
            text += f", and 'errors' allows {max_errors}" if max_errors else ""
        if exceeds_allowed_errors(self.comparison):
            outcome = Outcome.FAILED
        elif gap := _describe_gap(self.comparison, self.suite.queries):
            outcome, text = Outcome.INCOMPLETE, gap
        return CheckResult(
            Requirement.ANSWERS,
            outcome,
            text,
            value=len(query_ids),
            bound=max_errors,
            query_ids=query_ids,
            location=item.location,
        )

    # -- Rules -------------------------------------------------------------------------------------

    def _check_rule(self, rule: Rule, query: Query) -> CheckResult:
        outcome = Outcome.PASSED
        text = write(query.part, sys.intern(f" satisfies '{rule.key}'"))
        if gap := _describe_gap_of_query(self.comparison, query):
            outcome, text = Outcome.INCOMPLETE, gap
        elif violations := self._find_violations(rule, query):
            outcome = Outcome.FAILED
            text = write(query.part, ": ", list_some(violations, separator="; "))
        elif self._has_no_results and not isinstance(rule, ExpectNoResults):
            # Nothing could break a rule about results, and a search that returns nothing at all
            # must not pass.
            outcome = Outcome.INCOMPLETE
            text = write(f"'{rule.key}' was not tested, because no query returned a result")
        return CheckResult(
            rule,
            outcome,
            text,
            label=rule.key,
            query_ids=(query.id,),
            doc_ids=rule.doc_ids,
            location=rule.location,
        )

    def _find_violations(self, rule: Rule, query: Query) -> list[Text]:
        """Return the violations in the first repeat that breaks a rule.

        Every repeat must satisfy a rule, because a user gets one answer, and it may be the bad one.
        """
        top_k, titles = self.suite.settings.top_k, self.comparison.titles
        rankings: Sequence[Ranking] = self.comparison.answers[query.id]
        if rule.reads_fields:
            # These rankings contain chunks, which have fields. Passages have none.
            rankings = self.comparison.run.answers[query.request]
        for ranking in rankings:
            violations = rule.find_violations(ranking, query.params, top_k, titles)
            if violations:
                return violations
        return []

    # -- Thresholds --------------------------------------------------------------------------------

    def _check_thresholds(self, threshold: Threshold, item: CheckItem) -> Sequence[CheckResult]:
        """Check a threshold for the suite, for a tag or for each tag."""
        results = []
        for tag in _list_tags(self.comparison, item):
            label = f"{tag} {threshold.metric}" if item.is_each_tag else item.label
            results.append(self._check_threshold(threshold, tag=tag, label=label))
        if item.is_each_tag:
            # Leave out tags without judgments. If no tag has any, say so once.
            with_value = [result for result in results if result.value is not None]
            results = with_value or results[:1]
        return results

    def _check_threshold(
        self, threshold: Threshold, *, tag: str = "", query: Query | None = None, label: str = ""
    ) -> CheckResult:
        """Check a threshold for the suite, a tag or one query.

        If no bound fails, the result is ``INCOMPLETE`` if a bound cannot be compared, or if a query
        has no answer or did not run.
        """
        subject = _Subject(self.comparison, threshold.metric, tag, query)
        findings = list(self._check_bounds(threshold, subject))
        decisive = max(findings, key=lambda finding: finding.outcome)
        outcome, text = decisive.outcome, decisive.text
        is_warning = False
        if outcome is Outcome.FAILED and threshold.is_warning:
            outcome, is_warning = Outcome.PASSED, True
        elif outcome is not Outcome.FAILED and (gap := subject.describe_gap()):
            outcome, text = Outcome.INCOMPLETE, gap
        return CheckResult(
            check=threshold,
            outcome=outcome,
            text=text,
            label=label,
            value=decisive.value,
            baseline_value=subject.change.before if subject.change else None,
            bound=decisive.bound.value,
            bound_text=str(decisive.bound),
            tag=tag,
            query_ids=(query.id,) if query else (),
            is_warning=is_warning,
            could_fail=any(finding.could_fail for finding in findings),
            location=threshold.location,
        )

    def _check_bounds(self, threshold: Threshold, subject: _Subject) -> Iterator[_BoundFinding]:
        for key in VALUE_BOUNDS:
            if bound := getattr(threshold, key):
                yield _check_value(subject, key, bound)
        for key in CHANGE_BOUNDS:
            if bound := getattr(threshold, key):
                finding = _check_change(subject, key, bound, is_update=self.context.is_update)
                if key == "max_significant_drop" and subject.change:
                    finding = self._require_significance(finding, threshold, subject.tag)
                yield finding

    def _require_significance(
        self, finding: _BoundFinding, threshold: Threshold, tag: str
    ) -> _BoundFinding:
        """Turn a failure into a pass if the drop is not significant, and add the p-value."""
        outcome, text = finding.outcome, finding.text
        if outcome is Outcome.FAILED and (threshold, tag) not in self._significant_drops:
            outcome = Outcome.PASSED
            text += ", which may be chance"
        text += f" ({statistics.format_p_value(self._drop_tests[threshold, tag].p_value)})"
        return replace(finding, outcome=outcome, text=text)

    # -- Known issues ------------------------------------------------------------------------------

    def _apply_known_issue(
        self, results: Sequence[CheckResult], issue: KnownIssue | None
    ) -> Sequence[CheckResult]:
        """Change the results of a query by its known issue.

        The issue excuses failures. Once all results pass, the issue itself fails, like a strict
        xfail, because it would hide the next failure.
        """
        if issue is None or not results:
            return results
        is_broken = any(r.outcome is Outcome.FAILED or r.is_warning for r in results)
        if is_broken:
            return [self._apply_to_failure(result, issue) for result in results]
        if self.context.is_base_branch or any(r.outcome is not Outcome.PASSED for r in results):
            return results
        text = write("Known issue ", DataPart(issue.id), " is fixed. Remove ")
        text += write(CodePart("known_issue"), " at ", CodePart(str(issue.location)), ".")
        fixed = replace(
            results[0],
            outcome=Outcome.FAILED,
            text=text,
            known_issue_id=issue.id,
            location=issue.location,
        )
        return [fixed, *results[1:]]

    def _apply_to_failure(self, result: CheckResult, issue: KnownIssue) -> CheckResult:
        """Excuse a failed result by a known issue, or say that the issue has expired."""
        if result.outcome is not Outcome.FAILED:
            return result
        if not is_expired(issue, self.context.date_for_expiry):
            return replace(result, outcome=Outcome.PASSED, known_issue_id=issue.id)
        expiry = write(". Known issue ", DataPart(issue.id), f" expired on {issue.until}")
        return replace(result, text=result.text + expiry)


def is_expired(issue: KnownIssue, today: date | None) -> bool:
    """Return whether the last day of a known issue has passed."""
    return issue.until is not None and today is not None and today > issue.until


def exceeds_allowed_errors(comparison: Comparison) -> bool:
    """Return whether more queries have no answer than ``errors`` allows.

    ``errors`` is about queries from files. An inline query is a test of its own.
    """
    suite = comparison.suite
    query_ids = comparison.list_query_ids(QueryStatus.NO_ANSWER)
    has_inline_query = any(not suite.queries_by_id[name].is_sampled for name in query_ids)
    return has_inline_query or len(query_ids) > suite.settings.max_errors


def is_excused(query: Query, today: date | None) -> bool:
    """Return whether a known issue excuses the failures of a query."""
    issue = query.known_issue
    return issue is not None and not is_expired(issue, today)


def has_drop_threshold(comparison: Comparison) -> bool:
    """Return whether a threshold of the suite limits how far relevance may drop.

    Such a suite takes no part in checks 2 and 3. A threshold that only warns or cannot fail does
    not count: a metric cannot drop by more than its value in the baseline.
    """
    for threshold in comparison.suite.thresholds:
        if threshold.is_warning or not threshold.limits_drop:
            continue
        change = _Subject(comparison, threshold.metric).change
        for key in CHANGE_BOUNDS:
            bound = getattr(threshold, key)
            if bound and change and _can_exceed(key, bound, change):
                return True
    return False


# -- What thresholds are about ---------------------------------------------------------------------


def _list_tags(comparison: Comparison, item: CheckItem) -> Sequence[str]:
    """Return the tags that a threshold applies to, or one empty tag for the suite.

    ``each_tag`` means the tags that people wrote. The tag ``variant`` is left out, because typos
    need not do as well as queries.
    """
    if not item.is_each_tag:
        return (item.tag,)
    tags: dict[str, None] = {}
    for query in comparison.suite.queries:
        if not query.variant_of and query.probe is None:
            tags.update(dict.fromkeys(query.tags))
    return tuple(tags)


def _create_drop_tests(
    comparison: Comparison,
) -> dict[tuple[Threshold, str], statistics.SignificanceTest]:
    """Create the paired tests of all ``max_significant_drop`` of a suite, which share their level.

    Returns:
        The tests by threshold and tag.
    """
    tests = {}
    for item in comparison.suite.items:
        threshold = item.threshold
        if threshold is None or threshold.max_significant_drop is None or item.query_id:
            continue
        for tag in _list_tags(comparison, item):
            improvements = comparison.collect_weighted_improvements(
                threshold.metric, tag, includes_variants=False
            )
            means = list(map(fmean, improvements.values()))
            tests[threshold, tag] = statistics.create_drop_test(
                means, constants.SIGNIFICANT_DROP_ALPHA
            )
    return tests


@dataclass(frozen=True, eq=False)
class _Subject:
    """What a threshold is about: a metric over the suite, a tag or one query."""

    comparison: Comparison
    metric: Metric
    tag: str = ""
    query: Query | None = None

    @property
    def name(self) -> Text:
        """Return the words that texts begin with."""
        if self.query is not None:
            return write(self.query.part, f": {self.metric}")
        if self.tag:
            return write(str(self.metric), " of '", DataPart(self.tag), "'")
        return write(str(self.metric))

    @property
    def queries(self) -> Sequence[Query]:
        """Return the queries whose mean is compared."""
        if self.query is not None:
            return (self.query,)
        return self.comparison.list_queries_in_mean(self.metric, self.tag)

    @property
    def is_too_deep(self) -> bool:
        """Return whether the baseline is too shallow for the cutoff."""
        cutoff = 0 if self.metric.stage else self.metric.cutoff or 0
        return cutoff > self.comparison.compared_depth

    @cached_property
    def change(self) -> MetricChange | None:
        """Return the values before and now, or ``None`` if they cannot be compared."""
        if self.is_too_deep:
            return None
        if self.query is None:
            return self.comparison.compare_means(self.metric, self.tag)
        return self.comparison.compare_query(self.metric, self.query.id)

    @property
    def value(self) -> float | None:
        """Return the current value, with hits in the order returned."""
        if self.query is None:
            return self.comparison.get_mean(self.metric, self.tag)
        return self.comparison.get_current_values(self.metric).get(self.query.id)

    @property
    def value_count(self) -> int:
        """Return the number of queries that a percentage refers to."""
        if self.query is not None:
            return 1
        return self.comparison.count_values(self.metric, self.tag)

    def describe_gap(self) -> Text:
        """Describe why queries have no value, or return an empty text if all have an answer."""
        stage = self.comparison.get_stage(self.metric)
        if self.metric.stage and not stage.answers:
            reason = "Not evaluated because the retriever returns no results for "
            return write(reason, DataPart(self.metric.stage))
        if self.query is None:
            return _describe_gap(stage, self.queries)
        return _describe_gap_of_query(stage, self.query)


def _describe_gap(comparison: Comparison, queries: Sequence[Query]) -> Text:
    """Describe how many queries have no answer or did not run, or return an empty text."""
    statuses = [comparison.statuses[query.id] for query in queries]
    not_run = statuses.count(QueryStatus.NOT_RUN)
    no_answer = statuses.count(QueryStatus.NO_ANSWER)
    if not not_run and no_answer <= comparison.suite.settings.max_errors:
        return Text()
    reason = f"{not_run or no_answer} of {len(statuses)} queries "
    reason += "did not run" if not_run else "have no answer"
    return write(f"Not evaluated because {reason}")


def _describe_gap_of_query(comparison: Comparison, query: Query) -> Text:
    """Describe that a query has no answer or did not run, or return an empty text."""
    reasons = {QueryStatus.NOT_RUN: " did not run", QueryStatus.NO_ANSWER: " has no answer"}
    reason = reasons.get(comparison.statuses[query.id])
    return write(query.part, reason) if reason else Text()


# -- Bounds of thresholds --------------------------------------------------------------------------


@dataclass(frozen=True)
class _BoundFinding:
    """The outcome of one bound of a threshold.

    Attributes:
        text: The finding, which begins with the metric.
        could_fail: Whether any answers could break the bound.
    """

    outcome: Outcome
    text: Text
    bound: Bound
    value: float | None = None
    could_fail: bool = True


def _check_value(subject: _Subject, key: str, bound: Bound) -> _BoundFinding:
    """Check a minimum or a maximum."""
    metric, value = subject.metric, subject.value
    if value is None:
        text = subject.name + " is undefined for all queries"
        return _BoundFinding(Outcome.INCOMPLETE, text, bound)
    amount = value  # in the unit of the bound
    lowest, highest = metric.definition.range
    if metric.definition.aggregate == "sum":
        highest = subject.value_count
    if bound.unit is BoundUnit.QUERY_FRACTION:
        amount, lowest, highest = value / subject.value_count, 0, 1
    if key == "min":
        is_broken = amount < bound.value - constants.ROUNDING_ERROR
        could_fail = bound.value > lowest
        relation = "below the minimum"
    elif key == "max":
        is_broken = amount > bound.value + constants.ROUNDING_ERROR
        could_fail = bound.value < highest
        relation = "above the maximum"
    else:
        raise NotImplementedError(f"There is no check of '{key}'")
    text = subject.name + f" is {_format_next_to_bound(metric, value, bound.value)}"
    if bound.unit is BoundUnit.QUERY_FRACTION:
        text += f" ({amount:.1%} of the queries)"
    if is_broken:
        text += f", {relation} {bound}"
    outcome = Outcome.FAILED if is_broken else Outcome.PASSED
    return _BoundFinding(outcome, text, bound, value, could_fail)


def _check_change(
    subject: _Subject, key: str, bound: Bound, *, is_update: bool = False
) -> _BoundFinding:
    """Check how far a metric changed for the worse."""
    metric, change = subject.metric, subject.change
    if change is None:
        return _explain_missing_change(subject, bound, is_update=is_update)
    amount = _convert(-change.improvement, bound.unit, change)
    is_broken = amount > bound.value + constants.ROUNDING_ERROR
    now = metric.format_value(change.now)
    values = f"{metric.format_value(change.before)} to {now}"
    if change.delta == 0:
        text = subject.name + f" did not change ({now})"
    else:
        text = subject.name + f" {'dropped' if change.delta < 0 else 'rose'} from {values}"
    if is_broken:
        text += f", by more than {bound} ('{key}')"
    outcome = Outcome.FAILED if is_broken else Outcome.PASSED
    return _BoundFinding(outcome, text, bound, change.now, _can_exceed(key, bound, change))


def _can_exceed(key: str, bound: Bound, change: MetricChange) -> bool:
    """Return whether the largest possible change for the worse exceeds a bound."""
    has_enough = change.query_count >= constants.MIN_TESTABLE_QUERIES
    if key == "max_significant_drop" and not has_enough:
        return False
    lowest, highest = change.metric.definition.range
    largest = change.before - lowest if change.metric.higher_is_better else highest - change.before
    if change.metric.definition.aggregate == "sum":
        largest = change.query_count - change.before
    return _convert(largest, bound.unit, change) > bound.value + constants.ROUNDING_ERROR


def _convert(amount: float, unit: BoundUnit, change: MetricChange) -> float:
    """Convert a change to the unit of a bound. A rise from 0 is more than any percentage."""
    if amount <= 0:
        return 0.0
    if unit is BoundUnit.QUERY_FRACTION:
        return amount / change.query_count
    if unit is BoundUnit.BASELINE_FRACTION:
        return amount / abs(change.before) if change.before else inf
    return amount


def _explain_missing_change(subject: _Subject, bound: Bound, *, is_update: bool) -> _BoundFinding:
    """Explain why a change cannot be computed. If all queries are new, this is no gap."""
    comparison = subject.comparison
    baseline = comparison.baseline_run
    has_baseline = baseline is not None and bool(baseline.answers)
    statuses = {comparison.statuses[query.id] for query in subject.queries}
    command = CodePart("pytest --ir-update-baseline")
    outcome = Outcome.INCOMPLETE
    if not has_baseline and is_update:
        outcome = Outcome.PASSED
        text = subject.name + " has no baseline yet, and this run records it"
    elif not has_baseline:
        text = subject.name + " needs a baseline, and there is none"
        text += write(". Run ", command, " and commit the file.")
    elif subject.is_too_deep:
        text = subject.name + f" needs {subject.metric.cutoff} results, but the baseline has "
        text += write(comparison.compared_depth, ". Update the baseline with ", command, ".")
    elif statuses == {QueryStatus.NEW} and not comparison.is_new:
        outcome = Outcome.PASSED
        text = subject.name + " is not compared, because the queries are new"
    else:
        text = subject.name + " cannot be compared, because it has no value before or now"
    return _BoundFinding(outcome, text, bound, could_fail=outcome is Outcome.INCOMPLETE)


def _format_next_to_bound(metric: Metric, value: float, bound: float) -> str:
    """Format a value with enough digits to distinguish it from the bound."""
    digits = metric.get_digits(value)
    if value == bound:
        return metric.format_value(value, digits)
    while digits < MAX_SHOWN_DIGITS and round(value, digits) == round(bound, digits):
        digits += 1
    return metric.format_value(value, digits)
