"""The default checks, which a suite with a baseline has without any YAML.

1. More queries lost all their relevant documents than gained one.
2. The retriever got significantly worse.
3. Large drops in too few queries to test.
4. Queries without judgments changed beyond recognition.

Each inline query was chosen by a person, so check 1 counts them. Queries from files are a sample
of what users search for, so check 1 tests whether significantly more of them were lost.

Check 4, and check 1 for inline queries, read one suite. The others read all suites of a build:
every retriever is tested over all its suites together, so a drop that is spread over small suites
is noticed. Large suites are tested alone as well, so the gains of one suite do not hide the drop of
another. Tests of a kind share their level, so the false alarms of a build add up to a few percent.
``benchmarks/simulation.py`` measures them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from statistics import fmean
from typing import Any

from pytest_irquality.evaluation import constants, statistics
from pytest_irquality.evaluation.comparison import Comparison, QueryChange, RankingVersion
from pytest_irquality.evaluation.requirement_checks import has_drop_threshold, is_excused
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Outcome, assign_suites
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.text import DocPart, Text, format_count, join, list_some, write
from pytest_irquality.metrics import Metric
from pytest_irquality.suite.model import DEFAULT_METRIC, ItemKind, LostQueriesMode, RetrieverId


def check_suite_defaults(comparison: Comparison, today: date | None) -> Iterator[CheckResult]:
    """Evaluate the default checks that need one suite only: 1 for inline queries, and 4.

    Args:
        comparison: The answers to a suite, compared with its baseline.
        today: The date (UTC) on which known issues may have expired, or ``None`` if none does.
    """
    suite = comparison.suite
    if suite.has_stored_baseline and comparison.changes:
        if suite.lost_queries.mode is not LostQueriesMode.IGNORE:
            yield _check_lost_queries(comparison, today)
        yield _check_recognizable(comparison)


def check_build_defaults(
    comparisons: Iterable[Comparison],
    base_suite_paths: Collection[str] | None = None,
    *,
    today: date | None = None,
) -> tuple[CheckResult, ...]:
    """Evaluate the default checks that need all suites: 1 for queries from files, 2 and 3.

    Args:
        comparisons: The suites of one branch, compared with their baselines.
        base_suite_paths: The paths of the suites on the base branch. Only copies of a query in
            these suites count. ``None`` without a base branch: then all copies count.
        today: The date (UTC) on which known issues may have expired, or ``None`` if none does.

    Returns:
        A result for each check, failed or passed. ``could_fail`` is false for a check that
        cannot fail with the queries at hand.
    """
    # A suite that compares two retrievers has no stored baseline, so only what it requires applies.
    with_baseline = [each for each in comparisons if each.suite.has_stored_baseline]
    pools, suite_samples = _create_samples(with_baseline, base_suite_paths)
    return (
        *_test_lost_queries(with_baseline, today),
        *_test_drops(pools, constants.MIN_TESTABLE_QUERIES),
        *_test_drops(suite_samples, constants.MIN_CHANGED_ALONE),
        *_check_few_drops(pools),
    )


# -- Check 1: lost queries -------------------------------------------------------------------------


def _list_countable(changes: Iterable[QueryChange], today: date | None) -> list[QueryChange]:
    """Return the changes of queries without a known issue."""
    return [change for change in changes if not is_excused(change.query, today)]


def _check_lost_queries(comparison: Comparison, today: date | None) -> CheckResult:
    """Count lost queries against gained ones.

    By default, queries from files do not count, because ``check_build_defaults`` tests them.
    """
    setting = comparison.suite.lost_queries
    changes = _list_countable(comparison.changes, today)
    if setting.mode is LostQueriesMode.NET:
        changes = [change for change in changes if not change.query.is_sampled]
    lost = [change for change in changes if change.lost_doc_ids]
    gained_count = sum(bool(change.gained_doc_ids) for change in changes)
    bound = gained_count if setting.mode is LostQueriesMode.NET else setting.maximum

    is_warning = setting.mode is LostQueriesMode.WARN and bool(lost)
    outcome = Outcome.PASSED
    if len(lost) > bound and not is_warning:
        outcome = Outcome.FAILED
    elif lost and setting.mode is LostQueriesMode.NET:
        # Gains excuse the failure, but a person should look at the queries that paid for them.
        outcome = Outcome.REVIEW

    text = write("no query lost all relevant documents")
    if lost:
        queries = list_some([change.query.part for change in lost])
        text = write(format_count(len(lost), "query", "queries"), " lost all relevant documents")
        text += write(" (", queries, ")")
        if setting.mode is LostQueriesMode.MAX:
            text += f", and 'lost_all_relevant' allows {setting.maximum}"
        else:
            text += f", and {gained_count} gained one"
    return _create_result(
        DefaultCheck.LOST_QUERIES,
        outcome,
        text,
        item=_find_default_checks_item(comparison),
        value=len(lost),
        bound=bound,
        query_ids=tuple(change.query.id for change in lost),
        doc_ids=tuple(doc_id for change in lost for doc_id in change.lost_doc_ids),
        is_warning=is_warning,
        could_fail=any(change.had_relevant_in_top for change in changes),
    )


def _test_lost_queries(comparisons: Iterable[Comparison], today: date | None) -> list[CheckResult]:
    """Test in each suite whether significantly more queries from files were lost than gained."""
    results: list[CheckResult] = []
    tests: dict[int, statistics.SignificanceTest] = {}
    for comparison in comparisons:
        sampled = [change for change in comparison.changes if change.query.is_sampled]
        if comparison.suite.lost_queries.mode is not LostQueriesMode.NET or not sampled:
            continue
        changes = _list_countable(sampled, today)
        lost = [change for change in changes if change.lost_doc_ids]
        gained_count = sum(bool(change.gained_doc_ids) for change in changes)
        test = statistics.create_sign_test(len(lost), gained_count, constants.SIGN_TEST_ALPHA)
        text = write(
            format_count(len(lost), "query from a file", "queries from files"),
            f" lost all relevant documents, and {gained_count} gained one",
            f" ({statistics.format_p_value(test.p_value)})",
        )
        # Stop at five, because this takes 18 ms for 1,000 queries.
        losable = (change for change in changes if change.had_relevant_in_top)
        losable_count = len(list(islice(losable, constants.MIN_TESTABLE_QUERIES)))
        result = _create_result(
            DefaultCheck.LOST_QUERIES,
            Outcome.PASSED,
            text,
            value=test.p_value,
            bound=test.alpha,
            query_ids=tuple(change.query.id for change in lost),
            could_fail=losable_count == constants.MIN_TESTABLE_QUERIES,
        )
        tests[len(results)] = test
        results.append(assign_suites(result, [comparison.suite]))
    for index in statistics.select_significant(tests):
        results[index] = replace(results[index], outcome=Outcome.FAILED)
    return results


# -- Samples for checks 2 and 3 --------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """The improvements that a test is about, negative for the worse.

    Attributes:
        comparisons: The suites in which anything changed or, if nothing did, all suites.
        improvements_by_unit: The improvement of each test unit (a query, its variants and its
            copies).
        droppable_count: The number of test units that could drop: they are above 0 in the baseline.
        changed_suite_count: The number of suites in which anything changed.
        alpha: The significance level.
        is_reported: Whether a test that passes gives a result.
    """

    comparisons: tuple[Comparison, ...]
    metric: Metric
    improvements_by_unit: Mapping[str, float]
    droppable_count: int
    changed_suite_count: int
    alpha: float
    is_reported: bool = True

    @property
    def improvements(self) -> list[float]:
        """Return the improvements without their units."""
        return list(self.improvements_by_unit.values())

    @property
    def nonzero(self) -> list[float]:
        """Return the improvements that are not zero."""
        return statistics.select_changed(self.improvements)


def _create_samples(
    comparisons: Iterable[Comparison], base_suite_paths: Collection[str] | None
) -> tuple[list[_Sample], list[_Sample]]:
    """Create a pooled sample for each retriever, and a sample for each suite tested alone."""
    comparisons_by_retriever: dict[RetrieverId, list[Comparison]] = defaultdict(list)
    pools = []
    suite_samples = []
    for comparison in comparisons:
        if not comparison.changes or has_drop_threshold(comparison):
            continue
        if comparison.is_new:
            # New queries could dilute the drop of the others.
            suite_samples.append(_create_suite_sample(comparison, comparison.suite.primary_metric))
        else:
            comparisons_by_retriever[comparison.suite.retriever].append(comparison)
    for retriever_comparisons in comparisons_by_retriever.values():
        members = []
        for comparison, units in _assign_units(retriever_comparisons, base_suite_paths):
            if units:
                members.append((comparison, units))
            else:
                # All of its queries are copies. In the pool, they would outvote the suites of the
                # base branch.
                sample = _create_suite_sample(comparison, comparison.suite.primary_metric)
                suite_samples.append(sample)
        metrics = {comparison.suite.primary_metric for comparison, _ in members}
        # Changes of different metrics are not comparable.
        metric = metrics.pop() if len(metrics) == 1 else DEFAULT_METRIC
        pool = _create_sample(members, metric)
        if pool.droppable_count or pool.improvements:
            pools.append(pool)
        # If only one suite changed, the pool is that suite, so testing it alone adds nothing.
        if pool.changed_suite_count > 1:
            for comparison in pool.comparisons:
                sample = _create_suite_sample(comparison, metric)
                suite_samples.append(replace(sample, is_reported=False))
    return pools, suite_samples


def _assign_units(
    comparisons: Sequence[Comparison], base_suite_paths: Collection[str] | None
) -> list[tuple[Comparison, set[str]]]:
    """Assign to each suite the test units that it contributes to the pool.

    A suite that the change adds contributes the units that no other suite has, because these
    queries may have moved there. Copies do not count, so milder grades cannot hide a drop.
    """
    if base_suite_paths is None:
        base_suite_paths = {comparison.suite.path for comparison in comparisons}
    base_units: set[str] = set()
    units_by_suite = []
    for comparison in comparisons:
        units = {change.test_unit for change in comparison.changes}
        units_by_suite.append((comparison, units))
        if comparison.suite.path in base_suite_paths:
            base_units |= units
    for comparison, units in units_by_suite:
        if comparison.suite.path not in base_suite_paths:
            units.difference_update(base_units)
    return units_by_suite


def _create_suite_sample(comparison: Comparison, metric: Metric) -> _Sample:
    units = {change.test_unit for change in comparison.changes}
    return replace(_create_sample([(comparison, units)], metric), alpha=constants.SUITE_ALPHA)


def _create_sample(members: Sequence[tuple[Comparison, set[str]]], metric: Metric) -> _Sample:
    """Create the sample of some suites, each with the test units that it contributes."""
    changed_suites = []
    units_of_changed_suites: set[str] = set()
    droppable_units: set[str] = set()
    improvements_by_unit: dict[str, list[float]] = defaultdict(list)
    for comparison, units in members:
        suite_improvements = comparison.collect_weighted_improvements(metric)
        means = []
        for unit in suite_improvements.keys() & units:
            means.append(fmean(suite_improvements[unit]))
            improvements_by_unit[unit] += suite_improvements[unit]
        if statistics.select_changed(means):
            changed_suites.append(comparison)
            units_of_changed_suites |= suite_improvements.keys() & units
        droppable_units |= _find_droppable_units(comparison, metric) & units
    # The copies of a query in unchanged suites count in its mean, and the other queries of these
    # suites do not: a large suite in which nothing changed would hide a drop behind MIN_MEAN_DROP.
    means_by_unit = {}
    for unit in sorted(units_of_changed_suites):
        means_by_unit[unit] = fmean(improvements_by_unit[unit])
    is_pooled = len(changed_suites) > 1
    return _Sample(
        comparisons=tuple(changed_suites) or tuple(comparison for comparison, _ in members),
        metric=metric,
        improvements_by_unit=means_by_unit,
        droppable_count=len(droppable_units),
        changed_suite_count=len(changed_suites),
        alpha=constants.POOLED_ALPHA if is_pooled else constants.ONLY_SUITE_ALPHA,
    )


def _find_droppable_units(comparison: Comparison, metric: Metric) -> set[str]:
    """Return the test units that could drop, because they are above 0 in the baseline."""
    values = comparison.get_values(metric, RankingVersion.BEFORE)
    return {change.test_unit for change in comparison.changes if values.get(change.query.id)}


# -- Check 2: significant drops --------------------------------------------------------------------


def _test_drops(samples: Sequence[_Sample], min_changed: int) -> Iterator[CheckResult]:
    """Test samples that share a significance level.

    Fewer than ``min_changed`` changed queries cannot reach it.
    """
    # A sample that rose takes part in the correction: to select tests by the direction of their
    # changes would nearly double the false alarms. The size of the changes has no direction.
    tests = {}
    for index, sample in enumerate(samples):
        if sample.improvements and fmean(map(abs, sample.improvements)) > constants.MIN_MEAN_DROP:
            tests[index] = statistics.create_drop_test(sample.improvements, sample.alpha)
    rejecting = statistics.select_significant(tests)
    for index, sample in enumerate(samples):
        is_failed = index in rejecting and -fmean(sample.improvements) > constants.MIN_MEAN_DROP
        if is_failed or sample.is_reported:
            test = tests.get(index)
            could_fail = sample.droppable_count >= min_changed
            result = _create_result(
                DefaultCheck.SIGNIFICANT_DROP,
                Outcome.FAILED if is_failed else Outcome.PASSED,
                _describe_drop(sample, test, is_failed=is_failed, could_fail=could_fail),
                value=test.p_value if test else None,
                bound=test.alpha if test else None,
                query_ids=_list_worse_query_ids(sample) if is_failed else (),
                could_fail=could_fail,
            )
            yield assign_suites(result, [each.suite for each in sample.comparisons])


def _describe_drop(
    sample: _Sample, test: statistics.SignificanceTest | None, *, is_failed: bool, could_fail: bool
) -> Text:
    nonzero = sample.nonzero
    if not nonzero:
        return write(f"{sample.metric} did not change")
    worse_count = sum(improvement < 0 for improvement in nonzero)
    number = format_count(len(sample.improvements), "query", "queries")
    counts = f"{worse_count} of {number} worse, {len(nonzero) - worse_count} better"
    if not could_fail and not is_failed:
        return write(f"too few queries can drop in {sample.metric} to test it ({counts})")
    figures = [statistics.format_p_value(test.p_value)] if test else []
    if not is_failed:
        return write(f"no significant drop in {sample.metric} ({'; '.join([*figures, counts])})")
    if interval := statistics.compute_interval(sample.improvements):
        low, high = map(_format_signed, interval)
        figures.append(f"90% interval {low} to {high}")
    drop = f"by {-fmean(sample.improvements):.3f} on average"
    text = f"{sample.metric} dropped significantly, {drop} ({', '.join(figures)}; {counts})"
    return write(text)


def _list_worse_query_ids(sample: _Sample) -> tuple[str, ...]:
    """Return the queries that got worse, worst first. Ids are unique in one suite only."""
    if len(sample.comparisons) > 1:
        return ()
    improvements = sample.comparisons[0].collect_improvements(sample.metric)
    worse = [query_id for query_id, improvement in improvements.items() if improvement < 0]
    return tuple(sorted(worse, key=lambda query_id: improvements[query_id]))


# -- Check 3: large drops in a few queries ---------------------------------------------------------


def _check_few_drops(pools: Sequence[_Sample]) -> Iterator[CheckResult]:
    """Check the few changes of a build, averaged over the retrievers in which they occur.

    An average over all retrievers would hide the drop of a single one, and a sum would count a
    drop that all retrievers share several times.
    """
    if not pools:
        return
    changed_pools = [pool for pool in pools if pool.nonzero]
    result = replace(
        _find_few_drops(pools),
        query_ids=_list_worse_query_ids(changed_pools[0]) if len(changed_pools) == 1 else (),
        could_fail=sum(pool.droppable_count for pool in pools) >= constants.MIN_LARGE_DROPS,
    )
    suites = [each.suite for pool in changed_pools or pools for each in pool.comparisons]
    yield assign_suites(result, suites)


def _find_few_drops(pools: Sequence[_Sample]) -> CheckResult:
    """Return the outcome, with the numbers that were compared if the check applies."""
    if any(len(pool.nonzero) >= constants.MIN_TESTABLE_QUERIES for pool in pools):
        text = write("enough queries changed to test their mean")
        return _create_result(DefaultCheck.FEW_DROPS, Outcome.PASSED, text)
    improvements_by_unit: dict[str, list[float]] = defaultdict(list)
    for pool in pools:
        for unit, improvement in pool.improvements_by_unit.items():
            if statistics.select_changed([improvement]):
                improvements_by_unit[unit].append(improvement)
    means = [fmean(improvements) for improvements in improvements_by_unit.values()]
    min_large_change = constants.MIN_LARGE_CHANGE + constants.ROUNDING_ERROR
    large = [mean for mean in means if abs(mean) > min_large_change]
    drop_count = sum(improvement < 0 for improvement in large)
    if len(large) >= constants.MIN_TESTABLE_QUERIES:
        test = statistics.create_drop_test(large, constants.LARGE_CHANGES_ALPHA)
        value, bound, reason = test.p_value, test.alpha, statistics.format_p_value(test.p_value)
        is_failed = (
            bool(statistics.select_significant({"": test}))
            and -fmean(large) > constants.MIN_MEAN_DROP
        )
    else:
        value, bound = sum(large), constants.MIN_SUM_OF_CHANGES
        reason = f"{_format_signed(value)} in total"
        # One large gain excuses large drops: three drops of four happen by chance too often.
        is_failed = drop_count == len(large) >= constants.MIN_LARGE_DROPS and value < bound
    outcome, text = Outcome.PASSED, write("no large drops in a few changed queries")
    if is_failed:
        outcome = Outcome.FAILED
        text = write(f"{drop_count} of {len(means)} changed queries dropped sharply ({reason})")
    return _create_result(DefaultCheck.FEW_DROPS, outcome, text, value=value, bound=bound)


# -- Check 4: queries without judgments ------------------------------------------------------------


def _check_recognizable(comparison: Comparison) -> CheckResult:
    """Check that the rankings of queries without judgments resemble the baseline."""
    changes = []
    for change in comparison.changes:
        query = change.query
        if not query.judgments.grades and not query.expects_no_results:
            changes.append(change)
    new_first = [change for change in changes if change.is_first_hit_new]
    could_fail = len(changes) >= constants.MIN_UNJUDGED_QUERIES
    findings = _find_differences(changes, len(new_first)) if could_fail else []
    text = write(DefaultCheck.UNRECOGNIZABLE.value)
    if findings:
        text = join(findings)
    elif new_first:
        text = write(_describe_first_hits(len(new_first), len(changes)))
    return _create_result(
        DefaultCheck.UNRECOGNIZABLE,
        Outcome.FAILED if findings else Outcome.PASSED,
        text + _name_common_first_hit(new_first, comparison),
        item=_find_default_checks_item(comparison),
        value=len(new_first),
        query_ids=tuple(change.query.id for change in new_first) if findings else (),
        could_fail=could_fail,
    )


def _find_differences(changes: Sequence[QueryChange], new_first_count: int) -> list[Text]:
    """Describe in which ways the rankings differ beyond recognition."""
    total = len(changes)
    overlaps = [change.overlap for change in changes]
    unrelated = overlaps.count(0)
    empty = [change.query for change in changes if change.is_newly_empty]
    findings = []
    if fmean(overlaps) < constants.MIN_MEAN_OVERLAP - constants.ROUNDING_ERROR:
        text = f"the mean overlap@10 with the baseline is only {fmean(overlaps):.2f}"
        findings.append(write(text))
    if _exceeds(new_first_count, total, constants.MAX_NEW_FIRST_HITS_FRACTION):
        findings.append(write(_describe_first_hits(new_first_count, total)))
    if unrelated >= constants.MIN_UNRELATED_QUERIES and _exceeds(
        unrelated, total, constants.MAX_UNRELATED_FRACTION
    ):
        findings.append(write(f"{unrelated} of {total} rankings share no result with the baseline"))
    is_often_empty = _exceeds(len(empty), total, constants.MAX_NEWLY_EMPTY_FRACTION)
    if len(empty) >= constants.MIN_NEWLY_EMPTY_QUERIES and is_often_empty:
        names = list_some([query.part for query in empty])
        findings.append(write(f"{len(empty)} of {total} queries return nothing now: ", names))
    return findings


def _describe_first_hits(new_first_count: int, total: int) -> str:
    return f"the first result changed for {new_first_count} of {total} queries"


def _exceeds(count: int, total: int, fraction: float) -> bool:
    return count > total * fraction + constants.ROUNDING_ERROR


def _name_common_first_hit(new_first: Sequence[QueryChange], comparison: Comparison) -> Text:
    """Name the document that is first for most of these queries now, if there is one."""
    counts: Counter[str] = Counter()
    for change in new_first:
        counts.update(change.now[0].doc_ids[:1])
    for doc_id, count in counts.most_common(1):
        if count > 1 and 2 * count > len(new_first):
            doc = DocPart(doc_id, comparison.titles.get(doc_id, ""))
            return write(f", and {count} of them now begin with ", doc)
    return Text()


# -- Results ---------------------------------------------------------------------------------------


def _create_result(check: DefaultCheck, outcome: Outcome, text: Text, **fields: Any) -> CheckResult:
    return CheckResult(check, outcome, text, label=check.value, **fields)


def _find_default_checks_item(comparison: Comparison) -> str:
    """Return the name of the suite's item that reports its default checks."""
    items = comparison.suite.items
    return next((item.name for item in items if item.kind is ItemKind.DEFAULT_CHECKS), "")


def _format_signed(improvement: float) -> str:
    return f"{improvement:+.3f}".replace("-", "−")  # as in all changes that reports show
