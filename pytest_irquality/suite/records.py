"""The formats of queries and judgments: how each is recognized, and how its lines become records.

A record is what one line says under one set of names (``id``, ``query``, ``document``, ``grade``),
whatever the file calls them, with every value as the text that was written. A table with two
columns that could be the grade is not guessed at, because the wrong one gives plausible values.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from pytest_irquality.io.escaping import unescape_csv_cell
from pytest_irquality.io.text import format_count
from pytest_irquality.suite.keys import QUERY_KEYS
from pytest_irquality.suite.kinds import list_words, parse_number, suggest
from pytest_irquality.suite.suite_files import DataFile
from pytest_irquality.suite.yaml_source import MappingNode, Mistake, ScalarNode, make_node, quote

# -- Columns

# By the spelling without case, hyphens and underscores. An engine's `score` is no grade.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("queryid", "qid", "topic"),
    "query": ("query", "question", "searchterm", "keywords"),
    "document": (
        "docid", "documentid", "doc", "document", "docno", "corpusid", "productid", "sku",
    ),
    "grade": (
        "rating", "grade", "relevance", "label", "judgment", "judgement", "gain", "escilabel",
    ),
    "tags": ("tags", "tag"),
    "variants": ("variants", "variant"),
    "weight": ("weight",),
    "why": ("why",),
    "assessor": ("assessor", "annotator", "judge"),
    "date": ("date",),
    "decision": ("decision",),
    "note": ("note",),
    "passage": ("expectedpassage", "passage", "goldpassage"),
}  # fmt: skip
# What counts only if no column has a better name for the same meaning.
GENERIC_SPELLINGS = {"id": ("id",), "query": ("text",)}
NAMES = {"id": "the id of the query", "why": "the reason", "tags": "the tags"}

TO_GRADE_COLUMNS = ("query", "docid", "rating", "title")
GRADED_COLUMNS = ("query_id", "query", "doc_id", "rating", "decision", "assessor", "date", "note")
BEIR_COLUMNS = ("query-id", "corpus-id", "score")


# A column's name that promises more than a query.
_EXPECTATION = re.compile(
    "expect|gold|relevan|reference|context|passage|truth|answers?$|^docs?$|docid|document|positive"
    "|judge?ment|evidence|chunk|rating|grade|gt$"
)


class ColumnError(ValueError):
    """The columns of a table have no clear meaning. The message says what to write."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table mean.

    Attributes:
        indexes: The position of each meaning.
        names: The name of the column of each meaning.
        ignored: The names of the columns without a meaning.
    """

    indexes: Mapping[str, int]
    names: Mapping[str, str]
    ignored: tuple[str, ...] = ()

    @property
    def has_judgments(self) -> bool:
        """Return whether each row has a judgment."""
        return {"document", "grade"} <= self.names.keys()

    @property
    def uses_esci_letters(self) -> bool:
        """Return whether grades are the letters of Amazon's ESCI data set."""
        return simplify(self.names.get("grade", "")) == "escilabel"

    def list_promising(self) -> list[str]:
        """Return the columns that are not read, and look as if they said what is to be found.

        A document without a grade judges nothing, and a grade alone does not either.
        """
        unread = [name for name in self.ignored if _EXPECTATION.search(simplify(name))]
        if not self.has_judgments:
            unread += [self.names[name] for name in ("document", "grade") if name in self.names]
        return unread

    def describe(self) -> str:
        """Say which column is what, for a note in the report."""
        parts = [f"'{name}' is {_name_meaning(meaning)}" for meaning, name in self.names.items()]
        ignored = f"; ignored: {list_words(self.ignored, 'and')}" if self.ignored else ""
        return ", ".join(parts) + ignored


