"""The keys of a suite, of its queries, thresholds and files: one line for each.

The reader, "Did you mean …?", the JSON Schema and the reference page follow from these tables. A
key of kind ``NODE`` depends on other keys, so the parser reads its value later.

``python -m pytest_irquality.suite.keys`` prints the JSON Schema, with which editors complete and
check suites. The file ``schema.json`` has the same text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_irquality.metrics import METRICS
from pytest_irquality.suite import kinds
from pytest_irquality.suite.kinds import Kind, Schema, describe_node, list_words, suggest
from pytest_irquality.suite.model import BOUNDS, KnownIssue
from pytest_irquality.suite.rules import RANKS_SCHEMA, RULES
from pytest_irquality.suite.yaml_source import (
    Location,
    MappingNode,
    Mistake,
    MistakeList,
    Node,
    ScalarNode,
    quote,
)

FORMATS = ("trec", "beir", "jsonl", "csv", "tsv", "topics", "text")
COLUMN_MEANINGS = (
    "id", "query", "document", "grade", "tags", "variants", "weight", "why", "assessor", "passage",
)  # fmt: skip
RARE_METRICS = ("dcg", "err", "rbp", "bpref")


@dataclass(frozen=True)
class Key:
    """One key.

    Attributes:
        help: One sentence for editors and the reference page.
        default: What holds if the key is not written. Empty if it must be written.
        expects_results: Whether the key contradicts ``expect_no_results``.
    """

    kind: Kind[Any]
    help: str
    default: str = ""
    expects_results: bool = False

    @property
    def schema(self) -> Schema:
        """Return the JSON Schema of the value, with the text that an editor shows."""
        default = f" Default: {self.default}." if self.default else ""
        return {**self.kind.schema, "description": f"{self.help}{default}"}


@dataclass
class Fields:
    """The keys that are written in one place, with their values and lines.

    Attributes:
        has_mistakes: Whether something in this place was left out, because it is a mistake.
    """

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    has_mistakes: bool = False

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a key, or the default if it is not written."""
        return self.values.get(name, default)

    def get_line(self, name: str) -> int:
        """Return the line of a key, or of the place if the key is not written."""
        return self.lines.get(name, self.line)


def read_fields(
    node: Node,
    keys: Mapping[str, Key],
    owner: str,
    mistakes: MistakeList,
    *,
    path: str = "",
) -> Fields:
    """Read a mapping whose keys are known.

    Each value that is a mistake is left out and added to ``mistakes``.

    Args:
        node: The mapping.
        keys: The keys that it may have.
        owner: What the mapping is, for messages, such as "a query".
        mistakes: Receives the mistakes.
        path: The file, if it is not the suite.

    Raises:
        Mistake: The node is no mapping, or lacks a key that must be written. If it has an unknown
            key instead, only that one is reported.
    """
    fields = Fields(node.line)
    if not isinstance(node, MappingNode):
        kinds.read_entries(node, owner)  # raises
        return fields
    lines, values = fields.lines, fields.values
    for key, value in node.entries:
        name = key.text if isinstance(key, ScalarNode) else ""
        if name not in keys:
            fields.has_mistakes = True
            mistakes.add(_explain_unknown_key(key, keys, owner), path)
        elif name in lines:
            mistakes.add(Mistake(key.line, f"'{name}' is already in line {lines[name]}"), path)
        else:
            lines[name] = key.line
            try:
                values[name] = keys[name].kind.read(value, f"'{name}'")
            except Mistake as mistake:
                fields.has_mistakes = True
                mistakes.add(mistake, path)
    for name, entry in keys.items():
        # An unknown key is probably the missing one, misspelt.
        if not entry.default and name not in lines and not fields.has_mistakes:
            raise Mistake(node.line, f"{owner[:1].upper()}{owner[1:]} needs '{name}'")
    return fields


