"""The keys of a suite, of its queries and of the files it names: each is one line of a table.

A key that later stages use as it is written belongs into ``SuiteSettings`` or ``QuerySettings``,
and ``Suite`` and ``Query`` have it at once; with ``shown=True`` every report shows it. One whose
meaning depends on other keys belongs into ``WrittenSuite`` or ``WrittenQuery``; ``reader.py`` works
it out. ``docs/tools/renew.py`` brings the JSON Schema and the reference page up to date.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from yaml.events import Event, ScalarEvent

from pytest_irquality.metrics.evaluation import Undefined
from pytest_irquality.suite.blocks import (
    BLOCK,
    EACH_QUERY,
    KNOWN_ISSUE,
    KNOWN_ISSUE_HELP,
    TAG_BLOCKS,
    TREND,
    LimitLine,
    Line,
    TagBlock,
    offered,
)
from pytest_irquality.suite.grades import (
    GRADE_WORDS,
    LOWEST_GRADE,
    MATCH,
    RELEVANT,
    Match,
    Relevant,
)
from pytest_irquality.suite.key_tables import (
    Kind,
    fields_read,
    filled,
    key,
    keys_of,
    read_table,
    required,
    table,
)
from pytest_irquality.suite.rules import RULE_KEYS, Written
from pytest_irquality.suite.values import (
    ANSWERS,
    ANY_TEXT,
    COUNT,
    CUTOFF,
    DURATION,
    FAILURES,
    FROM_0,
    IDENTIFIER,
    PARAMS,
    RATE,
    TEXT,
    TEXT_OR_TEXTS,
    TEXTS,
    USUAL_FAILURES,
    WEIGHT,
    choice,
    one_or_list,
    one_or_many,
    only,
    placed_texts,
    ref,
)
from pytest_irquality.suite.yaml import Document, Place

# -- calls and chunks ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Retry:
    """The number of times that a failed call is made again, and after which failures."""

    times: int = required(COUNT, "How often.")
    on: tuple[str, ...] = key(
        FAILURES, "After which failures.", USUAL_FAILURES, "`[429, 5xx, timeout]`"
    )


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The chunks as they were indexed: files with a chunk a line, as JSON.

    ``missing``: what a passage is that stands in none of them.
    """

    files: tuple[str, ...] = key(
        TEXT_OR_TEXTS,
        "Files or patterns, a chunk a line, as JSON.",
        (),
        "the retriever's `texts()`",
    )
    missing: Literal["warn", "fail"] = key(
        choice("warn", "fail"), "A passage that stands in no chunk: a warning, or an error.", "warn"
    )


# -- files -----------------------------------------------------------------------------------------


def _format(document: Document, event: Event, what: str) -> str:
    from pytest_irquality.suite.files.source import NAMES  # noqa: PLC0415 - the formats only where one is named

    return document.choice(event, what, NAMES)


FORMAT: Kind[str] = Kind(_format, ref("format"), "the name of a format")


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """A file of queries or judgments, or a pattern for several, as the suite names it.

    ``bare``: it is only a text in the list of queries, where a query may have been meant.
    """

    file: str = required(
        TEXT,
        "Path or pattern, relative to the suite; or a BEIR folder.",
    )
    format: str | None = key(FORMAT, "What the file is.", None, "seen from its content")
    place: Place = Place(1)
    bare: bool = False


def _file(document: Document, event: Event) -> WrittenFile:
    place = document.place(event)
    if isinstance(event, ScalarEvent):
        return WrittenFile(file=document.text(event, "the path of a file"), place=place, bare=True)
    return replace(read_table(WrittenFile, document, event, "a file"), place=place)


# -- queries ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class QuerySettings:
    """The keys of a query that are used as they are written."""

    tags: tuple[str, ...] = key(TEXT_OR_TEXTS, "The slices this query belongs to.", ())
    why: str | None = key(
        TEXT, "Why it matters; shown with every failure.", None, "nothing", shown=True
    )
    weight: float = key(WEIGHT, "Read by `weighted` measures.", 1.0)
    variants: tuple[str, ...] = key(
        TEXT_OR_TEXTS,
        "Other wordings that share its expectation; in no other mean.",
        (),
    )
    params: Mapping[str, Any] = key(
        PARAMS, "Keyword arguments of this query's call, laid over those of the suite.", {}
    )
    known_issue: str | None = key(KNOWN_ISSUE, KNOWN_ISSUE_HELP, None, "none")


