"""``--ir-judge``: what to grade, as one HTML file to grade in, or as a CSV to be filled in.

The page asks no network and keeps grades in the browser.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import PurePath, PurePosixPath
from typing import Any
from urllib.parse import quote

from pytest_irquality.edges.printable import GRADED_COLUMNS, TO_GRADE_COLUMNS, csv_cell, visible
from pytest_irquality.report.assets import asset, environment, script_json
from pytest_irquality.verdict.pool import Pool, Pooled, PooledQuery
from pytest_irquality.wording.numbers import counted

LIST = ".csv"
DECIDING = "#decides"
"""The address, within a page, of the queries whose grades could turn the verdict."""


def to_grade(path: str, pools: Sequence[Pool]) -> str:
    """The number of pairs to grade, and of a page at that path the address of what decides."""
    queries = [query for one in pools for query in one.queries]
    unjudged = [len(query.to_grade) for query in queries if query.to_grade]
    documents = counted(sum(unjudged), "document")
    said = [f"{documents} of {counted(len(unjudged), 'query', 'queries')} that nobody has graded"]
    if lacking := sum(query.lacking for query in queries):
        said.append(f"nothing good is known for {counted(lacking, 'query', 'queries')}")
    decide = sum(query.decides for query in queries)
    if decide and not path.endswith(LIST):
        could = f"{counted(decide, 'query', 'queries')} that could turn the verdict"
        said.append(f"{path}{DECIDING} has {could}")
    return "; ".join(said)


def to_settle(path: str, report: str, pools: Sequence[Pool]) -> tuple[str, str] | None:
    """A link from a report to the queries of a judging page that could turn the verdict.

    Both paths begin where pytest was called. None where the page has no such query.
    """
    decide = sum(query.decides for one in pools for query in one.queries)
    if not decide or path.endswith(LIST):
        return None
    beside = PurePath(os.path.relpath(path, PurePath(report).parent)).as_posix()
    words = f"Grade the {counted(decide, 'query', 'queries')} that could turn the verdict"
    return words, f"{quote(beside)}{DECIDING}"


def to_be_graded(path: str, pools: Sequence[Pool]) -> str:
    """The text that a file of that name is to hold: a list, or else the page."""
    return judging_list(pools) if path.endswith(LIST) else judging_page(pools)


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
            _cell(document.title),
        )
        for one in pools
        for query in one.queries
        for document in query.to_grade
    }
    writer.writerows(rows.values())
    return text.getvalue()


def _cell(text: str) -> str:
    """A cell without NUL, which the csv module of Python 3.10 can neither write nor read."""
    return csv_cell(text).replace("\0", "\u2400")


def judging_page(pools: Sequence[Pool]) -> str:
    """The page.

    Queries stand in the order of the pools; nothing tells how a document was ranked.
    """
    return (
        environment()
        .get_template("judging.html")
        .render(
            title=", ".join(dict.fromkeys(one.suite for one in pools)) or "nothing to grade",
            style=asset("judging.css"),
            script=asset("shared.js", "judging.js"),
            data=script_json(_data(pools)),
        )
    )


def _data(pools: Sequence[Pool]) -> dict[str, Any]:
    return {
        "columns": GRADED_COLUMNS,
        "suite": " ".join(one.path for one in pools),
        "stem": PurePosixPath(pools[0].path).name.partition(".")[0] if pools else "suite",
        "suites": [*map(_suite, pools or [Pool("", "", (), ())])],
        "queries": [
            _query(query, place) for place, one in enumerate(pools) for query in one.queries
        ],
    }


def _suite(one: Pool) -> dict[str, Any]:
    corpus = [(id, visible(title), visible(text)) for id, title, text in one.corpus]
    return {"scale": [*_scale(one.scale)], "good": one.good, "corpus": corpus}


def _scale(scale: Sequence[tuple[str, float]]) -> Iterator[dict[str, Any]]:
    """Each grade with its key: its own digit, or else its place."""
    digits = all(grade in range(10) for _, grade in scale)
    for place, (word, grade) in enumerate(scale):
        key = f"{grade:g}" if digits else str((place + 1) % 10) if place < 10 else ""
        yield {"word": word, "grade": grade, "key": key}


def _query(query: PooledQuery, suite: int) -> dict[str, Any]:
    # What a judge may see, and nothing else: ranks and retrievers are not to be guessed.
    return {
        "suite": suite,
        "id": query.id,
        "text": query.text,
        "why": query.why,
        "tags": query.tags,
        "found": query.found,
        "skipped": query.skipped,
        "empty": query.empty,
        "decides": query.decides,
        "documents": [*map(_document, query.documents)],
    }


def _document(document: Pooled) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": visible(document.title),
        "text": visible(document.text),
        "fields": [(name, visible(value)) for name, value in document.fields],
        "judges": document.judges,
        "disputed": document.disputed,
    }
