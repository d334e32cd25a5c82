"""The JSON Schema of suites, with which editors complete and check them.

``python -m pytest_irquality.suite.schema`` prints it. The file ``schema.json`` has the same text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pytest_irquality.suite.keys import (
    BLOCK_SCHEMA,
    FILE_KEYS,
    QUERY_KEYS,
    SUITE_KEYS,
    THRESHOLD_SCHEMA,
    make_keys_schema,
)
from pytest_irquality.suite.rules import RANKS_SCHEMA

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
