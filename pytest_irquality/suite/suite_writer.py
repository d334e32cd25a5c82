"""Write suites: the first one of a project (``--ir-init``), and one more query in a suite.

``pytest-irquality add`` edits a suite as a person would: its text stays as it is, with its comments
and layout, and the result must load.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from pytest_irquality.io import dataclass
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.decoding import decode_text
from pytest_irquality.io.escaping import clip, escape_log_line
from pytest_irquality.io.files import read_bytes, write_atomically
from pytest_irquality.suite.data_files import SPELLINGS, DataFile, simplify
from pytest_irquality.suite.mistakes import Mistake, SuiteError
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.probes import TITLE_FIELDS, read_rows

DEFAULT_GRADES = {"perfect": 3, "good": 2, "ok": 1, "bad": 0}
QUOTED_FIELDS = ("description", "body", "text", "content", "abstract", "summary", "details")
MAX_COMMENT_LENGTH = 100
MAX_SAMPLED_ROWS = 100

_HEAD = """\
# A first suite, written by `pytest --ir-init` from {source}.
#
{steps}
suite: {name}
"""
_GRADE_STEPS = """\
# 1. Grade the documents below each query. Remove the '#' from 'relevant:' and from each document
#    that you can grade, and correct its grade. Add relevant documents that are missing.
# 2. Run `pytest --ir-suite --ir-update-baseline` and commit the file that it writes. From then on
#    the build fails if queries that lost all relevant documents outnumber those that gained one,
#    or if search gets significantly worse.
# 3. Write minimums under 'thresholds', a little below what `pytest --ir-suite` shows.
"""
_BASELINE_STEPS = """\
# 1. Run `pytest --ir-suite --ir-update-baseline` and commit the file that it writes. From then on
#    the build fails if queries that lost all relevant documents outnumber those that gained one,
#    or if search gets significantly worse.
# 2. Write minimums under 'thresholds', a little below what `pytest --ir-suite` shows.
"""
_PROBE_STEPS = """\
# It searches for documents by their own words, so it needs no grades. Raise 'sample' to test more
# of them, and set the threshold a little below what `pytest --ir-suite` shows.
"""
_STEPS = {"queries": _GRADE_STEPS, "judgments": _BASELINE_STEPS, "catalog": _PROBE_STEPS}
_PROBES = """\
probes:
  from: {source}
  by: {{{fields}}}
  sample: 200
thresholds:
  success@10: 0.95
"""
_THRESHOLDS = """\
metrics: [ndcg@10, mrr@10, recall@10]

thresholds:
  zero_results: {{max: {empty_count}}}
  # ndcg@10: {{min: 0.80}}

