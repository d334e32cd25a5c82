"""Passages that no text holds: cut in two, worded otherwise, or nowhere near.

Nothing of this is ever credited; it says where to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from math import ceil
from typing import NamedTuple

from pytest_irquality.passages.deciding import decides
from pytest_irquality.passages.normal import Normal

FEW = 3  # words of a part that is told by itself; fewer must stand at the very edge of their text
SLACK = 2  # words between a part and the edge where its text was cut: half a word, an ellipsis
MOST_SHARED = 0.7  # share of the words of either, and of both, that make it the same passage
NEARNESS = 1.5  # within how many times its own length the words of a passage are looked for
TRIED = 3  # places of one text that are compared word by word


class Part(NamedTuple):
    """Words of a passage, from ``start`` to ``end`` (not included), that stand in one text.

    ``text`` is the place of that text among those looked at.
    """

    start: int
    end: int
    text: int


class Pair(NamedTuple):
    """A word of a passage and the same word of a text, by their places."""

    own: int
    there: int


class Nearest(NamedTuple):
    """The text (by its place) that holds most of a passage's words in order.

    ``share`` is that of the passage's words. ``missing`` are words of the passage that are not
    there, ``added`` words of the text between the others. ``is_same``: it is the passage, changed,
    and no other text of like words.
    """

    text: int
    share: float
    is_same: bool
    missing: tuple[str, ...]
    added: tuple[str, ...]


def parts(passage: Normal, texts: Sequence[Normal]) -> list[Part]:
    """The parts that a passage was cut into, in its own order; empty where it was not cut.

    All of it must be found but for one word at each cut, and one text must end where it was cut and
    the next begin there. Of two parts of some words one such text is enough: each chunk may begin
    with a heading. Where the rest was not returned, one part at the edge of its text is enough.
    """
    words = passage.words
    found: list[Part] = []
    at = 0
    while at < len(words):
        part = _next(words, at, texts)
        if part is None:
            return _edge(words, texts)
        found.append(part)
        at = part.end
    enough = any if len(found) == 2 and all(part.end - part.start >= FEW for part in found) else all
    is_cut = len(found) > 1 and all(enough(_edges(words, texts, *cut)) for cut in pairwise(found))
    return found if is_cut else []


def _next(words: Sequence[str], at: int, texts: Sequence[Normal]) -> Part | None:
    """The part from a word on, or from the word behind it, as the cut before may go through one."""
    part = _longest(words, at, texts)
    behind = _longest(words, at + 1, texts) if 0 < at < len(words) - 1 else None
    return max(filter(None, (part, behind)), key=lambda one: one.end, default=None)


def nearest(passage: Normal, texts: Sequence[Normal], least: float = MOST_SHARED) -> Nearest | None:
    """The text with the largest share of a passage's words in order, the passage itself first.

    None where that share is below ``least``.
    """
    words = passage.words
    best: Nearest | None = None
    reach = int(NEARNESS * len(words)) + 1
    needed = max(ceil(least * len(words)), 1)
    for place, text in enumerate(texts):
        for start in _likely(words, text.words, needed, reach)[:TRIED]:
            near = text.words[start : start + reach]
            pairs = _in_order(words, near)
            share = len(pairs) / len(words)
            if not pairs or share < least:
                continue
            missing, added = _differences(words, near, pairs)
            of_both = 2 * len(pairs) / (len(words) + len(pairs) + len(added))
            is_same = min(share, of_both) >= MOST_SHARED
            found = Nearest(place, share, is_same, missing, added)
            if best is None or (found.is_same, share) > (best.is_same, best.share):
                best = found
    return best


def _differences(
    words: Sequence[str], near: Sequence[str], pairs: Sequence[Pair]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    own, there = {pair.own for pair in pairs}, {pair.there for pair in pairs}
    missing = tuple(word for at, word in enumerate(words) if at not in own)
    between = range(pairs[0].there, pairs[-1].there)
    return missing, tuple(near[at] for at in between if at not in there)


def _likely(passage: Sequence[str], text: Sequence[str], least: int, reach: int) -> list[int]:
    """The places of a text whose next ``reach`` words hold enough of a passage's, in any order.

    Those with most come first.
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


