"""Rules on one query's documents: each a class with its key, how it is read, and when it holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import ClassVar

from yaml.events import Event, ScalarEvent, SequenceStartEvent

from pytest_irquality.suite.demands import Demand, Role
from pytest_irquality.suite.key_tables import Key, Kind, Schema
from pytest_irquality.suite.values import ANY_TEXT, CUTOFF, cutoff, distinct, ref, texts
from pytest_irquality.suite.yaml import Document, Place, short

Written = Mapping[str, "int | None"]
"""The documents of a rule, each with its rank; None leaves the rank to ``top_k``."""
Ranks = Mapping[str, int]
"""The rank of each document that one answer holds, from 1."""

# -- how they are written --------------------------------------------------------------------------


def _ranks(document: Document, event: Event, what: str) -> Written:
    found: dict[str, int | None]
    if isinstance(event, SequenceStartEvent):
        found = dict.fromkeys(texts(document, event, what))
    elif isinstance(event, ScalarEvent):
        found = {document.text(event, what): None}
    else:
        found = {
            id: cutoff(document, rank, f"the rank of {short(id)}")
            for id, _, rank in document.items(event, what)
        }
    if not found:
        document.fail(event, f"{what} names no document")
    return found


def _in_order(document: Document, event: Event, what: str) -> Written:
    documents = texts(document, event, what)
    if len(documents) < 2:
        document.fail(event, f"{what} needs at least two documents")
    return dict.fromkeys(documents)


def _nothing(document: Document, event: Event, what: str) -> Written | None:
    return {} if document.choice(event, what, ("true", "false")) == "true" else None


RANKS_SCHEMA: Schema = {
    "anyOf": [
        ANY_TEXT,
        distinct(ANY_TEXT, minItems=1),
        {"type": "object", "minProperties": 1, "additionalProperties": CUTOFF.schema},
    ]
}
RANKS: Kind[Written] = Kind(_ranks, ref("ranks"), "documents, with ranks or without")
IN_ORDER: Kind[Written] = Kind(
    _in_order, distinct(ANY_TEXT, minItems=2), "a list of two or more documents"
)
NOTHING: Kind[Written | None] = Kind(_nothing, {"type": "boolean"}, "`true` or `false`")

# -- the rules -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule(Demand):
    """A demand on one query's documents.

    ``documents`` maps each to the worst rank that is good enough, or to the last that is forbidden.
    ``value`` and ``help`` are of its key. ``on_ranks``: these ranks are what it is about.
    ``breaks_in_any``: one of several answers that breaks it is one too many; else all must.
    ``for_all``: it may stand under ``each_query``. ``wants_results``: only a query that finds
    something can keep it; ``expects_nothing``: only one that finds nothing.
    """

    documents: Ranks
    place: Place = field(default=Place(1), compare=False)

    value: ClassVar[Kind[Written | None]] = RANKS
    help: ClassVar[str]
    roles: ClassVar[tuple[Role, ...]] = ("wanted",)
    on_ranks: ClassVar[bool] = True
    breaks_in_any: ClassVar[bool] = False
    for_all: ClassVar[bool] = False
    wants_results: ClassVar[bool] = True
    expects_nothing: ClassVar[bool] = False

    @property
    def can_fail(self) -> bool:
        """True: a rule never only warns."""
        return True

    @property
    def wanted(self) -> Sequence[str]:
        """The documents that are to be found."""
        return self.having(self.documents, "wanted")

    @property
    def relied_on(self) -> Sequence[str]:
        """The documents that must exist, or the rule says nothing."""
        return self.having(self.documents, "wanted", "named")

    def parts(self, answers: Sequence[Ranks]) -> Iterable[Sequence[str]]:
        """The documents of each single thing it demands: as a rule, one document each."""
        return [[document] for document in self.documents]

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        """Tell whether one answer to the query keeps a part."""
        raise NotImplementedError

    def narrow(self, best: dict[str, int], worst: dict[str, int]) -> None:
        """Note which ranks it leaves to documents: the best, and the worst.

        Two rules that leave none contradict each other.
        """

    def can_hold(self, best: Mapping[str, int]) -> bool:
        """Tell whether it could be kept by documents that are at these ranks at best."""
        return True

    def at_least(self, other: Rule) -> bool:
        """Tell whether it demands all that another one of its key does."""
        return [*self.documents.items()] == [*other.documents.items()]


class MustFind(Rule):
    """Each of some documents, at its rank or better."""

    key = "must_find"
    help = "Each of these documents, at its rank or better; in a list, within `top_k`."

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        """Tell whether the document is there."""
        (document,) = part
        return ranks.get(document, inf) <= self.documents[document]

    def narrow(self, best: dict[str, int], worst: dict[str, int]) -> None:
        """Each document stands at its rank or above."""
        for document, rank in self.documents.items():
            worst[document] = min(worst.get(document, rank), rank)

    def at_least(self, other: Rule) -> bool:
        """Tell whether it wants all of another's documents, none of them further down."""
        return all(self.documents.get(id, inf) <= rank for id, rank in other.documents.items())


