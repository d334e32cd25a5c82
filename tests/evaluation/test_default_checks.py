"""The default checks of one suite, on both sides of nearly every constant."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.results import (
    CheckResult,
    DefaultCheck,
    EvaluationContext,
    Outcome,
)
from pytest_irquality.retrieval.run import Ranking, Run
from pytest_irquality.suite.model import (
    VARIANT_TAG,
    KnownIssue,
    LostQueriesMode,
    LostQueriesSetting,
    Suite,
)
from pytest_irquality.suite.rules import ExpectNoResults
from tests.builders import EMPTY, GOOD, answer, make_query, make_run, make_suite, rank


def get_result(evaluation: Evaluation, check: DefaultCheck) -> CheckResult:
    [result] = [result for result in evaluation.results if result.check is check]
    return result


def lose(suite: Suite, lost: int, gained: int = 0, **context: object) -> CheckResult:
    """Evaluate a suite of which some queries lose everything and the last ones gain it."""
    gaining = suite.queries[len(suite.queries) - gained :]
    baseline_run = Run({**make_run(suite).answers, **{q.request: (EMPTY,) for q in gaining}})
    run = make_run(suite, worse=lost, ranking=EMPTY)
    evaluation = evaluate(suite, run, baseline_run, context=EvaluationContext(**context))  # type: ignore[arg-type]
    return get_result(evaluation, DefaultCheck.LOST_QUERIES)


# -- Check 1 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost", "gained", "outcome"),
    [
        (0, 0, Outcome.PASSED),
        (0, 2, Outcome.PASSED),
        (1, 0, Outcome.FAILED),
        (3, 2, Outcome.FAILED),
        (2, 2, Outcome.REVIEW),
        (2, 3, Outcome.REVIEW),
    ],
)
def test_lost_queries_fail_unless_as_many_gained(lost: int, gained: int, outcome: Outcome) -> None:
    """S1."""
    result = lose(make_suite(), lost, gained)

    assert result.outcome is outcome
    assert (result.value, result.bound, result.item) == (lost, gained, "default checks")
    assert result.query_ids == tuple(f"shop {number}" for number in range(lost))


@pytest.mark.parametrize(
    ("mode", "lost", "outcome"),
    [
        (LostQueriesMode.FAIL, 0, Outcome.PASSED),
        (LostQueriesMode.FAIL, 1, Outcome.FAILED),
        (LostQueriesMode.WARN, 3, Outcome.PASSED),
        (LostQueriesMode.MAX, 2, Outcome.PASSED),
        (LostQueriesMode.MAX, 3, Outcome.FAILED),
    ],
)
def test_modes_of_lost_all_relevant(mode: LostQueriesMode, lost: int, outcome: Outcome) -> None:
    """Gains do not count in any mode but the default."""
    setting = LostQueriesSetting(mode, maximum=2 if mode is LostQueriesMode.MAX else 0)

    result = lose(make_suite(lost_queries=setting), lost, gained=5)

    assert result.outcome is outcome
    assert result.is_warning is (mode is LostQueriesMode.WARN)


def test_ignored_lost_queries_are_no_check() -> None:
    suite = make_suite(lost_queries=LostQueriesSetting(LostQueriesMode.IGNORE))

    evaluation = evaluate(suite, make_run(suite, worse=1, ranking=EMPTY), make_run(suite))

    checks = [result.check for result in evaluation.results]
    assert DefaultCheck.LOST_QUERIES not in checks
    assert "lost-query" in [notice.code for notice in evaluation.notices]


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [(LostQueriesMode.NET, Outcome.PASSED), (LostQueriesMode.FAIL, Outcome.FAILED)],
)
def test_queries_from_files_decide_only_if_the_suite_says_so(
    mode: LostQueriesMode, outcome: Outcome
) -> None:
    queries = [make_query(f"q{number}", is_sampled=True) for number in range(5)]

    result = lose(make_suite(queries=queries, lost_queries=LostQueriesSetting(mode)), lost=1)

    assert result.outcome is outcome
    assert result.could_fail is (mode is LostQueriesMode.FAIL)


@pytest.mark.parametrize(
    ("until", "today", "outcome"),
    [
        (None, date(2027, 3, 2), Outcome.PASSED),
        (date(2027, 3, 1), date(2027, 3, 1), Outcome.PASSED),
        (date(2027, 3, 1), date(2027, 3, 2), Outcome.FAILED),
    ],
)
def test_known_issue_takes_a_query_out_until_its_date(
    until: date | None, today: date, outcome: Outcome
) -> None:
    query = make_query("a", known_issue=KnownIssue("SEARCH-1", until=until))
    suite = make_suite(queries=[query, make_query("b")])

    assert lose(suite, lost=1, today=today).outcome is outcome


def test_lost_variants_count() -> None:
    """S24, S55."""
    queries = [make_query("shoos", variant_of="shoes", tags=(VARIANT_TAG,)), make_query("shoes")]

    assert lose(make_suite(queries=queries), lost=1).outcome is Outcome.FAILED


def test_baseline_without_relevant_documents_cannot_be_lost() -> None:
    suite = make_suite()
    empty = make_run(suite, worse=20, ranking=EMPTY)

    result = get_result(evaluate(suite, empty, empty), DefaultCheck.LOST_QUERIES)

    assert (result.outcome, result.could_fail) == (Outcome.PASSED, False)


@pytest.mark.parametrize(
    "fields", [{"baseline_retriever": "old_retriever"}, {"is_probe_suite": True}]
)
def test_other_retrievers_and_probes_have_no_default_checks(fields: dict[str, object]) -> None:
    suite = make_suite(**fields)  # type: ignore[arg-type]

    evaluation = evaluate(suite, make_run(suite, worse=20, ranking=EMPTY), make_run(suite))

    checks = [result.check for result in evaluation.results]
    assert not any(isinstance(check, DefaultCheck) for check in checks)


def test_suite_without_a_baseline_has_no_default_checks() -> None:
    suite = make_suite()

    checks = [result.check for result in evaluate(suite, make_run(suite)).results]

    assert not any(isinstance(check, DefaultCheck) for check in checks)


# -- Check 4 ---------------------------------------------------------------------------------------

MOVED = rank("good", "best", "fair")
FAR = rank("best", *"qrstuvwxy")
UNRELATED = rank("x", "y")


def make_unjudged_suite(queries: int) -> Suite:
    return make_suite("list", [make_query(f"list {number}", {}) for number in range(queries)])


def check_unjudged(queries: int, worse: int, ranking: Ranking) -> CheckResult:
    suite = make_unjudged_suite(queries)
    evaluation = evaluate(suite, make_run(suite, worse=worse, ranking=ranking), make_run(suite))
    return get_result(evaluation, DefaultCheck.UNRECOGNIZABLE)


@pytest.mark.parametrize(
    ("queries", "worse", "ranking", "is_failed"),
    [
        pytest.param(20, 19, MOVED, False, id="95% new first results"),
        pytest.param(20, 20, MOVED, True, id="all first results new"),
        pytest.param(20, 5, UNRELATED, False, id="a quarter unrelated"),
        pytest.param(20, 6, UNRELATED, True, id="more than a quarter unrelated"),
        pytest.param(7, 2, UNRELATED, False, id="two unrelated of seven"),
        pytest.param(20, 1, EMPTY, False, id="one newly empty"),
        pytest.param(20, 2, EMPTY, True, id="two newly empty"),
        pytest.param(100, 2, EMPTY, False, id="two newly empty of 100"),
        pytest.param(99, 2, EMPTY, True, id="two newly empty of 99"),
        pytest.param(5, 5, EMPTY, True, id="five queries"),
    ],
)
def test_rankings_without_judgments_must_be_recognizable(
    queries: int, worse: int, ranking: Ranking, is_failed: bool
) -> None:
    """S32, S39, S40."""
    result = check_unjudged(queries, worse, ranking)

    assert (result.outcome is Outcome.FAILED) is is_failed
    assert result.could_fail


@pytest.mark.parametrize(("shared", "is_failed"), [(2, False), (1, True)])
def test_mean_overlap_must_not_be_under_a_fifth(shared: int, is_failed: bool) -> None:
    """Ten documents before, of which one or two are still there, the first one at rank 1."""
    suite = make_unjudged_suite(20)
    before = [f"old-{number}" for number in range(10)]
    now = [*before[:shared], *(f"new-{number}" for number in range(10 - shared))]
    texts = [query.request for query in suite.queries]

    evaluation = evaluate(
        suite,
        answer(dict.fromkeys(texts, Ranking(tuple(now)))),
        answer(dict.fromkeys(texts, Ranking(tuple(before)))),
    )

    result = get_result(evaluation, DefaultCheck.UNRECOGNIZABLE)
    assert (result.outcome is Outcome.FAILED) is is_failed


def test_four_queries_are_too_few() -> None:
    result = check_unjudged(4, 4, EMPTY)

    assert (result.outcome, result.could_fail) == (Outcome.PASSED, False)


def test_unchanged_rankings_pass() -> None:
    assert check_unjudged(20, 0, EMPTY).outcome is Outcome.PASSED


def test_one_document_that_is_first_everywhere_is_named() -> None:
    """S74."""
    result = check_unjudged(20, 20, rank("junk", "best", "good", "fair"))

    assert result.outcome is Outcome.FAILED
    assert str(result.text) == (
        "the first result changed for 20 of 20 queries, and 20 of them now begin with junk"
    )


def test_passing_check_says_how_many_first_results_changed() -> None:
    assert "the first result changed for 3 of 20 queries" in str(check_unjudged(20, 3, MOVED).text)


def test_queries_without_judgments_are_protected_next_to_judged_queries() -> None:
    suite = make_unjudged_suite(5)
    mixed = replace(suite, queries=suite.queries + make_suite().queries)

    evaluation = evaluate(mixed, make_run(mixed, worse=5, ranking=EMPTY), make_run(mixed))

    failed = [result.check for result in evaluation.results if result.outcome is Outcome.FAILED]
    assert failed == [DefaultCheck.UNRECOGNIZABLE]


def test_queries_that_expect_no_results_are_left_out() -> None:
    queries = [make_query(f"e{number}", {}, rules=(ExpectNoResults(),)) for number in range(5)]
    suite = make_suite(queries=queries)

    evaluation = evaluate(suite, make_run(suite, worse=5, ranking=EMPTY), make_run(suite))

    result = get_result(evaluation, DefaultCheck.UNRECOGNIZABLE)
    assert (result.outcome, result.could_fail) == (Outcome.PASSED, False)


def test_suite_of_new_queries_is_checked_against_its_own_answers() -> None:
    suite = make_suite(queries=2)

    evaluation = evaluate(
        suite,
        answer({"shop 0": EMPTY, "shop 1": GOOD}),
        make_run(suite),
        context=EvaluationContext(is_new=True),
    )

    assert get_result(evaluation, DefaultCheck.LOST_QUERIES).outcome is Outcome.FAILED
