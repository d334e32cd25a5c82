"""Edit a suite file as a person would: ``pytest-irquality add`` inserts a query.

The text of the file is kept as it is, with its comments and layout, and the result must load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import read_text
from pytest_irquality.io.files import write_atomically
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.yaml_source import SuiteError


class EditError(Exception):
    """A suite cannot be edited. The message fits in a line, or has one for each mistake."""


# A text that YAML reads back as it is, without quotes.
_PLAIN = re.compile(r"[^\W_](?:[\w '/+.-]*\w)?")


def format_scalar(text: str) -> str:
    """Format a text so that YAML reads it back, without quotes if that is safe."""
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    characters = []
    for character in escaped:
        code = ord(character)
        if character.isprintable():
            characters.append(character)
        else:
            characters.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return f'"{"".join(characters)}"'


def format_query(
    text: str,
    *,
    must_find: Mapping[str, int | None] | None = None,
    must_not_find: Mapping[str, int | None] | None = None,
    tags: Sequence[str] = (),
    why: str = "",
    query_id: str = "",
) -> list[str]:
    """Format a query as the lines of an item under ``queries``, without indentation."""
    lines = [f"- query: {format_scalar(text)}"]
    if query_id:
        lines.append(f"  id: {format_scalar(query_id)}")
    if tags:
        lines.append(f"  tags: [{', '.join(map(format_scalar, tags))}]")
    if why:
        lines.append(f"  why: {format_scalar(why)}")
    for key, ranks in (("must_find", must_find), ("must_not_find", must_not_find)):
        if ranks:
            lines.append(f"  {key}: {_format_ranks(ranks)}")
    return lines


def _format_ranks(ranks: Mapping[str, int | None]) -> str:
    if all(rank is None for rank in ranks.values()):
        return f"[{', '.join(map(format_scalar, ranks))}]"
    # In a mapping every document has a rank. Ten is the usual `top_k`.
    pairs = [f"{format_scalar(doc_id)}: {rank or 10}" for doc_id, rank in ranks.items()]
    return f"{{{', '.join(pairs)}}}"


def parse_document(text: str) -> tuple[str, int | None]:
    """Parse ``ID`` or ``ID:RANK`` as the command line has them. An id may contain colons."""
    doc_id, colon, rank = text.rpartition(":")
    if colon and doc_id and rank.isdecimal() and int(rank) > 0:
        return doc_id, int(rank)
    return text, None


def add_query(
    path: Path,
    text: str,
    *,
    must_find: Sequence[str] = (),
    must_not_find: Sequence[str] = (),
    tags: Sequence[str] = (),
    why: str = "",
    query_id: str = "",
    root: Path | None = None,
    access: FileAccess | None = None,
) -> int:
    """Add a query at the end of a suite's queries, and keep everything else in the file.

    Args:
        path: The suite. A file that does not exist is written with this query.
        text: The query.
        must_find: Documents that it must find: ``ID``, or ``ID:RANK`` for the first results.
        must_not_find: Documents that it must not find.
        tags: Tags.
        why: Why the query matters, such as the number of a ticket.
        query_id: An id, if the text is not to be it.
        root: The root of the project, by default the working folder.
        access: Which files the suite may name.

    Returns:
        The line of the new query.

    Raises:
        EditError: The suite does not load, or would not load with the query. It is not changed.
        FileError: The file cannot be read.
        OSError: The file cannot be written.
    """
    root = root or Path.cwd()
    query = format_query(
        text,
        must_find=dict(map(parse_document, must_find)),
        must_not_find=dict(map(parse_document, must_not_find)),
        tags=tags,
        why=why,
        query_id=query_id,
    )
    old = read_text(path) if path.exists() else ""
    try:
        if old.strip():
            load_suite(path, root=root, text=old, access=access)
        lines = old.split("\n") if old.strip() else ["queries:", ""]
        index, indentation = _find_end_of_queries(lines, path)
        new_lines = [indentation + line for line in query]
        edited = "\n".join([*lines[:index], *new_lines, *lines[index:]])
        load_suite(path, root=root, text=edited, access=access)
    except SuiteError as error:
        raise EditError(str(error)) from None
    write_atomically(path, edited)
    return index + 1


def _find_end_of_queries(lines: Sequence[str], path: Path) -> tuple[int, str]:
    """Return the index at which to insert a query, and the indentation of queries."""
    start = next((index for index, line in enumerate(lines) if re.match("queries *:", line)), None)
    rest = "" if start is None else lines[start].partition(":")[2].partition(" #")[0].strip()
    if start is None or rest:
        # A file or a list in brackets has no place for another item.
        hint = "Write 'queries:' with a line '- query: …' for each query first."
        raise EditError(f"{path}:{(start or 0) + 1}: There is no list to add the query to. {hint}")
    indentation = None
    end = start + 1
    for index in range(start + 1, len(lines)):
        line = lines[index]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        is_item = line.lstrip().startswith("- ")
        if indentation is None and is_item:
            indentation = line[: len(line) - len(line.lstrip())]
        elif not line.startswith(" ") and not (is_item and indentation == ""):
            break
        end = index + 1
    return end, "  " if indentation is None else indentation
