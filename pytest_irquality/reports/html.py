"""The HTML report: one file that needs no network.

Its script draws queries and rankings from data that is part of the page. In the data, texts are
lists of parts in which a list holds what a user wrote: ``[["Red shoes"], " 1 → 3"]``. Every
document, tag and text is stored once, and elsewhere by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from math import ceil, floor
from typing import Any, NamedTuple
from urllib.parse import urlencode

from pytest_irquality.evaluation.comparison import QueryStatus
from pytest_irquality.evaluation.documents import DocChange
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io import replace
from pytest_irquality.io.escaping import clip, escape_page_text
from pytest_irquality.io.text import CodePart, DocPart, QueryPart, Text, format_count, write
from pytest_irquality.reports import templating
from pytest_irquality.reports.build_view import QueryDetails, build_query_details
from pytest_irquality.reports.query_rows import QUERY_COLUMNS, Cell, Direction, QueryRow, drop_query
from pytest_irquality.reports.sentences import collect_rows
from pytest_irquality.reports.tiles import MARKS, MINUS, Number, Tile, format_check_values
from pytest_irquality.reports.view_model import HistoryPoint, SuiteView, View, find_label

# Nobody reads more queries, and a browser takes long to search 100,000.
MAX_PAGE_ROWS = 20_000
MAX_CARD_ROWS = 5
MAX_GRADE_LEVEL = 3  # the strongest of the colours
MAX_STATIC_ROWS = 200
MIN_BARS = 4
MAX_BARS = 140
SMALL_LIMIT = 0.5  # the end of the scale if all changes are smaller
MIN_BAR_FRACTION = 0.01  # of the height, or the smallest changes could not be seen
WEAK_VALUE = 0.9995  # shown as less than 1.000
HEAT_STEPS = (0.005, 0.05, 0.15, 0.3)

# Across, a chart is as wide as the page, so positions are percentages. Down, they are pixels.
CHART_TOP, CHART_BOTTOM = 16.0, 204.0
CHART_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
MAX_CHART_STEPS = 5
MIN_CHART_SPAN = 0.02
# Titles of very many documents are cut, or they would be most of the page.
MAX_TITLE_CHARACTERS = 1_000_000
MIN_TITLE_LENGTH = 24
MAX_EXCERPT_LENGTH = 200  # of the text of a chunk

# What to call checks of an outcome, after their number.
CHECK_GROUPS = {
    "FAILED": "failed",
    "ERROR": "with an error",
    "REVIEW": "to review",
    "INCOMPLETE": "not evaluated",
    "could not fail": "that no answer could break",
    "known issue": "of known issues",
}

# A card of the overview: identifier, title, rows, and the address of the table.
RowGroup = tuple[str, str, Sequence[QueryRow], str]

# The columns that the script draws from the texts and tags of queries.
OWN_COLUMNS = frozenset({"query", "tags"})


def render_html(view: View) -> str:
    """Render the report as one HTML file."""
    rows = collect_rows(view.suites)
    groups = list(_group_rows(view, rows))
    urgent = sorted(rows, key=_get_urgency)
    page_view = _select_rows(view, urgent, groups)
    positions = {}
    for suite_index, suite in enumerate(page_view.suites):
        for row_index, row in enumerate(suite.rows):
            positions[id(row)] = (suite_index, row_index)
    charts = [_build_chart(suite) for suite in view.suites if suite.history]
    template = templating.create_html_environment().get_template("report.html")
    return template.render(
        view=view,
        style=templating.load_asset("tokens.css", "report.css"),
        script=templating.load_asset("shared.js", "report.js"),
        data=templating.pack_script_data(build_page_data(page_view)),
        marks=MARKS,
        tabs=_list_tabs(view, rows, has_history=len(charts) > 1),
        groups=groups,
        find_label=partial(find_label, view.suites),
        check_values=format_check_values,
        drop_query=drop_query,
        limit=MAX_CARD_ROWS,
        positions=lambda row: positions[id(row)],
        # For readers without scripts, and for paper.
        static_rows=urgent[:MAX_STATIC_ROWS],
        page_count=len(positions),
        is_quiet=_is_quiet,
        bars=_build_bars(view, rows),
        heat=_get_heat,
        checks=list(_group_checks(view.checks)),
        charts=charts,
    )


def _get_urgency(row: QueryRow) -> tuple[float, ...]:
    """Return what to sort rows by: those that failed, changed most and have the lowest value."""
    return _is_quiet(row), -row.outcome, row.improvement, row.now.value if row.now else 1.0


def _select_rows(view: View, urgent: Sequence[QueryRow], groups: Sequence[RowGroup]) -> View:
    """Return the view with the rows that the page has: the most urgent, and those of cards."""
    carded = [row for group in groups for row in group[2][:MAX_CARD_ROWS]]
    selected = {id(row) for row in (*urgent[:MAX_PAGE_ROWS], *carded)}
    suites = []
    for suite in view.suites:
        kept = tuple(row for row in suite.rows if id(row) in selected)
        suites.append(replace(suite, rows=kept))
    return replace(view, suites=tuple(suites))


def _list_tabs(
    view: View, rows: Sequence[QueryRow], *, has_history: bool
) -> list[tuple[str, str, str, str]]:
    """Return the tabs: key, title, count, and what is counted if it is bad."""
    tabs = [("overview", "Overview", "", "")]
    could_fail = [check for check in view.checks if check.could_fail]
    # The queries of a REVIEW are those of the base branch, and its checks only would fail.
    word = "would fail" if view.outcome is Outcome.REVIEW else "failed"
    for key, items in (("queries", rows), ("checks", could_fail)):
        failed = sum(item.outcome >= Outcome.FAILED for item in items)
        tabs.append((key, key.capitalize(), f"{failed or len(items):,}", word if failed else ""))
    tag_count = sum(len(suite.tags) for suite in view.suites)
    if tag_count:
        tabs.append(("tags", "Tags", f"{tag_count:,}", ""))
    if has_history:
        tabs.append(("history", "History", "", ""))
    return tabs


def _group_rows(view: View, rows: Sequence[QueryRow]) -> Iterator[RowGroup]:
    """Yield the cards of the overview."""
    groups = view.groups
    if len(view.better) > len(view.worse) and view.outcome < Outcome.REVIEW:
        groups.sort(key=lambda group: group[0] != "better")
    for key, title, differing in groups:
        yield key, title, differing, f"show={key}"
    failed = []
    for row in rows:
        is_elsewhere = row.direction in (Direction.WORSE, Direction.CHANGED)
        is_elsewhere |= row.status is QueryStatus.NO_ANSWER or bool(row.known_issue_id)
        if row.outcome >= Outcome.FAILED and not is_elsewhere:
            failed.append(row)
    if failed:
        yield "failed", "What else fails", failed, "show=failed"
    unanswered = [row for row in rows if row.status is QueryStatus.NO_ANSWER]
    if unanswered:
        yield "unanswered", "Without an answer", unanswered, "show=no+answer"
    is_incomplete = view.outcome is Outcome.INCOMPLETE and view.reasons
    if groups or failed or unanswered or is_incomplete:
        return
    # If nothing changed, the weakest queries are what to look at, or those of a broken tag.
    tiles = view.suites[0].tiles if view.suites else ()
    tag = next((tile.tag for tile in tiles if tile.outcome is Outcome.FAILED), "")
    weak = [row for row in _list_weak_rows(rows) if not tag or tag in row.query.tags]
    if weak:
        address = urlencode({"find": f'tag:"{tag}"', "sort": "now"}) if tag else "sort=now"
        title = f"Lowest {_name_metric(view)}"
        yield "lowest", f"{title} of queries tagged {tag}" if tag else title, weak, address


def _name_metric(view: View) -> str:
    metrics = {suite.metric for suite in view.suites}
    return metrics.pop() if len(metrics) == 1 else "value"


def _list_weak_rows(rows: Sequence[QueryRow]) -> list[QueryRow]:
    """Return the rows that could be better, lowest value first, each query once."""
    weak: dict[tuple[str, str], QueryRow] = {}
    for row in sorted(rows, key=lambda row: row.now.value if row.now else 1.0):
        if row.now and row.now.value < WEAK_VALUE:
            weak.setdefault((row.suite_path, row.query.id), row)
    return list(weak.values())


def _is_quiet(row: QueryRow) -> bool:
    """Return whether a query neither failed nor changed, so that nobody prints it."""
    return not row.outcome and not row.direction.is_change


def _group_checks(checks: Sequence[CheckResult]) -> Iterator[tuple[str, list[CheckResult], bool]]:
    """Yield the checks by outcome: title, checks, and whether the table is open."""
    groups: dict[str, list[CheckResult]] = {}
    for check in checks:
        name = check.outcome.name
        if check.known_issue_id:
            name = "known issue"
        elif check.outcome is Outcome.PASSED:
            name = "passed" if check.could_fail else "could not fail"
        groups.setdefault(name, []).append(check)
    for name, group in groups.items():
        is_open = name not in ("passed", "could not fail")
        yield f"{format_count(len(group), 'check')} {CHECK_GROUPS.get(name, name)}", group, is_open


def _get_heat(tile: Tile) -> str:
    """Return the class of a cell of the table of tags, by the size of its change."""
    level = sum(abs(tile.improvement) >= step for step in HEAT_STEPS)
    direction = "better" if tile.improvement > 0 else "worse"
    return f"{direction} heat-{level}" if level else ""


# -- Charts ----------------------------------------------------------------------------------------


def _build_bars(view: View, rows: Sequence[QueryRow]) -> dict[str, Any] | None:
    """Build the chart of every query's change, or of its value if nothing changed."""
    worse, better = len(view.worse), len(view.better)
    # The scale is fixed, so a small change looks small.
    limit = 1.0
    if worse + better:
        values = [row.improvement for row in rows if row.change is not None]
        same = sum(row.direction is Direction.UNCHANGED for row in rows)
        title = f"Every query's {view.names.change} in {_name_metric(view)}"
        directions = ("worse", "better")
        label = f"{worse:,} worse, {same:,} unchanged, {better:,} better"
        if max(map(abs, values)) <= SMALL_LIMIT:
            limit = SMALL_LIMIT
    elif view.coverage.no_answer:
        return None
    else:
        values = [row.now.value for row in rows if row.now]
        title, directions = f"Every query's {_name_metric(view)}", ("value", "value")
        perfect = sum(value >= WEAK_VALUE for value in values)
        label = f"{perfect:,} of {format_count(len(values), 'query', 'queries')} at 1.000, "
        label += f"{values.count(0.0):,} at 0.000"
    if len(values) < MIN_BARS or not any(values):
        return None
    values.sort()
    # Of very many queries each bar shows one of several neighbours, which are nearly equal.
    shown = [*values[: -1 : ceil(len(values) / MAX_BARS)], values[-1]]
    top = limit if values[-1] > 0 else 0.0
    bottom = limit if values[0] < 0 else 0.0
    lines = [(100 * top / (top + bottom), "0")]
    if top:
        lines.append((0, f"{'+' if worse + better else ''}{limit:g}"))
    if bottom:
        lines.append((100, f"{MINUS}{limit:g}"))
    bars = []
    for index, value in enumerate(shown):
        if value:
            height = max(abs(value), MIN_BAR_FRACTION * (top + bottom))
            y = -height if value > 0 else 0.0  # Down is positive in SVG.
            bars.append((directions[value > 0], index, y, height))
    view_box = f"0 {-top:g} {len(shown)} {top + bottom:g}"
    return {"title": title, "bars": bars, "view_box": view_box, "label": label, "lines": lines}


