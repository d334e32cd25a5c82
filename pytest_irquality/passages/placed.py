"""The place of words in a text as given, so that reports can mark it. Nothing is decided by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from unicodedata import normalize

from pytest_irquality.passages.characters import FOLD

MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,300}>|&#?\w{1,31};|\]\([^()\s]{0,2000}\)")
"""Tags, entities and targets of links, which have letters that no reader sees."""


def placed(words: Sequence[str], start: int, end: int, text: str) -> tuple[int, int] | None:
    """The place of some of a text's words, by letters and digits alone: ``text[start:end]``.

    Of several it is the nearest to where the words before them end. None for words of signs alone,
    and where markup tells otherwise than it seems.
    """
    before, _ = _in_a_row(" ".join(words[:start]))
    wanted, _ = _in_a_row(" ".join(words[start:end]))
    row, places = _in_a_row(text)
    if not wanted or wanted not in row:
        return None
    at = min(_every(wanted, row), key=lambda at: abs(at - len(before)))
    return places[at], places[at + len(wanted) - 1] + 1


def _every(wanted: str, row: str) -> Iterator[int]:
    at = row.find(wanted)
    while at >= 0:
        yield at
        at = row.find(wanted, at + 1)


def _in_a_row(text: str) -> tuple[str, Sequence[int]]:
    """The letters and digits of a text in a row, and the place of each."""
    row: list[str] = []
    places: list[int] = []
    behind = 0
    for start, end in [*(match.span() for match in MARKUP.finditer(text)), (len(text),) * 2]:
        for at in range(behind, start):
            found = _letters(text[at])
            row += found
            places += [at] * len(found)
        behind = end
    return "".join(row), places


@cache
def _letters(character: str) -> str:
    """The letters and digits that a character stands for, without its marks."""
    return "".join(filter(str.isalnum, normalize("NFD", FOLD[ord(character)])))
