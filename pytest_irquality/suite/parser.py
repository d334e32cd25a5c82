"""The suite file: from YAML to a suite, or to one line for each mistake."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import read_text as read_text_file
from pytest_irquality.io.files import FileError
from pytest_irquality.io.text import format_count
from pytest_irquality.metrics import Definition, Judgments, Metric
from pytest_irquality.suite.items import make_items
from pytest_irquality.suite.keys import (
    EACH_QUERY_RULES,
    FILE_KEYS,
    QUERY_KEYS,
    REMOVED_SUITE_KEYS,
    SUITE_KEYS,
    Fields,
    get_known_issue,
    read_fields,
)
from pytest_irquality.suite.model import (
    DEFAULT_METRIC,
    VARIANT_TAG,
    CheckItem,
    Corpus,
    ItemKind,
    Location,
    LostQueriesMode,
    LostQueriesSetting,
    Query,
    RetrieverId,
    Retry,
    Settings,
    Suite,
)
from pytest_irquality.suite.rules import RULES, Rule
from pytest_irquality.suite.suite_files import DataFile, FileFinder, SuiteFiles
from pytest_irquality.suite.thresholds import (
    ThresholdParser,
    check_for_query,
    check_for_single_queries,
)
from pytest_irquality.suite.values import (
    check_pair,
    describe_node,
    list_words,
    parse_number,
    read_choice,
    read_count,
    read_distinct_texts,
    read_entries,
    read_text,
    suggest,
)
from pytest_irquality.suite.yaml_source import (
    ListNode,
    MappingNode,
    Mistake,
    MistakeList,
    Node,
    ScalarNode,
    find_missing_space,
    make_node,
    quote,
    read_yaml,
)

if TYPE_CHECKING:
    from pytest_irquality.suite.judgment_files import JudgmentFile, JudgmentFiles

SUITE_SUFFIXES = (".ir.yaml", ".ir.yml", ".yaml", ".yml")
MAX_IMPLIED_DEPTH = 1_000  # results that a rule may need if the suite has no 'depth'
MIN_BASELINE_DEPTH = 10
USUAL_METRICS = ("ndcg", "mrr", "recall")
METRIC_WITHOUT_JUDGMENTS = "overlap"


def load_suite(
    path: str | Path,
    *,
    root: Path,
    text: str | None = None,
    open_file: Callable[[str], bytes] | SuiteFiles | None = None,
    own_metrics: Sequence[Definition] = (),
    id_field_default: str = "",
    access: FileAccess | None = None,
) -> Suite:
    """Load a suite, or a list of queries, which is a suite without any other key.

    Args:
        path: The file, absolute or relative to the root.
        root: The root of the project, to which paths in the suite and in messages are relative.
        text: The text of the suite, if it is not to be read from disk.
        open_file: Reads the files that the suite names, if not from disk: a function from a path
            (relative to the root, with ``/``) to the content, or an object that can also list
            files, which patterns need.
        own_metrics: Metrics that the project defines.
        id_field_default: The value of the ini key ``ir_id_field``.
        access: Which files the suite may name. By default those of the project at ``root``.

    Raises:
        SuiteError: The suite has mistakes. The message has a line ``path:line: message`` for each,
            at most ten.
    """
    absolute = Path(os.path.abspath(root / path))
    name = os.path.relpath(absolute, root).replace(os.sep, "/")
    access = access or FileAccess(root)
    finder = FileFinder(name, absolute, access, open_file)
    # A large suite makes a million objects and no cycle. Collecting takes as long as reading.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        # Nothing here may keep the parser, or the collector would look at all nodes once more.
        return _parse_file(
            _SuiteParser(name, MistakeList(name), finder, own_metrics, id_field_default),
            absolute,
            text,
            access,
        )
    finally:
        if was_enabled:
            gc.enable()


def _parse_file(parser: _SuiteParser, path: Path, text: str | None, access: FileAccess) -> Suite:
    try:
        return parser.parse(_read_root(path, text, access))
    except Mistake as mistake:
        parser.mistakes.add(mistake)
        raise parser.mistakes.make_error() from None


def _read_root(path: Path, text: str | None, access: FileAccess) -> Node:
    """Return the root node of a suite, or the one that a list of queries stands for."""
    suffix = next((suffix for suffix in SUITE_SUFFIXES if path.name.endswith(suffix)), "")
    if suffix and path.name == suffix:
        raise Mistake(1, f"A suite needs a name before '{suffix}'. Rename the file.")
    if not suffix:
        return make_node({"queries": [{"file": path.name}]}, 1)
    if text is None:
        try:
            access.check_data_files([path], path)
            text = read_text_file(path)
        except FileError as error:
            raise Mistake(error.line or 1, error.message) from None
    root = read_yaml(text)
    if root is None:
        raise Mistake(1, "The file is empty. A suite needs 'queries'.")
    if isinstance(root, ListNode):
        raise Mistake(root.line, "A suite begins with a key. Write 'queries:' above the list.")
    return root


@dataclass
class _QueryEntry:
    """A query as read, before judgments from files are known."""

    id: str
    fields: Fields
    location: Location
    is_sampled: bool = False

    @property
    def text(self) -> str:
        return str(self.fields.values["query"])


@dataclass
class _SuiteParser:
    """Parses one suite. Mistakes are collected, so a user sees all of them together."""

    path: str
    mistakes: MistakeList
    finder: FileFinder
    own_metrics: Sequence[Definition]
    id_field_default: str
    notes: list[str] = field(default_factory=list)
    judgment_files: list[JudgmentFile] = field(default_factory=list)
    promising_columns: dict[str, Sequence[str]] = field(default_factory=dict)
    # Grades are few and written often.
    known_grades: dict[str, float] = field(default_factory=dict)

    def parse(self, root: Node) -> Suite:
        """Parse the suite."""
        fields = read_fields(
            root, SUITE_KEYS, "the suite", self.mistakes, removed=REMOVED_SUITE_KEYS
        )
        self.fields = fields
        if "queries" not in fields.lines and "probes" not in fields.lines:
            self.mistakes.add(Mistake(1, "A suite needs 'queries' or 'probes'"))
        self.settings = self._make_settings()
        self.grade_words: Mapping[str, float] = fields.get("grades", {})
        self.params: Mapping[str, Any] = fields.get("params", {})
        self.thresholds = ThresholdParser(
            self.mistakes,
            self.path,
            self.settings.top_k,
            self.own_metrics,
            self.settings.match == "text",
        )
        queries = self._parse_probes() if "probes" in fields.values else self._parse_queries()
        self.mistakes.raise_any()
        metrics = self._parse_metrics()
        suite = Suite(
            name=fields.get("suite") or self._get_default_name(),
            queries=tuple(queries),
            path=self.path,
            retriever=RetrieverId(fields.get("retriever", "retriever")),
            settings=self.settings,
            grades=self.grade_words,
            lost_queries=LostQueriesSetting(),
            baseline_retriever=fields.get("baseline", {}).get("retriever", ""),
            is_probe_suite="probes" in fields.values,
            files=tuple(self.finder.found),
            notes=tuple(self.notes),
        )
        checks, lost_queries = self._parse_checks(suite)
        suite = replace(suite, lost_queries=lost_queries, items=make_items(suite, checks))
        suite = replace(suite, metrics=metrics or self._choose_metrics(suite))
        self._check_depth(suite)
        self.mistakes.raise_any()
        return suite

    def _get_default_name(self) -> str:
        name = self.path.rpartition("/")[2].removesuffix(".gz")
        for suffix in SUITE_SUFFIXES:
            if name.endswith(suffix):
                return name.removesuffix(suffix)
        return name.rpartition(".")[0] or name

    def _make_settings(self) -> Settings:
        fields = self.fields
        corpus = fields.get("corpus", {})
        corpus_files: list[str] = []
        for written in corpus.get("files", ()):
            try:
                found = self.finder.find(written, fields.get_line("corpus"))
                corpus_files += [str(file.path) for file in found]
            except Mistake as mistake:
                self.mistakes.add(mistake)
        retry = fields.get("retry", {})
        return Settings(
            top_k=fields.get("top_k", 10),
            depth=fields.get("depth"),
            undefined=fields.get("undefined", "skip"),
            relevant_from=fields.get("relevant_from", 1.0),
            match=fields.get("match", "id"),
            id_field=fields.get("id_field", self.id_field_default),
            text_field=fields.get("text_field", ""),
            corpus=Corpus(tuple(corpus_files), corpus.get("missing", "warn")),
            show=fields.get("show", ()),
            concurrency=fields.get("concurrency", 1),
            timeout=fields.get("timeout"),
            retry=Retry(**retry),
            rate=fields.get("rate"),
            repeat=fields.get("repeat", 1),
            max_errors=fields.get("errors", {}).get("max", 0),
        )

    # -- Queries ----------------------------------------------------------------------------------

    def _parse_queries(self) -> list[Query]:
        from pytest_irquality.suite.judgment_files import JudgmentFiles

        entries = self._read_entries()
        self._check_ids(entries)
        self.mistakes.raise_any()
        files = JudgmentFiles(self.judgment_files, {entry.id: entry.text for entry in entries})
        queries: list[Query] = []
        for entry in entries:
            try:
                query = self._parse_query(entry, files)
                queries.append(query)
                queries += self._make_variants(query, entry)
            except Mistake as mistake:
                self.mistakes.add(mistake, entry.location.path)
        self._check_promising_columns(queries)
        self.notes += files.list_notes()
        return queries

    def _read_entries(self) -> list[_QueryEntry]:
        """Read all queries and all files of judgments."""
        entries: list[_QueryEntry] = []
        for item in _list_items(self.fields.get("queries")):
            try:
                if isinstance(item, MappingNode) and not _has_file_key(item):
                    entries.append(self._read_entry(item, self.path))
                else:
                    for file in self._find_files(item, is_query=True):
                        entries += self._read_query_source(file)
            except Mistake as mistake:
                self.mistakes.add(mistake)
        for item in _list_items(self.fields.get("judgments")):
            try:
                for file in self._find_files(item):
                    self._read_judgments(file)
            except Mistake as mistake:
                self.mistakes.add(mistake)
        self.mistakes.raise_any()
        if not entries:
            raise Mistake(self.fields.get_line("queries"), "There is no query under 'queries'")
        return entries

    def _find_files(self, node: Node, *, is_query: bool = False) -> list[DataFile]:
        """Find the files that an entry of ``queries`` or ``judgments`` names."""
        if not isinstance(node, ScalarNode):
            fields = read_fields(node, FILE_KEYS, "a file", self.mistakes)
            if "file" not in fields.values:
                return []
            return self.finder.find(
                fields.values["file"],
                fields.get_line("file"),
                fields.get("format", ""),
                fields.get("columns"),
            )
        written = read_text(node, "The path of a file")
        key = find_missing_space(written)
        if key in QUERY_KEYS:
            raise Mistake(node.line, f"Write a space after the colon of '{key}:'")
        try:
            return self.finder.find(written, node.line)
        except Mistake as mistake:
            looks_like_path = Path(written).suffix and " " not in written
            if not is_query or looks_like_path:
                raise
            hint = f"For a query, write '- query: {written}'."
            raise Mistake(node.line, f"{mistake}. {hint}") from None

    def _read_query_source(self, file: DataFile) -> Iterator[_QueryEntry]:
        """Read the queries of a file, or those of a BEIR folder that its test split judges."""
        from pytest_irquality.suite.query_files import read_query_file

        judged_ids = None
        if self.finder.is_folder(file):
            judged_ids = self._read_judgments(file)
            file = self._find_part(file, "queries.jsonl")
        queries = read_query_file(file, matches_text=self.settings.match == "text")
        self.notes += queries.notes
        if queries.has_judgments:
            self._read_judgments(file)
        if queries.promising_columns:
            self.promising_columns[file.name] = queries.promising_columns
        for node in queries.nodes:
            try:
                entry = self._read_entry(node, file.name, is_sampled=True)
            except Mistake as mistake:
                self.mistakes.add(mistake, file.name)
                continue
            if judged_ids is None or entry.id in judged_ids:
                yield entry

    def _read_judgments(self, file: DataFile) -> Mapping[str, object]:
        """Read a file of judgments, or the test split of a BEIR folder. Return what it judges."""
        from pytest_irquality.suite.judgment_files import read_judgment_file

        if self.finder.is_folder(file):
            file = self._find_part(file, "qrels/test.tsv")
        judgments = read_judgment_file(file, self.grade_words)
        self.judgment_files.append(judgments)
        return judgments.grades

    def _find_part(self, folder: DataFile, name: str) -> DataFile:
        part = self.finder.find_part(folder, (name,))
        if part is None:
            raise Mistake(
                1, f"The folder is not a BEIR data set, since it has no {name}", folder.name
            )
        return part

    def _read_entry(self, node: Node, path: str, *, is_sampled: bool = False) -> _QueryEntry:
        fields = read_fields(node, QUERY_KEYS, "a query", self.mistakes, path=path)
        values = fields.values
        if "query" not in values:
            # The mistake in its value was reported. The entry lets its other keys be checked.
            values["query"] = f"\0{path}:{node.line}"
        query_id = values.get("id") or values["query"]
        return _QueryEntry(query_id, fields, Location(path, node.line), is_sampled)

    def _check_ids(self, entries: Sequence[_QueryEntry]) -> None:
        first: dict[str, _QueryEntry] = {}
        for entry in entries:
            other = first.setdefault(entry.id, entry)
            if other is entry:
                continue
            key = "id" if "id" in entry.fields.lines else "query"
            line = entry.fields.get_line(key)
            place: object = f"line {other.fields.get_line(key)}"
            if other.location.path != entry.location.path:
                place = other.location
            hint = "" if key == "id" else ". Give one of the two queries an 'id'."
            message = f"The id {quote(entry.id)} is already used in {place}{hint}"
            self.mistakes.add(Mistake(line, message), entry.location.path)

    def _parse_query(self, entry: _QueryEntry, files: JudgmentFiles) -> Query:
        """Make a query of an entry and its judgments in files."""
        fields, location = entry.fields, entry.location
        inline = self._parse_relevant(fields.get("relevant"))
        grades, votes, assessor_grades = files.join(entry.id, inline)
        judgments = Judgments(grades, self.settings.relevant_from, votes)
        rules = []
        for name in fields.lines:
            if name in RULES and name in fields.values:
                place = Location(location.path, fields.lines[name])
                rule = RULES[name].parse(fields.values[name], place)
                if rule:
                    rules.append(rule)
        passages: tuple[str, ...] = ()
        if self.settings.match == "text":
            passages = self._collect_passages(entry, grades, rules)
        params = self.params
        if "params" in fields.values:
            params = {**params, **fields.values["params"]}
        query = Query(
            id=entry.id,
            text=entry.text,
            judgments=judgments,
            rules=tuple(rules),
            tags=fields.get("tags", ()),
            weight=fields.get("weight", 1.0),
            params=params,
            why=fields.get("why", ""),
            is_sampled=entry.is_sampled,
            known_issue=get_known_issue(fields, location.path),
            passages=passages,
            assessor_grades=assessor_grades,
            location=location,
        )
        for rule in rules:
            _check_params(rule, [query])
        if query.expects_no_results:
            self._check_expected_nothing(entry, judgments)
        if "thresholds" in fields.values:
            block = self.thresholds.parse_block(
                fields.values["thresholds"], "'thresholds'", location.path
            )
            query = replace(query, thresholds=tuple(block))
            for threshold in query.thresholds:
                check_for_query(threshold, judgments)
        return query

    def _parse_relevant(self, node: Node | None) -> dict[str, float]:
        """Parse documents with their grades, or a list of relevant documents."""
        if node is None:
            return {}
        if isinstance(node, ListNode):
            grade = max(1.0, self.settings.relevant_from)
            return dict.fromkeys(
                (text for text, _ in read_distinct_texts(node, "'relevant'")), grade
            )
        if isinstance(node, ScalarNode) and node.text:
            written = quote(node.text)[1:-1]
            message = f"'relevant' must be a list or a mapping to grades. Write [{written}]."
            raise Mistake(node.line, message)
        grades = {}
        for key, value in read_entries(node, "'relevant'"):
            if not isinstance(value, ScalarNode):
                message = f"The grade of {quote(key.text)} must be a number"
                raise Mistake(value.line, f"{message}, not {describe_node(value)}")
            text = value.text
            if text in self.known_grades and not value.is_quoted:
                grades[key.text] = self.known_grades[text]
            else:
                grades[key.text] = self._parse_grade(key, value)
        return grades

    def _parse_grade(self, key: ScalarNode, node: ScalarNode) -> float:
        check_pair(key, node, "grade", "'relevant'")
        number = None if node.is_quoted else parse_number(node.text)
        if number is None:
            if node.text not in self.grade_words:
                from pytest_irquality.suite.judgment_files import explain_grade

                raise Mistake(node.line, explain_grade(node.text, self.grade_words))
            return self.grade_words[node.text]
        self.known_grades[node.text] = number
        return number

    def _collect_passages(
        self, entry: _QueryEntry, grades: Mapping[str, float], rules: Sequence[Rule]
    ) -> tuple[str, ...]:
        """Return the passages that judgments and rules name, and check that each can be found."""
        from pytest_irquality.passages import check_passage

        names = dict.fromkeys(grades)
        for rule in rules:
            names.update(dict.fromkeys(rule.doc_ids))
        for passage in names:
            problem = check_passage(passage)
            if problem:
                line = entry.fields.get_line("relevant" if passage in grades else "query")
                raise Mistake(line, f"{quote(passage)}: {problem}")
        return tuple(names)

    def _check_expected_nothing(self, entry: _QueryEntry, judgments: Judgments) -> None:
        """Refuse keys that ask for results of a query that expects none."""
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
            yield replace(
                query,
                id=f"{query.id} ~ {text}",
                text=text,
                rules=tuple(rule.relax_for_variant() for rule in query.rules),
                thresholds=(),
                tags=(*query.tags, VARIANT_TAG),
                variant_of=query.id,
                location=query.location._replace(line=entry.fields.get_line("variants")),
            )

    def _check_promising_columns(self, queries: Sequence[Query]) -> None:
        """Refuse a file of which no query requires anything, although a column looks like it."""
        if not self.promising_columns:
            return
        useful = {query.location.path for query in queries if query.has_requirements}
        for path, columns in self.promising_columns.items():
            if path not in useful:
                named = list_words(columns, "and")
                message = f"Nothing says what these queries should find, and {named} is not read"
                hint = "Say what it is, as in {file: FILE, columns: {passage: COLUMN}}."
                self.mistakes.add(Mistake(1, f"{message}. {hint}"), path)

    # -- Metrics and checks -----------------------------------------------------------------------

    def _parse_metrics(self) -> tuple[Metric, ...]:
        node = self.fields.get("metrics")
        metrics: dict[Metric, None] = {}
        if node is None:
            return ()
        for text, line in read_distinct_texts(node, "'metrics'"):
            try:
                metrics[self.thresholds.parse_metric(ScalarNode(text, line))] = None
            except Mistake as mistake:
                self.mistakes.add(mistake)
        return tuple(metrics)

    def _choose_metrics(self, suite: Suite) -> tuple[Metric, ...]:
        """Choose the metrics to show if the suite names none: means with thresholds.

        The usual ones are added if none of these says how good the rankings are.
        """
        limited = [metric for metric in list_limited_metrics(suite) if metric.aggregate == "mean"]
        says_nothing = not suite.has_requirements
        if any(metric.is_relevance or (says_nothing and not metric.stage) for metric in limited):
            return tuple(limited)
        names = (METRIC_WITHOUT_JUDGMENTS,) if says_nothing else USUAL_METRICS
        usual = [self.thresholds.parse_metric(ScalarNode(name, 1)) for name in names]
        return tuple(dict.fromkeys([*usual, *limited]))

    def _parse_checks(self, suite: Suite) -> tuple[list[CheckItem], LostQueriesSetting]:
        """Parse everything that is required of several queries, in the order of the file."""
        checks: list[CheckItem] = []
        lost_queries = LostQueriesSetting()
        for name in self.fields.lines:
            node = self.fields.get(name)
            try:
                if node is None:
                    continue
                if name in ("thresholds", "each_tag"):
                    checks += self._parse_block(name, node, suite)
                elif name == "tags":
                    checks += self._parse_tags(node, suite)
                elif name == "each_query":
                    lost_queries = self._parse_each_query(node, suite, checks)
            except Mistake as mistake:
                self.mistakes.add(mistake)
        if suite.is_probe_suite or suite.baseline_retriever:
            self._check_against_baseline(suite, checks)
        return checks, lost_queries

    def _parse_block(self, name: str, node: Node, suite: Suite) -> Iterator[CheckItem]:
        if name == "each_tag" and not suite.queries_by_tag:
            raise Mistake(self.fields.get_line(name), "'each_tag' needs queries with tags")
        is_each_tag = name == "each_tag"
        for threshold in self.thresholds.parse_block(node, f"'{name}'"):
            label = f"each_tag {threshold.metric}" if is_each_tag else str(threshold.metric)
            yield CheckItem(
                "",
                label,
                ItemKind.THRESHOLD,
                threshold.location,
                is_each_tag=is_each_tag,
                threshold=threshold,
            )

    def _parse_tags(self, node: Node, suite: Suite) -> Iterator[CheckItem]:
        for key, block in read_entries(node, "'tags'"):
            tag = key.text
            if tag not in suite.queries_by_tag:
                hint = suggest(tag, suite.queries_by_tag)
                self.mistakes.add(Mistake(key.line, f"No query has the tag {quote(tag)}{hint}"))
                continue
            for threshold in self.thresholds.parse_block(block, f"the tag {quote(tag)}"):
                label = f"{tag} {threshold.metric}"
                yield CheckItem(
                    "",
                    label,
                    ItemKind.THRESHOLD,
                    threshold.location,
                    tag=tag,
                    threshold=threshold,
                )

    def _parse_each_query(
        self, node: Node, suite: Suite, checks: list[CheckItem]
    ) -> LostQueriesSetting:
        lost_queries = LostQueriesSetting()
        thresholds: list[tuple[Node, Node]] = []
        for key, value in read_entries(node, "'each_query'"):
            location = Location(self.path, key.line)
            try:
                if key.text == "lost_all_relevant":
                    lost_queries = _parse_lost_queries(value)
                elif key.text in EACH_QUERY_RULES:
                    rule = EACH_QUERY_RULES[key.text].parse(value, location)
                    if rule:
                        _check_params(rule, suite.queries)
                        label = f"each_query {rule.key}"
                        checks.append(
                            CheckItem("", label, ItemKind.EACH_QUERY, location, rule=rule)
                        )
                elif key.text in RULES:
                    message = f"'{key.text}' is a rule of a single query. Write it below its query."
                    raise Mistake(key.line, message)
                else:
                    thresholds.append((key, value))
            except Mistake as mistake:
                self.mistakes.add(mistake)
        block = MappingNode(thresholds, node.line)
        for threshold in self.thresholds.parse_block(block, "'each_query'"):
            try:
                check_for_single_queries(threshold)
                if threshold.known_issue and threshold.compares:
                    message = "'known_issue' would hide a drop of any query"
                    raise Mistake(threshold.location.line, message)
            except Mistake as mistake:
                self.mistakes.add(mistake)
            label = f"each_query {threshold.metric}"
            checks.append(
                CheckItem("", label, ItemKind.EACH_QUERY, threshold.location, threshold=threshold)
            )
        return lost_queries

    def _check_against_baseline(self, suite: Suite, checks: Sequence[CheckItem]) -> None:
        """Refuse what needs a stored baseline in a suite that has none."""
        if not suite.is_probe_suite:
            return
        if suite.baseline_retriever:
            line = self.fields.get_line("baseline")
            self.mistakes.add(Mistake(line, "'baseline' does not go with 'probes'"))
        for check in checks:
            threshold = check.threshold
            if threshold and (threshold.compares or threshold.metric.compares):
                message = f"Probes have no baseline to compare {threshold.metric} with. Use 'min'."
                self.mistakes.add(Mistake(check.location.line, message))

    # -- Probes -----------------------------------------------------------------------------------

    def _parse_probes(self) -> list[Query]:
        from pytest_irquality.suite.probes import make_probes

        line = self.fields.get_line("probes")
        for key in ("queries", "judgments"):
            if key in self.fields.lines:
                message = f"'{key}' does not go with 'probes'. Use a suite for each."
                raise Mistake(self.fields.get_line(key), message)
        settings = self.fields.values["probes"]
        if settings["from"] == "corpus":
            names = self.fields.get("corpus", {}).get("files", ())
            if not names:
                message = "'from: corpus' needs 'corpus: {files: …}'"
                raise Mistake(line, f"{message}. The retriever's own texts lack what is missing.")
        else:
            names = (settings["from"],)
        files = []
        for name in names:
            files += self.finder.find(name, line)
        probes = make_probes(
            files,
            by=settings["by"],
            sample_size=settings.get("sample", 200),
            id_field=settings.get("id", ""),
            source_field=settings.get("source", ""),
            params=self.params,
            grade=max(1.0, self.settings.relevant_from),
            location=Location(self.path, line),
        )
        self.notes += probes.notes
        return list(probes.queries)

    # -- Depth ------------------------------------------------------------------------------------

    def _check_depth(self, suite: Suite) -> None:
        """Check that as many results are requested as metrics and rules read."""
        depth = suite.settings.depth
        if depth is not None:
            needed, reader = max(_iter_depths(suite), key=lambda pair: pair[0])
            if depth < needed:
                message = f"'depth' is {depth}, and {reader} needs {needed} results"
                self.mistakes.add(Mistake(self.fields.get_line("depth"), message))
            return
        for metric in list_metrics(suite):
            if metric.budget:
                line = self.fields.get_line("metrics")
                message = f"{metric} needs 'depth', the number of results to fill the budget with"
                self.mistakes.add(Mistake(line, message))
        most = max(MAX_IMPLIED_DEPTH, suite.settings.top_k)
        for query in suite.queries:
            for rule in query.rules:
                rank = rule.get_depth(suite.settings.top_k)
                if rank > most and rule.wanted_doc_ids:
                    message = f"'{rule.key}' needs {rank:,} results. Without 'depth', at most"
                    mistake = Mistake(rule.location.line, f"{message} {most:,} are requested.")
                    self.mistakes.add(mistake, rule.location.path)


# -- Helpers --------------------------------------------------------------------------------------


def _list_items(node: Node | None) -> Sequence[Node]:
    """Return the items of a list, a single value as a list, and nothing for nothing."""
    if isinstance(node, ListNode):
        return node.items
    if node is None or (isinstance(node, ScalarNode) and not node.text and not node.is_quoted):
        return ()
    return (node,)


def _has_file_key(node: MappingNode) -> bool:
    for key, _ in node.entries:
        if isinstance(key, ScalarNode) and key.text in FILE_KEYS:
            return True
        if isinstance(key, ScalarNode) and key.text == "query":
            return False
    return False


def _check_params(rule: Rule, queries: Sequence[Query]) -> None:
    """Check that every query has the parameters that a rule names.

    Without this, a misspelt name would make a rule about tenants pass for all results.
    """
    for name in rule.param_names:
        lacking = [query.text for query in queries if name not in query.params]
        if lacking:
            others = len(lacking) - 1
            more = f" and {format_count(others, 'other query', 'other queries')}" if others else ""
            message = f"'$params.{name}' is not a parameter of {quote(lacking[0])}{more}"
            hint = "Write it under 'params' of the query or the suite."
            raise Mistake(rule.location.line, f"{message}. {hint}", rule.location.path)


def _parse_lost_queries(node: Node) -> LostQueriesSetting:
    """Parse ``net``, ``fail``, ``warn``, ``ignore`` or ``{max: 2}``."""
    name = "'lost_all_relevant'"
    if not isinstance(node, MappingNode):
        words = [mode.value for mode in LostQueriesMode if mode is not LostQueriesMode.MAX]
        return LostQueriesSetting(LostQueriesMode(read_choice(node, name, words)))
    maximum = 0
    for key, value in read_entries(node, name):
        if key.text != "max":
            raise Mistake(key.line, f"{quote(key.text)} is not a key of {name}. Its key is 'max'.")
        maximum = read_count(value, f"'max' of {name}", 0)
    return LostQueriesSetting(LostQueriesMode.MAX, maximum)


def list_limited_metrics(suite: Suite) -> list[Metric]:
    """Return every metric that has a threshold, each once."""
    metrics: dict[Metric, None] = {}
    for item in suite.items:
        if item.threshold:
            metrics[item.threshold.metric] = None
    for query in suite.queries:
        for threshold in query.thresholds:
            metrics[threshold.metric] = None
    return list(metrics)


def list_metrics(suite: Suite) -> list[Metric]:
    """Return every metric that is shown or has a threshold, shown ones first, each once."""
    return list(dict.fromkeys([*suite.metrics, *list_limited_metrics(suite)]))


def _iter_depths(suite: Suite) -> Iterator[tuple[int, str]]:
    """Yield the numbers of results that something reads, and what reads them."""
    top_k = suite.settings.top_k
    yield top_k, "'top_k'"
    for metric in list_metrics(suite):
        if not metric.stage:
            most = 0
            if metric.definition.reach == "relevant":
                most = max((query.judgments.relevant_count for query in suite.queries), default=0)
            yield metric.compute_depth(most) or top_k, str(metric)
    for item in suite.items:
        if item.rule:
            yield item.rule.get_depth(top_k), f"'{item.rule.key}'"
    for query in suite.queries:
        for rule in query.rules:
            yield rule.get_depth(top_k), f"'{rule.key}' of {quote(query.id)}"


def get_needed_depth(suite: Suite, *, has_baseline: bool = False) -> int:
    """Return how many results to request for each query.

    That is the deepest cutoff that a metric, rule or default check reads, and no more, because the
    number of requested results changes what some engines return. ``depth`` asks for more.

    Args:
        suite: The suite.
        has_baseline: Whether there is a baseline. Default checks read ten results then.
    """
    depths = [depth for depth, _ in _iter_depths(suite)]
    depths.append(suite.settings.depth or 0)
    if has_baseline:
        depths += [MIN_BASELINE_DEPTH, suite.primary_metric.cutoff or 0]
    if suite.has_judgments and not any(metric.can_be_primary for metric in suite.metrics):
        depths.append(DEFAULT_METRIC.cutoff or 0)
    return max(depths)


def get_needed_fields(suite: Suite) -> tuple[str, ...]:
    """Return the dotted paths of the fields to read from each result, each once.

    These are the fields of ``show`` and those that rules read.
    """
    paths = dict.fromkeys(suite.settings.show)
    rules = [item.rule for item in suite.items if item.rule]
    for query in suite.queries:
        rules += query.rules
    for rule in rules:
        paths.update(dict.fromkeys(rule.field_paths))
    return tuple(paths)
