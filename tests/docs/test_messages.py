"""Every message that the troubleshooting page quotes is one of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs.shown_pages import DOCS, ROOT

PAGE = DOCS / "troubleshooting.md"


def list_quoted_messages() -> list[str]:
    """Return the messages at the start of the page's entries."""
    messages = []
    for entry in re.findall(r"^- (`.+?`(?:, and `.+?`)?):", PAGE.read_text("utf-8"), re.MULTILINE):
        messages += re.findall(r"`([^`]+)`", entry)
    return messages


def iter_literals() -> Iterator[str]:
    """Yield the texts in the code. A placeholder of an f-string becomes ``…``."""
    for path in sorted((ROOT / "pytest_irquality").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [
                    part.value if isinstance(part, ast.Constant) else "…" for part in node.values
                ]
                yield "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_every_quoted_message_is_in_the_code() -> None:
    literals = list(iter_literals())

    unknown = []
    for message in list_quoted_messages():
        for part in filter(None, map(str.strip, message.split("…"))):
            if not any(part in literal for literal in literals):
                unknown.append(f"{message} ({part})")
    assert unknown == []


def test_page_has_many_messages() -> None:
    assert len(list_quoted_messages()) > 30
