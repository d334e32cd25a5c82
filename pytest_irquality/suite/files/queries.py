"""Files of queries. A file that holds a judgment a line, as Quepid's do, holds its queries too."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_irquality.suite.files.formats import EXPECTATION, Record, jsonl, plainly
from pytest_irquality.suite.files.source import FORMATS, QUERIES, Source

PAIR = {"document", "grade"}


class Queries(NamedTuple):
    """The queries of a file, each once.

    ``judged``: the file judges them as well. ``promising`` names the columns that are ignored, and
    look as if they said what is to be found.
    """

    records: list[Record]
    judged: bool = False
    promising: Sequence[str] = ()


def read_queries(
    source: Source, keys: Iterable[str], otherwise: str | None = None, *, by_text: bool = False
) -> Queries:
    """The queries of a file.

    ``keys`` are those of a query in a suite that a line of JSONL may carry too; ``otherwise`` is
    the format of a file that looks like none. ``by_text``: passages are what the suite judges.
    """
    name = source.recognised(QUERIES, "queries", otherwise)
    records = jsonl(keys) if name == "jsonl" else FORMATS[name].records
    once: dict[object, Record] = {}
    passages: defaultdict[object, list[str]] = defaultdict(list)
    ignored: dict[str, None] = {}
    judged = False
    with source.open() as lines:
        for record in records(lines):
            key = _key(record)
            judged = record.cells.keys() >= PAIR
            once.setdefault(key, record)
            ignored.update(dict.fromkeys(record.ignored))
            if not judged and record.cells.get("passage", "").strip():
                passages[key].append(record.cells["passage"].strip())
    queries = list(once.values())
    if by_text:
        queries = [_with_passages(record, passages[key]) for key, record in once.items()]
    elif passages:
        ignored["passage"] = None
    promising = [name for name in ignored if EXPECTATION.search(plainly(name))]
    return Queries(queries, judged, promising)


def _key(record: Record) -> object:
    """The id and the text of a query that several rows may be of; of any other its whole line."""
    cells, text = record.cells, record.cells.get("query", "").strip()
    if not text:
        record.fail(
            "query",
            "no query on this line: its text, in a column or under a key like 'query' or 'text'",
        )
    return (cells.get("id"), text) if cells.keys() >= PAIR or "passage" in cells else record.raw


def _with_passages(record: Record, passages: Sequence[str]) -> Record:
    """A row of a sheet with the passages of all rows of its query."""
    if not passages:
        return record
    return replace(record, further={**record.further, "relevant": [*dict.fromkeys(passages)]})


def variants(record: Record) -> tuple[str, ...]:
    """The other wordings in one cell, between bars or line breaks: a query may have commas."""
    parts = re.split(r"[|\n]", record.cells.get("variants", ""))
    return tuple(dict.fromkeys(text for part in parts if (text := part.strip())))


def tags(record: Record) -> tuple[str, ...]:
    """The tags of one cell, between semicolons, commas or bars."""
    parts = re.split(r"[;,|]", record.cells.get("tags", ""))
    return tuple(dict.fromkeys(tag for part in parts if (tag := part.strip())))
