"""Parse a suite file into a ``Suite``, or report each mistake in one line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import pause_garbage_collection, read_text
from pytest_irquality.io.files import FileError
from pytest_irquality.metrics import Definition, Metric
from pytest_irquality.suite import kinds
from pytest_irquality.suite.keys import EACH_QUERY_RULES, KEYS_OF_QUERIES, LOST_QUERIES, SUITE_KEYS
from pytest_irquality.suite.kinds import suggest
from pytest_irquality.suite.mistakes import Location, Mistake, MistakeList, quote
from pytest_irquality.suite.model import (
    DEFAULT_METRIC,
    CheckItem,
    ItemKind,
    LostQueriesSetting,
    RetrieverId,
    Settings,
    Suite,
)
from pytest_irquality.suite.query_parser import FileFinder, QueryParser, SuiteFiles, check_params
from pytest_irquality.suite.rules import RULES, Rule
from pytest_irquality.suite.thresholds import (
    ThresholdParser,
    check_for_single_queries,
    check_repeated,
)
from pytest_irquality.suite.yaml_source import ListNode, Node, ScalarNode, make_node, read_yaml

SUITE_SUFFIXES = (".ir.yaml", ".ir.yml", ".yaml", ".yml")
MIN_BASELINE_DEPTH = 10
USUAL_METRICS = ("ndcg", "mrr", "recall")
METRIC_WITHOUT_JUDGMENTS = "overlap"


def load_suite(
    path: str | Path,
    *,
    root: Path,
    text: str | None = None,
    files: SuiteFiles | None = None,
    own_metrics: Sequence[Definition] = (),
    id_field_default: str = "",
    access: FileAccess | None = None,
) -> Suite:
    """Load a suite, or a list of queries, which is a suite without any other key.

    Args:
        path: The file, absolute or relative to the root.
        root: The root of the project, to which paths in the suite and in messages are relative.
        text: The text of the suite, if it is not to be read from disk.
        files: Where to read the files that the suite names, if not from disk.
        own_metrics: Metrics that the project defines.
        id_field_default: The value of the ini key ``ir_id_field``.
        access: Which files the suite may name. The default is the project at ``root``.

    Raises:
        SuiteError: The suite has mistakes. The message has a line ``path:line: message`` for each,
            at most ten.
    """
    absolute = Path(os.path.abspath(root / path))
    name = os.path.relpath(absolute, root).replace(os.sep, "/")
    access = access or FileAccess(root)
    finder = FileFinder(os.path.dirname(name), absolute, access, files)
    # A large suite creates a million objects and no cycles. `_parse_file` takes the parser as a
    # temporary, so its nodes are freed before collection resumes.
    with pause_garbage_collection():
        return _parse_file(
            _SuiteParser(name, MistakeList(name), finder, own_metrics, id_field_default),
            absolute,
            text,
            access,
        )


def _parse_file(parser: _SuiteParser, path: Path, text: str | None, access: FileAccess) -> Suite:
    try:
        return parser.parse(_read_root(path, text, access))
    except Mistake as mistake:
        parser.mistakes.add(mistake)
        raise parser.mistakes.make_error() from None


def _read_root(path: Path, text: str | None, access: FileAccess) -> Node:
    """Return the root node of a suite, or the root that a list of queries would have."""
    suffix = next((suffix for suffix in SUITE_SUFFIXES if path.name.endswith(suffix)), "")
    if suffix and path.name == suffix:
        raise Mistake(1, f"A suite needs a name before '{suffix}'. Rename the file.")
    if not suffix:
        return make_node({"queries": [{"file": path.name}]}, 1)
    if text is None:
        try:
            access.check_data_files([path], path)
            text = read_text(path)
        except FileError as error:
            raise Mistake(error.line or 1, error.message) from None
    root = read_yaml(text)
    if root is None:
        raise Mistake(1, "The file is empty. A suite needs 'queries'.")
    if isinstance(root, ListNode):
        raise Mistake(root.line, "A suite begins with a key. Write 'queries:' above the list.")
    return root


@dataclass
class _SuiteParser:
    """Parses one suite. Mistakes are collected, so that a user sees all of them together."""

    path: str
    mistakes: MistakeList
    finder: FileFinder
    own_metrics: Sequence[Definition]
    id_field_default: str

    def parse(self, root: Node) -> Suite:
        """Parse the suite."""
        fields = kinds.read_fields(
            root, SUITE_KEYS, "the suite", self.mistakes.add, elsewhere=KEYS_OF_QUERIES
        )
        self.fields = fields
        if not fields.has_mistakes and not {"queries", "probes"} & fields.lines.keys():
            self.mistakes.add(Mistake(1, "A suite needs 'queries' or 'probes'"))
        settings = self._make_settings()
        self.thresholds = ThresholdParser(
            self.mistakes, self.path, settings.top_k, self.own_metrics, settings.match == "text"
        )
        query_parser = QueryParser(
            self.path, fields, settings, self.thresholds, self.finder, self.mistakes
        )
        queries = query_parser.parse()
        self.mistakes.raise_any()
        metrics = self._parse_metrics()
        suite = Suite(
            name=fields.get("suite") or self._get_default_name(),
            queries=tuple(queries),
            path=self.path,
            retriever=RetrieverId(fields.get("retriever", "retriever")),
            settings=settings,
            grades=fields.get("grades", {}),
            baseline_retriever=fields.get("baseline", {}).get("retriever", ""),
            is_probe_suite="probes" in fields.values,
            files=tuple(self.finder.file_names),
            notes=tuple(query_parser.notes),
        )
        self.lost_queries = LostQueriesSetting()
        checks = list(self._parse_checks(suite))
        if suite.is_probe_suite:
            self._refuse_comparisons(suite, checks)
        suite = replace(suite, lost_queries=self.lost_queries, items=make_items(suite, checks))
        suite = replace(
            suite,
            metrics=metrics or self._choose_metrics(suite),
            names_metrics=bool(metrics) or suite.is_probe_suite,
        )
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
        corpus_files: list[str] = []
        for written in fields.get("corpus", {}).get("files", ()):
            with self.mistakes.collect():
                files = self.finder.find(written, fields.get_line("corpus"))
                corpus_files += [str(file.path) for file in files]
        plain: dict[str, Any] = {"id_field": self.id_field_default}
        for name, value in fields.values.items():
            # All other keys with the name of a setting have its value.
            if name in Settings.__dataclass_fields__:
                plain[name] = value
        return Settings(
            **plain,
            corpus_files=tuple(corpus_files),
            max_errors=fields.get("errors", {}).get("max", 0),
        )

    # -- Metrics and checks ------------------------------------------------------------------------

    def _parse_metrics(self) -> tuple[Metric, ...]:
        node = self.fields.get("metrics")
        if node is None:
            return ()
        kinds.TEXT_LIST.read(node, "'metrics'")
        metrics: dict[Metric, None] = {}
        for item in node.items:
            with self.mistakes.collect():
                metrics[self.thresholds.parse_metric(item)] = None
        return tuple(metrics)

    def _choose_metrics(self, suite: Suite) -> tuple[Metric, ...]:
        """Choose the metrics to show if the suite names none: means with thresholds.

        The usual metrics are added if none of these rates the rankings.
        """
        metrics = list_threshold_metrics(suite)
        means = [metric for metric in metrics if metric.definition.aggregate == "mean"]
        has_none = not suite.has_requirements
        if any(metric.rates_relevance or (has_none and not metric.stage) for metric in means):
            return tuple(means)
        names = (METRIC_WITHOUT_JUDGMENTS,) if has_none else USUAL_METRICS
        usual = [self.thresholds.parse_metric(ScalarNode(name, 1)) for name in names]
        return tuple(dict.fromkeys([*usual, *means]))

    def _parse_checks(self, suite: Suite) -> Iterator[CheckItem]:
        """Yield the checks over several queries, still without names."""
        parsers: Mapping[str, Callable[[Node, Suite], Iterator[CheckItem]]] = {
            "thresholds": lambda node, _: self._parse_thresholds(node, "'thresholds'"),
            "tags": self._parse_tags,
            "each_tag": self._parse_each_tag,
            "each_query": self._parse_each_query,
        }
        for name, parse in parsers.items():
            if name in self.fields.values:
                with self.mistakes.collect():
                    yield from parse(self.fields.values[name], suite)

    def _parse_thresholds(
        self, node: Node, name: str, prefix: str = "", *, tag: str = ""
    ) -> Iterator[CheckItem]:
        for threshold in self.thresholds.parse_block(node, name):
            yield CheckItem(
                "",
                f"{prefix} {threshold.metric}".lstrip(),
                ItemKind.THRESHOLD,
                threshold.location,
                tag=tag,
                is_each_tag=prefix == "each_tag" and not tag,
                threshold=threshold,
            )

    def _parse_tags(self, node: Node, suite: Suite) -> Iterator[CheckItem]:
        for key, block in kinds.read_entries(node, "'tags'"):
            tag = key.text
            with self.mistakes.collect():
                if tag not in suite.queries_by_tag:
                    hint = suggest(tag, suite.queries_by_tag)
                    raise Mistake(key.line, f"No query has the tag {quote(tag)}{hint}")
                yield from self._parse_thresholds(block, f"the tag {quote(tag)}", tag, tag=tag)

    def _parse_each_tag(self, node: Node, suite: Suite) -> Iterator[CheckItem]:
        if not suite.queries_by_tag:
            raise Mistake(self.fields.get_line("each_tag"), "'each_tag' needs queries with tags")
        yield from self._parse_thresholds(node, "'each_tag'", "each_tag")

    def _parse_each_query(self, node: Node, suite: Suite) -> Iterator[CheckItem]:
        lines: dict[Metric, int] = {}
        for key, value in kinds.read_entries(node, "'each_query'"):
            name = key.text
            location = Location(self.path, key.line)
            check = CheckItem("", f"each_query {name}", ItemKind.EACH_QUERY, location)
            with self.mistakes.collect():
                if name == "lost_all_relevant":
                    self.lost_queries = LOST_QUERIES.read(value, f"'{name}'")
                elif name in EACH_QUERY_RULES:
                    rule_class = EACH_QUERY_RULES[name]
                    written = rule_class.kind.read(value, f"'{name}'")
                    rule = rule_class.make(written, location)
                    if rule:
                        check_params(rule, suite.queries)
                        yield replace(check, rule=rule)
                elif name in RULES:
                    message = f"'{name}' is a rule of one query. Write it below its query."
                    raise Mistake(key.line, message)
                else:
                    threshold = self.thresholds.parse_threshold(key, value)
                    check_repeated(threshold, lines)
                    check_for_single_queries(threshold)
                    label = f"each_query {threshold.metric}"
                    yield replace(check, label=label, threshold=threshold)

    def _refuse_comparisons(self, suite: Suite, checks: Sequence[CheckItem]) -> None:
        """Refuse comparisons in a suite of probes, which has no baseline."""
        if suite.baseline_retriever:
            line = self.fields.get_line("baseline")
            self.mistakes.add(Mistake(line, "'baseline' cannot be used with 'probes'"))
        for check in checks:
            threshold = check.threshold
            if threshold and (threshold.compares or threshold.metric.definition.compares):
                message = f"Probes have no baseline to compare {threshold.metric} with. Use 'min'."
                self.mistakes.add(Mistake(check.location.line, message))

    # -- Depth -------------------------------------------------------------------------------------

    def _check_depth(self, suite: Suite) -> None:
        """Check that as many results are requested as metrics and rules read."""
        depth = suite.settings.depth
        if depth is not None:
            needed, name, query_id = max(_iter_depths(suite), key=lambda each: each[0])
            if depth < needed:
                name += f" of {quote(query_id)}" if query_id else ""
                message = f"'depth' is {depth}, and {name} needs {needed} results"
                self.mistakes.add(Mistake(self.fields.get_line("depth"), message))
            return
        for metric in list_metrics(suite):
            if metric.budget:
                line = self.fields.get_line("metrics")
                message = f"{metric} needs 'depth', the number of results to fill the budget with"
                self.mistakes.add(Mistake(line, message))


# -- Helpers ---------------------------------------------------------------------------------------


def list_threshold_metrics(suite: Suite) -> list[Metric]:
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
    return list(dict.fromkeys([*suite.metrics, *list_threshold_metrics(suite)]))


def _iter_depths(suite: Suite) -> Iterator[tuple[int, str, str]]:
    """Yield the number of results that each metric and rule reads, its name and its query."""
    top_k = suite.settings.top_k
    yield top_k, "'top_k'", ""
    for metric in list_metrics(suite):
        if not metric.stage:
            count = 0
            if metric.definition.reach == "relevant":
                count = max((query.judgments.relevant_count for query in suite.queries), default=0)
            yield metric.compute_depth(count) or top_k, str(metric), ""
    for rule, query_id in _iter_rules(suite):
        yield rule.get_depth(top_k), f"'{rule.key}'", query_id


def _iter_rules(suite: Suite) -> Iterator[tuple[Rule, str]]:
    """Yield each rule with the id of its query, or nothing for a rule of each query."""
    for item in suite.items:
        if item.rule:
            yield item.rule, ""
    for query in suite.queries:
        for rule in query.rules:
            yield rule, query.id


def get_needed_depth(suite: Suite, *, has_baseline: bool = False) -> int:
    """Return how many results to request for each query.

    This is the deepest cutoff of a metric, rule or default check, and no more, because some engines
    return other results if more are requested. ``depth`` requests more.

    Args:
        suite: The suite.
        has_baseline: Whether there is a baseline. Then default checks read ten results.
    """
    depths = [depth for depth, *_ in _iter_depths(suite)]
    depths.append(suite.settings.depth or 0)
    if has_baseline:
        depths += [MIN_BASELINE_DEPTH, suite.primary_metric.cutoff or 0]
    if suite.has_judgments and not any(metric.can_be_primary for metric in suite.metrics):
        depths.append(DEFAULT_METRIC.cutoff or 0)
    return max(depths)


def get_needed_fields(suite: Suite) -> tuple[str, ...]:
    """Return the dotted paths of the fields to read from each result, each once.

    These are the fields of ``show`` and of rules.
    """
    paths = dict.fromkeys(suite.settings.show)
    for rule, _ in _iter_rules(suite):
        paths.update(dict.fromkeys(rule.field_paths))
    return tuple(paths)


# -- Items -----------------------------------------------------------------------------------------

MAX_NAME_LENGTH = 80

# pytest-xdist splits node ids at "@". In `-k`, "@", brackets, colons and spaces are syntax errors.
_UNSAFE = re.compile(r"[\s@\[\]():\x00-\x1f\x7f]+")
# pytest gives these names a meaning, or drops them.
_SPECIAL = re.compile(
    r"_.*|pytest_.*|pytestmark|(setup|teardown)(_(module|function|class|method))?"
    r"|(setUp|tearDown)(Module|Class)?"
)


def make_items(suite: Suite, checks: Sequence[CheckItem]) -> tuple[CheckItem, ...]:
    """Make the items of a suite, each with a name of its own.

    Args:
        suite: The suite without items.
        checks: The checks over several queries, still without names.

    Returns:
        An item for each inline query (variants included) and each query from a file that has rules
        or thresholds, then the checks in the order of the file, then one for all answers and one
        for the default checks.
    """
    first_line = Location(suite.path)
    answers = CheckItem("answers", "every query has an answer", ItemKind.ANSWERS, first_line)
    every_check = [*sorted(checks, key=lambda check: check.location.line), answers]
    if suite.has_stored_baseline:
        kind = ItemKind.DEFAULT_CHECKS
        every_check.append(CheckItem("baseline", "default checks", kind, first_line))
    # Checks are named first, so a new query never renames one.
    names = _ItemNames()
    named_checks = []
    for check in every_check:
        named_checks.append(replace(check, name=names.choose(check.name or check.label, "check")))
    names.reserved = frozenset(names.taken)
    items = []
    for query in suite.queries:
        if not query.is_sampled or query.rules or query.thresholds:
            name = names.choose(query.id, "query")
            item = CheckItem(name, query.text, ItemKind.QUERY, query.location, query_id=query.id)
            items.append(item)
    return (*items, *named_checks)


def make_item_name(text: str) -> str:
    """Make the part of a node id for a text: ``office chair`` becomes ``office-chair``."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    name = _UNSAFE.sub("-", text)[:MAX_NAME_LENGTH].strip("-") or "-"
    try:
        os.fsencode(name)  # pytest puts the name of the current test into the environment
    except UnicodeEncodeError:
        return name.encode("ascii", "backslashreplace").decode()
    return name


class _ItemNames:
    """Chooses unique names.

    Attributes:
        taken: The names so far.
        reserved: Names that get a prefix instead of a number.
    """

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.reserved: frozenset[str] = frozenset()
        self._next_numbers: dict[str, int] = {}

    def choose(self, text: str, prefix: str) -> str:
        """Choose the name of an item that a text describes."""
        name = make_item_name(text)
        if name in self.reserved or _SPECIAL.fullmatch(name):
            name = f"{prefix}-{name}"
        unique, number = name, self._next_numbers.get(name, 2)
        while unique in self.taken:
            unique = f"{name}-{number}"
            number += 1
        self._next_numbers[name] = number
        self.taken.add(unique)
        return unique
