"""Find the list of hits in a result, by opening one wrapper after the other.

Wrappers are responses of engines, outputs of pipelines, batches of one query, tables and cursors.
Each opener knows one kind of wrapper: it returns the content, or ``None`` for any other thing.
``PARTIAL_SIGNS`` has the fields by which engines say that an answer is partial.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from pytest_irquality.io.escaping import clip
from pytest_irquality.io.field_paths import is_mapping
from pytest_irquality.retrieval.errors import ResultError

# Names under which responses have their hits.
HIT_LISTS = (
    "hits", "documents", "points", "matches", "objects", "results", "docs", "data", "response",
    "responses", "source_nodes", "nodes", "source_documents", "items", "rows", "context",
    "contexts", "retrieved_contexts", "passages", "chunks", "result", "value", "products",
)  # fmt: skip
# Names of lists in responses that are never hits.
_NOT_HITS = frozenset((
    "aggregations", "aggs", "facets", "facet_counts", "facet_results", "facetDistribution",
    "facetStats", "@search.facets", "grouped", "groups", "suggest", "suggestions", "spellcheck",
    "highlighting", "stats", "debug", "errors", "warnings", "warning", "metadata", "profile",
))  # fmt: skip
# Names of ids in hits, and of columns of ids in tables. There, Chroma calls them "ids".
ID_NAMES = (
    "_id", "id", "doc_id", "docid", "document_id", "ref", "corpus_id", "objectID", "node_id",
)  # fmt: skip
MAX_NESTING = 8
MAX_REPR_CHARS = 200
MAX_TRIED_NAMES = 6
_TO_LIST_METHODS = ("tolist", "to_list", "to_pylist", "read_all")


class HitRequest(NamedTuple):
    """How many hits are requested, and the names of columns of ids."""

    depth: int
    id_columns: tuple[str, ...]


def open_hits(result: object, depth: int, id_field: str = "") -> Sequence[Any]:
    """Return the first ``depth`` hits of a result, whatever the hits are.

    Args:
        result: What a call returned.
        depth: How many hits to return at most. No more are taken from a generator.
        id_field: The path of the document id, if the suite names it, which may be a column.

    Raises:
        ResultError: There is no list of hits, or the engine says that its answer is partial.
    """
    id_columns: tuple[str, ...] = ("ids", *ID_NAMES)
    if id_field:
        id_columns = (id_field, id_field.partition(".")[0], *id_columns)
    request = HitRequest(depth, id_columns)
    for _ in range(MAX_NESTING):
        sign = find_partial_sign(result)
        if sign:
            raise ResultError(f"The engine reports a partial answer in '{sign}'")
        for opener in _OPENERS_BY_TYPE.get(type(result), _OPENERS):
            inside = opener(result, request)
            if inside is not None:
                break
        else:
            break
        result = inside
    reason = _explain_wrong_type(result)
    if reason:
        raise ResultError(reason)
    if is_mapping(result):
        tried = ", ".join(HIT_LISTS[:MAX_TRIED_NAMES])
        raise ResultError(
            f"A mapping has no order, and this one has no single list of hits (tried {tried} and"
            " others). Return the list, or name a column of ids with 'id_field'"
        )
    return _take_hits(result, depth)


def open_batch(result: object, count: int) -> list[Any]:
    """Return the result of each query of a batch.

    Raises:
        ResultError: There is not one list of hits for each query.
    """
    reason = _explain_wrong_type(result)
    if reason or is_mapping(result):
        raise ResultError(f"A batch must return one list of hits for each query. {reason}".strip())
    results = list(_to_plain(result))
    # Two tables, such as documents and scores, have a row for each query.
    if isinstance(result, tuple) and (hasattr(result, "_fields") or all(map(_is_table, results))):
        results = list(zip(*map(_to_plain, results), strict=False))
    if len(results) != count:
        raise ResultError(f"A batch of {count} queries must not return {len(results)} results")
    return results


def describe_result(result: object) -> str:
    """Return a result, shortened, for a message."""
    type_name = type(result).__name__
    try:
        text = clip(repr(result), MAX_REPR_CHARS)
    except Exception as error:  # a broken representation must not hide what is wrong
        text = f"<{type_name}, whose repr raises {type(error).__name__}>"
    return f"The retriever returned {text} ({type_name})"


def _explain_wrong_type(thing: object) -> str:
    """Return why a thing is not a list of hits, or an empty string if it may be one."""
    if thing is None:
        return "None is not a list of hits. Does the function lack a 'return'?"
    if hasattr(thing, "__aiter__"):
        return "An async generator is not a list of hits. Collect its hits in a list"
    if isinstance(thing, (set, frozenset)):
        return "A set has no order. Return a list of hits"
    if isinstance(thing, (str, bytes)) or not (isinstance(thing, Iterable) or is_mapping(thing)):
        return "It is not a list of hits"
    return ""


def _take_hits(result: Any, depth: int) -> Sequence[Any]:
    if not isinstance(result, (list, tuple, Table)):
        iterator = iter(result)  # it may be endless
        hits = list(islice(iterator, depth))
        if not _may_have_groups(hits):
            return hits
        result = [*hits, *islice(iterator, depth)]  # in place of the groups
    elif not _may_have_groups(result):
        return result if len(result) <= depth else result[:depth]
    # Hits have a source, which groups lack, and most lists have no groups.
    with suppress(TypeError):
        without_source = [hit for hit in result if "source" not in hit]
        if not without_source:
            return list(result[:depth])
    return [hit for hit in result if not _is_group(hit)][:depth]


def _may_have_groups(hits: Sequence[Any]) -> bool:
    # Vespa has groups in the list of hits, before or after them.
    return bool(hits) and type(hits[0]) is dict and "relevance" in hits[0]


def _is_group(hit: Any) -> bool:
    doc_id = hit.get("id") if isinstance(hit, dict) else None
    return isinstance(doc_id, str) and doc_id.startswith(("group:", "grouplist:", "hitlist:"))


# -- Openers, in the order in which they are tried -------------------------------------------------


def _open_array(thing: Any, request: HitRequest) -> Any:
    """Open an array, tensor, series or Arrow table. One row of two dimensions is a batch of one."""
    convert = _find_converter(thing)
    if convert is None or isinstance(thing, (list, tuple)):
        return None
    inside = convert()
    is_batch_of_one = _is_table(thing) and len(inside) == 1 and isinstance(inside[0], list)
    return inside[0] if is_batch_of_one else inside


def _open_cursor(thing: Any, request: HitRequest) -> Any:
    """Open a database cursor: rows by the names of their columns, if one is a column of ids."""
    description = getattr(thing, "description", None)
    if not description or not callable(getattr(thing, "fetchall", None)):
        return None
    names = [column[0] for column in description]
    # A relation of DuckDB has only `fetchall`.
    fetch_some = getattr(thing, "fetchmany", None)
    rows = fetch_some(request.depth) if callable(fetch_some) else thing.fetchall()
    has_ids = any(name in request.id_columns for name in names)
    if has_ids and all(type(row) is tuple for row in rows):
        return [dict(zip(names, row, strict=True)) for row in rows]
    return rows


def _open_frame(thing: Any, request: HitRequest) -> Any:
    """Open a data frame, row by row. A named index is a column."""
    names = getattr(thing, "columns", None)
    if names is None or callable(names) or isinstance(thing, Mapping):
        return None
    if not hasattr(thing, "__getitem__"):  # iterating over it would give names of columns
        raise ResultError("A table is not a list of hits. Return its ids, or its rows as dicts")
    columns = {str(name): thing[name] for name in names}
    index = getattr(thing, "index", None)
    index_name = getattr(index, "name", None)
    if isinstance(index_name, str):
        columns.setdefault(index_name, index)
    return Table({name: _to_plain(column)[: request.depth] for name, column in columns.items()})


def _open_two_columns(thing: Any, request: HitRequest) -> Any:
    """Open a pair of columns: faiss's ``(scores, indices)``, bm25s's ``(documents, scores)``."""
    # `len()` of a result of bm25s is the size of the batch.
    is_pair = isinstance(thing, tuple) and tuple.__len__(thing) == 2
    if not is_pair or not all(map(_is_column, thing)):
        return None
    first, second = (_open_row(_to_plain(column)) for column in thing)
    if len(first) != len(second):
        return None
    kinds = (_classify_column(first), _classify_column(second))
    # Two hits have the same kinds of values, and an id next to a score is a mixture.
    is_two_hits = "mixed" in kinds or (kinds[0] == kinds[1] and first)
    if is_two_hits and not hasattr(thing, "_fields"):
        return None
    pairs = list(zip(first, second, strict=True))
    if "integers" in kinds and (-1 in first or -1 in second):  # faiss pads if it finds too few
        pairs = [pair for pair in pairs if -1 not in pair]
    return pairs


def _open_vespa(thing: Any, request: HitRequest) -> Any:
    """Open Vespa's answer over HTTP, which has no list of hits if there are none."""
    root = _find_getter(thing)("root") if is_mapping(thing) else None
    if root is None or _get(root, "id") != "toplevel":
        return None
    return _get(root, "children") or []


