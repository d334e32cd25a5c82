"""Files of stored runs: JSONL with a header, a line a query, and a last line that says so.

The queries stand in suite order. The same format serves as a baseline (rankings alone, so that
equal rankings are equal bytes), as a kept run (with faults and times, to be judged again) and as
one share of a run. Every line stands for itself, so that a diff of two files reads as the list of
queries that changed. Each query has a blank line and one with its id before it: git merges changes
of neighbours, and queries that come or go beside a changed one, only where a line that nobody
changed is between the two.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_irquality.edges.codec import as_dict, fields_of
from pytest_irquality.edges.collector import no_cycles
from pytest_irquality.edges.open import Allowed, bounded_lines
from pytest_irquality.edges.write import write
from pytest_irquality.storage.provenance import UPDATE
from pytest_irquality.storage.rows import DamagedRowError, Row, Shared, query_of, row_of
from pytest_irquality.storage.stored import (
    DamagedRunError,
    Header,
    StoredQuery,
    StoredRun,
    StoredRunError,
    opened,
)

FORMAT = "pytest-irquality run"
VERSION = 2
END = {"end": FORMAT}  # a file that was cut off has none
OURS = json.dumps(FORMAT).encode()
SIDES = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
LABEL = b'"'  # with which the id before a query's line begins
NEEDED = ("suite", "path", "depth")  # of a header
TEXT_OF = b'"text_of":'  # texts stand once in a file, and rows have their keys
NAMED = 3

# -- writing ---------------------------------------------------------------------------------------


def write_run(path: Path, stored: StoredRun, allowed: Allowed | None = None) -> None:
    """Write a run, or leave the file as it is: nobody ever reads half of it. Raises ``OSError``."""
    write(path, _lines(stored), allowed)


def _lines(stored: StoredRun) -> Iterator[bytes]:
    yield header_line(stored.header)
    home, at = _homes(stored)
    for id, query in stored.queries.items():
        row = row_of(query)
        for key, text in _texts(row):
            if home.setdefault(key, id) == id:
                at[id][key] = text
        yield b"\n"
        yield line_of(id)
        yield line_of(row)
        yield from (line_of({"text": text}) for _, text in sorted(at.pop(id, {}).items()))
    yield b"\n"
    yield line_of(END)


def _homes(stored: StoredRun) -> tuple[dict[str, str], defaultdict[str, dict[str, str]]]:
    """The queries behind which texts stood, and the texts that still stand there, by their keys.

    A text stays where it was as long as any query has it: a change of one query is of no other.
    """
    home = {key: id for key, id in stored.homes.items() if id in stored.queries}
    at: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for query in stored.queries.values() if home else ():
        for key, text in _texts(row_of(query)):
            if key in home:
                at[home[key]][key] = text
    return home, at


def _texts(row: Row) -> Iterator[tuple[str, str]]:
    """The texts of a row, which is left with the key of each."""
    for part in _parts(row):
        if texts := part.pop("texts", None):
            part["text_of"] = {document: _key(text) for document, text in texts.items()}
            yield from zip(part["text_of"].values(), texts.values(), strict=True)


def _with_texts(row: Row, texts: Mapping[str, str]) -> Row:
    """A row with its texts. Raises ``DamagedRowError`` where one is missing."""
    for part in _parts(row):
        keys = part.pop("text_of", {})
        if not isinstance(keys, dict) or not all(key in texts for key in keys.values()):
            raise DamagedRowError(
                f"a text is missing, as a merge may leave it: write the file anew with `{UPDATE}`"
            )
        if keys:
            part["texts"] = {document: texts[key] for document, key in keys.items()}
    return row


def _parts(row: Row) -> Iterator[Row]:
    """The row of a query, and those of further answers and stages within it."""
    yield row
    stages, answers = row.get("stages"), row.get("answers")
    within = [*stages.values()] if isinstance(stages, dict) else []
    within += answers if isinstance(answers, list | tuple) else []
    for part in (*within, row.get("deeper")):
        if isinstance(part, dict):
            yield from _parts(part)


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def header_line(header: Header) -> bytes:
    """The first line of a run."""
    known = {name: value for name, value in as_dict(header).items() if value not in (None, "")}
    return line_of({"format": FORMAT, "format_version": VERSION, **known})


def line_of(data: Mapping[str, object] | str) -> bytes:
    """Data as a line of JSON."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        return (
            json.dumps(data, separators=(",", ":"), allow_nan=False, default=str).encode() + b"\n"
        )


# -- reading ---------------------------------------------------------------------------------------


def read_run(path: Path, shown: str | None = None, allowed: Allowed | None = None) -> StoredRun:
    """Read the run in a file, which messages call ``shown``.

    ``allowed``: the folders that it may lie in; None: anywhere. Raises ``StoredRunError`` where it
    is damaged or something else, ``OSError``.
    """
    with opened(path, shown or str(path), allowed) as file:
        return parse_run(bounded_lines(file), shown or str(path))


