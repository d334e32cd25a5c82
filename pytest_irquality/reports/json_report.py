"""The JSON report.

The report is the view: every field of its classes is a key. A text is a string, a number is a
number, and an outcome is its name. So a new field of the view is in the report and, once
``schema.json`` is generated again (``python -m docs.tools.renew``), in the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any

from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import escape_page_text
from pytest_irquality.io.text import Text
from pytest_irquality.reports.build_view import build_query_details
from pytest_irquality.reports.query_rows import QUERY_COLUMNS, QueryRow
from pytest_irquality.reports.tiles import Number
from pytest_irquality.reports.view_model import OUTPUT_MARKER, View
from pytest_irquality.suite.mistakes import Location
from pytest_irquality.suite.model import RetrieverId

VERSION = 2

# Entries of the lists in the short document, which a program reads completely.
MAX_SHORT_ENTRIES = 5
MAX_SHORT_TEXT = 400
MAX_PROTECTED_PATHS = 30


@dataclass(frozen=True)
class Timing:
    """What differs between runs that are equal otherwise.

    Attributes:
        date: When the session started, in ISO 8601.
        seconds: How long the session took.
    """

    date: str
    seconds: float | None


def render_json(view: View) -> str:
    """Render the complete report. Only its ``timing`` block differs between equal runs."""
    document = _encode(view)
    for suite, encoded in zip(view.suites, document["suites"], strict=True):
        details = build_query_details(suite, view.settings)
        for row, row_details, entry in zip(suite.rows, details, encoded["rows"], strict=False):
            entry["documents"] = _encode(row.find_documents())
            entry["values"] = _encode(row_details.values)
    date = view.settings.now.isoformat() if view.settings.now else ""
    report = {
        "generator": OUTPUT_MARKER,
        "version": VERSION,
        **document,
        "timing": _encode(Timing(date, view.settings.seconds)),
    }
    return json.dumps(report, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def render_short_json(
    view: View, *, exit_status: int | None = None, protected_paths: Sequence[str] = ()
) -> str:
    """Render the short document of ``--ir-json=-``, for a program that reads nothing else.

    Args:
        view: The content.
        exit_status: The exit status of pytest, if it is not the one of the view.
        protected_paths: Files that a program must not edit to make the build pass.

    Returns:
        JSON with one line for each entry of a list, which a language model can read completely.
    """
    failures = [check for check in view.checks if check.outcome >= Outcome.FAILED]
    suites = []
    for suite in view.suites:
        values = {tile.label: tile.value for tile in suite.tiles if tile.value}
        suites.append(
            {
                "path": suite.path,
                "retriever": suite.retriever,
                "outcome": suite.outcome,
                "line": suite.line,
                "values": values,
            }
        )
    document = {
        "generator": OUTPUT_MARKER,
        "version": VERSION,
        "outcome": view.outcome,
        "exit_status": view.exit_status if exit_status is None else exit_status,
        "headline": view.headline,
        "summary": view.summary,
        "coverage": view.coverage,
        "suites": suites,
        "causes": [message.text for message in view.causes],
        "worse": view.worse,
        "better": view.better,
        "failures": [_shorten_check(check) for check in failures],
        "base_failures": [_shorten_check(check) for check in view.base_checks],
        "next": view.next_steps,
        "do_not_edit": list(islice(dict.fromkeys(protected_paths), MAX_PROTECTED_PATHS)),
    }
    return _lay_out(document)


# -- Encoding --------------------------------------------------------------------------------------

# Fields that only reports in the same process read, or that belong to ``timing``.
HIDDEN_FIELDS: Mapping[str, frozenset[str]] = {
    "View": frozenset({"settings", "quiet_line"}),
    "Header": frozenset({"date"}),
    "CheckResult": frozenset({"check", "item", "doc_ids", "bound_text"}),
    "Notice": frozenset({"doc_ids", "retriever", "is_cause", "next_step"}),
    "SuiteView": frozenset({"evaluation"}),
    "QueryRow": frozenset({"query", "comparison", "before", "now", "change", "overlap"}),
}


def _encode(value: Any) -> Any:
    """Turn a part of the view into what JSON has."""
    return _choose_encoder(value.__class__)(value)


@cache  # A large report has millions of values of a few types.
def _choose_encoder(cls: type) -> Callable[[Any], Any]:
    """Return the function that encodes the values of a type."""
    if issubclass(cls, str | Text | RetrieverId):
        return lambda value: escape_page_text(str(value))
    if issubclass(cls, Outcome):
        return lambda value: value.name
    if issubclass(cls, int | float | None):
        return lambda value: value
    if issubclass(cls, Number | Enum):
        return lambda value: value.value
    if issubclass(cls, Location):
        return lambda value: escape_page_text(str(value)) if value.path else ""
    if issubclass(cls, QueryRow):
        return _encode_row
    if is_dataclass(cls):
        names = [field.name for field in list_shown_fields(cls)]
        return lambda value: {name: _encode(getattr(value, name)) for name in names}
    if issubclass(cls, Mapping):
        return lambda value: {escape_page_text(str(key)): _encode(value[key]) for key in value}
    return lambda value: list(map(_encode, value))


def _encode_row(row: QueryRow) -> dict[str, Any]:
    encoded: dict[str, Any] = {"query_id": escape_page_text(row.query.id)}
    for column in QUERY_COLUMNS:
        encoded[column.key] = _encode(column.read(row))
    for field in list_shown_fields(QueryRow):
        encoded[field.name] = _encode(getattr(row, field.name))
    encoded["location"] = _encode(row.query.location)
    return encoded


@cache
def list_shown_fields(cls: type) -> tuple[Field[Any], ...]:
    """Return the fields of a class of the view that are in the report."""
    hidden = HIDDEN_FIELDS.get(cls.__name__, frozenset())
    return tuple(field for field in fields(cls) if field.name not in hidden)


# -- The short document ----------------------------------------------------------------------------


def _shorten_check(check: CheckResult) -> dict[str, Any]:
    return {
        "suite": check.subject,
        "check": check.label,
        "at": check.location,
        "value": check.value,
        "baseline_value": check.baseline_value,
        "bound": check.bound,
        "text": check.text,
    }


def _lay_out(document: Mapping[str, Any]) -> str:
    """Write each entry of a list on a line of its own, and how many more there are."""
    lines = []
    hidden = {}
    for key, value in document.items():
        encoded = _shorten(_encode(value))
        if isinstance(encoded, list) and key != "do_not_edit":
            hidden[key] = len(encoded) - MAX_SHORT_ENTRIES
            entries = [f"  {_dump(entry)}" for entry in encoded[:MAX_SHORT_ENTRIES]]
            text = "[\n" + ",\n".join(entries) + "\n ]" if entries else "[]"
        else:
            text = _dump(encoded)
        lines.append(f" {_dump(key)}: {text}")
    more = {key: number for key, number in hidden.items() if number > 0}
    lines.append(f' "not_shown": {_dump(more)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _shorten(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_SHORT_TEXT:
        return value[: MAX_SHORT_TEXT - 1] + "…"
    if isinstance(value, list):
        return [_shorten(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _shorten(entry) for key, entry in value.items()}
    return value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
