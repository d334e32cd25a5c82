"""Files of queries. A file that holds a judgment a line, as Quepid's do, holds its queries too."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_irquality.suite.files.formats import Record, jsonl
from pytest_irquality.suite.files.source import FORMATS, QUERIES, Source


def read_queries(
    source: Source, keys: Iterable[str], otherwise: str | None = None
) -> tuple[list[Record], bool]:
    """The queries of a file, each once, and whether the file judges them as well.

    ``keys`` are those of a query in a suite that a line of JSONL may carry too; ``otherwise`` is
    the format of a file that looks like none.
    """
    name = source.recognised(QUERIES, "queries", otherwise)
    records = jsonl(keys) if name == "jsonl" else FORMATS[name].records
    found: dict[object, Record] = {}
    judged = False
    with source.open() as lines:
        for record in records(lines):
            if not record.cells.get("query", "").strip():
                record.fail(
                    "query",
                    "no query on this line: its text, in a column or under a key like 'query' or"
                    " 'text'",
                )
            judged = "document" in record.cells and "grade" in record.cells
            key = (record.cells.get("id"), record.cells["query"].strip()) if judged else record.line
            found.setdefault(key, record)
    return list(found.values()), judged


def tags(record: Record) -> tuple[str, ...]:
    """The tags of one cell, between semicolons, commas or bars."""
    parts = re.split(r"[;,|]", record.cells.get("tags", ""))
    return tuple(dict.fromkeys(tag for part in parts if (tag := part.strip())))