@dataclass(frozen=True, kw_only=True)
class WrittenQuery(QuerySettings):
    """A query as read, before anything else in the suite is applied to it.

    ``rules`` are those written, by key, None where one is switched off. ``places`` holds the place
    of each key that is written.
    """

    query: str = required(TEXT, "The text that is searched for.")
    id: str | None = key(TEXT, "Its name in reports and node ids.", None, "the query's text")
    relevant: Relevant = key(
        RELEVANT,
        "Documents with their grades (numbers, or words of `grades`); in a list, each is relevant.",
        Relevant({}, ()),
        "none",
        wants_results=True,
    )
    thresholds: tuple[LimitLine, ...] = key(BLOCK, "Limits of this query alone.", ())
    rules: Mapping[str, Written | None] = field(default_factory=dict)
    place: Place = Place(1)
    places: Mapping[str, Place] = field(default_factory=dict)
    bulk: bool = False

    @property
    def name(self) -> str:
        """The query's id, which is its text where none is given."""
        return self.query if self.id is None else self.id

    @property
    def place_of_id(self) -> Place:
        """The place of its id, or of the text that is its id."""
        return self.places.get("id") or self.places.get("query") or self.place


def _query_or_file(document: Document, event: Event) -> WrittenQuery | WrittenFile:
    """A query, or a file of queries: which of the two the keys tell."""
    if isinstance(event, ScalarEvent):
        return _file(document, event)
    found: dict[str, object] = {}
    places: dict[str, Place] = {}
    for name, place, value in fields_read(QUERY_OR_FILE_KEYS, document, event, "a query"):
        found[name], places[name] = value, place
    of_file = [name for name in found if name in FILE_KEYS]
    of_query = [name for name in found if name not in FILE_KEYS]
    if of_file and of_query:
        document.fail_at(
            places[of_query[0]],
            f"{of_query[0]!r} does not go with {of_file[0]!r}: this is a query or a file of them",
        )
    place = document.place(event)
    if of_file:
        return filled(WrittenFile, found, document, event, "a file", place=place)
    more = {"rules": _taken(found, RULE_KEYS), "place": place, "places": places}
    return filled(WrittenQuery, found, document, event, "a query", **more)


def _taken(found: dict[str, object], keys: Iterable[str]) -> Mapping[str, object]:
    """The values of some keys, which are taken out of those that were found."""
    return {name: found.pop(name) for name in keys if name in found}


def read_query(document: Document) -> WrittenQuery:
    """The query that is all of the document."""
    query = _query_or_file(document, document.first())
    assert isinstance(query, WrittenQuery)
    return query


FILE_KEYS = keys_of(WrittenFile)
QUERY_KEYS = {**keys_of(WrittenQuery), **RULE_KEYS}
QUERY_OR_FILE_KEYS = {**QUERY_KEYS, **FILE_KEYS}
TEXT_OR_FILE = {"anyOf": [ANY_TEXT, ref("file")]}

