"""Explain why a relevant passage is missing from a ranking. This never changes a score."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from heapq import nlargest
from itertools import accumulate
from math import ceil, log
from typing import NamedTuple

from pytest_irquality.passages import matching
from pytest_irquality.passages.normalization import NormalizedText, extract_letters, normalize_text

# Words that may be between a part and the edge of its chunk, such as half a word and an ellipsis.
MAX_WORDS_AT_EDGE = 2
# A shorter part is a coincidence unless it is directly at the edge of its chunk.
MIN_PART_WORDS = 3
# One part alone shows a split if it has at least this fraction of the passage.
MIN_LONE_FRACTION = 1 / 3
# If no chunk contains a passage, so many chunks of the corpus are searched for parts of it, and the
# neighbors of the best ones.
MAX_NEAR_CHUNKS = 50
MAX_CHUNKS_WITH_NEIGHBORS = 3
# Only so many chunks of a ranking are searched for parts, because the time grows with the square of
# their number.
MAX_SPLIT_CHUNKS = 200
# One character of Chinese, Japanese or Korean, or a run of other letters and digits.
_ROUGH_WORD = r"[\u2e80-\ua4cf\uf900-\ufaff]|\w+"


class FindingKind(Enum):
    """What happened to a relevant passage. The values are the words of reports."""

    FOUND = "found"
    RANKED_LOWER = "ranked lower"
    SPLIT = "split across chunks"
    NOT_IN_CORPUS = "not in the corpus"
    NOT_RETRIEVED = "not retrieved"


class ChunkRank(NamedTuple):
    """A chunk, and its rank if the ranking has it."""

    chunk_id: str
    rank: int | None = None


class PassageFinding(NamedTuple):
    """What happened to one relevant passage of a query.

    Attributes:
        rank: The rank of the passage: within ``top_k`` if found, below it if ranked lower.
        chunks: The chunk that contains the passage, or its parts in order if it is split.
        is_complete: Whether the chunks of a split passage contain all of it.
        stage: The last stage that had the passage, if the final ranking lacks it or has it lower.
        stage_rank: The rank of the passage in that stage.
        corpus_chunk: The chunk of the corpus that contains a passage that was not retrieved
            ("in the index as chunk X"), if the corpus is known.
    """

    passage: str
    kind: FindingKind
    rank: int | None = None
    chunks: tuple[ChunkRank, ...] = ()
    is_complete: bool = True
    stage: str = ""
    stage_rank: int | None = None
    corpus_chunk: str = ""


class CorpusTexts:
    """The texts of a corpus by chunk id, prepared once so that many passages are found quickly.

    Args:
        texts: The text of each chunk, in the order of the corpus: neighbors in it are neighbors in
            their document.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.chunk_ids: tuple[str, ...] = tuple(texts)
        self.texts: tuple[str, ...] = tuple(texts.values())
        self._chunk_ids: dict[str, str] = {}

    def find_chunk(self, passage: str) -> str:
        """Return the id of the first chunk that contains a passage, or an empty string."""
        if passage not in self._chunk_ids:
            self._chunk_ids[passage] = self._search_letters(passage)
        return self._chunk_ids[passage]

    def find_near_chunks(self, passage: str) -> list[tuple[str, str]]:
        """Return the ids and texts of the chunks that may contain parts of a passage.

        These are the chunks that have most of its words, rare words first, and the neighbors of the
        best ones.
        """
        weights: dict[int, float] = {}
        for word in dict.fromkeys(matching.get_words(passage)):
            positions = self._positions_by_word.get(word, ())
            for position in positions:
                rarity = log(1 + len(self.texts) / len(positions))
                weights[position] = weights.get(position, 0) + rarity
        best = nlargest(MAX_NEAR_CHUNKS, weights, key=weights.__getitem__)
        near = dict.fromkeys(best)
        for position in best[:MAX_CHUNKS_WITH_NEIGHBORS]:
            near.update(dict.fromkeys((position - 1, position + 1)))
        indexes = [position for position in near if 0 <= position < len(self.texts)]
        return [(self.chunk_ids[index], self.texts[index]) for index in indexes]

    def _search_letters(self, passage: str) -> str:
        letters = matching.get_letters(passage)
        offset = self._letters.find(letters)
        while 0 <= offset < len(self._letters):
            position = bisect_right(self._letter_ends, offset)
            # Letters ignore where words begin and end, so check each match.
            if matching.has_passage(self.texts[position], passage):
                return self.chunk_ids[position]
            offset = self._letters.find(letters, self._letter_ends[position])
        return ""

    @cached_property
    def _letters(self) -> str:
        """Return the letters of all chunks, each followed by a line end."""
        return "".join(f"{extract_letters(text)}\n" for text in self.texts)

    @cached_property
    def _letter_ends(self) -> list[int]:
        lengths = [len(letters) + 1 for letters in self._letters.split("\n")[:-1]]
        return list(accumulate(lengths))

    @cached_property
    def _positions_by_word(self) -> Mapping[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, text in enumerate(self.texts):
            # Much faster than normalizing, and enough to select candidates, although words that
            # normalization changes are missed.
            for word in set(re.findall(_ROUGH_WORD, text.lower())):
                positions.setdefault(word, []).append(position)
        return positions


def diagnose_passage(
    passage: str,
    ranking: matching.ChunkRanking,
    *,
    top_k: int = 10,
    stages: Mapping[str, matching.ChunkRanking] | None = None,
    corpus: CorpusTexts | None = None,
) -> PassageFinding:
    """Return what happened to a relevant passage.

    Args:
        passage: The passage.
        ranking: The final ranking (chunk ids and texts), before ``locate_passages``.
        top_k: The last rank that counts as found.
        stages: The rankings of earlier stages by name, in their order.
        corpus: The corpus, if it is known.
    """
    stages = stages or {}
    rank = _find_rank(passage, ranking)
    chunks = () if rank is None else (ChunkRank(ranking.doc_ids[rank - 1], rank),)
    if rank is not None and rank <= top_k:
        return PassageFinding(passage, FindingKind.FOUND, rank, chunks)
    stage, stage_rank = _find_stage(passage, stages)
    kind = FindingKind.NOT_RETRIEVED if rank is None else FindingKind.RANKED_LOWER
    finding = PassageFinding(passage, kind, rank, chunks, stage=stage, stage_rank=stage_rank)
    if rank is not None:
        return finding

    corpus_chunk = corpus.find_chunk(passage) if corpus else ""
    if not stage and not corpus_chunk:
        split = _find_best_split(passage, ranking, stages, corpus)
        if split.chunk_ids:
            kind, ranks = FindingKind.SPLIT, matching.find_ranks(ranking)
            parts = tuple(ChunkRank(chunk_id, ranks.get(chunk_id)) for chunk_id in split.chunk_ids)
            return PassageFinding(passage, kind, chunks=parts, is_complete=split.is_complete)
        if corpus is not None:
            return PassageFinding(passage, FindingKind.NOT_IN_CORPUS)
    return finding._replace(corpus_chunk=corpus_chunk)


def _find_rank(passage: str, ranking: matching.ChunkRanking) -> int | None:
    indexes = set(matching.find_contained_passages(ranking, [passage]))
    indexes.discard(matching.ALL_PASSAGES)  # not a hit
    return min(indexes) + 1 if indexes else None


def _find_stage(
    passage: str, stages: Mapping[str, matching.ChunkRanking]
) -> tuple[str, int | None]:
    """Return the last stage that had a passage, and its rank there."""
    for name, ranking in reversed(tuple(stages.items())):
        rank = _find_rank(passage, ranking)
        if rank is not None:
            return name, rank
    return "", None


# -- Passages that a chunker cut in parts ----------------------------------------------------------


class Split(NamedTuple):
    """The chunks that have parts of a passage, in its order.

    Attributes:
        chunk_ids: The chunks. Empty if the passage was not cut. If only one part was found, at the
            edge of its chunk, there is one.
        is_complete: Whether the chunks contain all of the passage.
    """

    chunk_ids: tuple[str, ...] = ()
    is_complete: bool = False


def _find_best_split(
    passage: str,
    ranking: matching.ChunkRanking,
    stages: Mapping[str, matching.ChunkRanking],
    corpus: CorpusTexts | None,
) -> Split:
    """Look for parts of a passage in the ranking, then in the stages, then in the corpus."""
    pools = []
    for hits in (ranking, *reversed(list(stages.values()))):
        pools.append(dict(zip(hits.doc_ids[:MAX_SPLIT_CHUNKS], hits.texts, strict=False)))
    if corpus is not None:
        pools.append(dict(corpus.find_near_chunks(passage)))
    best = Split()
    for pool in pools:
        split = find_split(passage, pool)
        if split.is_complete:
            return split
        best = best if best.chunk_ids else split
    return best


class _Part(NamedTuple):
    """Words of a passage, from ``start`` to ``end`` (not included), in one chunk.

    Attributes:
        has_start: Whether nothing before the part is missing in the chunk: the passage or the
            chunk begins with it.
        has_end: Whether the passage or the chunk ends with the part.
    """

    start: int
    end: int
    chunk_id: str
    has_start: bool
    has_end: bool


def find_split(passage: str, texts: Mapping[str, str]) -> Split:
    """Find the chunks that a passage was cut into.

    At each cut, one word may be missing. One chunk must end at the cut, and the next one must begin
    there. If both parts are long, one of the two is enough, because a chunk may begin with a
    heading.

    Args:
        passage: The passage.
        texts: The texts by chunk id.
    """
    words = matching.get_words(passage)
    if len(words) < 2:
        return Split()
    parts = _list_parts(words, texts)
    chunk_ids = _cover_passage(len(words), parts)
    if chunk_ids:
        return Split(chunk_ids, is_complete=True)
    min_words = max(2, ceil(MIN_LONE_FRACTION * len(words)))
    for part in parts:
        is_outer = part.start == 0 or part.end == len(words)
        is_cut = part.has_start and part.has_end
        if is_outer and is_cut and part.end - part.start >= min_words:
            return Split((part.chunk_id,))
    return Split()


def _list_parts(words: Sequence[str], texts: Mapping[str, str]) -> list[_Part]:
    """List the beginnings and ends of a passage in chunks, and the chunks that are inside it."""
    parts: list[_Part] = []
    count = len(words)
    reversed_words = words[::-1]
    table = matching.compute_prefix_table(words)
    reversed_table = matching.compute_prefix_table(reversed_words)
    passage_line = NormalizedText(tuple(words)).line
    for chunk_id, text in texts.items():
        chunk = normalize_text(text)
        for length, is_cut in _find_beginnings(words, chunk.words, table):
            parts.append(_Part(0, length, chunk_id, has_start=True, has_end=is_cut))
        for length, is_cut in _find_beginnings(reversed_words, chunk.words[::-1], reversed_table):
            parts.append(_Part(count - length, count, chunk_id, has_start=is_cut, has_end=True))
        offset = passage_line.find(chunk.line) if chunk.words else -1
        if offset >= 0:
            start = passage_line.count("\n", 0, offset)
            end = start + len(chunk.words)
            parts.append(_Part(start, end, chunk_id, has_start=True, has_end=True))
    return parts


def _find_beginnings(
    words: Sequence[str], chunk: Sequence[str], table: Sequence[int]
) -> list[tuple[int, bool]]:
    """Find the longest beginning of a passage at the end of a chunk, and the longest anywhere.

    Returns:
        The length of each, and whether it is at the end, so that the passage was cut there.
    """
    lengths = list(matching.match_prefixes(words, chunk, table)) or [0]
    # A few words may follow at the end, but a short part must be directly there.
    length_at_end = max(lengths[-MAX_WORDS_AT_EDGE - 1 :])
    if length_at_end < MIN_PART_WORDS:
        length_at_end = lengths[-1]
    beginnings = [(length_at_end, True)] if length_at_end else []
    longest = max(lengths)
    if longest >= MIN_PART_WORDS and longest != length_at_end:
        beginnings.append((longest, False))
    return beginnings


def _cover_passage(word_count: int, parts: Sequence[_Part]) -> tuple[str, ...]:
    """Choose parts that make up a passage. Return their chunks, or nothing if words are missing."""
    chain: list[_Part] = []
    end = 0
    while end < word_count:
        candidates = [part for part in parts if part.end > end and _can_follow(chain, part)]
        if not candidates:
            return ()
        # A part at the edge of its chunk is hardly a coincidence, so prefer it to a longer one.
        best = max(candidates, key=lambda part: (part.has_start, part.has_end, part.end))
        chain.append(best)
        end = best.end
    return tuple(part.chunk_id for part in chain) if len(chain) > 1 else ()


def _can_follow(chain: Sequence[_Part], part: _Part) -> bool:
    """Return whether a part can follow the chosen parts."""
    if not chain:
        return part.start == 0
    last = chain[-1]
    if part.start > last.end + 1 or any(part.chunk_id == known.chunk_id for known in chain):
        return False
    cuts = (last.has_end, part.has_start)
    are_long = min(last.end - last.start, part.end - part.start) >= MIN_PART_WORDS
    return all(cuts) or (any(cuts) and are_long)
