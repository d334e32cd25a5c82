"""Find passages in texts and in rankings of chunks, and compute metrics of passages.

A text has a passage if it has all words of it in a row, with gaps where the passage has them. That
takes time linear in the lengths of both. ``check_passage`` refuses passages whose number of gaps
would add a factor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from pytest_irquality.metrics import Judgments, Metric, score_rankings
from pytest_irquality.passages import normalization

MAX_PASSAGE_LENGTH = 20_000
MAX_GAPS = 20
MAX_GAP_WORDS = 30
MIN_WORDS_NEXT_TO_GAP = 3
# Under this key, ``Ranking.passages`` of a stored ranking lists all passages of its suite. If the
# suite gets another passage later, it is unknown rather than missing in the ranking.
ALL_PASSAGES = -1
_ID_MARK = " (id)"

_GAP = re.compile(r"(?<=\s)(?:…|\.\.\.)(?=\s)|\[(?:…|\.\.\.)\]")
# A sentence says something else without one of these words, so a gap must not skip any.
_NEGATIONS = normalization.split_words(
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
_NEGATED_WORD = re.compile(r"n't$|^non[^\W\d_]{3}")  # isn't, nonrefundable
# Japanese and Thai negations, whose characters are separate words.
_NEGATION_PAIRS = frozenset({("な", "い"), ("な", "く"), ("ไ", "ม่")})
_NUMBER_WORDS = normalization.split_words(
    """
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty
    sixty seventy eighty ninety hundred thousand million billion half twice once
    """
)


class _Pattern(NamedTuple):
    """A passage as it is searched for.

    Attributes:
        text: The complete passage.
        parts: The parts between its gaps. Without gaps, the complete passage.
    """

    text: normalization.NormalizedText
    parts: tuple[normalization.NormalizedText, ...]


def check_passage(passage: str) -> str:
    """Return why a passage cannot be searched for, or an empty string.

    The suite parser reports the reason at the passage's line. It names the bound.
    """
    if len(passage) > MAX_PASSAGE_LENGTH:
        return f"a passage has at most {MAX_PASSAGE_LENGTH:,} characters, not {len(passage):,}"
    gap_count = len(_GAP.findall(passage))
    if gap_count > MAX_GAPS:
        return f"a passage has at most {MAX_GAPS} gaps, not {gap_count}"
    if not normalization.normalize_text(passage).words:
        return "a passage needs at least one word"
    return ""


def has_passage(text: str, passage: str) -> bool:
    """Return whether a text has all words of a passage in a row.

    Args:
        text: The text of a result.
        passage: The text to search for. ``[...]``, ``[…]`` and a free-standing ``…`` between
            at least three words on each side are gaps of up to 30 words, without numbers and
            negations.
    """
    pattern = _parse_passage(passage)
    letters = normalization.extract_letters(text)
    for part in pattern.parts:
        if part.letters not in letters:
            return False
    normalized = normalization.normalize_text(text)
    if pattern.text.words and pattern.text.line in normalized.line:
        return True
    return len(pattern.parts) > 1 and _has_parts(normalized.words, pattern.parts)


def get_words(passage: str) -> tuple[str, ...]:
    """Return the normalized words of a passage, which are equal for equal passages."""
    return _parse_passage(passage).text.words


def get_letters(passage: str) -> str:
    """Return the longest sequence of letters that a text with this passage must contain."""
    pattern = _parse_passage(passage)
    return max((part.letters for part in pattern.parts), key=len)


@lru_cache(maxsize=2**14)
def _parse_passage(passage: str) -> _Pattern:
    text = normalization.normalize_text(passage[:MAX_PASSAGE_LENGTH])
    parts = tuple(map(normalization.normalize_text, _GAP.split(passage[:MAX_PASSAGE_LENGTH])))
    has_gaps = 1 < len(parts) <= MAX_GAPS + 1
    if has_gaps and all(len(part.words) >= MIN_WORDS_NEXT_TO_GAP for part in parts):
        return _Pattern(text, parts)
    return _Pattern(text, (text,))


def _has_parts(words: Sequence[str], parts: Sequence[normalization.NormalizedText]) -> bool:
    """Return whether a text has all parts of a passage in order, with allowed gaps in between."""
    critical_counts = _count_critical_words(words)
    ends = list(_find_ends(parts[0].words, words))
    for part in parts[1:]:
        # The nearest end before a part leaves the smallest gap. If that gap has a critical word or
        # is too long, all larger ones are not allowed, either. So one candidate is enough.
        nearest_end = -1
        candidates = iter([*ends, len(words) + 1])
        candidate = next(candidates)
        ends = []
        for end in _find_ends(part.words, words):
            start = end - len(part.words)
            while candidate <= start:
                nearest_end, candidate = candidate, next(candidates)
            is_near = nearest_end >= 0 and start - nearest_end <= MAX_GAP_WORDS
            if is_near and critical_counts[start] == critical_counts[nearest_end]:
                ends.append(end)
    return bool(ends)


def _find_ends(pattern: Sequence[str], words: Sequence[str]) -> Iterator[int]:
    """Yield the end of every occurrence of some words, overlapping ones included, in order."""
    lengths = match_prefixes(pattern, words, compute_prefix_table(pattern))
    for position, length in enumerate(lengths, start=1):
        if length == len(pattern):
            yield position


def compute_prefix_table(pattern: Sequence[str]) -> list[int]:
    """Return, for each prefix, the length of its longest proper prefix that is also its suffix.

    See Knuth, Morris and Pratt (1977), "Fast pattern matching in strings".
    """
    table = [0] * len(pattern)
    length = 0
    for position in range(1, len(pattern)):
        while length and pattern[position] != pattern[length]:
            length = table[length - 1]
        if pattern[position] == pattern[length]:
            length += 1
        table[position] = length
    return table


def match_prefixes(
    pattern: Sequence[str], words: Sequence[str], table: Sequence[int]
) -> Iterator[int]:
    """Yield, for each word, the length of the longest prefix of a pattern that ends with it."""
    length = 0
    for word in words:
        if length == len(pattern):
            length = table[length - 1]
        while length and word != pattern[length]:
            length = table[length - 1]
        if word == pattern[length]:
            length += 1
        yield length


def _count_critical_words(words: Sequence[str]) -> list[int]:
    """Return, for each ``n``, how many of the first ``n`` words are numbers or negations."""
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


# -- Passages in rankings --------------------------------------------------------------------------


class ChunkRanking(Protocol):
    """The part of a ``Ranking`` that is read here, because this cannot import ``retrieval``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # for ``dataclasses.replace``

    @property
    def doc_ids(self) -> Sequence[str]:
        """Return the ids of the hits, best first."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the text of each hit, or nothing if the texts are unknown."""

    @property
    def passages(self) -> Mapping[int, tuple[str, ...]]:
        """Return the passages in each hit by its index, if they are known without texts."""


