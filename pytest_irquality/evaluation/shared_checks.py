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
from pytest_irquality.evaluation.columns import Side
from pytest_irquality.evaluation.comparison import QueryChange
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

SIGN_TEST_ALPHA = 0.05

POOLED_ALPHA = 0.04
SUITE_ALPHA = 0.01
ONLY_SUITE_ALPHA = 0.05
MIN_MEAN_DROP = 0.002
MIN_CHANGED_ALONE = 7  # Fewer changes cannot reach SUITE_ALPHA.
MIN_TESTABLE = 5  # Fewer changes cannot reach any other level.

# Three or four changes cannot reach any level, so their sum must be large instead.
MIN_LARGE_CHANGE = 0.05
MIN_LARGE_DROPS = 3
MIN_SUM_OF_CHANGES = -0.6
LARGE_CHANGES_ALPHA = 0.05

CONSTANTS = (
    ("SIGN_TEST_ALPHA", SIGN_TEST_ALPHA, "level of check 1 for queries from files"),
    ("POOLED_ALPHA", POOLED_ALPHA, "level of check 2 over all suites of a retriever"),
    ("ONLY_SUITE_ALPHA", ONLY_SUITE_ALPHA, "level of check 2 if all changes are in one suite"),
    ("SUITE_ALPHA", SUITE_ALPHA, "level that suites tested alone have in common"),
    ("MIN_CHANGED_ALONE", MIN_CHANGED_ALONE, "changed queries of a suite that is tested alone"),
    ("MIN_MEAN_DROP", MIN_MEAN_DROP, "mean drop that a tested drop must exceed"),
    ("MIN_TESTABLE", MIN_TESTABLE, "changed queries of a retriever, from which check 3 is off"),
    ("MIN_LARGE_CHANGE", MIN_LARGE_CHANGE, "change that is large in check 3, if more than this"),
    ("MIN_LARGE_DROPS", MIN_LARGE_DROPS, "large drops that check 3 needs"),
    ("MIN_SUM_OF_CHANGES", MIN_SUM_OF_CHANGES, "sum of large changes, below which check 3 fails"),
    ("LARGE_CHANGES_ALPHA", LARGE_CHANGES_ALPHA, "level of check 3 for five or more large changes"),
)


@dataclass(frozen=True)
class _Pool:
    """What the suites of a retriever contribute to checks 2 and 3.

    Attributes:
        members: The suites that take part.
        changed: Those in which anything changed.
        deltas: The change of each test unit of the suites in which anything changed.
        able_count: How many test units of all members could drop, because they are above 0 in the
            baseline.
    """

    metric: Metric
    members: tuple[Evaluation, ...]
    changed: tuple[Evaluation, ...]
    deltas: Mapping[str, float]
    able_count: int


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

    pools, single = _create_pools(protected, base_suite_paths)
    return (
        *_test_lost_samples(protected, today),
        *_test_pools(pools),
        *_test_suites(pools, single),
        *_check_few_drops(pools),
    )


# -- Check 1: queries from files ------------------------------------------------------------------


def _test_lost_samples(
    evaluations: Iterable[Evaluation], today: date | None
) -> Iterator[CheckResult]:
    """Weigh lost queries against gained ones in each sample."""
    samples: list[tuple[Evaluation, list[QueryChange], Text]] = []
    tests = {}
    for evaluation in evaluations:
        changes = [change for change in evaluation.comparison.changes if change.query.is_sampled]
        if evaluation.suite.lost_queries.mode is LostQueriesMode.NET and changes:
            lost, gained = count_lost_and_gained(changes, today)
            test = create_sign_test(lost, gained, SIGN_TEST_ALPHA)
            text = write(
                format_count(lost, "query from a file", "queries from files"),
                f" lost all relevant documents, and {gained} gained one",
                f" ({_format_p_value(test.p_value)})",
            )
            tests[len(samples)] = test
            samples.append((evaluation, changes, text))

    rejecting = select_rejecting(tests)
    for index, (evaluation, changes, text) in enumerate(samples):
        able = islice((change for change in changes if change.can_lose), MIN_TESTABLE)
        yield _create_result(
            DefaultCheck.LOST_QUERIES,
            [evaluation],
            text,
            is_failed=index in rejecting,
            was_evaluated=len(list(able)) == MIN_TESTABLE,
            test=tests[index],
            query_ids=tuple(
                change.query.id
                for change in changes
                if not change.is_unchanged and change.lost_doc_ids
            ),
        )