class MustFindAny(Rule):
    """One of some documents, at its rank or better."""

    key = "must_find_any"
    help = "One of these documents is enough, at its rank or better."

    def parts(self, answers: Sequence[Ranks]) -> Iterable[Sequence[str]]:
        """All documents together."""
        return [list(self.documents)]

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        """Tell whether any of the documents is there."""
        return any(ranks.get(document, inf) <= rank for document, rank in self.documents.items())

    def can_hold(self, best: Mapping[str, int]) -> bool:
        """Tell whether any of the documents can be there."""
        return any(best.get(document, 1) <= rank for document, rank in self.documents.items())

    def at_least(self, other: Rule) -> bool:
        """Tell whether it takes none but another's documents, none of them further down."""
        return all(rank <= other.documents.get(id, 0) for id, rank in self.documents.items())


class MustNotFind(Rule):
    """None of some documents down to its rank."""

    key = "must_not_find"
    help = "None of these documents in the top that many; in a list, not within `top_k`."
    roles = ("unwanted",)
    breaks_in_any = True
    for_all = True
    wants_results = False

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        """Tell whether the document is not there."""
        (document,) = part
        return ranks.get(document, inf) > self.documents[document]

    def narrow(self, best: dict[str, int], worst: dict[str, int]) -> None:
        """Each document stands below its rank."""
        for document, rank in self.documents.items():
            best[document] = max(best.get(document, 1), rank + 1)

    def at_least(self, other: Rule) -> bool:
        """Tell whether it bars all of another's documents, none of them less far down."""
        return all(self.documents.get(id, 0) >= rank for id, rank in other.documents.items())


class InOrder(Rule):
    """Some documents, each above the next. One that was not returned stands below all others."""

    key = "in_order"
    help = "These documents come in this order."
    value = IN_ORDER
    on_ranks = False

    def parts(self, answers: Sequence[Ranks]) -> Iterable[Sequence[str]]:
        """Each two neighbours; all of them where no answer holds any."""
        documents = list(self.documents)
        if all(ranks.keys().isdisjoint(documents) for ranks in answers):
            return [documents]
        return list(pairwise(documents))

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        """Tell whether the first document is above the second.

        In an answer that holds no document of the rule nothing is in order.
        """
        above, below, *_ = part
        if below not in ranks:
            return not ranks.keys().isdisjoint(self.documents)
        return ranks.get(above, inf) < ranks[below]

    def narrow(self, best: dict[str, int], worst: dict[str, int]) -> None:
        """Each document stands below those before it."""
        above = 0
        for document in self.documents:
            above = best[document] = max(best.get(document, 1), above + 1)


class ExpectNoResults(Rule):
    """An empty ranking."""

    key = "expect_no_results"
    help = "Whether nothing should be found."
    value = NOTHING
    on_ranks = False
    breaks_in_any = True
    wants_results = False
    expects_nothing = True

    def parts(self, answers: Sequence[Ranks]) -> Iterable[Sequence[str]]:
        """The first document that came, where one did."""
        return [next((list(ranks)[:1] for ranks in answers if ranks), [])]

    def holds(self, part: Sequence[str], ranks: Ranks) -> bool:
        """Tell whether nothing came."""
        return not ranks


def with_ranks(written: Written, top_k: int) -> Ranks:
    """The documents of a rule with the ranks that nobody wrote."""
    return {document: rank or top_k for document, rank in written.items()}


RULES: Mapping[str, type[Rule]] = {rule.key: rule for rule in Rule.__subclasses__()}
"""Every rule by its key."""
FOR_ALL: Mapping[str, type[Rule]] = {name: rule for name, rule in RULES.items() if rule.for_all}
RULE_KEYS: Mapping[str, Key] = {
    name: Key(rule.value, rule.help, "no such rule", wants_results=rule.wants_results)
    for name, rule in RULES.items()
}
