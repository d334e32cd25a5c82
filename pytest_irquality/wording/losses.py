"""The reasons why a document or a passage was not found, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from pytest_irquality.verdict.findings import Holder, Loss, LossKind, RankedDocument
from pytest_irquality.verdict.result import ShownDocument
from pytest_irquality.wording.numbers import few
from pytest_irquality.wording.stages import staged

SHOWN = 6  # differing words


Document = RankedDocument | ShownDocument
"""A document as findings name it, or as results list it."""


def loss(loss: Loss) -> str:
    """The reason why a passage was not found, as the end of a sentence.

    It is "" where no result is near to it.
    """
    return LOSSES[loss.kind](loss)


def because(document: Document) -> str:
    """The reason why a document is not in its place; "" where nothing is known.

    It stands behind "it was not returned", which says all of a passage that was not retrieved.
    """
    found = document.loss
    why = loss(found) if found else ""
    stage = "" if document.gone else staged(document.candidate, document.rank)
    return "; ".join(filter(None, (why, stage)))


def in_brackets(document: Document) -> str:
    """The reason why a document is not in its place, in brackets; "" where nothing is known."""
    why = because(document)
    return f" ({why})" if why else ""


def _holder(holder: Holder) -> str:
    return holder.id if holder.rank is None else f"{holder.id} (rank {holder.rank})"


def _cut(loss: Loss) -> str:
    holders = [*map(_holder, loss.holders)]
    if len(holders) == 1:
        return f"cut: a part of it is in {holders[0]}, the rest was not returned"
    if not loss.whole:
        return f"cut: parts of it are in {' and '.join(holders)}"
    if len(holders) == 2:
        return f"cut: the first part is in {holders[0]}, the rest in {holders[1]}"
    return f"cut: its parts are in {', '.join(holders[:-1])} and {holders[-1]}"


def _differs(loss: Loss) -> str:
    """The words of a passage that are there: ``92 % of its words, without '14', with '30'``."""
    share = f"{100 * (loss.share or 0):.0f} % of its words"
    without = f", without {_words(loss.missing)}" if loss.missing else ""
    added = f", with {_words(loss.added)} between" if loss.added else ""
    return f"{share}{without}{added}"


def _words(words: tuple[str, ...]) -> str:
    return few([repr(word) for word in words[:SHOWN]], len(words))


def _in_no_chunk(loss: Loss) -> str:
    if not loss.holders:
        return "in no chunk at all"
    return f"in no chunk at all; {_holder(loss.holders[0])} has {_differs(loss)}"


LOSSES: Mapping[str, Callable[[Loss], str]] = {
    "cut": _cut,
    "changed": lambda loss: f"changed: {_holder(loss.holders[0])} has {_differs(loss)}",
    "further down": lambda loss: f"further down: it is in {loss.holders[0].id}",
    "in no chunk": _in_no_chunk,
    "not retrieved": lambda loss: "",
}
assert set(LOSSES) == set(get_args(LossKind))