def _open_mapping(thing: Any, request: HitRequest) -> Any:
    """Open a table of columns, a response, or the only component of a pipeline with hits."""
    if not is_mapping(thing):
        return None
    keys = list(thing.keys())
    if any(name in keys and _is_column(_get(thing, name)) for name in request.id_columns):
        columns = {}
        for name in keys:
            value = _get(thing, name)
            if _is_column(value):
                columns[str(name)] = _open_row(_to_plain(value))[: request.depth]
        return Table(columns)
    inside = _find_hit_list(_find_getter(thing))
    if inside is not None:
        return inside
    return _find_component({str(key): _get(thing, key) for key in keys})


def _open_attributes(thing: Any, request: HitRequest) -> Any:
    """Open a client's response object. An object with a length is itself a list of hits."""
    if hasattr(thing, "__iter__") and hasattr(thing, "__len__"):
        return None
    return _find_hit_list(lambda name: getattr(thing, name, None))


def _open_batch_of_one(thing: Any, request: HitRequest) -> Any:
    """Open a list whose only item is the list of hits, and not a row of a table."""
    if not isinstance(thing, (list, tuple)) or len(thing) != 1 or hasattr(thing[0], "_fields"):
        return None
    inside = thing[0]
    if _is_array(inside):
        return inside
    # The response of a request that can have several searches.
    if is_mapping(inside) and _get(inside, "id") is None and _get(inside, "_id") is None:
        hits = _get(inside, "hits")
        return inside if isinstance(hits, list) or _get(hits, "hits") is not None else None
    is_list_of_hits = isinstance(inside, (list, tuple)) and not _is_single_row(inside)
    return inside if is_list_of_hits else None