RankingT = TypeVar("RankingT", bound=ChunkRanking)


def locate_passages(ranking: RankingT, passages: Mapping[str, float] | Iterable[str]) -> RankingT:
    """Return a ranking in which hits that contain passages have a passage as their id.

    A passage is found at the rank of the first hit that contains it, and becomes the id of that
    hit. If a hit is the first one with several passages, the one with the highest grade becomes its
    id, and ``passages`` of the returned ranking lists all of them by the index of the hit, that one
    first. Further hits with the same passage keep their chunk ids, so a passage counts once. Ranks
    never change. ``score_passages`` and ``find_ranks`` read this form.

    Args:
        ranking: The ranking of chunks, with ``texts``, or with stored ``passages``.
        passages: The passages to look for, with their grades if they have some.
    """
    grades = passages if isinstance(passages, Mapping) else dict.fromkeys(passages, 0.0)
    contained = find_contained_passages(ranking, grades)
    names = list(ranking.doc_ids)
    for index in range(len(names)):
        while names[index] in grades:  # A chunk whose id is a passage is not the passage.
            names[index] += _ID_MARK
    located: dict[int, tuple[str, ...]] = {}
    seen: set[str] = set()
    for index in sorted(contained):
        new_passages = [passage for passage in contained[index] if passage not in seen]
        if index == ALL_PASSAGES or not new_passages:
            continue
        new_passages.sort(key=lambda passage: -grades[passage])
        seen.update(new_passages)
        located[index] = tuple(new_passages)
        names[index] = new_passages[0]
    return replace(ranking, doc_ids=tuple(names), passages=located)


