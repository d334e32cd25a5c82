"""Finding a passage in a text: all its words in a row, with gaps where the passage has them."""

from __future__ import annotations

from typing import NamedTuple


class PassageMatch(NamedTuple):
    """Where a passage is in a text, in words from 0. The word at ``end`` is not part of it."""

    start: int
    end: int


def check_passage(passage: str) -> str:
    """Return why a passage cannot be looked for, or an empty string.

    The suite parser reports the reason at the passage's line. It names the bound.
    """
    raise NotImplementedError


def find_passage(passage: str, text: str) -> PassageMatch | None:
    """Find a passage in a text.

    Args:
        passage: The text that is looked for. ``[...]``, ``[…]`` and a free-standing ``…`` between
            at least three words on each side are gaps of up to 30 words.
        text: The text of a result.

    Returns:
        The first place that has all words of the passage in a row, or ``None``.
    """
    raise NotImplementedError


def find_span(passage: str, text: str) -> tuple[int, int] | None:
    """Find the characters ``text[start:end]`` that a passage matches, to mark them in a report."""
    raise NotImplementedError
