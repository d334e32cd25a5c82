"""Files of queries and judgments: how each format is recognized, and how lines become records.

A record has the values of a line as texts, under the same names for all formats: ``id``, ``query``,
``document``, ``grade`` and more. If two columns of a table could be the grade, that is a mistake,
because the wrong one has plausible values as well.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pytest_irquality.io import dataclass, decoding, field
from pytest_irquality.io.escaping import unescape_csv_cell
from pytest_irquality.io.files import FileError
from pytest_irquality.io.text import format_count
from pytest_irquality.suite.keys import FORMATS, QUERY_KEYS
from pytest_irquality.suite.kinds import list_words, parse_number, suggest
from pytest_irquality.suite.mistakes import Mistake, quote
from pytest_irquality.suite.yaml_source import Node, make_node

# -- Files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DataFile:
    """One file of queries, judgments or documents.

    Attributes:
        name: The path relative to the root of the project, for messages.
        format: The format, if the suite names it.
        columns: The names of columns by their meaning, if the suite has some.
        read_content: Reads the content, if the file is not on disk.
    """

    name: str
    path: Path
    format: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    read_content: Callable[[], bytes] | None = None

    def read_blocks(self) -> Iterator[str]:
        """Yield the text in blocks of complete lines, for readers of millions of lines.

        Raises:
            Mistake: The file cannot be read.
        """
        try:
            if self.read_content is None:
                yield from decoding.open_text_blocks(self.path)
            else:
                yield decoding.decode_text(self.read_content(), self.name)
        except FileError as error:
            raise Mistake(error.line or 1, error.message, self.name) from None
        except OSError as error:
            raise Mistake(1, f"The file cannot be read: {error}", self.name) from None

    def read_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, from 1.

        Raises:
            Mistake: The file cannot be read.
        """
        return decoding.number_lines(filter(None, self.read_blocks()))


# -- Columns ---------------------------------------------------------------------------------------

# Names of columns by their meaning, without case, hyphens and underscores. An engine's `score` is
# not a grade.
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
# Names that count only if no column has one of the names above.
GENERIC_SPELLINGS = {"id": ("id",), "query": ("text",)}
MEANING_NAMES = {"id": "the id of the query", "why": "the reason", "tags": "the tags"}

TO_GRADE_COLUMNS = ("query", "docid", "rating", "title")
GRADED_COLUMNS = ("query_id", "query", "doc_id", "rating", "decision", "assessor", "date", "note")
BEIR_COLUMNS = ("query-id", "corpus-id", "score")


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

    def describe(self) -> str:
        """Say which column is what, for a note in the report."""
        parts = [f"'{name}' is {name_meaning(meaning)}" for meaning, name in self.names.items()]
        ignored = f"; ignored: {list_words(self.ignored, 'and')}" if self.ignored else ""
        return ", ".join(parts) + ignored


