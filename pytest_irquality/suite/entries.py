"""Files that a suite names: the queries that they hold, and the judgments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

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
from pytest_irquality.suite.yaml import Document, Place, as_number, clipped, short

FURTHER_KEYS = tuple(key for key in QUERY_KEYS if key not in ("query", "id"))
"""Keys of a query that a line of JSONL may carry beside its text and its id."""


@dataclass(frozen=True)
class SuiteFiles:
    """The files of a suite at ``path``, as far as they were read; ``allowed`` are its folders.

    ``opened`` are all of them, ``notes`` says what they hold beside what is used.
    """

    path: Path
    document: Document
    written: WrittenSuite
    allowed: Allowed | None
    judging: list[JudgmentFile] = field(default_factory=list)
    opened: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

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

    def _read(self, source: Source) -> JudgmentFile:
        judgments = read_judgments(source, self.written.grades)
        self.judging.append(judgments)
        return judgments

    def _of_file(self, _: WrittenFile, source: Source) -> Iterator[WrittenQuery]:
        """The queries of a file, which may judge them as well."""
        by_text = self.written.match == "text"
        records, judges, note = read_queries(source, FURTHER_KEYS, by_text=by_text)
        if judges:
            self._read(source)
        if note:
            self.notes.append(note)
        return (self._query(record, source.name) for record in records)

    def _of_folder(self, entry: WrittenFile, source: Source) -> Iterator[WrittenQuery]:
        """The queries of a BEIR folder that its test split judges."""
        texts = beir_queries(source)
        records, _, _ = read_queries(texts, FURTHER_KEYS)
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
        if record.further:
            named = {name: cells[name] for name in ("query", "id", "why") if cells.get(name)}
            document = Document.of_json(shown, {**named, **record.further}, record.line)
            return replace(read_query(document), bulk=True)
        weight = as_number(cells.get("weight") or "1")
        if weight is None or weight < 0:
            self.document.fail_at(
                place, f"a weight must be a number of 0 or more, not {short(cells['weight'])}"
            )
        return WrittenQuery(
            query=cells["query"],
            id=cells.get("id") or None,
            why=cells.get("why") or None,
            tags=tags(record),
            variants=variants(record),
            weight=weight,
            place=place,
            bulk=True,
        )
