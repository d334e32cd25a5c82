"""Methods that a retriever may have: ``exists``, ``stages``, ``tokens``, and its ``version``."""

from __future__ import annotations

from collections.abc import Iterable

MAX_EXISTS_CALLS = 1000


def ask_exists(retriever: object, doc_ids: Iterable[str]) -> frozenset[str]:
    """Return the documents that the index lacks, as ``exists(doc_id)`` of the retriever says.

    A document counts as present if the retriever has no such method or cannot tell. At most
    ``MAX_EXISTS_CALLS`` documents are looked up, in the given order.
    """
    raise NotImplementedError


def has_stages(retriever: object) -> bool:
    """Return whether the retriever has a method ``stages(query, k)``."""
    return callable(getattr(retriever, "stages", None))


def read_version(retriever: object) -> str:
    """Return what the retriever says about its own version, or an empty string."""
    raise NotImplementedError
