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
from pytest_irquality.suite.yaml_source import Mistake, MistakeList

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
    relevant: Sequence[str] = (),
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
    if relevant:
        lines.append(f"  relevant: [{', '.join(map(format_scalar, relevant))}]")
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


def add_query(
    path: Path,
    text: str,
    *,
    root: Path,
    must_find: Mapping[str, int | None] | None = None,
    must_not_find: Mapping[str, int | None] | None = None,
    relevant: Sequence[str] = (),
    tags: Sequence[str] = (),
    why: str = "",
    query_id: str = "",
    access: FileAccess | None = None,
) -> int:
    """Add a query at the end of a suite's queries, and keep everything else in the file.

    Args:
        path: The suite. A file that does not exist is written with this query.
        text: The query.
        root: The root of the project.
        must_find: Documents that it must find, each with its rank or ``None`` for ``top_k``.
        must_not_find: Documents that it must not find.
        relevant: Relevant documents.
        tags: Tags.
        why: Why the query matters, such as the number of a ticket.
        query_id: An id, if the text is not to be it.
        access: Which files the suite may name.

    Returns:
        The line of the new query.

    Raises:
        SuiteError: The suite does not load, or would not load with the query. It is not changed.
        FileError: The file cannot be read.
        OSError: The file cannot be written.
    """
    query = format_query(
        text,
        must_find=must_find,
        must_not_find=must_not_find,
        relevant=relevant,
        tags=tags,
        why=why,
        query_id=query_id,
    )
    old = read_text(path) if path.exists() else ""
    lines = old.split("\n") if old.strip() else ["queries:", ""]
    if old.strip():
        load_suite(path, root=root, text=old, access=access)
    index, indentation = _find_end_of_queries(lines, path, root)
    new_lines = [indentation + line for line in query]
    edited = "\n".join([*lines[:index], *new_lines, *lines[index:]])
    load_suite(path, root=root, text=edited, access=access)
    write_atomically(path, edited)
    return index + 1


def _find_end_of_queries(lines: Sequence[str], path: Path, root: Path) -> tuple[int, str]:
    """Return the index at which to insert a query, and the indentation of queries."""
    start = next((index for index, line in enumerate(lines) if re.match("queries *:", line)), None)
    rest = "" if start is None else lines[start].partition(":")[2].partition(" #")[0].strip()
    if start is None or rest:
        # Files and lists in brackets have no place for a new item.
        name = path.name
        mistakes = MistakeList(name)
        message = "'queries' is no list with a dash for each query. Write it so first."
        mistakes.add(Mistake(1 if start is None else start + 1, message))
        raise mistakes.make_error()
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
