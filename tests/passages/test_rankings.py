"""Rankings in terms of passages, and their metrics."""

from __future__ import annotations

import pytest

from pytest_irquality.metrics import Judgments, parse_metric
from pytest_irquality.passages.matching import (
    ALL_PASSAGES,
    find_contained_passages,
    find_ranks,
    has_shared_hits,
    list_unknown_passages,
    locate_passages,
    score_passages,
)
from pytest_irquality.retrieval.run import Ranking

METRICS = ("recall@1", "recall@2", "recall@10", "ndcg@10", "precision@2", "map@10", "mrr@10")


def make_ranking(*texts: str, ids: str = "") -> Ranking:
    doc_ids = tuple(ids.split()) or tuple(f"c{rank}" for rank in range(1, len(texts) + 1))
    return Ranking(doc_ids, texts=texts)


def score(grades: dict[str, float], ranking: Ranking) -> dict[str, float | None]:
    located = locate_passages(ranking, grades)
    values = score_passages([parse_metric(name) for name in METRICS], Judgments(grades), located)
    return dict(zip(METRICS, values, strict=True))


def test_a_hit_is_named_after_the_passage_in_it() -> None:
    ranking = make_ranking("elsewhere", "… the first\ncafé of the town")

    located = locate_passages(ranking, ["The ﬁrst  CAFE\u0301"])

    assert located.doc_ids == ("c1", "The ﬁrst  CAFE\u0301")
    assert located.texts == ranking.texts


def test_a_hit_with_several_passages_is_named_after_the_best_one() -> None:
    ranking = make_ranking("alpha and beta", "nothing", "gamma, and alpha again")

    located = locate_passages(ranking, {"alpha": 1, "beta": 3, "gamma": 1})

    assert located.doc_ids == ("beta", "c2", "gamma")
    assert located.passages == {0: ("beta", "alpha"), 2: ("gamma",)}
    assert has_shared_hits(located)
    assert find_ranks(located) == {"beta": 1, "alpha": 1, "c2": 2, "gamma": 3}


def test_recall_counts_passages_and_other_metrics_count_hits() -> None:
    ranking = make_ranking("alpha and beta", "nothing", "gamma, and alpha again")

    values = score({"alpha": 1, "beta": 3, "gamma": 1}, ranking)

    assert values["recall@1"] == pytest.approx(2 / 3)
    assert values["recall@2"] == pytest.approx(2 / 3)
    assert values["recall@10"] == 1
    assert values["precision@2"] == 0.5
    assert values["map@10"] == pytest.approx((1 + 2 / 3) / 2)
    # The gains are 3, 0 and 1. The ideal ranking lacks alpha, which shares the hit of beta.
    assert values["ndcg@10"] == pytest.approx((3 + 1 / 2) / (3 + 0.6309297535714575))


@pytest.mark.parametrize("texts", [("alpha", "beta"), ("alpha and beta",), ("alpha, beta", "c")])
def test_joining_two_chunks_never_costs(texts: tuple[str, ...]) -> None:
    values = score({"alpha": 1, "beta": 1}, make_ranking(*texts))

    assert (values["ndcg@10"], values["map@10"], values["recall@10"]) == (1, 1, 1)


def test_a_passage_counts_once_and_keeps_its_first_rank() -> None:
    ranking = make_ranking("none", "alpha", "alpha too")

    located = locate_passages(ranking, ["alpha"])

    assert located.doc_ids == ("c1", "alpha", "c3")
    assert score({"alpha": 1}, ranking)["mrr@10"] == 0.5


def test_a_chunk_that_is_called_like_a_passage_is_not_the_passage() -> None:
    ranking = make_ranking("cookies", "Refunds are paid", ids="refunds x")

    located = locate_passages(ranking, ["refunds", "refunds (id)"])

    assert located.doc_ids == ("refunds (id) (id)", "refunds")
    assert score({"refunds": 1}, ranking)["mrr@10"] == 0.5


def test_stored_passages_stand_for_texts() -> None:
    ranking = make_ranking("alpha, beta", "gamma")
    stored = Ranking(ranking.doc_ids, passages=find_contained_passages(ranking, ["alpha", "beta"]))

    located = locate_passages(stored, {"Alpha!": 1, "beta": 2})

    assert located.doc_ids == ("beta", "c2")
    assert find_ranks(located)["Alpha!"] == 1


def test_a_passage_that_was_not_looked_for_is_unknown_to_a_stored_ranking() -> None:
    stored = Ranking(("c1",), passages={ALL_PASSAGES: ("alpha", "beta")})

    assert list_unknown_passages(stored, ["ALPHA", "beta", "gamma"]) == ("gamma",)
    assert list_unknown_passages(make_ranking("a text"), ["gamma"]) == ()
    assert list_unknown_passages(Ranking(), ["gamma"]) == ()
