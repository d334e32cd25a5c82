"""Files that a suite names: the queries that they hold, and the judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_irquality.edges.open import Allowed
from pytest_irquality.suite.files.formats import Record
from pytest_irquality.suite.files.judgment_files import InFiles, JudgmentFile, read_judgments
from pytest_irquality.suite.files.queries import read_queries, tags, variants
from pytest_irquality.suite.files.source import Source, beir_qrels, beir_queries, sources
from pytest_irquality.suite.keys import (
    QUERY_KEYS,
    WrittenFile,
    WrittenQuery,
    WrittenSuite,
    read_query,
)
from pytest_irquality.suite.model import Query
from pytest_irquality.suite.yaml import Document, Place, SuiteError, as_number, clipped, short

FURTHER_KEYS = tuple(key for key in QUERY_KEYS if key not in ("query", "id"))
"""Keys of a query that a line of JSONL may carry beside its text and its id."""

OF_SHEETS: Mapping[str, Callable[[Record], Any]] = {
    "tags": tags,
    "variants": variants,
    "weight": lambda record: as_number(record.cells["weight"]),
}
"""Keys that a cell of a table writes in its own way."""


@dataclass(frozen=True)
class SuiteFiles:
    """The files of a suite at ``path``, as far as they were read; ``allowed`` are its folders.

    ``opened`` are all of them, ``promising`` are columns that look as if they said what is to be
    found, by the file that ignores them.
    """

    path: Path
    document: Document
    written: WrittenSuite
    allowed: Allowed | None
    judging: list[JudgmentFile] = field(default_factory=list)
    opened: list[Path] = field(default_factory=list)
    promising: dict[str, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def judged(self) -> InFiles:
        """The judgments of all files."""
        return InFiles(self.judging, {entry.name: entry.query for entry in self.entries})

    @cached_property
    def entries(self) -> list[WrittenQuery]:
        """Every query of the suite and of its files. Reads the files of judgments, too."""
        entries: list[WrittenQuery] = []
        for entry in self.written.queries:
            if isinstance(entry, WrittenQuery):
                entries.append(entry)
                continue
            for source in self._sources(entry):
                queries_of = self._of_folder if source.path.is_dir() else self._of_file
                entries += queries_of(entry, source)
        for file in self.written.judgments:
            for source in self._sources(file):
                folder = source.path.is_dir()
                self._read(beir_qrels(source) if folder else source)
        if not entries:
            place = self.written.places["queries"]
            self.document.fail_at(place, "'queries' is empty: no file has one")
        return entries

    def refuse_unjudged(self, queries: Iterable[Query]) -> None:
        """Refuse a file of which no query is held to anything, where a column looks otherwise."""
        held = {q.place.path for q in queries if q.judgments.grades or q.votes or q.demands}
        for file, columns in self.promising.items():
            if columns and file not in held:
                named = ", ".join(map(short, columns))
                message = (
                    f"nothing says what the queries of this file should find, and {named} is not"
                    " read: call passages 'expected passage' (under 'match: text'), documents"
                    " 'docid' with a 'rating', or leave it out"
                )
                raise SuiteError(file, 1, 1, message)

    def _read(self, source: Source) -> JudgmentFile:
        judgments = read_judgments(source, self.written.grades)
        self.judging.append(judgments)
        return judgments

    def _of_file(self, _: WrittenFile, source: Source) -> Iterator[WrittenQuery]:
        """The queries of a file, which may judge them as well."""
        by_text = self.written.match == "text"
        read = read_queries(source, FURTHER_KEYS, by_text=by_text)
        if read.judged:
            self._read(source)
        self.promising[source.name] = read.promising
        return (self._query(record, source.name) for record in read.records)

    def _of_folder(self, entry: WrittenFile, source: Source) -> Iterator[WrittenQuery]:
        """The queries of a BEIR folder that its test split judges."""
        texts = beir_queries(source)
        records = read_queries(texts, FURTHER_KEYS).records
        judgments = self._read(beir_qrels(source))
        queries = (self._query(record, texts.name) for record in records)
        return (query for query in queries if query.name in judgments.grades)

    def _sources(self, entry: WrittenFile) -> list[Source]:
        shown = Path(self.document.path).parent
        try:
            found = sources(entry.file, self.path.parent, shown, entry.format, self.allowed)
        except ValueError as error:
            message = str(error)
            looks_like_a_file = Path(entry.file).suffix and len(entry.file.split()) == 1
            if entry.bare and not looks_like_a_file:
                message += f"; did you mean `- query: {clipped(entry.file)}`?"
            self.document.fail_at(entry.place, message)
        self.opened.extend(source.path for source in found)
        return found

    def _query(self, record: Record, shown: str) -> WrittenQuery:
        """A query of a file; one of JSONL may carry whatever a query of a suite may."""
        cells = record.cells
        place = Place(record.line, 1, shown)
        sheet: dict[str, Any] = {
            name: read(record) for name, read in OF_SHEETS.items() if cells.get(name)
        }
        if (weight := sheet.get("weight", 1)) is None or weight < 0:
            self.document.fail_at(
                place, f"a weight must be a number of 0 or more, not {short(cells['weight'])}"
            )
        named: dict[str, Any] = {
            name: cells[name] for name in ("query", "id", "why") if cells.get(name)
        }
        if record.further:
            written = read_query(Document.of_json(shown, {**named, **record.further}, record.line))
        else:
            written = WrittenQuery(**named, place=place)
        return replace(written, bulk=True, **sheet)