def _explain_unknown_key(key: Node, keys: Mapping[str, object], owner: str) -> Mistake:
    if not isinstance(key, ScalarNode):
        return Mistake(key.line, f"A key of {owner} must be a text, not {describe_node(key)}")
    name = key.text
    message = f"{quote(name)} is not a key of {owner}"
    if name.startswith("-") and name[1:] in keys:
        return Mistake(key.line, f"Write a space after the dash: '- {name[1:]}'")
    word, colon, _ = name.partition(":")
    if colon and word in keys:
        return Mistake(key.line, f"Write a space after the colon of '{word}:'")
    if "@" in name and "thresholds" in keys:
        return Mistake(key.line, f"{message}. Write thresholds of metrics under 'thresholds'.")
    if keys is QUERY_KEYS and " " in name:
        return Mistake(key.line, f"Queries are a list. Write {quote(f'- query: {name}')}.")
    if name[:1].isspace():
        return Mistake(key.line, "This line begins with a space of another kind. Type it again.")
    hint = suggest(name, keys, min_similarity=0.7)
    if not hint and keys is SUITE_KEYS and name in QUERY_KEYS:
        hint = ", but of a query. Indent it below its query."
    elif not hint and keys is QUERY_KEYS and name in SUITE_KEYS:
        hint = ", but of the suite. Write it without indentation."
    return Mistake(
        key.line, message + (hint or f". Its keys are {list_words(list(keys), 'and', limit=None)}.")
    )


def _read_node(node: Node, _: str) -> Node:
    return node


def make_node_kind(schema: Schema, form: str) -> Kind[Node]:
    """Make the kind of a value that the parser reads later."""
    return Kind(_read_node, schema, form)


# -- Small tables ---------------------------------------------------------------------------------

_SWITCH_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "none", "~")


def _read_known_issue(node: Node, name: str) -> KnownIssue:
    """Read ``SEARCH-212`` or ``{id: SEARCH-212, until: 2027-03-01}``."""
    if not isinstance(node, MappingNode):
        return KnownIssue(_read_issue_id(node, name))
    values = kinds.read_table(node, name, {"id": _ISSUE_ID, "until": kinds.DATE}, ["id"])
    return KnownIssue(values["id"], values.get("until"))


def _read_issue_id(node: Node, name: str) -> str:
    text = kinds.read_text(node, name)
    # A switch would pass for an issue, and turn everything that is broken green.
    if isinstance(node, ScalarNode) and not node.is_quoted and text.lower() in _SWITCH_WORDS:
        message = f"{name} must be the id of an issue, such as SHOP-123, not {quote(text)}"
        raise Mistake(node.line, f"{message}. Without an issue, remove the key.")
    return text


_ISSUE_ID: Kind[str] = Kind(_read_issue_id, {"type": ["string", "number"]}, "the id of an issue")
KNOWN_ISSUE: Kind[KnownIssue] = Kind(
    _read_known_issue,
    {
        "anyOf": [
            _ISSUE_ID.schema,
            kinds.make_object_schema(
                {"id": _ISSUE_ID.schema, "until": kinds.DATE.schema}, required=["id"]
            ),
        ]
    },
    "the id of an issue, or `{id: SHOP-123, until: 2027-03-01}`",
)
_KNOWN_ISSUE_HELP = "The issue that tracks what is broken here. It fails once it is fixed."


def get_known_issue(fields: Fields, path: str) -> KnownIssue | None:
    """Return the known issue of a query or threshold, with its place."""
    issue = fields.get("known_issue")
    if not isinstance(issue, KnownIssue):
        return None
    return replace(issue, location=Location(path, fields.get_line("known_issue")))


def _make_table_kind(keys: Mapping[str, Key], form: str) -> Kind[dict[str, Any]]:
    """Make the kind of a mapping that has some keys, of which it needs those without a default."""
    value_kinds = {name: entry.kind for name, entry in keys.items()}
    required = [name for name, entry in keys.items() if not entry.default]
    schema = make_keys_schema(keys)

    def read(node: Node, name: str) -> dict[str, Any]:
        return kinds.read_table(node, name, value_kinds, required, form)

    return Kind(read, schema, form)