_OPENERS: tuple[Callable[[Any, HitRequest], Any], ...] = (
    _open_array, _open_cursor, _open_frame, _open_two_columns, _open_vespa, _open_mapping,
    _open_attributes, _open_batch_of_one,
)  # fmt: skip
# Python's own types are most of what is opened, and only these openers know them.
_OPENERS_BY_TYPE: Mapping[type, tuple[Callable[[Any, HitRequest], Any], ...]] = {
    dict: (_open_vespa, _open_mapping), list: (_open_batch_of_one,),
    tuple: (_open_two_columns, _open_batch_of_one),
}  # fmt: skip


def _find_component(values: Mapping[str, object]) -> Any:
    """Return the output of the one component of a pipeline that returned hits."""
    found = {}
    for name, value in values.items():
        if name in _NOT_HITS:
            continue
        # If there are several components, one has hits only if it names them.
        is_component = len(values) == 1 and _looks_like_hits(value)
        if is_component or (is_mapping(value) and _find_hit_list(partial(_get, value)) is not None):
            found[name] = value
    if len(found) > 1:
        names = ", ".join(found)
        raise ResultError(f"Several components returned documents ({names}). Return one list")
    return next(iter(found.values()), None)


def _looks_like_hits(value: object) -> bool:
    """Return whether the only value of a mapping may be hits. A list of scalars is not."""
    if not _may_hold_hits(value):
        return False
    if isinstance(value, (list, tuple)) and value:
        return not isinstance(value[0], (str, bytes, numbers.Number))
    return not _is_array(value)


def _find_hit_list(get: Callable[[str], Any]) -> Any:
    for name in HIT_LISTS:
        value = get(name)
        if _may_hold_hits(value):
            return value
    return None


