"""The place of words in a text as given, so that reports can mark it. Nothing is decided by it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from unicodedata import normalize

from pytest_irquality.passages.characters import FOLD

MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,300}>|&#?\w{1,31};|\]\([^()\s]{0,2000}\)")
"""Tags, entities and targets of links, which have letters that no reader sees."""


def placed(words: Sequence[str], text: str, *, last: bool = False) -> tuple[int, int] | None:
    """The first or the last place of words, by letters and digits alone: ``text[start:end]``.

    None for words of signs alone, and where markup tells otherwise than it seems.
    """
    wanted, _ = _in_a_row(" ".join(words))
    row, places = _in_a_row(text)
    find = row.rfind if last else row.find
    at = find(wanted) if wanted else -1
    return None if at < 0 else (places[at], places[at + len(wanted) - 1] + 1)


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
