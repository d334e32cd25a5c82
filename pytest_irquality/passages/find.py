"""Where a passage stands in a text: its words in order, whole; or, where a share is allowed, nearly
all of them.

A share never excuses a word that decides what is said: a number, a negation or an operator that is
missing, other or added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, floor
from typing import NamedTuple

from pytest_irquality.passages.deciding import decides, negates
from pytest_irquality.passages.normal import Normal

NEARNESS = 1.5  # within how many times its own length the words of a passage must stand
MOST_COMPARED = (
    300_000  # pairs of words, of one passage with one text: hostile texts look alike everywhere
)


class Found(NamedTuple):
    """A passage in a text: its first and last word there (0-based, the last not included), and the
    share found.

    ``whole``: its words follow each other, with nothing between them.
    """

    start: int
    end: int
    share: float = 1.0
    whole: bool = True


class Pair(NamedTuple):
    """A word of a passage and the same word of a text, by their places."""

    own: int
    there: int


def find(passage: Normal, text: Normal, share: float = 1.0) -> Found | None:
    """The first place at which all the passage's words stand in order, or else the best one that
    has that share.

    None where there is none, and for a passage without a word.
    """
    if not passage.words:
        return None
    at = text.line.find(passage.line)
    if at >= 0:
        start = text.line.count("\n", 0, at)
        return Found(start, start + len(passage.words))
    return _nearly(passage.words, text.words, share) if share < 1 else None


def _nearly(passage: Sequence[str], text: Sequence[str], share: float) -> Found | None:
    least, reach = ceil(share * len(passage) - 1e-9), floor(NEARNESS * len(passage))
    best: Found | None = None
    tries = max(MOST_COMPARED // (len(passage) * reach), 1)
    deciding, negating = decides(passage), negates(text)
    for start in likely(passage, text, least, reach)[:tries]:
        pairs = in_order(passage, text[start : start + reach])
        if len(pairs) < least or not deciding <= {pair.own for pair in pairs}:
            continue
        there = {start + pair.there for pair in pairs}
        first, last = min(there), max(there)
        if any(place in negating and place not in there for place in range(first - 1, last + 1)):
            continue
        found = Found(first, last + 1, len(pairs) / len(passage), whole=False)
        if best is None or found.share > best.share:
            best = found
    return best


def likely(passage: Sequence[str], text: Sequence[str], least: int, reach: int) -> list[int]:
    """Where the next ``reach`` words hold enough of the passage's, in whatever order: those with
    most first.
    """
    wanted = Counter(passage)
    held: Counter[str] = Counter()
    common, likely = 0, []
    for end in range(len(text) + reach - 1):
        start = end - reach + 1
        if end < len(text) and text[end] in wanted:
            common += held[text[end]] < wanted[text[end]]
            held[text[end]] += 1
        if start >= 0 and text[start] in wanted:
            if common >= least:
                likely.append((-common, start))
            held[text[start]] -= 1
            common -= held[text[start]] < wanted[text[start]]
    return [start for _, start in sorted(likely)]


def in_order(passage: Sequence[str], text: Sequence[str]) -> list[Pair]:
    """The most words that stand in both in the same order; words that decide go before any number
    of others.
    """
    deciding = decides(passage)
    above = [0] * (len(text) + 1)
    table = [above]
    for place, word in enumerate(passage):
        weight = len(passage) + 1 if place in deciding else 1
        row = [0]
        for there, other in enumerate(text):
            same = above[there] + weight if word == other else 0
            row.append(max(same, above[there + 1], row[there]))
        table.append(row)
        above = row
    return [*_back(table)][::-1]


def _back(table: Sequence[Sequence[int]]) -> Iterator[Pair]:
    """The pairs that made the last number of the table, last first."""
    own, there = len(table) - 1, len(table[0]) - 1
    while own and there:
        if table[own][there] == table[own - 1][there]:
            own -= 1
        elif table[own][there] == table[own][there - 1]:
            there -= 1
        else:
            own, there = own - 1, there - 1
            yield Pair(own, there)
