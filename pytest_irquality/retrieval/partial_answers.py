"""Answers that the engine itself calls partial: by which field each engine says so.

A ranking from a part of the index says nothing about the quality of a search, so such an answer is
an error of its query. ``PARTIAL_SIGNS`` is the only place that knows the fields. A field of a new
engine is one more row.

Other engines have no such field. A query of Pinecone, Chroma, LanceDB, DuckDB, SQLite or pgvector
is complete or fails. In Qdrant and Milvus a shard that does not answer fails the query; clients of
Milvus see nothing of its setting ``partialResultRequiredDataRatio``. Meilisearch cuts searches off
after ``searchCutoffMs`` without a sign in the response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class PartialSign(NamedTuple):
    """A field by which an engine says that an answer is partial.

    Attributes:
        engine: The engines that have the field.
        path: The names on the way to the field, from the top of the response.
        is_set: Whether a value of the field means "partial". Values of other types do not, because
            a field of this name may belong to another product.
    """

    engine: str
    path: tuple[str, ...]
    is_set: Callable[[object], bool]


def _is_true(value: object) -> bool:
    return value is True or value == "true"


def _is_false(value: object) -> bool:
    return value is False or value == "false"


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _has_entries(value: object) -> bool:
    return isinstance(value, (list, tuple, Mapping)) and len(value) > 0


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_below_100(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value < 100


def _is_true_or_omitted(value: object) -> bool:
    # "omitted": the engine kept the partial results to itself (Solr 9.8).
    return _is_true(value) or value == "omitted"


_ELASTIC = "Elasticsearch, OpenSearch"
PARTIAL_SIGNS = (
    PartialSign(f"{_ELASTIC}, Manticore", ("timed_out",), _is_true),
    PartialSign(_ELASTIC, ("_shards", "failed"), _is_positive),
    # Set if 'terminate_after' ended the search of a shard.
    PartialSign(_ELASTIC, ("terminated_early",), _is_true),
    # Asynchronous search, EQL and ES|QL.
    PartialSign("Elasticsearch", ("is_partial",), _is_true),
    # Search across clusters. A cluster with 'skip_unavailable' is skipped if it does not answer.
    PartialSign(_ELASTIC, ("_clusters", "partial"), _is_positive),
    PartialSign(_ELASTIC, ("_clusters", "skipped"), _is_positive),
    PartialSign(_ELASTIC, ("_clusters", "failed"), _is_positive),
    PartialSign(_ELASTIC, ("_clusters", "running"), _is_positive),
    # 'timeAllowed' and other limits, or 'shards.tolerant'. 'segmentTerminatedEarly' is left out:
    # it affects the number of matches and not the results (SOLR-5730).
    PartialSign("Solr", ("responseHeader", "partialResults"), _is_true_or_omitted),
    PartialSign("Solr", ("responseHeader", "maxHitsTerminatedEarly"), _is_true),
    # The clients pysolr and pyvespa have the response under a name of their own.
    PartialSign("Solr", ("raw_response", "responseHeader", "partialResults"), _is_true_or_omitted),
    PartialSign("Vespa", ("json", "root", "coverage", "degraded"), _has_entries),
    PartialSign("Vespa", ("json", "root", "coverage", "full"), _is_false),
    PartialSign("Vespa", ("root", "coverage", "degraded"), _has_entries),
    PartialSign("Vespa", ("root", "coverage", "full"), _is_false),
    PartialSign("Vespa", ("root", "errors"), _has_entries),
    PartialSign("Typesense", ("search_cutoff",), _is_true),
    PartialSign("Algolia", ("timeoutHits",), _is_true),
    # The time for typos or rules ran out. 'exhaustive.nbHits' only concerns the count.
    PartialSign("Algolia", ("exhaustive", "typo"), _is_false),
    PartialSign("Algolia", ("exhaustive", "rulesMatch"), _is_false),
    PartialSign("Algolia", ("exhaustive", "rules_match"), _is_false),
    PartialSign("Algolia", ("exhaustiveTypo",), _is_false),
    PartialSign("Algolia", ("exhaustive_typo",), _is_false),
    # Federated search over several remotes.
    PartialSign("Meilisearch", ("remoteErrors",), _has_entries),
    # GraphQL and others return errors next to the data that they still have.
    PartialSign("Weaviate, Quickwit", ("errors",), _has_entries),
    PartialSign("Azure AI Search", ("@search.coverage",), _is_below_100),
    PartialSign("Azure AI Search", ("@search.semanticPartialResponseReason",), _is_text),
    PartialSign("Redis", ("warning",), _has_entries),
    PartialSign("Couchbase", ("status", "failed"), _is_positive),
)
_FIRST_NAMES = frozenset(sign.path[0] for sign in PARTIAL_SIGNS)


def find_partial_sign(response: object) -> str:
    """Return the field by which a response says that it is partial, or an empty string.

    Args:
        response: What an engine's client returned, or a part of it that contains hits: a mapping,
            or an object with attributes.

    Returns:
        The path of the field with dots, such as ``_shards.failed``.
    """
    if type(response) in (list, tuple, str, int, float):
        return ""
    if type(response) is dict and _FIRST_NAMES.isdisjoint(response):
        return ""
    for sign in PARTIAL_SIGNS:
        value: object = response
        for name in sign.path:
            value = _get(value, name)
            if value is None:
                break
        if value is not None and sign.is_set(value):
            return ".".join(sign.path)
    return ""


def _get(thing: object, name: str) -> object:
    if type(thing) is dict:
        return thing.get(name)
    try:
        if hasattr(thing, "keys"):
            return thing[name]  # type: ignore[index]
        return getattr(thing, name, None)
    except Exception:  # a client's own objects may raise anything for a name they lack
        return None
