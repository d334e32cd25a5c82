"""The first suite of a project: ``--ir-init`` writes it from queries, judgments or a catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path

from pytest_irquality.io.access import FileAccess
from pytest_irquality.io.escaping import clip, make_printable
from pytest_irquality.suite.columns import SPELLINGS, simplify
from pytest_irquality.suite.edit import format_query, format_scalar
from pytest_irquality.suite.parser import load_suite
from pytest_irquality.suite.probes import TITLE_FIELDS, read_rows
from pytest_irquality.suite.suite_files import DataFile
from pytest_irquality.suite.yaml_source import Mistake

DEFAULT_GRADES = {"perfect": 3, "good": 2, "ok": 1, "bad": 0}
QUOTED_FIELDS = ("description", "body", "text", "content", "abstract", "summary", "details")
MAX_COMMENT_LENGTH = 100
MAX_LOOKED_AT_ROWS = 100

_HEAD = """\
# A first suite, written by `pytest --ir-init` from {source}.
#
{steps}
suite: {name}
"""
_GRADE_STEPS = """\
# 1. Grade what is listed below each query. Remove the '#' from 'relevant:' and from each document
#    that you can judge, and correct its grade. Add what should be found and is missing.
# 2. Run `pytest --ir-suite --ir-update-baseline` and commit the file that it writes. From then on
#    the build fails if more queries lose all relevant documents than gain one, or if search gets
#    significantly worse.
# 3. Write minimums under 'thresholds', a little below what `pytest --ir-suite` shows.
"""
_BASELINE_STEPS = """\
# 1. Run `pytest --ir-suite --ir-update-baseline` and commit the file that it writes. From then on
#    the build fails if more queries lose all relevant documents than gain one, or if search gets
#    significantly worse.
# 2. Write minimums under 'thresholds', a little below what `pytest --ir-suite` shows.
"""
_PROBE_STEPS = """\
# It searches for documents by their own words, so it needs no grades. Raise 'sample' to test more
# of them, and set the threshold a little below what `pytest --ir-suite` shows.
"""
_THRESHOLDS = """\
metrics: [ndcg@10, mrr@10, recall@10]

thresholds:
  zero_results: {{max: {empty_count}}}
  # ndcg@10: {{min: 0.80}}

"""
_WORKFLOW = """\
name: search quality
on: [pull_request]
jobs:
  search:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {fetch-depth: 0}
      - uses: actions/setup-python@v5
        with: {python-version: "3.13"}
      - run: pip install pytest-irquality  # and what your search needs
      - run: pytest --ir-suite --ir-baseline=git:origin/${{ github.base_ref }}
"""


class InitSourceKind(Enum):
    """What ``--ir-init`` was given."""

    QUERIES = "queries"
    JUDGMENTS = "judgments"
    CATALOG = "catalog"


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
        queries: The queries, each text once. Only those of a list need answers.
        whole_field: The field of a catalog that has the title.
        quoted_field: The field of a catalog that has a long text, if there is one.
    """

    kind: InitSourceKind
    name: str
    queries: tuple[InitQuery, ...] = ()
    whole_field: str = ""
    quoted_field: str = ""


def read_init_source(path: Path, *, root: Path, access: FileAccess | None = None) -> InitSource:
    """Read a file for ``--ir-init`` and recognize what it is.

    Raises:
        SuiteError: The file cannot be read.
    """
    fields = _find_catalog_fields(DataFile(path.name, path))
    if fields:
        return InitSource(InitSourceKind.CATALOG, path.name, (), *fields)
    suite = load_suite(path, root=root, access=access)
    queries: dict[str, InitQuery] = {}
    for query in suite.queries:
        if not query.is_variant:
            query_id = query.id if query.id != query.text else ""
            queries.setdefault(query.text, InitQuery(query.text, query_id, query.tags))
    kind = InitSourceKind.JUDGMENTS if suite.has_judgments else InitSourceKind.QUERIES
    return InitSource(kind, path.name, tuple(queries.values()))


def _find_catalog_fields(file: DataFile) -> tuple[str, str] | None:
    """Return the field with the title and one with a long text, if the file is a catalog."""
    try:
        rows = [row for _, row in islice(read_rows(file), MAX_LOOKED_AT_ROWS)]
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


def format_first_suite(
    source: InitSource,
    name: str,
    queries: Sequence[InitQuery] = (),
    *,
    judgments: str = "",
    id_field: str = "",
) -> str:
    """Format the suite as YAML. It loads and passes as it is.

    Args:
        source: The file that the suite is made of.
        name: The name of the suite.
        queries: The queries of a list, with what the retriever returned.
        judgments: A file or pattern in which grades will be, if they are given on a grading page.
            Candidates are not listed then.
        id_field: Where results have their ids, if that was needed to read them.
    """
    steps = _GRADE_STEPS
    if source.kind is InitSourceKind.CATALOG:
        steps = _PROBE_STEPS
    elif source.kind is InitSourceKind.JUDGMENTS or judgments:
        steps = _BASELINE_STEPS
    head = _HEAD.format(source=_format_comment(source.name), name=format_scalar(name), steps=steps)
    if id_field:
        head += f"id_field: {format_scalar(id_field)}\n"
    if source.kind is InitSourceKind.CATALOG:
        return head + "\n".join(_format_probes(source))
    empty_count = sum(query.documents is not None and not query.documents for query in queries)
    thresholds = _THRESHOLDS.format(empty_count=empty_count)
    if source.kind is InitSourceKind.JUDGMENTS:
        return f"{head}{thresholds}queries: {format_scalar(source.name)}\n"
    words = ", ".join(f"{word}: {grade}" for word, grade in DEFAULT_GRADES.items())
    head += f"grades: {{{words}}}\n"
    if judgments:
        head += f"judgments: {format_scalar(judgments)}\n"
    blocks = ["\n".join(_format_candidates(query, not judgments)) for query in queries]
    return f"{head}{thresholds}queries:\n" + "\n\n".join(blocks) + "\n"


def format_workflow() -> str:
    """Format a GitHub workflow that compares every pull request with its base branch."""
    return _WORKFLOW


def _format_probes(source: InitSource) -> Iterator[str]:
    yield "probes:"
    yield f"  from: {format_scalar(source.name)}"
    yield "  by:"
    yield f"    {format_scalar(source.whole_field)}: whole"
    if source.quoted_field:
        yield f"    {format_scalar(source.quoted_field)}: quote"
    yield "  sample: 200"
    yield "thresholds:"
    yield "  success@10: 0.95"
    yield ""


def _format_candidates(query: InitQuery, lists_candidates: bool) -> Iterator[str]:
    """Format a query with what was returned for it, as comments."""
    for line in format_query(query.text, query_id=query.id, tags=query.tags):
        yield f"  {line}"
    if query.error:
        yield f"    # It has no answer: {_format_comment(query.error)}"
    elif not query.documents:
        yield "    # Nothing was returned. If that is right: expect_no_results: true"
    elif lists_candidates:
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
    return clip(make_printable(" ".join(text.split())), MAX_COMMENT_LENGTH)
