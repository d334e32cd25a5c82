"""Actions by their hashes: those of our workflows stand in the documentation, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
USED = re.compile(r"\buses: ([\w./-]+)@(\S+)(?: # (v[\d.]+))?")
PINNED = re.compile(r"\buses: ([\w./-]+)@[0-9a-f]{40} # v[\d.]+")


def ours() -> Iterator[Path]:
    """The workflows and actions that run for this project, or for whoever uses its action."""
    yield from sorted((ROOT / ".github/workflows").glob("*.yml"))
    yield ROOT / "action.yml"


def pins() -> Mapping[str, str]:
    """The line of each action, ``uses: NAME@HASH # VERSION``, by its name."""
    return {
        found[1]: found[0] for path in ours() for found in PINNED.finditer(path.read_text("utf-8"))
    }


def brought(text: str) -> str:
    """A text with our hashes in place of those it has."""
    known = pins()
    return PINNED.sub(lambda found: known.get(found[1], found[0]), text)


def renew() -> Iterator[Path]:
    """Bring every page up to date; those that were not."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_bytes()
        new = brought(text.decode()).encode()
        if new != text:
            path.write_bytes(new)
            yield path
