"""The pieces of a Markdown report: lists and folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_irquality.edges.printable import html, markdown_sentence
from pytest_irquality.wording.words import cut

NOTES = 20
CELL = 200


def bullets(items: Iterable[str]) -> str:
    """A list, and nothing where it would be empty."""
    lines = [f"- {item}" for item in items]
    return "\n".join([*lines, ""]) if lines else ""


def sentences(texts: Sequence[str]) -> str:
    """A list of the first sentences, each cut where it is long."""
    return bullets(markdown_sentence(cut(text, 2 * CELL)) for text in texts[:NOTES])


def folded(title: str, body: str) -> str:
    """GitHub reads Markdown inside only after an empty line."""
    return f"<details><summary>{html(title)}</summary>\n\n{body}\n</details>\n"
