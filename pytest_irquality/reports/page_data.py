"""The data from which the script of the HTML report draws queries and rankings.

Texts are lists of parts in which a list holds data: ``[["Red shoes"], " 1 → 3"]``. Every document,
tag and text is stored once, and elsewhere by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_irquality.evaluation.comparison import QueryStatus
from pytest_irquality.evaluation.documents import DocChange
from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.escaping import make_visible
from pytest_irquality.io.text import CodePart, DocPart, QueryPart, Text, write
from pytest_irquality.reports.numbers import Number
from pytest_irquality.reports.query_details import QueryDetails, build_query_details
from pytest_irquality.reports.query_rows import QUERY_COLUMNS, Cell, Direction, QueryRow
from pytest_irquality.reports.view_model import MARKS, SuiteView, View

# Titles of very many documents are cut, or they would be most of the page.
MAX_TITLE_CHARACTERS = 1_000_000
MIN_TITLE_LENGTH = 24

# The columns that the script draws from the texts and tags of queries.
OWN_COLUMNS = frozenset({"query", "tags"})


class _Numbering(dict[Any, int]):
    """Gives every different value the next number, from 0."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


# The filters of the table of queries.
KINDS: dict[str, Callable[[QueryRow], bool]] = {
    "failed": lambda row: row.outcome >= Outcome.FAILED,
    "worse": lambda row: row.direction is Direction.WORSE,
    "better": lambda row: row.direction is Direction.BETTER,
    "changed": lambda row: row.direction is Direction.CHANGED,
    "unchanged": lambda row: row.direction is Direction.UNCHANGED,
    "new": lambda row: row.status is QueryStatus.NEW,
    "no answer": lambda row: row.status is QueryStatus.NO_ANSWER,
    "not run": lambda row: row.status is QueryStatus.NOT_RUN,
    "known issue": lambda row: bool(row.known_issue),
}


