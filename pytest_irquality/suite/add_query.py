"""Add a query to a suite, for ``pytest-irquality add``.

The suite is edited as a person would: its text stays as it is, with its comments and layout, and
the result must load.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_irquality.io.decoding import decode_text
from pytest_irquality.io.files import read_bytes, write_atomically
from pytest_irquality.suite.mistakes import SuiteError
from pytest_irquality.suite.parser import load_suite


class EditError(Exception):
    """A suite cannot be edited. The message fits in a line, or has one for each mistake."""


# A text that `read_yaml` reads back unquoted. Other YAML readers may take 'no' or '12' for
# something else.
_PLAIN = re.compile(r"[^\W_](?:[\w '/+.-]*\w)?")


def format_scalar(text: str) -> str:
    """Format a text so that YAML reads it back, without quotes if that is safe."""
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)


def format_query(
    text: str,
    *,
    must_find: Sequence[str] = (),
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
    if must_find:
        lines.append(f"  must_find: {_format_ranks(dict(map(parse_document, must_find)))}")
    return lines


def _format_ranks(ranks: Mapping[str, int | None]) -> str:
    if not any(ranks.values()):
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
    path: Path, text: str, *, must_find: Sequence[str] = (), why: str = "", root: Path | None = None
) -> int:
    """Add a query at the end of a suite's queries, and keep everything else in the file.

    Args:
        path: The suite. A file that does not exist is written with this query.
        text: The query.
        must_find: Documents that it must find: ``ID``, or ``ID:RANK`` for the first results.
        why: Why the query matters, such as the number of a ticket.
        root: The root of the project, by default the working folder.

    Returns:
        The line of the new query.

    Raises:
        EditError: The suite does not load, or would not load with the query. It is not changed.
        FileError: The file cannot be read.
        OSError: The file cannot be written.
    """
    root = root or Path.cwd()
    name = os.path.relpath(path, root)
    query = format_query(text, must_find=must_find, why=why)
    old_data = read_bytes(path) if path.exists() else b""
    # Another encoding would be lost, and so would the ends of lines if they were decoded.
    try:
        old = old_data.decode("utf-8")
    except UnicodeDecodeError:
        raise EditError(f"{name}: The file is not in UTF-8. Save it as UTF-8 first.") from None
    texts = []
    lines = (old if old.strip() else "queries:\n").split("\n")
    index, indentation = _find_end_of_queries(lines, name)
    try:
        # A list without queries does not load yet.
        if indentation is not None:
            suite = load_suite(path, root=root, text=decode_text(old_data, path))
            texts = [query.text for query in suite.queries]
        if text in texts:
            line = suite.queries[texts.index(text)].location.line
            hint = "Edit that query instead."
            raise EditError(f"{name}:{line}: This query is already in the suite. {hint}")
        indentation = "  " if indentation is None else indentation
        line_end = "\r" if lines[0].endswith("\r") else ""
        new_lines = [f"{indentation}{line}{line_end}" for line in query]
        if index == len(lines):
            # The last line has no end.
            lines[-1] += line_end
            new_lines[-1] = new_lines[-1].removesuffix("\r")
        edited = "\n".join([*lines[:index], *new_lines, *lines[index:]])
        edited_text = decode_text(edited.encode("utf-8"), path)
        suite = load_suite(path, root=root, text=edited_text)
    except SuiteError as error:
        raise EditError(str(error)) from None
    if [query.text for query in suite.queries] != [*texts, text]:
        # The line is within a text that has several lines.
        raise EditError(f"{name}:{index + 1}: A query cannot be added here. Add it by hand.")
    write_atomically(path, edited)
    return index + 1


def _find_end_of_queries(lines: Sequence[str], name: str) -> tuple[int, str | None]:
    """Return the index at which to insert a query, and the indentation of queries, if any."""
    start = next(
        (index for index, line in enumerate(lines) if re.match("\ufeff?queries *:", line)), None
    )
    rest = "" if start is None else lines[start].partition(":")[2].partition(" #")[0].strip()
    if start is None or rest:
        # A file or a list in brackets has no place for another item.
        hint = "Write 'queries:' with a line '- query: …' for each query first."
        raise EditError(f"{name}:{(start or 0) + 1}: There is no list to add the query to. {hint}")
    indentation = None
    end = start + 1
    for index in range(start + 1, len(lines)):
        line = lines[index]
        content = line.lstrip()
        if not content:
            continue
        # Comments below a query that are indented as its keys, such as candidates, belong to it.
        if content.startswith("#"):
            belongs_to_query = indentation is not None and line.startswith(f"{indentation} ")
            end = index + 1 if belongs_to_query else end
            continue
        is_item = content.startswith("- ") or content.strip() == "-"
        if indentation is None and is_item:
            indentation = line[: len(line) - len(content)]
        elif not line.startswith(" ") and not (is_item and indentation == ""):
            break
        end = index + 1
    return end, indentation