def simplify(name: str) -> str:
    """Return a column's name without case, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", name.lower())


def assign_columns(names: Sequence[str], chosen: Mapping[str, str]) -> Columns:
    """Find out which column has which meaning.

    Args:
        names: The header.
        chosen: The names of columns in the suite, by meaning. They come first.

    Raises:
        ColumnError: Two columns could have one meaning, or a chosen one does not exist.
    """
    if tuple(names) == BEIR_COLUMNS:
        chosen = {"grade": BEIR_COLUMNS[-1], **chosen}
    indexes: dict[str, int] = {}
    for meaning, name in chosen.items():
        if name not in names:
            known = list_words(names, "and")
            raise ColumnError(f"There is no column {quote(name)}. The columns are {known}.")
        if names.count(name) > 1:
            raise ColumnError(_explain_ambiguity(meaning, [name, name]))
        indexes[meaning] = names.index(name)
    simple_names = list(map(simplify, names))
    for meaning, spellings in SPELLINGS.items():
        for accepted in (spellings, GENERIC_SPELLINGS.get(meaning, ())):
            matches = []
            for index, name in enumerate(simple_names):
                if name in accepted and index not in indexes.values():
                    matches.append(index)
            if meaning in indexes or not matches:
                continue
            if len(matches) > 1:
                raise ColumnError(_explain_ambiguity(meaning, [names[index] for index in matches]))
            indexes[meaning] = matches[0]
    if "document" in indexes and "id" not in chosen and simple_names[indexes.get("id", -1)] == "id":
        # It may be the number of the row, of the query or of the document.
        del indexes["id"]
    if "document" in indexes and "grade" not in indexes and "score" in simple_names:
        # The scores of an engine would be plausible grades.
        raise ColumnError(explain_missing("grade", names))
    names_by_meaning = {meaning: names[index] for meaning, index in indexes.items()}
    used_indexes = set(indexes.values())
    ignored = [name for index, name in enumerate(names) if index not in used_indexes]
    return Columns(indexes, names_by_meaning, tuple(ignored))


def name_meaning(meaning: str) -> str:
    """Return the name of a meaning in messages."""
    return MEANING_NAMES.get(meaning, f"the {meaning}")


def _explain_ambiguity(meaning: str, names: Sequence[str]) -> str:
    if len(set(names)) == 1:
        return f"There are {len(names)} columns named {quote(names[0])}. Rename one."
    message = f"{list_words(names, 'and')} could both be {name_meaning(meaning)}"
    return f"{message}. Choose one with columns: {{{meaning}: {quote(names[0])}}}."


def explain_missing(meaning: str, names: Sequence[str]) -> str:
    """Say that no column has this meaning, and how to name or choose one."""
    known = list_words(names, "and")
    spellings = {"query": "query", "document": "doc_id", "grade": "rating or grade"}[meaning]
    known_spellings = set(chain.from_iterable(SPELLINGS.values()))
    unknown = [name for name in names if simplify(name) not in known_spellings]
    example = quote(unknown[-1]) if unknown else "NAME"
    return (
        f"No column is {name_meaning(meaning)}. The columns are {known}. Rename one to"
        f" {spellings}, or choose one with columns: {{{meaning}: {example}}}."
    )


# -- Records ---------------------------------------------------------------------------------------

QUERY_FORMATS = ("jsonl", "csv", "tsv", "topics", "text")
JUDGMENT_FORMATS = ("trec", "beir", "jsonl", "csv", "tsv")
# Keys of JSON lines that say nothing about a query or judgment.
_IGNORED_KEYS = ("id", "metadata", "title", "iteration", "createdat", "updatedat", "count")
# Keys of a query that a line of JSON may have next to its text and id, as in a suite.
_QUERY_KEYS = tuple(key for key in QUERY_KEYS if key not in ("query", "id"))
_JSON_MEANINGS = ("id", "query", "document", "grade", "assessor", "date", "decision", "note")
_SPACE = " \t\r\n\f\v"


class Record(NamedTuple):
    """The values of one line.

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
        columns: The meaning of the columns, once the header was read.
        comment_count: How many comment lines were ignored so far.
    """

    file: DataFile
    format: str
    holds_judgments: bool = False
    columns: Columns | None = None
    comment_count: int = 0
    # The key of each meaning, by the keys of a JSON object.
    _meanings_by_keys: dict[tuple[str, ...], Mapping[str, str]] = field(default_factory=dict)

    def read(self) -> Iterator[Record]:
        """Yield the records.

        Raises:
            Mistake: A line cannot be read.
        """
        readers: Mapping[str, Callable[[Iterator[tuple[int, str]]], Iterator[Record]]] = {
            "trec": self._read_trec,
            "topics": self._read_topics,
            "text": self._read_list,
            "jsonl": self._read_json,
        }
        # All other formats are tables.
        read = readers.get(self.format, self._read_table)
        return read(self.file.read_lines())

    def list_notes(self) -> Iterator[str]:
        """Yield remarks for the report: the columns used and the lines ignored."""
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

    # -- Lines without a header --------------------------------------------------------------------

    def _read_trec(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            parts = re.split(rf"[{_SPACE}]+", line.strip(_SPACE))
            if len(parts) != 4:
                message = "A line of TREC qrels is 'query 0 document grade'"
                self.fail(number, f"{message}, but this has {len(parts)} columns")
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

    # -- Tables ------------------------------------------------------------------------------------

    def _read_table(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        start, header = next(self._iter_data(lines), (1, ""))
        delimiter = "\t" if self.format in ("tsv", "beir") else find_delimiter(header)
        names = [name.strip() for name in split_row(header, delimiter)]
        indexes = self._assign_columns(names, start).indexes.items()
        # Cells of our own files are escaped, so that a spreadsheet runs no formula in them.
        is_own = tuple(names) in (TO_GRADE_COLUMNS, GRADED_COLUMNS)
        for number, row in iter_rows(lines, delimiter, start + 1, self.file.name):
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

    def _assign_columns(self, names: Sequence[str], line: int) -> Columns:
        try:
            columns = assign_columns(names, self.file.columns)
        except ColumnError as error:
            self.fail(line, str(error))
        required = ["query"]
        if self.holds_judgments:
            query = "id" if "id" in columns.names else "query"
            required = [query, "document", "grade"]
        for meaning in required:
            if meaning not in columns.names:
                self.fail(line, explain_missing(meaning, names))
        self.columns = columns
        return columns

    # -- JSON lines --------------------------------------------------------------------------------

    def _read_json(self, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
        for number, line in self._iter_data(lines):
            value = decode_object(line, number, self.file.name)
            keys = tuple(value)
            if keys not in self._meanings_by_keys:
                self._meanings_by_keys[keys] = self._find_json_meanings(number, keys)
            cells = {}
            for meaning, key in self._meanings_by_keys[keys].items():
                cells[meaning] = value.pop(key) or ""
                if not isinstance(cells[meaning], str):
                    self.fail(number, f"{quote(key)} must be text or a number")
            extra = {} if self.holds_judgments else value
            yield Record(number, cells, extra)
        known = {key for keys in self._meanings_by_keys for key in keys}
        for name in self.file.columns.values():
            if name not in known:
                self.fail(1, f"No line has the key {quote(name)} that 'columns' names")

    def _find_json_meanings(self, number: int, keys: tuple[str, ...]) -> Mapping[str, str]:
        """Return the key of each meaning for objects that have these keys."""
        chosen = {meaning: key for meaning, key in self.file.columns.items() if key in keys}
        # Keys of a query in a suite have lists and mappings here, not cells.
        plain = [key for key in keys if key not in _QUERY_KEYS]
        try:
            columns = assign_columns(plain, chosen)
        except ColumnError as error:
            self.fail(number, str(error))
        names = {key: columns.names[key] for key in _JSON_MEANINGS if key in columns.names}
        if {"document", "grade"} <= names.keys():
            self.columns = self.columns or columns
        else:
            for meaning in ("document", "grade"):
                names.pop(meaning, None)
        for key in plain:
            if key not in columns.names.values() and simplify(key) not in _IGNORED_KEYS:
                hint = suggest(key, _QUERY_KEYS)
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
            if not decoding.exceeds_nesting(value):
                return value
            message = f"This is nested deeper than {decoding.MAX_NESTING} levels"
    except RecursionError:
        message = f"This is nested deeper than {decoding.MAX_NESTING} levels"
    except json.JSONDecodeError as error:
        message = f"This is not JSON: {error.msg} (column {error.pos + 1})"
    except ValueError as error:
        message = str(error)
    raise Mistake(number, message, name)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{quote(repeated)} appears twice in this object")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_make_object,
    parse_int=JsonNumber,
    parse_float=JsonNumber,
    parse_constant=_refuse_constant,
)


# -- Recognizing -----------------------------------------------------------------------------------


def is_comment(line: str) -> bool:
    """Return whether a line is a comment: ``#`` alone, or followed by space.

    ``#teatime`` is a query, and ``#1`` an id.
    """
    rest = line.lstrip("#")
    return rest != line and (not rest or rest[0].isspace())


def iter_rows(
    lines: Iterable[tuple[int, str]], delimiter: str, number: int, name: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a table with its first line.

    Args:
        lines: The lines with their numbers.
        delimiter: A tab, or the delimiter of CSV.
        number: The number of the first line.
        name: The file, for messages.

    Raises:
        Mistake: A line is not CSV.
    """
    if delimiter == "\t":
        for line_number, line in lines:
            yield line_number, split_row(line, delimiter)
        return
    reader = csv.reader((f"{line}\n" for _, line in lines), delimiter=delimiter, strict=True)
    first = number
    try:
        for row in reader:
            yield number, row
            number = first + reader.line_num
    except csv.Error as error:
        raise Mistake(number, f"This is not CSV: {error}", name) from None