def simplify(name: str) -> str:
    """Return a column's name without case, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", name.lower())


def assign_columns(names: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Find out which column has which meaning.

    Args:
        names: The header.
        chosen: The names that the suite gives, by meaning. They decide.

    Raises:
        ColumnError: Two columns could have one meaning, or a chosen one does not exist.
    """
    if tuple(names) == BEIR_COLUMNS:
        chosen = {"grade": BEIR_COLUMNS[-1], **chosen}
    indexes: dict[str, int] = {}
    for meaning, name in chosen.items():
        matches = [index for index, each in enumerate(names) if each == name]
        if not matches:
            known = list_words(names, "and")
            raise ColumnError(f"There is no column {quote(name)}. The columns are {known}.")
        if len(matches) > 1:
            raise ColumnError(f"There are {len(matches)} columns named {quote(name)}. Rename one.")
        indexes[meaning] = matches[0]
    simple_names = list(map(simplify, names))
    for meaning, spellings in SPELLINGS.items():
        if meaning in indexes:
            continue
        taken = set(indexes.values())
        for accepted in (spellings, GENERIC_SPELLINGS.get(meaning, ())):
            matches = [
                index
                for index, name in enumerate(simple_names)
                if name in accepted and index not in taken
            ]
            if len(matches) > 1:
                raise ColumnError(_explain_ambiguity(meaning, [names[index] for index in matches]))
            if matches:
                indexes[meaning] = matches[0]
                break
    if "document" in indexes and "id" not in chosen and simple_names[indexes.get("id", -1)] == "id":
        # The number of the row, of the query or of the document: nobody can tell.
        del indexes["id"]
    used = {meaning: names[index] for meaning, index in indexes.items()}
    taken = set(indexes.values())
    ignored = [name for index, name in enumerate(names) if index not in taken]
    return Columns(indexes, used, tuple(ignored))


def check_columns(columns: Columns, names: Sequence[str], *, holds_judgments: bool) -> None:
    """Check that a table can hold judgments, or queries.

    Raises:
        ColumnError: A column is missing.
    """
    has_query = "query" in columns.names or (holds_judgments and "id" in columns.names)
    if not has_query:
        raise ColumnError(explain_missing("query", names))
    for meaning in ("document", "grade") if holds_judgments else ():
        if meaning not in columns.names:
            raise ColumnError(explain_missing(meaning, names))


def _name_meaning(meaning: str) -> str:
    return NAMES.get(meaning, f"the {meaning}")


def _explain_ambiguity(meaning: str, names: Sequence[str]) -> str:
    if len(set(names)) == 1:
        return f"There are {len(names)} columns named {quote(names[0])}. Rename one."
    could = f"{list_words(names, 'and')} could both be {_name_meaning(meaning)}"
    return f"{could}. Choose one with columns: {{{meaning}: {_write_name(names[0])}}}."


def _write_name(name: str) -> str:
    """Return a column's name as it is written in a suite, or a word that stands for it."""
    return name if re.fullmatch(r"\w[\w ().-]{,39}", name) else "NAME"


def explain_missing(meaning: str, names: Sequence[str]) -> str:
    """Say that no column has a meaning, and how to name or choose one."""
    known = list_words(names, "and")
    spellings = {"query": "query", "document": "doc_id", "grade": "rating or grade"}[meaning]
    taken = {spelling for accepted in SPELLINGS.values() for spelling in accepted}
    free = [name for name in names if simplify(name) not in taken]
    example = _write_name(free[-1] if free else "")
    return (
        f"No column is {_name_meaning(meaning)}. The columns are {known}. Name one {spellings},"
        f" or write which it is, as in columns: {{{meaning}: {example}}}."
    )


# -- Records

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
            yield f"{self.file.name}: {format_count(self.comment_count, 'comment line')} ignored"

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
            check_columns(columns, names, holds_judgments=self.holds_judgments)
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
            value = decode_object(line, number, self.file.name)
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


def decode_object(line: str, number: int, name: str) -> dict[str, Any]:
    """Decode a line of JSON lines, with numbers as they are written.

    Raises:
        Mistake: The line is not a JSON object.
    """
    message = "A line of JSON lines must be an object, {...}"
    try:
        value = _DECODER.decode(line)
        if isinstance(value, dict):
            return value
    except RecursionError:
        message = "This is not JSON: it is nested too deep"
    except json.JSONDecodeError as error:
        message = f"This is not JSON: {error.msg} (column {error.pos + 1})"
    except ValueError as error:
        message = str(error)
    raise Mistake(number, message, name)


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


# -- Files of queries

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
        if not is_repeated and reader.columns and reader.columns.ignored:
            pair = (cells.get("id"), text)
            if pair in listed:
                # One row a judgment, and the grade or the document has an unknown name.
                names = [*reader.columns.names.values(), *reader.columns.ignored]
                missing = "grade" if "document" in cells else "document"
                reader.fail(1, explain_missing(missing, names))
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
