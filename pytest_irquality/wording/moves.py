"""Places and moves of documents, in the same words everywhere.

A document that is not there is "not returned".
"""

from __future__ import annotations

from pytest_irquality.verdict.result import QueryResult, ShownDocument
from pytest_irquality.wording.losses import Document, in_brackets

MOVES = 2
"""How many documents of a query are named."""
NOT_RETURNED = "not returned"
LEFT_INDEX = "left the index"


def in_answers(document: ShownDocument, query: QueryResult) -> str:
    """The number of answers that hold a document, if not all: ``in 2 of 3 answers``."""
    if document.in_answers is None or document.in_answers in (0, query.answers):
        return ""
    return f"in {document.in_answers} of {query.answers} answers"


def name(document: Document) -> str:
    """A document's title, where one is known, with its id: ``Office chair (sku-601)``."""
    if not document.title or document.title == document.id:
        return document.id
    return f"{document.title} ({document.id})"


def rank(document: Document) -> str:
    """A document's rank, or that there is none."""
    if document.rank is not None:
        return str(document.rank)
    return LEFT_INDEX if document.gone else NOT_RETURNED


def place(document: Document) -> str:
    """The place of a document: ``at rank 3``."""
    return rank(document) if document.rank is None else f"at rank {document.rank}"


def seen(document: Document) -> str:
    """The place of a document, as the end of a sentence: ``it is at rank 3``."""
    if document.rank is not None:
        return f"it is at rank {document.rank}"
    return f"it {LEFT_INDEX}" if document.gone else f"it was {NOT_RETURNED}"


def move(document: Document) -> str:
    """The move of a document: ``Office chair (sku-601) 1 → not returned``."""
    before = NOT_RETURNED if document.before is None else document.before
    return f"{name(document)} {before} → {rank(document)}"


def moves(query: QueryResult, *, titled: bool = True) -> str:
    """The relevant documents that sank, those that are not returned first.

    Where no relevant one is left, what stands on top now: ``now first: Desk lamp (sku-9); …``.
    """
    sunk = _sunk(query)
    named = [
        f"{move(document if titled else document._replace(title=None))}{in_brackets(document)}"
        for document in sunk[:MOVES]
    ]
    said = ", ".join(named) + (" …" if len(sunk) > MOVES else "")
    if not sunk or not query.ranking or any(document.relevant for document in query.ranking):
        return said
    top = query.ranking[0]
    return f"now first: {name(top) if titled else top.id}; {said}"


def _sunk(query: QueryResult) -> list[ShownDocument]:
    """The relevant documents that stand lower than before, those that are not returned first."""
    documents = {d.id: d for d in (*query.ranking_before, *query.missing, *query.ranking)}
    sunk = [document for document in documents.values() if document.relevant and _sank(document)]
    return sorted(sunk, key=lambda document: (document.rank is not None, document.before or 0))


def shortcomings(query: QueryResult, *, titled: bool = True) -> str:
    """The first relevant document, if it is not on top, and those that are not returned."""
    first = next((document for document in query.ranking if document.relevant), None)
    low = [first] if first and first.rank != 1 else []
    low += [document for document in query.missing if document.relevant]
    named = [
        f"{name(document) if titled else document.id} {place(document)}" for document in low[:MOVES]
    ]
    return ", ".join(named) + (" …" if len(low) > MOVES else "")


def left_the_top(query: QueryResult) -> str:
    """The move of what stood on top before; "" where it still does."""
    first = next(iter(query.ranking_before), None)
    return move(first) if first and first.rank != 1 else ""


def _sank(document: ShownDocument) -> bool:
    if document.before is None:
        return False
    return document.rank is None or document.rank > document.before
