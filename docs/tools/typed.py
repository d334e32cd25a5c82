"""A check that every public name is typed in full.

It reads ``pyright --verifytypes pytest_irquality --outputjson`` from stdin. Public are the names in
``dir(pytest_irquality)`` and their members; the rest of the package may be inferred.
"""

from __future__ import annotations

import json
import sys

import pytest_irquality


def main() -> int:
    """Print what is not typed; the exit status says whether anything is not."""
    public = [getattr(pytest_irquality, name) for name in dir(pytest_irquality)]
    homes = {f"{thing.__module__}.{thing.__qualname__}" for thing in public}
    symbols = json.load(sys.stdin)["typeCompleteness"]["symbols"]
    ours = [symbol for symbol in symbols if homes & set(_prefixes(symbol["name"]))]
    found = {home for symbol in ours for home in _prefixes(symbol["name"]) if home in homes}
    untyped = [symbol["name"] for symbol in ours if not symbol["isTypeKnown"]]
    for name in (*untyped, *(f"{home} was not looked at" for home in homes - found)):
        print(f"not typed: {name}")
    print(f"{len(ours)} public symbols, {len(untyped)} of them not typed")
    return 1 if untyped or homes - found else 0


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


if __name__ == "__main__":
    sys.exit(main())
