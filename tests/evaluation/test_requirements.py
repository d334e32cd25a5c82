"""Rules, known issues, answers to all queries, and the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.results import CheckResult, EvaluationContext, Outcome, Requirement
from pytest_irquality.io.text import Text, write
from pytest_irquality.retrieval.run import QueryError, Ranking, Run
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import KnownIssue, Settings, Suite
from pytest_irquality.suite.rules import (
    EveryResult,
    ExpectNoResults,
    FieldCondition,
    MustFind,
    MustNotFind,
    RankingView,
    Rule,
)
from tests.builders import EMPTY, GOOD, answer, make_query, make_run, make_suite, make_threshold

MUST_FIND = MustFind({"good": 2})
LIVE_ONLY = EveryResult((FieldCondition("status", "is", ("live",)),))


def make_rule_suite(*rules: Rule, **fields: Any) -> Suite:
    return make_suite(queries=[make_query("red shoes", rules=rules, **fields)])


def get_rule_result(evaluation: Evaluation) -> CheckResult:
    [result] = [result for result in evaluation.results if isinstance(result.check, Rule)]
    return result


# -- Rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (MustFind({"best": 1, "good": 2}), Outcome.PASSED),
        (MustFind({"good": 1}), Outcome.FAILED),
        (MustFind({"other": None}), Outcome.FAILED),
        (MustNotFind({"other": None}), Outcome.PASSED),
        (MustNotFind({"other": None, "good": None}), Outcome.FAILED),
        (ExpectNoResults(), Outcome.FAILED),
    ],
)
def test_rules(rule: Rule, outcome: Outcome) -> None:
    result = get_rule_result(evaluate(make_rule_suite(rule), answer({"red shoes": GOOD})))

    assert result.outcome is outcome
    assert (result.item, result.label, result.query_ids) == ("red shoes", rule.key, ("red shoes",))


class ForbidBad(Rule):
    """A rule of a contributor that sets none of the optional attributes."""

    key = "forbid_bad"

    def _iter_violations(self, ranking: RankingView, context: object) -> Iterator[Text]:
        if "bad" in ranking.doc_ids:
            yield write("bad was returned")


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (ForbidBad(), Outcome.INCOMPLETE),
        (MustNotFind({"other": None}), Outcome.INCOMPLETE),
        (LIVE_ONLY, Outcome.INCOMPLETE),
        (MUST_FIND, Outcome.FAILED),
        (ExpectNoResults(), Outcome.PASSED),
    ],
)
def test_rules_if_no_query_returns_anything(rule: Rule, outcome: Outcome) -> None:
    """A broken search satisfies everything that only forbids results."""
    result = get_rule_result(evaluate(make_rule_suite(rule), answer({"red shoes": EMPTY})))

    assert result.outcome is outcome


def test_every_repeat_must_satisfy_a_rule() -> None:
    """A user gets one answer, and it may be the bad one."""
    suite = make_rule_suite(MUST_FIND)

    result = get_rule_result(evaluate(suite, answer({"red shoes": [GOOD, GOOD, EMPTY]})))

    assert result.outcome is Outcome.FAILED
    assert "good was not retrieved" in str(result.text)


def test_a_rule_that_is_broken_twice_names_its_query_once() -> None:
    suite = make_rule_suite(MustFind({"a": 1, "b": 1}))

    result = get_rule_result(evaluate(suite, answer({"red shoes": EMPTY})))

    assert str(result.text) == (
        '"red shoes": a was not retrieved, but must be in the top 1;'
        " b was not retrieved, but must be in the top 1"
    )


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (Run(errors={"red shoes": QueryError("timed out")}), '"red shoes" has no answer'),
        (Run(), '"red shoes" did not run'),
    ],
)
def test_rule_without_an_answer_is_incomplete(run: Run, text: str) -> None:
    result = get_rule_result(evaluate(make_rule_suite(MUST_FIND), run))

    assert (result.outcome, str(result.text)) == (Outcome.INCOMPLETE, text)


def test_broken_rule_of_the_baseline_is_not_excused() -> None:
    """S6."""
    suite = make_rule_suite(MustFind({"good": 1}))

    evaluation = evaluate(suite, make_run(suite), make_run(suite))

    assert evaluation.outcome is Outcome.FAILED


def with_status(*statuses: str) -> Ranking:
    doc_ids = tuple(f"d{number}" for number in range(len(statuses)))
    return Ranking(doc_ids, fields=tuple({"status": status} for status in statuses))


@pytest.mark.parametrize(
    ("rankings", "outcome", "broken"),
    [
        ([with_status("live"), with_status("live", "live")], Outcome.PASSED, ()),
        ([with_status("live"), with_status("live", "draft")], Outcome.FAILED, ("shop 1",)),
        ([EMPTY, EMPTY], Outcome.INCOMPLETE, ()),
        ([with_status("live")], Outcome.INCOMPLETE, ()),
        ([with_status("draft")], Outcome.FAILED, ("shop 0",)),
    ],
)
def test_rule_of_each_query(
    rankings: list[Ranking], outcome: Outcome, broken: tuple[str, ...]
) -> None:
    """A rule that met no result at all says nothing (S28)."""
    suite = make_suite(queries=2, each_query=[LIVE_ONLY])
    run = answer({f"shop {number}": ranking for number, ranking in enumerate(rankings)})

    result = get_rule_result(evaluate(suite, run))

    assert (result.outcome, result.query_ids) == (outcome, broken)
    assert result.item == "each_query every_result"
    assert result.could_fail  # also if it met no result, or it would seem to be unable to fail


def test_rules_over_fields_read_chunks_and_not_passages() -> None:
    query = make_query("shoes", {"red shoes": 1.0}, passages=("red shoes",))
    suite = make_suite(queries=[query], each_query=[LIVE_ONLY], settings=Settings(match="text"))
    ranking = Ranking(("c1",), texts=("Red shoes!",), fields=({"status": "live"},))

    assert get_rule_result(evaluate(suite, answer({"shoes": ranking}))).outcome is Outcome.PASSED


# -- Known issues ----------------------------------------------------------------------------------

ISSUE = KnownIssue("SEARCH-212", until=date(2027, 3, 1), location=Location("shop.ir.yaml", 14))
BROKEN = MustFind({"missing": None})


@pytest.mark.parametrize(
    ("today", "has_base_branch", "outcome"),
    [
        (None, False, Outcome.PASSED),
        (date(2027, 3, 1), False, Outcome.PASSED),
        (date(2027, 3, 2), False, Outcome.FAILED),
        (date(2027, 3, 2), True, Outcome.PASSED),
    ],
)
def test_known_issue_covers_failures_until_its_date(
    today: date | None, has_base_branch: bool, outcome: Outcome
) -> None:
    """S6. The calendar never breaks another person's pull request."""
    suite = make_rule_suite(BROKEN, MUST_FIND, known_issue=ISSUE)
    context = EvaluationContext(today=today, has_base_branch=has_base_branch)

    evaluation = evaluate(suite, make_run(suite), make_run(suite), context=context)

    [broken, other] = [result for result in evaluation.results if isinstance(result.check, Rule)]
    assert broken.outcome is outcome
    assert other.outcome is Outcome.PASSED
    assert broken.known_issue_id == ("SEARCH-212" if outcome is Outcome.PASSED else "")
    expired = [notice.code for notice in evaluation.notices if "expired" in notice.code]
    assert expired == ["expired-known-issue"] * has_base_branch


