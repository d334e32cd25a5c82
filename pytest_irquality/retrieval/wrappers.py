"""Wrappers of hits, opened until their list is left.

They are responses, pipelines, batches of one, tables, cursors. An opener looks at one thing and
gives what is inside, or None where that thing is not of its kind.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pytest_irquality.edges.printable import clipped

WRAPPERS = (
    "hits", "documents", "points", "matches", "objects", "results", "docs", "data", "response",
    "source_nodes", "nodes", "source_documents", "items", "rows", "context", "contexts",
    "retrieved_contexts", "passages", "chunks", "result", "value", "products",
)  # fmt: skip
ID_KEYS = (
    "_id", "id", "doc_id", "docid", "document_id", "ref", "corpus_id", "objectID", "node_id",
    "document.id", "node.id", "ids", "sku", "product_id", "item_id",
)  # fmt: skip
"""The names of ids in hits."""
ID_COLUMNS = (
    "ids", "_id", "id", "doc_id", "docid", "document_id", "ref", "corpus_id", "objectID", "node_id",
)  # fmt: skip
"""The names of columns of ids in tables; a list of other names may stand beside the hits."""
DEEPEST = 8
LONGEST_REPR = 200


class UnreadableResult(Exception):
    """A result no document ids can be read from.

    ``cause`` is alike for all such, ``detail`` is of this one.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}; {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


class Wanted(NamedTuple):
    """The number of hits, and the names that a column of their ids may have."""

    depth: int
    columns: tuple[str, ...]


def hits_of(result: object, depth: int, id_field: str | None = None) -> list[Any]:
    """The first ``depth`` hits of what a call returned, whatever they are.

    Raises ``UnreadableResult``.
    """
    columns: tuple[str, ...] = ID_COLUMNS
    if id_field:
        columns = (id_field, id_field.split(".")[0], *ID_COLUMNS)
    wanted = Wanted(depth, columns)
    for _ in range(DEEPEST):
        inside = _opened(result, wanted)
        if inside is None:
            break
        result = inside
    for is_such, why in REFUSED:
        if is_such(result):
            raise UnreadableResult(why)
    if is_mapping(result):
        raise UnreadableResult(
            "a mapping has no order, and this one holds no single list of hits (tried"
            f" {', '.join(WRAPPERS)}); return that list, or name a column of ids with 'id_field'"
        )
    if isinstance(result, (list, tuple)):
        return list(result[:depth])
    return list(islice(result, depth))  # type: ignore[call-overload]  # it may be endless


def _opened(thing: Any, wanted: Wanted) -> object:
    """The inside of a thing, by the first opener that knows such; None where none does."""
    for opener in OPENERS:
        inside = opener(thing, wanted)
        if inside is not None:
            return inside
    return None


def results_of(result: object, queries: int) -> list[Any]:
    """The result of each query of a call for many.

    Raises ``UnreadableResult``.
    """
    for is_such, why in REFUSED:
        if is_such(result):
            raise UnreadableResult(f"a batch must give one list of hits a query: {why}")
    if is_mapping(result):
        raise UnreadableResult("a batch must give one list of hits a query, not a mapping")
    results = list(_plain(result))
    if _is_two_tables(result, results):
        results = list(zip(*map(_plain, results), strict=False))
    if len(results) != queries:
        raise UnreadableResult(
            f"a batch of {queries} queries must give as many results, not {len(results)}"
        )
    return results


def _is_two_tables(result: Any, parts: Sequence[Any]) -> bool:
    """Tell whether a result is a pair of tables, as of ids and scores, with a row a query."""
    if not isinstance(result, tuple) or len(parts) != 2 or not all(map(_is_column, parts)):
        return False
    return hasattr(result, "_fields") or all(map(_is_table, parts))


def in_brief(result: object) -> str:
    """A result, shortened, for a message."""
    try:
        text = repr(result)
    except Exception as error:  # a broken repr must not hide what is wrong
        text = f"<{type(result).__name__}, whose repr raises {type(error).__name__}>"
    return f"it returned {clipped(text, LONGEST_REPR)} ({type(result).__name__})"


def is_mapping(thing: object) -> bool:
    """Tell whether a thing acts like a mapping: rows and responses do without being ``Mapping``."""
    return hasattr(thing, "keys") and hasattr(thing, "__getitem__")


# -- the openers, in the order they are tried ----------------------------------------


def _array(thing: Any, wanted: Wanted) -> object:
    """An array, a tensor, a series, an Arrow table; one row of two dimensions is a batch of one."""
    if isinstance(thing, (list, tuple)):
        return None
    convert = _to_list(thing)
    if convert is None:
        return None
    inside = convert()
    if _is_table(thing) and len(inside) == 1 and isinstance(inside[0], list):
        return inside[0]
    return inside


def _cursor(thing: Any, wanted: Wanted) -> object:
    """A database's cursor: its rows, by the names of their columns where one of them is an id's."""
    description = getattr(thing, "description", None)
    if not description or not callable(getattr(thing, "fetchall", None)):
        return None
    names = [column[0] for column in description]
    some = getattr(thing, "fetchmany", None)
    rows = some(wanted.depth) if callable(some) else thing.fetchall()
    has_ids = any(name in wanted.columns for name in names)
    if has_ids and all(type(row) is tuple for row in rows):
        return [dict(zip(names, row, strict=True)) for row in rows]
    return rows


def _frame(thing: Any, wanted: Wanted) -> object:
    """A data frame, row by row; a named index is a column too."""
    names = getattr(thing, "columns", None)
    if names is None or callable(names) or isinstance(thing, Mapping):
        return None
    if not hasattr(thing, "__getitem__"):  # iterating a table would give the names of its columns
        raise UnreadableResult("a table is no list of hits; return its ids, or its rows as dicts")
    columns = {str(name): thing[name] for name in names}
    index = getattr(thing, "index", None)
    name = getattr(index, "name", None)
    if isinstance(name, str):
        columns.setdefault(name, index)
    return _rows({name: _plain(column)[: wanted.depth] for name, column in columns.items()})


def _two_columns(thing: Any, wanted: Wanted) -> object:
    """Two columns rather than two hits.

    ``(scores, indices)`` of faiss and ``Results(documents, scores)`` of bm25s are.
    """
    if not _is_two(thing) or not all(map(_is_column, thing)):
        return None
    columns = [_only(_plain(column)) for column in thing]
    kinds = [*map(_kind, columns)]
    if len(columns[0]) != len(columns[1]):
        return None
    if not hasattr(thing, "_fields") and kinds not in TWO_COLUMNS:
        return None
    pairs = list(zip(*columns, strict=True))
    if "whole" in kinds:  # where faiss finds too few, it fills up with -1
        pairs = [pair for pair in pairs if -1 not in pair]
    return pairs


def _mapping(thing: Any, wanted: Wanted) -> object:
    """A table of columns, a response, or a pipeline's one component."""
    if not is_mapping(thing):
        return None
    keys = list(thing.keys())
    late = any(_value(thing, name) is True for name in ("timed_out", "search_cutoff"))
    if late or _value(_value(thing, "_shards"), "failed"):
        raise UnreadableResult("only a part of the index has answered")
    if any(name in keys and _is_column(_value(thing, name)) for name in wanted.columns):
        columns = {name: _only(column) for name, column in _columns(thing).items()}
        return _rows({name: column[: wanted.depth] for name, column in columns.items()})
    inside = _inside(thing)
    if inside is not None:
        return inside
    return _only_component({str(key): _value(thing, key) for key in keys})


def _vespa(thing: Any, wanted: Wanted) -> object:
    """Vespa's answer over HTTP, which has no list of hits where there are none."""
    root = _value(thing, "root") if is_mapping(thing) else None
    if _value(root, "id") != "toplevel" or _value(root, "errors"):
        return None
    return _value(root, "children") or []


def _only_component(values: Mapping[str, object]) -> object:
    """The output of the one component of a pipeline that gave documents; None where none did.

    Beside others a component is known by what it holds: not every list is one of hits.
    """
    if len(values) == 1:
        components = {name: value for name, value in values.items() if _opens(value)}
    else:
        components = {name: value for name, value in values.items() if _holds_hits(value)}
    if len(components) > 1:
        raise _several(list(components))
    return next(iter(components.values()), None)


def _holds_hits(value: object) -> bool:
    return _opens(value) and is_mapping(value) and _inside(value) is not None


def _several(names: Sequence[str]) -> UnreadableResult:
    """Of a pipeline in which more than one component gave documents."""
    return UnreadableResult(
        f"several of its components gave documents ({', '.join(names)}): return those of one"
    )


def _attributes(thing: Any, wanted: Wanted) -> object:
    """The hits of a client's response object.

    A thing that has a length and can be iterated is a list of its hits already.
    """
    if hasattr(thing, "__iter__") and hasattr(thing, "__len__"):
        return None
    return _first_that_opens(getattr(thing, name, None) for name in WRAPPERS)


def _batch_of_one(thing: Any, wanted: Wanted) -> object:
    """A list that holds nothing but the list of hits. A lone row, as of a database, is not that."""
    if not isinstance(thing, (list, tuple)) or len(thing) != 1 or hasattr(thing[0], "_fields"):
        return None
    inside = thing[0]
    if _is_array(inside):
        return inside
    if isinstance(_value(inside, "hits"), list) and _value(inside, "id") is None:
        return inside  # of a request that could ask for several searches
    is_list_of_hits = isinstance(inside, (list, tuple)) and not _is_lone_row(inside)
    return inside if is_list_of_hits else None


def _is_lone_row(inside: Sequence[Any]) -> bool:
    """Tell a row of a database from a list of hits, which are no scalars, or are all ids."""
    kinds = {*map(type, inside)}
    if not any(issubclass(kind, (str, numbers.Number)) for kind in kinds):
        return False
    if len(kinds) > 1 or not isinstance(inside, list):
        return True
    return kinds != {str} and len(inside) == 2


OPENERS: tuple[Callable[[Any, Wanted], object], ...] = (
    _array, _cursor, _frame, _two_columns, _vespa, _mapping, _attributes, _batch_of_one,
)  # fmt: skip
TO_LIST = ("tolist", "to_list", "to_pylist", "read_all")
TWO_COLUMNS = (
    ["fractions", "whole"], ["whole", "fractions"], ["fractions", "other"], ["other", "fractions"],
    ["whole", "other"], ["other", "whole"], ["none", "none"],
)  # fmt: skip
REFUSED: tuple[tuple[Callable[[object], bool], str], ...] = (
    (lambda thing: thing is None, "None is no list of hits; does the function lack its return?"),
    (
        lambda thing: hasattr(thing, "__aiter__"),
        "an async generator is no list of hits; gather its hits in a list",
    ),
    (
        lambda thing: isinstance(thing, (set, frozenset)),
        "a set has no order; return a list of hits",
    ),
    (lambda thing: isinstance(thing, (str, bytes)) or not _holds(thing), "it is no list of hits"),
)


# -- what they have in common ----------------------------------------


def _value(thing: Any, name: object) -> Any:
    try:
        return thing[name]
    except (KeyError, IndexError, TypeError):
        return None


def _inside(mapping: Any) -> Any:
    """The value under a name that hits are known to stand under."""
    return _first_that_opens(_value(mapping, name) for name in WRAPPERS)


def _first_that_opens(values: Iterable[Any]) -> Any:
    return next((value for value in values if _opens(value)), None)


def _opens(value: object) -> bool:
    """Tell whether hits may be inside."""
    if value is None or isinstance(value, (str, bytes, numbers.Number)) or callable(value):
        return False
    return _holds(value) or any(hasattr(value, name) for name in WRAPPERS)


def _holds(thing: object) -> bool:
    return isinstance(thing, Iterable) or is_mapping(thing)


def _is_two(thing: Any) -> bool:
    # bm25s's own len() is that of the batch.
    return isinstance(thing, tuple) and tuple.__len__(thing) == 2


def _is_array(thing: object) -> bool:
    return not isinstance(thing, type) and _to_list(thing) is not None


def _to_list(thing: Any) -> Callable[[], Any] | None:
    """The method that turns an array into lists, whatever it is called."""
    methods = (getattr(thing, name, None) for name in TO_LIST)
    return next(filter(callable, methods), None)


def _is_table(thing: object) -> bool:
    """Tell whether a thing is an array of two dimensions."""
    return _is_array(thing) and len(getattr(thing, "shape", ())) == 2


def _is_column(thing: object) -> bool:
    return isinstance(thing, (list, tuple)) or _is_array(thing)


def _plain(column: Any) -> Any:
    """A column as a list of Python's own values."""
    convert = _to_list(column)
    return column if convert is None else convert()


def _only(column: Any) -> Any:
    """The column itself, out of a batch of one."""
    return column[0] if len(column) == 1 and isinstance(column[0], (list, tuple)) else column


def _columns(table: Any) -> dict[str, Any]:
    """The columns of a table; what is no list is no column."""
    found = {str(name): _value(table, name) for name in table.keys()}  # noqa: SIM118 - not every mapping iterates keys
    return {name: _plain(column) for name, column in found.items() if _is_column(column)}


def _kind(column: Any) -> str:
    """The kind of values in a column, by which two columns are told from two rows."""
    numeric = [isinstance(value, numbers.Number) for value in column]
    if not numeric:
        return "none"
    if not all(numeric):
        return "mixed" if any(numeric) else "other"
    return "fractions" if any(isinstance(value, float) for value in column) else "whole"


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A hit for each row of the longest columns; what is shorter is no column of theirs."""
    length = max(map(len, columns.values()), default=0)
    whole = {name: column for name, column in columns.items() if len(column) == length}
    return [dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True)]
