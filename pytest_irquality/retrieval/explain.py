"""Words of a retriever on single documents: ``exists(doc_id)`` and ``explain(query, doc_id)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_irquality.edges.printable import clipped
from pytest_irquality.retrieval.jobs import is_fault

MOST_LOOKED_UP = 1000
"""Documents that are looked up where failures miss them."""
LONGEST = 300


class ExistsError(Exception):
    """The retriever's own ``exists`` does not answer as it should."""


def no_longer_there(retriever: object, documents: Sequence[str]) -> tuple[bool, list[str]]:
    """The documents that the retriever no longer has, and before them True if all were looked up.

    A document of which it fails to say anything is there.
    """
    gone: list[str] = []
    if (exists := _method(retriever, "exists")) is None:
        return True, gone
    for document in documents[:MOST_LOOKED_UP]:
        with suppress(ExistsError):
            if not _is_there(exists, document):
                gone.append(document)
    return len(documents) <= MOST_LOOKED_UP, gone


def existing(retriever: object, documents: Sequence[str]) -> Mapping[str, bool] | None:
    """True or False for each document, asked for all of them; None where the retriever cannot tell.

    Raises ``ExistsError``.
    """
    if (exists := _method(retriever, "exists")) is None:
        return None
    return {document: _is_there(exists, document) for document in documents}


def explanation(retriever: object, query: str, document: str) -> str:
    """The reason why a document is where it is, in the retriever's own words; "" without any.

    A method of that name that takes other things, as clients of engines have, is not meant.
    """
    if (explain := _method(retriever, "explain")) is None:
        return ""
    try:
        inspect.signature(explain).bind(query, document)
        answer = _answer(explain, query, document)
    except (TypeError, ValueError):
        return ""
    except ExistsError as error:
        answer = str(error)
    return clipped(" ".join(_words(answer).split()), LONGEST)


def _is_there(exists: Callable[..., Any], document: str) -> bool:
    answer = _answer(exists, document)
    try:
        return bool(answer)
    except Exception as error:  # an array has no truth
        raise ExistsError(f"exists gave {type(answer).__name__}: {error}") from error


def _words(answer: object) -> str:
    """Text of what a retriever answered, whatever it is."""
    try:
        return "" if answer is None else str(answer)
    except Exception:  # a repr that raises
        return f"explain gave {type(answer).__name__}"


def _answer(method: Callable[..., Any], *asked: object) -> Any:
    name = getattr(method, "__name__", "it")
    try:
        answer = method(*asked)
    except BaseException as error:  # a skip of pytest's would skip the failures themselves
        if not is_fault(error):
            raise
        raise ExistsError(f"{name} raised {type(error).__name__}: {error}") from error
    if inspect.iscoroutine(answer):
        answer.close()
        raise ExistsError(f"{name} is async, and cannot be asked here")
    return answer


def _method(retriever: object, name: str) -> Callable[..., Any] | None:
    method = getattr(retriever, name, None)
    return method if callable(method) else None
