"""Bring the pinned versions of GitHub actions from our workflows to the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.tools import ROOT

USE = re.compile(r"\buses: ([\w./-]+)@(\S+)(?: # (v[\d.]+))?")
PINNED_USE = re.compile(r"\buses: ([\w./-]+)@[0-9a-f]{40} # v[\d.]+")


def generate() -> Iterator[tuple[Path, str]]:
    """Yield every page with the pins of our workflows."""
    pins = read_pins()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield path, replace_pins(path.read_text("utf-8"), pins)


def list_workflows() -> list[Path]:
    """Return our workflows and our action."""
    return [*sorted((ROOT / ".github/workflows").glob("*.yml")), ROOT / "action.yml"]


def read_pins() -> Mapping[str, str]:
    """Return the text ``uses: NAME@HASH # VERSION`` of each action, by its name."""
    pins = {}
    for path in list_workflows():
        for match in PINNED_USE.finditer(path.read_text("utf-8")):
            pins[match[1]] = match[0]
    return pins


def replace_pins(text: str, pins: Mapping[str, str]) -> str:
    """Replace pinned actions by ours. Actions that we do not use stay as they are."""
    return PINNED_USE.sub(lambda match: pins.get(match[1], match[0]), text)
