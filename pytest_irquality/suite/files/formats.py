"""The formats: how each is recognised, and how its lines become records.

A record is what one line says, under one set of names (``id``, ``query``, ``document``, ``grade``)
whatever the file calls them, with every value as the text that was written.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pytest_irquality.edges.near import did_you_mean
from pytest_irquality.edges.printable import OUR_COLUMNS, from_csv
from pytest_irquality.suite.rules import RULES
from pytest_irquality.suite.yaml import as_number, short

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "id": ("queryid", "qid", "topic", "id"),
    "query": ("query", "question", "searchterm", "keywords", "text"),
    "document": (
        "docid", "documentid", "doc", "document", "docno", "corpusid", "productid", "sku",
    ),
    "grade": ("rating", "grade", "score", "relevance", "label", "judgment", "gain"),
    "tags": ("tags", "tag"),
    "variants": ("variants", "variant"),
    "weight": ("weight",),
    "why": ("why",),
    "judge": ("judge", "annotator"),
    "date": ("date",),
    "decision": ("decision",),
    "note": ("note",),
    "passage": ("expectedpassage", "passage", "goldpassage"),
}  # fmt: skip
EXPECTATION = re.compile(
    "expect|gold|relevan|reference|context|passage|truth|answers?$|^docs?$|docid|document|positive"
    "|judge?ment|evidence|chunk|rating|grade|gt$"
)
"""A column's name that promises more than a query."""
# What a line of JSONL may hold besides, of the formats that are known: it says nothing of a query
# or a judgment.
PASSED = {"metadata", "title", "iteration", "createdat", "updatedat", "count"}
OF_QUERIES = (
    "query", "tags", "why", "weight", "variants", "params", "known_issue", *RULES, "id", "relevant",
    "thresholds",
)  # fmt: skip
PAIR = ("id", "query", "document", "grade", "judge", "date", "decision", "note")
BEIR_HEADER = ["query-id", "corpus-id", "score"]


class Bad(Exception):
    """A line that cannot be read, and where in it."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line, self.column = line, column


@dataclass(frozen=True)
class Record:
    """One line of a file: its number, its text as it stands, and what it says by name.

    ``further`` are keys of JSON as they came, ``ignored`` what says nothing of a query.
    """

    line: int
    raw: str
    cells: Mapping[str, str]
    further: Mapping[str, Any] = field(default_factory=dict)
    ignored: Sequence[str] = ()

    def fail(self, name: str, message: str) -> NoReturn:
        """Refuse the line for one of its cells."""
        cell = self.cells.get(name, "")
        find = (
            self.raw.rfind if name == "grade" else self.raw.find
        )  # a grade stands behind what may hold its digits
        raise Bad(self.line, max(find(cell) if cell else 0, 0) + 1, message)


@dataclass(frozen=True)
class Format:
    """A format of queries or judgments.

    ``what`` names it in errors. ``words``: a grade may be a word of the suite's ``grades``.
    """

    what: str
    records: Callable[[Iterable[str]], Iterator[Record]]
    words: bool = True


def meaningful(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor a comment, numbered."""
    return (
        (n, line) for n, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")
    )


# -- TREC and other lines without a header ---------------------------------------------------------


def trec(lines: Iterable[str]) -> Iterator[Record]:
    """TREC qrels: query, anything, document, grade, between white space."""
    for number, line in meaningful(lines):
        parts = re.split(r"[ \t\r\n\f\v]+", line.strip(" \t\r\n\f\v"))
        if len(parts) != 4:
            raise Bad(
                number,
                1,
                f"a line of TREC qrels is 'query 0 document grade', not {len(parts)} columns",
            )
        yield Record(number, line, {"id": parts[0], "document": parts[2], "grade": parts[3]})


def topics(lines: Iterable[str]) -> Iterator[Record]:
    """``id<TAB>text``, as TREC topics are handed round."""
    for number, line in meaningful(lines):
        id, tab, text = line.rstrip("\r\n").partition("\t")
        if not tab:
            raise Bad(number, 1, "a line of topics is an id, a tab and the query's text")
        yield Record(number, line, {"id": id, "query": text})