@pytest.mark.parametrize(
    ("is_base_branch", "outcome"), [(False, Outcome.FAILED), (True, Outcome.PASSED)]
)
def test_known_issue_that_holds_again_fails(is_base_branch: bool, outcome: Outcome) -> None:
    """S35: it is no failure of the base side."""
    suite = make_rule_suite(MUST_FIND, known_issue=ISSUE)

    result = get_rule_result(
        evaluate(
            suite,
            make_run(suite),
            context=EvaluationContext(has_base_branch=True, is_base_branch=is_base_branch),
        )
    )

    assert result.outcome is outcome
    if outcome is Outcome.FAILED:
        assert str(result.text) == (
            "Known issue SEARCH-212 is fixed. Remove `known_issue` at `shop.ir.yaml:14`."
        )


def test_known_issue_without_an_answer_is_not_fixed() -> None:
    suite = make_rule_suite(MUST_FIND, known_issue=ISSUE)

    assert get_rule_result(evaluate(suite, Run())).outcome is Outcome.INCOMPLETE


def test_known_issue_covers_thresholds_and_rules_of_each_query() -> None:
    covered = make_query("a", known_issue=ISSUE, thresholds=(make_threshold(min=0.9),))
    suite = make_suite(
        queries=[covered, make_query("b")],
        each_query=[LIVE_ONLY, make_threshold("recall@10", min=0.9)],
    )
    run = answer(
        {"a": with_status("draft"), "b": Ranking(GOOD.doc_ids, fields=({"status": "live"},) * 3)}
    )

    evaluation = evaluate(suite, run)

    assert evaluation.outcome is Outcome.PASSED
    assert get_rule_result(evaluation).known_issue_id == "SEARCH-212"


# -- Answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "allowed", "outcome"),
    [
        (0, 0, Outcome.PASSED),
        (1, 0, Outcome.FAILED),
        (2, 2, Outcome.PASSED),
        (3, 2, Outcome.FAILED),
    ],
)
def test_every_query_needs_an_answer(errors: int, allowed: int, outcome: Outcome) -> None:
    queries = [make_query(f"shop {number}", is_sampled=True) for number in range(5)]
    suite = make_suite(queries=queries, settings=Settings(max_errors=allowed))
    failed = {f"shop {number}": QueryError("timed out") for number in range(errors)}
    answered = {f"shop {number}": (GOOD,) for number in range(errors, 5)}

    evaluation = evaluate(suite, Run(answered, failed), make_run(suite))

    [result] = [result for result in evaluation.results if result.check is Requirement.ANSWERS]
    assert (result.outcome, result.value, result.item) == (outcome, errors, "answers")
    assert evaluation.outcome is outcome


def test_query_that_was_skipped_is_incomplete() -> None:
    """S38: a call is skipped."""
    suite = make_suite(queries=2)
    run = answer({"shop 0": GOOD}, errors={"shop 1": QueryError("no license", is_skipped=True)})

    evaluation = evaluate(suite, run, make_run(suite))

    assert evaluation.outcome is Outcome.INCOMPLETE


# -- Selections ------------------------------------------------------------------------------------


def test_only_checks_of_selected_items_are_evaluated() -> None:
    suite = make_suite(
        queries=[make_query("a", rules=(MUST_FIND,)), make_query("b", rules=(BROKEN,))],
        thresholds=[make_threshold(min=0.9)],
    )
    context = EvaluationContext(
        selected_items=frozenset({"a"}), deselected_query_ids=frozenset({"b"})
    )

    evaluation = evaluate(suite, answer({"a": GOOD}), context=context)

    assert [result.item for result in evaluation.results] == ["a"]
    assert evaluation.outcome is Outcome.PASSED
