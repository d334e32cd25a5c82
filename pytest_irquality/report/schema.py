"""The JSON Schema of the JSON report, made from the classes it is made of.

``python -m pytest_irquality.report.schema`` writes it beside this file; a test holds the two
together.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

from pytest_irquality.report.data import LEFT_OUT, SAID, VERSION, Report, kind_of, names_of
from pytest_irquality.verdict.facts import Fact

FILE = Path(__file__).with_name("schema.json")
PLAIN = {str: "string", float: "number", int: "integer", bool: "boolean", type(None): "null"}


def schema() -> dict[str, Any]:
    """The schema as data. A document may gain fields without a new version: readers pass over what
    they don't know.
    """
    definitions: dict[str, Any] = {}
    whole = _object(Report, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The JSON report of pytest-irquality, version {VERSION}",
        **whole,
        "$defs": dict(sorted(definitions.items())),
    }


def _object(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    left_out = LEFT_OUT.get(kind, ())
    fields = [name for name in names_of(kind) if name not in left_out]
    hints.update(SAID.get(kind, {}))
    fields += SAID.get(kind, {})
    properties = {name: _schema(hints[name], definitions) for name in fields}
    if issubclass(kind, Fact):
        properties = {"kind": {"const": kind_of(kind)}, **properties}
    return {
        "type": "object",
        "description": cleandoc(kind.__doc__ or "").replace("``", "`"),
        "properties": properties,
        "required": list(properties),
    }


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    parts = typing.get_args(kind)
    if kind is Fact:
        return {"anyOf": [_schema(fact, definitions) for fact in Fact.__subclasses__()]}
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        name = kind.__name__
        if name not in definitions:
            definitions[name] = {}
            definitions[name] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if typing.get_origin(kind) is typing.Literal:
        return {"enum": list(parts)}
    if typing.get_origin(kind) is Sequence:
        return {"type": "array", "items": _schema(parts[0], definitions)}
    if typing.get_origin(kind) is tuple:
        if len(parts) == 2 and parts[1] is Ellipsis:
            return {"type": "array", "items": _schema(parts[0], definitions)}
        return {
            "type": "array",
            "prefixItems": [_schema(part, definitions) for part in parts],
            "items": False,
        }
    if typing.get_origin(kind) in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(parts[1], definitions)}
    if isinstance(kind, types.UnionType):
        return {"anyOf": [_schema(part, definitions) for part in parts]}
    return {"type": PLAIN[kind]}


def text() -> str:
    """The schema as its file holds it."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