"""


# -- Formatting ------------------------------------------------------------------------------------

# Texts that `read_yaml` reads back without quotes. Other readers of YAML may give 'no' or '12'
# another type.
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


# -- The first suite -------------------------------------------------------------------------------


@dataclass(frozen=True)
class InitQuery:
    """A query of a first suite, and the results of the retriever.

    Attributes:
        documents: The title of each returned document by its id, best first.
        error: Why the query has no answer, if it has none.
    """

    text: str
    id: str = ""
    tags: Sequence[str] = ()
    documents: Mapping[str, str] | None = None
    error: str = ""


@dataclass(frozen=True)
class InitSource:
    """The file from which a first suite is made.

    Attributes:
        kind: Whether it has queries only, queries with judgments, or documents.
        queries: The queries, each text once. They need answers if there are no judgments.
        notes: Remarks on the file, such as the number of repeated queries.
        title_field: The field of a catalog that has the title.
        quoted_field: The field of a catalog that has a long text, if there is one.
    """

    kind: Literal["queries", "judgments", "catalog"]
    name: str
    queries: tuple[InitQuery, ...] = ()
    title_field: str = ""
    quoted_field: str = ""
    notes: Sequence[str] = ()


def read_init_source(path: Path, *, root: Path, access: FileAccess | None = None) -> InitSource:
    """Read a file for ``--ir-init``, and recognize its kind.

    Raises:
        SuiteError: The file cannot be read.
    """
    fields = _find_catalog_fields(DataFile(path.name, path))
    if fields:
        return InitSource("catalog", path.name, (), *fields)
    suite = load_suite(path, root=root, access=access)
    queries: dict[str, InitQuery] = {}
    for query in suite.queries:
        if not query.variant_of:
            query_id = query.id if query.id != query.text else ""
            queries.setdefault(query.text, InitQuery(query.text, query_id, query.tags))
    kind: Literal["queries", "judgments"] = "judgments" if suite.has_judgments else "queries"
    return InitSource(kind, path.name, tuple(queries.values()), notes=suite.notes)


def _find_catalog_fields(file: DataFile) -> tuple[str, str] | None:
    """Return the field with the title and one with a long text, if the file is a catalog."""
    try:
        rows = [row for _, row in islice(read_rows(file), MAX_SAMPLED_ROWS)]
    except Mistake:
        return None
    if not rows:
        return None
    by_simple_name = {simplify(name): name for name in rows[0]}
    titles = [by_simple_name[name] for name in TITLE_FIELDS if name in by_simple_name]
    is_query_list = any(name in by_simple_name for name in SPELLINGS["query"])
    if not titles or is_query_list:
        return None
    texts = [by_simple_name[name] for name in QUOTED_FIELDS if name in by_simple_name]
    return titles[0], texts[0] if texts else ""


def get_first_suite_path(path: Path) -> Path:
    """Return the path of the suite: ``queries.txt`` becomes ``queries.ir.yaml``."""
    name = path.name.removesuffix(".gz").partition(".")[0] or path.name
    return path.with_name(f"{name}.ir.yaml")


def format_first_suite(source: InitSource, name: str, queries: Sequence[InitQuery] = ()) -> str:
    """Format the suite as YAML. It loads and passes without edits.

    Args:
        source: The file from which the suite is made.
        name: The name of the suite.
        queries: The queries of a list, with the results of the retriever.
    """
    steps = _STEPS[source.kind]
    head = _HEAD.format(source=_format_comment(source.name), name=format_scalar(name), steps=steps)
    if source.kind == "catalog":
        fields = f"{format_scalar(source.title_field)}: whole"
        if source.quoted_field:
            fields += f", {format_scalar(source.quoted_field)}: quote"
        return head + _PROBES.format(source=format_scalar(source.name), fields=fields)
    empty_count = sum(query.documents is not None and not query.documents for query in queries)
    thresholds = _THRESHOLDS.format(empty_count=empty_count)
    if source.kind == "judgments":
        return f"{head}{thresholds}queries: {format_scalar(source.name)}\n"
    words = ", ".join(f"{word}: {grade}" for word, grade in DEFAULT_GRADES.items())
    head += f"grades: {{{words}}}\n"
    blocks = ["\n".join(_format_candidates(query)) for query in queries]
    return f"{head}{thresholds}queries:\n" + "\n\n".join(blocks) + "\n"


def _format_candidates(query: InitQuery) -> Iterator[str]:
    """Format a query, and its results as comments."""
    for line in format_query(query.text, query_id=query.id, tags=query.tags):
        yield f"  {line}"
    if query.error:
        yield f"    # No answer: {_format_comment(query.error)}"
    elif not query.documents:
        yield "    # Nothing was returned. If that is right, write: expect_no_results: true"
    else:
        yield "    # relevant:"
        ids = {doc_id: format_scalar(doc_id) for doc_id in query.documents}
        width = max(map(len, ids.values()))
        for doc_id, title in query.documents.items():
            candidate = f"    #   {ids[doc_id]}: ok"
            if title and title != doc_id:
                padding = " " * min(width - len(ids[doc_id]), 40)
                candidate += f"{padding}   # {_format_comment(title)}"
            yield candidate


def _format_comment(text: str) -> str:
    return clip(escape_log_line(" ".join(text.split())), MAX_COMMENT_LENGTH)


# -- One more query --------------------------------------------------------------------------------


class EditError(Exception):
    """A suite cannot be edited. The message fits in a line, or has one for each mistake."""


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
    # Strictly UTF-8, because the file is written in UTF-8 again. `decode_text` changes line ends.
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
            # The last line has no line end.
            lines[-1] += line_end
            new_lines[-1] = new_lines[-1].removesuffix("\r")
        edited = "\n".join([*lines[:index], *new_lines, *lines[index:]])
        edited_text = decode_text(edited.encode("utf-8"), path)
        suite = load_suite(path, root=root, text=edited_text)
    except SuiteError as error:
        raise EditError(str(error)) from None
    if [query.text for query in suite.queries] != [*texts, text]:
        # The line is inside a text of several lines.
        raise EditError(f"{name}:{index + 1}: A query cannot be added here. Add it by hand.")
    write_atomically(path, edited)
    return index + 1


def _find_end_of_queries(lines: Sequence[str], name: str) -> tuple[int, str | None]:
    """Return the index at which to insert a query, and the indentation of queries, if any."""
    starts = [row for row, line in enumerate(lines) if re.match("\ufeff?queries *:", line)]
    start = starts[0] if starts else None
    rest = "" if start is None else lines[start].partition(":")[2].partition(" #")[0].strip()
    if start is None or rest:
        # Another item fits neither after a file nor after a list in brackets.
        hint = "Write 'queries:' with a line '- query: …' for each query first."
        raise EditError(f"{name}:{(start or 0) + 1}: There is no list to add the query to. {hint}")
    indentation = None
    end = start + 1
    for index in range(start + 1, len(lines)):
        line = lines[index]
        content = line.lstrip()
        if not content:
            continue
        # Comments that are indented like the keys of a query, such as candidates, belong to it.
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
