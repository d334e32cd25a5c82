"""The place of a passage in a text: all its words in a row, whatever the form of either."""

from __future__ import annotations

from typing import NamedTuple

from pytest_irquality.passages.normal import Normal


class Found(NamedTuple):
    """A passage in a text: its first and last word there (0-based, the last not included)."""

    start: int
    end: int


def find(passage: Normal, text: Normal) -> Found | None:
    """The first place at which all the passage's words stand in a row.

    None where there is none, and for a passage without a word.
    """
    at = text.line.find(passage.line) if passage.words else -1
    if at < 0:
        return None
    start = text.line.count("\n", 0, at)
    return Found(start, start + len(passage.words))