def read_header(path: Path, shown: str | None = None, allowed: Allowed | None = None) -> Header:
    """Read the header alone of the run in a file. Raises as ``read_run`` does."""
    with opened(path, shown or str(path), allowed) as file:
        return header_in(bounded_lines(file), shown or str(path))


@no_cycles()
def parse_run(lines: Iterable[bytes], shown: str) -> StoredRun:
    """The run in the lines of a file that messages call ``shown``. Raises ``StoredRunError``."""
    lines = iter(lines)
    header = header_in(lines, shown)
    queries = _Queries(shown)
    number, ended = 1, False
    for number, line in enumerate(lines, 2):
        where = f"{shown}:{number}"
        if not line.strip() or line.startswith(LABEL):
            continue
        if line.startswith(SIDES):
            raise DamagedRunError(f"{where}: {_conflict(lines)}")
        if ended:
            raise DamagedRunError(f"{where}: damaged: this stands behind its last line")
        data = object_on(line, where)
        if not (ended := data == END):
            queries.take(number, data, waits=TEXT_OF in line)
    if not ended:
        raise DamagedRunError(f"{shown}:{number}: damaged: it was cut off here")
    queries.end()
    return StoredRun(header, queries.found, queries.homes)


class _Queries:
    """The queries of a file, line by line; those with texts wait for these until its end."""

    def __init__(self, shown: str) -> None:
        self.found: dict[str, StoredQuery] = {}
        self.homes: dict[str, str] = {}
        self._shown = shown
        self._texts: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._shared: Shared = {}
        self._waiting: list[tuple[int, Row]] = []

    def take(self, number: int, data: Row, *, waits: bool) -> None:
        """Take the row or the text on a line."""
        if waits or (self._waiting and "id" in data):
            self._waiting.append((number, data))
        elif self._waiting and isinstance(text := data.get("text"), str):
            key = _key(text)
            self._texts[key], self.homes[key] = text, str(self._waiting[-1][1].get("id"))
        else:
            self._add(number, data)

    def end(self) -> None:
        """Add the rows that have waited. Raises ``StoredRunError``."""
        for number, row in self._waiting:
            self._add(number, row)

    def _add(self, number: int, row: Row) -> None:
        where = f"{self._shown}:{number}"
        try:
            query = query_of(_with_texts(row, self._texts), self._shared)
        except DamagedRowError as error:
            raise DamagedRunError(f"{where}: damaged: {error}") from None
        if self.found.get(query.id, query) != query:  # equal ones are of both sides of a merge
            raise DamagedRunError(
                f"{where}: the query {query.id!r} stands here twice (line {self._places[query.id]}"
                " is the other), as a merge may leave it: keep one, or write the file anew with"
                f" `{UPDATE}`"
            )
        self.found[query.id], self._places[query.id] = query, number


def _conflict(rest: Iterator[bytes]) -> str:
    """The message of a merge conflict, which is read to its end: it names the queries in it."""
    queries = dict[str, None]()
    for line in rest:
        if line.startswith(SIDES[-1]):
            break
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and isinstance(data.get("query"), str):
            queries[data["query"]] = None
    named = ", ".join(map(repr, islice(queries, NAMED)))
    more = f" and {len(queries) - NAMED} more" if len(queries) > NAMED else ""
    over = f" over {named}{more}" if queries else ""
    return (
        f"an unresolved merge conflict{over}: keep either line of each query, or write the"
        f" file anew with `{UPDATE}`"
    )


def header_in(lines: Iterable[bytes], shown: str) -> Header:
    """The header on the first of a file's lines. Raises ``StoredRunError``."""
    lines, where = iter(lines), f"{shown}:1"
    line = next(lines, b"")
    if line.startswith(SIDES[0]) and OURS in next(lines, b""):
        raise DamagedRunError(f"{where}: {_conflict(lines)}")
    data = object_on(line, where, StoredRunError)
    _refuse_other_formats(data, where)
    fields = fields_of(Header)
    header = {name: data[name] for name in fields if name in data}
    wrong = [name for name in NEEDED if name not in header]
    wrong += [name for name, value in header.items() if not fields[name].fits(value)]
    if wrong:
        raise DamagedRunError(f"{where}: damaged: no {wrong[0]!r} in the header, or no such thing")
    return Header(**header)


def _refuse_other_formats(data: Mapping[str, Any], where: str) -> None:
    if data.get("format") != FORMAT:
        raise StoredRunError(f"{where}: not a run that pytest-irquality wrote")
    version = data.get("format_version")
    if version != VERSION:
        raise StoredRunError(
            f"{where}: written in format {version}; this pytest-irquality reads format {VERSION}"
        )


def object_on(
    line: bytes, where: str, error: type[StoredRunError] = DamagedRunError
) -> dict[str, Any]:
    """The object on a line. Raises a ``StoredRunError``."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise error(f"{where}: {'not a line of JSON' if line.strip() else 'empty'}") from None
    if not isinstance(data, dict):
        raise error(f"{where}: not a JSON object")
    return data
