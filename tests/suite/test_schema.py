"""The JSON Schema of suites: generated, current, and of one opinion with the parser."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from pytest_irquality.suite.keys import SCHEMA_FILE, format_schema, make_schema
from tests.suite.helpers import SuiteFolder
from tests.suite.test_parser import EVERYTHING

VALID = [
    EVERYTHING,
    "queries: queries.csv\n",
    "queries: [queries.csv, {file: a.tsv, format: topics, columns: {query: text}}, {query: tea}]\n",
    "probes: {from: catalog.jsonl, by: {title: whole, description: quote}, sample: 200}\n",
    "queries: [{query: tea, known_issue: {id: S-1, until: '2027-03-01'}}]\n",
    "queries: [{query: tea}]\neach_query: {lost_all_relevant: net, ndcg@10: {min: 0.1, warn: true}}\n",
]
INVALID = [
    "suite: x\n",
    "queries: [{query: tea}]\ntrend: {}\n",
    "queries: [{query: tea, foo: 1}]\n",
    "queries: [{query: tea}]\nmatch: words\n",
    "queries: [{query: tea}]\nthresholds: {ndcg@10: {warn_below: 1}}\n",
    "queries: [{query: tea}]\neach_query: {lost_all_relevant: sometimes}\n",
    "queries: [{query: tea, max_per: {brand: 0}}]\n",
]


class EditorLoader(yaml.SafeLoader):
    """Reads YAML 1.2 as editors do, in which `on` and dates are texts."""


EditorLoader.yaml_implicit_resolvers = {
    start: [
        (tag, regex)
        for tag, regex in resolvers
        if not tag.endswith(":timestamp") and (start in "tf" or not tag.endswith(":bool"))
    ]
    for start, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def validate(text: str) -> list[Any]:
    validator = jsonschema.Draft7Validator(make_schema())
    return list(validator.iter_errors(yaml.load(text, Loader=EditorLoader)))


def test_the_shipped_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == format_schema(), (
        "Run `python -m pytest_irquality.suite.keys > pytest_irquality/suite/schema.json`"
    )


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(make_schema())


@pytest.mark.parametrize("text", VALID)
def test_what_loads_is_valid(text: str) -> None:
    assert validate(text) == []


@pytest.mark.parametrize("text", INVALID)
def test_what_is_invalid_does_not_load(folder: SuiteFolder, text: str) -> None:
    assert validate(text)
    assert folder.find_mistakes(text)


def test_every_key_explains_itself() -> None:
    schema = make_schema()

    for properties in (schema["properties"], schema["definitions"]["query"]["properties"]):
        for name, entry in properties.items():
            assert entry["description"].partition(" Default: ")[0].endswith("."), name
