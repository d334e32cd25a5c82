"""The model of a suite: queries, thresholds, settings and the pytest items.

Everything here is immutable and depends on nothing else, so a test can build any of these objects
in a line or two. Large fields are left out of ``repr()``, because pytest prints it if an assertion
fails.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from functools import cached_property
from typing import Any, Literal, NamedTuple

from pytest_irquality.io import dataclass, field, fields
from pytest_irquality.io.text import QueryPart
from pytest_irquality.metrics import Judgments, Metric, parse_metric
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.rules import Rule

DEFAULT_METRIC = parse_metric("ndcg@10")
VARIANT_TAG = "variant"
PROBE_TAG = "probe"


class RetrieverId(NamedTuple):
    """The identity of a retriever, under which its answers and baselines are filed.

    Attributes:
        fixture: The name of the fixture.
        folder: The folder of the conftest that defines it, relative to the root of the project.
        parameter: The id of the fixture's parameter, or an empty string.
    """

    fixture: str = "retriever"
    folder: str = ""
    parameter: str = ""

    def __str__(self) -> str:
        return f"{self.fixture}[{self.parameter}]" if self.parameter else self.fixture

    def has_same_fixture(self, other: RetrieverId) -> bool:
        """Return whether both come from the same fixture, even with different parameters."""
        return (self.fixture, self.folder) == (other.fixture, other.folder)


class RunKey(NamedTuple):
    """The key of a run: its retriever, and how results are read. Suites with one key share it."""

    retriever: RetrieverId
    id_field: str = ""
    text_field: str = ""
    match: str = "id"


@dataclass(frozen=True)
class KnownIssue:
    """A failure that is tracked elsewhere and expected until a date.

    Attributes:
        id: The issue, such as ``SEARCH-212``.
        until: The last day (UTC) on which the failure is expected, or ``None``.
    """

    id: str
    until: date | None = None
    location: Location = field(default=Location(), compare=False)


class BoundUnit(Enum):
    """The unit of the number of a bound."""

    VALUE = "value"
    QUERY_FRACTION = "fraction of the queries"
    BASELINE_FRACTION = "fraction of the baseline's value"


@dataclass(frozen=True)
class Bound:
    """One number that a metric or its change is compared with.

    Attributes:
        value: The number. A percentage is a fraction here: ``5%`` is 0.05.
        text: The bound as the suite has it, such as ``5%`` or ``0.85``.
    """

    value: float
    unit: BoundUnit = BoundUnit.VALUE
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.value:g}"


def _make_bound_field(help: str, default: str = "none", *, is_change: bool = False) -> Any:
    """Make a field with metadata for the reference page, editors and the parser."""
    metadata = {"help": help, "default": default, "is_change": is_change}
    return field(default=None, metadata=metadata)


@dataclass(frozen=True)
class Threshold:
    """The bounds that a suite puts on one metric in one place.

    Attributes:
        is_warning: Whether a broken bound only warns (``warn: true``).
    """

    metric: Metric
    min: Bound | None = _make_bound_field("The lowest allowed value.")
    max: Bound | None = _make_bound_field("The highest allowed value.")
    max_drop: Bound | None = _make_bound_field(
        "How far it may drop below the baseline.", "any drop", is_change=True
    )
    max_rise: Bound | None = _make_bound_field(
        "How far it may rise, if lower is better.", "any rise", is_change=True
    )
    max_significant_drop: Bound | None = _make_bound_field(
        "Like `max_drop`, but only a statistically significant drop fails.", is_change=True
    )
    is_warning: bool = False
    location: Location = field(default=Location(), compare=False)

    @property
    def compares(self) -> bool:
        """Return whether a bound needs a baseline."""
        return any(getattr(self, name) for name in CHANGE_BOUNDS)

    @property
    def limits_drop(self) -> bool:
        """Return whether the threshold limits the drop of a relevance metric."""
        return self.metric.rates_relevance and bool(self.max_drop or self.max_significant_drop)


# The fields of thresholds that are bounds. Those of changes need a baseline.
BOUNDS = tuple(bound for bound in fields(Threshold) if bound.metadata)
CHANGE_BOUNDS = tuple(bound.name for bound in BOUNDS if bound.metadata["is_change"])
VALUE_BOUNDS = tuple(bound.name for bound in BOUNDS if not bound.metadata["is_change"])


@dataclass(frozen=True)
class Probe:
    """The document from which a probe was made.

    Attributes:
        field: The field that has the text of the probe.
        way: Whether the text is the whole field or a quote from it.
        position: The position of the quote in the field, in characters.
        source: The origin of the document, such as its category. Broken probes may share it.
    """

    doc_id: str
    title: str = ""
    field: str = ""
    way: Literal["whole", "quote"] = "whole"
    position: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A text to search for, and the requirements on its answer.

    Attributes:
        request: The key of the answer in a run. It depends on the text and the parameters and not
            on the id, so a query keeps its baseline if it is renamed or moved, and has none if it
            searches for something else.
        params: Keyword arguments of the call, those of the suite included.
        variant_of: The id of the query that this one is a variant of.
        is_sampled: Whether the query comes from a file. Such queries are a sample of what users
            search for, so a single one decides nothing. An inline query was chosen on purpose.
        passages: The names in judgments and rules that are passages (``match: text``).
        probe: The document from which the query was made, if it is a probe.
        assessor_grades: The grade of each assessor by document, if a file has several.
    """

    id: str
    text: str
    judgments: Judgments = field(default_factory=lambda: Judgments({}), repr=False)
    rules: tuple[Rule, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    params: Mapping[str, object] = field(default_factory=dict)
    why: str = ""
    variant_of: str = ""
    is_sampled: bool = False
    known_issue: KnownIssue | None = field(default=None, compare=False)
    passages: tuple[str, ...] = field(default=(), repr=False)
    probe: Probe | None = None
    assessor_grades: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)
    location: Location = field(default=Location(), compare=False)
    request: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A field, because it is read many times for each query.
        object.__setattr__(self, "request", make_request(self.text, self.params))

    @property
    def part(self) -> QueryPart:
        """Return the query as a part of texts."""
        return QueryPart(self.id, self.text)

    @property
    def has_requirements(self) -> bool:
        """Return whether anything is known or required about the answer."""
        return bool(self.judgments.grades or self.rules or self.thresholds)

    @property
    def expects_no_results(self) -> bool:
        """Return whether an empty ranking is the right answer. Means leave such queries out."""
        return any(rule.key == "expect_no_results" for rule in self.rules)


