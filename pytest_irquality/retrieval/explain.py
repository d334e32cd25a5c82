"""Documents that exist, as a retriever tells by ``exists(doc_id)`` or ``exists_all(doc_ids)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

BATCH = 1000
MOST_LOOKED_UP = 1000
"""Documents that ``exists`` is asked for one by one; ``exists_all`` is asked for every one."""


class ExistsError(Exception):
    """The retriever's own ``exists`` or ``exists_all`` does not answer as it should."""


def tells_of_documents(retriever: object) -> bool:
    """Tell whether a retriever says which documents exist."""
    return any(_method(retriever, name) for name in ("exists", "exists_all"))


def no_longer_there(retriever: object, documents: Sequence[str]) -> tuple[bool, list[str]]:
    """The documents that the retriever no longer has, and before them True if all were looked up.

    A document of which it fails to say anything is there.
    """
    if _method(retriever, "exists_all") is not None:
        batches = [documents]
    else:
        batches = [[document] for document in documents[:MOST_LOOKED_UP]]
    gone: list[str] = []
    for batch in batches:
        try:
            there = existing(retriever, batch) or {}
        except ExistsError:
            continue
        gone += [document for document, is_there in there.items() if not is_there]
    return sum(map(len, batches)) == len(documents), gone


def existing(retriever: object, documents: Sequence[str]) -> Mapping[str, bool] | None:
    """True or False for each document, asked for all of them; None where the retriever cannot tell.

    Raises ``ExistsError``.
    """
    at_once, one = _method(retriever, "exists_all"), _method(retriever, "exists")
    if at_once is not None:
        found: dict[str, bool] = {}
        for start in range(0, len(documents), BATCH):
            found.update(_all(at_once, documents[start : start + BATCH]))
        return found
    if one is not None:
        return {document: bool(_answer(one, document)) for document in documents}
    return None


def _all(method: Callable[..., Any], documents: Sequence[str]) -> Mapping[str, bool]:
    """The answer of ``exists_all`` for each document.

    It is a mapping, a set of those that exist, or a bool each in order.
    """
    answer = _answer(method, list(documents))
    if isinstance(answer, Mapping):
        return {document: bool(answer.get(document)) for document in documents}
    if isinstance(answer, (set, frozenset)):
        return {document: document in answer for document in documents}
    if isinstance(answer, (list, tuple)) and len(answer) == len(documents):
        return dict(zip(documents, map(bool, answer), strict=True))
    raise ExistsError(
        f"exists_all must give a bool for each id, a mapping, or the set of those that exist, not"
        f" {type(answer).__name__}"
    )


def _answer(method: Callable[..., Any], asked: object) -> Any:
    name = getattr(method, "__name__", "exists")
    try:
        answer = method(asked)
    except Exception as error:
        raise ExistsError(f"{name} raised {type(error).__name__}: {error}") from error
    if inspect.iscoroutine(answer):
        answer.close()
        raise ExistsError(f"{name} is async, and cannot be asked by --ir-audit")
    return answer


def _method(retriever: object, name: str) -> Callable[..., Any] | None:
    method = getattr(retriever, name, None)
    return method if callable(method) else None
