"""Lengths of results, in words and tokens, which measures read beside a ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from pytest_irquality.passages import words
from pytest_irquality.retrieval.call import RetrieverError
from pytest_irquality.retrieval.results import Returned
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.suite.model import Suite

Counter = Callable[[Returned, Ranking], Ranking]
"""Gives a ranking the lengths of its results, from what was returned as it was read."""


def counter_of(suite: Suite, retriever: object) -> Counter:
    """The function that counts for a suite. Raises ``RetrieverError`` where tokens cannot be."""
    tokens = getattr(retriever, "tokens", None)
    ways: dict[str, Callable[[str], float]] = {"words": lambda text: len(words(text))}
    if callable(tokens):
        ways["tokens"] = lambda text: _number(tokens(text))
    elif "tokens" in suite.counts:
        raise RetrieverError(
            "tokens are measured, and the retriever has no method tokens(text) that counts them"
        )
    count = {name: cache(way) for name, way in ways.items() if name in suite.counts}

    def counted(returned: Returned, ranking: Ranking) -> Ranking:
        texts = returned.in_order
        if texts is None:
            return ranking
        return replace(
            ranking, counts={name: tuple(map(way, texts)) for name, way in count.items()}
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
