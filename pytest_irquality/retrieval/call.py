"""How to call a retriever, settled once, before the first query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pytest_irquality.retrieval.pipelines import (
    PipelineError,
    asked_as_function,
    is_pipeline,
)
from pytest_irquality.suite.keys import Ends
from pytest_irquality.suite.model import Place

AWAITED_BY = (
    "pytest needs pytest-asyncio (whose strict mode, the default, needs @pytest_asyncio.fixture)"
    " or anyio (the mark 'anyio' and its backend 'asyncio') to run such fixtures"
)
CUTOFF_NAMES = (
    "k", "top_k", "limit", "size", "n", "num_results", "topk", "top_n", "n_results", "max_results", "max_num_results",
    "num_hits", "similarity_top_k",
)  # fmt: skip
# A required second parameter of such a name is the cutoff, too. As optional ones they may mean anything.
LIKELY_CUTOFFS = ("count", "cutoff", "depth", "first", "hits", "how_many", "number", "rows", "_")
METHODS = ("similarity_search", "search", "retrieve", "invoke", "ainvoke", "run", "query")

Call = Callable[[Any, int, Mapping[str, Any]], Any]


class RetrieverError(Exception):
    """The fixture's value is nothing that can be asked a query. ``place``: of the params it cannot be called with."""

    place: Place | None = None


def takes_batches(retriever: object) -> bool:
    """Whether to ask it all queries at once, by its ``batch(queries, k)``.

    A ``batch`` whose first parameter is called ``queries`` is how an object wants to be asked. Any other, like that of
    a LangChain Runnable, is used only where nothing takes a single query.
    """
    function = getattr(retriever, "batch", None)
    if inspect.isclass(retriever) or not callable(function):
        return False
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        first = None
    return first == "queries" or _single(retriever) is None


def how_to_call(retriever: object, params: Mapping[str, Any], ends: Ends | None = None) -> Call:
    """A function ``(query, k, params)`` for a callable ``(query)`` or ``(query, k)``, or an object with such a method.

    For a retriever that takes batches it is ``(queries, k, params)``. What it returns is awaitable where the callable
    is async. Raises ``RetrieverError`` with one clear line where the signature fits neither, or lacks a param.
    """
    _refuse_what_was_not_made(retriever)
    if takes_batches(retriever):
        return _bind(retriever.batch, f"{type(retriever).__name__}.batch", params, "queries")  # type: ignore[attr-defined]
    if is_pipeline(retriever):
        function, name = _pipeline(retriever, ends or Ends()), type(retriever).__name__
    else:
        function, name = _callable(retriever)
    return _bind(function, name, params, "query")


def _pipeline(retriever: object, ends: Ends) -> Callable[..., Any]:
    try:
        return asked_as_function(retriever, ends)
    except PipelineError as error:
        raise RetrieverError(f"the pipeline {type(retriever).__name__}: {error}") from None


def _bind(function: Callable[..., Any], name: str, params: Mapping[str, Any], asked: str) -> Call:
    """Settle how ``function`` takes what is asked and the cutoff. ``asked`` is ``query`` or ``queries``."""
    try:
        signature = inspect.signature(function)
    except (
        TypeError,
        ValueError,
    ):  # some C callables have no signature: (query, k) is what they most likely take
        return lambda query, k, params: function(query, k, **params)
    parameters = list(signature.parameters.values())
    said = f"{name}{signature}"
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    keywords = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    by_name = not positional and asked in keywords
    if not positional and not by_name and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise RetrieverError(
            f"the retriever {said} takes no {asked}; it must take ({asked}) or ({asked}, k)"
        )

    first = asked if by_name else _name(positional, 0)
    cutoff = next((known for known in CUTOFF_NAMES if known in keywords and known != first), None)
    by_position = False
    if cutoff is None and len(positional) > 1 and positional[1].default is inspect.Parameter.empty:
        by_position = positional[1].name in LIKELY_CUTOFFS and positional[1].name not in params
    if taken := [name for name in (first, cutoff) if name is not None and name in params]:
        raise RetrieverError(
            f"'params' names {taken[0]!r}, which the retriever {said} is given already"
        )
    filled = {first, cutoff, _name(positional, 1) if by_position else None}
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if p.name not in filled and p.name not in params
    ]
    if missing:
        raise RetrieverError(
            f"the retriever {said} needs {' and '.join(map(repr, missing))} too, and nothing says what they are:"
            f" give them under 'params', or call a cutoff by one of its names ({', '.join(CUTOFF_NAMES[:6])})"
        )
    if not takes_any and (foreign := [name for name in params if name not in keywords]):
        raise RetrieverError(
            f"the retriever {said} does not take {' and '.join(map(repr, foreign))} of 'params'"
        )
    if by_name:
        function = _by_keyword(function, asked)
    if cutoff is not None:
        return lambda query, k, params: function(query, **{cutoff: k, **params})
    if by_position:
        return lambda query, k, params: function(query, k, **params)
    return lambda query, k, params: function(query, **params)


def _by_keyword(function: Callable[..., Any], asked: str) -> Callable[..., Any]:
    return lambda query, *rest, **given: function(*rest, **{asked: query}, **given)


def _name(parameters: list[inspect.Parameter], index: int) -> str | None:
    return parameters[index].name if len(parameters) > index else None


def _single(retriever: object) -> tuple[Callable[..., Any], str] | None:
    """What takes a single query, with its name."""
    if callable(retriever):
        return retriever, getattr(retriever, "__name__", type(retriever).__name__)
    for method in METHODS:
        function = getattr(retriever, method, None)
        if callable(function):
            return function, f"{type(retriever).__name__}.{method}"
    return None


def _callable(retriever: object) -> tuple[Callable[..., Any], str]:
    if (found := _single(retriever)) is not None:
        return found
    shown = repr(retriever)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise RetrieverError(
        f"the retriever fixture gave {shown} ({type(retriever).__name__}), which is neither a function (query) or"
        f" (query, k) nor an object with a method {', '.join(METHODS)} or batch"
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
