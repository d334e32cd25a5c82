"""Files of queries. A file that holds a judgment a line, as Quepid's do, holds its queries too."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_irquality.suite.files.formats import EXPECTATION, Record, jsonl, plainly
from pytest_irquality.suite.files.source import FORMATS, QUERIES, Source
from pytest_irquality.suite.yaml import clipped

PAIR = {"document", "grade"}


class Queries(NamedTuple):
    """The queries of a file, each once.

    ``judged``: the file judges them as well. ``note`` says what it holds beside queries and
    passages, ``promising`` names the columns that are ignored, and look as if they said what is to
    be found.
    """

    records: list[Record]
    judged: bool = False
    note: str = ""
    promising: Sequence[str] = ()


def read_queries(
    source: Source, keys: Iterable[str], otherwise: str | None = None, *, by_text: bool = False
) -> Queries:
    """The queries of a file.

    ``keys`` are those of a query in a suite that a line of JSONL may carry too; ``otherwise`` is
    the format of a file that looks like none. ``by_text``: of an evaluation set, passages are
    wanted rather than ids.
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
            if not judged:
                passages[key] += texts_in(record)
    queries = [_with_passages(record, passages[key], by_text) for key, record in once.items()]
    note = _note(source, ignored) if any(passages.values()) else ""
    return Queries(queries, judged, note, _promising(ignored))


def _note(source: Source, ignored: Iterable[str]) -> str:
    names = ", ".join(sorted(ignored))
    return names and f"{source.name}: ignored, as no judgments of rankings: {names}"


def _key(record: Record) -> object:
    """The id and the text of a query that several rows may be of; of any other its whole line."""
    cells, text = record.cells, record.cells.get("query", "").strip()
    if not text:
        record.fail(
            "query",
            "no query on this line: its text, in a column or under a key like 'query' or 'text'",
        )
    return (cells.get("id"), text) if cells.keys() >= PAIR or "passage" in cells else record.raw


def _with_passages(record: Record, passages: Sequence[str], by_text: bool) -> Record:
    """A row of a sheet with the passages of all rows of its query."""
    if not passages:
        return record
    key = "relevant" if by_text else "passages"
    return replace(record, further={**record.further, key: [*dict.fromkeys(passages)]})


def texts_in(record: Record) -> Sequence[str]:
    """The passages of one row: a text, or a list as JSON or Python writes it."""
    cell = record.cells.get("passage", "").strip()
    texts = _listed(cell) if cell.startswith("[") else [cell]
    wrong = [text for text in texts if not isinstance(text, str | None)]
    if wrong:
        record.fail("passage", f"{clipped(repr(wrong[0]))} stands where texts are wanted")
    return [text for text in texts if text and text.strip()]


def _listed(cell: str) -> Sequence[Any]:
    """The entries of a list; the cell itself where it is none."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return [*parse(cell)]
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return [cell]


def _promising(names: Iterable[str]) -> list[str]:
    return [name for name in names if EXPECTATION.search(plainly(name))]


def variants(record: Record) -> tuple[str, ...]:
    """The other wordings in one cell, between bars or line breaks: a query may have commas."""
    parts = re.split(r"[|\n]", record.cells.get("variants", ""))
    return tuple(dict.fromkeys(text for part in parts if (text := part.strip())))


def tags(record: Record) -> tuple[str, ...]:
    """The tags of one cell, between semicolons, commas or bars."""
    parts = re.split(r"[;,|]", record.cells.get("tags", ""))
    return tuple(dict.fromkeys(tag for part in parts if (tag := part.strip())))
