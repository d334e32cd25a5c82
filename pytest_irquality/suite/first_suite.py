"""The text of a first suite: queries with what the retriever returns for them today, as candidates
to grade.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_irquality.edges.printable import terminal

PLAIN = re.compile(r"[^\W_](?:[\w '/+.-]*\w)?")
LONGEST = 100

HEAD = """\
# A first suite, written by pytest --ir-init from {source}. It passes as it stands: nothing is
# graded yet.
#
# 1. Grade what stands below each query: take the '#' away from 'relevant:' and from every document
# you can judge, and correct its grade. 0 or 'bad' says that it was looked at and does not belong.
# Add documents that should be found and are missing here. 2. Where one document must never sink,
# say so: must_find: {{ID: 3}} fails if it is not in the top 3. 3. Set the floors under 'thresholds'
# a little below what pytest --ir-suite shows.

suite: {name}
grades: {{perfect: 3, good: 2, ok: 1, bad: 0}}
metrics: [ndcg@10, mrr@10, recall@10]

thresholds:
  zero_results: {{max: {empty}}}
  # ndcg@10: {{min: 0.80}}
  # recall@10: {{min: 0.80}}

queries:
"""


@dataclass(frozen=True)
class Asked:
    """A query and what came: documents with their titles, best first, or the ``fault`` for which
    nothing did.
    """

    text: str
    id: str | None = None
    tags: Sequence[str] = ()
    documents: Mapping[str, str | None] | None = None
    fault: str | None = None


def first_suite(name: str, source: str, asked: Sequence[Asked]) -> str:
    """The suite as YAML, each query under a heading of comments."""
    empty = sum(query.documents is not None and not query.documents for query in asked)
    head = HEAD.format(name=scalar(name), source=comment(source), empty=empty)
    return head + "\n".join("\n".join(_query(query)) + "\n" for query in asked)


def _query(query: Asked) -> Iterator[str]:
    yield f"  - query: {scalar(query.text)}"
    if query.id is not None:
        yield f"    id: {scalar(query.id)}"
    if query.tags:
        yield f"    tags: [{', '.join(map(scalar, query.tags))}]"
    if query.documents:
        yield "    # relevant:"
        ids = {document: scalar(document) for document in query.documents}
        width = max(map(len, ids.values()))
        for rank, (document, title) in enumerate(query.documents.items(), 1):
            words = f"  {comment(title)}" if title and title != document else ""
            yield (
                f"    #   {ids[document]}: ok{' ' * min(width - len(ids[document]), 40)}   #"
                f" {rank}{words}"
            )
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
    text = terminal(" ".join(text.encode("utf-8", "replace").decode().split()))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
