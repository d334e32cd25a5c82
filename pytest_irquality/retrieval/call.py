"""How to call a retriever, settled once, before the first query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

CUTOFF_NAMES = ("k", "top_k", "limit", "size", "n", "num_results")
METHODS = ("search", "retrieve", "invoke", "run", "query")

Call = Callable[[str, int, Mapping[str, Any]], Any]


class RetrieverError(Exception):
    """The fixture's value is nothing that can be asked a query."""


def how_to_call(retriever: object, params: Mapping[str, Any]) -> Call:
    """A function ``(query, k, params)`` for a callable ``(query)`` or ``(query, k)``, or an object with such a method.

    Raises ``RetrieverError`` with one clear line where the signature fits neither, or lacks one of ``params``.
    """
    function, name = _callable(retriever)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some C callables have no signature: (query, k) is what they most likely take
        return lambda query, k, params: function(query, k, **params)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    keywords = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    signature = f"{name}{inspect.signature(function)}"
    if not positional and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise RetrieverError(f"the retriever {signature} takes no query; it must take (query) or (query, k)")

    cutoff = next((known for known in CUTOFF_NAMES if known in keywords and known != _name(positional, 0)), None)
    by_position = False
    if cutoff is None and len(positional) > 1 and positional[1].default is inspect.Parameter.empty:
        by_position = positional[1].name not in params
    taken = [name for name in (_name(positional, 0), cutoff) if name is not None and name in params]
    if taken:
        raise RetrieverError(f"'params' names {taken[0]!r}, which the retriever {signature} is given already")
    filled = {_name(positional, 0), cutoff, _name(positional, 1) if by_position else None}
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        if p.name not in filled and p.name not in params
    ]
    if missing:
        raise RetrieverError(
            f"the retriever {signature} needs {' and '.join(map(repr, missing))} too; it must take (query) or"
            " (query, k), and whatever 'params' names"
        )
    if not takes_any and (foreign := [name for name in params if name not in keywords]):
        raise RetrieverError(f"the retriever {signature} does not take {' and '.join(map(repr, foreign))} of 'params'")
    if cutoff is not None:
        return lambda query, k, params: function(query, **{cutoff: k, **params})
    if by_position:
        return lambda query, k, params: function(query, k, **params)
    return lambda query, k, params: function(query, **params)


def _name(parameters: list[inspect.Parameter], index: int) -> str | None:
    return parameters[index].name if len(parameters) > index else None


def _callable(retriever: object) -> tuple[Callable[..., Any], str]:
    if callable(retriever):
        return retriever, getattr(retriever, "__name__", type(retriever).__name__)
    for method in METHODS:
        function = getattr(retriever, method, None)
        if callable(function):
            return function, f"{type(retriever).__name__}.{method}"
    shown = repr(retriever)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise RetrieverError(
        f"the retriever fixture gave {shown} ({type(retriever).__name__}), which is neither a function (query) or"
        f" (query, k) nor an object with a method {', '.join(METHODS)}"
    )
