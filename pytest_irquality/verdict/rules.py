"""Rules on one query's documents, each held against the ranks of what was returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf

from pytest_irquality.suite.model import Query, Rule, RuleKind
from pytest_irquality.verdict.result import Finding

Ranks = Mapping[str, int]
Name = Callable[[str], str]
Held = tuple[bool, str, tuple[str, ...]]
"""Whether it holds, in words, and the documents it speaks of."""


def check_rule(rule: Rule, query: Query, ranks: Ranks, name: Name) -> tuple[Finding, ...]:
    """The findings of one rule. ``ranks`` are 1-based; ``name`` gives a document's id with its title."""
    found = RULES[rule.kind](rule.documents, ranks, name)
    return tuple(
        Finding(query.id, rule.kind, text, ok, documents=documents) for ok, text, documents in found
    )


def _found(document: str, ranks: Ranks) -> str:
    return f"it is at rank {ranks[document]}" if document in ranks else "it was not returned"


def _must_find(documents: Ranks, ranks: Ranks, name: Name) -> Iterator[Held]:
    for document, worst in documents.items():
        yield (
            ranks.get(document, inf) <= worst,
            f"{name(document)} must be in the top {worst}: {_found(document, ranks)}",
            (document,),
        )


def _must_find_any(documents: Ranks, ranks: Ranks, name: Name) -> Iterator[Held]:
    ok = any(ranks.get(document, inf) <= worst for document, worst in documents.items())
    wanted = " or ".join(
        f"{name(document)} in the top {worst}" for document, worst in documents.items()
    )
    where = ", ".join(
        f"{document} {f'at rank {ranks[document]}' if document in ranks else 'not returned'}"
        for document in documents
    )
    yield ok, f"must find {wanted}: {where}", tuple(documents)


def _must_not_find(documents: Ranks, ranks: Ranks, name: Name) -> Iterator[Held]:
    for document, last in documents.items():
        yield (
            ranks.get(document, inf) > last,
            f"{name(document)} must not be in the top {last}: {_found(document, ranks)}",
            (document,),
        )


def _in_order(documents: Ranks, ranks: Ranks, name: Name) -> Iterator[Held]:
    wanted = list(documents)
    places = [ranks.get(document, inf) for document in wanted]
    if all(place == inf for place in places):
        yield (
            False,
            f"must come in the order {', '.join(map(name, wanted))}: none of them was returned",
            tuple(wanted),
        )
        return
    for first, second in zip(range(len(wanted)), range(1, len(wanted)), strict=False):
        ok = places[first] < places[second] or places[second] == inf
        above, below = wanted[first], wanted[second]
        yield (
            ok,
            (
                f"{name(above)} ({_found(above, ranks).removeprefix('it ')}) must come before "
                f"{name(below)} ({_found(below, ranks).removeprefix('it ')})"
            ),
            (above, below),
        )


def _expect_no_results(documents: Ranks, ranks: Ranks, name: Name) -> Iterator[Held]:
    first = next(iter(ranks), None)
    said = f": {max(ranks.values())} came, the first is {name(first)}" if first is not None else ""
    yield first is None, f"must return nothing{said}", tuple(ranks)[:1]


RULES: Mapping[RuleKind, Callable[[Ranks, Ranks, Name], Iterator[Held]]] = {
    "must_find": _must_find,
    "must_find_any": _must_find_any,
    "must_not_find": _must_not_find,
    "in_order": _in_order,
    "expect_no_results": _expect_no_results,
}
