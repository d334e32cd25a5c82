"""Rankings in terms of passages instead of chunks, and how their metrics are computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from pytest_irquality.metrics import Judgments, Metric


class ChunkRanking(Protocol):
    """What this module needs of a ranking (``retrieval.run.Ranking``)."""

    @property
    def doc_ids(self) -> tuple[str, ...]: ...
    @property
    def texts(self) -> tuple[str, ...]: ...
    @property
    def passages(self) -> Mapping[int, tuple[str, ...]]: ...


RankingT = TypeVar("RankingT", bound=ChunkRanking)


def locate_passages(ranking: RankingT, passages: Mapping[str, float] | Iterable[str]) -> RankingT:
    """Return a ranking in which hits that contain passages are named after them.

    A passage is found at the rank of the first hit that contains it. That hit is named after the
    passage; if it is the first to contain several passages, it is named after the one with the
    highest grade, and ``passages`` of the returned ranking lists all of them by the index of the
    hit. Further hits with the same passage keep their chunk ids, so a passage counts once. Ranks
    never change. ``score_passages`` computes metrics by this convention.

    Args:
        ranking: The ranking of chunks, with ``texts``, or with stored ``passages``.
        passages: The passages to look for, with their grades if they have some.
    """
    raise NotImplementedError


def list_unknown_passages(ranking: ChunkRanking, passages: Iterable[str]) -> tuple[str, ...]:
    """Return the passages of which a ranking cannot say whether its hits contain them.

    A stored ranking without texts knows only the passages that the suite had when it was stored.
    A query whose relevant passages are unknown has no usable baseline answer.
    """
    raise NotImplementedError


def has_shared_hits(ranking: ChunkRanking) -> bool:
    """Return whether a hit of a located ranking contains several passages."""
    raise NotImplementedError


def score_passages(
    metrics: Sequence[Metric],
    judgments: Judgments,
    ranking: ChunkRanking,
    *,
    undefined: str = "skip",
) -> list[float | None]:
    """Score one located ranking, in which hits may contain several passages.

    A hit has one gain, that of its best passage, and the ideal ranking leaves the other passages of
    the hit out, so joining two chunks never costs. Recall counts every passage that is found within
    the cutoff. If no hit is shared, the values are those of ``score_rankings``.

    Returns:
        One value for each metric.
    """
    raise NotImplementedError
