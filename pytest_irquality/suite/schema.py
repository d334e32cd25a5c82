"""The JSON Schema of suite files, for completion and checking in editors.

``python -m pytest_irquality.suite.schema`` prints it. All of it comes from the tables of keys,
bounds and guards.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pytest_irquality.suite.blocks import (
    BLOCK_SCHEMA,
    GUARD_SCHEMA,
    LIMITS_SCHEMA,
)
from pytest_irquality.suite.files.source import NAMES
from pytest_irquality.suite.key_tables import schema_of
from pytest_irquality.suite.keys import FILE_KEYS, QUERY_KEYS, SUITE_KEYS
from pytest_irquality.suite.rules import RANKS_SCHEMA

ID = (
    "https://raw.githubusercontent.com/pytest-irquality/pytest-irquality/main/"
    "pytest_irquality/suite/schema.json"
)
FILE = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The whole schema."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ID,
        "title": "A suite of pytest-irquality",
        "description": "Queries, what they must find, and limits on how well they do.",
        **schema_of(SUITE_KEYS),
        "definitions": {
            "query": schema_of(QUERY_KEYS),
            "file": schema_of(FILE_KEYS),
            "format": {"enum": list(NAMES)},
            "ranks": RANKS_SCHEMA,
            "block": BLOCK_SCHEMA,
            "limits": LIMITS_SCHEMA,
            "guard": GUARD_SCHEMA,
        },
    }


def text() -> str:
    """The schema as its file holds it."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.buffer.write(text().encode())
