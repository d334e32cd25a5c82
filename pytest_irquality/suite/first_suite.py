"""Write the first suite of a project, for ``--ir-init``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from pytest_irquality.io import dataclass
from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.escaping import clip, escape_log_line
from pytest_irquality.suite.add_query import format_query, format_scalar
from pytest_irquality.suite.data_files import SPELLINGS, DataFile, simplify
from pytest_irquality.suite.mistakes import Mistake
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


@dataclass(frozen=True)
class InitQuery:
    """A query of a first suite and what the retriever returned for it.

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
    """The file that a first suite is made of.

    Attributes:
        kind: What it has: queries only, queries with judgments, or documents.
        queries: The queries, each text once. Only those of a list need answers.
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
    """Read a file for ``--ir-init`` and recognize what it is.

    Raises:
        SuiteError: The file cannot be read.
    """
    fields = _find_catalog_fields(DataFile(path.name, path))
    if fields:
        return InitSource("catalog", path.name, (), *fields)
    suite = load_suite(path, root=root, access=access)
    queries: dict[str, InitQuery] = {}
    for query in suite.queries:
        if not query.is_variant:
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
    for name in QUOTED_FIELDS:
        if name in by_simple_name:
            return titles[0], by_simple_name[name]
    return titles[0], ""


def get_first_suite_path(path: Path) -> Path:
    """Return where the suite goes: ``queries.txt`` becomes ``queries.ir.yaml``."""
    name = path.name.removesuffix(".gz").partition(".")[0] or path.name
    return path.with_name(f"{name}.ir.yaml")


def format_first_suite(source: InitSource, name: str, queries: Sequence[InitQuery] = ()) -> str:
    """Format the suite as YAML. It loads and passes as it is.

    Args:
        source: The file that the suite is made of.
        name: The name of the suite.
        queries: The queries of a list, with what the retriever returned.
    """
    steps = _GRADE_STEPS
    if source.kind == "catalog":
        steps = _PROBE_STEPS
    elif source.kind == "judgments":
        steps = _BASELINE_STEPS
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
    """Format a query with what was returned for it, as comments."""
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
