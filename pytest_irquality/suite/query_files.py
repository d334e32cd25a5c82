"""Files of queries. A file with a judgment on each line, as Quepid's, holds its queries, too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pytest_irquality.suite.columns import explain_missing
from pytest_irquality.suite.keys import QUERY_KEYS
from pytest_irquality.suite.records import QUERY_FORMATS, Record, RecordReader, recognize_format
from pytest_irquality.suite.suite_files import DataFile
from pytest_irquality.suite.values import parse_number
from pytest_irquality.suite.yaml_source import MappingNode, Mistake, ScalarNode, make_node, quote

# Keys of a query that a line of JSON may have next to its text and id, as in a suite.
_JSON_KEYS = tuple(key for key in QUERY_KEYS if key not in ("query", "id"))
_CELL_SEPARATORS = {"tags": r"[;,|]", "variants": r"[|\n]"}  # a query may have commas


@dataclass(frozen=True)
class QueryFile:
    """The queries of one file.

    Attributes:
        nodes: Each query as the suite would write it, with its line.
        has_judgments: Whether the file is to be read as judgments as well.
        promising_columns: Ignored columns that look as if they said what is to be found.
        notes: Remarks for the report.
    """

    nodes: tuple[MappingNode, ...]
    has_judgments: bool = False
    promising_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_query_file(file: DataFile, *, matches_text: bool = False) -> QueryFile:
    """Read the queries of a file, each once.

    Args:
        file: The file.
        matches_text: Whether the suite has ``match: text``, so a column of passages is read.

    Raises:
        Mistake: The file cannot be read.
    """
    format = recognize_format(file, QUERY_FORMATS, "queries")
    reader = RecordReader(file, format, False, _JSON_KEYS)
    records: dict[object, Record] = {}
    passages: dict[object, dict[str, None]] = {}
    listed: set[object] = set()
    has_judgments = False
    for record in reader.read():
        cells = record.cells
        text = cells.get("query", "").strip()
        if not text:
            reader.fail(record.line, "This line has no query")
        is_judged = "document" in cells and "grade" in cells
        has_judgments = has_judgments or is_judged
        # Several lines may be about one query. In all other files, each line is a query.
        is_repeated = is_judged or "passage" in cells
        key: object = (cells.get("id"), text) if is_repeated else record.line
        records.setdefault(key, record)
        if "document" in cells and not is_judged and reader.columns:
            pair = (cells.get("id"), text)
            if pair in listed:
                # One row a judgment, and the grade has an unknown name.
                names = [*reader.columns.names.values(), *reader.columns.ignored]
                reader.fail(1, explain_missing("grade", names))
            listed.add(pair)
        passage = cells.get("passage", "").strip()
        if passage and not is_judged:
            passages.setdefault(key, {})[passage] = None
    nodes = []
    for key, record in records.items():
        relevant = list(passages.get(key, ())) if matches_text else []
        nodes.append(_make_query_node(reader, record, relevant))
    promising = reader.columns.list_promising() if reader.columns else []
    if passages and not matches_text and reader.columns:
        promising.append(reader.columns.names["passage"])
    notes = () if has_judgments else tuple(reader.list_notes())
    return QueryFile(tuple(nodes), has_judgments, tuple(promising), notes)


def _make_query_node(reader: RecordReader, record: Record, passages: list[str]) -> MappingNode:
    """Make the node that the query would have in a suite."""
    line = record.line
    values: dict[str, Any] = {"query": record.cells["query"].strip()}
    for name in ("id", "why"):
        if record.cells.get(name, "").strip():
            values[name] = record.cells[name].strip()
    for name, separators in _CELL_SEPARATORS.items():
        parts = [part.strip() for part in re.split(separators, record.cells.get(name, ""))]
        if any(parts):
            values[name] = list(dict.fromkeys(filter(None, parts)))
    if passages:
        values["relevant"] = passages
    values.update(record.extra)
    try:
        node = make_node(values, line)
    except Mistake as mistake:
        reader.fail(line, str(mistake))
    assert isinstance(node, MappingNode)
    weight = record.cells.get("weight", "").strip()
    if weight:
        if parse_number(weight) is None:
            reader.fail(line, f"'weight' must be a number, not {quote(weight)}")
        key = ScalarNode("weight", line)
        node = MappingNode([*node.entries, (key, ScalarNode(weight, line))], line)
    return node
