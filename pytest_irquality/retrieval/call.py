"""The call of a retriever, settled once, before the first query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from typing import Any, NamedTuple

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
CUTOFF_NAMES = ("k", "top_k", "limit", "size", "n", "num_results", *CLEAR_CUTOFFS[4:])
# A required second parameter of such a name is the cutoff, too. As optional ones they may mean
# anything.
LIKELY_CUTOFFS = ("count", "cutoff", "depth", "first", "hits", "how_many", "number", "rows", "_")
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


class _Signature(NamedTuple):
    """The parameters of a callable. ``written`` is how errors name it."""

    written: str
    parameters: Sequence[Parameter]

    @property
    def positional(self) -> list[Parameter]:
        """The parameters that may be given by position."""
        kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        return [each for each in self.parameters if each.kind in kinds]

    @property
    def keywords(self) -> set[str]:
        """The names of the parameters that may be given by name."""
        kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        return {each.name for each in self.parameters if each.kind in kinds}

    def first(self, asked: str) -> str | None:
        """The name of the parameter that takes what is asked; None for ``*args``.

        Raises ``RetrieverError`` where there is none.
        """
        if self.positional:
            return self.positional[0].name
        if asked in self.keywords:
            return asked
        if self.has(Parameter.VAR_POSITIONAL):
            return None
        raise RetrieverError(
            f"the retriever {self.written} takes no {asked}; it must take ({asked}) or ({asked}, k)"
        )

    def has(self, kind: inspect._ParameterKind) -> bool:
        """Tell whether it has ``*args`` or ``**kwargs``."""
        return any(each.kind is kind for each in self.parameters)

    def needs(self) -> list[str]:
        """The names of the parameters without a default."""
        stars = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        return [
            each.name
            for each in self.parameters
            if each.default is Parameter.empty and each.kind not in stars
        ]


def _bind(function: Callable[..., Any], name: str, params: Mapping[str, Any], asked: str) -> Call:
    """Settle how ``function`` takes what is asked (``query`` or ``queries``) and the cutoff."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        # Some C callables have no signature: (query, k) is what they most likely take.
        return lambda query, k, params: function(query, k, **params)
    signature = _Signature(f"{name}{found}", list(found.parameters.values()))
    first = signature.first(asked)
    keywords = signature.keywords - {first}
    cutoff = _cutoff(signature, keywords.difference(params))
    second = _second(signature.positional, params) if cutoff is None else None
    _refuse_params(signature, params, first)
    _refuse_lacking(signature, params, {first, cutoff, second}, asked)
    if first == asked and not signature.positional:
        function = _by_keyword(function, asked)
    if cutoff is not None:
        return lambda query, k, params: function(query, **{cutoff: k, **params})
    if second is not None:
        return lambda query, k, params: function(query, k, **params)
    return lambda query, k, params: function(query, **params)


def _cutoff(signature: _Signature, names: Collection[str]) -> str | None:
    """The parameter that is the cutoff, of those that the user has not named; None: there is none.

    Raises ``RetrieverError`` where it could be either of two.
    """
    clear = [name for name in CLEAR_CUTOFFS if name in names]
    found = clear or [name for name in SHORT_CUTOFFS if name in names]
    if len(found) > 1:
        raise RetrieverError(
            f"the retriever {signature.written} takes {' and '.join(map(repr, found))}, and each of"
            " them could be the cutoff: give the other a value under 'params'"
        )
    return found[0] if found else None


def _second(positional: Sequence[Parameter], params: Mapping[str, Any]) -> str | None:
    """A second parameter that must be given, and by its name may well be the cutoff."""
    if len(positional) < 2:
        return None
    second = positional[1]
    if second.default is not Parameter.empty or second.name in params:
        return None
    return second.name if second.name in LIKELY_CUTOFFS else None


def _refuse_params(signature: _Signature, params: Mapping[str, Any], first: str | None) -> None:
    """Refuse params that are given already, or that the callable does not take."""
    if first is not None and first in params:
        raise RetrieverError(
            f"'params' names {first!r}, which the retriever {signature.written} is given already"
        )
    if signature.has(Parameter.VAR_KEYWORD):
        return
    foreign = [repr(name) for name in params if name not in signature.keywords]
    if foreign:
        raise RetrieverError(
            f"the retriever {signature.written} does not take {' and '.join(foreign)} of 'params'"
        )


def _refuse_lacking(
    signature: _Signature, params: Mapping[str, Any], given: Collection[str | None], asked: str
) -> None:
    """Refuse a callable that needs more than it would be given."""
    lacking = [repr(name) for name in signature.needs() if name not in {*given, *params}]
    if lacking:
        raise RetrieverError(
            f"the retriever {signature.written} needs {' and '.join(lacking)} too, and nothing says"
            " what to give: name it under 'params', or call a cutoff by one of its names"
            f" ({', '.join(CUTOFF_NAMES[:6])})"
        )


def _by_keyword(function: Callable[..., Any], asked: str) -> Callable[..., Any]:
    return lambda query, *rest, **given: function(*rest, **{asked: query}, **given)


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
    value = repr(retriever)
    if len(value) > 80:
        value = value[:77] + "..."
    raise RetrieverError(
        f"the retriever fixture gave {value} ({type(retriever).__name__}), which is neither a"
        f" function (query) or (query, k) nor an object with a method {', '.join(METHODS)} or"
        " batch"
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
