"""The JSON Schema of suite files, for completion and checking in editors.

``python -m pytest_irquality.suite.schema`` prints it; ``schema.json`` beside this file is its output, and a test holds
the two together. Editors read YAML with types (``0123`` is a number there), the reader reads text: so a text may be any
single value here, and what needs the whole file (ids, tags, words of grades) is left to ``pytest --collect-only``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_irquality.metrics import DEFINITIONS
from pytest_irquality.suite.files.source import NAMES

FILE = Path(__file__).with_name("schema.json")

Schema = dict[str, Any]

TEXT: Schema = {"type": ["string", "number", "boolean"]}
ISSUE: Schema = {"type": ["string", "number"]}
COUNT: Schema = {"type": "integer", "minimum": 1}
FROM_0: Schema = {"type": "integer", "minimum": 0}
CUTOFF: Schema = {"type": "integer", "minimum": 1, "maximum": 100_000}
DURATION: Schema = {"type": "string", "pattern": r"^[+]?(\d+(\.\d*)?|\.\d+)\s*(ms|s|min)$"}
PERCENTAGE: Schema = {"type": "string", "pattern": r"^[+]?(\d+(\.\d*)?|\.\d+)%$"}
LIMIT: Schema = {"anyOf": [{"type": "number"}, PERCENTAGE, DURATION]}
DROP: Schema = {"anyOf": [{"type": "number", "minimum": 0}, PERCENTAGE]}


def ref(name: str) -> Schema:
    """A definition by its name."""
    return {"$ref": f"#/$defs/{name}"}


def said(schema: Schema, description: str) -> Schema:
    """A schema with the words that an editor shows."""
    return {**schema, "description": description}


def mapping(properties: Mapping[str, Schema], **more: Any) -> Schema:
    """A mapping with these keys and no others."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, **more}


def one_or_many(schema: Schema) -> Schema:
    """A value, or a list of such."""
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


def listed(schema: Schema) -> Schema:
    """A list of distinct values."""
    return {"type": "array", "items": schema, "uniqueItems": True}


def measures() -> list[str]:
    """The names that an editor offers."""
    return [
        f"{name}@10" if found.takes_cutoff else name
        for name, found in DEFINITIONS.items()
        if not found.at
    ]


