"""Texts that consist of parts, so that each report can escape and link the parts from data.

A message such as ``"red shoes" lost all its relevant documents (sku-12)`` mixes words of this
package with a query and a document id. A terminal prints it, Markdown escapes the data, and HTML
links the query and isolates its writing direction. Therefore a message stays a sequence of parts
until a report renders it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_irquality.io import dataclass

MAX_LISTED_PARTS = 3


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A query that a message names. ``str()`` gives its text in quotes."""

    query_id: str
    text: str

    def __str__(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class DocPart:
    """A document that a message names. ``str()`` gives its title and id."""

    doc_id: str
    title: str = ""

    def __str__(self) -> str:
        return f"{self.title} ({self.doc_id})" if self.title else self.doc_id


@dataclass(frozen=True, slots=True)
class DataPart:
    """Any other data, such as the message of an exception or the name of a suite."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class CodePart:
    """A command, a key or a ``path:line`` that a reader can copy."""

    code: str

    def __str__(self) -> str:
        return f"`{self.code}`"


Part = str | QueryPart | DocPart | DataPart | CodePart


@dataclass(frozen=True, slots=True)
class Text:
    """A message. Strings among its parts are words of this package, which need no escaping."""

    parts: tuple[Part, ...] = ()

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __add__(self, other: Text | str) -> Text:
        added = (other,) if isinstance(other, str) else other.parts
        return Text((*self.parts, *added))

    def render(self, render_part: Callable[[Part], str]) -> str:
        """Render every part with a function and join the results."""
        return "".join(map(render_part, self.parts))


def write(*parts: Part | Text | int) -> Text:
    """Write a text from its parts: ``write(query, " has no answer")``."""
    flat: list[Part] = []
    for part in parts:
        if isinstance(part, Text):
            flat += part.parts
        else:
            flat.append(str(part) if isinstance(part, int) else part)
    return Text(tuple(flat))


def join(parts: Sequence[Part | Text], separator: str = ", ") -> Text:
    """Join parts with a separator."""
    joined: list[Part | Text] = []
    for part in parts:
        joined += (separator, part)
    return write(*joined[1:])


def list_some(
    parts: Iterable[Part | Text], limit: int = MAX_LISTED_PARTS, separator: str = ", "
) -> Text:
    """Join the first parts, and say how many more there are."""
    all_parts = list(parts)
    text = join(all_parts[:limit], separator)
    hidden = len(all_parts) - limit
    return text + f" and {hidden} more" if hidden > 0 else text


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Format a number and its noun, such as ``1 query`` or ``2 queries``."""
    if number == 1:
        return f"1 {singular}"
    return f"{number:,} {plural or singular + 's'}"


def find_closest(name: str, known: Iterable[str], min_similarity: float = 0.6) -> str | None:
    """Return the known name that is most similar to a misspelt one, for "Did you mean …?"."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), 1, min_similarity)
    return matches[0] if matches else None
