"""Check that every public name has complete types.

It reads ``pyright --verifytypes pytest_irquality --outputjson`` from standard input. The names in
``dir(pytest_irquality)`` and their members are public. Pyright may infer all other types.
"""

from __future__ import annotations

import json
import sys

import pytest_irquality


def main() -> int:
    """Print the public names without types and return the exit status."""
    public = [getattr(pytest_irquality, name) for name in dir(pytest_irquality)]
    homes = {f"{thing.__module__}.{thing.__qualname__}" for thing in public}
    symbols = json.load(sys.stdin)["typeCompleteness"]["symbols"]
    public_symbols = []
    checked_homes = set()
    for symbol in symbols:
        symbol_homes = homes & set(_list_prefixes(symbol["name"]))
        if symbol_homes:
            public_symbols.append(symbol)
            checked_homes |= symbol_homes
    untyped = [symbol["name"] for symbol in public_symbols if not symbol["isTypeKnown"]]
    for name in untyped:
        print(f"not typed: {name}")
    for home in sorted(homes - checked_homes):
        print(f"not checked: {home}")
    print(f"{len(public_symbols)} public symbols, {len(untyped)} of them not typed")
    return 1 if untyped or homes - checked_homes else 0


def _list_prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


if __name__ == "__main__":
    sys.exit(main())
