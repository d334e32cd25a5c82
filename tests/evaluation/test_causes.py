"""Causes that explain at once why many queries got worse."""

from __future__ import annotations

import pytest

from pytest_irquality.evaluation.evaluate import Evaluation, evaluate
from pytest_irquality.evaluation.results import Notice, Outcome
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.model import Settings
from pytest_irquality.suite.rules import ExpectNoResults
from tests.builders import (
    EMPTY,
    GOOD,
    answer,
    make_query,
    make_run,
    make_suite,
    make_threshold,
    rank,
)


def find_notice(evaluation: Evaluation, code: str) -> Notice | None:
    for notice in evaluation.notices:
        if notice.code == code:
            return notice
    return None


def get_text(evaluation: Evaluation, code: str) -> str:
    notice = find_notice(evaluation, code)
    assert notice is not None
    return str(notice.text)


# -- No answers ------------------------------------------------------------------------------------


def test_cause_of_missing_answers_is_named_once() -> None:
    """S7."""
    suite = make_suite(queries=5)
    errors = {
        "shop 0": QueryError("timed out after 3.01 s", "timed out"),
        "shop 1": QueryError("timed out after 3.02 s", "timed out"),
        "shop 2": QueryError("no such index", "no such index"),
    }
    run = answer({"shop 3": GOOD, "shop 4": GOOD}, errors=errors)

    evaluation = evaluate(suite, run, make_run(suite))

    texts = [str(notice.text) for notice in evaluation.notices if notice.code == "no-answer"]
    assert texts == [
        '2 queries have no answer: timed out after 3.01 s ("shop 0", "shop 1")',
        '1 query has no answer: no such index ("shop 2")',
    ]
    assert evaluation.outcome is Outcome.FAILED
    assert evaluation.comparison.get_mean(suite.primary_metric) == 1.0


def test_retriever_without_any_answer() -> None:
    suite = make_suite(queries=5)
    run = Run(errors={query.request: QueryError("connection refused") for query in suite.queries})

    evaluation = evaluate(suite, run)

    assert get_text(evaluation, "no-answer") == "5 queries have no answer: connection refused"


@pytest.mark.parametrize(
    ("allowed", "is_sampled", "outcome"),
    [(1, True, Outcome.PASSED), (0, True, Outcome.FAILED), (1, False, Outcome.FAILED)],
)
def test_allowed_errors_of_sampled_queries_are_named_and_do_not_fail(
    allowed: int, is_sampled: bool, outcome: Outcome
) -> None:
    queries = [make_query(f"shop {number}", is_sampled=is_sampled) for number in range(2)]
    suite = make_suite(queries=queries, settings=Settings(max_errors=allowed))
    run = answer({"shop 0": GOOD}, errors={"shop 1": QueryError("timed out")})

    notice = find_notice(evaluate(suite, run), "no-answer")

    assert notice is not None
    assert (notice.outcome, notice.is_cause) == (outcome, outcome is Outcome.FAILED)


# -- Document ids ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "returned", "difference"),
    [
        ("sku-1", "p-sku-1", "the prefix 'p-'"),
        ("p-sku-1", "sku-1", "the prefix 'p-'"),
        ("1", "1.html", "the suffix '.html'"),
        ("1.html", "1", "the suffix '.html'"),
        ("SKU-1", "sku-1", "upper and lower case"),
        ("0123", "123", "the prefix '0'"),
        ("12", "12.0", "the suffix '.0'"),
    ],
)
def test_ids_that_differ_in_form_only(named: str, returned: str, difference: str) -> None:
    """S70."""
    suite = make_suite(
        queries=[make_query("a", {named: 1.0})], thresholds=[make_threshold(min=0.5)]
    )

    evaluation = evaluate(suite, answer({"a": rank("other", returned)}))

    notice = find_notice(evaluation, "unknown-document-ids")
    assert notice is not None
    assert notice.is_cause
    assert str(notice.text) == (
        f"No result has an ID that the suite names. The retriever returns {returned}, and the"
        f" suite names {named}. They differ in {difference}."
    )
    assert "id_field" in str(notice.next_step)
    assert evaluation.outcome is Outcome.FAILED


@pytest.mark.parametrize("returned", ["17", "70", "sku-17", "sku-7"])
def test_numbers_that_share_digits_have_no_relation(returned: str) -> None:
    suite = make_suite(queries=[make_query("a", {"7": 1.0})], thresholds=[make_threshold(min=0.5)])

    evaluation = evaluate(suite, answer({"a": rank(returned)}))

    is_related = find_notice(evaluation, "unknown-document-ids") is not None
    assert is_related is (returned == "sku-7")


def test_ids_without_any_relation_are_named_if_there_are_several() -> None:
    suite = make_suite(queries=2)
    run = answer({"shop 0": rank("77", "78"), "shop 1": rank("79")})

    evaluation = evaluate(suite, run)

    assert "The retriever returns 77, and the suite names best." in get_text(
        evaluation, "unknown-document-ids"
    )
    assert evaluation.outcome is Outcome.INCOMPLETE


