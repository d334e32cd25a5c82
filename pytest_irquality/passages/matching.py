"""Finding a passage in a text: all its words in a row, with gaps where the passage has them.

Everything takes time linear in the lengths of passage and text. ``check_passage`` refuses passages
whose number of gaps would add a factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from pytest_irquality.passages.normalization import (
    NormalizedText,
    extract_letters,
    normalize_text,
    split_words,
)

MAX_PASSAGE_LENGTH = 20_000
MAX_GAPS = 20
MAX_GAP_WORDS = 30
MIN_WORDS_NEXT_TO_GAP = 3

_GAP = re.compile(r"(?<=\s)(?:…|\.\.\.)(?=\s)|\[(?:…|\.\.\.)\]")
# Without one of these, or with another, a sentence says something else, so a gap has none of them.
_NEGATIONS = split_words(
    """
    not no none never nor neither nothing nobody nowhere without cannot except unless hardly
    nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts
    ne pas jamais sans aucun aucune rien ni nunca sin ningún ninguna nada tampoco
    non mai senza nessun nessuno nessuna niente não sem nenhum nenhuma
    niet geen nooit zonder niets inte ingen aldrig utan ikke aldri uten uden aldrig
    не нет никогда без нельзя nigdy bez żaden değil yok hiç
    不 没 沒 無 无 非 未 勿 莫 ん ず 안 않 못 없 لا ليس لم لن بدون לא אין בלי नहीं मत
    """
)
_NEGATED_WORD = re.compile(r"n't$|^non[^\W\d_]{3}")
_NEGATION_PAIRS = frozenset({("な", "い"), ("な", "く"), ("ไ", "ม่")})
_NUMBER_WORDS = split_words(
    """
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    sixty seventy eighty ninety hundred thousand million billion half twice once
    """
)


class PassageMatch(NamedTuple):
    """Where a passage is in a text, in words from 0. The word at ``end`` is not part of it."""

    start: int
    end: int


class _Pattern(NamedTuple):
    """A passage that is looked for: its words, and the parts between its gaps if it has some."""

    text: NormalizedText
    parts: tuple[NormalizedText, ...] = ()


def check_passage(passage: str) -> str:
    """Return why a passage cannot be looked for, or an empty string.

    The suite parser reports the reason at the passage's line. It names the bound.
    """
    if len(passage) > MAX_PASSAGE_LENGTH:
        return f"a passage has at most {MAX_PASSAGE_LENGTH:,} characters, not {len(passage):,}"
    gap_count = len(_GAP.findall(passage))
    if gap_count > MAX_GAPS:
        return f"a passage has at most {MAX_GAPS} gaps, not {gap_count}"
    if not normalize_text(passage).words:
        return "a passage needs at least one word"
    return ""


def find_passage(passage: str, text: str) -> PassageMatch | None:
    """Find a passage in a text.

    Args:
        passage: The text that is looked for. ``[...]``, ``[…]`` and a free-standing ``…`` between
            at least three words on each side are gaps of up to 30 words, without numbers and
            negations.
        text: The text of a result.

    Returns:
        The first place that has all words of the passage in a row, or otherwise the first with
        gaps, or ``None``.
    """
    pattern = _parse_passage(passage)
    letters = extract_letters(text)
    for part in pattern.parts or (pattern.text,):
        if part.letters not in letters:
            return None
    normalized = normalize_text(text)
    return _find_words(pattern.text, normalized) or _find_with_gaps(pattern.parts, normalized)


def get_words(passage: str) -> tuple[str, ...]:
    """Return the normalized words of a passage, by which it is the same passage in any form."""
    return _parse_passage(passage).text.words


def get_letters(passage: str) -> str:
    """Return the longest run of letters that a text with this passage must contain."""
    pattern = _parse_passage(passage)
    return max((part.letters for part in pattern.parts or (pattern.text,)), key=len)


@lru_cache(maxsize=2**14)
def _parse_passage(passage: str) -> _Pattern:
    text = normalize_text(passage[:MAX_PASSAGE_LENGTH])
    parts = tuple(map(normalize_text, _GAP.split(passage[:MAX_PASSAGE_LENGTH])))
    has_gaps = 1 < len(parts) <= MAX_GAPS + 1
    if has_gaps and all(len(part.words) >= MIN_WORDS_NEXT_TO_GAP for part in parts):
        return _Pattern(text, parts)
    return _Pattern(text)


def _find_words(passage: NormalizedText, text: NormalizedText) -> PassageMatch | None:
    """Find the first place with all words of a passage in a row."""
    at = text.line.find(passage.line) if passage.words else -1
    if at < 0:
        return None
    start = text.line.count("\n", 0, at)
    return PassageMatch(start, start + len(passage.words))


def _find_with_gaps(parts: Sequence[NormalizedText], text: NormalizedText) -> PassageMatch | None:
    """Find the first place with all parts in order and allowed gaps between them."""
    if not parts:
        return None
    critical_counts = _count_critical_words(text.words)
    # For every end of the parts so far: where the match that ends there starts.
    starts = {end: end - len(parts[0].words) for end in _find_ends(parts[0].words, text.words)}
    for part in parts[1:]:
        # The nearest end before a part leaves the smallest gap. If that gap has a critical word, or
        # is too long, so are all others. Therefore one candidate is enough for each place.
        nearest_end = -1
        candidates = iter(starts)
        candidate = next(candidates, None)
        reached: dict[int, int] = {}
        for end in _find_ends(part.words, text.words):
            start = end - len(part.words)
            while candidate is not None and candidate <= start:
                nearest_end, candidate = candidate, next(candidates, None)
            if nearest_end < 0 or start - nearest_end > MAX_GAP_WORDS:
                continue
            if critical_counts[start] == critical_counts[nearest_end]:
                reached[end] = starts[nearest_end]
        starts = reached
    if not starts:
        return None
    end = min(starts)
    return PassageMatch(starts[end], end)


def _find_ends(pattern: Sequence[str], words: Sequence[str]) -> Iterator[int]:
    """Yield the end of every occurrence of some words, overlapping ones included, in order."""
    matched = 0
    borders = compute_borders(pattern)
    for position, length in enumerate(match_prefixes(pattern, words, borders), start=1):
        matched = length
        if matched == len(pattern):
            yield position


def compute_borders(pattern: Sequence[str]) -> list[int]:
    """Return, for each prefix, the length of its longest proper prefix that is also its suffix.

    See Knuth, Morris and Pratt (1977), "Fast pattern matching in strings".
    """
    borders = [0] * len(pattern)
    length = 0
    for position in range(1, len(pattern)):
        while length and pattern[position] != pattern[length]:
            length = borders[length - 1]
        if pattern[position] == pattern[length]:
            length += 1
        borders[position] = length
    return borders


def match_prefixes(
    pattern: Sequence[str], words: Sequence[str], borders: Sequence[int]
) -> Iterator[int]:
    """Yield, for each word, the length of the longest prefix of a pattern that ends with it."""
    length = 0
    for word in words:
        if length == len(pattern):
            length = borders[length - 1]
        while length and word != pattern[length]:
            length = borders[length - 1]
        if word == pattern[length]:
            length += 1
        yield length


def _count_critical_words(words: Sequence[str]) -> list[int]:
    """Count the numbers and negations among the first words, for each number of words."""
    is_critical = [_is_critical(word) for word in words]
    for position, pair in enumerate(pairwise(words)):
        if pair in _NEGATION_PAIRS:
            is_critical[position] = is_critical[position + 1] = True
    counts = [0]
    for critical in is_critical:
        counts.append(counts[-1] + critical)
    return counts


def _is_critical(word: str) -> bool:
    if word in _NEGATIONS or word in _NUMBER_WORDS or _NEGATED_WORD.search(word):
        return True
    return any(map(str.isdigit, word))
