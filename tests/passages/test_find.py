"""Where a passage stands in a text."""

from __future__ import annotations

import pytest

from pytest_irquality.passages import find, normal, too_short
from pytest_irquality.passages.find import Found


def found(passage: str, text: str) -> Found | None:
    return find(normal(passage), normal(text))


def test_a_passage_stands_where_its_words_do() -> None:
    assert found("14 days", "Paid within 14 days.") == Found(2, 4)
    assert found("paid", "Paid within 14 days. Paid") == Found(0, 1)
    assert found("days paid", "Paid within 14 days") is None
    assert found("", "Paid") is None
    assert found("…", "Paid …") is None


@pytest.mark.parametrize(
    ("passage", "short"),
    [("5", True), ("the", True), ("of the", True), ("", True), ("x", True), ("日", True), ("1.2.3", True), ("14 days", False),
     ("PostgreSQL", False), ("返金", False), ("keep the receipt", False), ("x < 5", False)],
)  # fmt: skip
def test_passages_too_short_to_mean_anything(passage: str, short: bool) -> None:
    assert too_short(normal(passage).words) is short
