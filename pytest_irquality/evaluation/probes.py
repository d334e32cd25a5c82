"""Notices about what broken probes have in common, which points to what indexing loses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from pytest_irquality.evaluation.facts import SuiteFacts
from pytest_irquality.evaluation.results import Notice
from pytest_irquality.io.text import DataPart, format_count, list_some, write
from pytest_irquality.suite.model import Query

MIN_CUT_QUOTES = 3  # broken quotes, of which most are after the last one that was found
MIN_CUT_FRACTION = 0.8  # of the broken quotes
MIN_SOURCE_DOCUMENTS = 3  # broken documents, all of one source


def create_probe_notices(facts: SuiteFacts) -> Iterator[Notice]:
    """Say what broken probes have in common."""
    found: list[Query] = []
    broken: list[Query] = []
    for query in facts.comparison.answered_queries:
        if query.probe:
            (found if _is_found(query, facts) else broken).append(query)
    if not broken:
        return
    missing = facts.run.missing_doc_ids
    ways_found: dict[str, set[str]] = defaultdict(set)
    for query in found:
        if query.probe:
            ways_found[query.probe.doc_id].add(query.probe.way)
    groups: dict[str, list[Query]] = defaultdict(list)
    for query in broken:
        if query.probe is None:
            continue
        doc_id = query.probe.doc_id
        if doc_id in missing:
            groups["not in the index"].append(query)
        elif query.probe.way == "quote" and "whole" in ways_found[doc_id]:
            groups["found by title but not by quote"].append(query)
        elif not ways_found[doc_id]:
            groups["not found by any field"].append(query)
        else:
            groups["not found by title"].append(query)

    for state, queries in groups.items():
        doc_ids = dict.fromkeys(query.probe.doc_id for query in queries if query.probe)
        count = format_count(len(doc_ids), "document is", "documents are")
        text = write(f"{count} {state}: ", list_some(map(facts.name_doc, doc_ids)))
        if state == "found by title but not by quote":
            text += _describe_cut(found, queries)
        code = "probes-" + state.replace(" ", "-")
        query_ids = [query.id for query in queries]
        yield facts.create(code, text, query_ids, doc_ids=doc_ids, is_cause=True)
    yield from _create_source_notice(found, broken, facts)


def _is_found(query: Query, facts: SuiteFacts) -> bool:
    top_k = facts.suite.settings.top_k
    rankings = facts.comparison.answers[query.id]
    relevant = query.judgments.relevant
    return all(not relevant.isdisjoint(ranking.doc_ids[:top_k]) for ranking in rankings)


def _describe_cut(found: Sequence[Query], broken: Sequence[Query]) -> str:
    """Say at which position texts seem to be cut, if all that is behind it is missing."""
    positions_found = _list_quote_positions(found)
    positions_broken = _list_quote_positions(broken)
    if not positions_found or len(positions_broken) < MIN_CUT_QUOTES:
        return ""
    last = max(positions_found)
    behind = sum(position > last for position in positions_broken)
    if behind < MIN_CUT_FRACTION * len(positions_broken):
        return ""
    return f". Texts seem to be cut at about character {last:,}."


def _list_quote_positions(queries: Sequence[Query]) -> list[int]:
    positions = []
    for query in queries:
        if query.probe and query.probe.way == "quote":
            positions.append(query.probe.position)
    return positions


def _create_source_notice(
    found: Sequence[Query], broken: Sequence[Query], facts: SuiteFacts
) -> Iterator[Notice]:
    """Say that all broken probes are from one source, if others exist."""
    sources = Counter(query.probe.source for query in broken if query.probe)
    others = {query.probe.source for query in found if query.probe}
    [(source, count)] = sources.most_common(1)
    if source and len(sources) == 1 and count >= MIN_SOURCE_DOCUMENTS and others - {source}:
        text = write(f"All {count} broken probes are from ", DataPart(source))
        yield facts.create("probes-of-one-source", text, is_cause=True)