def make_request(text: str, params: Mapping[str, object]) -> str:
    """Make the key under which the answer to a text with these parameters is filed."""
    if not params:
        return text
    return f"{text}\n{json.dumps(params, sort_keys=True, ensure_ascii=False, default=str)}"


class LostQueriesMode(Enum):
    """The values of ``each_query: lost_all_relevant``, and ``MAX`` for ``{max: …}``."""

    NET = "net"
    FAIL = "fail"
    WARN = "warn"
    IGNORE = "ignore"
    MAX = "max"


@dataclass(frozen=True)
class LostQueriesSetting:
    """When lost queries fail the first default check.

    Attributes:
        maximum: The number of queries that may be lost, if the mode is ``MAX``.
    """

    mode: LostQueriesMode = LostQueriesMode.NET
    maximum: int = 0


@dataclass(frozen=True)
class Retry:
    """How often a failed call is made again, and after which failures.

    Attributes:
        on: HTTP statuses (``429``, ``5xx``) and ``timeout``.
    """

    times: int = 0
    on: tuple[str, ...] = ("429", "5xx", "timeout")


@dataclass(frozen=True)
class Settings:
    """How the queries of a suite run. Times are in seconds.

    Attributes:
        depth: How many results are requested, or ``None`` for as many as metrics and rules need.
        corpus_files: Absolute paths of JSON lines with the documents as indexed.
        max_errors: How many queries from files may have no answer.
    """

    top_k: int = 10
    depth: int | None = None
    undefined: Literal["skip", "zero"] = "skip"
    relevant_from: float = 1.0
    match: Literal["id", "text"] = "id"
    id_field: str = ""
    text_field: str = ""
    corpus_files: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    concurrency: int = 1
    timeout: float | None = None
    retry: Retry = Retry()
    rate: float | None = None
    repeat: int = 1
    max_errors: int = 0


