"""Thresholds: units of bounds, and bounds that could never or always fail."""

from __future__ import annotations

import pytest

from pytest_irquality.metrics import make_own_metric
from pytest_irquality.suite.model import Bound, BoundUnit, Threshold
from tests.suite.helpers import SuiteFolder

Q = "queries: [{query: a, tags: [t], relevant: [d]}]\n"


def load_threshold(folder: SuiteFolder, text: str) -> Threshold:
    (threshold,) = folder.load(f"{Q}thresholds: {{{text}}}\n").thresholds
    return threshold


@pytest.mark.parametrize(
    ("text", "name", "bound"),
    [
        ("ndcg@10: 0.8", "min", Bound(0.8, text="0.8")),
        ("ndcg@10: 80%", "min", Bound(0.8, text="80%")),
        ("rank_of_first@10: 3", "max", Bound(3, text="3")),
        ("zero_results: 3", "max", Bound(3, text="3")),
        ("zero_results: {max: 2%}", "max", Bound(0.02, BoundUnit.QUERY_FRACTION, "2%")),
        ("zero_results: {max_rise: 10%}", "max_rise", Bound(0.1, BoundUnit.BASELINE_FRACTION, "10%")),
        ("latency_p95: 200ms", "max", Bound(0.2, text="200ms")),
        ("ndcg@10: {max_drop: 0.05}", "max_drop", Bound(0.05, text="0.05")),
        ("ndcg@10: {max_drop: 5%}", "max_drop", Bound(0.05, BoundUnit.BASELINE_FRACTION, "5%")),
        ("ndcg@10: {max_significant_drop: 0.01}", "max_significant_drop", Bound(0.01, text="0.01")),
        ("overlap@10: {min: 0.5}", "min", Bound(0.5, text="0.5")),
    ],
)  # fmt: skip
def test_bounds(folder: SuiteFolder, text: str, name: str, bound: Bound) -> None:
    threshold = load_threshold(folder, text)

    assert getattr(threshold, name) == bound


def test_a_metric_without_cutoff_has_that_of_the_suite(folder: SuiteFolder) -> None:
    suite = folder.load(f"{Q}top_k: 5\nthresholds: {{ndcg: 0.1}}\nmetrics: [mrr]\n")

    assert [str(threshold.metric) for threshold in suite.thresholds] == ["ndcg@5"]
    assert [str(metric) for metric in suite.metrics] == ["mrr@5"]


def test_a_project_may_have_its_own_metrics(folder: SuiteFolder) -> None:
    own = make_own_metric("brands", lambda ranking, grades, cutoff: 1.0, range=(0, 10))

    suite = folder.load(f"{Q}thresholds: {{brands@5: 3}}\n", own_metrics=[own])

    assert str(suite.thresholds[0].metric) == "brands@5"


def test_thresholds_of_a_query(folder: SuiteFolder) -> None:
    query = folder.load_query("{query: a, relevant: [d], thresholds: {recall@5: 1.0}}")

    assert [str(threshold.metric) for threshold in query.thresholds] == ["recall@5"]


