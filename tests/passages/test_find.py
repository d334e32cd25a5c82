"""Where a passage stands in a text."""

from __future__ import annotations

import time

import pytest

from pytest_irquality.passages import find, normal, sought
from pytest_irquality.passages.find import Found


def found(passage: str, text: str) -> Found | None:
    return find(normal(passage), normal(text))


def test_a_passage_stands_where_its_words_do() -> None:
    assert found("14 days", "Paid within 14 days.") == Found(2, 4)
    assert found("paid", "Paid within 14 days. Paid") == Found(0, 1)
    assert found("days paid", "Paid within 14 days") is None
    assert found("", "Paid") is None
    assert found("…", "Paid …") is None


GAPS = {
    "a gap": ("the default limit ... can be raised later", "The default limit of a page can be raised later.", True),
    "in brackets": ("the default limit [...] can be raised later", "The default limit of a page can be raised later.", True),
    "in brackets, one sign": ("the default limit […] can be raised later", "The default limit (of 4 kB). It can be raised later.", False),
    "nothing": ("the default limit … can be raised later", "The default limit can be raised later.", True),
    "the sign itself": ("the default limit … 4 megabytes", "The default limit … 4 megabytes", True),
    "two words behind it": ("the default limit … 4 megabytes", "The default limit of a page is 4 megabytes", False),
    "two words before it": ("default limit … can be raised later", "default limit of a page can be raised later", False),
    "two gaps": ("the default limit … can be raised … by each team", "The default limit of it can be raised, if need be, by each team.", True),
    "a number within": ("the default limit … can be raised later", "The default limit of 4 megabytes can be raised later.", False),
    "a number in words": ("the default limit … can be raised later", "The default limit of four megabytes can be raised later.", False),
    "a negation": ("the default limit … can be raised later", "The default limit is not what can be raised later.", False),
    "thirty words": ("the default limit … can be raised later", f"The default limit {'of a ' * 15} can be raised later.", True),
    "thirty-one words": ("the default limit … can be raised later", f"The default limit {'of a ' * 15} page can be raised later.", False),
    "the other order": ("the default limit … can be raised later", "It can be raised later: the default limit.", False),
    "a later beginning": ("the default limit … can be raised later", "The default limit is not low. The default limit of all can be raised later.", True),
    "a negation at the first end": (
        "the default limit … can be raised later", "The default limit of it can be raised later, never: can be raised later.", True),
    "no white space": ("the default limit... can be raised later", "The default limit of a page can be raised later.", False),
}  # fmt: skip


@pytest.mark.parametrize("what", GAPS)
def test_an_ellipsis_is_a_gap_of_a_few_words(what: str) -> None:
    passage, text, held = GAPS[what]
    assert bool(find(sought(passage), normal(text))) is held


def test_all_of_a_passage_with_a_gap_is_where_it_was_found() -> None:
    passage, text = (
        sought("stays three days … until it ships"),
        normal("It stays three days in the store until it ships."),
    )
    assert find(passage, text) == (1, 10)


def test_a_gap_in_a_text_that_repeats_itself_takes_no_time() -> None:
    text = normal("a b c d e " * 4_000)
    start = time.perf_counter()
    assert not find(sought("a b c … b c d … never it comes"), text)
    assert time.perf_counter() - start < 60
