"""Notices about a suite: when there is one, its outcome, and what it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.results import EvaluationContext, Notice, Outcome
from pytest_irquality.metrics import Judgments
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.model import Settings, Suite
from pytest_irquality.suite.rules import EveryResult, FieldCondition, MustFind, MustNotFind
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
    parse_ranking,
    rank,
)


def list_codes(evaluation: Evaluation) -> list[str]:
    return [notice.code for notice in evaluation.notices]


def get_notice(evaluation: Evaluation, code: str) -> Notice:
    [notice] = [notice for notice in evaluation.notices if notice.code == code]
    return notice


# -- What was not evaluated ------------------------------------------------------------------------


def test_unchanged_suite_has_no_notices() -> None:
    suite = make_suite()

    evaluation = evaluate(suite, make_run(suite), make_run(suite))

    assert evaluation.notices == ()
    assert evaluation.outcome is Outcome.PASSED


def test_queries_that_did_not_run_are_named_with_their_reasons() -> None:
    suite = make_suite(queries=3)
    skipped = QueryError("needs a license", is_skipped=True)

    notice = get_notice(
        evaluate(suite, answer({"shop 0": GOOD}, errors={"shop 1": skipped})), "not-run"
    )

    assert notice.outcome is Outcome.INCOMPLETE
    assert notice.query_ids == ("shop 1", "shop 2")
    assert str(notice.text) == ('2 of 3 queries did not run: "shop 1", "shop 2" (needs a license)')


def test_suite_without_judgments_says_that_it_reports_changes_only() -> None:
    """S40."""
    suite = make_suite(queries=[make_query(f"q{number}", {}) for number in range(5)])

    evaluation = evaluate(suite, make_run(suite), make_run(suite))

    assert list_codes(evaluation) == ["no-judgments"]
    assert evaluation.outcome is Outcome.PASSED


def test_deselected_queries_are_no_gap() -> None:
    suite = make_suite(queries=2)
    context = EvaluationContext(deselected_query_ids=frozenset({"shop 1"}))

    evaluation = evaluate(suite, answer({"shop 0": GOOD}), make_run(suite), context=context)

    assert "not-run" not in list_codes(evaluation)


@pytest.mark.parametrize(
    ("suite", "can_fail"),
    [
        (make_suite(), False),
        (make_suite(thresholds=[make_threshold(min=0.0)]), False),
        (make_suite(thresholds=[make_threshold(min=0.5, warn=True)]), True),
        (make_suite(thresholds=[make_threshold(min=0.5)]), True),
        (make_suite(queries=[make_query("a", rules=(MustFind({"good": None}),))]), True),
    ],
)
def test_suite_in_which_nothing_can_fail_is_incomplete(suite: Suite, can_fail: bool) -> None:
    """S28, without a baseline. The kept threshold warns, so people will see it."""
    evaluation = evaluate(suite, make_run(suite))

    assert ("nothing-can-fail" in list_codes(evaluation)) is not can_fail
    assert evaluation.outcome is (Outcome.PASSED if can_fail else Outcome.INCOMPLETE)


def test_suite_in_which_nothing_can_fail_says_what_to_write() -> None:
    suite = make_suite()

    notice = get_notice(evaluate(suite, make_run(suite)), "nothing-can-fail")

    assert f"{notice.text}. {notice.next_step}." == (
        "No check in shop.ir.yaml can fail. Add a rule, a threshold or a baseline."
    )


@pytest.mark.parametrize("queries", [1, 4])
def test_few_queries_without_judgments_cannot_fail(queries: int) -> None:
    suite = make_suite(queries=[make_query(f"q{number}", {}) for number in range(queries)])

    evaluation = evaluate(suite, make_run(suite), make_run(suite))

    assert list_codes(evaluation) == ["nothing-can-fail", "no-judgments"]


@pytest.mark.parametrize(("tied", "outcome"), [(2, Outcome.PASSED), (3, Outcome.INCOMPLETE)])
def test_many_undecided_ties_are_incomplete(tied: int, outcome: Outcome) -> None:
    """S42: a tenth of twenty queries may be undecided."""
    head = " ".join(f"h{number}:{19 - number}" for number in range(8))
    suite = make_suite(
        queries=[make_query(f"q{number}", {"best": 1.0, "h0": 1.0}) for number in range(20)]
    )
    before = make_run(suite, worse=20, ranking=parse_ranking(f"{head} x1:1 best:1"))
    now = make_run(suite, worse=tied, ranking=parse_ranking(f"{head} x1:1 x2:1"))

    evaluation = evaluate(
        suite, Run({**before.answers, **dict(list(now.answers.items())[:tied])}), before
    )

    notice = get_notice(evaluation, "undecided-ties")
    assert (notice.outcome, len(notice.query_ids)) == (outcome, tied)
    assert str(notice.text).startswith(
        f"{tied} queries end in a tie at rank 10, so missing documents may only be tied: "
    )
    assert str(notice.next_step) == "Increase `depth`"
    assert evaluation.outcome is outcome


def test_shallow_baseline_is_named() -> None:
    suite = make_suite(metrics=["recall@20"])
    baseline_run = replace(make_run(suite), provenance=Provenance(depth=10))

    notice = get_notice(evaluate(suite, make_run(suite), baseline_run), "shallow-baseline")

    assert str(notice.text) == (
        "Only the first 10 of 20 results were compared, because one side has no more"
    )


# -- What changed ----------------------------------------------------------------------------------


def test_every_lost_query_is_named_with_the_ranks_of_its_documents() -> None:
    """S1."""
    suite = make_suite()
    titles = {"best": "Best shoe"}

    evaluation = evaluate(
        suite, make_run(suite, worse=2, ranking=EMPTY, titles=titles), make_run(suite)
    )

    lost = [notice for notice in evaluation.notices if notice.code == "lost-query"]
    assert [notice.query_ids for notice in lost] == [("shop 0",), ("shop 1",)]
    assert str(lost[0].text) == (
        '"shop 0" lost all its relevant documents'
        " (Best shoe (best) at rank 1, good at rank 2, fair at rank 3)"
    )


def test_gained_queries_are_named() -> None:
    suite = make_suite(queries=3)

    notice = get_notice(
        evaluate(suite, make_run(suite), make_run(suite, worse=2, ranking=EMPTY)), "gained-queries"
    )

    assert str(notice.text) == ('2 queries gained a first relevant document: "shop 0", "shop 1"')


@pytest.mark.parametrize(("worse", "is_named"), [(0, False), (1, True), (2, True), (3, False)])
def test_few_worse_queries_are_too_few_to_test(worse: int, is_named: bool) -> None:
    """S73."""
    suite = make_suite()

    evaluation = evaluate(suite, make_run(suite, worse=worse), make_run(suite))

    assert ("too-few-changes" in list_codes(evaluation)) is is_named
    if worse == 2:
        assert str(get_notice(evaluation, "too-few-changes").text) == (
            '2 queries got worse in ndcg@10, too few to test: "shop 0", "shop 1"'
        )


def test_new_queries_are_named() -> None:
    suite = make_suite(queries=5)

    notice = get_notice(
        evaluate(suite, make_run(suite), make_run(make_suite(queries=4))), "new-queries"
    )

    assert (notice.outcome, notice.query_ids) == (Outcome.PASSED, ("shop 4",))


def test_first_baseline_has_no_notice_of_new_queries() -> None:
    suite = make_suite(thresholds=[make_threshold(min=0.5)])

    assert evaluate(suite, make_run(suite), Run()).notices == ()


def test_regraded_queries_are_named() -> None:
    """S4."""
    suite = make_suite()
    context = EvaluationContext(regraded_query_ids=frozenset({"shop 3"}))

    evaluation = evaluate(suite, make_run(suite), make_run(suite), context=context)

    assert get_notice(evaluation, "regraded-queries").query_ids == ("shop 3",)
    assert evaluation.outcome is Outcome.PASSED


def test_order_of_equal_scores_is_no_change() -> None:
    """S10."""
    suite = make_suite(queries=5)
    before = make_run(suite, worse=5, ranking=parse_ranking("best:1 good:1 fair:0.5"))
    now = make_run(suite, worse=5, ranking=parse_ranking("good:1 best:1 fair:0.5"))

    evaluation = evaluate(suite, now, before)

    assert list_codes(evaluation) == ["tie-order"]
    assert str(get_notice(evaluation, "tie-order").text) == (
        "5 rankings differ only in the order of equal scores, which is not a change:"
        ' "shop 0", "shop 1", "shop 2" and 2 more'
    )
    assert evaluation.outcome is Outcome.PASSED


# -- Documents -------------------------------------------------------------------------------------


def test_documents_that_left_the_index_are_named_with_their_queries() -> None:
    """S11, S27."""
    suite = make_suite(queries=4)
    run = make_run(suite, worse=1, ranking=rank("good"), missing_doc_ids=frozenset({"best"}))

    notice = get_notice(evaluate(suite, run, make_run(suite)), "missing-documents")

    assert (notice.outcome, notice.doc_ids) == (Outcome.PASSED, ("best",))
    assert str(notice.text) == (
        "1 relevant document is no longer in the index (best), needed by"
        ' "shop 0", "shop 1", "shop 2" and 1 more'
    )
    assert str(notice.next_step) == "Index them again, or update the suite"


@pytest.mark.parametrize("has_threshold", [True, False])
def test_unjudged_documents_that_decide_are_named(has_threshold: bool) -> None:
    """S5."""
    thresholds = [make_threshold("mrr@10", min=0.9)] if has_threshold else []
    suite = make_suite(queries=5, metrics=["mrr@10"], thresholds=thresholds)
    run = make_run(suite, worse=5, ranking=rank("junk", "best", "good", "fair"))

    evaluation = evaluate(suite, run, make_run(suite))

    notice = get_notice(evaluation, "unjudged-results")
    finding = "and new in queries that got worse"
    if has_threshold:
        finding = ", and without them these checks would hold: mrr@10"
    assert str(notice.text) == f"5 of 20 results are unjudged {finding}".replace(" ,", ",")
    assert str(notice.next_step) == "Grade these first: junk"
    assert notice.is_cause is has_threshold


def test_rules_that_grades_cannot_repair_name_no_unjudged_documents() -> None:
    """New documents without a grade break a rule over fields and one that forbids them."""
    rules = [EveryResult((FieldCondition("status", "is", ("live",)),)), MustNotFind({"junk": 10})]
    suite = make_suite(queries=5, each_query=rules)
    run = make_run(suite, worse=5, ranking=rank("best", "good", "fair", "junk"))

    evaluation = evaluate(suite, run, make_run(suite))

    assert [result.label for result in evaluation.results if result.outcome is Outcome.FAILED] == [
        "each_query every_result",
        "each_query must_not_find",
    ]
    assert "unjudged-results" not in list_codes(evaluation)


def test_unjudged_documents_of_the_baseline_are_no_news() -> None:
    suite = make_suite(queries=5)
    before = rank("junk", "best", "good", "fair")
    now = rank("junk", "good", "best", "fair")

    evaluation = evaluate(
        suite, make_run(suite, worse=5, ranking=now), make_run(suite, worse=5, ranking=before)
    )

    assert "unjudged-results" not in list_codes(evaluation)


@pytest.mark.parametrize("is_decisive", [True, False])
def test_disagreement_of_assessors_is_named_where_it_may_decide(is_decisive: bool) -> None:
    """S29."""
    query = make_query(
        "shoes",
        judgments=Judgments({"best": 1.5, "good": 1.0}),
        assessor_grades={"best": {"ann": 0.0, "bob": 3.0}, "good": {"ann": 1.0, "bob": 1.0}},
        thresholds=(make_threshold(min=0.9),),
    )
    suite = make_suite(queries=[query])
    run = answer({"shoes": rank("good") if is_decisive else rank("best", "good")})

    evaluation = evaluate(suite, run)

    assert ("disagreement" in list_codes(evaluation)) is is_decisive
    if is_decisive:
        assert str(get_notice(evaluation, "disagreement").text) == (
            'Assessors disagree on best for "shoes" (0, 3), which counts as 1.5'
        )


def test_repeated_documents_are_counted_once_and_named() -> None:
    """S8."""
    suite = make_suite(queries=4)
    run = make_run(suite, worse=1, ranking=rank("best", "best", "good", "fair"))

    evaluation = evaluate(suite, run, make_run(suite))

    assert get_notice(evaluation, "repeated-documents").query_ids == ("shop 0",)
    assert evaluation.outcome is Outcome.PASSED


# -- Passages, notes and order -------------------------------------------------------------------


def test_fates_of_passages_are_counted() -> None:
    """S25."""
    passages = ("red shoes are in stock", "blue boots are sold out today", "green socks")
    query = make_query("q", dict.fromkeys(passages, 1.0), passages=passages)
    suite = make_suite(queries=[query], settings=Settings(match="text"))
    whole = Ranking(("c1",), texts=("Red shoes are in stock. Blue boots are sold out today.",))
    cut = Ranking(
        ("c1", "c2"),
        texts=("Red shoes are in stock. Blue boots", "are sold out today. Prices are low."),
    )

    notice = get_notice(evaluate(suite, answer({"q": cut}), answer({"q": whole})), "passages")

    assert str(notice.text) == (
        "3 relevant passages: 1 found (2 before), 1 split across chunks, 1 not retrieved"
    )


def test_notes_of_suite_and_run_are_repeated() -> None:
    """S69, S48."""
    suite = make_suite(notes=("2 judgments of qrels.txt are overridden",))
    run = make_run(suite, notes=("texts were cut",), provenance=Provenance(retry_count=12))

    evaluation = evaluate(suite, run, make_run(suite))

    assert [str(notice.text) for notice in evaluation.notices] == [
        "2 judgments of qrels.txt are overridden",
        "texts were cut",
        "12 calls were retried after a failure",
    ]


def test_causes_come_first() -> None:
    suite = make_suite(queries=5)
    run = Run({}, {query.request: QueryError("refused") for query in suite.queries})

    evaluation = evaluate(suite, run, make_run(suite))

    assert list_codes(evaluation)[0] == "no-answer"
    assert evaluation.notices[0].is_cause


def test_notices_name_their_suite() -> None:
    suite = make_suite()

    [notice] = evaluate(suite, make_run(suite)).notices

    assert (notice.subject, notice.suite_path) == ("shop", "shop.ir.yaml")
    assert notice.retriever == suite.retriever


def test_flaky_answers_are_compared_by_their_means() -> None:
    """S23: nothing is excused, and nothing is failed that did not change."""
    suite = make_suite(queries=6)
    varying: Sequence[Ranking] = (GOOD, SWAPPED, WORSE)
    shuffled: Sequence[Ranking] = (WORSE, GOOD, SWAPPED)

    evaluation = evaluate(
        suite, make_repeated_run(suite, *[varying] * 6), make_repeated_run(suite, *[shuffled] * 6)
    )

    assert evaluation.outcome is Outcome.PASSED
