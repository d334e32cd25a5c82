"""One line of a stored run as data of JSON: a query, its ranking, and what stands beside it.

Rows are read by hand, column by column: a large run has millions of documents.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Annotated, Any

from pytest_irquality.edges import bounds
from pytest_irquality.edges.codec import shape_of
from pytest_irquality.retrieval.run import Ranking
from pytest_irquality.storage.stored import StoredQuery

Row = dict[str, Any]
Shared = dict[Any, Any]
"""Ids and titles, each once: a document is in many rankings."""

# -- writing ---------------------------------------------------------------------------------------


def row_of(query: StoredQuery) -> Row:
    """The row of a query, without what it does not have."""
    row = {"id": query.id, "query": query.text, **_known(of=query.of, params=query.params)}
    if query.ranking is None:
        return {**row, "fault": query.fault, **_known(skipped=query.skipped)}
    texts = query.by_document(query.texts)
    row |= _answer(query, query.ranking) | _known(texts=texts)
    if query.version is not None:
        row["version"] = query.version
    if query.answers:
        row["answers"] = [_beside(answer, texts) for answer in query.answers if answer.ranking]
    if query.stages:
        row["stages"] = {name: _beside(stage, texts) for name, stage in query.stages.items()}
    if query.deeper:
        row["deeper"] = _beside(query.deeper, texts)
    return row


def _known(**entries: Any) -> Row:
    """The entries that are not empty."""
    return {name: entry for name, entry in entries.items() if entry}


def _beside(query: StoredQuery, texts: Mapping[str, str]) -> Row:
    """Another ranking on a query's line. A text that stands there already is not repeated."""
    if query.ranking is None:
        return {"fault": query.fault, **_known(skipped=query.skipped)}
    row = _answer(query, query.ranking)
    own = query.by_document(query.texts)
    if new := {id: text for id, text in own.items() if texts.get(id) != text}:
        row["texts"] = new
    if query.deeper:
        row["deeper"] = _beside(query.deeper, {**texts, **own})
    return row


def _answer(query: StoredQuery, ranking: Ranking) -> Row:
    """One answer: its documents, and how long it took.

    Where there are several, it says of which build it is.
    """
    seconds = {} if ranking.seconds is None else {"seconds": ranking.seconds}
    counts = {name: list(numbers) for name, numbers in ranking.counts.items()}
    return {
        **seconds,
        **_known(counts=counts),
        **_known(build=query.build, fields=query.fields),
        "docs": _documents(query, ranking),
    }


def _documents(query: StoredQuery, ranking: Ranking) -> list[Any]:
    """``[id, score, title]`` as far as any document has them; ids alone as themselves."""
    scores = [score if math.isfinite(score) else None for score in ranking.scores or ()]
    columns: list[Sequence[object]] = [ranking.ids, scores, query.titles]
    while not any(value is not None for value in columns[-1]) and len(columns) > 1:
        columns.pop()
    if len(columns) == 1:
        return list(ranking.ids)
    return list(zip(*(column or [None] * len(ranking.ids) for column in columns), strict=True))


# -- reading ---------------------------------------------------------------------------------------


class DamagedRowError(ValueError):
    """A mistake in a row, in a few words."""


NAMED = "a line needs 'id' and 'query'"
ANSWERED = "the query {id!r} has neither 'docs' nor 'fault'"
ENTRIES: Mapping[str, tuple[Any, str]] = {
    "id": (str, NAMED),
    "query": (str, NAMED),
    "params": (dict, NAMED),
    "of": (str, "'of' is the id of a query"),
    "skipped": (bool, "'skipped' is true or false"),
    "docs": (list, ANSWERED),
    "seconds": (float | None, ANSWERED),
    "build": (Annotated[int, (0).__le__], "'build' is a whole number"),
    "texts": (dict[str, str], "'texts' is a table of texts"),
    "version": (str | None, "'version' is a text"),
    "answers": (list[dict], "'answers' is a list of answers"),  # type: ignore[type-arg]
    "stages": (dict[str, dict], "'stages' is a table of answers"),  # type: ignore[type-arg]
    "counts": (dict[str, list[float]], "'counts' is a table of numbers"),
    "deeper": (dict, "'deeper' is an answer"),
    "fields": (dict[str, dict[str, str]], "'fields' is a table of fields by document"),
}
"""The type of each entry of a row, and what is said of one that is of another."""
TESTS = {name: (shape_of(kind).fits, wrong) for name, (kind, wrong) in ENTRIES.items()}
COLUMNS: Sequence[set[type]] = (
    {str},
    {float, int, type(None)},
    {str, type(None)},
)
"""The types of a document's id, score and title."""