def _may_hold_hits(value: object) -> bool:
    if value is None or isinstance(value, (str, bytes, numbers.Number)) or callable(value):
        return False
    is_iterable = isinstance(value, Iterable) or is_mapping(value)
    return is_iterable or any(hasattr(value, name) for name in HIT_LISTS)


def _is_single_row(inside: Sequence[Any]) -> bool:
    """Return whether a list is a row of a database, and not a list of objects or ids."""
    types = collect_types(inside)
    if not any(issubclass(each, (str, numbers.Number)) for each in types):
        return False
    if len(types) > 1 or not isinstance(inside, list):
        return True
    return types != {str} and len(inside) == 2


def _get(thing: Any, name: object) -> Any:
    try:
        return thing[name]
    except Exception:  # Rows and responses of clients may raise any error.
        return None


def _is_array(thing: object) -> bool:
    return not isinstance(thing, type) and _find_converter(thing) is not None


def _find_converter(thing: Any) -> Callable[[], Any] | None:
    """Return the method that turns an array into lists. Its name depends on the library."""
    for name in _TO_LIST_METHODS:
        method = getattr(thing, name, None)
        if callable(method):
            return method  # type: ignore[no-any-return]
    return None


def _is_table(thing: object) -> bool:
    """Return whether a thing is an array of two dimensions."""
    return _is_array(thing) and len(getattr(thing, "shape", ())) == 2


def _is_column(thing: object) -> bool:
    return isinstance(thing, (list, tuple)) or _is_array(thing)


def _to_plain(column: Any) -> Any:
    """Return a column as a list of Python's own values."""
    convert = _find_converter(column)
    return column if convert is None else convert()


def _open_row(column: Any) -> Any:
    """Return the only row of a batch of one, or the column itself."""
    return column[0] if len(column) == 1 and isinstance(column[0], (list, tuple)) else column


def _classify_column(column: Sequence[Any]) -> str:
    """Return the kind of values in a column. It tells two columns from two hits."""
    types = collect_types(column)
    is_number = {issubclass(each, numbers.Number) for each in types}
    if len(is_number) != 1:
        return "mixed" if is_number else "empty"
    if is_number == {False}:
        return "other"
    return "decimals" if any(issubclass(each, float) for each in types) else "integers"


def collect_types(values: Sequence[Any]) -> AbstractSet[type]:
    """Return the types of values."""
    types = list(map(type, values))
    # Most values have one type, and counting it is faster than collecting all types.
    if types and types.count(types[0]) == len(types):
        return {types[0]}
    return set(types)


