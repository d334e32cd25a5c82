"""Pairs of rankings: statuses, values, changes, ties, repeats, depths and stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.evaluation.comparison import (
    Comparison,
    QueryChange,
    QueryStatus,
    RankingVersion,
    compare_runs,
)
from pytest_irquality.evaluation.documents import iter_unreturned_doc_ids
from pytest_irquality.metrics import Judgments, parse_metric, score_rankings
from pytest_irquality.passages.matching import ALL_PASSAGES
from pytest_irquality.retrieval.run import Provenance, QueryError, Ranking, Run
from pytest_irquality.suite.model import VARIANT_TAG, Settings, Suite
from pytest_irquality.suite.rules import ExpectNoResults
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

NDCG = parse_metric("ndcg@10")
LOW = rank(*"uvwxyz", "best")
SUNK = rank(*"qrstuvwxyz", "best")


def compare_repeats(
    before: Sequence[Ranking], now: Sequence[Ranking], top_k: int = 10, **fields: Any
) -> Comparison:
    """Compare the repeats of one query."""
    suite = make_suite(queries=[make_query("red shoes", **fields)], settings=Settings(top_k=top_k))
    return compare_runs(suite, answer({"red shoes": now}), answer({"red shoes": before}))


def compare_one(
    before: Sequence[Ranking], now: Sequence[Ranking], top_k: int = 10, **fields: Any
) -> QueryChange:
    """Return the change of the only query."""
    return compare_repeats(before, now, top_k, **fields).changes[0]


def compare_variants() -> Comparison:
    suite = make_suite(
        queries=[
            make_query("shoes", tags=("head",)),
            make_query("shoos", variant_of="shoes", tags=("head", VARIANT_TAG)),
        ]
    )
    return compare_runs(
        suite, answer({"shoes": GOOD, "shoos": EMPTY}), answer({"shoes": GOOD, "shoos": GOOD})
    )


# -- Statuses --------------------------------------------------------------------------------------


def test_every_query_has_a_status() -> None:
    suite = make_suite(queries=[make_query(text) for text in "abcde"])
    errors = {"c": QueryError("timed out"), "d": QueryError("no license", is_skipped=True)}
    run = answer({"a": GOOD, "b": GOOD}, errors=errors)

    comparison = compare_runs(suite, run, answer({"a": GOOD, "c": GOOD}))

    assert comparison.statuses == {
        "a": QueryStatus.COMPARED,
        "b": QueryStatus.NEW,
        "c": QueryStatus.NO_ANSWER,
        "d": QueryStatus.NOT_RUN,
        "e": QueryStatus.NOT_RUN,
    }
    assert comparison.list_query_ids(QueryStatus.NOT_RUN) == ("d", "e")


def test_renamed_query_keeps_its_baseline_and_reworded_query_is_new() -> None:
    suite = make_suite(
        queries=[make_query("red shoes", id="renamed"), make_query("red boots", id="reworded")]
    )

    comparison = compare_runs(
        suite, answer({"red shoes": GOOD, "red boots": GOOD}), answer({"red shoes": GOOD})
    )

    assert comparison.list_query_ids(QueryStatus.COMPARED) == ("renamed",)
    assert comparison.list_query_ids(QueryStatus.NEW) == ("reworded",)


def test_queries_with_other_params_have_their_own_answers() -> None:
    """S72: a batch may hold queries whose params differ."""
    french = make_query("shoes", id="fr", params={"lang": "fr"})
    english = make_query("shoes", id="en", params={"lang": "en"})
    suite = make_suite(queries=[french, english])
    run = answer({french.request: EMPTY, english.request: GOOD})

    values = compare_runs(suite, run).get_values(NDCG, RankingVersion.RETURNED)

    assert values == {"fr": 0.0, "en": 1.0}


def test_suite_of_new_queries_is_compared_with_its_own_answers() -> None:
    suite = make_suite(queries=[make_query("a"), make_query("b")])

    comparison = compare_runs(
        suite, answer({"a": EMPTY, "b": GOOD}), answer({"a": GOOD}), is_new=True
    )

    assert comparison.list_query_ids(QueryStatus.NEW) == ("a", "b")
    assert [change.query.id for change in comparison.changes] == ["a"]


# -- Values ----------------------------------------------------------------------------------------


rankings = st.lists(
    st.sampled_from(["best", "good", "fair", "x", "y", "z"]), max_size=6, unique=True
).map(lambda doc_ids: Ranking(tuple(doc_ids)))


@given(st.lists(st.tuples(rankings, rankings), min_size=1, max_size=5))
def test_columns_have_the_values_of_single_rankings(pairs: list[tuple[Ranking, Ranking]]) -> None:
    suite = make_suite(queries=len(pairs), metrics=["ndcg@10", "recall@2", "zero_results"])
    texts = [query.request for query in suite.queries]
    before = dict(zip(texts, [pair[0] for pair in pairs], strict=True))
    now = dict(zip(texts, [pair[1] for pair in pairs], strict=True))

    comparison = compare_runs(suite, answer(now), answer(before))

    judgments = suite.queries[0].judgments
    for metric in suite.metrics:
        for side, answers in (
            (RankingVersion.BEFORE, before),
            (RankingVersion.ALIGNED, now),
            (RankingVersion.RETURNED, now),
        ):
            expected = {}
            for text, ranking in answers.items():
                expected[text] = score_rankings([metric], [judgments], [ranking.doc_ids])[0][0]
            assert comparison.get_values(metric, side) == expected


def test_means_leave_out_variants_unless_they_are_asked_for() -> None:
    comparison = compare_variants()

    score = comparison.compare_means(NDCG)
    of_variants = comparison.compare_means(NDCG, VARIANT_TAG)

    assert score is not None
    assert of_variants is not None
    assert (score.now, of_variants.now) == (1.0, 0.0)
    assert comparison.get_mean(NDCG, "head") == 1.0
    assert comparison.get_mean(parse_metric("zero_results")) == 1.0
    assert comparison.get_mean(parse_metric("judged@10")) == 1.0


def test_variants_are_one_test_unit_with_their_query() -> None:
    comparison = compare_variants()

    assert comparison.collect_weighted_improvements(NDCG) == {"shoes": [0.0, -1.0]}
    assert comparison.collect_weighted_improvements(NDCG, includes_variants=False) == {
        "shoes": [0.0]
    }


def test_queries_that_expect_no_results_are_in_no_mean() -> None:
    expecting = make_query("gibberish", {}, rules=(ExpectNoResults(),))
    suite = make_suite(
        queries=[make_query("shoes"), expecting], settings=Settings(undefined="zero")
    )

    comparison = compare_runs(
        suite,
        answer({"shoes": GOOD, "gibberish": EMPTY}),
        answer({"shoes": GOOD, "gibberish": EMPTY}),
    )

    assert comparison.get_mean(NDCG) == 1.0
    assert comparison.get_mean(parse_metric("zero_results")) == 0.0
    assert comparison.collect_weighted_improvements(NDCG) == {"shoes": [0.0]}


def test_repeats_count_by_their_mean() -> None:
    comparison = compare_repeats([GOOD, GOOD, GOOD], [GOOD, GOOD, EMPTY])

    score = comparison.compare_query(NDCG, "red shoes")

    assert score is not None
    assert score.delta == pytest.approx(-1 / 3)
    assert not score.is_within_baseline


@pytest.mark.parametrize(
    ("before", "now", "delta"),
    [
        pytest.param([GOOD], [WORSE], -0.491, id="single answers"),
        pytest.param([GOOD, WORSE], [WORSE], -0.246, id="baseline varies"),
        pytest.param([GOOD, WORSE], [WORSE, GOOD], 0.0, id="same answers in another order"),
        pytest.param([GOOD], [GOOD, WORSE, EMPTY], -0.497, id="current answers vary"),
    ],
)
def test_change_is_the_difference_of_the_means_over_repeats(
    before: list[Ranking], now: list[Ranking], delta: float
) -> None:
    suite = make_suite(queries=1)

    comparison = compare_runs(
        suite, make_repeated_run(suite, now), make_repeated_run(suite, before)
    )

    assert comparison.collect_weighted_improvements(NDCG)["shop 0"] == [
        pytest.approx(delta, abs=0.001)
    ]


def test_range_of_the_baseline_is_over_the_means_of_its_repeats() -> None:
    suite = make_suite(queries=2)
    before = make_repeated_run(suite, [GOOD, WORSE], [GOOD, EMPTY])

    score = compare_runs(suite, make_run(suite), before).compare_means(NDCG)

    assert score is not None
    assert score.highest_before == 1.0
    assert score.lowest_before == pytest.approx(0.509 / 2, abs=0.001)
    assert score.query_count == 2


def test_weights_count_in_weighted_metrics_and_are_scaled_to_a_mean_of_one() -> None:
    suite = make_suite(queries=[make_query("heavy", weight=3.0), make_query("light")])

    comparison = compare_runs(suite, answer({"heavy": EMPTY, "light": GOOD}), make_run(suite))
    weighted = parse_metric("weighted ndcg@10")

    assert comparison.collect_weighted_improvements(NDCG) == {"heavy": [-1.0], "light": [0.0]}
    assert comparison.collect_weighted_improvements(weighted) == {"heavy": [-1.5], "light": [0.0]}
    assert comparison.get_mean(weighted) == 0.25


def test_latency_is_over_all_calls_and_has_no_baseline_without_times() -> None:
    suite = make_suite(queries=2, metrics=["latency_p95"])
    slow = replace(GOOD, seconds=0.9)
    fast = replace(GOOD, seconds=0.1)
    run = make_repeated_run(suite, [fast, slow], [fast, fast])
    latency = suite.metrics[0]

    untimed = compare_runs(suite, run, make_run(suite))
    timed = compare_runs(suite, run, make_repeated_run(suite, [fast], [fast]))
    change = timed.compare_means(latency)

    assert untimed.get_mean(latency) == 0.9
    assert untimed.compare_means(latency) is None
    assert change is not None
    assert (change.before, change.now, change.improvement) == (0.1, 0.9, -0.8)


def test_overlap_compares_with_the_baseline_in_its_order() -> None:
    suite = make_suite(queries=2, metrics=["overlap@3"])
    run = answer({"shop 0": SWAPPED, "shop 1": rank("best", "x", "y")})

    comparison = compare_runs(suite, run, make_run(suite))
    overlap = suite.metrics[0]

    assert comparison.get_values(overlap, RankingVersion.ALIGNED) == {
        "shop 0": 1.0,
        "shop 1": pytest.approx(1 / 3),
    }
    assert comparison.get_mean(overlap) == pytest.approx(2 / 3)
    assert comparison.compare_means(overlap) is None


def test_stage_metrics_are_over_the_rankings_of_their_stage() -> None:
    metric = parse_metric("candidates recall@10")
    suite = make_suite(queries=1, metrics=[str(metric)])
    run = make_run(suite, stages={"candidates": make_run(suite, worse=1, ranking=rank("best"))})
    baseline_run = make_run(suite, stages={"candidates": make_run(suite)})

    comparison = compare_runs(suite, run, baseline_run)
    change = comparison.compare_query(metric, "shop 0")

    assert comparison.get_mean(metric) == pytest.approx(1 / 3)
    assert change is not None
    assert change.before == 1.0
    assert comparison.collect_weighted_improvements(metric) == {"shop 0": [pytest.approx(-2 / 3)]}
    assert compare_runs(suite, make_run(suite)).get_mean(metric) is None


# -- Depth -----------------------------------------------------------------------------------------


def test_rankings_are_cut_to_the_depth_that_the_suite_needs() -> None:
    """An engine that returns more than was requested must not be compared by it."""
    suite = make_suite(queries=1)
    run = answer({"shop 0": rank(*map(str, range(30)))})

    comparison = compare_runs(suite, run, run)

    assert len(comparison.answers["shop 0"][0].doc_ids) == 10
    assert len(comparison.changes[0].before[0].doc_ids) == 10


def test_both_sides_are_compared_at_the_depth_that_both_have() -> None:
    """The cutoff was raised to 20, and the baseline has ten results."""
    suite = make_suite(queries=1, metrics=["recall@20"])
    deep = rank("best", "good", *map(str, range(17)), "fair")
    baseline_run = answer({"shop 0": deep.cut(10)}, provenance=Provenance(depth=10))

    comparison = compare_runs(suite, answer({"shop 0": deep}), baseline_run)
    score = comparison.compare_means(suite.metrics[0])

    assert comparison.compared_depth == 10
    assert comparison.changes[0].is_unchanged
    assert comparison.get_mean(suite.metrics[0]) == 1.0
    assert score is not None
    assert (score.before, score.now) == pytest.approx((2 / 3, 2 / 3))


# -- Ties ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("top_k", "aligned"), [(6, "a b c"), (5, "b a c")])
def test_tie_longer_than_half_of_top_k_is_none(top_k: int, aligned: str) -> None:
    change = compare_one(
        [parse_ranking("a:1 b:1 c:1")], [parse_ranking("b:1 a:1 c:1")], top_k=top_k
    )

    assert change.aligned[0].doc_ids == tuple(aligned.split())
    assert change.now[0].doc_ids == ("b", "a", "c")


@pytest.mark.parametrize(
    ("now_end", "is_undecided", "delta"),
    [
        pytest.param("x1:1 x2:1", True, 0.0, id="cut off"),
        pytest.param("best:1 x1:1", False, 0.0, id="order only"),
        pytest.param("x1:2 x2:1", False, -0.239, id="no tie"),
    ],
)
def test_relevant_document_at_the_end_of_a_tie_is_undecided(
    now_end: str, is_undecided: bool, delta: float
) -> None:
    """S42: ten results were requested, and the tenth leaves the ranking from within a tie."""
    head = "fair:19 " + " ".join(f"h{number}:{18 - number}" for number in range(7))
    grades = {"best": 3.0, "fair": 1.0}

    comparison = compare_repeats(
        [parse_ranking(f"{head} x1:1 best:1")], [parse_ranking(f"{head} {now_end}")], grades=grades
    )
    score = comparison.compare_query(NDCG, "red shoes")

    assert bool(comparison.list_decided_by_tie(NDCG)) is is_undecided
    assert not comparison.list_decided_by_tie(parse_metric("ndcg@5"))
    assert score is not None
    assert score.delta == pytest.approx(delta, abs=0.001)


def test_repeats_of_the_baseline_have_one_order_of_ties() -> None:
    """Otherwise an engine that breaks ties at random would seem to comparison.changes[0]."""
    first, second = parse_ranking("best:1 x:1 y:0.5"), parse_ranking("x:1 best:1 y:0.5")

    comparison = compare_repeats([first, second], [second, first])
    score = comparison.compare_query(NDCG, "red shoes")

    assert score is not None
    assert score.delta == 0


# -- Changes ---------------------------------------------------------------------------------------


MOSTLY_GOOD = [GOOD] * 9 + [EMPTY]
MOSTLY_EMPTY = [EMPTY] * 9 + [GOOD]


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        pytest.param([GOOD], [EMPTY], ("best", "good", "fair"), id="all lost"),
        pytest.param([GOOD], [rank("fair")], (), id="one left"),
        pytest.param([EMPTY], [EMPTY], (), id="none before"),
        pytest.param([LOW], [rank("x")], ("best",), id="from rank 7"),
        pytest.param([LOW], [SUNK], ("best",), id="to rank 11"),
        pytest.param([SUNK], [EMPTY], (), id="from rank 11"),
        pytest.param([GOOD], [GOOD, EMPTY, EMPTY], (), id="in a third of the repeats"),
        pytest.param([GOOD, EMPTY, GOOD], [EMPTY], (), id="unstable baseline"),
        pytest.param([GOOD] * 5, [EMPTY] * 4 + [GOOD], (), id="in a fifth of the answers now"),
        pytest.param([GOOD] * 4 + [EMPTY], [EMPTY] * 5, (), id="in four fifths before"),
        pytest.param(
            MOSTLY_GOOD, MOSTLY_EMPTY, ("best", "good", "fair"), id="in nearly all repeats"
        ),
    ],
)
def test_lost_and_gained_documents(
    before: list[Ranking], now: list[Ranking], lost: tuple[str, ...]
) -> None:
    """A gain is a loss in the opposite direction."""
    loss = compare_one(before, now)
    gain = compare_one(now, before)

    assert loss.lost_doc_ids == lost
    assert gain.gained_doc_ids == lost
    if lost:
        assert loss.had_relevant_in_top


def test_loss_is_found_in_the_order_as_returned() -> None:
    """Eleven documents share a score, and the best one moved from rank 1 to rank 11."""
    texts = [f"{doc_id}:1" for doc_id in "qrstuvwxyz"]

    change = compare_one(
        [parse_ranking(" ".join(["best:1", *texts]))],
        [parse_ranking(" ".join([*texts, "best:1"]))],
        top_k=30,
    )

    assert change.aligned == change.before
    assert change.lost_doc_ids == ("best",)


def test_first_hits_overlap_and_order() -> None:
    change = compare_one([GOOD], [WORSE])

    assert change.is_reordered
    assert change.is_first_hit_new
    assert change.overlap == 1.0  # all documents of the baseline are still there
    assert not compare_one([GOOD], [rank("best")]).is_first_hit_new
    assert compare_one([GOOD], [rank("best")]).overlap == pytest.approx(1 / 3)
    assert not compare_one([GOOD], [GOOD]).is_reordered
    assert compare_one([GOOD, GOOD], [EMPTY, EMPTY]).is_newly_empty
    assert not compare_one([GOOD, EMPTY], [EMPTY]).is_newly_empty
    assert not compare_one([GOOD], [EMPTY, GOOD]).is_newly_empty


@pytest.mark.parametrize(
    ("before", "now", "is_outdated"),
    [
        ([GOOD], [GOOD], False),
        ([GOOD], [SWAPPED], True),
        ([GOOD, WORSE], [SWAPPED], False),
        ([GOOD, SWAPPED], [WORSE], True),
    ],
)
def test_with_repeats_a_baseline_is_outdated_only_outside_its_range(
    before: list[Ranking], now: list[Ranking], is_outdated: bool
) -> None:
    assert bool(compare_repeats(before, now).list_outdated(NDCG)) is is_outdated


# -- Documents -------------------------------------------------------------------------------------


def test_unreturned_documents_are_those_that_the_baseline_or_a_rule_had() -> None:
    suite = make_suite(queries=[make_query("a"), make_query("b", {"never": 1.0})])
    baseline_run = answer({"a": rank("best", "good"), "b": EMPTY})

    comparison = compare_runs(suite, answer({"a": rank("good"), "b": rank("x")}), baseline_run)
    without_baseline = compare_runs(suite, answer({"a": rank("good"), "b": EMPTY}))

    assert list(iter_unreturned_doc_ids(comparison)) == ["best"]
    assert list(iter_unreturned_doc_ids(without_baseline)) == ["best", "fair", "never"]


# -- Passages --------------------------------------------------------------------------------------


def make_passage_suite() -> Suite:
    grades = {"red shoes are in stock": 1.0, "boots are sold out": 2.0}
    query = make_query("shoes", grades, passages=tuple(grades))
    return make_suite(queries=[query], settings=Settings(match="text"))


def test_passages_are_found_in_texts() -> None:
    suite = make_passage_suite()
    texts = ("nothing here", "Today, red **shoes** are in stock", "Our boots are sold out.")
    run = answer({"shoes": Ranking(("c1", "c2", "c3"), texts=texts)})

    comparison = compare_runs(suite, run)

    assert comparison.answers["shoes"][0].doc_ids == (
        "c1",
        "red shoes are in stock",
        "boots are sold out",
    )
    assert comparison.get_mean(parse_metric("recall@10")) == 1.0


def test_chunk_with_two_passages_counts_both_for_recall() -> None:
    suite = make_passage_suite()
    text = "Red shoes are in stock, boots are sold out"
    run = answer({"shoes": Ranking(("c1",), texts=(text,))})

    comparison = compare_runs(suite, run)

    assert comparison.get_mean(parse_metric("recall@10")) == 1.0
    assert comparison.get_mean(NDCG) == 1.0


def test_stored_answer_without_a_passage_of_the_suite_is_no_baseline() -> None:
    suite = make_passage_suite()
    in_stock = ("red shoes are in stock",)
    stored = Ranking(("c1",), passages={ALL_PASSAGES: in_stock, 0: in_stock})
    current = Ranking(("c1",), texts=("Red shoes are in stock",))

    comparison = compare_runs(suite, answer({"shoes": current}), answer({"shoes": stored}))

    assert comparison.unusable_query_ids == ("shoes",)
    assert comparison.statuses["shoes"] is QueryStatus.NEW
    assert comparison.changes == ()


def test_judgments_of_the_suite_count_on_both_sides() -> None:
    """S4: a changed grade is not a regression."""
    suite = make_suite(queries=[make_query("a", judgments=Judgments({"x": 1.0}))])

    comparison = compare_runs(suite, answer({"a": GOOD}), answer({"a": GOOD}))
    score = comparison.compare_means(NDCG)

    assert score is not None
    assert score.delta == 0
    assert make_threshold("recall@10").metric == parse_metric("recall@10")


def test_same_request_in_two_queries_has_one_answer() -> None:
    suite = make_suite(queries=[make_query("a", id="1"), make_query("a", {"x": 1.0}, id="2")])

    comparison = compare_runs(suite, answer({"a": GOOD}), Run())

    assert comparison.get_values(NDCG, RankingVersion.RETURNED) == {"1": 1.0, "2": 0.0}
