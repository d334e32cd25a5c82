"""Ties, compared with a brute force over all orders of equal scores."""

from __future__ import annotations

from itertools import groupby, permutations, product

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.evaluation.ties import align_ties
from pytest_irquality.retrieval.run import Ranking
from tests.builders import parse_ranking, rank


@pytest.mark.parametrize(
    ("now", "before", "aligned"),
    [
        pytest.param("b:1 a:1", "a:1 b:1", "a b", id="tied on both sides"),
        pytest.param("b:9 a:9", "a:1 b:1", "a b", id="tied on both sides, other scale"),
        pytest.param("b:1 a:1", "a:2 b:1", "b a", id="tied now only"),
        pytest.param("b:1.000001 a:1", "a:1.000001 b:1", "a b", id="nearly equal scores"),
        pytest.param("b:0.0002 a:0.0001", "a:1 b:1", "b a", id="small but different scores"),
        pytest.param("b:1 a:1 x:2", "a:1 b:1 x:2", "a b x", id="ascending distances"),
        pytest.param("b:-1 a:-1 x:-2", "a:-1 b:-1 x:-2", "a b x", id="negative scores"),
        pytest.param("b:2 a:1", "a:1 b:1", "b a", id="tied before only"),
        pytest.param("x:1 b:1 a:1", "a:1 b:1", "x a b", id="new document"),
        pytest.param("b a", "a b", "b a", id="no scores"),
        pytest.param("b:1 a:1 c:1 d:1", "a:1 b:1 c:1 d:1", "a b c d", id="longest tie"),
        pytest.param("b:1 a:1 c:1 d:1 e:1", "a:1 b:1", "b a c d e", id="too long now"),
        pytest.param("b:1 a:1", "a:1 b:1 c:1 d:1 e:1", "b a", id="too long before"),
    ],
)
def test_tied_documents_take_the_order_of_the_baseline(now: str, before: str, aligned: str) -> None:
    ranking = align_ties(parse_ranking(now), parse_ranking(before), max_length=4).ranking

    assert ranking.doc_ids == tuple(aligned.split())


scores = st.lists(st.integers(1, 3), min_size=2, max_size=5).map(lambda s: sorted(s)[::-1])


@given(scores, st.data())
def test_alignment_is_the_closest_order_that_equal_scores_allow(
    before_scores: list[int], data: st.DataObject
) -> None:
    """All orders of both rankings that keep their scores are tried out."""
    doc_ids = [f"d{index}" for index in range(len(before_scores))]
    before = Ranking(tuple(doc_ids), tuple(map(float, before_scores)))
    order = data.draw(st.permutations(doc_ids))
    now_scores = data.draw(st.lists(st.integers(1, 3), min_size=len(order), max_size=len(order)))
    now = Ranking(tuple(order), tuple(sorted(map(float, now_scores), reverse=True)))

    aligned = align_ties(now, before, max_length=5).ranking.doc_ids

    # Documents change places only if they share a score on both sides.
    score_before = dict(zip(before.doc_ids, before.scores or (), strict=True))
    score_now = dict(zip(now.doc_ids, now.scores or (), strict=True))
    allowed = []
    groups = []
    for _, group in groupby(now.doc_ids, key=lambda doc_id: score_now[doc_id]):
        groups.append(list(permutations(group)))
    for choice in product(*groups):
        candidate = [doc_id for group in choice for doc_id in group]
        pairs = zip(candidate, now.doc_ids, strict=True)
        if all(score_before[new] == score_before[old] for new, old in pairs):
            allowed.append(tuple(candidate))
    position = {doc_id: index for index, doc_id in enumerate(before.doc_ids)}
    assert aligned == min(allowed, key=lambda order: [position[doc_id] for doc_id in order])


RELEVANT = ("best", "good")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param("x:3 y:1 z:1", "x best good", id="both were cut off"),
        pytest.param("x:3 good:1 y:1", "x best good", id="one was cut off"),
        pytest.param("x:3 good:1 best:1", "x best good", id="only the order changed"),
        pytest.param("y:4 x:3 good:1", "y x good", id="no tie at the end"),
        pytest.param("good:1 y:1 x:0.5", "good y x", id="tie ends earlier"),
        pytest.param("x:3 y:2 z:2", "x y z", id="tie of another score"),
        pytest.param("x:3 y:1", "x y", id="fewer results than requested"),
    ],
)
def test_relevant_documents_behind_the_end_are_in_their_old_place(now: str, expected: str) -> None:
    before = parse_ranking("x:3 best:1 good:1")

    aligned = align_ties(
        parse_ranking(now), before, max_length=5, relevant=RELEVANT, requested_count=3
    )

    assert aligned.ranking.doc_ids == tuple(expected.split())
    restored = set(aligned.ranking.doc_ids) - set(parse_ranking(now).doc_ids)
    assert set(aligned.restored) == restored
    for doc_id, position in aligned.restored.items():
        assert aligned.ranking.doc_ids[position - 1] == doc_id


def test_no_document_is_above_a_better_score() -> None:
    """Two new documents with better scores moved the tie down, which is a change."""
    before = parse_ranking("best:1 x:1 y:1 z:1")
    now = parse_ranking("new-1:3 new-2:2 x:1 y:1")

    aligned = align_ties(now, before, max_length=5, relevant=["best"], requested_count=4)

    assert aligned.ranking.doc_ids == ("new-1", "new-2", "best", "x")
    assert aligned.restored == {"best": 3}


def test_only_relevant_documents_are_restored_and_none_is_pushed_out() -> None:
    before = parse_ranking("x:3 best:1 other:1 good:1")
    now = parse_ranking("x:3 good:1 y:1 z:1")

    aligned = align_ties(now, before, max_length=5, relevant=RELEVANT, requested_count=4)

    assert aligned.ranking.doc_ids == ("x", "best", "good", "y")


def test_hits_keep_their_sizes_and_passages() -> None:
    before = parse_ranking("a:1 b:1")
    now = Ranking(
        ("b", "a"), (1.0, 1.0), passages={0: ("text b",)}, sizes={"words": (10, 20)}, seconds=0.5
    )

    ranking = align_ties(now, before, max_length=5).ranking

    assert ranking == Ranking(
        ("a", "b"), (1.0, 1.0), passages={1: ("text b",)}, sizes={"words": (20, 10)}, seconds=0.5
    )


def test_unchanged_ranking_is_returned_as_it_is() -> None:
    ranking = rank("a", "b", scores=(1, 1))

    assert align_ties(ranking, rank("a", "b", scores=(1, 1)), max_length=5).ranking is ranking
