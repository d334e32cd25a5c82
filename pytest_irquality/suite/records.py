"""The formats of queries and judgments: how each is recognized, and how its lines become records.

A record is what one line says under one set of names (``id``, ``query``, ``document``, ``grade``),
whatever the file calls them, with every value as the text that was written.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from pytest_irquality.io.escaping import unescape_csv_cell
from pytest_irquality.suite.columns import (
    BEIR_COLUMNS,
    GRADED_COLUMNS,
    TO_GRADE_COLUMNS,
    ColumnError,
    Columns,
    assign_columns,
    check_judgment_columns,
    check_query_columns,
    simplify,
)
from pytest_irquality.suite.suite_files import DataFile
from pytest_irquality.suite.values import parse_number, suggest
from pytest_irquality.suite.yaml_source import Mistake, quote

QUERY_FORMATS = ("jsonl", "csv", "tsv", "topics", "text")
JUDGMENT_FORMATS = ("trec", "beir", "jsonl", "csv", "tsv")
FORMAT_NAMES = {
    "trec": "TREC qrels",
    "beir": "BEIR qrels",
    "jsonl": "JSON lines",
    "csv": "CSV",
    "tsv": "TSV",
    "topics": "TREC topics",
    "text": "a list of queries",
}
# Keys of JSON lines in known formats that say nothing about a query or judgment.
_PASSED_KEYS = ("id", "metadata", "title", "iteration", "createdat", "updatedat", "count")
_JSON_MEANINGS = ("id", "query", "document", "grade", "assessor", "date", "decision", "note")
_SPACE = " \t\r\n\f\v"


class Record(NamedTuple):
    """What one line says.

    Attributes:
        cells: The values by their meaning.
        extra: Other keys of a JSON object, such as those of a query in a suite.
    """

    line: int
    cells: Mapping[str, str]
    extra: Mapping[str, Any] = {}


class JsonNumber(str):
    """A number of JSON as written, so that an id ``1.10`` stays one."""

    __slots__ = ()


@dataclass
class RecordReader:
    """Reads the records of one file.

    Attributes:
        format: The format of the file.
        holds_judgments: Whether judgments are read. Otherwise queries are.
        json_keys: Further keys that an object of JSON may have and whose values are kept.
        passed_keys: Further keys that an object of JSON may have and that are passed over.
        columns: What the columns mean, once the header was read.
        comment_count: How many comment lines were passed over so far.
    """

    file: DataFile
    format: str
    holds_judgments: bool
    json_keys: Sequence[str] = ()
    passed_keys: Sequence[str] = ()
    columns: Columns | None = None
    comment_count: int = 0
    _shapes: dict[tuple[str, ...], Mapping[str, str]] = field(default_factory=dict)

    def read(self) -> Iterator[Record]:
        """Yield the records.

        Raises:
            Mistake: A line cannot be read.
        """
        readers: Mapping[str, Callable[[Iterator[tuple[int, str]]], Iterator[Record]]] = {
            "trec": self._read_trec,
            "beir": self._read_table,
            "csv": self._read_table,
            "tsv": self._read_table,
            "topics": self._read_topics,
            "text": self._read_list,
            "jsonl": self._read_json,
        }
        return readers[self.format](self.file.read_lines())

    def list_notes(self) -> Iterator[str]:
        """Yield remarks for the report: columns used and lines passed over."""
        if self.columns and self.format in ("csv", "tsv", "jsonl"):
            yield f"{self.file.name}: {self.columns.describe()}"
        if self.comment_count:
            lines = (
                "1 comment line"
                if self.comment_count == 1
                else f"{self.comment_count} comment lines"
            )
            yield f"{self.file.name}: {lines} ignored"

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise the mistake in a line of the file."""
        raise Mistake(line, message, self.file.name)

    def _iter_data(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Yield the lines that are neither blank nor a comment."""
        for number, line in lines:
            if line.startswith("#") and is_comment(line):
                self.comment_count += 1
            elif line and not line.isspace():
                yield number, line

    # -- Lines without a header -------------------------------------------------------------------

    def _read_trec(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            parts = re.split(rf"[{_SPACE}]+", line.strip(_SPACE))
            if len(parts) != 4:
                message = "A line of TREC qrels is 'query 0 document grade'"
                self.fail(number, f"{message}, and this has {len(parts)} columns")
            yield Record(number, {"id": parts[0], "document": parts[2], "grade": parts[3]})

    def _read_topics(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            query_id, tab, text = line.partition("\t")
            if not tab:
                self.fail(number, "A line of topics is an id, a tab and the text of the query")
            yield Record(number, {"id": query_id, "query": text})

    def _read_list(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            yield Record(number, {"query": line.strip()})

    # -- Tables -----------------------------------------------------------------------------------

    def _read_table(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        start, header = next(self._iter_data(lines), (1, ""))
        delimiter = "\t" if self.format in ("tsv", "beir") else find_delimiter(header)
        names = [name.strip() for name in split_row(header, delimiter)]
        columns = self._assign(names, start)
        # Cells of our own files are escaped, so that a spreadsheet runs no formula in them.
        is_own = tuple(names) in (TO_GRADE_COLUMNS, GRADED_COLUMNS)
        indexes = columns.indexes.items()
        for number, row in self._iter_rows(lines, delimiter, start):
            if not any(row):
                continue
            if len(row) < len(names) and row[0].startswith("#"):
                self.comment_count += 1
                continue
            if len(row) < len(names) or any(row[len(names) :]):
                message = f"The line has {len(row)} cells, and the header has {len(names)}"
                self.fail(number, message)
            cells = {meaning: row[index].strip() for meaning, index in indexes}
            if is_own:
                cells = {meaning: unescape_csv_cell(cell) for meaning, cell in cells.items()}
            yield Record(number, cells)

    def _assign(self, names: Sequence[str], line: int) -> Columns:
        try:
            columns = assign_columns(names, self.file.columns)
            if self.holds_judgments:
                check_judgment_columns(columns, names)
            else:
                check_query_columns(columns, names)
        except ColumnError as error:
            self.fail(line, str(error))
        self.columns = columns
        return columns

    def _iter_rows(
        self, lines: Iterator[tuple[int, str]], delimiter: str, header_line: int
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield each row with its first line."""
        if delimiter == "\t":
            for number, line in lines:
                yield number, split_row(line, delimiter)
            return
        texts = (f"{line}\n" for _, line in lines)
        reader = csv.reader(texts, delimiter=delimiter, strict=True)
        number = header_line + 1
        try:
            for row in reader:
                yield number, row
                number = header_line + reader.line_num + 1
        except csv.Error as error:
            self.fail(number, f"This is not CSV: {error}")

    # -- JSON lines -------------------------------------------------------------------------------

    def _read_json(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            value = self._decode(number, line)
            keys = tuple(value)
            if keys not in self._shapes:
                self._shapes[keys] = self._find_json_meanings(number, keys)
            used = self._shapes[keys]
            cells = {}
            for meaning, key in used.items():
                cell = value[key]
                if cell is None or isinstance(cell, str):
                    cells[meaning] = str(cell or "")
                else:
                    self.fail(number, f"{quote(key)} must be a text or a number")
            extra = {}
            for key in self.json_keys:
                if value.get(key) is not None and key not in used.values():
                    extra[key] = value[key]
            yield Record(number, cells, extra)
        known = {key for keys in self._shapes for key in keys}
        for name in self.file.columns.values():
            if name not in known:
                self.fail(1, f"No line has the key {quote(name)} that 'columns' names")

    def _find_json_meanings(self, number: int, keys: tuple[str, ...]) -> Mapping[str, str]:
        """Return the key of each meaning for objects that have these keys."""
        chosen = {meaning: key for meaning, key in self.file.columns.items() if key in keys}
        # Keys of a query in a suite are lists and mappings here, not cells.
        plain = [key for key in keys if key not in self.json_keys or key in ("id", "query")]
        try:
            columns = assign_columns(plain, chosen)
        except ColumnError as error:
            self.fail(number, str(error))
        names = {key: columns.names[key] for key in _JSON_MEANINGS if key in columns.names}
        if not {"document", "grade"} <= names.keys():
            for meaning in ("document", "grade"):
                names.pop(meaning, None)
        elif self.columns is None:
            self.columns = columns
        allowed = (*_PASSED_KEYS, *map(simplify, self.passed_keys))
        for key in keys:
            if key in self.json_keys or key in columns.names.values():
                continue
            if simplify(key) not in allowed:
                hint = suggest(key, self.json_keys)
                self.fail(number, f"{quote(key)} is not a key of a query or judgment{hint}")
        return names

    def _decode(self, number: int, line: str) -> dict[str, Any]:
        try:
            value = _DECODER.decode(line)
        except RecursionError:
            self.fail(number, "This is not JSON: it is nested too deep")
        except json.JSONDecodeError as error:
            self.fail(number, f"This is not JSON: {error.msg} (column {error.pos + 1})")
        except ValueError as error:
            self.fail(number, str(error))
        if not isinstance(value, dict):
            self.fail(number, "A line of JSON lines must be an object, {...}")
        return value


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{quote(repeated)} is twice in this object")
    return made


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_make_object,
    parse_int=JsonNumber,
    parse_float=JsonNumber,
    parse_constant=_refuse_constant,
)


# -- Recognizing ----------------------------------------------------------------------------------


def is_comment(line: str) -> bool:
    """Return whether a line is a comment: ``#`` alone, or followed by space.

    ``#teatime`` is a query, and ``#1`` an id.
    """
    rest = line.lstrip("#")
    return rest != line and (not rest or rest[0].isspace())


def split_row(line: str, delimiter: str) -> list[str]:
    """Split a line of a table into its cells. In TSV a quote within a cell is a character."""
    if delimiter == "\t":
        cells = line.rstrip("\r\n").split("\t")
        return [_unquote(cell) for cell in cells]
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _unquote(cell: str) -> str:
    """Remove the quotes that spreadsheets put around a cell."""
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def find_delimiter(header: str) -> str:
    """Return the delimiter of a CSV header. Excel writes semicolons in many countries."""
    return ";" if header.count(";") > header.count(",") else ","


def looks_like_header(names: Sequence[str]) -> bool:
    """Return whether a line seems to be the header of a table of queries or judgments."""
    try:
        columns = assign_columns([name.strip() for name in names], {})
    except ColumnError:
        return True  # the reader says what is wrong
    return "query" in columns.names or {"id", "document"} <= columns.names.keys()


def recognize_format(file: DataFile, formats: Sequence[str], what: str) -> str:
    """Recognize the format of a file by its first line that says something, and its name.

    Args:
        file: The file.
        formats: The formats that can hold what is looked for.
        what: What is looked for: "queries" or "judgments".

    Raises:
        Mistake: The format is not recognized, or cannot hold this.
    """
    candidates = [file.format] if file.format else _guess_formats(file)
    if file.format == "beir" and "beir" not in formats:
        return "jsonl"  # BEIR has its queries in JSON lines
    for candidate in candidates:
        if candidate in formats:
            if file.columns and candidate in ("trec", "topics", "text"):
                message = f"This is {FORMAT_NAMES[candidate]}, which has no 'columns' to choose"
                raise Mistake(1, message, file.name)
            return candidate
    if candidates:
        message = f"This is {FORMAT_NAMES[candidates[0]]}, which has no {what}"
        raise Mistake(1, message, file.name)
    example = f"{{file: {file.path.name}, format: {formats[0]}}}"
    message = f"The format of these {what} is not recognized. Name it, as in {example}."
    raise Mistake(1, message, file.name)


def _guess_formats(file: DataFile) -> Sequence[str]:
    """Return the formats that a file may have, likeliest first."""
    head = ""
    for _, line in file.read_lines():
        if line.strip() and not is_comment(line):
            head = line
            break
    formats = []
    if head.lstrip().startswith("{"):
        formats.append("jsonl")
    if tuple(cell.strip() for cell in head.split("\t")) == BEIR_COLUMNS:
        formats.append("beir")
    if "\t" in head and looks_like_header(split_row(head, "\t")):
        formats.append("tsv")
    if looks_like_header(split_row(head, find_delimiter(head))):
        formats.append("csv")
    parts = head.split()
    if len(parts) == 4 and parse_number(parts[3]) is not None:
        formats.append("trec")
    if "\t" in head and re.fullmatch(r"#?\d+", head.partition("\t")[0].strip()):
        formats.append("topics")
    if formats or not head:
        return formats
    return {".csv": ["csv"], ".tsv": ["tsv"], ".txt": ["text"], "": ["text"]}.get(file.suffix, [])