def make_keys_schema(keys: Mapping[str, Key]) -> dict[str, Any]:
    """Return the JSON Schema of a mapping that has these keys."""
    schema = kinds.make_object_schema({name: entry.schema for name, entry in keys.items()})
    required = [name for name, entry in keys.items() if not entry.default]
    if required:
        schema["required"] = required
    return schema


RETRY_KEYS = {
    "times": Key(kinds.COUNT, "How often."),
    "on": Key(kinds.RETRY_FAILURES, "After which failures.", "`[429, 5xx, timeout]`"),
}
CORPUS_KEYS = {
    "files": Key(kinds.TEXTS, "Files or patterns, one document a line, as JSON."),
    "missing": Key(
        kinds.make_choice("warn", "fail"), "If a relevant passage is in no document.", "`warn`"
    ),
}
ERRORS_KEYS = {"max": Key(kinds.COUNT_FROM_0, "How many queries from files may have no answer.")}
BASELINE_KEYS = {"retriever": Key(kinds.FIXTURE, "The retriever to compare with.")}
PROBE_KEYS = {
    "from": Key(kinds.TEXT, "A catalog (CSV or JSON lines), or `corpus`."),
    "by": Key(
        Kind(
            lambda node, name: {
                key.text: kinds.read_choice(value, f"'{key.text}' of {name}", ("whole", "quote"))
                for key, value in kinds.read_entries(node, name)
            },
            {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"enum": ["whole", "quote"]},
            },
            "fields, each with `whole` or `quote`",
        ),
        "By which fields each document is searched: the complete field, or a quote from it.",
    ),
    "sample": Key(kinds.COUNT, "How many documents.", "200"),
}


# -- Files ----------------------------------------------------------------------------------------


def _read_columns(node: Node, name: str) -> dict[str, str]:
    columns = {}
    for key, value in kinds.read_entries(node, name):
        if key.text not in COLUMN_MEANINGS:
            known = list_words(COLUMN_MEANINGS, "and")
            hint = suggest(key.text, COLUMN_MEANINGS, f"Meanings are {known}.")
            raise Mistake(key.line, f"{quote(key.text)} is not the meaning of a column{hint}")
        columns[key.text] = kinds.read_text(value, f"'{key.text}' of {name}")
    return columns


FILE_KEYS = {
    "file": Key(kinds.TEXT, "A path or pattern relative to the suite, or a BEIR folder."),
    "format": Key(kinds.make_choice(*FORMATS), "The format.", "recognized by its content"),
    "columns": Key(
        Kind(
            _read_columns,
            kinds.make_object_schema(dict.fromkeys(COLUMN_MEANINGS, kinds.ANY_TEXT)),
            "meanings, each with the name of a column",
        ),
        "Which column has which meaning, as in `{grade: label}`.",
        "recognized by their names",
    ),
}
_TEXT_OR_FILE: Sequence[Schema] = (kinds.ANY_TEXT, kinds.make_reference("file"))

# -- Thresholds -----------------------------------------------------------------------------------

BOUND: Kind[Node] = make_node_kind(
    {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"(%|ms|s|min)$"}]},
    "a number, a percentage, or a duration for latency",
)
CHANGE: Kind[Node] = make_node_kind(
    {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": "%$"}]},
    "points, or a percentage of the baseline's value",
)
THRESHOLD_KEYS = {
    **{
        bound.name: Key(
            CHANGE if bound.metadata["is_change"] else BOUND,
            bound.metadata["help"],
            bound.metadata["default"],
        )
        for bound in BOUNDS
    },
    "warn": Key(kinds.FLAG, "Whether a broken threshold only warns.", "`false`"),
    "known_issue": Key(KNOWN_ISSUE, _KNOWN_ISSUE_HELP, "none"),
}
THRESHOLD_SCHEMA: Schema = {
    "anyOf": [
        BOUND.schema,
        kinds.make_object_schema(
            {name: entry.schema for name, entry in THRESHOLD_KEYS.items()}, minProperties=1
        ),
    ]
}


def list_usual_metrics() -> list[str]:
    """Return the names of metrics that an editor offers, each as it is most often written."""
    return [entry.usual_name for entry in METRICS.values() if entry.name not in RARE_METRICS]


BLOCK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "propertyNames": {"pattern": r"^\s*([\w.-]+\s+){0,3}[\w.-]+\s*(\([^()]*\))?\s*(@.*)?$"},
    "properties": {name: kinds.make_reference("threshold") for name in list_usual_metrics()},
    "additionalProperties": kinds.make_reference("threshold"),
}
BLOCK: Kind[Node] = make_node_kind(
    kinds.make_reference("thresholds"), "metrics, each with a threshold"
)

