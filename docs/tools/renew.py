"""Bring every generated file up to date: ``python -m docs.tools.renew``.

A test fails while a file is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks import speed_page
from docs.tools import (
    ROOT,
    action_inputs,
    address,
    constants,
    keys,
    metrics,
    options,
    pages,
    pins,
    simulation,
)
from docs.tools.report_schema import create_schema
from pytest_irquality.suite.keys import format_schema

SUITE_SCHEMA = ROOT / "pytest_irquality/suite/schema.json"
REPORT_SCHEMA = ROOT / "pytest_irquality/reports/schema.json"


def generate_schemas() -> Iterator[tuple[Path, str]]:
    """Yield the JSON Schemas that the package ships."""
    yield SUITE_SCHEMA, format_schema()
    report_schema = create_schema()
    yield REPORT_SCHEMA, json.dumps(report_schema, indent=1, ensure_ascii=False) + "\n"


GENERATORS: Mapping[str, Callable[[], Iterator[tuple[Path, str]]]] = {
    "keys": keys.generate,
    "options": options.generate,
    "metrics": metrics.generate,
    "constants": constants.generate,
    "action": action_inputs.generate,
    "simulation": simulation.generate,
    "schemas": generate_schemas,
    "pages": pages.generate,
    "speed": speed_page.generate,
    # These change pages that the others write.
    "address": address.generate,
    "pins": pins.generate,
}


def list_outdated(generator: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of a generator that have another text, with the current one."""
    for path, text in GENERATORS[generator]():
        if not path.exists() or path.read_bytes() != text.encode():
            yield path, text


def main() -> None:
    """Write all files that are out of date, and print their names."""
    for generator in GENERATORS:
        for path, text in list_outdated(generator):
            path.write_bytes(text.encode())
            print(f"wrote {path.relative_to(ROOT)}")
    for name in pages.renew_pictures():
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