def _in_order(passage: Sequence[str], text: Sequence[str]) -> list[Pair]:
    """The most words that stand in both in the same order.

    Words that decide go before any number of others.
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


def _longest(words: Sequence[str], start: int, texts: Sequence[Normal]) -> Part | None:
    """The longest run of a passage from ``start`` on that a text holds.

    None where no run is long enough to mean anything.
    """
    runs = (
        Part(start, start + _run(words, start, text), place) for place, text in enumerate(texts)
    )
    told = [part for part in runs if _means_something(words, texts[part.text], part)]
    end = max((part.end for part in told), default=0)
    longest = [part for part in told if part.end == end]
    # A word may stand in many texts: where the passage goes on, the text begins with it.
    going_on = (part for part in longest if start and _begins(words, texts[part.text], part, 0))
    return next(chain(going_on, longest), None)


def _means_something(words: Sequence[str], text: Normal, part: Part) -> bool:
    """Tell whether a part is long enough, or is all that could be there."""
    if part.end - part.start >= FEW:
        return True
    is_all = part.end == len(words) or _ends(words, text, part)
    return is_all and part.start < part.end


def _run(words: Sequence[str], start: int, text: Normal) -> int:
    """The number of a passage's words from ``start`` on that a text holds in a row."""
    low, high = 0, len(words) - start
    while low < high:
        middle = (low + high + 1) // 2
        if Normal(tuple(words[start : start + middle])).line in text.line:
            low = middle
        else:
            high = middle - 1
    return low


def _slack(part: Part) -> int:
    """The distance from the edge at which a part may stand that is all there is.

    Two words must be at the edge itself.
    """
    return SLACK if part.end - part.start >= FEW else 0


def _ends(words: Sequence[str], text: Normal, part: Part, slack: int = SLACK) -> bool:
    """Tell whether a part is where its text ends."""
    line = Normal(tuple(words[part.start : part.end])).line
    after = text.line.rfind(line) + len(line)
    return text.line.count("\n", after) <= slack


def _begins(words: Sequence[str], text: Normal, part: Part, slack: int = SLACK) -> bool:
    """Tell whether a part is where its text begins.

    What the text has in common with the one before it does not count.
    """
    line = Normal(tuple(words[part.start : part.end])).line
    before = text.words[: text.line.count("\n", 0, text.line.find(line))]
    shared = 0
    while (
        shared < min(len(before), part.start)
        and before[-1 - shared] == words[part.start - 1 - shared]
    ):
        shared += 1
    return len(before) - shared <= slack


def _edges(
    words: Sequence[str], texts: Sequence[Normal], one: Part, other: Part
) -> tuple[bool, ...]:
    """Tell whether the one part ends its text, and the other begins another one."""
    if one.text == other.text:
        return (False,)
    return _ends(words, texts[one.text], one), _begins(words, texts[other.text], other)


def _edge(words: Sequence[str], texts: Sequence[Normal]) -> list[Part]:
    """The first or the last words of a passage where a text was cut.

    Empty where none are, or the rest was returned.
    """
    least = max(2, ceil(len(words) / 3))
    for place, text in enumerate(texts):
        first = Part(0, _run(words, 0, text), place)
        if first.end >= least and _ends(words, text, first, _slack(first)):
            return [first]
        start = next(
            (at for at in range(1, len(words) - least + 1)
             if Normal(tuple(words[at:])).line in text.line), None)  # fmt: skip
        if start is not None:
            last = Part(start, len(words), place)
            if _begins(words, text, last, _slack(last)):
                return [last]
    return []