LOST_QUERIES_SCHEMA: Schema = {
    "anyOf": [
        {"enum": ["net", "fail", "warn", "ignore"]},
        kinds.make_object_schema({"max": kinds.COUNT_FROM_0.schema}, required=["max"]),
    ]
}
EACH_QUERY_RULES = {name: rule for name, rule in RULES.items() if rule.is_for_each_query}
EACH_QUERY_SCHEMA: Schema = {
    **BLOCK_SCHEMA,
    "properties": {
        **BLOCK_SCHEMA["properties"],
        "lost_all_relevant": LOST_QUERIES_SCHEMA,
        **{name: rule.schema for name, rule in EACH_QUERY_RULES.items()},
    },
}

# -- Queries --------------------------------------------------------------------------------------

QUERY_KEYS: dict[str, Key] = {
    "query": Key(kinds.TEXT, "The text to search for."),
    "id": Key(kinds.TEXT, "Its name in reports and node ids.", "the text of the query"),
    "tags": Key(kinds.TEXTS, "Groups that the query belongs to.", "none"),
    "why": Key(kinds.TEXT, "Why it matters. Every failure shows it.", "nothing"),
    "weight": Key(kinds.WEIGHT, "How much it counts in `weighted` metrics.", "1"),
    "params": Key(kinds.PARAMS, "Keyword arguments of this query's call.", "those of the suite"),
    "relevant": Key(
        make_node_kind(
            {
                "anyOf": [
                    kinds.make_list_schema(kinds.ANY_TEXT),
                    {"type": "object", "additionalProperties": kinds.ANY_TEXT},
                ]
            },
            "documents, with grades or without",
        ),
        "Documents with their grades: numbers, or words of `grades`. In a list, each is relevant.",
        "none",
        expects_results=True,
    ),
}
for _name, _rule in RULES.items():
    QUERY_KEYS[_name] = Key(
        make_node_kind(_rule.schema, _rule.form),
        _rule.help,
        "no such rule",
        expects_results=_rule.expects_results and _name != "expect_no_results",
    )
QUERY_KEYS["thresholds"] = Key(BLOCK, "Thresholds of this query.", "none", expects_results=True)
QUERY_KEYS["variants"] = Key(
    kinds.TEXTS, "Paraphrases and typos. Each is a query with the same judgments.", "none"
)
QUERY_KEYS["known_issue"] = Key(KNOWN_ISSUE, _KNOWN_ISSUE_HELP, "none")

# -- The suite ------------------------------------------------------------------------------------

