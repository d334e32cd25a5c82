"""The place of a passage in a text: all its words in a row, whatever the form of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_irquality.passages.deciding import counts_or_denies
from pytest_irquality.passages.normal import Normal, letters, normal

MOST_IN_GAP = 30  # words of a text where a passage has an ellipsis


class Found(NamedTuple):
    """A passage in a text: its first and last word there (0-based, the last not included)."""

    start: int
    end: int


def find(passage: Normal, text: Normal) -> Found | None:
    """The first place at which all the passage's words stand in a row.

    Where there is none, words of the text may stand for each ellipsis of the passage. None where
    that is nowhere either, and for a passage without a word.
    """
    whole = next(_places(passage, text), None)
    if whole or not passage.parts:
        return whole
    return next(_with_gaps(passage.parts, text), None)


def find_in(passage: Normal, text: str) -> Found | None:
    """The first place of a passage in a text as given, whose words are made only where it may be.

    The letters of a passage stand in a row there, too.
    """
    there = letters(text)
    if all(part.letters in there for part in passage.parts or (passage,)):
        return find(passage, normal(text))
    return None


def _places(passage: Normal, text: Normal) -> Iterator[Found]:
    """Every place at which a passage stands."""
    before = start = 0
    at = text.line.find(passage.line) if passage.words else -1
    while at >= 0:
        start += text.line.count("\n", before, at)
        yield Found(start, start + len(passage.words))
        before, at = at, text.line.find(passage.line, at + 1)


def _with_gaps(parts: Sequence[Normal], text: Normal) -> Iterator[Found]:
    """Every place at which all parts stand in order, with gaps between them that may be."""
    first, *others = parts
    for found in _places(first, text):
        ends = {found.end}
        for part in others:
            ends = {behind for end in ends for behind in _behind_gap(part.words, text.words, end)}
        if ends:
            yield Found(found.start, min(ends))


def _behind_gap(part: Sequence[str], text: Sequence[str], end: int) -> Iterator[int]:
    """The ends of a part that stands behind a gap, which begins at ``end``.

    No word of a gap is a number or a negation.
    """
    for start in range(end, min(end + MOST_IN_GAP, len(text) - len(part)) + 1):
        if text[start : start + len(part)] == part and not counts_or_denies(text[end:start]):
            yield start + len(part)