# -- Pools ----------------------------------------------------------------------------------------


def _create_pools(
    evaluations: Iterable[Evaluation], base_suite_paths: Collection[str] | None
) -> tuple[list[_Pool], list[Evaluation]]:
    """Create a pool for each retriever, and list the suites that can only be tested alone."""
    members: dict[RetrieverId, list[Evaluation]] = defaultdict(list)
    single = []
    for evaluation in evaluations:
        if not evaluation.comparison.changes or has_drop_threshold(evaluation):
            continue
        if evaluation.comparison.is_new:
            # New queries could dilute the drop of the others.
            single.append(evaluation)
        else:
            members[evaluation.suite.retriever].append(evaluation)

    pools = []
    for retriever_evaluations in members.values():
        units_by_suite = _assign_units(retriever_evaluations, base_suite_paths)
        pooled = []
        for evaluation, units in zip(retriever_evaluations, units_by_suite, strict=True):
            if units:
                pooled.append((evaluation, units))
            else:
                # The suite has copies only, so it would outvote what the base branch requires.
                single.append(evaluation)
        if pool := _create_pool(pooled):
            pools.append(pool)
    return pools, single


def _assign_units(
    evaluations: Sequence[Evaluation], base_suite_paths: Collection[str] | None
) -> list[set[str]]:
    """Return the test units that each suite contributes.

    A suite that the change adds contributes the units that no other suite has, because they may
    have moved there. Its copies would let friendlier grades hide a drop.
    """
    base_units = set()
    units_by_suite = []
    for evaluation in evaluations:
        units = {change.test_unit for change in evaluation.comparison.changes}
        units_by_suite.append(units)
        if base_suite_paths is None or evaluation.suite.path in base_suite_paths:
            base_units |= units
    if base_suite_paths is not None:
        for index, evaluation in enumerate(evaluations):
            if evaluation.suite.path not in base_suite_paths:
                units_by_suite[index] -= base_units
    return units_by_suite


def _create_pool(members: Sequence[tuple[Evaluation, set[str]]]) -> _Pool | None:
    metrics = {evaluation.suite.primary_metric for evaluation, _ in members}
    # Changes of different metrics are not comparable.
    metric = metrics.pop() if len(metrics) == 1 else DEFAULT_METRIC

    changed = []
    changed_units: set[str] = set()
    able_units: set[str] = set()
    deltas_by_unit: dict[str, list[float]] = defaultdict(list)
    for evaluation, units in members:
        suite_deltas = collect_unit_deltas(evaluation, metric, units)
        if select_changed([fmean(deltas) for deltas in suite_deltas.values()]):
            changed.append(evaluation)
            changed_units |= suite_deltas.keys()
        able_units |= _find_able_units(evaluation, metric) & suite_deltas.keys()
        for unit, deltas in suite_deltas.items():
            deltas_by_unit[unit] += deltas
    if not deltas_by_unit:
        return None
    # The copies of a query in unchanged suites count in its mean, and the other queries of these
    # suites do not: a large suite in which nothing changed would hide a drop behind MIN_MEAN_DROP.
    pooled = {}
    for unit, values in deltas_by_unit.items():
        if unit in changed_units:
            pooled[unit] = fmean(values)
    evaluations = tuple(evaluation for evaluation, _ in members)
    return _Pool(metric, evaluations, tuple(changed), pooled, len(able_units))


def collect_unit_deltas(
    evaluation: Evaluation, metric: Metric, units: Collection[str] | None = None
) -> dict[str, list[float]]:
    """Return the changes of each test unit, which is a query with its variants."""
    unit_deltas = evaluation.comparison.collect_deltas(metric)
    if units is None:
        return unit_deltas
    return {unit: deltas for unit, deltas in unit_deltas.items() if unit in units}


