"""Parse the queries of a suite, which are inline, in files, or made from documents (probes).

``FileFinder`` finds the files, in the working tree or in a commit.
"""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from glob import escape, has_magic
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.files import FileError, find_matching_files
from pytest_irquality.io.text import format_count
from pytest_irquality.metrics import Judgments
from pytest_irquality.suite import kinds
from pytest_irquality.suite.data_files import DataFile, read_query_file
from pytest_irquality.suite.keys import FILE, FILE_KEYS, KEYS_OF_SUITES, QUERY_KEYS
from pytest_irquality.suite.kinds import Fields, describe_node
from pytest_irquality.suite.mistakes import Location, Mistake, MistakeList, quote, shorten
from pytest_irquality.suite.model import VARIANT_TAG, Query, Settings
from pytest_irquality.suite.rules import RULES, Rule
from pytest_irquality.suite.thresholds import ThresholdParser, check_for_query
from pytest_irquality.suite.yaml_source import ListNode, MappingNode, Node, ScalarNode, explain_line

if TYPE_CHECKING:
    from pytest_irquality.suite.judgment_files import JudgmentFile, JudgmentFiles


_QUERY_AND_FILE_KEYS = {*QUERY_KEYS, *FILE_KEYS}
# The keys whose values are attributes of the query as they are.
_ATTRIBUTE_KEYS = QUERY_KEYS.keys() & Query.__dataclass_fields__.keys()
_ATTRIBUTE_KEYS -= {"id", "params", "thresholds", "known_issue"}


class MissingFile(Mistake):
    """There is no file with this name."""


class SuiteFiles(Protocol):
    """Files from another place than the working tree, such as a commit.

    Paths are relative to the root of the project, with ``/``.
    """

    def read_bytes(self, path: str) -> bytes:
        """Return the content of a file.

        Raises:
            OSError: There is no such file. The message is shown to the user.
        """

    def list_files(self) -> Iterable[str]:
        """Return the paths of all files, for patterns and BEIR folders."""


@dataclass
class FileFinder:
    """Finds the files that one suite names.

    Attributes:
        file_names: The names of all files that were found, in order.
    """

    _folder_name: str
    _suite_path: Path
    _access: FileAccess
    _source: SuiteFiles | None
    file_names: dict[str, None] = field(default_factory=dict)

    def find(
        self, written: str, line: int, format: str = "", columns: Mapping[str, str] | None = None
    ) -> list[DataFile]:
        """Find the files of a path or pattern, which is relative to the suite.

        Raises:
            Mistake: The suite must not read it. ``MissingFile`` if there is no such file.
        """
        try:
            names = self._match(written)
        except FileError as error:
            raise Mistake(line, f"{quote(written)}: {error.message}") from None
        except OSError as error:
            message = f"{quote(written)} cannot be read: {error.strerror or error}"
            raise Mistake(line, message) from None
        if not names:
            what = "No file matches" if has_magic(written) else "There is no file"
            raise MissingFile(line, f"{what} {quote(written)}")
        files = []
        for name in names:
            path = self._suite_path.parent / self._get_relative_name(name)
            read_content = partial(self._source.read_bytes, name) if self._source else None
            file = DataFile(name, path, format, columns or {}, read_content)
            files.append(file)
            if not self.is_folder(file):
                self.file_names[name] = None
        return files

    def find_part(self, folder: DataFile, name: str) -> DataFile:
        """Find a file in a BEIR folder, compressed or not."""
        names = [f"{folder.name}/{name}", f"{folder.name}/{name}.gz"]
        committed = set(self._source.list_files()) if self._source else set()
        # The working tree may have the other file. Then a commit still has its own.
        for each in sorted(names, key=lambda each: each not in committed):
            written = self._get_relative_name(each)
            with suppress(MissingFile):
                return self.find(written, 1, folder.format, folder.columns)[0]
        message = f"The folder is not a BEIR data set, because it has no {name}"
        raise Mistake(1, message, folder.name)

    def is_folder(self, file: DataFile) -> bool:
        """Return whether a file is a folder, as BEIR's data sets are."""
        if self._source is None:
            return file.path.is_dir()
        return any(name.startswith(f"{file.name}/") for name in self._source.list_files())

    def _match(self, written: str) -> list[str]:
        """Return the names of the files of a path or pattern."""
        if self._source is None:
            folder = self._suite_path.parent
            matches = [written] if (folder / written).exists() else []
            if not matches and has_magic(written):
                matches = find_matching_files(written, folder)
            self._access.check_data_files([folder / match for match in matches], self._suite_path)
            return [_join_names(self._folder_name, match) for match in matches]
        name = _join_names(self._folder_name, written)
        names = set(self._source.list_files())
        if name in names or any(each.startswith(f"{name}/") for each in names):
            return [name]
        same_depth = [each for each in names if each.count("/") == name.count("/")]
        # The name of the suite's folder is no pattern.
        pattern = _join_names(escape(self._folder_name), written)
        matches = [each for each in same_depth if fnmatchcase(each, pattern)]
        # A file that is named exactly may be untracked. Then it is read from the working tree.
        is_untracked = (self._suite_path.parent / written).exists()
        return sorted(matches) or ([name] if is_untracked else [])

    def _get_relative_name(self, name: str) -> str:
        return posixpath.relpath(name, self._folder_name or ".")