def _build_chart(suite: SuiteView) -> dict[str, Any]:
    """Build the line of a suite's primary metric over earlier builds and this one."""
    points = list(suite.history)
    if suite.primary and suite.primary.value:
        points.append(HistoryPoint(suite.primary.value.value, "now"))
    values = [point.value for point in points]
    tiles = [tile for tile in suite.tiles if tile.metric == suite.metric and not tile.tag]
    bound = tiles[0].bound if tiles else None
    shown = [*values, bound.value] if bound else values
    # Lines are at round values. Small changes are not blown up to full height.
    span = max(max(shown) - min(shown), MIN_CHART_SPAN)
    step = next(step for step in CHART_STEPS if span <= MAX_CHART_STEPS * step)
    first, last = floor(min(shown) / step), ceil(max(shown) / step)
    last = max(last, first + 1)

    def place_y(value: float) -> float:
        return CHART_BOTTOM - (value / step - first) / (last - first) * (CHART_BOTTOM - CHART_TOP)

    dots = []
    for index, point in enumerate(points):
        x = 1 + 98 * index / max(len(points) - 1, 1)
        title = " ".join(filter(None, (f"{point.value:.3f}", point.date, point.commit)))
        is_broken = bound and tiles[0].bound_name == "minimum" and point.value < bound.value
        dots.append((x, place_y(point.value), title, "worse" if is_broken else ""))
    ticks = []
    for index, anchor in {len(points) // 2: "middle", 0: "start", len(points) - 1: "end"}.items():
        ticks.append((dots[index][0], points[index].date[:10], anchor))
    return {
        "title": f"{suite.name} · {suite.metric} over {format_count(len(points), 'build')}",
        "label": f"{suite.metric} of {suite.name}: {values[0]:.3f} to {values[-1]:.3f}",
        "dots": dots,
        "ticks": ticks,
        "lines": [(place_y(n * step), f"{n * step:.2f}") for n in range(first, last + 1)],
        "bound": (place_y(bound.value), f"{tiles[0].bound_name} {bound}") if bound else None,
    }


# -- The data of the script ------------------------------------------------------------------------


class _Numbering(dict[Any, int]):
    """Gives every different value the next number, from 0."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


class _Shared(NamedTuple):
    """The numbers of what many queries share. Number 0 of the texts is no text."""

    docs: _Numbering
    grades: _Numbering
    tags: _Numbering
    texts: _Numbering


# The filters of the table of queries.
KINDS: dict[str, Callable[[QueryRow], bool]] = {
    "failed": lambda row: row.outcome >= Outcome.FAILED,
    "worse": lambda row: row.direction is Direction.WORSE,
    "better": lambda row: row.direction is Direction.BETTER,
    "changed": lambda row: row.direction is Direction.CHANGED,
    "baseline-only": lambda row: row.only_found_by == "before",
    "unchanged": lambda row: row.direction is Direction.UNCHANGED,
    "new": lambda row: row.status is QueryStatus.NEW,
    "no answer": lambda row: row.status is QueryStatus.NO_ANSWER,
    "not run": lambda row: row.status is QueryStatus.NOT_RUN,
    "known issue": lambda row: bool(row.known_issue_id),
}


def build_page_data(view: View) -> dict[str, Any]:
    """Build the data of the page, of numbers, texts and lists."""
    shared = _Shared(_Numbering(), _Numbering(), _Numbering(), _Numbering({Text(): 0}))
    suites = [_build_suite(suite, view, shared) for suite in view.suites]
    docs = list(shared.docs)
    # A search for a tag whose queries are left out would find those of a longer tag without it.
    tag_names = [row.tag for suite in view.suites for row in suite.tags]
    max_length = max(MIN_TITLE_LENGTH, MAX_TITLE_CHARACTERS // max(len(docs), 1))
    return {
        "kinds": list(KINDS),
        "columns": [
            {"key": column.key, "heading": column.heading, "isNumber": column.is_number}
            for column in view.names.columns
        ],
        "isOneSearch": view.names.is_one_search,
        "marks": {outcome.name: mark for outcome, mark in MARKS.items()},
        "grades": list(shared.grades),
        "suites": suites,
        "ids": [escape_page_text(doc_id) for doc_id, _ in docs],
        "titles": [clip(escape_page_text(title), max_length) for _, title in docs],
        "tags": [escape_page_text(tag) for tag in dict.fromkeys([*shared.tags, *tag_names])],
        "texts": [encode_text(text) for text in shared.texts],
        "fields": _collect_fields(collect_rows(view.suites), [doc_id for doc_id, _ in docs]),
    }


def encode_text(text: Text) -> list[Any]:
    """Encode a text: our own words as strings, data in lists, and code in objects."""
    parts: list[Any] = []
    for part in text.parts:
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        elif isinstance(part, str):
            parts.append(part)
        elif isinstance(part, CodePart):
            parts.append({"code": escape_page_text(part.code)})
        elif isinstance(part, DocPart):
            parts.append([escape_page_text(part.title or part.doc_id)])
        elif isinstance(part, QueryPart):
            parts += ["“", [escape_page_text(part.text)], "”"]
        else:
            parts.append([escape_page_text(part.text)])
    return parts


def _build_suite(suite: SuiteView, view: View, shared: _Shared) -> dict[str, Any]:
    rows = suite.rows
    kinds = []
    details = []
    documents = []
    metrics: list[str] = []
    for row, query_details in zip(rows, build_query_details(suite, view.settings), strict=False):
        kinds.append(sum(1 << bit for bit, is_kind in enumerate(KINDS.values()) if is_kind(row)))
        row_documents = row.documents if row.direction.is_change else row.find_documents()
        documents.append(_flatten_documents(row_documents, shared))
        details.append(_build_details(row, query_details, shared))
        metrics = metrics or [value.metric for value in query_details.values]
    return {
        "name": escape_page_text(suite.name),
        "label": escape_page_text(suite.label),
        "path": escape_page_text(suite.path),
        "retriever": escape_page_text(suite.retriever),
        "metrics": metrics,
        "topK": suite.evaluation.suite.settings.top_k,
        "hasPassages": suite.evaluation.suite.settings.match == "text",
        "isFailed": suite.outcome >= Outcome.FAILED,
        "ids": [escape_page_text(row.query.id) for row in rows],
        "texts": [escape_page_text(row.query.text) for row in rows],
        "tags": [[shared.tags[tag] for tag in row.query.tags] for row in rows],
        "kinds": kinds,
        "improvements": [round(row.improvement, 4) for row in rows],
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


def _flatten_documents(documents: Sequence[DocChange], shared: _Shared) -> list[int]:
    """Return five numbers a document: itself, both ranks or 0, its grade, and its finding."""
    flat: list[int] = []
    for doc in documents:
        flat += (
            shared.docs[doc.doc_id, doc.title],
            doc.rank_before or 0,
            doc.rank_now or 0,
            shared.grades[_describe_grade(doc.grade, is_relevant=doc.is_relevant)],
            shared.texts[doc.finding] if doc.finding else 0,
        )
    return flat


@cache  # There are few different grades.
def _describe_grade(grade: float | None, *, is_relevant: bool) -> tuple[str, str]:
    """Return the class of a grade, which colours it, and its text."""
    if grade is None:
        return "unjudged", "unjudged"
    if not is_relevant:
        return "wrong", f"{grade:g} ✗"
    level = min(max(int(grade), 1), MAX_GRADE_LEVEL)
    return f"grade-{level}", f"{grade:g} ✓"


def _build_details(row: QueryRow, details: QueryDetails, shared: _Shared) -> dict[str, Any]:
    """Build what only an opened query shows, without what it lacks."""
    # The primary metric is in the table.
    values = []
    for value in details.values[1:]:
        is_changed = str(value.before or "") != str(value.now or "")
        numbers = (value.before, value.now, value.change) if is_changed else (value.now,)
        values.append([str(number or "") for number in numbers])
    entries: dict[str, Any] = {
        "why": escape_page_text(row.query.why),
        "error": escape_page_text(row.error),
        "issue": escape_page_text(row.known_issue_id),
        "checks": [[result.outcome.name, shared.texts[result.text]] for result in details.results],
        "values": values if any(any(entry) for entry in values) else [],
        "place": shared.texts[write(CodePart(str(row.query.location)))],
        "rerun": shared.texts[write(CodePart(details.rerun))],
        "acceptance": escape_page_text(details.acceptance),
        "params": [
            [escape_page_text(str(key)), escape_page_text(str(value))]
            for key, value in row.query.params.items()
        ],
    }
    return {key: value for key, value in entries.items() if value}


def _collect_fields(rows: Iterable[QueryRow], doc_ids: Sequence[str]) -> list[Any]:
    """Return what suites show of each document: fields, and the beginning of a chunk's text.

    The text has no name. It is that of the current run, since baselines have no texts.
    """
    known: dict[str, dict[str, str]] = {}
    for row in rows:
        for ranking in row.comparison.run.answers.get(row.query.request, ())[:1]:
            if not ranking.texts and not ranking.fields:
                continue  # Reading the ids would take time.
            for doc_id, text in zip(ranking.doc_ids, ranking.texts, strict=False):
                excerpt = clip(text.strip(), MAX_EXCERPT_LENGTH)
                known.setdefault(doc_id, {}).setdefault("", escape_page_text(excerpt))
            for doc_id, fields in zip(ranking.doc_ids, ranking.fields, strict=False):
                for name in row.comparison.suite.settings.show:
                    if fields.get(name) is not None:
                        value = templating.format_field(fields[name])
                        known.setdefault(doc_id, {}).setdefault(escape_page_text(name), value)
    return [list(known.get(doc_id, {}).items()) for doc_id in doc_ids] if known else []