class Table(Sequence[Any]):
    """The rows of a table, each a dict. To read all rows, read the columns, which is faster.

    Args:
        columns: The columns by name. Shorter ones do not belong to the table.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._length = max(map(len, columns.values()), default=0)
        self.columns_by_name = {
            name: column for name, column in columns.items() if len(column) == self._length
        }

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        rows = range(self._length)[index]
        if isinstance(rows, range):
            return [self[row] for row in rows]
        return {name: column[rows] for name, column in self.columns_by_name.items()}


# -- Partial answers -------------------------------------------------------------------------------

# A ranking from a part of the index says nothing about the quality of a search, so an answer that
# the engine itself calls partial is an error of its query.
#
# Other engines have no such field. A query of Pinecone, Chroma, LanceDB, DuckDB, SQLite or pgvector
# is complete or fails. In Milvus a shard that does not answer fails the query; its clients see
# nothing of the setting ``partialResultRequiredDataRatio``. Meilisearch cuts searches off after
# ``searchCutoffMs`` without a sign in the response.


def _is_true(value: object) -> bool:
    return value is True or value == "true"


def _is_false(value: object) -> bool:
    return value is False or value == "false"


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _is_below_100(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value < 100


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _has_true_entries(value: object) -> bool:
    return isinstance(value, Mapping) and any(map(_is_true, value.values()))


def _has_entries(value: object) -> bool:
    return isinstance(value, (list, tuple, Mapping)) and len(value) > 0


# For each engine, the paths of fields in a response, and the condition that means "partial". Values
# of other types do not meet it, because another product may use the same name.
PARTIAL_SIGNS: Mapping[str, Mapping[str, Callable[[object], bool]]] = {
    "Elasticsearch, OpenSearch, Manticore": {"timed_out": _is_true},
    "Elasticsearch, OpenSearch": {
        "_shards.failed": _is_positive,
        "terminated_early": _is_true,  # 'terminate_after' ended the search of a shard
        # Search across clusters. One with 'skip_unavailable' is skipped if it does not answer.
        "_clusters.partial": _is_positive,
        "_clusters.skipped": _is_positive,
        "_clusters.failed": _is_positive,
        "_clusters.running": _is_positive,
    },
    # Asynchronous search, and in Elasticsearch EQL and ES|QL.
    "Elasticsearch": {"is_partial": _is_true},
    "OpenSearch": {"state": lambda value: value == "RUNNING"},
    "Solr": {
        # 'timeAllowed' and other limits, or 'shards.tolerant'. 'segmentTerminatedEarly' is left
        # out: it affects the number of matches and not the results (SOLR-5730).
        # "omitted": the engine did not return the partial results (Solr 9.8).
        "responseHeader.partialResults": lambda value: _is_true(value) or value == "omitted",
        "responseHeader.maxHitsTerminatedEarly": _is_true,
    },
    "Vespa": {
        "root.coverage.degraded": _has_true_entries,
        "root.coverage.full": _is_false,
        "root.errors": _has_entries,
    },
    "Typesense": {"search_cutoff": _is_true},
    "Algolia": {
        "timeoutHits": _is_true,
        # The time for typos or rules ran out. 'exhaustive.nbHits' only concerns the count.
        "exhaustive.typo": _is_false,
        "exhaustive.rulesMatch": _is_false,
        "exhaustive.rules_match": _is_false,
        "exhaustiveTypo": _is_false,
        "exhaustive_typo": _is_false,
    },
    "Meilisearch": {"remoteErrors": _has_entries},  # federated search over several remotes
    # GraphQL and others return errors next to the data that they still have.
    "Weaviate, Quickwit": {"errors": _has_entries},
    "Qdrant": {"status.error": _is_text},
    "Azure AI Search": {
        "@search.coverage": _is_below_100,
        "@search.semanticPartialResponseReason": _is_text,
    },
    "Redis": {"warning": _has_entries},
    "Couchbase": {"status.failed": _is_positive},
}
# The attributes under which the clients pyvespa and pysolr have the response.
_RAW_RESPONSES = ("json", "raw_response")


def _split_signs() -> Iterator[tuple[tuple[str, ...], Callable[[object], bool]]]:
    """Yield each field of all engines as names, with its condition."""
    for signs in PARTIAL_SIGNS.values():
        for path, is_set in signs.items():
            # Azure's names contain dots.
            yield (path,) if path.startswith("@") else tuple(path.split(".")), is_set


_SIGNS = tuple(_split_signs())
_FIRST_NAMES = frozenset(names[0] for names, _ in _SIGNS)


def find_partial_sign(response: object) -> str:
    """Return the field that says that a response is partial, or an empty string.

    Args:
        response: What an engine's client returned, or a part of it that contains hits: a mapping,
            or an object with attributes.

    Returns:
        The path of the field with dots, such as ``_shards.failed``.
    """
    has_no_names = type(response) in (list, tuple, str, int, float)
    if has_no_names or (type(response) is dict and _FIRST_NAMES.isdisjoint(response)):
        return ""
    for part in (response, *map(_find_getter(response), _RAW_RESPONSES)):
        if part is None or inspect.ismethod(part):
            continue
        # Objects of clients take long to say that they lack a name, and signs share some names.
        entries = dict(zip(_FIRST_NAMES, map(_find_getter(part), _FIRST_NAMES), strict=True))
        for names, is_set in _SIGNS:
            value = entries[names[0]]
            for name in names[1:]:
                value = None if value is None else _find_getter(value)(name)
            if value is not None and is_set(value):
                return ".".join(names)
    return ""


def _find_getter(thing: Any) -> Callable[[str], object]:
    """Return a function that returns the entry or attribute with a name, or ``None``."""
    if type(thing) is dict:
        return thing.get
    return partial(_get if hasattr(thing, "keys") else _get_attribute, thing)


def _get_attribute(thing: object, name: str) -> object:
    try:
        return getattr(thing, name, None)
    except Exception:  # Objects of clients may raise anything for an unknown name.
        return None
