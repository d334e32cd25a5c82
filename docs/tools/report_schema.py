"""The JSON Schema of the JSON report, made of the classes of the view."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Union

from pytest_irquality.evaluation.documents import DocChange
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.text import Text
from pytest_irquality.reports.build_view import QueryDetails
from pytest_irquality.reports.json_report import VERSION, Timing, list_shown_fields
from pytest_irquality.reports.query_rows import QUERY_COLUMNS, QueryRow
from pytest_irquality.reports.tiles import Number
from pytest_irquality.reports.view_model import OUTPUT_MARKER, View
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import RetrieverId

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
SIMPLE_TYPES: Mapping[type, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Text: {"type": "string"},
    Number: {"type": "number"},
    Location: {"type": "string"},
    RetrieverId: {"type": "string"},
}


def create_schema() -> dict[str, Any]:
    """Create the JSON Schema of the report from the classes of the view."""
    definitions: dict[str, Any] = {}
    report = _describe_class(View, definitions)
    report["properties"] = {
        "generator": {"const": OUTPUT_MARKER},
        "version": {"const": VERSION},
        **report["properties"],
        "timing": _describe(Timing, definitions),
    }
    report["required"] = ["generator", "version", *report["required"], "timing"]
    return {"$schema": SCHEMA_ID, "title": "Report of pytest-irquality", **report} | {
        "$defs": dict(sorted(definitions.items()))
    }


def _describe(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type, and add those of classes to the definitions."""
    if hint in SIMPLE_TYPES:
        return SIMPLE_TYPES[hint]
    if isinstance(hint, type) and issubclass(hint, Outcome):
        return {"enum": [outcome.name for outcome in hint]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_describe(argument, definitions) for argument in arguments]}
    if origin is tuple:
        return {"type": "array", "items": _describe(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _describe(arguments[1], definitions)}
    if hint.__name__ not in definitions:
        definitions[hint.__name__] = {}  # A class may contain itself.
        definitions[hint.__name__] = _describe_class(hint, definitions)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _describe_class(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    properties = {}
    if cls is QueryRow:
        properties["query_id"] = SIMPLE_TYPES[str]
        for column in QUERY_COLUMNS:
            text_or_number = "number" if column.is_number else "string"
            properties[column.key] = {"type": [text_or_number, "null"]}
    for field in list_shown_fields(cls):
        properties[field.name] = _describe(hints[field.name], definitions)
    required = list(properties)
    if cls is QueryRow:
        properties["location"] = SIMPLE_TYPES[Location]
        required.append("location")
        # Only the rows of suites have all documents and metrics.
        values = typing.get_type_hints(QueryDetails)["values"]
        properties["documents"] = _describe(tuple[DocChange, ...], definitions)
        properties["values"] = _describe(values, definitions)
    return {
        "type": "object",
        "description": (cls.__doc__ or "").partition("\n")[0],
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
