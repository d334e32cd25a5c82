"""What happened to passages that are not among the first results."""

from __future__ import annotations

import pytest

from pytest_irquality.passages.diagnosis import (
    ChunkRank,
    CorpusTexts,
    FindingKind,
    PassageFinding,
    diagnose_passage,
    find_split,
)
from pytest_irquality.retrieval.run import Ranking

GOODS = "Refunds are paid within 14 days of the receipt of the goods"


def make_ranking(texts: dict[str, str]) -> Ranking:
    return Ranking(tuple(texts), texts=tuple(texts.values()))


def split(*texts: str) -> tuple[tuple[str, ...], bool]:
    return find_split(GOODS, {f"t{number}": text for number, text in enumerate(texts)})


COOKIES = "Cookies are kept for 14 days."
SPLIT = {
    "in two": (
        "It says: refunds are paid within 14",
        "days of the receipt of the goods. And so on.",
    ),
    "with an overlap": (
        "It says: refunds are paid within 14 days",
        "within 14 days of the receipt of the goods.",
    ),
    "inside a word": ("It says: refunds are paid within 14 da", "ys of the receipt of the goods."),
    "near its end": (
        "It says: refunds are paid within 14 days of the receipt of the",
        "goods. And so on.",
    ),
    "before a last word that is elsewhere, too": (
        "All goods are new. It says: refunds are paid within 14 days of the receipt of the",
        "goods. And so on.",
    ),
    "near its beginning": (
        "It says: refunds",
        "are paid within 14 days of the receipt of the goods.",
    ),
    "in three": (
        "It says: refunds are paid",
        "within 14 days of the receipt",
        "of the goods. And so on.",
    ),
    "behind a heading": (
        "It says: refunds are paid within 14",
        "Returns and refunds of all kinds: days of the receipt of the goods.",
    ),
    "two words from the edge": (
        "It says: refunds are paid within 14 at most",
        "at most days of the receipt of the goods",
    ),
}


@pytest.mark.parametrize("case", SPLIT)
def test_a_split_passage_is_recognized(case: str) -> None:
    chunk_ids, is_complete = split(COOKIES, *SPLIT[case])

    assert chunk_ids == tuple(f"t{number}" for number in range(1, len(SPLIT[case]) + 1))
    assert is_complete


def test_the_chunks_of_a_split_passage_are_in_its_order() -> None:
    later, earlier = SPLIT["in two"][::-1]

    assert split(later, earlier) == (("t1", "t0"), True)


@pytest.mark.parametrize("part", SPLIT["in two"])
def test_one_part_at_the_edge_of_its_chunk_is_enough(part: str) -> None:
    assert split(COOKIES, part) == (("t1",), False)


@pytest.mark.parametrize(
    "texts",
    [
        ["Refunds are paid within 30 days of the receipt of the goods"],
        [COOKIES, "The goods are of the best kind."],
        [
            "Refunds are paid within 14 hours in all of our shops",
            "It takes three days of the receipt of the goods in June",
        ],
        [
            "It says: refunds are paid within 14 at the most",
            "at the most days of the receipt of the goods",
        ],
        ["Refunds are made by our office in the city."],
        [],
    ],
    ids=["changed", "elsewhere", "not at an edge", "too far from it", "first words", "nothing"],
)
def test_a_passage_that_is_not_split(texts: list[str]) -> None:
    assert split(*texts) == ((), False)


def test_long_texts_that_repeat_their_words_are_no_problem() -> None:
    """Comparing every place with every other one would not end."""
    texts = {"long": "c " * 9 + "a " * 16_000 + "c " * 9, "short": "a c " * 10}

    assert find_split("a " * 1_999 + "b", texts) == ((), False)
    assert find_split("a b " * 250, texts) == ((), False)


# -- Findings -------------------------------------------------------------------------------------


def test_a_passage_within_top_k_is_found() -> None:
    ranking = make_ranking({"c1": COOKIES, "c2": f"It says: {GOODS}."})

    finding = diagnose_passage(GOODS, ranking)

    assert finding == PassageFinding(GOODS, FindingKind.FOUND, 2, (ChunkRank("c2", 2),))


def test_a_passage_below_top_k_is_ranked_lower() -> None:
    ranking = make_ranking({"c1": COOKIES, "c2": GOODS})

    finding = diagnose_passage(
        GOODS, ranking, top_k=1, stages={"bm25": make_ranking({"c2": GOODS})}
    )

    assert (finding.kind, finding.rank) == (FindingKind.RANKED_LOWER, 2)
    assert (finding.stage, finding.stage_rank) == ("bm25", 1)


def test_a_split_passage_names_its_chunks_and_their_ranks() -> None:
    first, second = SPLIT["in two"]
    ranking = make_ranking({"c1": COOKIES, "c2": second})
    stages = {"bm25": make_ranking({"c3": first, "c2": second})}

    finding = diagnose_passage(GOODS, ranking, stages=stages)

    assert finding.kind is FindingKind.SPLIT
    assert finding.chunks == (ChunkRank("c3"), ChunkRank("c2", 2))
    assert finding.is_complete


def test_a_split_is_found_in_the_corpus_if_the_ranking_has_no_part() -> None:
    first, second = SPLIT["in two"]
    corpus = CorpusTexts({"k1": COOKIES, "k2": first, "k3": second})

    finding = diagnose_passage(GOODS, make_ranking({"k1": COOKIES}), corpus=corpus)

    assert finding.kind is FindingKind.SPLIT
    assert finding.chunks == (ChunkRank("k2"), ChunkRank("k3"))


def test_the_last_stage_that_had_a_passage_is_named() -> None:
    stages = {
        "bm25": make_ranking({"c2": GOODS}),
        "fusion": make_ranking({"c1": COOKIES, "c2": GOODS}),
        "rerank": make_ranking({"c1": COOKIES}),
    }

    finding = diagnose_passage(GOODS, make_ranking({"c1": COOKIES}), stages=stages)

    assert finding.kind is FindingKind.NOT_RETRIEVED
    assert (finding.stage, finding.stage_rank) == ("fusion", 2)


def test_a_passage_that_was_not_retrieved_is_named_by_its_chunk_in_the_index() -> None:
    corpus = CorpusTexts({"k1": COOKIES, "k2": f"Shop. {GOODS}"})

    finding = diagnose_passage(GOODS, make_ranking({"k1": COOKIES}), corpus=corpus)

    assert finding == PassageFinding(GOODS, FindingKind.NOT_RETRIEVED, corpus_chunk="k2")


def test_a_passage_in_no_chunk_is_not_in_the_corpus() -> None:
    corpus = CorpusTexts({"k1": COOKIES, "k2": GOODS.replace("14", "30")})

    finding = diagnose_passage(GOODS, Ranking(), corpus=corpus)

    assert finding == PassageFinding(GOODS, FindingKind.NOT_IN_CORPUS)


def test_nothing_is_known_without_corpus_and_stages() -> None:
    finding = diagnose_passage(GOODS, make_ranking({"c1": COOKIES}))

    assert finding == PassageFinding(GOODS, FindingKind.NOT_RETRIEVED)


def test_a_corpus_finds_passages_whose_letters_span_chunks_only_in_whole_chunks() -> None:
    corpus = CorpusTexts({"k1": "paid within", "k2": "14 days", "k3": "is paid within 14 days"})

    assert corpus.find_chunk("paid within 14 days") == "k3"
    assert corpus.find_chunk("within 14 days of") == ""
    assert corpus.find_chunk("14") == "k2"
