"""Files of queries. A file that holds a judgment a line, as Quepid's do, holds its queries too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pytest_irquality.suite.files.datasets import records_of, rows_in
from pytest_irquality.suite.files.formats import Record, jsonl
from pytest_irquality.suite.files.source import FORMATS, QUERIES, Source


class Queries(NamedTuple):
    """The queries of a file, each once.

    ``judged``: the file judges them as well. ``note`` says what it holds beside them.
    """

    records: list[Record]
    judged: bool = False
    note: str = ""


def read_queries(
    source: Source, keys: Iterable[str], otherwise: str | None = None, *, by_text: bool = False
) -> Queries:
    """The queries of a file.

    ``keys`` are those of a query in a suite that a line of JSONL may carry too; ``otherwise`` is
    the format of a file that looks like none. ``by_text``: of an evaluation set, passages are
    wanted rather than ids.
    """
    if (found := _dataset(source, by_text)) is not None:
        return found
    name = source.recognised(QUERIES, "queries", otherwise)
    records = jsonl(keys) if name == "jsonl" else FORMATS[name].records
    once: dict[object, Record] = {}
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
            key = (record.cells.get("id"), record.cells["query"].strip()) if judged else record.raw
            once.setdefault(key, record)
    return Queries(list(once.values()), judged)


def _dataset(source: Source, by_text: bool) -> Queries | None:
    """The queries of another tool's evaluation set, None where the file is none."""
    if source.format not in (None, "jsonl", "csv", "tsv"):
        return None
    ignored: set[str] = set()
    with source.open() as lines:
        rows = rows_in(lines)
        if rows is None:
            return None
        records = [*records_of(rows, by_text, ignored)]
    note = ""
    if ignored:
        names = ", ".join(sorted(ignored))
        note = (
            f"{source.name} is {rows.dataset.what}: ignored, as no judgments of rankings: {names}"
        )
    return Queries(records, note=note)


def variants(record: Record) -> tuple[str, ...]:
    """The other wordings in one cell, between bars or line breaks: a query may have commas."""
    parts = re.split(r"[|\n]", record.cells.get("variants", ""))
    return tuple(dict.fromkeys(text for part in parts if (text := part.strip())))


def tags(record: Record) -> tuple[str, ...]:
    """The tags of one cell, between semicolons, commas or bars."""
    parts = re.split(r"[;,|]", record.cells.get("tags", ""))
    return tuple(dict.fromkeys(tag for part in parts if (tag := part.strip())))