class ItemKind(Enum):
    """What one pytest item of a suite checks."""

    QUERY = "query"
    THRESHOLD = "threshold"
    EACH_QUERY = "each_query"
    ANSWERS = "answers"
    DEFAULT_CHECKS = "default checks"


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One pytest item: an inline query, a line of thresholds, or something about all queries.

    Attributes:
        name: A name that is unique in the suite and safe in node ids and ``-k``.
        label: What a person reads, such as ``each_tag recall@10``.
        query_id: The query, if the item is about one.
        tag: The tag, if a threshold is about one.
        is_each_tag: Whether the threshold applies to every tag (``each_tag``).
        rule: The rule of ``each_query``.
    """

    name: str
    label: str
    kind: ItemKind
    location: Location = Location()
    query_id: str = ""
    tag: str = ""
    is_each_tag: bool = False
    threshold: Threshold | None = None
    rule: Rule | None = None


@dataclass(frozen=True)
class Suite:
    """The queries of a file and the requirements on their answers.

    Attributes:
        path: The path of the file, relative to the root of the project, with ``/``.
        queries: All queries, variants and probes included, in the order of the file.
        items: What pytest collects. Every check belongs to one of them.
        metrics: The metrics that reports show. Thresholds may use others.
        names_metrics: Whether the suite itself says which metrics to show, under ``metrics``. Only
            then do they decide on the primary metric, because a threshold must not.
        grades: Words for grades, which the grading page offers.
        baseline_retriever: A retriever to compare with instead of a stored baseline.
        files: The files of queries, judgments and documents that the suite reads.
        notes: Remarks about the files, such as the columns used and the judgments overridden.
    """

    name: str
    queries: tuple[Query, ...] = field(default=(), repr=False)
    path: str = ""
    metrics: tuple[Metric, ...] = ()
    names_metrics: bool = True
    items: tuple[CheckItem, ...] = field(default=(), repr=False)
    retriever: RetrieverId = RetrieverId()
    settings: Settings = Settings()
    grades: Mapping[str, float] = field(default_factory=dict)
    lost_queries: LostQueriesSetting = LostQueriesSetting()
    baseline_retriever: str = ""
    is_probe_suite: bool = False
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def run_key(self) -> RunKey:
        """Return the key of the run that holds this suite's answers."""
        settings = self.settings
        return RunKey(self.retriever, settings.id_field, settings.text_field, settings.match)

    @cached_property
    def primary_metric(self) -> Metric:
        """Return the first relevance metric, which decides what "better" and "worse" mean."""
        for metric in self.metrics if self.names_metrics else ():
            if metric.can_be_primary:
                return metric
        return DEFAULT_METRIC

    @cached_property
    def queries_by_id(self) -> Mapping[str, Query]:
        """Return every query by its id."""
        return {query.id: query for query in self.queries}

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Return the thresholds over the whole suite."""
        thresholds = []
        for item in self.items:
            is_about_tags = item.tag or item.is_each_tag
            if item.kind is ItemKind.THRESHOLD and item.threshold and not is_about_tags:
                thresholds.append(item.threshold)
        return tuple(thresholds)

    @cached_property
    def queries_by_tag(self) -> Mapping[str, Sequence[Query]]:
        """Return the queries of each tag, tags in the order of their first use."""
        tags: dict[str, list[Query]] = {}
        for query in self.queries:
            for tag in dict.fromkeys(query.tags):  # a tag counts once
                tags.setdefault(tag, []).append(query)
        return tags

    def list_queries(self, tag: str = "") -> Sequence[Query]:
        """Return the queries of a tag, or all queries if there is no tag."""
        return self.queries_by_tag.get(tag, ()) if tag else self.queries

    @cached_property
    def has_requirements(self) -> bool:
        """Return whether anything is known or required about an answer, apart from its change."""
        has_rule = any(item.rule for item in self.items)
        return has_rule or any(query.has_requirements for query in self.queries)

    @property
    def has_stored_baseline(self) -> bool:
        """Return whether the suite has a stored baseline, and therefore default checks.

        A comparison with another retriever has none. Neither has a suite of probes, in which any
        other document may be as good as the one that is relevant.
        """
        return not self.is_probe_suite and not self.baseline_retriever

    @cached_property
    def has_judgments(self) -> bool:
        """Return whether any query can be scored."""
        return any(query.judgments.grades for query in self.queries)