def test_a_drop_that_the_suite_limits_is_known(folder: SuiteFolder) -> None:
    assert load_threshold(folder, "ndcg@10: {max_drop: 0.1}").limits_drop
    assert not load_threshold(folder, "ndcg@10: 0.1").limits_drop
    assert not load_threshold(folder, "zero_results: {max_rise: 1}").limits_drop


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("thresholds: {ndcg@10: 85}", "ndcg@10 is always between 0 and 1, so 85 cannot be a bound. Did you mean 0.85?"),
        ("thresholds: {ndcg@10: {min: 0%}}", "'min: 0%' can never fail for ndcg@10. Remove it."),
        ("thresholds: {zero_results: {max: 100%}}", "'max: 100%' can never fail for zero_results. Remove it."),
        ("thresholds: {rank_of_first@10: {min: 1}}", "'min: 1' can never fail for rank_of_first@10. Remove it."),
        ("thresholds: {ndcg@10: {max_drop: 1}}", "ndcg@10 can never change by more than 1, so 'max_drop' cannot fail. Did you mean 1%?"),
        ("thresholds: {ndcg@10: {max_drop: 100%}}", "ndcg@10 can never change by more than 100%, so 'max_drop' cannot fail"),
        ("thresholds: {ndcg@10: {max: 90%}}", "'max' would reject good results, because a higher ndcg@10 is better. Use 'min'."),
        ("thresholds: {rank_of_first@10: 0}", "rank_of_first@10 is always at least 1, so 0 cannot be a bound"),
        ("thresholds: {ndcg: 0.5, ndcg@10: 0.6}", "ndcg@10 already has a threshold on line 2"),
        ("thresholds: {ndcg@10: {}}", "ndcg@10 has no bound. Write min, max, max_drop or max_significant_drop."),
        ("thresholds: {ndcg@10: [1]}", "'min' of ndcg@10 must be a number, not a list"),
        ("thresholds: {ndcg@10: '0.5'}", "'min' of ndcg@10 must be a number without quotes, not '0.5'"),
        ("thresholds: {ndcg@10: {mn: 0.5}}", "'mn' is not a key of the threshold of ndcg@10. Did you mean 'min'?"),
        ("thresholds: {zero_results: {min: 5, max: 3}}", "The minimum 5 of zero_results is above the maximum 3"),
        ("thresholds: {latency_p95: 200}", "'max' of latency_p95 must be a duration with a unit, such as 200ms, not '200'"),
        ("thresholds: {latency_p95: {max_rise: 5%}}", "'max_rise' cannot be used with latency_p95, because baselines have no times. Use 'max'."),
        ("thresholds: {overlap@10: {max_drop: 0.1}}", "overlap@10 is a comparison with the baseline already. Use 'min'."),
        ("thresholds: {ndcg@10: {max_rise: 0.1}}", "'max_rise' would reject good results: a higher ndcg@10 is better. Use 'max_drop'."),
        ("thresholds: {zero_results: {max_drop: 1}}", "'max_drop' would reject good results: a lower zero_results is better. Use 'max_rise'."),
        ("thresholds: {zero_results: {max: 150%}}", "A percentage is between 0% and 100%, not 150%"),
        ("thresholds: {ndcg@10: {max_drop: 5}}", "ndcg@10 can never change by more than 5, so 'max_drop' cannot fail. Did you mean 5%?"),
        ("thresholds: {ndcg@10: {max_drop: 500%}}", "ndcg@10 can never change by more than 500%, so 'max_drop' cannot fail"),
        ("thresholds: {ndcg@10: {max_drop: -1}}", "'max_drop' of ndcg@10 must be 0 or more, or a percentage of the baseline, not '-1'"),
        ("each_query: {ndcg@10: {max_significant_drop: 0.1}}", "'max_significant_drop' is a test over many queries. Use 'max_drop' for a single query."),
        ("each_query: {latency_p95: 1s}", "latency_p95 is about many queries, so a single query cannot have it"),
        ("each_query: {weighted ndcg@10: 0.1}", "weighted ndcg@10 is about many queries, so a single query cannot have it"),
        ("each_query: {ndcg: 0.1, ndcg@10: 0.2}", "ndcg@10 already has a threshold on line 2"),
        ("match: text\nthresholds: {judged@10: 0.5}", "judged@10 cannot be used with 'match: text': passages are not results"),
    ],
)  # fmt: skip
def test_a_bound_that_makes_no_sense_is_a_mistake(
    folder: SuiteFolder, text: str, mistake: str
) -> None:
    (found,) = folder.find_mistakes(f"{Q}{text}\n")

    assert found.split(": ", 1)[1] == mistake


@pytest.mark.parametrize(
    ("query", "mistake"),
    [
        ("{query: a, thresholds: {ndcg: 1}}", "ndcg@10 is undefined for this query, because it has no relevant document"),
        ("{query: a, relevant: [d], thresholds: {mrr: {min: 1, known_issue: X}}}", "'known_issue' is not a key of the threshold of mrr, but of a query. Write it below its query."),
        ("{query: a, thresholds: {nix: 1}}", "Unknown metric 'nix'."),
    ],
)  # fmt: skip
def test_mistakes_in_the_thresholds_of_a_query(
    folder: SuiteFolder, query: str, mistake: str
) -> None:
    (found,) = folder.find_mistakes(f"queries:\n  - {query}\n")

    assert found.startswith(f"shop.ir.yaml:2: {mistake}")
