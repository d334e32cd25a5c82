"""What several answers to a query rank in the middle: what a person is shown in place of one of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def median_rank(ranks: Sequence[int | None]) -> int | None:
    """The middle rank, the better of two; a document that was not returned ranks last."""
    ordered = sorted(ranks, key=lambda rank: (rank is None, rank or 0))
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def median_ranks(answers: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Every document by its middle rank, best first; those that fewer than half of the answers hold
    have none.
    """
    found: dict[str, int] = {}
    for document in counted_in(answers):
        rank = median_rank([ranks.get(document) for ranks in answers])
        if rank is not None:
            found[document] = rank
    return dict(sorted(found.items(), key=lambda item: item[1]))


def counted_in(answers: Iterable[Iterable[str]]) -> dict[str, int]:
    """How many of the answers hold each document."""
    often: dict[str, int] = {}
    for documents in answers:
        for document in documents:
            often[document] = often.get(document, 0) + 1
    return often
