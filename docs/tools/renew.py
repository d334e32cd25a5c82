"""Bring every drawn file up to date: ``python -m docs.tools.renew``.

A test fails while one is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from docs.tools import address, measures, options, pins, reference
from pytest_irquality.report import json_schema
from pytest_irquality.suite import schema as suite_schema

ROOT = Path(__file__).parents[2]

DRAWN: Mapping[str, Callable[[], str]] = {
    "docs/reference/measures.md": measures.page,
    "docs/reference/keys.md": reference.page,
    "docs/reference/options.md": options.page,
    "pytest_irquality/suite/schema.json": suite_schema.text,
    "pytest_irquality/report/schema.json": json_schema.text,
}


def main() -> None:
    """Write them all; bring the project's address and the hashes of actions everywhere."""
    for path in (*address.renew(), *pins.renew()):
        print(f"wrote {path.relative_to(ROOT)}")
    for name, draw in DRAWN.items():
        path = ROOT / name
        text = draw().encode()
        if not path.exists() or path.read_bytes() != text:
            path.write_bytes(text)
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