# -- the suite -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SuiteSettings:
    """The keys of a suite that are used as they are written. Times are in seconds."""

    retriever: str = key(IDENTIFIER, "The fixture that searches.", "retriever")
    top_k: int = key(CUTOFF, "Cutoff of every measure and rule that names none.", 10)
    params: Mapping[str, Any] = key(PARAMS, "Keyword arguments of every call.", {})
    grades: Mapping[str, float] = key(GRADE_WORDS, "Words that may stand for grades.", {})
    relevant_from: float = key(
        LOWEST_GRADE, "The lowest grade that counts as relevant; may be a fraction.", 1.0
    )
    undefined: Undefined = key(
        choice(*get_args(Undefined)),
        "Queries without a relevant document: left out of means, or scored 0 where they are graded,"
        " or always.",
        "skip",
    )
    id_field: str | None = key(
        TEXT,
        "Where a result keeps the document's id, as in `metadata.source`.",
        None,
        "seen from the results",
    )
    text_field: str | None = key(
        TEXT,
        "Where a result keeps its text, as in `payload.content`.",
        None,
        "seen from the results",
    )
    retry: Retry = key(
        table(Retry, "`{times: …, on: …}`"),
        "Failed calls that are made again.",
        Retry(times=0),
        "none is",
    )
    rate: float | None = key(
        RATE,
        "The most calls of the retriever in a time; the lowest of its suites counts.",
        None,
        "none",
    )
    match: Match = key(MATCH, "What stands under `relevant` and in rules: ids, or passages.", "id")
    corpus: Corpus = key(
        table(Corpus, "`{files: …, missing: …}`"),
        "The documents or chunks as indexed, to tell which passages stand in none of them.",
        Corpus(),
        "the retriever's `texts()`, if it has one",
    )
    show: tuple[str, ...] = key(TEXTS, "Fields of a result that reports and grading show.", ())
    audit: int | None = key(
        only("dead", FROM_0),
        "How many documents `--ir-audit` may find that no longer exist.",
        None,
        "nothing fails",
    )
    concurrency: int | None = key(COUNT, "Calls in flight.", None, "1")
    timeout: float | None = key(
        DURATION, "The longest one call may take.", None, "60 s; none for plain functions"
    )
    repeat: int = key(ANSWERS, "How often each query is asked, for engines that waver.", 1)
    max_errors: int = key(
        only("max", FROM_0),
        "How many queries may have no answer.",
        0,
        name="errors",
    )
    baseline_retriever: str | None = key(
        only("retriever", TEXT),
        "Compare the others with this retriever of the same run.",
        None,
        "the stored baseline",
        name="baseline",
    )


@dataclass(frozen=True, kw_only=True)
class WrittenSuite(SuiteSettings):
    """A suite as read, before any of it is applied.

    ``places`` holds the place of each key that is written.
    """

    queries: tuple[WrittenQuery | WrittenFile, ...] = required(
        one_or_list(
            _query_or_file,
            {
                "anyOf": [
                    *TEXT_OR_FILE["anyOf"],
                    {
                        "type": "array",
                        "minItems": 1,
                        "items": {"anyOf": [ref("query"), *TEXT_OR_FILE["anyOf"]]},
                    },
                ]
            },
            "queries and files",
        ),
        "The queries, inline or in files.",
    )
    name: str | None = key(
        TEXT, "The name in reports.", None, "the file's, without `.ir.yaml`", name="suite"
    )
    depth: int | None = key(
        CUTOFF, "Results asked for.", None, "the deepest cutoff of any measure or rule"
    )
    judgments: tuple[WrittenFile, ...] = key(
        one_or_list(_file, one_or_many(TEXT_OR_FILE), "a file, or a list of files"),
        "Files of judgments; they join what stands under `relevant`.",
        (),
    )
    metrics: tuple[tuple[str, Place], ...] = key(
        placed_texts(
            {"anyOf": [{"enum": offered()}, {"type": "string", "minLength": 1}]},
            "a list of measures",
        ),
        "Measures shown everywhere.",
        (),
        "those with limits; ndcg, mrr and recall, too, where none is a mean of relevance",
    )
    thresholds: tuple[LimitLine, ...] = key(BLOCK, "Limits over the whole suite.", ())
    tags: tuple[TagBlock, ...] = key(TAG_BLOCKS, "Limits of one slice.", ())
    robustness: tuple[LimitLine, ...] = key(
        BLOCK, "Limits on what variants lose from their query.", ()
    )
    each_tag: tuple[LimitLine, ...] = key(BLOCK, "Limits that every slice must keep.", ())
    each_query: tuple[Line, ...] = key(
        EACH_QUERY,
        "Limits, guards and rules that every query must keep.",
        (),
        "`lost_all_relevant: fail` where there is a baseline",
    )
    trend: tuple[LimitLine, ...] = key(
        TREND, "What the last changes together may lose (`--ir-history`).", ()
    )
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def guards(self) -> frozenset[str]:
        """The keys of the guards that are written, if only to be ignored."""
        return frozenset(line.name for line in self.each_query)


SUITE_KEYS = keys_of(WrittenSuite)


def read_suite(document: Document) -> WrittenSuite:
    """The suite that a document holds. Raises ``SuiteError``."""
    root = document.root()
    found: dict[str, object] = {}
    places: dict[str, Place] = {}
    for name, place, value in fields_read(SUITE_KEYS, document, root, "the suite"):
        found[name], places[name] = value, place
    document.finish()
    suite = filled(WrittenSuite, found, document, root, "the suite", places=places)
    if not suite.queries:
        document.fail_at(places["queries"], "'queries' is empty")
    return suite
