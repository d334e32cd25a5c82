"""Lengths of results, their texts, and the cost of a call: what measures read beside a ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from pytest_irquality.passages import words
from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.results import Measured, Returned
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import Suite

Counter = Callable[[Returned, Ranking], Ranking]
"""Gives a ranking what measures read beside it, from the result as it was read."""


def measured_by(suite: Suite) -> Measured | None:
    """The parts of a result that a suite measures; None where that is the ranking alone."""
    if not suite.counts and not suite.asks:
        return None
    texts = "texts" in suite.asks or not suite.counts <= {"cost"}
    fields = suite.show if "fields" in suite.asks else None
    return Measured(texts, fields, "cost" in suite.counts)


def counter_of(suite: Suite, retriever: object) -> Counter:
    """The function that counts for a suite. Raises ``RetrieverError`` where tokens cannot be."""
    if not suite.counts and not suite.asks:
        return lambda returned, ranking: ranking
    tokens = getattr(retriever, "tokens", None)
    if "tokens" in suite.counts and not callable(tokens):
        raise RetrieverError(
            "tokens are measured, and the retriever has no method tokens(text) that counts them"
        )
    ways: dict[str, Callable[[str], float]] = {"words": lambda text: len(words(text))}
    if callable(tokens):
        ways["tokens"] = lambda text: _number(tokens(text))
    count = {name: cache(way) for name, way in ways.items() if name in suite.counts}

    def counted(returned: Returned, ranking: Ranking) -> Ranking:
        texts = returned.in_order
        if texts is None:
            counts = {}
        else:
            counts = {name: tuple(map(way, texts)) for name, way in count.items()}
        if returned.cost is not None:
            counts["cost"] = (returned.cost,)
        asked = {"texts": texts or (), "fields": returned.fields}
        return replace(
            ranking,
            counts=counts,
            asked_for={name: each for name, each in asked.items() if name in suite.asks},
        )

    return counted


def _number(given: object) -> float:
    """A number of tokens, or of as many as were given in a list."""
    if isinstance(given, int):
        return given
    try:
        return len(given)  # type: ignore[arg-type]
    except TypeError:
        raise RetrieverError(
            f"tokens(text) gives a number or a list of tokens, not {given!r}"
        ) from None