def split_row(line: str, delimiter: str) -> list[str]:
    """Split a line of a table into its cells. In TSV, a quote inside a cell is a character."""
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
        return True  # The reader reports it.
    return "query" in columns.names or {"id", "document"} <= columns.names.keys()


def recognize_format(file: DataFile, formats: Sequence[str], content: str) -> str:
    """Recognize the format of a file by its first line with data, and by its name.

    Args:
        file: The file.
        formats: The formats that can have this content.
        content: The content for messages: "queries" or "judgments".

    Raises:
        Mistake: The format is not recognized, or cannot have this content.
    """
    lines = (line for _, line in file.read_lines() if line.strip() and not is_comment(line))
    head = next(lines, "")
    if not head:
        raise Mistake(1, "The file has no data", file.name)
    candidates = [file.format] if file.format else _guess_formats(file, head)
    if file.format == "beir" and "beir" not in formats:
        return "jsonl"  # BEIR has queries in JSON lines.
    for candidate in candidates:
        if candidate in formats:
            if file.columns and candidate in ("trec", "topics", "text"):
                message = f"This is {FORMATS[candidate]}, which has no 'columns' to choose"
                raise Mistake(1, message, file.name)
            return candidate
    if candidates:
        message = f"This is {FORMATS[candidates[0]]}, which has no {content}"
        raise Mistake(1, message, file.name)
    example = f"{{file: {file.path.name}, format: {formats[0]}}}"
    message = f"The format of these {content} is not recognized. Name it, as in {example}."
    raise Mistake(1, message, file.name)


