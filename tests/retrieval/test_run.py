"""Rankings and runs, and merging runs."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, strategies as st

from pytest_irquality.retrieval.run import (
    Hit,
    PackedIds,
    Provenance,
    QueryError,
    Ranking,
    Run,
    merge_runs,
)

FAILED = QueryError("OSError: down")
SKIPPED = QueryError("later", is_skipped=True)


def rank(*doc_ids: str) -> tuple[Ranking, ...]:
    return (Ranking(doc_ids),)


def test_hits_are_pairs_of_ids_and_scores() -> None:
    assert list(Ranking(("a", "b")).hits) == [Hit("a"), Hit("b")]
    assert list(Ranking(("a", "b"), (2.0, 1.0)).hits) == [Hit("a", 2.0), Hit("b", 1.0)]
    assert list(Ranking().hits) == []


def test_a_ranking_is_cut_in_all_its_columns() -> None:
    ranking = Ranking(
        ("a", "b", "c"), (3.0, 2.0, 1.0), 0.5, ("A", "B", "C"), {0: ("p",), 2: ("q",)},
        ({"n": 1}, {"n": 2}, {"n": 3}), {"words": (1.0, 2.0, 3.0)},
    )  # fmt: skip

    cut = ranking.cut(2)

    assert (cut.doc_ids, cut.scores, cut.seconds, cut.texts) == (
        ("a", "b"),
        (3.0, 2.0),
        0.5,
        ("A", "B"),
    )
    assert (cut.passages, cut.fields) == ({0: ("p",)}, ({"n": 1}, {"n": 2}))
    assert cut.sizes == {"words": (1.0, 2.0)}
    assert ranking.cut(3) is ranking


@given(
    st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), min_size=1)),
    st.slices(8),
    st.integers(-9, 9),
)
def test_packed_ids_are_like_a_tuple(doc_ids: list[str], part: slice, index: int) -> None:
    plain = tuple(doc_ids)
    packed = PackedIds("".join(f"{doc_id}\n" for doc_id in doc_ids))

    assert (len(packed), tuple(packed), hash(packed)) == (len(plain), plain, hash(plain))
    assert packed == plain
    assert plain == packed
    assert packed == pickle.loads(pickle.dumps(packed))
    assert packed != (*plain, "x")
    assert packed[part] == plain[part]
    assert packed[: part.stop] == plain[: part.stop]
    assert "\n" not in packed
    assert object() not in packed
    if -len(plain) <= index < len(plain):
        assert packed[index] == plain[index]
        assert plain[index] in packed
        assert packed.index(plain[index]) == plain.index(plain[index])
    else:
        with pytest.raises(IndexError):
            packed[index]


def test_shards_are_merged() -> None:
    first = Run({"a": rank("d1")}, {"c": FAILED}, {"d1": "One"}, notes=("x",))
    second = Run({"b": rank("d2")}, {}, {"d1": "Other", "d2": "Two"}, notes=("x", "y"))

    merged = merge_runs([first, second])

    assert list(merged.answers) == ["a", "b"]
    assert merged.errors == {"c": FAILED}
    assert merged.titles == {"d1": "One", "d2": "Two"}
    assert merged.notes == ("x", "y")
    assert merge_runs([]) == Run()


def test_the_first_answer_counts_and_an_answer_replaces_errors() -> None:
    runs = [
        Run({"a": rank("d1")}, {"b": FAILED, "c": FAILED}),
        Run({"a": rank("d2"), "b": rank("d3")}, {"c": SKIPPED, "d": SKIPPED}),
        Run({}, {"d": SKIPPED}),
    ]

    merged = merge_runs(runs)

    assert merged.answers == {"a": rank("d1"), "b": rank("d3")}
    assert merged.errors == {"c": FAILED, "d": SKIPPED}


def test_stages_are_merged_by_name() -> None:
    first = Run({"a": rank("d1")}, stages={"dense": Run({"a": rank("s1")})})
    second = Run(
        {"b": rank("d2")}, stages={"dense": Run({"b": rank("s2")}), "BM25": Run({"b": rank("s3")})}
    )

    merged = merge_runs([first, second])

    assert list(merged.stages["dense"].answers) == ["a", "b"]
    assert list(merged.stages["BM25"].answers) == ["b"]


def test_provenance_is_what_all_runs_share() -> None:
    first = Provenance("runs/1", "c1", 10, 2)
    second = Provenance("", "c2", 20, 3, is_interrupted=True)

    merged = merge_runs(
        [Run({"a": rank("d1")}, provenance=first), Run({"b": rank("d2")}, provenance=second)]
    )
    again = merge_runs([merged, Run({"a": rank("d1")}, provenance=first)])

    assert merged.provenance == Provenance("runs/1", "", 10, 5, is_interrupted=True)
    assert again.provenance.retry_count == 5