def find_contained_passages(
    ranking: ChunkRanking, passages: Iterable[str]
) -> dict[int, tuple[str, ...]]:
    """Return the passages that each hit contains, by its index, in the order of ``passages``.

    The key ``ALL_PASSAGES`` lists all of ``passages``, so that the result can be stored.
    """
    all_passages = tuple(passages)
    contained: dict[int, tuple[str, ...]] = {ALL_PASSAGES: all_passages}
    if ranking.texts:
        for index, text in enumerate(ranking.texts):
            inside = [passage for passage in all_passages if has_passage(text, passage)]
            if inside:
                contained[index] = tuple(inside)
        return contained
    # The suite may write a stored passage in another form now.
    by_words = {get_words(passage): passage for passage in all_passages}
    for index, stored in ranking.passages.items():
        inside = [by_words[words] for words in map(get_words, stored) if words in by_words]
        if inside:
            contained[index] = tuple(inside)
    return contained


def list_unknown_passages(ranking: ChunkRanking, passages: Iterable[str]) -> tuple[str, ...]:
    """Return the passages for which it is unknown whether hits of a ranking contain them.

    A stored ranking without texts knows only the passages that the suite had when it was stored.
    A query whose relevant passages are unknown has no usable baseline answer.
    """
    if ranking.texts or not ranking.doc_ids:
        return ()
    known = set(map(get_words, ranking.passages.get(ALL_PASSAGES, ())))
    return tuple(passage for passage in passages if get_words(passage) not in known)


def has_shared_hits(ranking: ChunkRanking) -> bool:
    """Return whether a hit of a located ranking contains several passages."""
    return any(len(inside) > 1 for inside in ranking.passages.values())


def find_ranks(ranking: ChunkRanking, limit: int | None = None) -> dict[str, int]:
    """Return the rank of every id and passage of a located ranking.

    The passages of one hit share its rank. Without passages, ``limit`` hits are enough.
    """
    doc_ids = ranking.doc_ids if ranking.passages else ranking.doc_ids[:limit]
    ranks = dict(zip(doc_ids, range(1, len(doc_ids) + 1), strict=True))
    if not ranking.passages and len(ranks) == len(doc_ids):
        return ranks  # Without passages and duplicates, the loop would take ten times as long.
    ranks = {}
    for index, doc_id in enumerate(doc_ids):
        for name in ranking.passages.get(index, (doc_id,)):
            ranks.setdefault(name, index + 1)
    return ranks


def score_passages(
    metrics: Sequence[Metric], judgments: Judgments, ranking: ChunkRanking, undefined: str = "skip"
) -> list[float | None]:
    """Score one located ranking, in which hits may contain several passages.

    A hit has one gain, that of its best passage. The ideal ranking leaves out the other passages of
    the hit, so joining two chunks never lowers a value. Recall counts every passage that is found
    within the cutoff. If no hit has several passages, the values are those of ``score_rankings``.

    Returns:
        One value for each metric.
    """
    scored_judgments = judgments
    if has_shared_hits(ranking):
        secondary = {name for inside in ranking.passages.values() for name in inside[1:]}
        grades = {name: grade for name, grade in judgments.grades.items() if name not in secondary}
        scored_judgments = Judgments(grades, judgments.relevant_from)
    columns = score_rankings(metrics, [scored_judgments], [ranking.doc_ids], undefined=undefined)
    values = [column[0] for column in columns]
    if scored_judgments is judgments:
        return values
    for position, metric in enumerate(metrics):
        if metric.definition.name == "recall" and metric.cutoff is not None:
            cutoff = metric.cutoff
            names = [name for name, rank in find_ranks(ranking).items() if rank <= cutoff]
            # Passages of one hit share its rank, so there may be more of them than ranks.
            deep_metric = metric.with_cutoff(max(cutoff, len(names)))
            ((value,),) = score_rankings([deep_metric], [judgments], [names], undefined=undefined)
            values[position] = value
    return values
