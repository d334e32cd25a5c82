"""The JSON Schema of suites: what the reader takes it takes, and what is plainly wrong it refuses."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from pytest_irquality import SuiteError, load_suite
from pytest_irquality.metrics import parse_measure
from pytest_irquality.metrics.catalogue import DEFINITIONS
from pytest_irquality.suite import schema
from pytest_irquality.suite.blocks import RARE
from tests.suite.test_lint import test_each_doubt_has_its_place as doubtful
from tests.test_fuzz import WHOLE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = [
    text
    for page in PAGES
    for text in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.S)
]
EXAMPLES = [
    *(path.read_text("utf-8") for path in ROOT.glob("*/*.ir.yaml")),
    *(text for text in SHOWN if re.search(r"^queries:", text, re.M)),
    WHOLE.decode(),
    *(parameters[0] for parameters in doubtful.pytestmark[0].args[1]),  # type: ignore[attr-defined]
    "queries: [a.jsonl, {file: b.csv, format: csv}, {query: 0123, relevant: {1.10: 1, NO: 2}}]\njudgments: {file: x}\n",
]


def as_an_editor_reads(text: str) -> Any:
    """YAML with its types, keys and dates as text, as JSON has them."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [plain(entry) for entry in value]
        return str(value) if isinstance(value, datetime.date) else value

    return plain(yaml.safe_load(text))


def complaints(text: str) -> list[str]:
    validator = Draft7Validator(schema.schema())
    return [error.message for error in validator.iter_errors(as_an_editor_reads(text))]


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(schema.schema())


KEYWORDS = {"$comment",
    "$id", "$ref", "$schema", "additionalProperties", "anyOf", "const", "default", "definitions", "description",
    "enum", "exclusiveMinimum", "items", "maxLength", "maximum", "minItems", "minLength", "minProperties", "minimum",
    "not", "oneOf", "pattern", "patternProperties", "properties", "propertyNames", "required", "title", "type",
    "uniqueItems", "dependencies", "allOf", "maxItems", "format", "exclusiveMaximum", "if", "then", "else",
}  # fmt: skip


def test_a_catalogue_takes_the_schema_as_it_is() -> None:
    """What SchemaStore asks: an address of its own, draft-07 and no keyword besides, and words for every key."""
    found = schema.schema()
    assert found["$id"].startswith("https://")
    assert found["$id"].endswith("/pytest_irquality/suite/schema.json")
    used: set[str] = set()

    def look(part: Any) -> None:
        used.update(part)
        for key, inner in part.items():
            named = key in ("properties", "definitions", "patternProperties")
            inside = inner.values() if named else inner if isinstance(inner, list) else [inner]
            for one in inside:
                if isinstance(one, dict):
                    look(one)

    look(found)
    assert used - KEYWORDS == set()
    wordless = [name for name, key in found["properties"].items() if "description" not in key]
    assert wordless == []


def test_editors_are_offered_every_measure_that_is_not_rare() -> None:
    found = schema.schema()
    assert {*RARE} < DEFINITIONS.keys()
    for name in DEFINITIONS.keys() - {*RARE}:
        offered = DEFINITIONS[name].usual_name
        assert offered.startswith(name)
        assert parse_measure(offered).definition.name == name
        assert offered in found["definitions"]["block"]["properties"]
        assert offered in found["properties"]["each_query"]["properties"]
        assert offered in found["properties"]["metrics"]["items"]["anyOf"][0]["enum"]


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_suite_of_the_repository_is_valid(text: str) -> None:
    assert complaints(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "suite: x\n",
        "queries: []\n",
        "queries: [{id: a}]\n",
        "querys: [{query: a}]\n",
        "queries: [{query: a, relevent: [d]}]\n",
        "queries: [{query: [a]}]\n",
        "queries: [{query: a, relevant: [d, d]}]\n",
        "queries: [{query: a, relevant: {d: [1]}}]\n",
        "queries: [{query: a, must_find: {d: 0}}]\n",
        "queries: [{query: a, must_find: {}}]\n",
        "queries: [{query: a, in_order: [d]}]\n",
        "queries: [{query: a, weight: -1}]\n",
        "queries: [{query: a, expect_no_results: maybe}]\n",
        "queries: [{query: a, known_issue: {}}]\n",
        "queries: [{query: a, relevant: [d], must_find: [d], known_issue: false}]\n",
        "queries: [{query: a}]\ntop_k: 0\n",
        "queries: [{query: a}]\ndepth: 1000000\n",
        "queries: [{query: a}]\nundefined: no\n",
        "queries: [{query: a}]\ntimeout: 5\n",
        "queries: [{query: a}]\nconcurrency: many\n",
        "queries: [{query: a}]\nrelevant_from: 0\n",
        "queries: [{query: a}]\nthresholds: {ndcg@10: {minn: 1}}\n",
        "queries: [{query: a}]\nthresholds: {ndcg@10: {}}\n",
        "queries: [{query: a}]\nthresholds: {ndcg@10: high}\n",
        "queries: [{query: a}]\nthresholds: {ndcg@10: {max_drop: -1}}\n",
        "queries: [{query: a}]\nthresholds: [ndcg@10]\n",
        "queries: [{query: a}]\neach_query: {lost_all_relevant: maybe}\n",
        "queries: [{query: a}]\nbaseline: {}\n",
        "queries: [{query: a}]\njudgments: {file: x, format: trek}\n",
        "queries: [{query: a}]\njudgments: {format: trec}\n",
        "queries: [{file: x, query: a}]\n",
    ],
)
def test_what_is_plainly_wrong_is_refused_here_and_by_the_reader(tmp_path: Path, text: str) -> None:
    assert complaints(text)
    path = tmp_path / "s.ir.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError):
        load_suite(path)


def test_there_are_at_most_95_names_and_each_says_whether_it_may_change() -> None:
    names: set[str] = set()

    def look(part: Any) -> None:
        if isinstance(part, dict):
            names.update(part.get("properties", {}))
        for one in part.values() if isinstance(part, dict) else part:
            if isinstance(one, (dict, list)):
                look(one)

    found = schema.schema()
    look(found)
    assert len(names) <= 95
    marks = {name: key["$comment"] for name, key in found["properties"].items()}
    assert {*marks.values()} == {"stable", "experimental"}
    assert (marks["queries"], marks["robustness"]) == ("stable", "experimental")
