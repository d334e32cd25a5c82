"""Where a passage stands in a text: whole, or nearly."""

from __future__ import annotations

import pytest

from pytest_irquality.passages import find, normal, too_short
from pytest_irquality.passages.find import Found


def found(passage: str, text: str, share: float = 1.0) -> Found | None:
    return find(normal(passage), normal(text), share)


def test_a_passage_stands_where_its_words_do() -> None:
    assert found("14 days", "Paid within 14 days.") == Found(2, 4)
    assert found("paid", "Paid within 14 days. Paid") == Found(0, 1)
    assert found("days paid", "Paid within 14 days") is None
    assert found("", "Paid") is None
    assert found("…", "Paid …") is None


GOODS = "Refunds are paid within 14 days of the receipt of the goods"
NEARLY = [
    (GOODS, "Refunds are paid out within 14 days of the receipt of the goods.", 0.85, 1.0),
    (GOODS, "Refunds get paid within 14 days of the receipt of the goods", 0.85, 11 / 12),
    (GOODS, "We say: refunds are paid within 14 days of receipt of the goods.", 0.85, 11 / 12),
    (GOODS, "refunds paid within 14 days of receipt of goods", 0.7, 9 / 12),
    (
        "返金は商品の受領から14日以内に行われます",
        "返金は、商品の受け取りから14日以内に行われます",
        0.85,
        19 / 20,
    ),
]


@pytest.mark.parametrize(("passage", "text", "share", "expected"), NEARLY)
def test_nearly_all_words_are_enough_where_a_share_is_allowed(
    passage: str, text: str, share: float, expected: float
) -> None:
    place = found(passage, text, share)
    assert place is not None
    assert not place.whole
    assert place.share == pytest.approx(expected)
    assert found(passage, text) is None


NEVER = [
    (GOODS, GOODS.replace("14", "30")),
    (GOODS, GOODS.replace("14 ", "")),
    (GOODS, GOODS.replace("are paid", "are not paid")),
    (GOODS, GOODS.replace("are paid", "are never paid")),
    (GOODS, GOODS.replace("within", "after").replace("14", "30")),
    (GOODS.replace("are paid", "are not paid"), GOODS),
    ("fees are not refundable within the first days of the purchase", "fees are refundable within the first days of the"
     " purchase"),
    ("the value of x must be set so that x < limit holds for all", "the value of x must be set so that x > limit holds"
     " for all"),
    ("you can open the account without any fee on the first day", "you can open the account with any fee on the first"
     " day"),
    ("the cache is enabled for every user of the new system", "the cache is disabled for every user of the new system"),
    ("wait for two hours and then start the service again", "wait for three hours and then start the service again"),
    ("you can't cancel the order once it has left our store", "you can cancel the order once it has left our store"),
    ("この商品は返金できません", "この商品は返金できます"),
    (GOODS, "of the goods the receipt of days 14 within paid are refunds"),
    (GOODS, "Refunds are sent in full and are paid, as the law of this country asks of every shop in it, within 14"
     " days of the receipt of the goods"),
]  # fmt: skip


@pytest.mark.parametrize(("passage", "text"), NEVER)
def test_a_share_never_excuses_what_decides(passage: str, text: str) -> None:
    assert found(passage, text, 0.85) is None


def test_the_share_is_rounded_up_to_whole_words() -> None:
    passage = "one small red house by the sea".replace("one ", "a ")
    assert found(passage, "a small red house by the", 0.85)  # 6 of 7 are 0.857
    assert found(passage, "a small red house by the", 0.86) is None
    assert found("red house", "red", 0.5)
    assert found("red house", "red", 0.51) is None


def test_the_best_place_counts() -> None:
    text = "refunds are made in the days of the receipt, and refunds are paid within 14 days of the receipt of goods"
    place = found(GOODS, text, 0.6)
    assert place is not None
    assert place.share == pytest.approx(11 / 12)


def test_long_texts_that_look_alike_everywhere_end_soon() -> None:
    passage, text = "a b c d e f g h i j " * 40, "b a d c f e h g j i " * 2000
    assert found(passage, text, 0.9) is None


@pytest.mark.parametrize(
    ("passage", "short"),
    [("5", True), ("the", True), ("of the", True), ("", True), ("x", True), ("日", True), ("1.2.3", True), ("14 days", False),
     ("PostgreSQL", False), ("返金", False), ("keep the receipt", False), ("x < 5", False)],
)  # fmt: skip
def test_passages_too_short_to_mean_anything(passage: str, short: bool) -> None:
    assert too_short(normal(passage).words) is short
