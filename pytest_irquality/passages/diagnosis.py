"""Why a relevant passage is missing from a ranking. Nothing of this is ever credited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pytest_irquality.passages.location import ChunkRanking


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


@dataclass(frozen=True)
class PassageFinding:
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
    """The texts of a corpus by chunk id, prepared once so that many passages are found quickly."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def find_chunk(self, passage: str) -> str | None:
        """Return the id of the first chunk that contains a passage, or ``None``."""
        raise NotImplementedError


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
    raise NotImplementedError