def plain(lines: Iterable[str]) -> Iterator[Record]:
    """One query a line."""
    return (Record(number, line, {"query": line.strip()}) for number, line in meaningful(lines))


# -- tables ----------------------------------------------------------------------------------------


def plainly(name: str) -> str:
    """A column's or key's name without case, hyphens and underscores."""
    return re.sub(r"[\W_]+", "", name.lower())


def named(names: Sequence[str]) -> dict[str, int]:
    """The column of each meaning, by its name in the usual spellings."""
    plain_names = list(map(plainly, names))
    found = {}
    for meaning, spellings in SPELLINGS.items():
        if spelling := next((spelling for spelling in spellings if spelling in plain_names), None):
            found[meaning] = plain_names.index(spelling)
    if "document" in found and "id" in found and plain_names[found["id"]] == "id":
        del found[
            "id"
        ]  # the row's own number, or anything; of a query or of a document nobody can tell
    return found


def cells_of(line: str, delimiter: str) -> list[str]:
    """A line of a table as its cells; in TSV a quote within a cell is just a character."""
    if delimiter == "\t":
        return [unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def unquoted(cell: str) -> str:
    """A TSV cell without the quotes that spreadsheets put round it."""
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def is_header(names: Sequence[str]) -> bool:
    """Tell whether a table with such columns holds queries or judgments."""
    found = named(names)
    return "query" in found or {"id", "document", "grade"} <= set(found)


def unread(names: Sequence[str], columns: Mapping[str, int]) -> Sequence[str]:
    """The names of columns that say nothing of a query.

    A document without a grade judges nothing, nor does a grade alone.
    """
    pair = {"document", "grade"}
    half = pair if not columns.keys() >= pair else ()
    read = {column for meaning, column in columns.items() if meaning not in half}
    return [name for column, name in enumerate(names) if column not in read]


def table(delimiters: str) -> Callable[[Iterable[str]], Iterator[Record]]:
    """The reader of tables with a header.

    Cells stand between the first of the delimiters that makes sense of the header.
    """

    def records(lines: Iterable[str]) -> Iterator[Record]:
        lines = iter(lines)
        start, header = next(meaningful(lines), (1, ""))
        delimiter = next((d for d in delimiters if is_header(cells_of(header, d))), delimiters[0])
        names = [name.strip() for name in cells_of(header, delimiter)]
        columns = named(names)
        ignored = unread(names, columns)
        read = from_csv if tuple(names) in OUR_COLUMNS else str
        if not is_header(names):
            there = ", ".join(short(name) for name in names[:8])
            raise Bad(
                start,
                1,
                "no header with a column for the query (query_id or query, docid, rating); it has"
                f" {there}",
            )
        for number, raw, row in rows(lines, delimiter, start):
            if not any(row) or (len(row) < len(names) and row[0].startswith("#")):
                continue
            if len(row) < len(names) or any(row[len(names) :]):
                raise Bad(number, 1, f"a line of {len(row)} cells under a header of {len(names)}")
            cells = {meaning: row[column].strip() for meaning, column in columns.items()}
            cells = {name: read(cell) for name, cell in cells.items()}
            yield Record(number, raw, cells, ignored=ignored)

    return records


def rows(lines: Iterator[str], delimiter: str, before: int) -> Iterator[tuple[int, str, list[str]]]:
    """Each row's first line, its last line's text, and its cells."""
    if delimiter == "\t":
        for number, line in enumerate(lines, before + 1):
            yield number, line, cells_of(line, delimiter)
        return
    last = ""

    def remembered() -> Iterator[str]:
        nonlocal last
        for last in lines:  # noqa: UP028 - kept for the errors
            yield last

    reader, number = csv.reader(remembered(), delimiter=delimiter, strict=True), before + 1
    try:
        for row in reader:
            yield number, last, row
            number = before + reader.line_num + 1
    except csv.Error as error:
        raise Bad(number, 1, f"not CSV: {error}") from None


# -- JSON lines ------------------------------------------------------------------------------------


class Number(str):
    """A number of JSON, as written: an id ``1.10`` stays one."""

    __slots__ = ()


class Repeated(ValueError):
    """A key that stands twice in a JSON object."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise Repeated(f"{short(next(key for key in keys if keys.count(key) > 1))} is given twice")
    return found


def no_number(text: str) -> NoReturn:
    """Refuse NaN and Infinity."""
    raise Repeated(f"{text} is no number")


DECODER = json.JSONDecoder(
    object_pairs_hook=once, parse_int=Number, parse_float=Number, parse_constant=no_number
)


def decoded(number: int, line: str) -> dict[str, Any]:
    """The object of JSON that a line is."""
    try:
        value = DECODER.decode(line)
    except json.JSONDecodeError as error:
        column = min(error.pos, len(line.rstrip())) + 1
        raise Bad(number, column, f"not JSON: {error.msg}") from None
    except RecursionError:
        raise Bad(number, 1, "not JSON: nested too deep") from None
    except ValueError as error:
        raise Bad(number, 1, str(error)) from None
    if not isinstance(value, dict):
        raise Bad(number, 1, "a line of JSONL is an object, {...}")
    return value


def jsonl(
    further: Iterable[str] = (), beside: Iterable[str] = ()
) -> Callable[[Iterable[str]], Iterator[Record]]:
    """The reader of a JSON object a line.

    Keys among ``further`` are kept as they are, those ``beside`` passed over; unknown ones are
    errors.
    """
    further = tuple(further)
    allowed = {*PASSED, "id", *map(plainly, beside)}  # the row's own id, where that is a document's
    seen: dict[tuple[str, ...], Mapping[str, str]] = {}

    def meanings(keys: tuple[str, ...]) -> Mapping[str, str]:
        found = {
            meaning: keys[column] for meaning, column in named(keys).items() if meaning in PAIR
        }
        for key in keys:
            if key not in (*further, *found.values()) and plainly(key) not in allowed:
                raise Repeated(f"unknown key {short(key)}{did_you_mean(key, further, 0.7)}")
        return found

    def records(lines: Iterable[str]) -> Iterator[Record]:
        for number, line in meaningful(lines):
            value = decoded(number, line)
            keys = tuple(value)
            if keys not in seen:
                try:
                    seen[keys] = meanings(keys)
                except Repeated as error:
                    raise Bad(number, 1, str(error)) from None
            cells = {}
            for meaning, key in seen[keys].items():
                cell = value[key]
                if cell is None or isinstance(cell, str):
                    cells[meaning] = str(cell or "")
                elif meaning in ("id", "query") or isinstance(cell, bool):
                    raise Bad(
                        number,
                        max(line.find(json.dumps(key)), 0) + 1,
                        f"{short(key)} must be text or a number",
                    )
            taken = seen[keys].values()
            rest = {
                key: value[key]
                for key in further
                if value.get(key) is not None and key not in taken
            }
            half = {"document", "grade"} & cells.keys()
            ignored = [] if len(half) == 2 else [seen[keys][name] for name in half]
            yield Record(number, line, cells, rest, ignored)

    return records


# -- which is it? ----------------------------------------------------------------------------------


def recognise(lines: Iterable[str], suffix: str) -> Iterator[str]:
    """The names of the formats a file may be in, likeliest first.

    Its first line that says anything tells, and its suffix.
    """
    _, head = next(meaningful(lines), (0, ""))
    if head.lstrip().startswith("{"):
        yield "jsonl"
    if [cell.strip() for cell in head.split("\t")] == BEIR_HEADER:
        yield "beir"
    for delimiter, name in (("\t", "tsv"), (",", "csv"), (";", "csv")):
        if is_header(cells_of(head, delimiter)):
            yield name
    parts = head.split()
    if len(parts) == 4 and as_number(parts[3]) is not None:
        yield "trec"
    if "\t" in head and head.partition("\t")[0].isdigit():
        yield "topics"
    if suffix == ".txt":
        yield "text"
