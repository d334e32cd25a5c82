"""YAML as nodes with lines: this module does not know what a suite is.

The nodes are built from PyYAML's events. They keep every scalar as written, so ``0123``, ``NO`` and
``2024-01-01`` stay as they are (YAML 1.1 would make a number, a boolean and a date of them), and
repeated keys stay visible. There are no aliases to expand, hence no YAML bombs. Events from
libyaml are also the fastest way: composing PyYAML's own nodes takes five times as long.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

MAX_NESTING = 40  # levels
MAX_LISTED_MISTAKES = 10
MAX_QUOTED_LENGTH = 60  # characters


class Location(NamedTuple):
    """A place in a suite or one of its files. ``str()`` gives a clickable ``path:line``."""

    path: str = ""
    line: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class ScalarNode(NamedTuple):
    """A single value as written.

    Attributes:
        is_quoted: Whether it is in quotes or in a block, and therefore text whatever it spells.
    """

    text: str
    line: int
    is_quoted: bool = False


class ListNode(NamedTuple):
    """A list of values."""

    items: Sequence[Node]
    line: int


class MappingNode(NamedTuple):
    """A mapping. Keys may repeat, and may be any node, as the parser of a suite says what is wrong.

    Attributes:
        entries: Keys and values in the order of the file.
    """

    entries: Sequence[tuple[Node, Node]]
    line: int


Node = ScalarNode | ListNode | MappingNode


class Mistake(Exception):
    """One mistake in a file.

    Attributes:
        path: The file, or an empty string for the file that is being read.
    """

    def __init__(self, line: int, message: str, path: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.path = path


class SuiteError(Exception):
    """A suite cannot be read. The message has one line ``path:line: message`` for each mistake.

    Attributes:
        location: The place of the first mistake.
    """

    def __init__(self, mistakes: Sequence[Mistake], path: str) -> None:
        lines = []
        for mistake in mistakes[:MAX_LISTED_MISTAKES]:
            lines.append(f"{Location(mistake.path or path, mistake.line)}: {mistake}")
        hidden = len(mistakes) - MAX_LISTED_MISTAKES
        if hidden > 0:
            lines.append(f"{path}: and {hidden} more mistakes")
        super().__init__("\n".join(lines))
        self.location = Location(mistakes[0].path or path, mistakes[0].line)


def quote(text: str) -> str:
    """Quote a value for a message, cut to a length that fits in a line."""
    if len(text) > MAX_QUOTED_LENGTH:
        text = text[: MAX_QUOTED_LENGTH - 3] + "..."
    return f"'{text}'"


def read_yaml(text: str) -> Node | None:
    """Read the only document of a YAML text.

    Returns:
        The root node, or ``None`` if the text holds nothing.

    Raises:
        Mistake: The text is not valid YAML, has aliases or several documents, or is nested too
            deep.
    """
    raise NotImplementedError


def make_node(value: object, line: int) -> Node:
    """Make the node that a value of JSON would have in YAML, so that one parser reads both.

    Raises:
        Mistake: The value is nested too deep.
    """
    raise NotImplementedError