SUITE_KEYS: dict[str, Key] = {
    "suite": Key(kinds.TEXT, "The name in reports.", "the name of the file, without `.ir.yaml`"),
    "queries": Key(
        make_node_kind(
            {
                "anyOf": [
                    *_TEXT_OR_FILE,
                    {
                        "type": "array",
                        "minItems": 1,
                        "items": {"anyOf": [kinds.make_reference("query"), *_TEXT_OR_FILE]},
                    },
                ]
            },
            "queries and files",
        ),
        "The queries, inline or in files.",
        "none, if there are `probes`",
    ),
    "probes": Key(
        _make_table_kind(PROBE_KEYS, "`{from: FILE, by: {title: whole}, sample: 200}`"),
        "Queries made of documents, which test without labels that each can be found.",
        "none",
    ),
    "judgments": Key(
        make_node_kind(
            kinds.make_one_or_many_schema({"anyOf": list(_TEXT_OR_FILE)}),
            "a file, or a list of files",
        ),
        "Files of judgments. Those under `relevant` win over them.",
        "none",
    ),
    "retriever": Key(kinds.FIXTURE, "The fixture that searches.", "`retriever`"),
    "baseline": Key(
        _make_table_kind(BASELINE_KEYS, "`{retriever: NAME}`"),
        "Compare with another retriever. Only written thresholds apply.",
        "the stored baseline",
    ),
    "top_k": Key(kinds.CUTOFF, "The cutoff of every metric and rule that names none.", "10"),
    "depth": Key(
        kinds.CUTOFF, "How many results to request.", "the deepest cutoff of metrics and rules"
    ),
    "params": Key(kinds.PARAMS, "Keyword arguments of every call.", "none"),
    "grades": Key(kinds.GRADE_WORDS, "Words that may be written for grades.", "none"),
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
        kinds.TEXT, "Where a result has the id, as in `metadata.source`.", "recognized"
    ),
    "text_field": Key(
        kinds.TEXT, "Where a result has its text, as in `payload.content`.", "recognized"
    ),
    "corpus": Key(
        _make_table_kind(CORPUS_KEYS, "`{files: FILE, missing: warn}`"),
        "The documents or chunks as indexed.",
        "the retriever's `texts()`, if it has this method",
    ),
    "show": Key(kinds.TEXT_LIST, "Fields of a result that reports and grading show.", "none"),
    "metrics": Key(
        make_node_kind(
            kinds.make_list_schema({"anyOf": [{"enum": list_usual_metrics()}, {"type": "string"}]}),
            "a list of metrics",
        ),
        "Metrics that reports show.",
        "those with thresholds; also ndcg, mrr and recall if none of them scores relevance",
    ),
    "thresholds": Key(BLOCK, "Thresholds over the suite.", "none"),
    "tags": Key(
        make_node_kind(
            {"type": "object", "additionalProperties": kinds.make_reference("thresholds")},
            "tags, each with thresholds",
        ),
        "Thresholds of one tag.",
        "none",
    ),
    "each_tag": Key(BLOCK, "Thresholds for every tag.", "none"),
    "each_query": Key(
        make_node_kind(
            EACH_QUERY_SCHEMA, "thresholds, `lost_all_relevant`, and rules about all results"
        ),
        "Thresholds and rules for every query.",
        "none",
    ),
    "concurrency": Key(kinds.COUNT, "How many calls run at a time.", "1"),
    "timeout": Key(
        kinds.DURATION, "The longest time for one call.", "60 s; none for plain functions"
    ),
    "retry": Key(
        _make_table_kind(RETRY_KEYS, "`{times: 2, on: [429, 5xx, timeout]}`"),
        "Which failed calls are made again.",
        "none",
    ),
    "rate": Key(kinds.RATE, "The most calls in a time.", "any"),
    "repeat": Key(kinds.REPEATS, "How often each query runs, for nondeterministic engines.", "1"),
    "errors": Key(
        _make_table_kind(ERRORS_KEYS, "`{max: 2}`"),
        "How many queries from files may have no answer.",
        "0",
    ),
}

# -- JSON Schema

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
        **make_keys_schema(SUITE_KEYS),
        "anyOf": [{"required": ["queries"]}, {"required": ["probes"]}],
        "definitions": {
            "query": make_keys_schema(QUERY_KEYS),
            "file": make_keys_schema(FILE_KEYS),
            "ranks": RANKS_SCHEMA,
            "thresholds": BLOCK_SCHEMA,
            "threshold": THRESHOLD_SCHEMA,
        },
    }


def format_schema() -> str:
    """Format the schema as its file has it."""
    return json.dumps(make_schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(format_schema().encode())