def _find_able_units(evaluation: Evaluation, metric: Metric) -> set[str]:
    """Return the test units that could drop, because they are above 0 in the baseline."""
    values = evaluation.comparison.values(metric, Side.BEFORE)
    units = set()
    for change in evaluation.comparison.changes:
        if values.get(change.query.id):
            units.add(change.test_unit)
    return units


# -- Check 2: significant drops --------------------------------------------------------------------


def _test_pools(pools: Sequence[_Pool]) -> Iterator[CheckResult]:
    tests = {}
    for index, pool in enumerate(pools):
        deltas = list(pool.deltas.values())
        # If all changes are in one suite, nothing else is tested, and it has the level of all.
        alpha = ONLY_SUITE_ALPHA if len(pool.changed) == 1 else POOLED_ALPHA
        if _could_fail(deltas):
            tests[index] = create_drop_test(deltas, alpha)
    rejecting = select_rejecting(tests)
    for index, pool in enumerate(pools):
        deltas = list(pool.deltas.values())
        yield _create_drop_result(
            pool.changed or pool.members,
            pool.metric,
            deltas,
            tests.get(index),
            is_failed=index in rejecting and -fmean(deltas) > MIN_MEAN_DROP,
            was_evaluated=pool.able_count >= MIN_TESTABLE,
        )


def _could_fail(deltas: Sequence[float]) -> bool:
    """Return whether the drop would be large enough if every change had been for the worse.

    A test that could fail takes part in the correction even if the metric rose: to select tests by
    the direction of their changes would nearly double the false alarms.
    """
    return bool(deltas) and fmean(map(abs, deltas)) > MIN_MEAN_DROP


def _test_suites(pools: Iterable[_Pool], single: Iterable[Evaluation]) -> Iterator[CheckResult]:
    """Test large suites alone, except the only suite of a pool, which has been tested."""
    candidates = [(evaluation, evaluation.suite.primary_metric) for evaluation in single]
    single_count = len(candidates)
    for pool in pools:
        if len(pool.changed) > 1:
            candidates += [(evaluation, pool.metric) for evaluation in pool.changed]

    tests = {}
    deltas_by_suite = []
    for index, (evaluation, metric) in enumerate(candidates):
        unit_deltas = collect_unit_deltas(evaluation, metric)
        deltas = [fmean(values) for values in unit_deltas.values()]
        deltas_by_suite.append(deltas)
        if len(select_changed(deltas)) >= MIN_CHANGED_ALONE and _could_fail(deltas):
            tests[index] = create_drop_test(deltas, SUITE_ALPHA)
    rejecting = select_rejecting(tests)
    for index, (evaluation, metric) in enumerate(candidates):
        deltas = deltas_by_suite[index]
        is_failed = index in rejecting and -fmean(deltas) > MIN_MEAN_DROP
        # The pool already has a result for its suites.
        if is_failed or (index < single_count and deltas):
            able_count = len(_find_able_units(evaluation, metric))
            yield _create_drop_result(
                [evaluation],
                metric,
                deltas,
                tests.get(index),
                is_failed=is_failed,
                was_evaluated=able_count >= MIN_CHANGED_ALONE,
            )


def _create_drop_result(
    evaluations: Sequence[Evaluation],
    metric: Metric,
    deltas: Sequence[float],
    test: SignificanceTest | None,
    *,
    is_failed: bool,
    was_evaluated: bool,
) -> CheckResult:
    worse = sum(delta < 0 for delta in select_changed(deltas))
    better = sum(delta > 0 for delta in select_changed(deltas))
    counts = f"{worse} of {format_count(len(deltas), 'query', 'queries')} worse, {better} better"
    if is_failed and test:
        interval = compute_interval(deltas)
        bounds = f", 90 % interval {interval[0]:+.3f} to {interval[1]:+.3f}" if interval else ""
        text = write(
            f"{metric} dropped significantly, by {-fmean(deltas):.3f} on average "
            f"({_format_p_value(test.p_value)}{bounds}; {counts})"
        )
    elif not worse and not better:
        text = write(f"{metric} did not change")
    elif not was_evaluated:
        text = write(f"the change of {metric} cannot be tested with so few queries ({counts})")
    else:
        p_text = f"{_format_p_value(test.p_value)}; " if test else ""
        text = write(f"no significant drop of {metric} ({p_text}{counts})")
    return _create_result(
        DefaultCheck.SIGNIFICANT_DROP,
        evaluations,
        text,
        is_failed=is_failed,
        was_evaluated=was_evaluated,
        test=test,
        query_ids=_list_worse_query_ids(evaluations, metric) if is_failed else (),
    )