def query_of(row: Row, shared: Shared) -> StoredQuery:
    """The query on a row. Raises ``DamagedRowError``."""
    _hold(row)
    id, text, params = row["id"], row["query"], row.get("params", {})
    if params and not _can_be_written(params):
        raise DamagedRowError("'params' holds what is no number")
    of = row.get("of", "")
    if isinstance(fault := row.get("fault"), str):
        return StoredQuery(id, text, params, fault=fault, of=of, skipped=row.get("skipped", False))
    if "docs" not in row:
        raise DamagedRowError(ANSWERED.format(id=id))
    others, stages = row.get("answers", ()), row.get("stages", {})
    if len(others) >= bounds.ANSWERS:
        raise DamagedRowError(f"more than {bounds.ANSWERS:,} answers")
    ranking, titles = _ranking(row["docs"], row.get("seconds"), shared)
    counts = _counts(row.get("counts", {}))
    ranking = replace(ranking, counts=counts)
    texts = row.get("texts", {})
    return StoredQuery(
        id,
        text,
        params,
        ranking,
        None,
        titles,
        tuple(map(texts.get, ranking.ids)) if texts else (),
        row.get("version"),
        tuple(query_of(_alone(other, row), shared) for other in others),
        row.get("build", 0),
        of,
        {name: query_of(_alone(stage, row), shared) for name, stage in stages.items()},
        query_of(_alone(row["deeper"], row), shared) if "deeper" in row else None,
        fields=row.get("fields", {}),
    )


def _hold(row: Row) -> None:
    """Hold the entries of a row to their types. Raises ``DamagedRowError``."""
    if "id" not in row or "query" not in row:
        raise DamagedRowError(NAMED)
    for name, value in row.items():
        if name in TESTS and not TESTS[name][0](value):
            raise DamagedRowError(TESTS[name][1].format(id=row["id"]))


def _alone(other: Row, row: Row) -> Row:
    """The row of another answer to the query of a row, which knows the texts of that."""
    texts = other.get("texts", {})
    if isinstance(texts, dict):
        texts = {**row.get("texts", {}), **texts}
    question = {name: row[name] for name in row.keys() & {"id", "query", "params"}}
    return other | question | {"texts": texts, "answers": [], "stages": {}}


def _ranking(
    documents: list[Any], seconds: float | None, shared: Shared
) -> tuple[Ranking, tuple[str | None, ...]]:
    """The ranking of a row, and the titles of its documents."""
    rows = (document if isinstance(document, list) else [document] for document in documents)
    columns = list(zip_longest(*rows))
    types = [set(map(type, column)) for column in columns]
    foreign = any(some - known for some, known in zip(types, COLUMNS, strict=False))
    if foreign or len(columns) > len(COLUMNS):
        raise DamagedRowError("a document is [id, score, title]")
    ids, scores, titles = (*columns, (), (), ())[:3]
    ids, titles = (tuple(map(shared.setdefault, some, some)) for some in (ids, titles))
    if len(ids) > bounds.CUTOFF:
        raise DamagedRowError(f"more than {bounds.CUTOFF:,} documents")
    return Ranking(ids, _scores(scores), seconds), titles


def _scores(column: Sequence[float | None]) -> tuple[float, ...] | None:
    given = [score for score in column if score is not None]
    if not given:
        return None
    if not all(abs(score) <= bounds.NUMBER for score in given):  # nor is NaN
        raise DamagedRowError("a score is too large")
    return tuple(math.nan if score is None else float(score) for score in column)


def _counts(table: Mapping[str, Sequence[float]]) -> Mapping[str, tuple[float, ...]]:
    if not all(0 <= number <= bounds.NUMBER for numbers in table.values() for number in numbers):
        raise DamagedRowError("a count is no number")
    return {name: tuple(numbers) for name, numbers in table.items()}


def _can_be_written(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
