"""The keys of suites, queries, thresholds and files, in tables.

Parsing, "Did you mean …?", the JSON Schema and the reference page follow from these tables. A key
whose kind is a node depends on other keys, so the parser reads its value later.

``python -m pytest_irquality.suite.keys`` prints the JSON Schema, with which editors complete and
check suites. The file ``schema.json`` has the same text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pytest_irquality.metrics import METRICS
from pytest_irquality.suite import kinds
from pytest_irquality.suite.kinds import Key, Kind, Schema, make_node_kind, make_reference
from pytest_irquality.suite.mistakes import Mistake, quote
from pytest_irquality.suite.model import (
    BOUNDS,
    KnownIssue,
    LostQueriesMode,
    LostQueriesSetting,
    Retry,
)
from pytest_irquality.suite.rules import RULES
from pytest_irquality.suite.yaml_source import MappingNode, Node, ScalarNode

# The formats of files, with their names in messages.
FORMATS = {
    "trec": "TREC qrels",
    "beir": "BEIR qrels",
    "jsonl": "JSON lines",
    "csv": "CSV",
    "tsv": "TSV",
    "topics": "TREC topics",
    "text": "a list of queries",
}
COLUMN_MEANINGS = (
    "id", "query", "document", "grade", "tags", "variants", "weight", "why", "assessor", "passage",
)  # fmt: skip

NODE = make_node_kind({})

# -- Small tables ----------------------------------------------------------------------------------

_SWITCH_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "none", "~")


def _read_issue_id(node: Node, name: str) -> str:
    text = kinds.read_text(node, name)
    # `known_issue: true` would be an issue named "true", and excuse everything that fails.
    if isinstance(node, ScalarNode) and not node.is_quoted and text.lower() in _SWITCH_WORDS:
        message = f"{name} must be the id of an issue, such as SHOP-123, not {quote(text)}"
        raise Mistake(node.line, f"{message}. Without an issue, remove the key.")
    return text


_ISSUE_ID = Kind(_read_issue_id, {"type": ["string", "number"]}, "the id of an issue")
_KNOWN_ISSUE_KEYS = {
    "id": Key(_ISSUE_ID, "The issue."),
    "until": Key(kinds.DATE, "The last day on which the failure is expected.", "no end"),
}
_KNOWN_ISSUE_FORM = "the id of an issue, or `{id: SHOP-123, until: 2027-03-01}`"
KNOWN_ISSUE = Key(
    kinds.make_table(_KNOWN_ISSUE_KEYS, _KNOWN_ISSUE_FORM, KnownIssue, scalar_key="id"),
    "The issue that tracks an expected failure. The query fails once it is fixed.",
    "none",
)
RETRY_KEYS = {
    "times": Key(kinds.COUNT, "How many times to retry."),
    "on": Key(kinds.RETRY_FAILURES, "Which failures to retry.", "`[429, 5xx, timeout]`"),
}
CORPUS_KEYS = {"files": Key(kinds.TEXTS, "Files or patterns. Each line is a document as JSON.")}
ERRORS_KEYS = {"max": Key(kinds.make_count(0), "How many queries from files may have no answer.")}
BASELINE_KEYS = {"retriever": Key(kinds.FIXTURE, "The retriever to compare with.")}
PROBE_KEYS = {
    "from": Key(kinds.TEXT, "A catalog (CSV or JSON lines), or `corpus`."),
    "by": Key(
        kinds.make_mapping(
            kinds.make_choice("whole", "quote"), example="{title: whole, description: quote}"
        ),
        "Which fields to search by: the complete text, or a quote from it.",
    ),
    "sample": Key(kinds.COUNT, "How many documents to search for.", "200"),
}


# -- Files -----------------------------------------------------------------------------------------


FILE_KEYS = {
    "file": Key(kinds.TEXT, "A path or pattern relative to the suite, or a BEIR folder."),
    "format": Key(kinds.make_choice(*FORMATS), "The format.", "recognized by its content"),
    "columns": Key(
        kinds.make_mapping(kinds.TEXT, known_keys=COLUMN_MEANINGS),
        "The meaning of columns, such as `{grade: label}`.",
        "recognized by their names",
    ),
}
FILE = kinds.make_table(FILE_KEYS, "{file: FILE}")
_TEXT_OR_FILE: Schema = {"anyOf": [kinds.TEXT.schema, make_reference("file")]}

# -- Thresholds ------------------------------------------------------------------------------------

THRESHOLD_KEYS: dict[str, Key] = {}
for _bound in BOUNDS:
    _about = _bound.metadata
    THRESHOLD_KEYS[_bound.name] = Key(NODE, _about["help"], _about["default"])
THRESHOLD_KEYS["warn"] = Key(kinds.FLAG, "Whether a failing threshold only warns.", "`false`")
THRESHOLD_SCHEMA: Schema = {"anyOf": [kinds.ANY_TEXT, kinds.make_keys_schema(THRESHOLD_KEYS)]}


# The names of metrics that an editor offers, in their usual spelling.
_METRIC_NAMES = [entry.usual_name for entry in METRICS.values() if entry.name != "dcg"]
_METRIC_SCHEMA: Schema = {"anyOf": [{"enum": _METRIC_NAMES}, kinds.ANY_TEXT]}
BLOCK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": r"^\s*([\w.-]+\s+){0,3}[\w.-]+\s*(\([^()]*\))?\s*(@.*)?$"},
    "properties": dict.fromkeys(_METRIC_NAMES, make_reference("threshold")),
    "additionalProperties": make_reference("threshold"),
}
BLOCK = make_node_kind(make_reference("thresholds"))

_LOST_QUERIES_WORDS = kinds.make_choice("net", "fail", "warn", "ignore")
_LOST_QUERIES_KEYS = {"max": Key(kinds.make_count(0), "How many queries may be lost.")}
_MAX_LOST_QUERIES = kinds.make_table(_LOST_QUERIES_KEYS, "`{max: 2}`")


def _read_lost_queries(node: Node, name: str) -> LostQueriesSetting:
    if isinstance(node, MappingNode):
        maximum = _MAX_LOST_QUERIES.read(node, name)["max"]
        return LostQueriesSetting(LostQueriesMode.MAX, maximum)
    return LostQueriesSetting(LostQueriesMode(_LOST_QUERIES_WORDS.read(node, name)))


_LOST_QUERIES_SCHEMA = {"anyOf": [_LOST_QUERIES_WORDS.schema, _MAX_LOST_QUERIES.schema]}
LOST_QUERIES = Kind(_read_lost_queries, _LOST_QUERIES_SCHEMA)
EACH_QUERY_RULES = {name: rule for name, rule in RULES.items() if rule.is_for_each_query}
EACH_QUERY_SCHEMA: Schema = {
    **BLOCK_SCHEMA,
    "properties": {
        **BLOCK_SCHEMA["properties"],
        "lost_all_relevant": LOST_QUERIES.schema,
        **{name: rule.kind.schema for name, rule in EACH_QUERY_RULES.items()},
    },
}

# -- Queries ---------------------------------------------------------------------------------------

QUERY_KEYS: dict[str, Key] = {
    "query": Key(kinds.QUERY_TEXT, "The text to search for."),
    "id": Key(kinds.TEXT, "The name in reports and in test names.", "the text of the query"),
    "tags": Key(kinds.TEXTS, "Groups that the query belongs to.", "none"),
    "why": Key(kinds.TEXT, "Why the query matters. Its failures show this text.", "nothing"),
    "weight": Key(kinds.WEIGHT, "How much the query counts in `weighted` metrics.", "1"),
    "params": Key(kinds.PARAMS, "Keyword arguments of this query's call.", "those of the suite"),
    "relevant": Key(
        NODE,
        "Documents with their grades: numbers, or words of `grades`. In a list, each is relevant.",
        "none",
        expects_results=True,
    ),
}
for _name, _rule in RULES.items():
    _expects_results = _rule.expects_results and _name != "expect_no_results"
    QUERY_KEYS[_name] = Key(_rule.kind, _rule.help, "no such rule", _expects_results)
QUERY_KEYS["thresholds"] = Key(BLOCK, "Thresholds of this query.", "none", expects_results=True)
QUERY_KEYS["variants"] = Key(
    kinds.make_list(kinds.QUERY_TEXT, is_single_allowed=True),
    "Paraphrases and typos. Each is a query with the same judgments.",
    "none",
)
QUERY_KEYS["known_issue"] = KNOWN_ISSUE


_GRADES = kinds.make_mapping(kinds.NUMBER, "The grade of '{key}'")


def _read_grade_words(node: Node, name: str) -> dict[str, float]:
    grades = _GRADES.read(node, name)
    for word in grades:
        if kinds.parse_number(word) is not None:
            raise Mistake(node.line, f"{name} maps words to grades, but {quote(word)} is a number")
    return grades


GRADE_WORDS = Kind(_read_grade_words, _GRADES.schema)

_QUERY_LIST = {"type": "array", "items": {"anyOf": [make_reference("query"), _TEXT_OR_FILE]}}

# -- The suite -------------------------------------------------------------------------------------

SUITE_KEYS: dict[str, Key] = {
    "suite": Key(kinds.TEXT, "The name in reports.", "the name of the file, without `.ir.yaml`"),
    "queries": Key(
        make_node_kind({"anyOf": [_TEXT_OR_FILE, _QUERY_LIST]}),
        "The queries, inline or in files.",
        "none, if there are `probes`",
    ),
    "probes": Key(
        kinds.make_table(PROBE_KEYS, "`{from: FILE, by: {title: whole}, sample: 200}`"),
        "Queries made from documents, to test that each can be found.",
        "none",
    ),
    "judgments": Key(
        make_node_kind({"anyOf": [_TEXT_OR_FILE, {"type": "array", "items": _TEXT_OR_FILE}]}),
        "Files of judgments. Judgments under `relevant` override them.",
        "none",
    ),
    "retriever": Key(kinds.FIXTURE, "The fixture that searches.", "`retriever`"),
    "baseline": Key(
        kinds.make_table(BASELINE_KEYS, "`{retriever: NAME}`"),
        "Compare with another retriever. Default checks do not apply.",
        "the stored baseline",
    ),
    "top_k": Key(kinds.CUTOFF, "The cutoff of metrics and rules without one.", "10"),
    "depth": Key(
        kinds.CUTOFF, "How many results to request.", "the deepest cutoff of metrics and rules"
    ),
    "params": Key(kinds.PARAMS, "Keyword arguments of every call.", "none"),
    "grades": Key(GRADE_WORDS, "Words to use as grades, such as `{good: 2, bad: 0}`.", "none"),
    "relevant_from": Key(kinds.RELEVANT_FROM, "The lowest grade that counts as relevant.", "1"),
    "undefined": Key(
        kinds.make_choice("skip", "zero"),
        "Queries without relevant documents: left out of means, or scored 0.",
        "`skip`",
    ),
    "match": Key(
        kinds.make_choice("id", "text"), "What `relevant` and rules name: ids or passages.", "`id`"
    ),
    "id_field": Key(
        kinds.TEXT,
        "The result field with the document id, such as `metadata.source`.",
        "recognized",
    ),
    "text_field": Key(
        kinds.TEXT, "The result field with the text, such as `payload.content`.", "recognized"
    ),
    "corpus": Key(
        kinds.make_table(CORPUS_KEYS, "`{files: FILE}`"),
        "The documents or chunks as indexed: paths or patterns of JSON lines.",
        "the retriever's `texts()`, if it has this method",
    ),
    "show": Key(
        kinds.TEXT_LIST, "Fields of results that reports and the grading page show.", "none"
    ),
    "metrics": Key(
        make_node_kind({"type": "array", "items": _METRIC_SCHEMA}),
        "Metrics that reports show.",
        "those with thresholds; also ndcg, mrr and recall if none of them scores relevance",
    ),
    "thresholds": Key(BLOCK, "Thresholds over the suite.", "none"),
    "tags": Key(
        make_node_kind({"type": "object", "additionalProperties": make_reference("thresholds")}),
        "Thresholds over the queries of a tag.",
        "none",
    ),
    "each_tag": Key(BLOCK, "Thresholds for every tag.", "none"),
    "each_query": Key(
        make_node_kind(EACH_QUERY_SCHEMA),
        "Thresholds, rules and `lost_all_relevant` per query.",
        "none",
    ),
    "concurrency": Key(kinds.COUNT, "How many calls run at the same time.", "1"),
    "timeout": Key(
        kinds.DURATION, "The longest time for one call.", "60 s; none for plain functions"
    ),
    "retry": Key(
        kinds.make_table(RETRY_KEYS, "`{times: 2, on: [429, 5xx, timeout]}`", Retry),
        "Which failed calls to retry.",
        "none",
    ),
    "rate": Key(kinds.RATE, "The highest number of calls in a period.", "none"),
    "repeat": Key(
        kinds.make_count(maximum=kinds.MAX_REPEATS),
        "How many times each query runs, for nondeterministic engines.",
        "1",
    ),
    "errors": Key(
        kinds.make_table(ERRORS_KEYS, "`{max: 2}`"),
        "How many queries from files may have no answer.",
        "0",
    ),
}

# The ends of messages about keys in the wrong place.
KEYS_OF_QUERIES = dict.fromkeys(QUERY_KEYS, ", but of a query. Indent it below its query.")
KEYS_OF_SUITES = dict.fromkeys(SUITE_KEYS, ", but of the suite. Write it without indentation.")

# -- JSON Schema -----------------------------------------------------------------------------------

SCHEMA_ID = (
    "https://raw.githubusercontent.com/pytest-irquality/pytest-irquality/main/"
    "pytest_irquality/suite/schema.json"
)
SCHEMA_FILE = Path(__file__).with_name("schema.json")


def make_schema() -> dict[str, Any]:
    """Make the schema from the tables of keys."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        "title": "A suite of pytest-irquality",
        "description": "Queries, what they must find, and thresholds on how well they do.",
        **kinds.make_keys_schema(SUITE_KEYS),
        "anyOf": [{"required": ["queries"]}, {"required": ["probes"]}],
        "definitions": {
            "query": kinds.make_keys_schema(QUERY_KEYS),
            "file": kinds.make_keys_schema(FILE_KEYS),
            "thresholds": BLOCK_SCHEMA,
            "threshold": THRESHOLD_SCHEMA,
        },
    }


def format_schema() -> str:
    """Format the schema as its file has it."""
    return json.dumps(make_schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(format_schema().encode())
