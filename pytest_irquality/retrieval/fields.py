"""The names that ids, texts and titles of hits go by, and what is said where a hit has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_irquality.edges.reach import is_data
from pytest_irquality.retrieval.columns import is_id
from pytest_irquality.retrieval.places import alone
from pytest_irquality.retrieval.wrappers import ID_KEYS, UnreadableResult, is_mapping

ID_ATTRIBUTES = (
    "meta.id", "id", "id_", "doc_id", "docid", "document_id", "node_id", "object_id", "uuid",
    "node.node_id",
)  # fmt: skip
SCORES = (
    "score", "_score", "_distance", "distance", "relevance", "text_match", "scores", "distances",
    "meta.score", "metadata.score", "metadata.distance",
)  # fmt: skip
TITLES = ("title", "name")
TEXTS = (
    "text", "content", "page_content", "contents", "body", "passage", "chunk", "document",
    "documents",
)  # fmt: skip
INSIDE = (
    "", "_source.", "payload.", "fields.", "properties.", "metadata.", "metadatas.", "meta.",
    "document.", "entity.", "node.",
)  # fmt: skip
TOLD = 4  # names that were tried
HINTS = {
    "DocAddress": (
        "tantivy's addresses are of one index only: return"
        " [(score, searcher.doc(address)) for score, address in found.hits]"
    )
}


def no_id(hit: Any, id_field: str | None) -> UnreadableResult:
    """The message where a hit has no id."""
    if hint := HINTS.get(type(hit).__name__):
        return UnreadableResult(hint)
    found = [*dict.fromkeys(_places(hit))]
    places = ", ".join(found)
    has = f"a hit has {places}"
    if not places:
        has = f"a hit is a {type(hit).__name__} with no field that could be one"
    if id_field:
        return UnreadableResult(f"'id_field: {id_field}' names no document id of its hits", has)
    tried = ID_KEYS if is_mapping(hit) else ID_ATTRIBUTES
    usual, more = ", ".join(tried[:TOLD]), len(tried) - TOLD
    example = found[0] if found else "metadata.source"
    return UnreadableResult(
        f"no document id under {usual} and {more} other names; write into the suite where it is, as"
        f" in 'id_field: {example}' (for a list of queries beside 'queries: FILE')",
        has,
    )


def no_text(hit: Any, text_field: str | None, needed_by: str) -> UnreadableResult:
    """The message where a hit has no text."""
    has = f"a hit has {', '.join(dict.fromkeys(_places(hit)))}"
    if text_field:
        return UnreadableResult(f"'text_field: {text_field}' names no text of its hits", has)
    tried = ", ".join(TEXTS)
    return UnreadableResult(
        f"{needed_by} needs the text of each hit (tried {tried}); name its place with 'text_field'",
        has,
    )


def _places(hit: Any, prefix: str = "") -> Iterator[str]:
    """The places where ids could be: fields of text or whole numbers, at most one step deep."""
    if is_mapping(hit):
        fields = {str(name): hit[name] for name in hit.keys()}  # noqa: SIM118 - it may be no dict
    else:
        fields = getattr(hit, "__dict__", {})
    for name, value in list(fields.items())[:12]:
        if is_id(alone(value)):
            yield prefix + name
        elif not prefix and _has_fields(value):
            yield from _places(value, f"{name}.")


def _has_fields(value: Any) -> bool:
    return (is_mapping(value) or hasattr(value, "__dict__")) and is_data(value)
