"""Why a relevant passage is missing from a ranking. Nothing of this is ever credited."""

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

from pytest_irquality.passages.matching import (
    ALL_PASSAGES,
    ChunkRanking,
    compute_borders,
    find_contained_passages,
    get_letters,
    get_words,
    has_passage,
    match_prefixes,
)
from pytest_irquality.passages.normalization import NormalizedText, extract_letters, normalize_text

# Words between a part and the edge of its chunk: half a word and an ellipsis.
MAX_WORDS_AT_EDGE = 2
# A shorter part is a coincidence unless it is directly at the edge.
MIN_PART_WORDS = 3
# One part alone shows a split if it has at least this fraction of the passage.
MIN_LONE_FRACTION = 1 / 3
# Chunks of the corpus that are compared with a passage that no chunk contains.
MAX_NEAR_CHUNKS = 50
# The first chunks of a ranking in which the parts of a passage are looked for. The time grows with
# the square of their number.
MAX_SPLIT_CHUNKS = 200
_WORD_AT_A_GLANCE = r"[\u2e80-\ua4cf\uf900-\ufaff]|\w+"


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
        rank: The rank of the passage: within ``top_k`` if found, below it if ranked lower (a metric
            at that rank needs ``depth``).
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
        self._found: dict[str, str | None] = {}

    def find_chunk(self, passage: str) -> str | None:
        """Return the id of the first chunk that contains a passage, or ``None``."""
        if passage not in self._found:
            self._found[passage] = self._find_chunk(passage)
        return self._found[passage]

    def find_near_chunks(self, passage: str) -> list[tuple[str, str]]:
        """Return the ids and texts of the chunks that may contain parts of a passage.

        These are the chunks that have most of its words, rare words first, and the neighbors of the
        best ones.
        """
        weights: dict[int, float] = {}
        for word in dict.fromkeys(get_words(passage)):
            positions = self._positions_by_word.get(word, ())
            for position in positions:
                rarity = log(1 + len(self.texts) / len(positions))
                weights[position] = weights.get(position, 0) + rarity
        best = nlargest(MAX_NEAR_CHUNKS, weights, key=weights.__getitem__)
        neighbors = [position + step for position in best[:3] for step in (-1, 1)]
        near = dict.fromkeys([*best, *neighbors])
        count = len(self.texts)
        return [(self.chunk_ids[at], self.texts[at]) for at in near if 0 <= at < count]

    def _find_chunk(self, passage: str) -> str | None:
        letters = get_letters(passage)
        at = self._letters.find(letters)
        while 0 <= at < len(self._letters):
            position = bisect_right(self._letter_ends, at)
            if has_passage(self.texts[position], passage):
                return self.chunk_ids[position]
            at = self._letters.find(letters, self._letter_ends[position])
        return None

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
            # A glance at the words is enough here, and much faster than normalized words.
            for word in set(re.findall(_WORD_AT_A_GLANCE, text.lower())):
                positions.setdefault(word, []).append(position)
        return positions


def diagnose_passage(
    passage: str,
    ranking: ChunkRanking,
    *,
    top_k: int = 10,
    stages: Mapping[str, ChunkRanking] | None = None,
    corpus: CorpusTexts | None = None,
) -> PassageFinding:
    """Say what happened to a relevant passage.

    Args:
        passage: The passage.
        ranking: The final ranking as the retriever returned it (chunk ids and texts), not located.
        top_k: The last rank that counts as found.
        stages: The rankings of earlier stages by name, in their order.
        corpus: The corpus, if it is known.
    """
    rank = _find_rank(passage, ranking)
    chunks = () if rank is None else (ChunkRank(ranking.doc_ids[rank - 1], rank),)
    if rank is not None and rank <= top_k:
        return PassageFinding(passage, FindingKind.FOUND, rank, chunks)
    stage, stage_rank = _find_stage(passage, stages or {})
    if rank is not None:
        kind = FindingKind.RANKED_LOWER
        return PassageFinding(passage, kind, rank, chunks, stage=stage, stage_rank=stage_rank)

    corpus_chunk = corpus.find_chunk(passage) if corpus else None
    if not stage and corpus_chunk is None:
        parts, is_complete = _find_parts(passage, ranking, stages or {}, corpus)
        if parts:
            return PassageFinding(passage, FindingKind.SPLIT, chunks=parts, is_complete=is_complete)
        if corpus is not None:
            return PassageFinding(passage, FindingKind.NOT_IN_CORPUS)
    finding = PassageFinding(passage, FindingKind.NOT_RETRIEVED, stage=stage, stage_rank=stage_rank)
    return finding._replace(corpus_chunk=corpus_chunk or "")


def _find_rank(passage: str, ranking: ChunkRanking) -> int | None:
    indexes = find_contained_passages(ranking, [passage]).keys() - {ALL_PASSAGES}
    return min(indexes) + 1 if indexes else None


def _find_stage(passage: str, stages: Mapping[str, ChunkRanking]) -> tuple[str, int | None]:
    """Return the last stage that had a passage, and its rank there."""
    for name, ranking in reversed(tuple(stages.items())):
        rank = _find_rank(passage, ranking)
        if rank is not None:
            return name, rank
    return "", None


# -- Passages that a chunker cut in parts ----------------------------------------------------------


