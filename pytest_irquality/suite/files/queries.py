"""Files of queries. A file that holds a judgment a line, as Quepid's do, holds its queries too."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_irquality.suite.files.datasets import AUTORAG, Expected, records_of, rows_in, texts_in
from pytest_irquality.suite.files.formats import EXPECTATION, Record, jsonl, plainly
from pytest_irquality.suite.files.source import FORMATS, QUERIES, Source, corpus_beside


class Queries(NamedTuple):
    """The queries of a file, each once.

    ``judged``: the file judges them as well. ``note`` says what it holds beside them, ``promising``
    names the columns that are ignored, and look as if they said what is to be found. ``beside`` are
    other files that were read for it.
    """

    records: list[Record]
    judged: bool = False
    note: str = ""
    promising: Sequence[str] = ()
    beside: Sequence[Source] = ()


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
    passages: defaultdict[object, list[str]] = defaultdict(list)
    ignored: dict[str, None] = {}
    judged = False
    with source.open() as lines:
        for record in records(lines):
            cells = record.cells
            if not cells.get("query", "").strip():
                record.fail(
                    "query",
                    "no query on this line: its text, in a column or under a key like 'query' or"
                    " 'text'",
                )
            judged = "document" in cells and "grade" in cells
            by_row = judged or "passage" in cells
            key: object = (cells.get("id"), cells["query"].strip()) if by_row else record.raw
            once.setdefault(key, record)
            ignored.update(dict.fromkeys(record.ignored))
            if not judged:
                passages[key] += texts_in(cells.get("passage", ""))
    queries = [_with_passages(record, passages[key], by_text) for key, record in once.items()]
    return Queries(queries, judged, promising=_promising(ignored))


def _with_passages(record: Record, passages: Sequence[str], by_text: bool) -> Record:
    """A row of a sheet with the passages of all rows of its query."""
    answers = Expected("", passages).judgments(by_text)
    return replace(record, further={**record.further, **answers}) if answers else record


def _promising(names: Iterable[str]) -> list[str]:
    return [name for name in names if EXPECTATION.search(plainly(name))]


def _dataset(source: Source, by_text: bool) -> Queries | None:
    """The queries of another tool's evaluation set, None where the file is none."""
    if source.format not in (None, "jsonl", "csv", "tsv"):
        return None
    ignored: set[str] = set()
    beside: list[Source] = []
    with source.open() as lines:
        rows = rows_in(lines)
        if rows is None:
            return None
        if by_text and rows.dataset is AUTORAG:
            beside.append(corpus_beside(source))
            rows = rows.with_texts(beside[0].open)
        records = [*records_of(rows, by_text, ignored)]
    note = ""
    if ignored:
        names = ", ".join(sorted(ignored))
        note = (
            f"{source.name} is {rows.dataset.what}: ignored, as no judgments of rankings: {names}"
        )
    return Queries(records, False, note, _promising(sorted(ignored)), beside)


def variants(record: Record) -> tuple[str, ...]:
    """The other wordings in one cell, between bars or line breaks: a query may have commas."""
    parts = re.split(r"[|\n]", record.cells.get("variants", ""))
    return tuple(dict.fromkeys(text for part in parts if (text := part.strip())))


def tags(record: Record) -> tuple[str, ...]:
    """The tags of one cell, between semicolons, commas or bars."""
    parts = re.split(r"[;,|]", record.cells.get("tags", ""))
    return tuple(dict.fromkeys(tag for part in parts if (tag := part.strip())))
