"""Rules on one query's documents, each held against the ranks of what was returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf

from pytest_irquality.suite.model import Query, Rule, RuleKind
from pytest_irquality.suite.tables import complete
from pytest_irquality.verdict.findings import Finding, RankedDocument

Ranks = Mapping[str, int]
Title = Callable[[str], "str | None"]
Held = tuple[bool, Sequence[str]]
"""Whether it holds, and the documents it speaks of."""

ON_RANKS: tuple[RuleKind, ...] = ("must_find", "must_find_any", "must_not_find")
"""The rules that name a rank for each document."""


def check_rule(rule: Rule, query: Query, ranks: Ranks, title: Title) -> Iterator[Finding]:
    """The findings of one rule. ``ranks`` are 1-based; ``title`` gives a document's title, where
    one is known.
    """
    limits = rule.documents if rule.kind in ON_RANKS else {}
    for ok, documents in RULES[rule.kind](rule.documents, ranks):
        ranked = (RankedDocument(d, ranks.get(d), None, limits.get(d), title(d)) for d in documents)
        yield Finding(query.id, rule.kind, ok, ranked=tuple(ranked))


def _must_find(documents: Ranks, ranks: Ranks) -> Iterator[Held]:
    for document, worst in documents.items():
        yield ranks.get(document, inf) <= worst, [document]


def _must_find_any(documents: Ranks, ranks: Ranks) -> Iterator[Held]:
    ok = any(ranks.get(document, inf) <= worst for document, worst in documents.items())
    yield ok, list(documents)


def _must_not_find(documents: Ranks, ranks: Ranks) -> Iterator[Held]:
    for document, last in documents.items():
        yield ranks.get(document, inf) > last, [document]


def _in_order(documents: Ranks, ranks: Ranks) -> Iterator[Held]:
    """A finding for each pair of neighbours; one for all of them where none was returned."""
    wanted = list(documents)
    if ranks.keys().isdisjoint(wanted):
        yield False, wanted
        return
    for above, below in pairwise(wanted):
        missing = below not in ranks
        yield missing or ranks.get(above, inf) < ranks[below], [above, below]


def _expect_no_results(documents: Ranks, ranks: Ranks) -> Iterator[Held]:
    yield not ranks, list(ranks)[:1]


RULES: Mapping[RuleKind, Callable[[Ranks, Ranks], Iterator[Held]]] = complete(
    RuleKind,
    {
        "must_find": _must_find,
        "must_find_any": _must_find_any,
        "must_not_find": _must_not_find,
        "in_order": _in_order,
        "expect_no_results": _expect_no_results,
    },
)
