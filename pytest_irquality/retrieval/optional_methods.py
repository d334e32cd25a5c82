"""Methods that a retriever may have: ``stages``, ``exists``, ``tokens``, and its ``version``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any

from pytest_irquality.io.fields import is_mapping
from pytest_irquality.passages.normalization import normalize_text
from pytest_irquality.retrieval.calling import NO_EXCEPTIONS, ExceptionPolicy
from pytest_irquality.retrieval.errors import ResultError, RetrieverError
from pytest_irquality.retrieval.results import Answer
from pytest_irquality.retrieval.wrappers import describe_result

MAX_EXISTS_CALLS = 1000
MAX_CACHED_SIZES = 2**16


def ask_exists(
    retriever: object, doc_ids: Iterable[str], exceptions: ExceptionPolicy = NO_EXCEPTIONS
) -> frozenset[str]:
    """Return the documents that the index lacks, as ``exists(doc_id)`` of the retriever says.

    A document counts as present if the retriever has no such method or cannot tell. At most
    ``MAX_EXISTS_CALLS`` documents are looked up, in the given order.

    Args:
        retriever: The value of the retriever fixture. ``exists`` may be async.
        doc_ids: The documents to look up.
        exceptions: Which exceptions are not errors of a call.
    """
    exists = getattr(retriever, "exists", None)
    if not callable(exists):
        return frozenset()
    missing = []
    awaitables: dict[str, Any] = {}
    for doc_id in islice(dict.fromkeys(doc_ids), MAX_EXISTS_CALLS):
        try:
            answer = exists(doc_id)
            if inspect.isawaitable(answer):
                awaitables[doc_id] = answer
            elif not answer:
                missing.append(doc_id)
        except BaseException as error:  # pytest.skip() must not skip the item that reports this
            if not exceptions.is_query_error(error):
                raise
    if awaitables:
        from pytest_irquality.retrieval.loop import run_awaitable  # imports asyncio

        missing += run_awaitable(_await_exists(awaitables))
    return frozenset(missing)


async def _await_exists(awaitables: Mapping[str, Any]) -> list[str]:
    missing = []
    for doc_id, awaitable in awaitables.items():
        with suppress(Exception):
            if not await awaitable:
                missing.append(doc_id)
    return missing


def has_stages(retriever: object) -> bool:
    """Return whether the retriever has a method ``stages(query, k)``."""
    return callable(getattr(retriever, "stages", None))


def read_stages(
    result: object, read: Callable[[object], Answer], needed: Collection[str]
) -> dict[str, Answer | Exception]:
    """Read what ``stages`` returned: a mapping of stages, first to last, to their results.

    Args:
        result: What the call returned.
        read: Reads the result of a stage.
        needed: The stages that metrics use.

    Returns:
        An answer, or why there is none, by the name of each stage.

    Raises:
        ResultError: The result is not a mapping.
    """
    if not is_mapping(result):
        raise ResultError("stages(query, k) must return a mapping", describe_result(result))
    answers: dict[str, Answer | Exception] = {}
    for key in list(result):  # type: ignore[call-overload]
        name = str(key)
        try:
            answers[name] = read(result[key])  # type: ignore[index]
        except Exception as error:  # a stage that cannot be read does not spoil the others
            answers[name] = error
    for name in sorted(set(needed) - answers.keys()):
        known = ", ".join(answers) or "none"
        answers[name] = ResultError(f"There is no stage '{name}'. The retriever's stages: {known}")
    return answers


def make_size_counters(
    retriever: object, units: Collection[str]
) -> dict[str, Callable[[str], float]]:
    """Return the functions that measure how long a text is, by unit.

    Args:
        retriever: Its method ``tokens(text)`` returns a number, or a list of tokens.
        units: The units that metrics use: ``words`` and ``tokens``.

    Raises:
        RetrieverError: Tokens are needed, and the retriever cannot count them.
    """
    counters: dict[str, Callable[[str], float]] = {}
    if "words" in units:
        counters["words"] = lru_cache(MAX_CACHED_SIZES)(
            lambda text: float(len(normalize_text(text).words))
        )
    if "tokens" in units:
        tokens = getattr(retriever, "tokens", None)
        if not callable(tokens):
            raise RetrieverError("A metric of tokens needs a method tokens(text) of the retriever")
        counters["tokens"] = lru_cache(MAX_CACHED_SIZES)(lambda text: _count(tokens(text)))
    return counters


def _count(tokens: Any) -> float:
    return float(tokens if isinstance(tokens, (int, float)) else len(tokens))


def read_version(retriever: object) -> str:
    """Return what the retriever says about its own version, or an empty string."""
    version = getattr(retriever, "version", None)
    return str(version) if isinstance(version, (str, int, float)) else ""
