"""The call of a retriever, settled once, before the first query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from typing import Any

from pytest_irquality.edges.printable import clipped
from pytest_irquality.suite.model import Place

AWAITED_BY = (
    "pytest needs pytest-asyncio (whose strict mode, the default, needs @pytest_asyncio.fixture)"
    " or anyio (the mark 'anyio' and its backend 'asyncio') to run such fixtures"
)
SHORT_CUTOFFS = ("k", "n")
"""Names that mean the cutoff where no parameter has one of the others."""
CLEAR_CUTOFFS = (
    "top_k", "limit", "size", "num_results", "topk", "top_n", "n_results", "max_results",
    "max_num_results", "num_hits", "similarity_top_k",
)  # fmt: skip
CUTOFF_NAMES = ("k", "top_k", "limit", "size", "n", "num_results")
METHODS = ("similarity_search", "search", "retrieve", "invoke", "ainvoke", "run", "query")

Call = Callable[[Any, int, Mapping[str, Any]], Any]


class RetrieverError(Exception):
    """A value of the fixture that cannot be asked a query.

    ``place``: of the params it cannot be called with.
    """

    place: Place | None = None


def takes_batches(retriever: object) -> bool:
    """Tell whether to ask a retriever all queries at once, by its ``batch(queries, k)``.

    A ``batch`` whose first parameter is called ``queries`` is how an object wants to be asked. Any
    other, like that of a LangChain Runnable, is used only where nothing takes a single query.
    """
    function = getattr(retriever, "batch", None)
    if inspect.isclass(retriever) or not callable(function):
        return False
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        first = None
    return first == "queries" or _single(retriever) is None


def how_to_call(retriever: object, params: Mapping[str, Any]) -> Call:
    """Make a function ``(query, k, params)`` of whatever the fixture gave.

    That is a callable ``(query)`` or ``(query, k)``, or an object with such a method. For a
    retriever that takes batches it is ``(queries, k, params)``. What it returns is awaitable where
    the callable is async. Raises ``RetrieverError`` with one clear line where the signature fits
    neither, or lacks a param.
    """
    _refuse_what_was_not_made(retriever)
    if takes_batches(retriever):
        return _bind(retriever.batch, f"{type(retriever).__name__}.batch", params, "queries")  # type: ignore[attr-defined]
    function, name = _callable(retriever)
    return _bind(function, name, params, "query")


def _bind(function: Callable[..., Any], name: str, params: Mapping[str, Any], asked: str) -> Call:
    """Settle how ``function`` takes what is asked (``query`` or ``queries``) and the cutoff."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        # Some C callables have no signature: (query, k) is what they most likely take.
        return lambda query, k, params: function(query, k, **params)
    written, parameters = f"{name}{found}", list(found.parameters.values())
    first = _first(written, parameters, asked)
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    keywords = {each.name for each in parameters if each.kind in named} - {first}
    cutoff = _cutoff(written, keywords.difference(params))
    if first in params:
        raise RetrieverError(
            f"'params' names {first!r}, which the retriever {written} is given already"
        )
    _refuse_foreign(written, parameters, params.keys() - keywords)
    _refuse_lacking(written, parameters, {first, cutoff, *params})
    if cutoff is None:
        return lambda query, k, params: function(query, **params)
    return lambda query, k, params: function(query, **{cutoff: k, **params})


def _first(written: str, parameters: Sequence[Parameter], asked: str) -> str | None:
    """The name of the parameter that takes what is asked; None for ``*args``.

    Raises ``RetrieverError`` where there is none.
    """
    for each in parameters:
        if each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            return each.name
        if each.kind is Parameter.VAR_POSITIONAL:
            return None
    raise RetrieverError(
        f"the retriever {written} takes no {asked}; it must take ({asked}) or ({asked}, k)"
    )


def _cutoff(written: str, names: Collection[str]) -> str | None:
    """The parameter that is the cutoff, of those that the user has not named; None: there is none.

    Raises ``RetrieverError`` where it could be either of two.
    """
    clear = [name for name in CLEAR_CUTOFFS if name in names]
    found = clear or [name for name in SHORT_CUTOFFS if name in names]
    if len(found) > 1:
        raise RetrieverError(
            f"the retriever {written} takes {' and '.join(map(repr, found))}, and each of"
            " them could be the cutoff: give the other a value under 'params'"
        )
    return found[0] if found else None


def _refuse_foreign(
    written: str, parameters: Sequence[Parameter], foreign: Collection[str]
) -> None:
    """Refuse params that the callable does not take."""
    if foreign and all(each.kind is not Parameter.VAR_KEYWORD for each in parameters):
        raise RetrieverError(
            f"the retriever {written} does not take {' and '.join(map(repr, sorted(foreign)))}"
            " of 'params'"
        )


def _refuse_lacking(
    written: str, parameters: Sequence[Parameter], given: Collection[str | None]
) -> None:
    """Refuse a callable that needs more than it would be given."""
    stars = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    needed = (one for one in parameters if one.default is one.empty and one.kind not in stars)
    lacking = [repr(each.name) for each in needed if each.name not in given]
    if lacking:
        raise RetrieverError(
            f"the retriever {written} needs {' and '.join(lacking)} too, and nothing says"
            " what to give: name it under 'params', or call a cutoff by one of its names"
            f" ({', '.join(CUTOFF_NAMES)})"
        )


def _single(retriever: object) -> tuple[Callable[..., Any], str] | None:
    """The function or method that takes a single query, with its name."""
    if callable(retriever):
        return retriever, getattr(retriever, "__name__", type(retriever).__name__)
    for method in METHODS:
        function = getattr(retriever, method, None)
        if callable(function):
            return function, f"{type(retriever).__name__}.{method}"
    return None


def _callable(retriever: object) -> tuple[Callable[..., Any], str]:
    found = _single(retriever)
    if found is not None:
        return found
    raise RetrieverError(
        f"the retriever fixture gave {clipped(repr(retriever), 80)} ({type(retriever).__name__}),"
        " which is neither a function (query) or (query, k) nor an object with a method"
        f" {', '.join(METHODS)} or batch"
    )


def _refuse_what_was_not_made(retriever: object) -> None:
    if inspect.isclass(retriever):
        name = retriever.__name__
        raise RetrieverError(
            f"the retriever fixture gave the class {name}, not an object of it: return {name}(...)"
        )
    if inspect.iscoroutine(retriever):
        retriever.close()
    if inspect.isawaitable(retriever) or inspect.isasyncgen(retriever):
        raise RetrieverError(
            f"the retriever fixture is async and nothing has awaited it: {AWAITED_BY}"
        )