LINES: Schema = {
    "type": "object",
    "propertyNames": {"pattern": r"^\s*([wW]eighted\s+)?[\w.-]+\s*(\([^()]*\))?\s*(@.*)?$"},
    "properties": {name: ref("limits") for name in measures()},
    "additionalProperties": ref("limits"),
}
BOUNDS: Mapping[str, Schema] = {
    "min": said(LIMIT, "The floor."),
    "max": said(LIMIT, "The ceiling."),
    "warn_below": said(LIMIT, "Below it, a line of the summary; never a failure."),
    "warn_above": said(LIMIT, "Above it, a line of the summary; never a failure."),
    "max_drop": said(
        DROP, "The most it may fall since the baseline: points, or % of the baseline's value."
    ),
    "max_rise": said(DROP, "The most it may rise since the baseline, where lower is better."),
    "max_significant_drop": said(
        DROP, "As max_drop, and only where a paired test finds the drop significant."
    ),
    "known_issue": ref("known_issue"),
}
FILE_KEYS: Mapping[str, Schema] = {
    "file": said(TEXT, "Path or glob, relative to the suite; or a BEIR folder."),
    "format": said({"enum": list(NAMES)}, "Default: told by the content."),
    "split": said(TEXT, "Of a BEIR folder; default test."),
}
QUERY: Mapping[str, Schema] = {
    "query": said(TEXT, "The text that is searched for."),
    "id": said(TEXT, "Default: the query's text."),
    "tags": said(one_or_many(TEXT), "Slices this query belongs to."),
    "why": said(TEXT, "Shown with every failure."),
    "relevant": said(
        {"anyOf": [listed(TEXT), {"type": "object", "additionalProperties": TEXT}]},
        "Documents with their grades (a number, or a word of 'grades'); in a list, each is simply relevant.",
    ),
    "must_find": said(ref("ranks"), "Document: worst acceptable rank; in a list, within top_k."),
    "must_find_any": said(ref("ranks"), "One of these is enough."),
    "must_not_find": said(
        ref("ranks"), "Document: never in the top that many; in a list, not within top_k."
    ),
    "in_order": said({**listed(TEXT), "minItems": 2}, "These must come in this order."),
    "thresholds": said(ref("lines"), "Limits of this query alone."),
    "weight": said({"type": "number", "minimum": 0}, "Read by 'weighted' measures; default 1."),
    "params": said({"type": "object"}, "Keyword arguments of this call."),
    "known_issue": ref("known_issue"),
    "expect_no_results": said({"type": "boolean"}, "Nothing should be found."),
}
SUITE: Mapping[str, Schema] = {
    "suite": said(TEXT, "The name in reports; default: the file's."),
    "retriever": said({"type": "string"}, "The fixture's name; default 'retriever'."),
    "top_k": said(CUTOFF, "Cutoff of every measure and rule that names none; default 10."),
    "depth": said(CUTOFF, "Results asked for; default: the deepest cutoff of any measure or rule."),
    "params": said({"type": "object"}, "Keyword arguments of every call."),
    "grades": said(
        {"type": "object", "additionalProperties": {"type": "number"}},
        "Words that may stand for grades.",
    ),
    "relevant_from": said(
        {"type": "number", "exclusiveMinimum": 0},
        "Lowest grade that counts as relevant; default 1.",
    ),
    "undefined": said(
        {"enum": ["skip", "zero"]},
        "Queries without a relevant document: left out of means, or scored 0.",
    ),
    "id_field": said(TEXT, "Where a result keeps the document's id, if not obvious."),
    "match": said({"enum": ["id", "text"]}, "What stands under 'relevant': ids, or passages."),
    "duplicates": said({"enum": ["collapse", "error"]}, "A document returned twice."),
    "concurrency": said(COUNT, "Calls in flight; default 1."),
    "timeout": said(DURATION, "Of one call, with its unit: 500ms, 5s, 1min."),
    "warmup": said(FROM_0, "Calls made before latency is measured; default 0."),
    "errors": said(mapping({"max": FROM_0}), "Queries that may fail to be answered."),
    "metrics": said(
        listed({"anyOf": [{"enum": measures()}, {"type": "string", "minLength": 1}]}),
        "Measures shown everywhere.",
    ),
    "thresholds": said(ref("lines"), "Limits over the whole suite."),
    "tags": said({"type": "object", "additionalProperties": ref("lines")}, "Limits of one slice."),
    "each_tag": said(ref("lines"), "Limits that every slice must keep."),
    "each_query": said(
        {
            **LINES,
            "properties": {
                **LINES["properties"],
                "must_not_find": ref("ranks"),
                "lost_all_relevant": said(
                    ref("guard"), "It had a relevant document at baseline and has none now."
                ),
                "new_zero_results": said(
                    ref("guard"), "It had results at baseline and has none now."
                ),
            },
        },
        "Limits and rules that every query must keep.",
    ),
    "baseline": said(
        mapping({"retriever": TEXT}, required=["retriever"]),
        "Compare with another retriever of the same run.",
    ),
    "judgments": said(one_or_many({"anyOf": [TEXT, ref("file")]}), "Files of judgments."),
    "queries": said(
        {
            "anyOf": [
                TEXT,
                ref("file"),
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [ref("query"), TEXT, ref("file")]},
                },
            ]
        },
        "Queries, inline or in files.",
    ),
}
DEFS: Mapping[str, Schema] = {
    "query": mapping(QUERY, required=["query"]),
    "file": mapping(FILE_KEYS, required=["file"]),
    "ranks": {
        "anyOf": [
            {**listed(TEXT), "minItems": 1},
            {"type": "object", "minProperties": 1, "additionalProperties": CUTOFF},
        ]
    },
    "lines": LINES,
    "limits": {"anyOf": [LIMIT, mapping(BOUNDS, minProperties=1)]},
    "guard": {"anyOf": [{"enum": ["fail", "warn", "ignore"]}, mapping({"max": FROM_0})]},
    "known_issue": said(
        {"anyOf": [ISSUE, {"type": "object", "minProperties": 1, "additionalProperties": ISSUE}]},
        "The issue that covers what is broken here: green while it is, loud when it no longer is.",
    ),
}  # fmt: skip


def schema() -> Schema:
    """The whole schema."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A suite of pytest-irquality",
        **mapping(SUITE, required=["queries"]),
        "$defs": dict(DEFS),
    }


def text() -> str:
    """The schema as its file holds it."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(text().encode())
