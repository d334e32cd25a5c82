"""The default checks that several suites share, on both sides of nearly every constant."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_irquality.baselines.sources import Baseline
from pytest_irquality.evaluation.decide import Decision, decide
from pytest_irquality.evaluation.evaluate import Branch
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Outcome
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import (
    KnownIssue,
    LostQueriesMode,
    LostQueriesSetting,
    RetrieverId,
    RunKey,
    Suite,
)
from tests.builders import (
    EMPTY,
    GOOD,
    SWAPPED,
    WORSE,
    make_query,
    make_repeated_run,
    make_run,
    make_suite,
    make_threshold,
    rank,
)
from tests.evaluation.decision_builders import (
    LAST_SWAPPED,
    answer,
    decide_on,
    list_failed,
    make_branch,
    make_runs,
    merge,
)

SHOP = make_suite("shop")
SHOP_BASE = make_branch([SHOP], make_run(SHOP))


def list_failed_checks(decision: Decision) -> list[tuple[DefaultCheck, str]]:
    """Return the shared checks that fail, with their subjects."""
    failed = []
    for result in decision.current.shared_results:
        if result.outcome is Outcome.FAILED:
            assert isinstance(result.check, DefaultCheck)
            failed.append((result.check, result.subject))
    return failed


def get_results(decision: Decision, check: DefaultCheck) -> list[CheckResult]:
    return [result for result in decision.current.shared_results if result.check is check]


# -- Check 2: levels and the size of a drop --------------------------------------------------------


def test_unchanged_run_passes_and_names_the_checks() -> None:
    decision = decide_on([SHOP], make_run(SHOP), make_run(SHOP))

    results = decision.current.shared_results
    assert {result.subject for result in results} == {"shop"}
    assert [(result.check, result.outcome, result.could_fail) for result in results] == [
        (DefaultCheck.SIGNIFICANT_DROP, Outcome.PASSED, True),
        (DefaultCheck.FEW_DROPS, Outcome.PASSED, True),
    ]


def test_significant_drop_fails_whatever_its_size() -> None:
    """Finding 1.11: ten of 225 queries lose a little, and the mean drops by less than 0.01."""
    suite = make_suite(queries=225)

    decision = decide_on([suite], make_run(suite, worse=10, ranking=SWAPPED), make_run(suite))

    (result,) = list_failed(decision)
    assert (result.value, result.bound) == (2**-10, 0.05)
    assert (result.suite_path, result.retriever) == ("shop.ir.yaml", RetrieverId())
    assert result.query_ids == tuple(f"shop {number}" for number in range(10))
    assert str(result.text) == (
        "ndcg@10 dropped significantly, by 0.003 on average "
        "(p < 0.001, 90% interval −0.006 to −0.001; 10 of 225 queries worse, 0 better)"
    )


def test_broad_small_drop_fails() -> None:
    """S12: a broad small drop: 200 queries, ndcg@10 down by 0.03, no single query dramatic."""
    suite = make_suite(queries=200)

    decision = decide_on([suite], make_run(suite, worse=77, ranking=SWAPPED), make_run(suite))

    (result,) = list_failed(decision)
    assert result.check is DefaultCheck.SIGNIFICANT_DROP
    assert "by 0.030 on average (p < 0.001, 90% interval" in str(result.text)


@pytest.mark.parametrize(("queries", "outcome"), [(193, Outcome.FAILED), (194, Outcome.PASSED)])
def test_drop_must_exceed_a_negligible_size(queries: int, outcome: Outcome) -> None:
    """Five drops of 0.0775 have p = 0.031. The mean drop is 0.002008 or 0.001998."""
    suite = make_suite(queries=queries)

    decision = decide_on([suite], make_run(suite, worse=5, ranking=SWAPPED), make_run(suite))

    assert decision.outcome is outcome


@pytest.mark.parametrize(
    ("sizes", "outcome"),
    [
        pytest.param([20], Outcome.FAILED, id="one suite at 5%"),
        pytest.param([10, 10], Outcome.PASSED, id="two suites at 4%"),
    ],
)
def test_only_suite_with_changes_has_the_level_of_all(sizes: list[int], outcome: Outcome) -> None:
    """Four large drops, a small drop and an equal gain have p = 3/64 = 0.047."""
    suites = [make_suite(f"suite {size} {number}", size) for number, size in enumerate(sizes)]
    queries = [query for suite in suites for query in suite.queries]
    unchanged = make_run(*suites)
    run = merge(unchanged, answer(queries[:4], WORSE), answer(queries[-1:], SWAPPED))
    baseline_run = merge(unchanged, answer(queries[-2:-1], SWAPPED))

    decision = decide_on(suites, run, baseline_run)

    assert decision.outcome is outcome


def test_drop_over_two_suites_fails_as_one_build() -> None:
    """S41: 4 of 20 queries get worse in one suite, 3 of 20 in another, none better."""
    suites = [make_suite("shoes"), make_suite("boots")]
    run = merge(make_run(suites[0], worse=4), make_run(suites[1], worse=3))

    decision = decide_on(suites, run, make_run(*suites))

    (result,) = list_failed(decision)
    assert (result.check, result.subject) == (DefaultCheck.SIGNIFICANT_DROP, "shoes, boots")
    assert (result.suite_path, result.retriever) == ("", RetrieverId())
    assert result.value == 2**-7
    assert "7 of 40 queries worse" in str(result.text)


def test_unchanged_suites_take_no_part_in_the_correction() -> None:
    """S59: six of 20 queries lose one rank; three other suites do not change."""
    others = [make_suite(f"other {number}") for number in range(3)]
    run = merge(make_run(*others), make_run(SHOP, worse=6, ranking=SWAPPED))

    decision = decide_on([SHOP, *others], run, make_run(SHOP, *others))

    assert list_failed_checks(decision) == [(DefaultCheck.SIGNIFICANT_DROP, "shop")]
    assert list_failed(decision)[0].value == 2**-6


def test_unchanged_suite_does_not_dilute_the_pool() -> None:
    """S58: 200 easy queries. Over all 370 queries, the mean drop would be less than 0.002."""
    easy = make_suite("easy", queries=350)
    run = merge(make_run(easy), make_run(SHOP, worse=8, ranking=SWAPPED))

    decision = decide_on([SHOP, easy], run, make_run(SHOP, easy))

    assert decision.outcome is Outcome.FAILED


def test_gains_of_one_suite_do_not_hide_the_drop_of_another() -> None:
    worse, better = make_suite("worse"), make_suite("better")
    baseline_run = merge(make_run(worse), make_run(better, worse=8))
    run = merge(make_run(worse, worse=8, ranking=SWAPPED), make_run(better))

    decision = decide_on([worse, better], run, baseline_run)

    assert list_failed_checks(decision) == [(DefaultCheck.SIGNIFICANT_DROP, "worse")]


@pytest.mark.parametrize(("worse", "is_failed"), [(6, False), (8, True)])
def test_suite_alone_needs_enough_changed_queries(worse: int, is_failed: bool) -> None:
    """Gains of another suite hide the drop in the pool. Two suite tests have 0.5% each."""
    suite, better = make_suite("worse"), make_suite("better")
    baseline_run = merge(make_run(suite), make_run(better, worse=10))
    run = merge(make_run(suite, worse=worse, ranking=SWAPPED), make_run(better))

    decision = decide_on([suite, better], run, baseline_run)

    assert bool(list_failed_checks(decision)) is is_failed


def test_three_suites_fail_at_once() -> None:
    """S71: three suites get worse, and each number is that of what it follows."""
    suites = [make_suite(name) for name in ("kettles", "lamps", "chairs")]
    drops = [
        make_run(suites[0], worse=9),
        make_run(suites[1], worse=8),
        make_run(suites[2], worse=7),
    ]
    gaining = [suites[0].queries[9], *suites[1].queries[8:10], *suites[2].queries[7:9]]
    one_lower = rank("x", "best", "good", "fair")  # nDCG 0.698
    baseline_run = merge(make_run(*suites), answer(gaining, one_lower))

    decision = decide_on(suites, merge(*drops), baseline_run)

    texts = {result.subject: str(result.text) for result in list_failed(decision)}
    assert set(texts) == {"kettles, lamps, chairs", "kettles"}
    assert "24 of 60 queries worse, 5 better" in texts["kettles, lamps, chairs"]
    assert "9 of 20 queries worse, 1 better" in texts["kettles"]


# -- Check 2: metrics and weights ------------------------------------------------------------------


@pytest.mark.parametrize(
    "metrics",
    [
        ["weighted ndcg@10"],
        ["mrr@10"],
        ["latency_p95", "zero_results"],
        ["latency_p95", "ndcg@10", "mrr@10"],
        ["complete@3"],
        ["rank_of_first@10", "judged@10"],
        [],
    ],
)
def test_no_choice_of_metrics_disables_the_default_checks(metrics: list[str]) -> None:
    """S56: ten of 20 queries get worse; `metrics` starts with latency, counts or coverage."""
    suite = make_suite(metrics=metrics)

    decision = decide_on([suite], make_run(suite, worse=10), make_run(suite))

    assert decision.outcome is Outcome.FAILED


def test_suites_with_different_primary_metrics_are_pooled() -> None:
    """S60: two of five queries get worse in each of four suites with four different metrics."""
    metrics = ["ndcg@10", "mrr@10", "recall@3", "map@10"]
    suites = [make_suite(metric, 5, metrics=[metric]) for metric in metrics]

    decision = decide_on(suites, make_run(*suites, worse=2), make_run(*suites))

    (result,) = list_failed(decision)
    assert result.subject == "ndcg@10, mrr@10, recall@3, map@10"
    assert result.value == 2**-8


def test_pool_with_different_primary_metrics_uses_ndcg() -> None:
    """Six queries rise in MRR and drop in nDCG. The other suite adds one drop."""
    mrr, ndcg = make_suite("mrr", metrics=["mrr@10"]), make_suite("ndcg")
    baseline_run = merge(make_run(mrr, worse=6, ranking=rank("x", "best")), make_run(ndcg))
    run = merge(make_run(mrr, worse=6, ranking=rank("fair")), make_run(ndcg, worse=1))

    decision = decide_on([mrr, ndcg], run, baseline_run)

    assert list_failed_checks(decision) == [(DefaultCheck.SIGNIFICANT_DROP, "mrr, ndcg")]


def test_weights_count_if_the_metric_is_weighted() -> None:
    """The heavy queries drop, and all others rise."""
    queries = [make_query(f"head {number}", weight=20.0) for number in range(6)]
    queries += [make_query(f"tail {number}") for number in range(14)]
    suite = make_suite("shop", queries)
    weighted = make_suite("shop", queries, metrics=["weighted ndcg@10"])
    baseline_run = answer(queries, WORSE)
    run = merge(answer(queries, GOOD), answer(queries[:6], rank(*"abcdefghi", "best")))

    plain_decision = decide_on([suite], run, baseline_run)
    weighted_decision = decide_on([weighted], run, baseline_run)

    assert plain_decision.outcome is Outcome.PASSED
    assert list_failed_checks(weighted_decision) == [(DefaultCheck.SIGNIFICANT_DROP, "shop")]


@pytest.mark.parametrize(
    ("threshold", "is_failed"),
    [
        pytest.param(make_threshold(max_drop=0.9), False, id="can fail"),
        pytest.param(make_threshold(max_drop=1.0), True, id="cannot fail"),
        pytest.param(replace(make_threshold(max_drop=0.9), is_warning=True), True, id="warns"),
        pytest.param(make_threshold(min=0.1), True, id="a minimum"),
        pytest.param(make_threshold("zero_results", max_rise=0.5), True, id="a rise of a count"),
    ],
)
def test_only_a_drop_that_can_fail_replaces_a_default_check(
    threshold: object, is_failed: bool
) -> None:
    """S57: half of 20 queries get worse; the suite writes a minimum or a threshold on a count."""
    suite = make_suite(thresholds=[threshold])  # type: ignore[list-item]

    decision = decide_on([suite], make_run(suite, worse=10), make_run(suite))

    assert (decision.outcome is Outcome.FAILED) is is_failed


def test_nothing_replaces_check_1() -> None:
    """S57: queries lose all their relevant documents under a written drop."""
    suite = make_suite(thresholds=[make_threshold(max_drop=0.9)])

    decision = decide_on([suite], make_run(suite, worse=2, ranking=EMPTY), make_run(suite))

    assert [result.check for result in list_failed(decision)] == [DefaultCheck.LOST_QUERIES]


# -- Test units: variants, copies, retrievers ------------------------------------------------------


def make_suite_with_variants(variant_count: int) -> Suite:
    queries = []
    for number in range(20):
        query = make_query(f"query {number}")
        queries.append(query)
        for variant in range(variant_count):
            text = f"query {number}/{variant}"
            queries.append(make_query(text, variant_of=query.id, tags=("variant",)))
    return make_suite("shop", queries)


def test_variants_do_not_multiply_the_evidence() -> None:
    """Two queries drop a little with three variants each. That is two changes and not eight."""
    suite = make_suite_with_variants(3)

    decision = decide_on([suite], make_run(suite, worse=8, ranking=SWAPPED), make_run(suite))

    assert decision.outcome is Outcome.PASSED


def test_variants_are_protected_like_other_queries() -> None:
    """S55: all variants return nothing, the queries themselves are as before."""
    suite = make_suite_with_variants(2)
    variants = [query for query in suite.queries if query.variant_of]
    run = merge(make_run(suite), answer(variants, EMPTY))

    decision = decide_on([suite], run, make_run(suite))

    failed = {result.check: result for result in list_failed(decision)}
    assert set(failed) == {DefaultCheck.LOST_QUERIES, DefaultCheck.SIGNIFICANT_DROP}
    assert set(failed[DefaultCheck.LOST_QUERIES].query_ids) == {query.id for query in variants}
    assert "20 of 20 queries worse" in str(failed[DefaultCheck.SIGNIFICANT_DROP].text)


def test_copies_in_other_suites_count_in_the_mean_of_a_query() -> None:
    """The copies do not change in their metric, so the mean drop is 0.0013 instead of 0.0026."""
    suite = make_suite(queries=150)
    regraded = [make_query(query.text, {"fair": 1}) for query in suite.queries[:5]]
    copies = make_suite("copies", regraded)
    run = make_run(suite, worse=5, ranking=SWAPPED)

    alone = decide_on([suite], run, make_run(suite))
    with_copies = decide_on([suite, copies], run, make_run(suite))

    assert alone.outcome is Outcome.FAILED
    assert with_copies.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("copied", "base_has_copies", "outcome"),
    [
        pytest.param(8, False, Outcome.FAILED, id="8 copies"),
        pytest.param(5, False, Outcome.FAILED, id="5 copies, too few to test shop alone"),
        pytest.param(5, True, Outcome.PASSED, id="the base has the copies"),
    ],
)
def test_new_suite_of_copies_outvotes_nothing(
    copied: int, base_has_copies: bool, outcome: Outcome
) -> None:
    """S58: nine (or six) of 20 queries lose one rank; adds a suite that favors the change."""
    worse = copied + 1
    regraded = [make_query(query.text, {"good": 3}) for query in SHOP.queries[:copied]]
    copies = make_suite("copies", regraded)
    base_suites = [SHOP, copies] if base_has_copies else [SHOP]
    base = make_branch(base_suites, make_run(SHOP))
    run = make_run(SHOP, worse=worse, ranking=SWAPPED)

    decision = decide_on([SHOP, copies], run, make_run(SHOP), base=base)

    assert decision.outcome is outcome
    if outcome is Outcome.FAILED:
        assert list_failed_checks(decision) == [(DefaultCheck.SIGNIFICANT_DROP, "shop")]


def test_renamed_suite_is_tested_as_before() -> None:
    """S35: it has no copies of anything, so it has the level of the only suite."""
    boots = replace(SHOP, name="boots", path="boots.ir.yaml")
    run = make_run(SHOP, worse=5, ranking=SWAPPED)

    decision = decide_on([boots], run, make_run(SHOP), base=SHOP_BASE)

    assert list_failed_checks(decision) == [(DefaultCheck.SIGNIFICANT_DROP, "boots")]


def decide_on_retrievers(*runs: Run) -> Decision:
    """Decide on one suite that runs on several retrievers, all with the same baseline."""
    retrievers = [RetrieverId(parameter=str(number)) for number in range(len(runs))]
    suites = tuple(replace(SHOP, retriever=retriever) for retriever in retrievers)
    baselines = tuple(Baseline(make_run(SHOP), retriever) for retriever in retrievers)
    keys = map(RunKey, retrievers)
    return decide(Branch(suites=suites, baselines=baselines), dict(zip(keys, runs, strict=True)))


@pytest.mark.parametrize("worse_count", [1, 5])
def test_more_retrievers_do_not_hide_a_drop(worse_count: int) -> None:
    """S59: one of five retrievers drops, or all five drop alike, with p = 0.016 each."""
    worse, unchanged = make_run(SHOP, worse=6), make_run(SHOP)

    decision = decide_on_retrievers(*[worse] * worse_count, *[unchanged] * (5 - worse_count))

    assert decision.outcome is Outcome.FAILED
    assert len(list_failed(decision)) == worse_count


# -- Check 3 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worse", "ranking", "outcome"),
    [
        pytest.param(2, WORSE, Outcome.PASSED, id="two drops"),
        pytest.param(3, WORSE, Outcome.FAILED, id="three drops"),
        pytest.param(4, SWAPPED, Outcome.PASSED, id="a small sum"),
        pytest.param(5, SWAPPED, Outcome.FAILED, id="five drops can be tested"),
    ],
)
def test_a_few_changed_queries_fail_if_they_drop_by_much(
    worse: int, ranking: Ranking, outcome: Outcome
) -> None:
    decision = decide_on([SHOP], make_run(SHOP, worse=worse, ranking=ranking), make_run(SHOP))

    assert decision.outcome is outcome


@pytest.mark.parametrize(
    ("worse", "better", "before", "outcome"),
    [
        pytest.param(3, 1, LAST_SWAPPED, Outcome.FAILED, id="a small gain"),
        pytest.param(3, 1, SWAPPED, Outcome.PASSED, id="a large gain"),
        pytest.param(3, 2, SWAPPED, Outcome.PASSED, id="five changes"),
        pytest.param(2, 2, SWAPPED, Outcome.PASSED, id="two drops of four changes"),
    ],
)
def test_gains_among_a_few_large_changes_count(
    worse: int, better: int, before: Ranking, outcome: Outcome
) -> None:
    """Three drops are -1.47 in sum. One gain of more than 0.05 excuses them."""
    gaining = SHOP.queries[len(SHOP.queries) - better :]
    baseline_run = merge(make_run(SHOP), answer(gaining, before))

    decision = decide_on([SHOP], make_run(SHOP, worse=worse), baseline_run)

    assert decision.outcome is outcome


@pytest.mark.parametrize(
    ("rankings", "outcome"),
    [
        pytest.param([rank("fair", "good", "best")] * 3, Outcome.FAILED, id="-0.630"),
        pytest.param(
            [rank("fair", "good", "best")] * 2 + [rank("fair", "best", "good")],
            Outcome.FAILED,
            id="-0.602",
        ),
        pytest.param([rank("fair", "best", "good")] * 3, Outcome.PASSED, id="-0.547"),
    ],
)
def test_sum_of_a_few_large_drops_must_be_large(rankings: list[Ranking], outcome: Outcome) -> None:
    answers = {
        query.request: (ranking,) for query, ranking in zip(SHOP.queries[:3], rankings, strict=True)
    }

    decision = decide_on([SHOP], merge(make_run(SHOP), Run(answers)), make_run(SHOP))

    assert decision.outcome is outcome


@pytest.mark.parametrize(("worse", "has_sum"), [(4, True), (5, False)])
def test_sum_of_a_few_changes_has_no_bound_if_their_mean_can_be_tested(
    worse: int, has_sum: bool
) -> None:
    run = make_run(SHOP, worse=worse, ranking=LAST_SWAPPED)

    decision = decide_on([SHOP], run, make_run(SHOP))

    (result,) = get_results(decision, DefaultCheck.FEW_DROPS)
    assert (result.bound == -0.6) is has_sum
    assert result.could_fail


def test_change_below_the_limit_is_no_large_change() -> None:
    """Two large drops and two drops of 0.03 are not three large ones."""
    drops = make_run(SHOP, worse=2, ranking=rank("fair"))
    run = merge(drops, answer(SHOP.queries[2:4], LAST_SWAPPED))

    decision = decide_on([SHOP], run, make_run(SHOP))

    assert decision.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("relevant_count", "outcome"),
    [
        pytest.param(19, Outcome.FAILED, id="0.0526"),
        pytest.param(20, Outcome.PASSED, id="0.05"),
        pytest.param(21, Outcome.PASSED, id="0.0476"),
    ],
)
def test_third_large_drop_must_exceed_the_limit(relevant_count: int, outcome: Outcome) -> None:
    """Two queries lose half of their recall, and the third one of its relevant documents."""
    doc_ids = [f"d{number}" for number in range(relevant_count)]
    queries = [make_query(text, dict.fromkeys(doc_ids, 1.0)) for text in "abc"]
    suite = make_suite(queries=queries, metrics=["recall@100"])
    baseline_run = answer(queries, rank(*doc_ids))
    halved = answer(queries[:2], rank(*doc_ids[: relevant_count // 2]))

    decision = decide_on(
        [suite], merge(baseline_run, halved, answer(queries[2:], rank(*doc_ids[1:]))), baseline_run
    )

    assert decision.outcome is outcome


def test_few_drops_of_one_retriever_are_not_averaged_away() -> None:
    """The other retrievers have a small change in another query."""
    other_run = merge(make_run(SHOP), answer(SHOP.queries[9:10], LAST_SWAPPED))

    decision = decide_on_retrievers(make_run(SHOP, worse=3), *[other_run] * 4)

    (result,) = list_failed(decision)
    assert result.check is DefaultCheck.FEW_DROPS
    assert str(result.text) == ("3 of 4 changed queries dropped sharply (−1.474 in total)")


def test_few_drops_that_retrievers_share_count_once() -> None:
    """Three drops of 0.078 are small, and five retrievers with the same drops are no evidence."""
    decision = decide_on_retrievers(*[make_run(SHOP, worse=3, ranking=SWAPPED)] * 5)

    assert decision.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        pytest.param((3, 3), Outcome.FAILED, id="6 queries, p = 0.016"),
        pytest.param((3, 2), Outcome.FAILED, id="5 queries, p = 0.031"),
        pytest.param((2, 2), Outcome.PASSED, id="4 queries, and their sum is too small"),
    ],
)
def test_large_drops_in_other_queries_of_each_retriever_are_tested_together(
    counts: tuple[int, int], outcome: Outcome
) -> None:
    """Drops of 0.078: neither retriever has five changed queries."""
    first, second = counts
    runs = [
        merge(make_run(SHOP), answer(SHOP.queries[:first], SWAPPED)),
        merge(make_run(SHOP), answer(SHOP.queries[10 : 10 + second], SWAPPED)),
    ]

    decision = decide_on_retrievers(*runs)

    assert decision.outcome is outcome
    if outcome is Outcome.FAILED:
        assert list_failed_checks(decision) == [(DefaultCheck.FEW_DROPS, "shop")]


def test_large_changes_of_several_retrievers_fail_only_if_significant() -> None:
    """Five large drops and one large gain have p = 7/64 = 0.109."""
    gaining = SHOP.queries[19:]
    runs = [
        merge(make_run(SHOP), answer(SHOP.queries[:3], SWAPPED)),
        merge(make_run(SHOP), answer(SHOP.queries[10:12], SWAPPED)),
    ]
    retrievers = [RetrieverId(parameter="a"), RetrieverId(parameter="b")]
    suites = tuple(replace(SHOP, retriever=retriever) for retriever in retrievers)
    baselines = (
        Baseline(make_run(SHOP), retrievers[0]),
        Baseline(merge(make_run(SHOP), answer(gaining, SWAPPED)), retrievers[1]),
    )

    decision = decide(
        Branch(suites=suites, baselines=baselines),
        {RunKey(retriever): run for retriever, run in zip(retrievers, runs, strict=True)},
    )

    assert decision.outcome is Outcome.PASSED


@pytest.mark.parametrize(("queries", "outcome"), [(2, Outcome.PASSED), (3, Outcome.FAILED)])
def test_two_graded_queries_are_too_few_to_test(queries: int, outcome: Outcome) -> None:
    """S73: two graded queries fall from 1.000 to 0.406, still in the top 10; three fail."""
    suite = make_suite(queries=queries)
    sunk = rank(*"xyzuvw", "best", "good", "fair")

    decision = decide_on([suite], make_run(suite, worse=queries, ranking=sunk), make_run(suite))

    assert decision.outcome is outcome
    drop_results = get_results(decision, DefaultCheck.SIGNIFICANT_DROP)
    assert [result.could_fail for result in drop_results] == [False]
    few_results = get_results(decision, DefaultCheck.FEW_DROPS)
    assert [result.could_fail for result in few_results] == [queries == 3]


def test_queries_that_are_at_0_cannot_drop() -> None:
    """A check that no answer could fail is not counted as evaluated."""
    baseline_run = make_run(SHOP, worse=16, ranking=rank("junk"))

    decision = decide_on([SHOP], baseline_run, baseline_run)

    assert [result.could_fail for result in decision.current.shared_results] == [False, True]


# -- Check 1: queries from files -------------------------------------------------------------------


def make_sampled_suite(name: str = "sample", **fields: object) -> Suite:
    queries = [make_query(f"{name} {number}", is_sampled=True) for number in range(20)]
    return replace(make_suite(name, queries), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lost", "gained", "is_failed"),
    [
        pytest.param(1, 0, False, id="p = 0.5"),
        pytest.param(4, 0, False, id="p = 0.063"),
        pytest.param(5, 0, True, id="p = 0.031"),
        pytest.param(5, 1, False, id="p = 0.109"),
    ],
)
def test_lost_queries_from_files_fail_if_they_are_significantly_more(
    lost: int, gained: int, is_failed: bool
) -> None:
    """S1: queries from a file are a sample. Every lost query is named, whatever the outcome."""
    suite = make_sampled_suite()
    gaining = suite.queries[len(suite.queries) - gained :]
    baseline_run = merge(make_run(suite), answer(gaining if gained else (), EMPTY))

    decision = decide_on([suite], make_run(suite, worse=lost, ranking=EMPTY), baseline_run)

    failed = [result.check for result in list_failed(decision)]
    assert (DefaultCheck.LOST_QUERIES in failed) is is_failed
    (result,) = get_results(decision, DefaultCheck.LOST_QUERIES)
    assert result.query_ids == tuple(f"sample {number}" for number in range(lost))
    assert result.could_fail


def test_known_issues_take_queries_from_files_out_of_check_1() -> None:
    """Of six lost queries, five have a known issue, and one alone cannot reach the level."""
    known = [
        make_query(f"known {number}", is_sampled=True, known_issue=KnownIssue("SEARCH-212"))
        for number in range(5)
    ]
    suite = make_suite(queries=[*known, make_query("boots", is_sampled=True)])

    decision = decide_on([suite], make_run(suite, worse=6, ranking=EMPTY), make_run(suite))

    (result,) = get_results(decision, DefaultCheck.LOST_QUERIES)
    assert str(result.text).startswith("1 query from a file lost all relevant documents")
    assert result.query_ids == ("boots",)
    assert not result.could_fail


@pytest.mark.parametrize(
    ("other_gains", "is_failed"),
    [
        pytest.param(4, True, id="the other suite cannot reject"),
        pytest.param(6, False, id="the other suite can reject"),
    ],
)
def test_sign_tests_share_their_level(other_gains: int, is_failed: bool) -> None:
    """Five lost queries have p = 0.031, which is more than half of 5%."""
    worse, better = make_sampled_suite("worse"), make_sampled_suite("better")
    before = make_run(better, worse=other_gains, ranking=EMPTY)
    run = merge(make_run(worse, worse=5, ranking=EMPTY), make_run(better))

    decision = decide_on([worse, better], run, merge(make_run(worse), before))

    failed = [check for check, _ in list_failed_checks(decision)]
    assert (DefaultCheck.LOST_QUERIES in failed) is is_failed


@pytest.mark.parametrize(
    "mode", [LostQueriesMode.IGNORE, LostQueriesMode.WARN, LostQueriesMode.MAX]
)
def test_another_mode_of_check_1_replaces_the_sign_test(mode: LostQueriesMode) -> None:
    suite = make_sampled_suite(lost_queries=LostQueriesSetting(mode, maximum=9))

    decision = decide_on([suite], make_run(suite, worse=5, ranking=EMPTY), make_run(suite))

    assert get_results(decision, DefaultCheck.LOST_QUERIES) == []
    assert [result.check for result in list_failed(decision)] == [DefaultCheck.SIGNIFICANT_DROP]


# -- Repeats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repeats", "outcome"),
    [
        pytest.param([(GOOD, GOOD, EMPTY)] * 5, Outcome.FAILED, id="5 queries in 1 of 3 repeats"),
        pytest.param([(GOOD, EMPTY, EMPTY)] * 4, Outcome.FAILED, id="4 queries in 2 of 3 repeats"),
        pytest.param([(GOOD, GOOD, EMPTY)], Outcome.PASSED, id="1 query in 1 of 3 repeats"),
    ],
)
def test_search_that_becomes_unstable_does_not_excuse_itself(
    repeats: Sequence[tuple[Ranking, ...]], outcome: Outcome
) -> None:
    """S54: with `repeat`, makes a steady search flaky."""
    decision = decide_on(
        [SHOP], make_repeated_run(SHOP, *repeats), baseline_run=make_repeated_run(SHOP)
    )

    assert decision.outcome is outcome


def test_unchanged_nondeterministic_search_rarely_fails() -> None:
    """S23: unchanged code, an index that answers differently; three answers on each side."""
    suite = make_suite(queries=10)
    generator = random.Random(1)

    def collect_unstable_run() -> Run:
        repeats = [tuple(generator.choices((GOOD, GOOD, WORSE), k=3)) for _ in suite.queries]
        return make_repeated_run(suite, *repeats)

    failure_count = 0
    for _ in range(40):
        decision = decide_on([suite], collect_unstable_run(), collect_unstable_run())
        failure_count += decision.outcome is Outcome.FAILED

    assert failure_count <= 2


def test_nondeterministic_search_fails_once_a_field_is_dropped() -> None:
    """S23: FAILED when a field is dropped."""
    baseline_run = make_repeated_run(SHOP, *[(GOOD, WORSE, GOOD)] * 20)
    run = make_repeated_run(SHOP, *[(WORSE, WORSE, GOOD)] * 20)

    decision = decide_on([SHOP], run, baseline_run)

    assert decision.outcome is Outcome.FAILED


# -- New suites ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worse", "better", "outcome"),
    [
        pytest.param(6, 0, Outcome.PASSED, id="six drops, p = 0.016"),
        pytest.param(7, 0, Outcome.FAILED, id="seven drops, p = 0.008"),
        pytest.param(7, 1, Outcome.FAILED, id="seven drops and a small gain, p = 0.008"),
    ],
)
def test_new_suite_is_tested_alone(worse: int, better: int, outcome: Outcome) -> None:
    new_suite = make_suite("new")
    gaining = new_suite.queries[len(new_suite.queries) - better :] if better else ()
    committed_run = merge(make_run(SHOP, new_suite), answer(gaining, LAST_SWAPPED))
    run = merge(make_run(SHOP), make_run(new_suite, worse=worse, ranking=SWAPPED))

    decision = decide_on([SHOP, new_suite], run, committed_run, base=SHOP_BASE)

    assert decision.outcome is outcome
    assert decision.coverage.new == 20


def test_drop_threshold_replaces_the_test_of_a_new_suite() -> None:
    new_suite = make_suite("new", thresholds=[make_threshold(max_drop=0.9)])
    run = merge(make_run(SHOP), make_run(new_suite, worse=9))

    decision = decide_on([SHOP, new_suite], run, make_run(SHOP, new_suite), base=SHOP_BASE)

    assert decision.outcome is Outcome.PASSED


def test_baseline_of_another_retriever_has_no_default_checks() -> None:
    """`baseline: old`: only written thresholds apply against it."""
    suite = make_suite(baseline_retriever="old", thresholds=[make_threshold(max_drop=0.1)])
    runs = {**make_runs(make_run(suite, worse=3)), **make_runs(make_run(suite), RetrieverId("old"))}

    decision = decide(Branch(suites=(suite,)), runs)

    assert decision.current.shared_results == ()
    assert decision.outcome is Outcome.PASSED
