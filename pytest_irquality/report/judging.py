"""``--ir-judge``: what to grade, as one HTML file to grade in, which asks no network and keeps
grades in the browser, or as a CSV to be filled in.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from pytest_irquality.edges.printable import GRADED_COLUMNS, TO_GRADE_COLUMNS, csv_cell, visible
from pytest_irquality.report.assets import asset, environment, script_json
from pytest_irquality.verdict.pool import Pool, Pooled, PooledQuery
from pytest_irquality.wording.numbers import counted

DATA_IMAGE = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+")
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")


@dataclass(frozen=True)
class ToGrade:
    """The numbers that every medium says of what there is to grade."""

    documents: int
    queries: int

    def __str__(self) -> str:
        """As people read it."""
        pairs = counted(self.documents, "document", "documents")
        return f"{pairs} of {counted(self.queries, 'query', 'queries')} that nobody has graded"


def to_grade(pools: Sequence[Pool]) -> ToGrade:
    """How much nobody has graded."""
    open_queries = [query for one in pools for query in one.queries if query.unjudged]
    return ToGrade(sum(query.unjudged for query in open_queries), len(open_queries))


def to_be_graded(path: str, pools: Sequence[Pool]) -> str:
    """What a file of that name is to hold: a list, or else the page."""
    return judging_list(pools) if path.endswith(".csv") else judging_page(pools)


def judging_list(pools: Sequence[Pool]) -> str:
    """A CSV with one row a query and document that nobody has graded, the rating left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TO_GRADE_COLUMNS)
    rows = {
        (query.text, document.id): (
            _cell(query.text),
            _cell(document.id),
            "",
            document.rank,
            _cell(document.title),
        )
        for one in pools
        for query in one.queries
        for document in query.documents
        if not document.judges
    }
    writer.writerows(rows.values())
    return text.getvalue()


def _cell(text: str) -> str:
    """A cell without NUL, which the csv module of Python 3.10 can neither write nor read."""
    return csv_cell(text).replace("\0", "\u2400")


def judging_page(pools: Sequence[Pool]) -> str:
    """The page. Queries stand in the order of the pools; nothing tells how a document was
    ranked.
    """
    return (
        environment()
        .get_template("judging.html")
        .render(
            title=", ".join(dict.fromkeys(one.suite for one in pools)) or "nothing to grade",
            style=asset("judging.css"),
            script=asset("judging.js"),
            data=script_json(_data(pools)),
        )
    )


def _data(pools: Sequence[Pool]) -> dict[str, Any]:
    scales = [one.scale for one in pools] or [()]
    return {
        "columns": GRADED_COLUMNS,
        "suite": " ".join(one.path for one in pools),
        "stem": PurePosixPath(pools[0].path).name.partition(".")[0] if pools else "suite",
        "scales": [[*_scale(scale)] for scale in scales],
        "asked": [query.id for one in pools for query in one.queries],
        "queries": [
            _query(query, place) for place, one in enumerate(pools) for query in one.queries
        ],
    }


def _scale(scale: Sequence[tuple[str, float]]) -> Iterator[dict[str, Any]]:
    """Each grade with its key: its own digit, or else its place."""
    digits = all(grade in range(10) for _, grade in scale)
    for place, (word, grade) in enumerate(scale):
        key = f"{grade:g}" if digits else str((place + 1) % 10) if place < 10 else ""
        yield {"word": word, "grade": grade, "key": key}


def _query(query: PooledQuery, scale: int) -> dict[str, Any]:
    return {
        "scale": scale,
        "id": query.id,
        "text": query.text,
        "why": query.why,
        "tags": query.tags,
        # By id: the page shuffles them for each judge, and its source must not tell their ranks.
        "documents": [*map(_document, sorted(query.documents, key=lambda one: one.id))],
    }


def _document(document: Pooled) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": visible(document.title),
        "text": visible(document.text),
        "fields": [(name, visible(value), is_picture(value)) for name, value in document.fields],
        "judges": document.judges,
    }


def is_picture(value: str) -> bool:
    """Whether a field may be shown as an image: its data, or a file beside the page. Others are
    text, so that looking at the page never asks a network.
    """
    if DATA_IMAGE.fullmatch(value):
        return True
    path = PurePosixPath(value)
    beside = not path.is_absolute() and ".." not in path.parts and not re.search(r"[:\\?#]", value)
    return beside and path.suffix.lower() in PICTURES