@pytest.mark.parametrize(
    ("run", "baseline_run"),
    [
        (answer({"shop 0": rank("x"), "shop 1": rank("fair")}), None),
        (answer({"shop 0": rank("x"), "shop 1": rank("y")}), answer({"shop 0": GOOD})),
        (answer({"shop 0": EMPTY, "shop 1": EMPTY}), None),
    ],
)
def test_one_known_id_proves_that_ids_match(run: Run, baseline_run: Run | None) -> None:
    suite = make_suite(queries=2)

    assert find_notice(evaluate(suite, run, baseline_run), "unknown-document-ids") is None


@pytest.mark.parametrize("has_titles", [True, False])
def test_all_document_ids_changed(has_titles: bool) -> None:
    """S43. The stored baseline may have no titles."""
    suite = make_suite(queries=[make_query(f"q{n}", {f"d{n}": 1.0}) for n in range(5)])
    before = {f"q{n}": rank(f"d{n}", f"e{n}") for n in range(5)}
    now = {f"q{n}": rank(f"p-d{n}", f"p-e{n}") for n in range(5)}
    if has_titles:
        now = {f"q{n}": rank(f"{n}", f"{n + 5}") for n in range(5)}
    titles_before = {f"d{n}": f"Title {n}" for n in range(5)} | {
        f"e{n}": f"Other {n}" for n in range(5)
    }
    titles_now = {f"{n}": f"Title {n}" for n in range(5)} | {
        f"{n + 5}": f"Other {n}" for n in range(5)
    }

    evaluation = evaluate(
        suite,
        answer(now, titles=titles_now if has_titles else {}),
        answer(before, titles=titles_before if has_titles else {}),
    )

    new_id = "0" if has_titles else "p-d0"
    notice = find_notice(evaluation, "changed-document-ids")
    assert notice is not None
    assert notice.is_cause
    assert f"{notice.text}. {notice.next_step}." == (
        f"All 10 document IDs changed (d0 → {new_id}). Update grades and rules, or set `id_field`."
    )
    assert evaluation.outcome is Outcome.FAILED


def test_one_shared_id_proves_that_ids_did_not_change() -> None:
    suite = make_suite(queries=2)
    run = answer({"shop 0": rank("p-best"), "shop 1": rank("good")})

    evaluation = evaluate(suite, run, answer({"shop 0": rank("best"), "shop 1": GOOD}))

    assert find_notice(evaluation, "changed-document-ids") is None


# -- Results ---------------------------------------------------------------------------------------


def test_queries_that_newly_return_nothing_are_counted() -> None:
    """S32: eight queries newly return nothing, three always did."""
    suite = make_suite(queries=20)
    run = make_run(suite, worse=11, ranking=EMPTY)

    evaluation = evaluate(suite, run, make_run(suite, worse=3, ranking=EMPTY))

    notice = find_notice(evaluation, "newly-empty")
    assert notice is not None
    assert notice.query_ids == tuple(f"shop {number}" for number in range(3, 11))
    assert str(notice.text).startswith('8 more queries return nothing: "shop 3", ')
    assert notice.is_cause


def test_queries_without_results_are_named_without_a_baseline() -> None:
    """S2. A query that expects no results is fine."""
    queries = [make_query("a"), make_query("b"), make_query("c", {}, rules=(ExpectNoResults(),))]
    suite = make_suite(queries=queries)

    evaluation = evaluate(suite, answer({"a": EMPTY, "b": GOOD, "c": EMPTY}))

    assert get_text(evaluation, "empty") == '1 query returns nothing: "a"'


def test_results_that_were_cut_are_a_cause() -> None:
    suite = make_suite(queries=[make_query(f"q{n}", {f"d{n}": 1.0}) for n in range(3)])
    doc_ids = [f"x{number}" for number in range(9)]
    before = {f"q{n}": Ranking((*doc_ids, f"d{n}")) for n in range(3)}
    now = {text: ranking.cut(5) for text, ranking in before.items()}

    evaluation = evaluate(suite, answer(now), answer(before))

    notice = find_notice(evaluation, "few-results")
    assert notice is not None
    assert notice.is_cause
    assert str(notice.text) == "No query has more than 5 results, and the baseline has up to 10"


@pytest.mark.parametrize(("depth", "is_named"), [(None, True), (3, False)])
def test_fewer_results_than_requested(depth: int | None, is_named: bool) -> None:
    suite = make_suite(queries=3)
    run = make_run(
        suite, worse=3, ranking=rank("x", "best", "y"), provenance=Provenance(depth=depth)
    )

    notice = find_notice(evaluate(suite, run), "few-results")

    assert (notice is not None) is is_named
    if notice:
        assert not notice.is_cause
        assert str(notice.text) == "No query has more than 3 results, and 10 were requested"


def test_small_corpus_that_returns_all_relevant_documents_is_fine() -> None:
    suite = make_suite(queries=3)

    assert find_notice(evaluate(suite, make_run(suite)), "few-results") is None