def _find_parts(
    passage: str,
    ranking: ChunkRanking,
    stages: Mapping[str, ChunkRanking],
    corpus: CorpusTexts | None,
) -> tuple[tuple[ChunkRank, ...], bool]:
    """Return the chunks that have the parts of a passage, and whether they have all of it."""
    ranks = {doc_id: rank for rank, doc_id in reversed(list(enumerate(ranking.doc_ids, start=1)))}
    pools = []
    for hits in (ranking, *reversed(list(stages.values()))):
        pools.append(dict(zip(hits.doc_ids[:MAX_SPLIT_CHUNKS], hits.texts, strict=False)))
    if corpus is not None:
        pools.append(dict(corpus.find_near_chunks(passage)))
    chunk_ids: tuple[str, ...] = ()
    is_complete = False
    for pool in pools:
        found, is_complete = find_split(passage, pool)
        if is_complete:
            chunk_ids = found
            break
        chunk_ids = chunk_ids or found
    return tuple(ChunkRank(chunk_id, ranks.get(chunk_id)) for chunk_id in chunk_ids), is_complete


class _Part(NamedTuple):
    """Words of a passage, from ``start`` to ``end`` (not included), in one chunk.

    Attributes:
        is_cut_before: Whether the chunk begins with the part, so it was cut there.
        is_cut_after: Whether the chunk ends with the part.
    """

    start: int
    end: int
    chunk_id: str
    is_cut_before: bool = True
    is_cut_after: bool = True

    @property
    def is_long(self) -> bool:
        return self.end - self.start >= MIN_PART_WORDS


def find_split(passage: str, texts: Mapping[str, str]) -> tuple[tuple[str, ...], bool]:
    """Find the chunks that a passage was cut into.

    All words must be there except one at each cut. A chunk has to end where the passage was cut,
    and the next one has to begin there. Of two long parts one such chunk is enough, because chunks
    may begin with a heading.

    Args:
        passage: The passage.
        texts: The texts by chunk id.

    Returns:
        The chunk ids in the order of the passage, and whether they have all of it. If only one
        part was found, at the edge of its chunk, the other one was not returned. Nothing if the
        passage was not cut.
    """
    words = get_words(passage)
    if len(words) < 2:
        return (), False
    parts = _list_parts(words, texts)
    split = _join_parts(len(words), parts)
    if split:
        return split, True
    min_words = max(2, ceil(MIN_LONE_FRACTION * len(words)))
    for part in parts:
        is_outer = part.start == 0 or part.end == len(words)
        is_cut = part.is_cut_before and part.is_cut_after
        if is_outer and is_cut and part.end - part.start >= min_words:
            return (part.chunk_id,), False
    return (), False


def _list_parts(words: Sequence[str], texts: Mapping[str, str]) -> list[_Part]:
    """List the beginnings and ends of a passage in chunks, and the chunks that are inside it."""
    parts: list[_Part] = []
    count = len(words)
    backwards = words[::-1]
    borders, borders_backwards = compute_borders(words), compute_borders(backwards)
    passage_line = NormalizedText(tuple(words)).line
    for chunk_id, text in texts.items():
        chunk = normalize_text(text)
        for length, is_cut in _find_edge_parts(words, chunk.words, borders):
            parts.append(_Part(0, length, chunk_id, is_cut_after=is_cut))
        for length, is_cut in _find_edge_parts(backwards, chunk.words[::-1], borders_backwards):
            parts.append(_Part(count - length, count, chunk_id, is_cut_before=is_cut))
        at = passage_line.find(chunk.line) if chunk.words else -1
        if at >= 0:
            start = passage_line.count("\n", 0, at)
            parts.append(_Part(start, start + len(chunk.words), chunk_id))
    return parts


def _find_edge_parts(
    words: Sequence[str], chunk: Sequence[str], borders: Sequence[int]
) -> list[tuple[int, bool]]:
    """Find the longest beginning of a passage at the end of a chunk, and the longest anywhere.

    Returns:
        The lengths, and whether the chunk ends there, so that it was cut.
    """
    lengths = list(match_prefixes(words, chunk, borders)) or [0]
    at_end = max(lengths[-MAX_WORDS_AT_EDGE - 1 :])
    if at_end < MIN_PART_WORDS:
        at_end = lengths[-1]
    found = [(at_end, True)] if at_end else []
    longest = max(lengths)
    if longest >= MIN_PART_WORDS and longest != at_end:
        found.append((longest, False))
    return found


def _join_parts(word_count: int, parts: Sequence[_Part]) -> tuple[str, ...]:
    """Join parts to all words of a passage. Return their chunks, or nothing if some are missing."""
    chain: list[_Part] = []
    end = 0
    while end < word_count:
        candidates = [part for part in parts if part.end > end and _continues(chain, part)]
        if not candidates:
            return ()
        # A part at the edge of its chunk is no coincidence, so it goes before a longer one.
        best = max(candidates, key=lambda part: (part.is_cut_before, part.is_cut_after, part.end))
        chain.append(best)
        end = best.end
    return tuple(part.chunk_id for part in chain) if len(chain) > 1 else ()


def _continues(chain: Sequence[_Part], part: _Part) -> bool:
    """Return whether a part can follow the parts so far."""
    if not chain:
        return part.start == 0
    last = chain[-1]
    if part.start > last.end + 1 or any(part.chunk_id == known.chunk_id for known in chain):
        return False
    cuts = (last.is_cut_after, part.is_cut_before)
    return all(cuts) or (any(cuts) and last.is_long and part.is_long)
