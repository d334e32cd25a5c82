"""Where documents are and where they went, in the same words everywhere. What is not there is "not
returned".
"""

from __future__ import annotations

from typing import Protocol

NOT_RETURNED = "not returned"
LEFT_INDEX = "left the index"


class Moved(Protocol):
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

    @property
    def gone(self) -> bool:
        """Whether the retriever says that it left the index."""


class Held(Protocol):
    """What may be in some of a query's answers."""

    @property
    def in_answers(self) -> int | None:
        """How many answers hold it; None where there is one."""


class Answered(Protocol):
    """A query with one answer or several."""

    @property
    def answers(self) -> int:
        """How many there are."""


def in_answers(document: Held, query: Answered) -> str:
    """How often a document was returned, where that is not always: ``in 2 of 3 answers``."""
    if document.in_answers is None or document.in_answers in (0, query.answers):
        return ""
    return f"in {document.in_answers} of {query.answers} answers"


def name(document: Moved) -> str:
    """A document's id with its title, where one is known: ``sku-601 (Office chair)``."""
    if not document.title or document.title == document.id:
        return document.id
    return f"{document.id} ({document.title})"


def rank(document: Moved) -> str:
    """A document's rank, or that there is none."""
    if document.rank is not None:
        return str(document.rank)
    return LEFT_INDEX if document.gone else NOT_RETURNED


def place(document: Moved) -> str:
    """Where a document is: ``at rank 3``."""
    return rank(document) if document.rank is None else f"at rank {document.rank}"


def seen(document: Moved) -> str:
    """Where a document is, as the end of a sentence: ``it is at rank 3``."""
    if document.rank is not None:
        return f"it is at rank {document.rank}"
    return f"it {LEFT_INDEX}" if document.gone else f"it was {NOT_RETURNED}"


def move(document: Moved) -> str:
    """Where a document was and is: ``sku-601 (Office chair) 1 → not returned``."""
    before = NOT_RETURNED if document.before is None else document.before
    return f"{name(document)} {before} → {rank(document)}"