def _guess_formats(file: DataFile, head: str) -> Sequence[str]:
    """Return the formats that a file with this first line may have, likeliest first."""
    if head.lstrip().startswith("["):
        message = "This is a JSON list. Write one object on each line, without commas between them."
        raise Mistake(1, message, file.name)
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
    if formats:
        return formats
    suffix = Path(file.path.name.removesuffix(".gz")).suffix.lower()
    if suffix in ("", ".txt"):
        return ["topics" if re.fullmatch(r"\S+\t[^\t]+", head) else "text"]
    return {".csv": ["csv"], ".tsv": ["tsv"]}.get(suffix, [])


# -- Files of queries ------------------------------------------------------------------------------

_CELL_SEPARATORS = {"tags": r"[;,|]", "variants": r"[|\n]"}  # a query may have commas


class QueryFile(NamedTuple):
    """The queries of one file.

    Attributes:
        nodes: Each query as the suite would write it, with its line.
        has_judgments: Whether the file is to be read as judgments as well.
        notes: Remarks for the report.
    """

    nodes: Sequence[Node]
    has_judgments: bool
    notes: Sequence[str]


def read_query_file(file: DataFile, *, matches_text: bool = False) -> QueryFile:
    """Read the queries of a file, each once.

    Args:
        file: The file.
        matches_text: Whether the suite has ``match: text``, so a column of passages is read.

    Raises:
        Mistake: The file cannot be read.
    """
    reader = RecordReader(file, recognize_format(file, QUERY_FORMATS, "queries"))
    queries: dict[object, tuple[Record, dict[str, None]]] = {}
    has_judgments = False
    repeated_count = 0
    for record in reader.read():
        cells, columns = record.cells, reader.columns
        text = cells.get("query", "").strip()
        if not text:
            reader.fail(record.line, "This line has no query")
        is_judged = "document" in cells and "grade" in cells
        has_judgments = has_judgments or is_judged
        passage = "" if is_judged else cells.get("passage", "").strip()
        if passage and columns and not matches_text:
            message = f"'{columns.names['passage']}' has passages, which only 'match: text' finds"
            reader.fail(1, f"{message}. Write that into the suite, or rename the column.")
        key = (cells.get("id"), text)
        if key in queries and not is_judged and "passage" not in cells:
            if columns and columns.ignored:
                # There is a row for each judgment, but its grade or document was not recognized.
                missing = "grade" if "document" in cells else "document"
                names = [*columns.names.values(), *columns.ignored]
                reader.fail(1, explain_missing(missing, names))
            repeated_count += 1
            continue
        _, passages = queries.setdefault(key, (record, {}))
        if passage:
            passages[passage] = None
    nodes = [_make_query_node(record, list(passages)) for record, passages in queries.values()]
    notes = [] if has_judgments else list(reader.list_notes())
    if repeated_count:
        number = format_count(repeated_count, "repeated query", "repeated queries")
        notes.append(f"{file.name}: {number} ignored")
    return QueryFile(nodes, has_judgments, notes)


def _make_query_node(record: Record, passages: list[str]) -> Node:
    """Make the node that the query would have in a suite."""
    values: dict[str, Any] = {}
    for name in ("query", "id", "why"):
        if record.cells.get(name, "").strip():
            values[name] = record.cells[name].strip()
    for name, separators in _CELL_SEPARATORS.items():
        parts = [part.strip() for part in re.split(separators, record.cells.get(name, ""))]
        if any(parts):
            values[name] = list(dict.fromkeys(filter(None, parts)))
    if record.cells.get("weight", "").strip():
        values["weight"] = JsonNumber(record.cells["weight"].strip())
    if passages:
        values["relevant"] = passages
    return make_node({**values, **record.extra}, record.line)
