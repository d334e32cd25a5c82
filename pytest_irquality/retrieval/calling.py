"""Call a retriever, whatever it is: settle once how it takes a query and the cutoff."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from typing import Any

from pytest_irquality.io.escaping import clip
from pytest_irquality.retrieval.errors import RetrieverError

DEFAULT_BATCH_SIZE = 128
MAX_REPR_CHARS = 80
_METHODS = ("similarity_search", "search", "retrieve", "invoke", "ainvoke", "run", "query")
_CLEAR_CUTOFF_NAMES = (
    "top_k", "limit", "size", "num_results", "topk", "top_n", "n_results", "max_results",
    "max_num_results", "num_hits", "similarity_top_k",
)  # fmt: skip
# These mean the cutoff only if no parameter has one of the names above.
_SHORT_CUTOFF_NAMES = ("k", "n")
_ADVISED_CUTOFF_NAMES = "k, top_k, limit, size, n or num_results"

# Takes a query (or the queries of a batch), the cutoff and the parameters.
Call = Callable[[Any, int, Mapping[str, Any]], Any]


def find_call(retriever: object, params: Mapping[str, Any]) -> Call:
    """Return a function that calls a retriever with queries that have certain parameters.

    Args:
        retriever: A callable ``(query)`` or ``(query, k)``, an object with such a method, or one
            with ``batch(queries, k)``, of which the function takes a list of queries.
        params: The parameters of a query. Only their names matter here.

    Returns:
        The function. What it returns is awaitable if the callable is async.

    Raises:
        RetrieverError: The retriever cannot be called, or not with these parameters.
    """
    _refuse_unusable(retriever)
    if takes_batches(retriever):
        batch = retriever.batch  # type: ignore[attr-defined]
        return _bind(batch, f"{type(retriever).__name__}.batch", params, "queries")
    function, name = _find_function(retriever)
    return _bind(function, name, params, "query")


def takes_batches(retriever: object) -> bool:
    """Return whether a retriever is called with several queries, by its ``batch(queries, k)``.

    A ``batch`` whose first parameter is named ``queries`` is meant for this plugin. Any other, like
    that of a LangChain Runnable, is used only if nothing takes a single query.
    """
    function = getattr(retriever, "batch", None)
    if inspect.isclass(retriever) or not callable(function):
        return False
    try:
        first = next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        first = None
    return first == "queries" or _find_single_call(retriever) is None


def get_batch_size(retriever: object) -> int:
    """Return how many queries a call of ``batch`` may have.

    Raises:
        RetrieverError: The attribute ``batch_size`` is not a positive integer.
    """
    size = getattr(retriever, "batch_size", None)
    if size is None:
        return DEFAULT_BATCH_SIZE
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise RetrieverError(
            f"'batch_size' of the retriever must be a positive integer, and it is"
            f" {clip(repr(size), MAX_REPR_CHARS)}"
        )
    return size


def _bind(function: Callable[..., Any], name: str, params: Mapping[str, Any], subject: str) -> Call:
    """Settle how a function takes its subject (``query`` or ``queries``) and the cutoff."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some callables in C have no signature, and (query, k) is the likeliest one.
        return lambda query, k, params: function(query, k, **params)
    shown, parameters = f"{name}{signature}", list(signature.parameters.values())
    first = _find_first_parameter(shown, parameters, subject)
    named_kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    keywords = {each.name for each in parameters if each.kind in named_kinds} - {first}
    cutoff = _find_cutoff(shown, keywords.difference(params))
    if first in params:
        raise RetrieverError(
            f"'params' has '{first}', which is what the retriever {shown} takes the {subject} as"
        )
    _refuse_unknown_params(shown, parameters, params.keys() - keywords)
    _refuse_missing_params(shown, parameters, {first, cutoff, *params})
    if cutoff is None:
        return lambda query, k, params: function(query, **params)
    return lambda query, k, params: function(query, **{cutoff: k, **params})


def _find_first_parameter(shown: str, parameters: Sequence[Parameter], subject: str) -> str | None:
    """Return the name of the first positional parameter, or ``None`` for ``*args``."""
    for parameter in parameters:
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            return parameter.name
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return None
    raise RetrieverError(
        f"The retriever {shown} takes no {subject}. It must take ({subject}) or ({subject}, k)"
    )


def _find_cutoff(shown: str, names: Collection[str]) -> str | None:
    found = [name for name in _CLEAR_CUTOFF_NAMES if name in names]
    if not found:
        found = [name for name in _SHORT_CUTOFF_NAMES if name in names]
    if len(found) > 1:
        raise RetrieverError(
            f"The retriever {shown} takes {_join_names(found)}, and each of them could be the"
            " cutoff. Give the other one a value under 'params'"
        )
    return found[0] if found else None


def _refuse_unknown_params(
    shown: str, parameters: Sequence[Parameter], unknown: Collection[str]
) -> None:
    if unknown and all(each.kind is not Parameter.VAR_KEYWORD for each in parameters):
        raise RetrieverError(
            f"The retriever {shown} does not take {_join_names(sorted(unknown))} of 'params'"
        )


def _refuse_missing_params(
    shown: str, parameters: Sequence[Parameter], given: Collection[str | None]
) -> None:
    variadic_kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    missing = []
    for parameter in parameters:
        is_needed = parameter.default is parameter.empty and parameter.kind not in variadic_kinds
        if is_needed and parameter.name not in given:
            missing.append(parameter.name)
    if missing:
        raise RetrieverError(
            f"The retriever {shown} also needs {_join_names(missing)}. Write it under 'params', or"
            f" name the cutoff {_ADVISED_CUTOFF_NAMES}"
        )


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(f"'{name}'" for name in names)


def _find_single_call(retriever: object) -> tuple[Callable[..., Any], str] | None:
    """Return the function or method that takes a single query, with its name."""
    if callable(retriever):
        return retriever, getattr(retriever, "__name__", type(retriever).__name__)
    for name in _METHODS:
        method = getattr(retriever, name, None)
        if callable(method):
            return method, f"{type(retriever).__name__}.{name}"
    return None


def _find_function(retriever: object) -> tuple[Callable[..., Any], str]:
    found = _find_single_call(retriever)
    if found is not None:
        return found
    shown = clip(repr(retriever), MAX_REPR_CHARS)
    raise RetrieverError(
        f"The retriever fixture returned {shown} ({type(retriever).__name__}). It must return a"
        " function of (query) or (query, k), or an object with one of the methods"
        f" {', '.join(_METHODS)} or batch"
    )


def _refuse_unusable(retriever: object) -> None:
    if inspect.isclass(retriever):
        name = retriever.__name__
        raise RetrieverError(
            f"The retriever fixture returned the class {name} instead of an object. Return"
            f" {name}(…)"
        )
    if inspect.iscoroutine(retriever):
        retriever.close()
    if inspect.isawaitable(retriever) or inspect.isasyncgen(retriever):
        raise RetrieverError(
            "The retriever fixture is async, and nothing awaited it. pytest needs pytest-asyncio"
            " (in its strict mode, the default, with @pytest_asyncio.fixture) or anyio (the mark"
            " 'anyio' and its backend 'asyncio') to run such fixtures"
        )