def build_page_data(view: View) -> dict[str, Any]:
    """Build the data of the page, of numbers, texts and lists."""
    numberings = _Numberings()
    suites = [_build_suite(suite, view, numberings) for suite in view.suites]
    docs = list(numberings.docs)
    max_length = max(MIN_TITLE_LENGTH, MAX_TITLE_CHARACTERS // max(len(docs), 1))
    return {
        "kinds": list(KINDS),
        "columns": [
            {"key": column.key, "heading": column.heading, "isNumber": column.is_number}
            for column in QUERY_COLUMNS
        ],
        "marks": {outcome.name: mark for outcome, mark in MARKS.items()},
        "grades": list(numberings.grades),
        "suites": suites,
        "ids": [make_visible(doc_id) for doc_id, _ in docs],
        "titles": [_cut(make_visible(title), max_length) for _, title in docs],
        "tags": [make_visible(tag) for tag in numberings.tags],
        "texts": numberings.list_texts(),
        "fields": _collect_fields(view, [doc_id for doc_id, _ in docs]),
    }


class _Numberings:
    """The numbers of what many queries share."""

    def __init__(self) -> None:
        self.docs = _Numbering()
        self.grades = _Numbering()
        self.tags = _Numbering()
        self._texts = _Numbering()
        self._texts[Text()]  # number 0 is no text

    def number_text(self, text: Text | None) -> int:
        """Return the number of a text."""
        return self._texts[text] if text else 0

    def list_texts(self) -> list[Any]:
        """Return all texts as lists of parts."""
        return [encode_text(text) for text in self._texts]


def encode_text(text: Text) -> list[Any]:
    """Encode a text: our own words as strings, data in lists, and code in objects."""
    parts: list[Any] = []
    for part in text.parts:
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        elif isinstance(part, str):
            parts.append(part)
        elif isinstance(part, CodePart):
            parts.append({"code": make_visible(part.code)})
        elif isinstance(part, DocPart):
            parts.append([make_visible(part.title or part.doc_id)])
        elif isinstance(part, QueryPart):
            parts += ["“", [make_visible(part.text)], "”"]
        else:
            parts.append([make_visible(part.text)])
    return parts


def _build_suite(suite: SuiteView, view: View, numberings: _Numberings) -> dict[str, Any]:
    rows = suite.rows
    kinds = []
    details = []
    documents = []
    metrics: list[str] = []
    top_grade = _find_top_grade(suite)
    for row, query_details in zip(rows, build_query_details(suite, view.settings), strict=False):
        kinds.append(sum(1 << bit for bit, is_kind in enumerate(KINDS.values()) if is_kind(row)))
        documents.append(_flatten_documents(row.documents, top_grade, numberings))
        details.append(_build_details(row, query_details, numberings))
        metrics = metrics or [value.metric for value in query_details.values]
    return {
        "name": make_visible(suite.name),
        "path": make_visible(suite.path),
        "retriever": make_visible(suite.retriever),
        "metrics": metrics,
        "topK": suite.evaluation.suite.settings.top_k if suite.evaluation else 10,
        "isFailed": suite.outcome >= Outcome.FAILED,
        "ids": [make_visible(row.query.id) for row in rows],
        "texts": [make_visible(row.query.text) for row in rows],
        "tags": [[numberings.tags[tag] for tag in row.query.tags] for row in rows],
        "kinds": kinds,
        "gains": [round(row.gain, 4) for row in rows],
        "cells": {
            column.key: _build_cells(rows, column.read)
            for column in QUERY_COLUMNS
            if column.key not in OWN_COLUMNS
        },
        "orders": {
            column.key: _sort_rows(rows, column.read)
            for column in QUERY_COLUMNS
            if column.is_number
        },
        "documents": documents,
        "details": details,
    }


def _build_cells(rows: Sequence[QueryRow], read: Callable[[QueryRow], Cell]) -> list[Any]:
    """Return the cells of a column. Most rows have nothing in some columns, which is 0."""
    cells: list[Any] = []
    for row in rows:
        cell = read(row)
        if isinstance(cell, Text):
            cells.append(encode_text(cell) if cell else 0)
        else:
            cells.append(str(cell) if cell is not None else 0)
    return cells


def _sort_rows(rows: Sequence[QueryRow], read: Callable[[QueryRow], Cell]) -> list[int]:
    """Return the indexes of the rows that have a number in a column, lowest first."""
    keys = []
    for index, row in enumerate(rows):
        cell = read(row)
        if isinstance(cell, Number):
            keys.append((cell.value, index))
    return [index for _, index in sorted(keys)]


def _flatten_documents(
    documents: Sequence[DocChange], top_grade: float, numberings: _Numberings
) -> list[int]:
    """Return five numbers a document: itself, both ranks or 0, its grade, and its finding."""
    flat: list[int] = []
    for doc in documents:
        flat += (
            numberings.docs[doc.doc_id, doc.title],
            doc.rank_before or 0,
            doc.rank_now or 0,
            numberings.grades[_describe_grade(doc, top_grade)],
            numberings.number_text(doc.finding),
        )
    return flat


def _find_top_grade(suite: SuiteView) -> float:
    return max((row.query.judgments.top_grade for row in suite.rows), default=0.0)


def _describe_grade(doc: DocChange, top_grade: float) -> tuple[str, str]:
    """Return the class of a grade, by how near it comes to the highest, and its text."""
    if doc.grade is None:
        return "unjudged", "unjudged"
    if not doc.is_relevant:
        return "wrong", f"{doc.grade:g} ✗"
    fraction = doc.grade / top_grade if top_grade else 1.0
    level = 3 if fraction > 0.9 else 2 if fraction > 0.5 else 1
    return f"grade-{level}", f"{doc.grade:g} ✓"


def _build_details(row: QueryRow, details: QueryDetails, numberings: _Numberings) -> dict[str, Any]:
    """Build what only an opened query shows, without what it lacks."""
    checks = []
    for result in details.results:
        checks.append([result.outcome.name, numberings.number_text(result.text)])
    # The primary metric is in the table.
    values = []
    for value in details.values[1:]:
        is_changed = str(value.before or "") != str(value.now or "")
        numbers = (value.before, value.now, value.change) if is_changed else (value.now,)
        values.append([str(number or "") for number in numbers])
    params = []
    for key, parameter in row.query.params.items():
        params.append([make_visible(str(key)), make_visible(str(parameter))])
    entries: dict[str, Any] = {
        "why": make_visible(row.query.why),
        "error": make_visible(row.error),
        "issue": make_visible(row.known_issue),
        "checks": checks,
        "values": values if any(any(entry) for entry in values) else [],
        "place": numberings.number_text(write(CodePart(str(row.query.location)))),
        "rerun": numberings.number_text(write(CodePart(details.rerun))),
        "params": [
            [make_visible(str(key)), make_visible(str(value))]
            for key, value in row.query.params.items()
        ],
    }
    return {key: value for key, value in entries.items() if value}


def _collect_fields(view: View, doc_ids: Sequence[str]) -> list[Any]:
    """Return the fields that suites show of each document, or nothing if no suite shows any."""
    known: dict[str, list[list[str]]] = {}
    for suite in view.suites:
        if suite.evaluation is None or not suite.evaluation.suite.settings.show:
            continue
        shown = suite.evaluation.suite.settings.show
        for answers in suite.evaluation.run.answers.values():
            for doc_id, fields in zip(answers[0].doc_ids, answers[0].fields, strict=False):
                values = [
                    [make_visible(name), make_visible(str(fields[name]))]
                    for name in shown
                    if fields.get(name) is not None
                ]
                known.setdefault(doc_id, values)
    return [known.get(doc_id, []) for doc_id in doc_ids] if known else []


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
