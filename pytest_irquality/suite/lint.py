"""Doubts about a suite: it loads, but may not mean what its author thinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_irquality.suite.model import CheckItem, ItemKind, Location, Query, Suite
from pytest_irquality.suite.rules import InOrder, MustFind, MustFindAny, MustNotFind, Rule
from pytest_irquality.suite.yaml_source import quote

MIN_QUERIES = 5
MAX_NAMED = 3
MAX_DOUBTS_OF_A_KIND = 9


class Doubt(NamedTuple):
    """Something in a suite that is probably not meant."""

    location: Location
    message: str


def find_doubts(suite: Suite) -> list[Doubt]:
    """Find what is probably not meant, the first few of each kind."""
    doubts: list[Doubt] = []
    for find in (
        _find_idle_queries,
        _find_hopeless_queries,
        _find_contradictions,
        _find_small_groups,
    ):
        found = list(find(suite))
        doubts += found[:MAX_DOUBTS_OF_A_KIND]
        hidden = len(found) - MAX_DOUBTS_OF_A_KIND
        if hidden > 0:
            doubts.append(Doubt(found[-1].location, f"and {hidden} more like this"))
    return doubts


def _find_idle_queries(suite: Suite) -> Iterator[Doubt]:
    idle = [query for query in suite.queries if not query.has_requirements]
    has_rule_for_all = any(item.rule for item in suite.items)
    if not idle or len(idle) == len(suite.queries) or has_rule_for_all:
        return  # without any judgment, a suite still guards against change
    names = _name_queries(idle)
    message = f"These queries have neither judgments nor rules: {names}"
    if any("not in the suite" in note for note in suite.notes):
        message += ". Files judge other queries. Do the ids match?"
    yield Doubt(idle[0].location, message)


def _find_hopeless_queries(suite: Suite) -> Iterator[Doubt]:
    hopeless = []
    for query in suite.queries:
        judgments = query.judgments
        if judgments.grades and not judgments.relevant and not query.expects_no_results:
            hopeless.append(query)
    if hopeless:
        effect = "in no mean" if suite.settings.undefined == "skip" else "always scored 0"
        hint = "Grade what is right as relevant, or write 'expect_no_results: true'."
        message = f"No graded document is relevant ({effect}): {_name_queries(hopeless)}. {hint}"
        yield Doubt(hopeless[0].location, message)


def _find_contradictions(suite: Suite) -> Iterator[Doubt]:
    shared = [item.rule for item in suite.items if item.rule]
    top_k = suite.settings.top_k
    for query in suite.queries:
        if query.rules:
            can_share_rank = suite.settings.match == "text"
            reason = _explain_contradiction([*shared, *query.rules], top_k, can_share_rank)
            if reason:
                message = f"The rules of {quote(query.text)} contradict each other: {reason}"
                yield Doubt(query.location, message)


def _explain_contradiction(rules: Sequence[Rule], top_k: int, can_share_rank: bool) -> str:
    """Say why no ranking can fulfill all rules, or return an empty string."""
    best: dict[str, int] = {}
    worst: dict[str, int] = {}
    for rule in rules:
        if isinstance(rule, MustFind):
            for doc_id, rank in rule.iter_ranks(top_k):
                worst[doc_id] = min(worst.get(doc_id, rank), rank)
        elif isinstance(rule, MustNotFind):
            for doc_id, rank in rule.iter_ranks(top_k):
                best[doc_id] = max(best.get(doc_id, 1), rank + 1)
        elif isinstance(rule, InOrder):
            above = 0
            for doc_id in rule.documents:
                above = best[doc_id] = max(best.get(doc_id, 1), above + 1)
    for doc_id, rank in worst.items():
        if best.get(doc_id, 1) > rank:
            return f"{quote(doc_id)} must be in the top {rank}, and not above rank {best[doc_id]}"
    for count, rank in enumerate(sorted(worst.values()), start=1):
        if count > rank and not can_share_rank:
            return f"{count} documents must be in the top {rank}"
    for rule in rules:
        if isinstance(rule, MustFindAny):
            ranks = rule.iter_ranks(top_k)
            if all(best.get(doc_id, 1) > rank for doc_id, rank in ranks):
                return f"other rules forbid every document of '{rule.key}'"
    return ""


def _find_small_groups(suite: Suite) -> Iterator[Doubt]:
    """Find tests and minimums of tags over so few queries that one moves the mean a lot."""
    for item in suite.items:
        threshold = item.threshold
        if threshold is None or item.kind is ItemKind.EACH_QUERY:
            continue
        small = []
        for name, queries in _group_queries(suite, item).items():
            count = sum(not query.expects_no_results for query in queries)
            if count < MIN_QUERIES:
                small.append(f"{name} ({count})")
        named = ", ".join(small[:MAX_NAMED])
        is_about_tag = item.tag or item.is_each_tag
        if small and threshold.max_significant_drop:
            message = f"'max_significant_drop' needs at least {MIN_QUERIES} queries: {named}"
            yield Doubt(threshold.location, message)
        elif small and is_about_tag and not threshold.is_warning and threshold.min:
            message = f"One query moves {threshold.metric} a lot in so few queries: {named}"
            yield Doubt(threshold.location, message)


def _group_queries(suite: Suite, item: CheckItem) -> Mapping[str, Sequence[Query]]:
    """Return the queries that a threshold is about, by what to call them."""
    if item.is_each_tag:
        return {f"tag {tag}": queries for tag, queries in suite.queries_by_tag.items()}
    if item.tag:
        return {f"tag {item.tag}": suite.queries_by_tag[item.tag]}
    return {"this suite": [query for query in suite.queries if not query.is_variant]}


def _name_queries(queries: Sequence[Query]) -> str:
    names = ", ".join(quote(query.text) for query in queries[:MAX_NAMED])
    hidden = len(queries) - MAX_NAMED
    return f"{names} and {hidden} more" if hidden > 0 else names
