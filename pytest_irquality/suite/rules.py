"""Rules on one query's documents: their keys, and what they are once read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from yaml.events import Event, SequenceStartEvent

from pytest_irquality.suite.tables import Kind, Schema, complete, key, keys_of
from pytest_irquality.suite.values import ANY_TEXT, CUTOFF, cutoff, distinct, ref, texts
from pytest_irquality.suite.yaml import Document, Place, short

RuleKind = Literal["must_find", "must_find_any", "must_not_find", "in_order", "expect_no_results"]

Demand = Mapping[str, "int | None"]
"""The documents of a rule, each with its rank; None leaves the rank to ``top_k``."""


@dataclass(frozen=True)
class Rule:
    """A demand on one query's documents. ``documents`` maps each to its worst (or first
    forbidden-up-to) rank.
    """

    kind: RuleKind
    documents: Mapping[str, int]
    place: Place = field(default=Place(1), compare=False)


def _ranks(document: Document, event: Event, what: str) -> Demand:
    found: dict[str, int | None]
    if isinstance(event, SequenceStartEvent):
        found = dict.fromkeys(texts(document, event, what))
    else:
        found = {
            id: cutoff(document, rank, f"the rank of {short(id)}")
            for id, _, rank in document.items(event, what)
        }
    if not found:
        document.fail(event, f"{what} names no document")
    return found


def _in_order(document: Document, event: Event, what: str) -> Demand:
    documents = texts(document, event, what)
    if len(documents) < 2:
        document.fail(event, f"{what} needs at least two documents")
    return dict.fromkeys(documents)


def _nothing(document: Document, event: Event, what: str) -> Demand | None:
    return {} if document.choice(event, what, ("true", "false")) == "true" else None


RANKS_SCHEMA: Schema = {
    "anyOf": [
        distinct(ANY_TEXT, minItems=1),
        {"type": "object", "minProperties": 1, "additionalProperties": CUTOFF.schema},
    ]
}
RANKS: Kind[Demand] = Kind(_ranks, ref("ranks"), "documents with ranks, or a list of documents")
IN_ORDER: Kind[Demand] = Kind(
    _in_order, distinct(ANY_TEXT, minItems=2), "a list of two or more documents"
)
NOTHING: Kind[Demand | None] = Kind(_nothing, {"type": "boolean"}, "`true` or `false`")


def rule(kind: Kind[Demand | None], help: str, *, wants_results: bool) -> Demand | None:
    """A field that is the key of a rule. ``wants_results``: only a query that finds something can
    keep it.
    """
    return key(kind, help, None, "no such rule", wants_results=wants_results)


@dataclass(frozen=True, kw_only=True)
class RuleKeys:
    """The rules that a query may have, None where it has not. ``verdict/rules.py`` checks each."""

    must_find: Demand | None = rule(
        RANKS,
        "Each of these documents, at its rank or better; in a list, within `top_k`.",
        wants_results=True,
    )
    must_find_any: Demand | None = rule(
        RANKS, "One of these documents is enough, at its rank or better.", wants_results=True
    )
    must_not_find: Demand | None = rule(
        RANKS,
        "None of these documents in the top that many; in a list, not within `top_k`.",
        wants_results=False,
    )
    in_order: Demand | None = rule(
        IN_ORDER, "These documents come in this order.", wants_results=True
    )
    expect_no_results: Demand | None = rule(
        NOTHING, "Whether nothing should be found.", wants_results=False
    )

    def demands(self) -> Iterator[tuple[RuleKind, Demand]]:
        """Each rule that the query has, and its documents."""
        for kind in RULES:
            demand: Demand | None = getattr(self, kind)
            if demand is not None:
                yield kind, demand


RULES = cast("Mapping[RuleKind, object]", complete(RuleKind, keys_of(RuleKeys)))
