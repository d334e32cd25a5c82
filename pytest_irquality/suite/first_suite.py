"""The text of a first suite: queries with candidates to grade.

They are what the retriever returns today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_irquality.edges.printable import GRADED_COLUMNS, clipped, terminal
from pytest_irquality.suite.by_default import default_drop
from pytest_irquality.suite.files.logs import Logged
from pytest_irquality.suite.files.queries import tags
from pytest_irquality.suite.sampling import Sample, sample

PLAIN = re.compile(r"[^\W_](?:[\w '/+.-]*\w)?")
LONGEST = 100
SAMPLE = 200
UNGRADED = f"{','.join(GRADED_COLUMNS)}\n"
"""A file of judgments that has none."""

GRADES = {"perfect": 3, "good": 2, "ok": 1, "bad": 0}

BY_HAND = """\
# 1. Grade what stands below each query: take the '#' away from 'relevant:' and from every document you can judge, and
#    correct its grade. 0 or 'bad' says that it was looked at and does not belong. Add documents that should be found
#    and are missing here.
# 2. Where one document must never sink, say so: must_find: {ID: 3} fails if it is not in the top 3.
# 3. Set the floors under 'thresholds' a little below what pytest --ir-suite shows.
# 4. Run pytest --ir-suite --ir-update-baseline and commit what it writes: from then on a query that loses all its relevant
#    documents fails, and a drop of the mean that chance does not explain.
"""

ON_A_PAGE = """\
# 1. {grade}
# 2. Run pytest --ir-suite --ir-update-baseline: from then on a query that loses all its relevant documents fails.
# 3. Set the floors under 'thresholds' a little below what pytest --ir-suite shows.
"""

IN_A_PAGE = (
    "Open {page} in a browser, grade, and save its file beside this suite: it is read by itself."
)
IN_A_LIST = "Fill in the column 'rating' of {page}, which this suite reads: 3 is perfect, 2 good, 1 ok, 0 bad."

HEAD = """\
# A first suite, written by pytest --ir-init from {source}. It passes as it stands: nothing is graded yet.
#
{steps}
{drawn}suite: {name}
grades: {{perfect: 3, good: 2, ok: 1, bad: 0}}
undefined: judged_zero   # a query whose graded results are all bad scores 0; one that nobody graded is in no mean
{judgments}metrics: [ndcg@10, mrr@10, recall@10{weighted}]

thresholds:
  zero_results: {{max: {empty}}}
  # ndcg@10: {{min: 0.80}}
  # recall@10: {{min: 0.80}}
  # By default, once there is a baseline: {default}
  # ndcg@10: {{max_drop: {most}, max_significant_drop: 0.01}}   # this line instead holds for this suite alone

queries:
"""

WEIGHTS = """\
# {how}
# 'weight' is how many searches a query stands for ({certain} are so frequent that they stand for themselves): so
# 'weighted ndcg@10' estimates the mean over all searches, and plain ndcg@10 is that over these queries.

"""


@dataclass(frozen=True)
class Asked:
    """A query and what came: documents with their titles, or the ``fault`` for which nothing did.

    ``weight`` is how many searches it stands for, where it was drawn from a log.
    """

    text: str
    id: str | None = None
    tags: Sequence[str] = ()
    documents: Mapping[str, str | None] | None = None
    fault: str | None = None
    weight: float | None = None


@dataclass(frozen=True)
class GradingPage:
    """A page to grade in, or a list to fill in: its name, and where the suite finds the grades."""

    name: str
    judgments: str


def drawn_from(queries: Sequence[Logged], size: int | None) -> tuple[list[Asked], Sample | None]:
    """The queries to ask, and how they were drawn, with their weights, from a log.

    A list that counts nothing is asked whole, unless a size is given.
    """
    counts = [query.searches for query in queries]
    if not any(count is not None for count in counts):
        if size is None:
            return [_asked(query) for query in queries], None
        counts = [1.0] * len(counts)
    drawn = sample([count or 0.0 for count in counts], size or SAMPLE)
    return [_asked(queries[one.place], one.weight) for one in drawn.drawn], drawn


def _asked(query: Logged, weight: float | None = None) -> Asked:
    id = query.record.cells.get("id", "").strip() or None
    return Asked(query.text, id, tags(query.record), weight=weight)


def how_many(asked: Sequence[Asked], drawn: Sample | None) -> str:
    """``3 queries``, or ``200 of 7,000 queries`` of a log."""
    if drawn:
        return f"{len(asked):,} of {drawn.queries:,} queries"
    return "1 query" if len(asked) == 1 else f"{len(asked):,} queries"


def first_suite(
    name: str,
    source: str,
    asked: Sequence[Asked],
    *,
    sample: Sample | None = None,
    page: GradingPage | None = None,
    empty: int = 0,
) -> str:
    """The suite as YAML, each query under a heading of comments.

    ``sample`` is how the queries were drawn. With a ``page`` candidates are graded there, and not listed here.
    ``empty`` is how many queries a retriever returns nothing for, at the most.
    """
    head = HEAD.format(
        name=scalar(name),
        source=comment(source),
        empty=empty,
        steps=_steps(page) if page else BY_HAND,
        drawn=_drawn(sample, source) if sample else "",
        judgments=f"judgments: {scalar(page.judgments)}\n" if page else "",
        default="ndcg@10 of all suites together falls by no more than chance explains.",
        most=f"{default_drop(len(asked)):.3g}",
        weighted=", weighted ndcg@10" if sample else "",
    )
    return head + "\n".join("\n".join(_query(query, not page)) + "\n" for query in asked)


def _steps(page: GradingPage) -> str:
    grade = IN_A_LIST if page.name.endswith(".csv") else IN_A_PAGE
    return ON_A_PAGE.format(grade=grade.format(page=comment(page.name)))


def _drawn(sample: Sample, source: str) -> str:
    """The lines on how the queries were drawn, and what their weights mean."""
    drawn, queries = f"{len(sample.drawn):,}", f"{sample.queries:,}"
    searches, log = f"{sample.searches:,.10g} searches", comment(source)
    if sample.everything:
        how = f"All {queries} queries of {log} are here, {searches}."
    else:
        how = (
            f"{drawn} of {queries} queries of {log}, which has {searches}:\n"
            "# in proportion to how often each was searched, by systematic sampling."
        )
    certain = sum(one.certain for one in sample.drawn)
    return WEIGHTS.format(how=how, certain=f"{certain:,}")


def _query(query: Asked, candidates: bool) -> Iterator[str]:
    yield f"  - query: {scalar(query.text)}"
    if query.id is not None:
        yield f"    id: {scalar(query.id)}"
    if query.tags:
        yield f"    tags: [{', '.join(map(scalar, query.tags))}]"
    if query.weight is not None:
        yield f"    weight: {query.weight:.10g}"
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
