"""Write the table of the GitHub action's inputs and outputs from ``action.yml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from docs.tools import ROOT
from docs.tools.options import mark_code

PAGE = ROOT / "docs/recipes/github-actions.md"
ACTION = ROOT / "action.yml"
MARK = "<!-- generated: action -->"

_TABLE = re.compile(rf"({MARK}\n\n)(?:\|.*\n)*")


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page with the current table."""
    page, count = _TABLE.subn(lambda match: match[1] + render_table(), PAGE.read_text("utf-8"))
    if count != 1:
        raise ValueError(f"The page has the mark '{MARK}' {count} times")
    yield PAGE, page


def render_table() -> str:
    """Render the inputs and outputs with their descriptions."""
    action = yaml.safe_load(ACTION.read_text("utf-8"))
    lines = ["|input|meaning|", "|---|---|"]
    for name, entry in action["inputs"].items():
        lines.append(f"|`{name}`|{_format_description(entry)}|")
    for name, entry in action["outputs"].items():
        lines.append(f"|output `{name}`|{_format_description(entry)}|")
    return "\n".join(lines) + "\n"


def _format_description(entry: dict[str, str]) -> str:
    return mark_code(entry["description"].replace('"', "`"))