def _join_names(folder_name: str, written: str) -> str:
    """Return a path in a suite as a path relative to the root of the project."""
    return posixpath.normpath(posixpath.join(folder_name, written.replace("\\", "/")))


@dataclass
class _QueryEntry:
    """A query as read, before judgments from files are known."""

    id: str
    text: str
    fields: Fields
    location: Location
    is_sampled: bool = False


@dataclass
class QueryParser:
    """Parses the queries of one suite.

    Attributes:
        fields: The keys of the suite.
        notes: Remarks for the report, once the queries are parsed.
    """

    path: str
    fields: Fields
    settings: Settings
    thresholds: ThresholdParser
    finder: FileFinder
    mistakes: MistakeList
    notes: list[str] = field(default_factory=list)
    _judgment_files: list[JudgmentFile] = field(default_factory=list)
    _query_ids: set[str] = field(default_factory=set)
    # The grade of each text, because few grades are written often.
    _known_grades: dict[str, float] = field(default_factory=dict)

    def parse(self) -> list[Query]:
        """Parse all queries, and make the variants and probes.

        Mistakes are collected.

        Raises:
            Mistake: There are no queries.
        """
        self._params: Mapping[str, Any] = self.fields.get("params", {})
        self._grade_words: Mapping[str, float] = self.fields.get("grades", {})
        self._relevant_grade = max(1.0, self.settings.relevant_from)
        if "probes" in self.fields.values:
            return self._parse_probes()
        return self._parse_queries()

    def _parse_queries(self) -> list[Query]:
        from pytest_irquality.suite.judgment_files import JudgmentFiles

        entries = self._read_entries()
        self._check_ids(entries)
        self.mistakes.raise_any()
        files = JudgmentFiles(self._judgment_files, {entry.id: entry.text for entry in entries})
        queries: list[Query] = []
        for entry in entries:
            with self.mistakes.collect(entry.location.path):
                query = self._parse_query(entry, files)
                queries.append(query)
                queries += self._make_variants(query, entry)
        self.notes += files.list_notes()
        return queries

    def _read_entries(self) -> list[_QueryEntry]:
        """Read all queries and all files of judgments."""
        entries: list[_QueryEntry] = []
        queries = self.fields.get("queries")
        if isinstance(queries, MappingNode) and not _has_known_key(queries, _QUERY_AND_FILE_KEYS):
            for key, _ in queries.entries:
                name = key.text if isinstance(key, ScalarNode) else "TEXT"
                hint = f"Write {quote(f'- query: {name}')}."
                raise Mistake(key.line, f"Queries are a list. {hint}")
        for item in _list_items(queries):
            with self.mistakes.collect():
                if isinstance(item, MappingNode) and not _has_known_key(item, FILE_KEYS):
                    entries.append(self._read_entry(item, self.path))
                else:
                    for file in self._find_files(item, is_query=True):
                        entries += self._read_query_source(file)
        for item in _list_items(self.fields.get("judgments")):
            with self.mistakes.collect():
                for file in self._find_files(item):
                    self._read_judgments(file)
        self.mistakes.raise_any()
        if not entries:
            raise Mistake(self.fields.get_line("queries"), "There is no query under 'queries'")
        return entries

    def _find_files(self, node: Node, *, is_query: bool = False) -> list[DataFile]:
        """Find the files that an entry of ``queries`` or ``judgments`` names."""
        if not isinstance(node, ScalarNode):
            if is_query and isinstance(node, ListNode):
                kinds.read_entries(node, "a query")  # raises
            values = FILE.read(node, "a file")
            format, columns = values.get("format", ""), values.get("columns")
            return self.finder.find(values["file"], node.line, format, columns)
        written = kinds.read_text(node, "The path of a file")
        try:
            return self.finder.find(written, node.line)
        except MissingFile as mistake:
            explanation = explain_line(written)
            if explanation:
                raise Mistake(node.line, explanation) from None
            looks_like_path = Path(written).suffix and " " not in written
            if not is_query or looks_like_path:
                raise
            if node.comment:
                written = f'"{written} {node.comment}"'
            hint = f"For a query, write {quote(f'- query: {written}')}."
            raise Mistake(node.line, f"{mistake}. {hint}") from None

    def _read_query_source(self, file: DataFile) -> Iterator[_QueryEntry]:
        """Read the queries of a file, or those of a BEIR folder that its test split judges."""
        judged_ids = None
        if self.finder.is_folder(file):
            judged_ids = self._read_judgments(file)
            file = self.finder.find_part(file, "queries.jsonl")
        queries = read_query_file(file, matches_text=self.settings.match == "text")
        self.notes += queries.notes
        if queries.has_judgments:
            self._read_judgments(file)
        for node in queries.nodes:
            with self.mistakes.collect(file.name):
                entry = self._read_entry(node, file.name, is_sampled=True)
                if judged_ids is None or entry.id in judged_ids:
                    yield entry

    def _read_judgments(self, file: DataFile) -> Mapping[str, object]:
        """Read a file of judgments, or the test split of a BEIR folder. Return what it judges."""
        from pytest_irquality.suite.judgment_files import read_judgment_file

        if self.finder.is_folder(file):
            file = self.finder.find_part(file, "qrels/test.tsv")
        judgments = read_judgment_file(file, self._grade_words)
        self._judgment_files.append(judgments)
        return judgments.grades

    def _read_entry(self, node: Node, path: str, *, is_sampled: bool = False) -> _QueryEntry:
        report = partial(self.mistakes.add, path=path)
        fields = kinds.read_fields(node, QUERY_KEYS, "a query", report, elsewhere=KEYS_OF_SUITES)
        values = fields.values
        if "query" not in values:
            # This mistake was reported. With a placeholder, the other keys can be checked, too.
            values["query"] = f"\0{path}:{node.line}"
        text = values["query"]
        location = Location(path, node.line)
        return _QueryEntry(values.get("id") or text, text, fields, location, is_sampled)

    def _check_ids(self, entries: Sequence[_QueryEntry]) -> None:
        entries_by_id: dict[str, _QueryEntry] = {}
        self._query_ids.update(entry.id for entry in entries)
        for entry in entries:
            other = entries_by_id.setdefault(entry.id, entry)
            if other is entry:
                continue
            key = "id" if "id" in entry.fields.lines else "query"
            line = entry.fields.get_line(key)
            place = f"on line {other.fields.get_line(key)}"
            if other.location.path != entry.location.path:
                place = f"in {other.location}"
            hint = "" if key == "id" else ". Give one of the two queries an 'id'."
            message = f"The id {quote(entry.id)} is already used {place}{hint}"
            self.mistakes.add(Mistake(line, message), entry.location.path)

    def _parse_query(self, entry: _QueryEntry, files: JudgmentFiles) -> Query:
        """Make a query from an entry and its judgments in files."""
        values, location = entry.fields.values, entry.location
        inline = self._parse_relevant(values.get("relevant"))
        grades, assessor_grades = files.join(entry.id, inline)
        attributes: dict[str, Any] = {"params": self._params}
        rules = []
        for name, value in values.items():
            if name in _ATTRIBUTE_KEYS:
                attributes[name] = value
                continue
            place = Location(location.path, entry.fields.lines.get(name, location.line))
            if name in RULES:
                rule = RULES[name].make(value, place)
                if rule:
                    rules.append(rule)
            elif name == "params":
                attributes[name] = {**self._params, **value}
            elif name == "known_issue":
                attributes[name] = replace(value, location=place)
        query = Query(
            entry.id,
            entry.text,
            Judgments(grades, self.settings.relevant_from),
            tuple(rules),
            is_sampled=entry.is_sampled,
            assessor_grades=assessor_grades,
            location=location,
            **attributes,
        )
        for rule in rules:
            check_params(rule, [query])
        if query.expects_no_results:
            self._check_expected_nothing(entry, query.judgments)
        if self.settings.match == "text":
            query = replace(query, passages=self._collect_passages(entry, query))
        if "thresholds" in values:
            block = self.thresholds.parse_block(values["thresholds"], "'thresholds'", location.path)
            query = replace(query, thresholds=tuple(block))
            for threshold in query.thresholds:
                check_for_query(threshold, query.judgments)
        return query

    def _parse_relevant(self, node: Node | None) -> dict[str, float]:
        """Parse documents with their grades, or a list of relevant documents."""
        if node is None:
            return {}
        if isinstance(node, ListNode):
            return dict.fromkeys(kinds.TEXT_LIST.read(node, "'relevant'"), self._relevant_grade)
        if isinstance(node, ScalarNode) and node.text:
            written = shorten(node.text)
            hint = f"Write [{written}]."
            doc_id, colon, number = written.rpartition(":")
            if colon and number.isdecimal() and " " not in written:
                hint = f"Write '{doc_id}: {number}' with a space, or [{written}]."
            raise Mistake(node.line, f"'relevant' must be a list or a mapping to grades. {hint}")
        kinds.refuse_decimal_comma(node)
        grades = {}
        for key, value in kinds.read_entries(node, "'relevant'"):
            if not isinstance(value, ScalarNode):
                message = f"The grade of {quote(key.text)} must be a number"
                raise Mistake(value.line, f"{message}, not {describe_node(value)}")
            grade = None if value.is_quoted else self._known_grades.get(value.text)
            grades[key.text] = self._parse_grade(key, value) if grade is None else grade
        return grades

    def _parse_grade(self, key: ScalarNode, node: ScalarNode) -> float:
        kinds.check_pair(key, node, "grade", "'relevant'")
        number = None if node.is_quoted else kinds.parse_number(node.text)
        if number is None:
            if node.text not in self._grade_words:
                from pytest_irquality.suite.judgment_files import explain_grade

                raise Mistake(node.line, explain_grade(node.text, self._grade_words))
            return self._grade_words[node.text]
        self._known_grades[node.text] = number
        return number

    def _collect_passages(self, entry: _QueryEntry, query: Query) -> tuple[str, ...]:
        """Return the passages that judgments and rules name, and check that each can be found."""
        from pytest_irquality.passages.matching import check_passage

        grades = query.judgments.grades
        names = dict.fromkeys(grades)
        for rule in query.rules:
            names.update(dict.fromkeys(rule.doc_ids))
        for passage in names:
            problem = check_passage(passage)
            if problem:
                line = entry.fields.get_line("relevant" if passage in grades else "query")
                raise Mistake(line, f"{quote(passage)}: {problem}")
        return tuple(names)

    def _check_expected_nothing(self, entry: _QueryEntry, judgments: Judgments) -> None:
        """Refuse keys that need results under a query that expects none."""
        for name, line in entry.fields.lines.items():
            if QUERY_KEYS[name].expects_results:
                raise Mistake(line, f"'{name}' contradicts 'expect_no_results'")
        if judgments.relevant:
            message = "A file of judgments has relevant documents for this query"
            line = entry.fields.get_line("expect_no_results")
            raise Mistake(line, f"{message}, which contradicts 'expect_no_results'")

    def _make_variants(self, query: Query, entry: _QueryEntry) -> Iterator[Query]:
        """Make the variants of a query, each a query of its own."""
        for text in entry.fields.get("variants", ()):
            if text == query.text:
                line = entry.fields.get_line("variants")
                raise Mistake(line, f"A variant of {quote(query.id)} is the query itself")
            variant_id = f"{query.id} ~ {text}"
            while variant_id in self._query_ids:
                variant_id += " (variant)"
            self._query_ids.add(variant_id)
            yield replace(
                query,
                id=variant_id,
                text=text,
                rules=tuple(rule.relax_for_variant() for rule in query.rules),
                thresholds=(),
                tags=(*query.tags, VARIANT_TAG),
                variant_of=query.id,
                location=query.location._replace(line=entry.fields.get_line("variants")),
            )

    # -- Probes ------------------------------------------------------------------------------------

    def _parse_probes(self) -> list[Query]:
        from pytest_irquality.suite.probes import make_probes

        line = self.fields.get_line("probes")
        for key in ("queries", "judgments"):
            if key in self.fields.lines:
                message = f"'{key}' cannot be used with 'probes'. Use a suite for each."
                raise Mistake(self.fields.get_line(key), message)
        if self.settings.match == "text":
            message = "'match: text' cannot be used with 'probes', which are about documents"
            raise Mistake(self.fields.get_line("match"), message)
        settings = self.fields.values["probes"]
        names = (settings["from"],)
        if names == ("corpus",):
            names = self.fields.get("corpus", {}).get("files", ())
        if not names:
            message = "'from: corpus' needs 'corpus: {files: …}'"
            raise Mistake(line, f"{message}. The retriever's texts() lacks unindexed documents.")
        files = list(chain.from_iterable(self.finder.find(name, line) for name in names))
        queries, note = make_probes(
            files,
            by=settings["by"],
            sample_size=settings.get("sample", 200),
            id_field=self.settings.id_field,
            params=self._params,
            grade=self._relevant_grade,
            location=Location(self.path, line),
        )
        self.notes.append(note)
        return queries


def _list_items(node: Node | None) -> Sequence[Node]:
    """Return the items of a list, a single value as a list, or nothing for an empty value."""
    if isinstance(node, ListNode):
        return node.items
    if node is None or (isinstance(node, ScalarNode) and not node.text and not node.is_quoted):
        return ()
    return (node,)


def _has_known_key(node: MappingNode, known: Container[str]) -> bool:
    for key, _ in node.entries:
        if isinstance(key, ScalarNode) and key.text.lstrip(kinds.DASHES) in known:
            return True
    return False


def check_params(rule: Rule, queries: Sequence[Query]) -> None:
    """Check that every query has the parameters that a rule names.

    Without this check, a rule about tenants with a misspelt name would pass for all results.
    """
    for name in rule.param_names:
        texts = [query.text for query in queries if name not in query.params]
        if texts:
            others = len(texts) - 1
            more = f" and {format_count(others, 'other query', 'other queries')}" if others else ""
            message = f"'$params.{name}' is not a parameter of {quote(texts[0])}{more}"
            hint = "Write it under 'params' of the query or the suite."
            raise Mistake(rule.location.line, f"{message}. {hint}", rule.location.path)
