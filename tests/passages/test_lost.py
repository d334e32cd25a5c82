"""What became of a passage that no text holds."""

from __future__ import annotations

import pytest

from pytest_irquality.passages import nearest, normal, parts
from pytest_irquality.passages.lost import Part

GOODS = "Refunds are paid within 14 days of the receipt of the goods"


def cut(passage: str, *texts: str) -> list[Part]:
    return parts(normal(passage), [*map(normal, texts)])


CUT = {
    "in two": ("It says: refunds are paid within 14", "days of the receipt of the goods. And so on."),
    "the other way round": ("days of the receipt of the goods. And so on.", "It says: refunds are paid within 14"),
    "with an overlap": ("It says: refunds are paid within 14 days", "within 14 days of the receipt of the goods."),
    "inside a word": ("It says: refunds are paid within 14 da", "ys of the receipt of the goods."),
    "near its end": ("It says: refunds are paid within 14 days of the receipt of the", "goods. And so on."),
    "before a last word that stands elsewhere, too": (
        "All goods are new. It says: refunds are paid within 14 days of the receipt of the", "goods. And so on."),
    "near its beginning": ("It says: refunds", "are paid within 14 days of the receipt of the goods."),
    "in three": ("It says: refunds are paid", "within 14 days of the receipt", "of the goods. And so on."),
    "behind a heading": ("It says: refunds are paid within 14", "Returns and refunds of all kinds: days of the receipt of"
                         " the goods."),
}  # fmt: skip


@pytest.mark.parametrize("how", CUT)
def test_a_passage_that_was_cut(how: str) -> None:
    texts = CUT[how]
    found = cut(GOODS, "Cookies are kept for 14 days.", *texts)
    assert {part.text for part in found} == set(range(1, len(texts) + 1))
    assert found[0].start == 0
    assert found[-1].end == len(normal(GOODS).words)


def test_a_part_at_an_edge_where_the_rest_was_not_returned() -> None:
    assert cut(GOODS, "Cookies", "It says: refunds are paid within 14") == [Part(0, 5, 1)]
    assert cut(GOODS, "days of the receipt of the goods. And so on.") == [Part(5, 12, 0)]


NOT_CUT = {
    "changed": ["Refunds are paid within 30 days of the receipt of the goods"],
    "elsewhere": ["Cookies are kept for 14 days.", "The goods are of the best kind."],
    "bits in the middle of other texts": [
        "Refunds are paid within 14 hours in all of our shops", "It takes three days of the receipt of the goods in June",
    ],
    "only its first words": ["Refunds are made by our office in the city."],
    "nothing": [],
}  # fmt: skip


@pytest.mark.parametrize("how", NOT_CUT)
def test_what_was_not_cut(how: str) -> None:
    assert cut(GOODS, *NOT_CUT[how]) == []


def test_the_nearest_text_and_how_it_differs() -> None:
    texts = [
        "Cookies",
        "Refunds are paid within 14 hours",
        GOODS.replace("14", "30").replace("paid", "paid out"),
    ]
    found = nearest(normal(GOODS), [*map(normal, texts)])
    assert found is not None
    assert (found.text, found.missing, found.added) == (2, ("14",), ("out", "30"))
    assert found.share == pytest.approx(11 / 12)
    assert nearest(normal(GOODS), [normal("Cookies are kept"), normal("")]) is None
    assert nearest(normal(GOODS), []) is None


@pytest.mark.parametrize("word", ["14", "not", "can't", "<", "only", "non-fatal", "不", "x2"])
def test_a_word_that_decides_is_no_difference_where_both_have_it(word: str) -> None:
    """Rather than any number of other words, which cannot all stand in order with it."""
    found = nearest(normal(f"{word} office chairs"), [normal(f"office chairs {word}")], 0.3)
    assert found is not None
    assert found.missing == ("office", "chairs")


@pytest.mark.parametrize(
    ("behind", "is_cut"),
    [("at most", True), ("at the most", False)],
)
def test_how_far_from_the_edge_a_text_may_be_cut(behind: str, is_cut: bool) -> None:
    """An ellipsis and half a word; whatever is longer, a writer has put there."""
    texts = (
        f"It says: refunds are paid within 14 {behind}",
        f"{behind} days of the receipt of the goods",
    )
    assert bool(cut(GOODS, *texts)) is is_cut


@pytest.mark.parametrize(("between", "share"), [("x x x", 1.0), ("x x x x", 0.75)])
def test_how_far_apart_the_words_of_a_passage_may_stand(between: str, share: float) -> None:
    found = nearest(normal("red blue green grey"), [normal(f"red {between} blue green grey")])
    assert found is not None
    assert found.share == share


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("refunds are paid within 30 days of the receipt of goods", True),
        ("refunds that are late are paid to you within some 14 days after the date of your receipt of all the goods", False),
    ],
)  # fmt: skip
def test_a_text_of_like_words_is_not_the_passage_changed(text: str, is_same: bool) -> None:
    found = nearest(normal(GOODS), [normal(text)])
    assert found is not None
    assert found.share >= 0.7
    assert found.is_same is is_same