# -- Check 3: large drops in a few queries ---------------------------------------------------------


def _check_few_drops(pools: Sequence[_Pool]) -> Iterator[CheckResult]:
    """Check the few changes of a build, averaged over the retrievers in which they occur.

    An average over all retrievers would hide the drop of a single one, and a sum would count a
    drop that all retrievers share several times.
    """
    if not pools:
        return
    deltas_by_unit: dict[str, list[float]] = defaultdict(list)
    is_applicable = True
    for pool in pools:
        changed = {unit: delta for unit, delta in pool.deltas.items() if select_changed([delta])}
        is_applicable &= len(changed) < MIN_TESTABLE
        for unit, delta in changed.items():
            deltas_by_unit[unit].append(delta)
    means = [fmean(deltas) for deltas in deltas_by_unit.values()]
    large = [mean for mean in means if abs(mean) > MIN_LARGE_CHANGE]

    drop_count = sum(delta < 0 for delta in large)
    total = sum(large)
    value, bound = total, MIN_SUM_OF_CHANGES
    reason = f"the sum of {len(large)} large changes is {total:+.3f}"
    is_failed = False
    if is_applicable and len(large) >= MIN_TESTABLE:
        test = create_drop_test(large, LARGE_CHANGES_ALPHA)
        is_failed = -fmean(large) > MIN_MEAN_DROP and bool(select_rejecting({"": test}))
        value, bound = test.p_value, test.alpha
        reason += f", {_format_p_value(test.p_value)}"
    elif is_applicable:
        is_failed = drop_count >= MIN_LARGE_DROPS and total < MIN_SUM_OF_CHANGES
    if is_failed:
        text = write(f"{drop_count} of {len(means)} changed queries dropped by much ({reason})")
    else:
        text = write("no large drops in a few changed queries")
    changed_suites = [evaluation for pool in pools for evaluation in pool.changed]
    members = [evaluation for pool in pools for evaluation in pool.members]
    yield _create_result(
        DefaultCheck.FEW_DROPS,
        changed_suites or members,
        text,
        is_failed=is_failed,
        was_evaluated=sum(pool.able_count for pool in pools) >= MIN_LARGE_DROPS,
        value=value,
        bound=bound,
        query_ids=_list_worse_query_ids(changed_suites, pools[0].metric) if is_failed else (),
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
    if test:
        value, bound = test.p_value, test.alpha
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
        value=value,
        bound=bound,
        query_ids=query_ids,
        was_evaluated=was_evaluated,
    )


def _list_worse_query_ids(evaluations: Sequence[Evaluation], metric: Metric) -> tuple[str, ...]:
    """Return the queries that got worse, worst first, or none if several suites share the check.

    Ids are unique in a suite only.
    """
    if len({evaluation.suite.path for evaluation in evaluations}) != 1:
        return ()
    lowest: dict[str, float] = {}
    for evaluation in evaluations:
        undecided = {change.query.id for change in evaluation.comparison.list_undecided(metric)}
        for change in evaluation.comparison.changes:
            score = change.score(metric)
            if score and score.gain < 0 and change.query.id not in undecided:
                query_id = change.query.id
                lowest[query_id] = min(score.gain, lowest.get(query_id, 0.0))
    return tuple(sorted(lowest, key=lambda query_id: lowest[query_id]))


def _format_p_value(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
