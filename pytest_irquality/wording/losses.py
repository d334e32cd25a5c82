"""The reasons why a document or a passage was not found, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import get_args

from pytest_irquality.verdict.findings import Fate, Holder, Loss, RankedDocument
from pytest_irquality.verdict.result import QueryResult, ShownDocument
from pytest_irquality.wording.numbers import few

SHOWN = 6  # differing words


Document = RankedDocument | ShownDocument
"""A document as findings name it, or as results list it."""


def loss(loss: Loss) -> str:
    """The reason why a passage was not found, as the end of a sentence.

    It is "" of what is found, or could not be.
    """
    return LOSSES[loss.fate](loss)


def because(document: Document) -> str:
    """The place at which a document was lost; "" where nothing tells.

    It stands behind "it was not returned", or behind a rank.
    """
    return "" if document.gone or document.loss is None else loss(document.loss)


def in_brackets(document: Document) -> str:
    """The reason why a document is not in its place, in brackets; "" where nothing is known."""
    why = because(document)
    return f" ({why})" if why else ""


def _holder(holder: Holder) -> str:
    return holder.id if holder.rank is None else f"{holder.id} (rank {holder.rank})"


def _cut(loss: Loss) -> str:
    rest = "" if loss.whole else ", the rest was not returned"
    return f"cut: parts of it are in {' and '.join(map(_holder, loss.holders))}{rest}"


def _differs(loss: Loss) -> str:
    """The words of a passage that are there: ``92 % of its words, without '14', with '30'``."""
    share = f"{100 * (loss.share or 0):.0f} % of its words"
    without = f", without {_words(loss.missing)}" if loss.missing else ""
    added = f", with {_words(loss.added)} between" if loss.added else ""
    return f"{share}{without}{added}"


def _words(words: tuple[str, ...]) -> str:
    return few([repr(word) for word in words[:SHOWN]], len(words))


def _further_down(loss: Loss) -> str:
    """The result that holds it, where that is another than what was looked for."""
    return f"further down: it is in {loss.holders[0].id}" if loss.holders else "further down"


def _not_in_the_corpus(loss: Loss) -> str:
    if not loss.holders:
        return "not in the corpus"
    return f"not in the corpus; {_holder(loss.holders[0])} has {_differs(loss)}"


LOSSES: Mapping[str, Callable[[Loss], str]] = {
    "unanswered": lambda loss: "",
    "found": lambda loss: "",
    "further down": _further_down,
    "cut": _cut,
    "changed": lambda loss: f"changed: {_holder(loss.holders[0])} has {_differs(loss)}",
    "in stage": lambda loss: f"in {loss.stage} at {loss.rank} of {loss.of}, not returned",
    "not in the corpus": _not_in_the_corpus,
    "in no stage": lambda loss: "in no stage",
    "not returned": lambda loss: "cause unknown",
    "unknown": lambda loss: "",
}
FATES: Mapping[Fate, str] = {
    "unanswered": "unanswered",
    "found": "found",
    "further down": "further down",
    "cut": "cut",
    "changed": "changed",
    "in stage": "in a stage only",
    "not in the corpus": "not in the corpus",
    "in no stage": "in no stage",
    "not returned": "not returned, cause unknown",
    "unknown": "elsewhere",
}
assert set(LOSSES) == set(FATES) == set(get_args(Fate))


def fates_of(query: QueryResult) -> str:
    """The fates of what is relevant to a query: ``found 1, cut 2``; "" where none tell."""
    counts = Counter(fated.now for fated in query.fates)
    return ", ".join(f"{FATES[fate]} {counts[fate]}" for fate in FATES if counts[fate])
