"""The JSON Schema of the JSON report, made from the classes it is made of.

``python -m pytest_irquality.report.json_schema`` writes it beside this file; a test holds the two
together.
"""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

from pytest_irquality.edges.codec import (
    SchemaOf,
    Tagged,
    defaults_of,
    fields_of,
    shape_of,
    tag_of,
)
from pytest_irquality.report.data import LEFT_OUT, SAID, VERSION, Report

FILE = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema as data.

    A document may gain fields without a new version: readers pass over what they don't know.
    """
    definitions: dict[str, Any] = {}

    def reference(kind: type) -> dict[str, Any]:
        name = kind.__name__
        if name not in definitions:
            definitions[name] = _object(kind, reference)
        return {"$ref": f"#/$defs/{name}"}

    whole = _object(Report, reference)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The JSON report of pytest-irquality, version {VERSION}",
        **whole,
        "$defs": dict(sorted(definitions.items())),
    }


def _object(kind: type, reference: SchemaOf) -> dict[str, Any]:
    said = {name: shape_of(hint) for name, hint in SAID.get(kind, {}).items()}
    shapes = {**fields_of(kind), **said}
    for name in LEFT_OUT.get(kind, ()):
        del shapes[name]
    defaults = defaults_of(kind)
    properties = {name: shape.schema(reference) for name, shape in shapes.items()}
    for name in properties.keys() & defaults.keys():
        properties[name]["default"] = defaults[name]
    required = [name for name in properties if name not in defaults]
    tag = {"kind": {"const": tag_of(kind)}} if issubclass(kind, Tagged) else {}
    return {
        "type": "object",
        "description": cleandoc(kind.__doc__ or "").replace("``", "`"),
        "properties": {**tag, **properties},
        "required": [*tag, *required],
    }


def text() -> str:
    """The schema as its file holds it."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
