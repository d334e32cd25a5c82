"""Thresholds: every bound, unit and scope, on both sides of its limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_irquality.evaluation.comparison import compare_runs
from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.requirement_checks import has_drop_threshold
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.retrieval.run import Provenance, QueryError, Run
from pytest_irquality.suite.model import VARIANT_TAG, Settings, Suite, Threshold
from tests.builders import (
    EMPTY,
    GOOD,
    SWAPPED,
    WORSE,
    answer,
    make_query,
    make_repeated_run,
    make_run,
    make_suite,
    make_threshold,
    rank,
)


def get_results(evaluation: Evaluation) -> list[CheckResult]:
    """Return the results of thresholds."""
    return [result for result in evaluation.results if isinstance(result.check, Threshold)]


def check(
    threshold: Threshold, *, worse: int = 10, queries: int = 20, ranking: object = WORSE
) -> CheckResult:
    """Check a threshold over a suite in which some queries drop to an nDCG of 0.509."""
    suite = make_suite(queries=queries, thresholds=[threshold])
    run = make_run(suite, worse=worse, ranking=ranking)  # type: ignore[arg-type]
    [result] = get_results(evaluate(suite, run, make_run(suite)))
    return result


@pytest.mark.parametrize(
    ("threshold", "is_failed"),
    [
        (make_threshold(min=0.75, max_drop=0.25), False),
        (make_threshold(min=0.76, max_drop=0.25), True),
        (make_threshold(max=0.75, max_drop=0.25), True),
        (make_threshold(max_drop=0.24), True),
        (make_threshold(max_drop="25%"), False),
        (make_threshold(max_drop="24%"), True),
        (make_threshold("mrr@10", max_drop=0.375), False),
        (make_threshold("mrr@10", max_drop=0.374), True),
        (make_threshold("rank_of_first@10", max_rise=1.5), False),
        (make_threshold("rank_of_first@10", max_rise=1.4), True),
        (make_threshold("rank_of_first@10", max_rise="150%"), False),
        (make_threshold("rank_of_first@10", max_rise="149%"), True),
        (make_threshold("overlap@10", min=1.0), False),
    ],
)
def test_bounds(threshold: Threshold, is_failed: bool) -> None:
    """Ten of twenty queries drop, the mean is 0.754, and their first result is at rank 4."""
    assert (check(threshold).outcome is Outcome.FAILED) is is_failed


@pytest.mark.parametrize(
    ("threshold", "is_failed"),
    [
        (make_threshold("zero_results", max=4), False),
        (make_threshold("zero_results", max=3), True),
        (make_threshold("zero_results", max="20%"), False),
        (make_threshold("zero_results", max="19%"), True),
        (make_threshold("zero_results", max_rise=4), False),
        (make_threshold("zero_results", max_rise=3), True),
        (make_threshold("zero_results", max_rise="10%"), True),
        (make_threshold("zero_results", max_rise="900%"), True),
    ],
)
def test_counts_and_percentages(threshold: Threshold, is_failed: bool) -> None:
    """S72: four of twenty queries return nothing. A rise from 0 is more than any percentage."""
    result = check(threshold, worse=4, ranking=EMPTY)

    assert (result.outcome is Outcome.FAILED) is is_failed


def test_result_has_values_bound_and_place() -> None:
    result = check(make_threshold(min=0.9))

    assert result.value == pytest.approx(0.754, abs=0.001)
    assert (result.baseline_value, result.bound, result.label, result.item) == (
        1.0,
        0.9,
        "ndcg@10",
        "ndcg@10",
    )


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (make_threshold(min=0.9), "ndcg@10 is 0.754, below the minimum 0.9"),
        (make_threshold(min=0.7544), "ndcg@10 is 0.7543, below the minimum 0.7544"),
        (
            make_threshold(max_drop="20%"),
            "ndcg@10 dropped from 1.000 to 0.754, by more than 20% ('max_drop')",
        ),
        (
            make_threshold("rank_of_first@10", max_rise=1),
            "rank_of_first@10 rose from 1.000 to 2.500, by more than 1 ('max_rise')",
        ),
        (make_threshold(max_drop=0.3), "ndcg@10 dropped from 1.000 to 0.754"),
        (make_threshold("recall@10", max_drop=0.3), "recall@10 did not change (1.000)"),
    ],
)
def test_texts(threshold: Threshold, text: str) -> None:
    assert str(check(threshold).text) == text


def test_warning_does_not_fail() -> None:
    result = check(make_threshold(min=0.9, warn=True))

    assert result.outcome is Outcome.PASSED
    assert result.is_warning


@pytest.mark.parametrize(
    ("threshold", "can_fail"),
    [
        (make_threshold(min=0.0), False),
        (make_threshold(min=0.1), True),
        (make_threshold(max=1.0), False),
        (make_threshold(max_drop=1.0), False),
        (make_threshold(max_drop=0.99), True),
        (make_threshold(max_drop="100%"), False),
        (make_threshold("zero_results", max=20), False),
        (make_threshold("zero_results", max=19), True),
        (make_threshold("zero_results", max="100%"), False),
        (make_threshold("zero_results", max_rise=20), False),
        (make_threshold("zero_results", max_rise="100%"), True),
        (make_threshold("rank_of_first@10", max_rise=5), True),
    ],
)
def test_threshold_that_nothing_can_break_is_not_evaluated(
    threshold: Threshold, can_fail: bool
) -> None:
    """S28."""
    assert check(threshold).could_fail is can_fail


# -- Significance ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worse", "bound", "outcome"),
    [
        pytest.param(4, 0.01, Outcome.PASSED, id="p = 1/16"),
        pytest.param(5, 0.01, Outcome.FAILED, id="p = 1/32"),
        pytest.param(5, 0.2, Outcome.PASSED, id="smaller than the bound"),
    ],
)
def test_significant_drop(worse: int, bound: float, outcome: Outcome) -> None:
    assert check(make_threshold(max_significant_drop=bound), worse=worse).outcome is outcome


def test_significant_drops_share_their_level() -> None:
    """Five drops (p = 0.031) are significant alone, and not next to a metric that rose."""
    thresholds = [
        make_threshold("ndcg@10", max_significant_drop=0.01),
        make_threshold("precision@2", max_significant_drop=0.01),
    ]
    suite = make_suite(thresholds=thresholds)
    mixed = make_run(suite, worse=5)
    before = answer(
        {query.request: rank("best", "x", "good", "fair") for query in suite.queries[10:]}
    )
    baseline_run = Run({**make_run(suite).answers, **before.answers})

    alone = evaluate(make_suite(thresholds=thresholds[:1]), mixed, make_run(suite))
    together = evaluate(suite, mixed, baseline_run)

    assert [result.outcome for result in get_results(alone)] == [Outcome.FAILED]
    assert Outcome.FAILED not in [result.outcome for result in get_results(together)]
    assert "which may be chance" not in str(get_results(together)[1].text)


# -- Scopes ----------------------------------------------------------------------------------------


def make_tagged_suite(**fields: object) -> Suite:
    queries = []
    for number in range(4):
        tag = "head" if number < 2 else "tail"
        queries.append(make_query(f"shop {number}", tags=(tag,)))
    return make_suite(queries=queries, **fields)  # type: ignore[arg-type]


def test_one_tag_collapses_while_the_mean_rises() -> None:
    """S15."""
    suite = make_tagged_suite(each_tag=[make_threshold(min=0.8, max_drop=0.1)])
    before = answer({"shop 0": GOOD, "shop 1": GOOD, "shop 2": EMPTY, "shop 3": EMPTY})
    now = answer({"shop 0": WORSE, "shop 1": WORSE, "shop 2": GOOD, "shop 3": GOOD})

    head, tail = get_results(evaluate(suite, now, before))

    assert (head.tag, head.outcome, head.label) == ("head", Outcome.FAILED, "head ndcg@10")
    assert (tail.tag, tail.outcome) == ("tail", Outcome.PASSED)
    assert str(head.text) == "ndcg@10 of 'head' is 0.509, below the minimum 0.8"
    assert head.baseline_value == 1.0


def test_tag_has_its_own_threshold() -> None:
    suite = make_tagged_suite(tags={"tail": [make_threshold(min=0.8)]})

    [result] = get_results(evaluate(suite, make_run(suite, worse=2)))

    assert (result.tag, result.value) == ("tail", 1.0)


def test_variants_have_a_threshold_only_by_their_tag() -> None:
    queries = [
        make_query("shoes", tags=("head",)),
        make_query("shoos", variant_of="shoes", tags=("head", VARIANT_TAG)),
    ]
    suite = make_suite(
        queries=queries,
        thresholds=[make_threshold(min=0.9)],
        each_tag=[make_threshold("recall@10", min=0.9)],
        tags={VARIANT_TAG: [make_threshold("mrr@10", min=0.5)]},
    )

    results = get_results(evaluate(suite, answer({"shoes": GOOD, "shoos": EMPTY})))

    outcomes = {result.label: result.outcome for result in results}
    assert outcomes == {
        "ndcg@10": Outcome.PASSED,
        "head recall@10": Outcome.PASSED,
        "variant mrr@10": Outcome.FAILED,
    }


def test_query_has_its_own_threshold() -> None:
    query = make_query("red shoes", thresholds=(make_threshold(min=0.95, max_drop=0.05),))
    suite = make_suite(queries=[query, make_query("boots")])

    [result] = get_results(
        evaluate(suite, answer({"red shoes": SWAPPED, "boots": EMPTY}), make_run(suite))
    )

    assert result.outcome is Outcome.FAILED
    assert (result.query_ids, result.item) == (("red shoes",), "red shoes")
    assert str(result.text) == '"red shoes": ndcg@10 is 0.922, below the minimum 0.95'


def test_threshold_of_each_query_reports_the_broken_ones_together() -> None:
    suite = make_suite(queries=5, each_query=[make_threshold(min=0.6)])
    with_unjudged = replace(suite, queries=(*suite.queries, make_query("unjudged", {})))
    run = make_run(with_unjudged, worse=2)

    [result] = get_results(evaluate(with_unjudged, run))

    assert result.outcome is Outcome.FAILED
    assert result.query_ids == ("shop 0", "shop 1")
    assert '"shop 1": ndcg@10 is 0.509, below the minimum 0.6' in str(result.text)
    assert get_results(evaluate(with_unjudged, make_run(suite)))[0].outcome is (Outcome.INCOMPLETE)


# -- Gaps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minimum", "outcome"), [(0.5, Outcome.INCOMPLETE), (1.1, Outcome.FAILED)])
def test_threshold_with_a_gap_is_incomplete_unless_it_fails(
    minimum: float, outcome: Outcome
) -> None:
    suite = make_suite(queries=3, thresholds=[make_threshold(min=minimum)])
    run = answer({"shop 0": GOOD}, errors={"shop 1": QueryError("timed out")})

    [result] = get_results(evaluate(suite, run))

    assert result.outcome is outcome
    if outcome is Outcome.INCOMPLETE:
        assert str(result.text) == "Not evaluated because 1 of 3 queries did not run"


@pytest.mark.parametrize(("allowed", "outcome"), [(0, Outcome.INCOMPLETE), (1, Outcome.PASSED)])
def test_allowed_errors_do_not_make_a_threshold_incomplete(allowed: int, outcome: Outcome) -> None:
    suite = make_suite(
        queries=2, thresholds=[make_threshold(min=0.5)], settings=Settings(max_errors=allowed)
    )
    run = answer({"shop 0": GOOD}, errors={"shop 1": QueryError("timed out")})

    assert get_results(evaluate(suite, run))[0].outcome is outcome


def test_gap_in_one_tag_does_not_touch_another() -> None:
    suite = make_tagged_suite(each_tag=[make_threshold(min=0.5)])
    run = answer(dict.fromkeys(("shop 0", "shop 1", "shop 2"), GOOD))

    results = get_results(evaluate(suite, run))

    assert [result.outcome for result in results] == [Outcome.PASSED, Outcome.INCOMPLETE]


def test_drop_without_a_baseline_is_incomplete() -> None:
    suite = make_suite(thresholds=[make_threshold(max_drop=0.1)])

    for baseline_run in (None, Run()):
        [result] = get_results(evaluate(suite, make_run(suite), baseline_run))

        assert result.outcome is Outcome.INCOMPLETE
        assert str(result.text) == (
            "ndcg@10 needs a baseline, and there is none."
            " Run `pytest --ir-update-baseline` and commit the file."
        )


def test_drop_of_new_queries_holds_and_is_not_evaluated() -> None:
    suite = make_tagged_suite(tags={"tail": [make_threshold(max_drop=0.1)]})
    baseline_run = answer({"shop 0": GOOD, "shop 1": GOOD})

    [result] = get_results(evaluate(suite, make_run(suite), baseline_run))

    assert (result.outcome, result.could_fail) == (Outcome.PASSED, False)


def test_cutoff_beyond_the_baseline_is_incomplete() -> None:
    threshold = make_threshold("recall@20", max_drop=0.1)
    suite = make_suite(thresholds=[threshold, make_threshold("recall@10", max_drop=0.1)])
    baseline_run = replace(make_run(suite), provenance=Provenance(depth=10))

    deep, shallow = get_results(evaluate(suite, make_run(suite), baseline_run))

    assert deep.outcome is Outcome.INCOMPLETE
    assert str(deep.text).startswith("recall@20 needs 20 results, but the baseline has 10. Update")
    assert shallow.outcome is Outcome.PASSED


def test_undefined_metric_is_incomplete() -> None:
    suite = make_suite(queries=[make_query("a", {})], thresholds=[make_threshold(min=0.5)])

    [result] = get_results(evaluate(suite, answer({"a": GOOD})))

    assert result.outcome is Outcome.INCOMPLETE


# -- Drops that replace default checks -------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "limits_drop"),
    [
        pytest.param(make_threshold(max_drop=0.5), True, id="drop"),
        pytest.param(make_threshold(max_drop=1.0), False, id="cannot fail"),
        pytest.param(make_threshold(max_significant_drop=0.1), True, id="significant drop"),
        pytest.param(make_threshold(max_drop=0.5, warn=True), False, id="warns"),
        pytest.param(make_threshold(min=0.5), False, id="minimum"),
        pytest.param(make_threshold("overlap@10", max_drop=0.5), False, id="overlap"),
        pytest.param(make_threshold("zero_results", max_rise=1), False, id="zero results"),
    ],
)
def test_only_a_drop_in_relevance_replaces_default_checks(
    threshold: Threshold, limits_drop: bool
) -> None:
    """S57, S65."""
    suite = make_suite(thresholds=[threshold])

    evaluation = evaluate(suite, make_run(suite), make_run(suite))

    assert has_drop_threshold(evaluation.comparison) is limits_drop


@pytest.mark.parametrize(("queries", "limits_drop"), [(4, False), (5, True)])
def test_significant_drop_of_too_few_queries_cannot_fail(queries: int, limits_drop: bool) -> None:
    suite = make_suite(queries=queries, thresholds=[make_threshold(max_significant_drop=0.1)])

    evaluation = evaluate(suite, make_run(suite), make_run(suite))

    assert has_drop_threshold(evaluation.comparison) is limits_drop


def test_drop_of_a_tag_replaces_no_default_check() -> None:
    suite = make_tagged_suite(tags={"head": [make_threshold(max_drop=0.1)]})

    assert not has_drop_threshold(compare_runs(suite, make_run(suite), make_run(suite)))


def test_unstable_answers_do_not_excuse_a_drop() -> None:
    """S54."""
    suite = make_suite(queries=4, thresholds=[make_threshold(max_drop=0.1)])
    stable = make_repeated_run(suite)
    unstable = make_repeated_run(suite, *[(GOOD, GOOD, WORSE)] * 4)

    assert get_results(evaluate(suite, unstable, stable))[0].outcome is Outcome.FAILED
    assert get_results(evaluate(suite, unstable, unstable))[0].outcome is Outcome.PASSED
