"""Passages: finding the words of a text in results, whatever their form, and why one is missing."""

from pytest_irquality.passages.diagnosis import (
    ChunkRank as ChunkRank,
    CorpusTexts as CorpusTexts,
    FindingKind as FindingKind,
    PassageFinding as PassageFinding,
    diagnose_passage as diagnose_passage,
)
from pytest_irquality.passages.location import (
    ALL_PASSAGES as ALL_PASSAGES,
    find_contained_passages as find_contained_passages,
    find_ranks as find_ranks,
    has_shared_hits as has_shared_hits,
    list_unknown_passages as list_unknown_passages,
    locate_passages as locate_passages,
    score_passages as score_passages,
)
from pytest_irquality.passages.matching import (
    PassageMatch as PassageMatch,
    check_passage as check_passage,
    find_passage as find_passage,
)
from pytest_irquality.passages.normalization import (
    NormalizedText as NormalizedText,
    normalize_text as normalize_text,
)
