"""The text of a first suite: queries with candidates to grade.

They are what the retriever returns today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_irquality.edges.printable import GRADED_COLUMNS, clipped, terminal
from pytest_irquality.suite.files.queries import read_queries, tags
from pytest_irquality.suite.files.source import Source

PLAIN = re.compile(r"[^\W_](?:[\w '/+.-]*\w)?")
LONGEST = 100
UNGRADED = f"{','.join(GRADED_COLUMNS)}\n"
"""A file of judgments that has none."""

GRADES = {"perfect": 3, "good": 2, "ok": 1, "bad": 0}

STEPS = """\
# 1. {grade}
# 2. Run pytest --ir-suite --ir-update-baseline and commit what it writes: from then on a query that loses all its relevant
#    documents fails, and a drop of the mean that chance does not explain.
# 3. Set the floors under 'thresholds' a little below what pytest --ir-suite shows.
"""
BELOW = """\
Grade what stands below each query: take the '#' away from 'relevant:' and from every document you can judge, and
#    correct its grade. 0 or 'bad' says that it was looked at and does not belong. Add what should be found and is missing."""
IN_A_PAGE = (
    "Open {page} in a browser, grade, and save its file beside this suite: it is read by itself."
)
IN_A_LIST = "Fill in the column 'rating' of {page}, which this suite reads: 3 is perfect, 2 good, 1 ok, 0 bad."

HEAD = """\
# A first suite, written by pytest --ir-init from {source}. It passes as it stands: nothing is graded yet.
#
{steps}
suite: {name}
grades: {{perfect: 3, good: 2, ok: 1, bad: 0}}
undefined: judged_zero   # a query whose graded results are all bad scores 0; one that nobody graded is in no mean
{judgments}metrics: [ndcg@10, mrr@10, recall@10]

thresholds:
  zero_results: {{max: {empty}}}
  # ndcg@10: {{min: 0.80}}

queries:
"""


@dataclass(frozen=True)
class Asked:
    """A query and what came: documents with their titles, or the ``fault`` for which nothing did."""

    text: str
    id: str | None = None
    tags: Sequence[str] = ()
    documents: Mapping[str, str | None] | None = None
    fault: str | None = None


@dataclass(frozen=True)
class GradingPage:
    """A page to grade in, or a list to fill in: its name, and where the suite finds the grades."""

    name: str
    judgments: str


def listed(path: Path, name: str) -> list[Asked]:
    """The queries of a file, each text once. Raises ``SuiteError``, which calls it by ``name``."""
    found: dict[str, Asked] = {}
    for record in read_queries(Source(path, name), (), "text").records:
        text, id = record.cells["query"].strip(), record.cells.get("id", "").strip() or None
        found.setdefault(text, Asked(text, id, tags(record)))
    return [*found.values()]


def first_suite(
    name: str,
    source: str,
    asked: Sequence[Asked],
    *,
    page: GradingPage | None = None,
    empty: int = 0,
) -> str:
    """The suite as YAML, each query under a heading of comments.

    With a ``page`` candidates are graded there, and not listed here.
    ``empty`` is how many queries a retriever returns nothing for, at the most.
    """
    head = HEAD.format(
        name=scalar(name),
        source=comment(source),
        empty=empty,
        steps=STEPS.format(grade=_how_to_grade(page)),
        judgments=f"judgments: {scalar(page.judgments)}\n" if page else "",
    )
    return head + "\n".join("\n".join(_query(query, not page)) + "\n" for query in asked)


def _how_to_grade(page: GradingPage | None) -> str:
    if page is None:
        return BELOW
    how = IN_A_LIST if page.name.endswith(".csv") else IN_A_PAGE
    return how.format(page=comment(page.name))


def _query(query: Asked, candidates: bool) -> Iterator[str]:
    yield f"  - query: {scalar(query.text)}"
    if query.id is not None:
        yield f"    id: {scalar(query.id)}"
    if query.tags:
        yield f"    tags: [{', '.join(map(scalar, query.tags))}]"
    if query.documents and not candidates:
        return
    if query.documents:
        yield "    # relevant:"
        ids = {document: scalar(document) for document in query.documents}
        width = max(map(len, ids.values()))
        for document, title in query.documents.items():
            candidate = f"    #   {ids[document]}: ok"
            if title and title != document:
                space = " " * min(width - len(ids[document]), 40)
                candidate = f"{candidate}{space}   # {comment(title)}"
            yield candidate
    elif query.fault is not None:
        yield f"    # it could not be answered: {comment(query.fault)}"
    else:
        yield "    # nothing was returned; if that is right: expect_no_results: true"


def scalar(text: str) -> str:
    """A text as YAML reads it back, plain where that is safe."""
    text = text.encode("utf-8", "replace").decode()
    if PLAIN.fullmatch(text) and text.isprintable():
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{terminal(escaped)}"'


def comment(text: str) -> str:
    """A text on one line, and no longer than that."""
    return clipped(terminal(" ".join(text.encode("utf-8", "replace").decode().split())), LONGEST)
