"""Where documents are and where they went, in the same words everywhere. What is not there is "not
returned".
"""

from __future__ import annotations

from typing import Protocol

NOT_RETURNED = "not returned"
LEFT_INDEX = "left the index"


class Document(Protocol):
    """What a move is told of: facts' and results' documents alike."""

    @property
    def id(self) -> str:
        """The document's id."""

    @property
    def title(self) -> str | None:
        """Its title, where one is known."""

    @property
    def rank(self) -> int | None:
        """Its rank today, None where it was not returned."""

    @property
    def before(self) -> int | None:
        """Its rank in the baseline."""


def name(document: Document) -> str:
    """A document's id with its title, where one is known: ``sku-601 (Office chair)``."""
    if not document.title or document.title == document.id:
        return document.id
    return f"{document.id} ({document.title})"


def rank(rank: int | None) -> str:
    """A rank, or that there is none."""
    return NOT_RETURNED if rank is None else str(rank)


def place(rank: int | None) -> str:
    """Where a document is: ``at rank 3``."""
    return NOT_RETURNED if rank is None else f"at rank {rank}"


def seen(rank: int | None) -> str:
    """Where a document is, as the end of a sentence: ``it is at rank 3``."""
    return "it was not returned" if rank is None else f"it is at rank {rank}"


def move(document: Document) -> str:
    """Where a document was and is: ``sku-601 (Office chair) 1 → not returned``."""
    return f"{name(document)} {rank(document.before)} → {rank(document.rank)}"
