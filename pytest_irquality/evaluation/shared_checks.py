"""The default checks that several suites share.

Every retriever is tested over all its suites together, so a drop that is spread over small suites
is noticed. Large suites are tested alone as well, so the gains of one suite do not hide the drop of
another. Tests of a kind share their level, so the false alarms of a build add up to a few percent.
``benchmarks/simulation.py`` measures them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from statistics import fmean

from pytest_irquality.evaluation.checks import count_lost_and_gained
from pytest_irquality.evaluation.comparison import Side
from pytest_irquality.evaluation.evaluate import Evaluation, has_drop_threshold
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Outcome
from pytest_irquality.evaluation.statistics import (
    SignificanceTest,
    compute_interval,
    create_drop_test,
    create_sign_test,
    select_changed,
    select_rejecting,
)
from pytest_irquality.io.text import Text, format_count, write
from pytest_irquality.metrics import Metric
from pytest_irquality.suite.model import DEFAULT_METRIC, LostQueriesMode, RetrieverId

# The docs print these numbers in one table with those of ``constants``.

# -- Check 1: queries from files -------------------------------------------------------------------

SIGN_TEST_ALPHA = 0.05  # level that the sign tests of all suites share

# -- Check 2: significant drops --------------------------------------------------------------------

POOLED_ALPHA = 0.04  # level that the tests of all retrievers share
ONLY_SUITE_ALPHA = 0.05  # level if all changes of a retriever are in one suite
SUITE_ALPHA = 0.01  # level that the suites tested alone share
MIN_CHANGED_ALONE = 7  # changed queries of a suite tested alone: fewer cannot reach its level
MIN_TESTABLE = 5  # changed queries: fewer cannot reach the other levels
MIN_MEAN_DROP = 0.002  # that the mean drop of the tested queries must exceed

# -- Check 3: large drops in a few queries ---------------------------------------------------------

# Three or four changes cannot reach any level, so their sum must be large instead.
MIN_LARGE_CHANGE = 0.05  # that a large change exceeds
MIN_LARGE_DROPS = 3  # large drops, if three or four changes are large
MIN_SUM_OF_CHANGES = -0.6  # that the sum of three or four large changes must be below
LARGE_CHANGES_ALPHA = 0.05  # level of the test of five or more large changes


def check_shared(
    evaluations: Sequence[Evaluation],
    base_suite_paths: Collection[str] | None = None,
    *,
    today: date | None = None,
) -> tuple[CheckResult, ...]:
    """Make the default checks that need all suites: 1 for queries from files, 2 and 3.

    Args:
        evaluations: The suites of one branch, compared with their baselines.
        base_suite_paths: The suites that the base branch has. Copies of a query in other suites do
            not count. ``None`` if there is no base branch, and the copies in all suites count.
        today: The date in UTC after which known issues count again, or ``None`` if none expires.

    Returns:
        A result for each check, failed or passed. ``was_evaluated`` is false for a check that
        cannot fail with the queries at hand.
    """
    protected = []
    for evaluation in evaluations:
        suite = evaluation.suite
        # Only what the suite itself says applies to another retriever's answers.
        if not suite.baseline_retriever and not suite.is_probe_suite:
            protected.append(evaluation)

    pools, alone = _create_samples(protected, base_suite_paths)
    return (
        *_test_lost_queries(protected, today),
        *_test_drops(pools, MIN_TESTABLE),
        *_test_drops(alone, MIN_CHANGED_ALONE),
        *_check_few_drops(pools),
    )


# -- Check 1: queries from files ------------------------------------------------------------------


def _test_lost_queries(
    evaluations: Iterable[Evaluation], today: date | None
) -> Iterator[CheckResult]:
    """Weigh lost queries against gained ones in the queries of each suite that are from files."""
    counts = {}
    tests = {}
    for index, evaluation in enumerate(evaluations):
        changes = [change for change in evaluation.comparison.changes if change.query.is_sampled]
        if evaluation.suite.lost_queries.mode is LostQueriesMode.NET and changes:
            lost, gained = count_lost_and_gained(changes, today)
            counts[index] = (evaluation, changes, lost, gained)
            tests[index] = create_sign_test(lost, gained, SIGN_TEST_ALPHA)

    rejecting = select_rejecting(tests)
    for index, (evaluation, changes, lost, gained) in counts.items():
        text = write(
            format_count(lost, "query from a file", "queries from files"),
            f" lost all relevant documents, and {gained} gained one",
            f" ({_format_p_value(tests[index])})",
        )
        able = islice((change for change in changes if change.can_lose), MIN_TESTABLE)
        lost_changes = [c for c in changes if not c.is_unchanged and c.lost_doc_ids]
        yield _create_result(
            DefaultCheck.LOST_QUERIES,
            [evaluation],
            text,
            is_failed=index in rejecting,
            was_evaluated=len(list(able)) == MIN_TESTABLE,
            test=tests[index],
            query_ids=tuple(change.query.id for change in lost_changes),
        )


# -- Samples for checks 2 and 3 -------------------------------------------------------------------


@dataclass(frozen=True)
class _Sample:
    """The changes that a test is about.

    Attributes:
        evaluations: The suites in which anything changed or, if nothing did, all suites.
        deltas_by_unit: The change of each test unit (a query, its variants and its copies).
        able_count: How many test units could drop, because they are above 0 in the baseline.
        is_reported: Whether a test that passes gives a result.
    """

    evaluations: tuple[Evaluation, ...]
    metric: Metric
    deltas_by_unit: Mapping[str, float]
    able_count: int
    alpha: float
    is_reported: bool = True

    @property
    def deltas(self) -> list[float]:
        """Return the changes without their units."""
        return list(self.deltas_by_unit.values())


def _create_samples(
    evaluations: Iterable[Evaluation], base_suite_paths: Collection[str] | None
) -> tuple[list[_Sample], list[_Sample]]:
    """Create the sample of each retriever, and those of the suites that are tested alone."""
    members: dict[RetrieverId, list[Evaluation]] = defaultdict(list)
    pools = []
    alone = []
    for evaluation in evaluations:
        if not evaluation.comparison.changes or has_drop_threshold(evaluation):
            continue
        if evaluation.comparison.is_new:
            # New queries could dilute the drop of the others.
            alone.append(_create_suite_sample(evaluation, evaluation.suite.primary_metric))
        else:
            members[evaluation.suite.retriever].append(evaluation)
    for retriever_evaluations in members.values():
        pooled = []
        for evaluation, units in _assign_units(retriever_evaluations, base_suite_paths):
            if units:
                pooled.append((evaluation, units))
            else:
                # The suite has copies only, so it would outvote what the base branch requires.
                alone.append(_create_suite_sample(evaluation, evaluation.suite.primary_metric))
        pool = _create_pool(pooled)
        pools.append(pool)
        # The only suite in which anything changed has the level of all.
        if pool.alpha == POOLED_ALPHA:
            for evaluation in pool.evaluations:
                alone.append(_create_suite_sample(evaluation, pool.metric, is_reported=False))
    return [pool for pool in pools if pool.able_count or pool.deltas], alone


def _assign_units(
    evaluations: Sequence[Evaluation], base_suite_paths: Collection[str] | None
) -> list[tuple[Evaluation, set[str]]]:
    """Assign to each suite the test units that it contributes to the pool.

    A suite that the change adds contributes the units that no other suite has, because they may
    have moved there. Its copies would let friendlier grades hide a drop.
    """
    base_units = set()
    units_by_suite = []
    for evaluation in evaluations:
        units = {change.test_unit for change in evaluation.comparison.changes}
        units_by_suite.append((evaluation, units))
        if base_suite_paths is not None and evaluation.suite.path in base_suite_paths:
            base_units |= units
    for evaluation, units in units_by_suite:
        if base_suite_paths is not None and evaluation.suite.path not in base_suite_paths:
            units.difference_update(base_units)
    return units_by_suite


def _create_pool(members: Sequence[tuple[Evaluation, set[str]]]) -> _Sample:
    metrics = {evaluation.suite.primary_metric for evaluation, _ in members}
    # Changes of different metrics are not comparable.
    metric = metrics.pop() if len(metrics) == 1 else DEFAULT_METRIC
    changed = []
    changed_units: set[str] = set()
    able_units: set[str] = set()
    deltas_by_unit: dict[str, list[float]] = defaultdict(list)
    for evaluation, units in members:
        suite_deltas = evaluation.comparison.collect_deltas(metric)
        means = []
        for unit in suite_deltas.keys() & units:
            means.append(fmean(suite_deltas[unit]))
            deltas_by_unit[unit] += suite_deltas[unit]
        if select_changed(means):
            changed.append(evaluation)
            changed_units |= suite_deltas.keys() & units
        able_units |= _find_able_units(evaluation, metric) & units
    # The copies of a query in unchanged suites count in its mean, and the other queries of these
    # suites do not: a large suite in which nothing changed would hide a drop behind MIN_MEAN_DROP.
    pooled = {unit: fmean(deltas_by_unit[unit]) for unit in sorted(changed_units)}
    return _Sample(
        tuple(changed) or tuple(evaluation for evaluation, _ in members),
        metric,
        pooled,
        len(able_units),
        POOLED_ALPHA if len(changed) > 1 else ONLY_SUITE_ALPHA,
    )


def _create_suite_sample(
    evaluation: Evaluation, metric: Metric, *, is_reported: bool = True
) -> _Sample:
    deltas = {}
    for unit, values in evaluation.comparison.collect_deltas(metric).items():
        deltas[unit] = fmean(values)
    able_count = len(_find_able_units(evaluation, metric))
    return _Sample((evaluation,), metric, deltas, able_count, SUITE_ALPHA, is_reported)


def _find_able_units(evaluation: Evaluation, metric: Metric) -> set[str]:
    """Return the test units that could drop, because they are above 0 in the baseline."""
    values = evaluation.comparison.values(metric, Side.BEFORE)
    units = set()
    for change in evaluation.comparison.changes:
        if values.get(change.query.id):
            units.add(change.test_unit)
    return units


# -- Check 2: significant drops --------------------------------------------------------------------


def _test_drops(samples: Sequence[_Sample], min_changed: int) -> Iterator[CheckResult]:
    """Test samples that share their level.

    Args:
        samples: The samples.
        min_changed: How many changed queries can reach the level.

    """
    # A sample that rose takes part in the correction: to select tests by the direction of their
    # changes would nearly double the false alarms.
    tests = {}
    for index, sample in enumerate(samples):
        # This does not depend on the direction of the changes either.
        if sample.deltas and fmean(map(abs, sample.deltas)) > MIN_MEAN_DROP:
            tests[index] = create_drop_test(sample.deltas, sample.alpha)
    rejecting = select_rejecting(tests)
    for index, sample in enumerate(samples):
        is_failed = index in rejecting and -fmean(sample.deltas) > MIN_MEAN_DROP
        if is_failed or sample.is_reported:
            was_evaluated = sample.able_count >= min_changed
            test = tests.get(index)
            yield _create_result(
                DefaultCheck.SIGNIFICANT_DROP,
                sample.evaluations,
                _describe_drop(sample, test, is_failed=is_failed, was_evaluated=was_evaluated),
                is_failed=is_failed,
                was_evaluated=was_evaluated,
                test=test,
                query_ids=_list_worse_query_ids(sample) if is_failed else (),
            )


def _describe_drop(
    sample: _Sample, test: SignificanceTest | None, *, is_failed: bool, was_evaluated: bool
) -> Text:
    changed = select_changed(sample.deltas)
    worse = sum(delta < 0 for delta in changed)
    number = format_count(len(sample.deltas), "query", "queries")
    counts = f"{worse} of {number} worse, {len(changed) - worse} better"
    p_value = _format_p_value(test) if test else ""
    if not changed:
        return write(f"{sample.metric} did not change")
    if is_failed:
        interval = compute_interval(sample.deltas)
        bounds = f", 90 % interval {interval[0]:+.3f} to {interval[1]:+.3f}" if interval else ""
        drop = f"by {-fmean(sample.deltas):.3f} on average"
        return write(f"{sample.metric} dropped significantly, {drop} ({p_value}{bounds}; {counts})")
    if not was_evaluated:
        return write(f"{number} are too few to test a drop of {sample.metric} ({counts})")
    return write(f"no significant drop of {sample.metric} ({p_value}{'; ' * bool(test)}{counts})")


def _list_worse_query_ids(sample: _Sample) -> tuple[str, ...]:
    """Return the queries that got worse, worst first. Ids are unique in one suite only."""
    if len(sample.evaluations) > 1:
        return ()
    gains = {}
    for change in sample.evaluations[0].comparison.changes:
        score = change.score(sample.metric)
        if score and score.gain < 0:
            gains[change.query.id] = score.gain
    return tuple(sorted(gains, key=lambda query_id: gains[query_id]))


# -- Check 3: large drops in a few queries ---------------------------------------------------------


def _check_few_drops(pools: Sequence[_Sample]) -> Iterator[CheckResult]:
    """Check the few changes of a build, averaged over the retrievers in which they occur.

    An average over all retrievers would hide the drop of a single one, and a sum would count a
    drop that all retrievers share several times.
    """
    if not pools:
        return
    deltas_by_unit: dict[str, list[float]] = defaultdict(list)
    for pool in pools:
        for unit, delta in pool.deltas_by_unit.items():
            if select_changed([delta]):
                deltas_by_unit[unit].append(delta)
    means = [fmean(deltas) for deltas in deltas_by_unit.values()]
    large = [mean for mean in means if abs(mean) > MIN_LARGE_CHANGE]
    drop_count = sum(delta < 0 for delta in large)
    test = None
    reason = f"their sum is {sum(large):+.3f}"
    is_testable = any(len(select_changed(pool.deltas)) >= MIN_TESTABLE for pool in pools)
    is_failed = False
    text = write("no large drops in a few changed queries")
    if is_testable:
        text = write("enough queries changed to test their mean")
    elif len(large) >= MIN_TESTABLE:
        test = create_drop_test(large, LARGE_CHANGES_ALPHA)
        reason = _format_p_value(test)
        is_failed = bool(select_rejecting({"": test})) and -fmean(large) > MIN_MEAN_DROP
    else:
        is_failed = drop_count >= MIN_LARGE_DROPS and sum(large) < MIN_SUM_OF_CHANGES
    if is_failed:
        text = write(f"{drop_count} of {len(means)} changed queries dropped by much ({reason})")
    changed_pools = [pool for pool in pools if select_changed(pool.deltas)]
    yield _create_result(
        DefaultCheck.FEW_DROPS,
        [evaluation for pool in changed_pools or pools for evaluation in pool.evaluations],
        text,
        is_failed=is_failed,
        was_evaluated=sum(pool.able_count for pool in pools) >= MIN_LARGE_DROPS,
        test=test,
        value=None if is_testable else sum(large),
        bound=None if is_testable else MIN_SUM_OF_CHANGES,
        query_ids=_list_worse_query_ids(changed_pools[0]) if len(changed_pools) == 1 else (),
    )


# -- Results ---------------------------------------------------------------------------------------


def _create_result(
    check: DefaultCheck,
    evaluations: Sequence[Evaluation],
    text: Text,
    *,
    is_failed: bool,
    was_evaluated: bool,
    test: SignificanceTest | None = None,
    value: float | None = None,
    bound: float | None = None,
    query_ids: tuple[str, ...] = (),
) -> CheckResult:
    retrievers = {evaluation.suite.retriever for evaluation in evaluations}
    paths = {evaluation.suite.path for evaluation in evaluations}
    # A suite that runs on several retrievers is named once.
    names = dict.fromkeys(evaluation.suite.name for evaluation in evaluations)
    return CheckResult(
        check,
        subject=", ".join(names),
        outcome=Outcome.FAILED if is_failed else Outcome.PASSED,
        text=text,
        label=check.value,
        suite_path=paths.pop() if len(paths) == 1 else "",
        retriever=retrievers.pop() if len(retrievers) == 1 else None,
        value=test.p_value if test else value,
        bound=test.alpha if test else bound,
        query_ids=query_ids,
        was_evaluated=was_evaluated,
    )


def _format_p_value(test: SignificanceTest) -> str:
    return "p < 0.001" if test.p_value < 0.001 else f"p = {test.p_value:.3f}"
