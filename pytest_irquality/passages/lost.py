"""What became of a passage that no text holds: cut in two, worded otherwise, or nowhere near.

Nothing of this is ever credited; it says where to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from pytest_irquality.passages.deciding import decides
from pytest_irquality.passages.normal import Normal

FEW = 3  # words of a part that is told by itself; fewer must stand at the very edge of their text
SLACK = 2  # words between a part and the edge where its text was cut: half a word, an ellipsis
MOST = 0.6  # share of a passage's words in a text that is called the same passage, changed
NEARNESS = 1.5  # within how many times its own length the words of a passage are looked for
TRIED = 3  # places of one text that are compared word by word


class Part(NamedTuple):
    """Words ``start`` to ``end`` (not included) of a passage, and the place of the text that holds
    them.
    """

    start: int
    end: int
    text: int


class Pair(NamedTuple):
    """A word of a passage and the same word of a text, by their places."""

    own: int
    there: int


class Nearest(NamedTuple):
    """The text (by its place) that holds most of a passage's words in order, and how the two
    differ.

    ``missing`` are words of the passage that are not there, ``added`` words of the text between the
    others.
    """

    text: int
    share: float
    missing: tuple[str, ...]
    added: tuple[str, ...]


def parts(passage: Normal, texts: Sequence[Normal]) -> list[Part]:
    """The parts that a passage was cut into, in its own order; empty where it was not cut.

    All of it must be found but for one word at each cut, and a text must begin or end where it was
    cut. Where the rest was not returned, one part at the edge of its text is enough.
    """
    words = passage.words
    found: list[Part] = []
    at = 0
    while at < len(words):
        part = _longest(words, at, texts)
        if found and at + 1 < len(words):  # the cut may go through a word
            behind = _longest(words, at + 1, texts)
            if behind and (part is None or behind.end > part.end):
                part = behind
        if part is None:
            break
        found.append(part)
        at = part.end
    if at == len(words):
        cuts = pairwise(found)
        is_cut = len(found) > 1 and all(_cut_between(words, texts, *cut) for cut in cuts)
        return found if is_cut else []
    return _edge(words, texts)


def nearest(passage: Normal, texts: Sequence[Normal], least: float = MOST) -> Nearest | None:
    """The text with the largest share of a passage's words in order, if that is at least
    ``least``.
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
            if pairs and share >= least and (best is None or share > best.share):
                best = Nearest(place, share, *_differences(words, near, pairs))
    return best


def _differences(
    words: Sequence[str], near: Sequence[str], pairs: Sequence[Pair]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    own, there = {pair.own for pair in pairs}, {pair.there for pair in pairs}
    missing = tuple(word for at, word in enumerate(words) if at not in own)
    between = range(pairs[0].there, pairs[-1].there)
    return missing, tuple(near[at] for at in between if at not in there)


def _likely(passage: Sequence[str], text: Sequence[str], least: int, reach: int) -> list[int]:
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


def _in_order(passage: Sequence[str], text: Sequence[str]) -> list[Pair]:
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


def _longest(words: Sequence[str], start: int, texts: Sequence[Normal]) -> Part | None:
    """The text that holds the longest run of a passage from ``start`` on, if it is long enough to
    mean anything.
    """
    best: Part | None = None
    for place, text in enumerate(texts):
        length = _run(words, start, text)
        part = Part(start, start + length, place)
        at_edge = start + length == len(words) or _ends(words, text, part)
        if not length or not (length >= FEW or at_edge):
            continue
        if best is None or part.end > best.end:
            best = part
        elif part.end == best.end and start and not _begins(words, texts[best.text], best, 0):
            best = part if _begins(words, text, part, 0) else best  # a word may stand in many texts
    return best


def _run(words: Sequence[str], start: int, text: Normal) -> int:
    """How many of a passage's words from ``start`` on a text holds in a row."""
    low, high = 0, len(words) - start
    while low < high:
        middle = (low + high + 1) // 2
        if Normal(tuple(words[start : start + middle])).line in text.line:
            low = middle
        else:
            high = middle - 1
    return low


def _slack(part: Part) -> int:
    """How far from the edge a part may stand that is all there is: two words must be at the edge
    itself.
    """
    return SLACK if part.end - part.start >= FEW else 0


def _ends(words: Sequence[str], text: Normal, part: Part, slack: int = SLACK) -> bool:
    """Whether the part is where its text ends."""
    line = Normal(tuple(words[part.start : part.end])).line
    after = text.line.rfind(line) + len(line)
    return text.line.count("\n", after) <= slack


def _begins(words: Sequence[str], text: Normal, part: Part, slack: int = SLACK) -> bool:
    """Whether the part is where its text begins, what it has in common with the text before it
    aside.
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


def _cut_between(words: Sequence[str], texts: Sequence[Normal], one: Part, other: Part) -> bool:
    if one.text == other.text:
        return False
    return _ends(words, texts[one.text], one) or _begins(words, texts[other.text], other)


def _edge(words: Sequence[str], texts: Sequence[Normal]) -> list[Part]:
    """The first or the last words of a passage where a text was cut, if the rest was not
    returned.
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
