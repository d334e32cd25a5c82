"""The section of the terminal, and the text of a failed item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_irquality.evaluation.documents import DocChange
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.text import DocPart, Text, write
from pytest_irquality.reports.numbers import Number
from pytest_irquality.reports.query_rows import (
    QUERY_COLUMNS,
    Cell,
    Direction,
    QueryRow,
    build_query_rows,
)
from pytest_irquality.reports.text_layout import TextColumn, fit, format_table, render_plain, wrap
from pytest_irquality.reports.tiles import Tile
from pytest_irquality.reports.view_model import MARKS, CheckRow, Step, SuiteView, View

TERMINAL_COLUMNS = 80
MAX_LINES = 15
MAX_QUIET_COLUMNS = 119
MAX_ROWS = 3
MAX_MESSAGE_LINES = 2
MAX_TITLE = 40
MAX_CELL_TITLE = 17
MAX_FAILURE_DOCS = 10
MAX_FAILURE_QUERIES = 5

ARROWS = {Direction.WORSE: "▼", Direction.BETTER: "▲", Direction.CHANGED: "≠"}


@dataclass(frozen=True)
class _Line:
    """A line, with a rank: if there are too many, lines with the highest rank are left out."""

    text: str
    rank: int = 0


def render_terminal(view: View, *, verbosity: int = 0, columns: int = TERMINAL_COLUMNS) -> str:
    """Render our section of the terminal.

    Args:
        view: The content.
        verbosity: As pytest counts ``-v`` and ``-q``: 0 gives at most fifteen lines, 1 everything,
            and -1 the conclusion only.
        columns: The width of tables and paragraphs.

    Returns:
        Lines that end with the last paragraph, which begins with the outcome. Its continuation
        lines are indented by two spaces.
    """
    if verbosity < 0:
        quiet = wrap(render_plain(view.quiet_line, max_title=MAX_TITLE), MAX_QUIET_COLUMNS)
        return "\n".join(quiet[:MAX_ROWS]) + "\n"
    is_full = verbosity > 0
    lines = _compose(view, columns, is_full)
    last = wrap(render_plain(view.last_paragraph, max_title=MAX_TITLE), columns)
    shown = list(range(len(lines)))
    if not is_full and len(lines) + len(last) > MAX_LINES:
        shown.sort(key=lambda index: (lines[index].rank, index))
        shown = sorted(shown[: MAX_LINES - len(last)])
    return "\n".join([*(lines[index].text for index in shown), *last]) + "\n"


def _compose(view: View, columns: int, is_full: bool) -> list[_Line]:
    """Return all lines above the last paragraph, in the order in which they are read."""
    opening = write(view.headline, ". ", view.summary)
    lines = [
        _Line(text) for text in wrap(render_plain(opening, max_title=MAX_TITLE), columns, "", "")
    ]
    for number, message in enumerate(view.causes):
        lines += _format_message(message.text, 1 + number, columns, is_full)
    lines += _format_base_checks(view, columns, is_full)
    if len(view.suites) > 1:
        lines += _format_suites(view.suites, columns, is_full)
        if is_full:
            for suite in view.suites:
                lines.append(_Line(render_plain(write(suite.name, ": ", suite.line))))
                lines += _format_tiles(suite.tiles, columns, is_full)
    else:
        for suite in view.suites:
            lines += _format_tiles(suite.tiles, columns, is_full)
    lines += _format_queries(view, columns, is_full)
    if is_full:
        lines += _format_checks(view.checks, columns)
    for number, message in enumerate(view.notices):
        rank = (8 if message.outcome is Outcome.PASSED else 4) + number
        lines += _format_message(message.text, rank, columns, is_full)
    if is_full and view.header.compared_with:
        lines.append(_Line(f"  compared with {view.header.compared_with}"))
    for number, step in enumerate(view.next_steps):
        lines += _format_step(step, 3 + 4 * number, columns)
    for kind, path in view.settings.written.items():
        lines.append(_Line(fit(f"  {kind}: {path}", columns), rank=6))
    return lines


def _format_message(text: Text, rank: int, columns: int, is_full: bool) -> list[_Line]:
    wrapped = wrap(render_plain(text, max_title=None if is_full else MAX_TITLE), columns, "  ")
    if not is_full and len(wrapped) > MAX_MESSAGE_LINES:
        wrapped = wrapped[:MAX_MESSAGE_LINES]
        wrapped[-1] = fit(wrapped[-1] + " …", columns)
    return [_Line(line, rank) for line in wrapped]


def _format_step(step: Step, rank: int, columns: int) -> list[_Line]:
    text = f"> {render_plain(step.text)}"
    if step.location:
        text += f": {step.location}"
    if not step.command:
        return [_Line(line, rank) for line in wrap(text, columns)]
    together = f"{text}: {step.command}"
    if len(together) <= columns:
        return [_Line(together, rank)]
    # A command is never wrapped, so a reader can copy it.
    return [_Line(f"{text}:", rank), _Line(f"    {step.command}", rank)]


def _add_rows(table: Sequence[str], first_rank: int) -> list[_Line]:
    """Give a heading the rank of the first row, and each further row the next rank."""
    lines = [_Line(text, first_rank + max(number - 1, 0)) for number, text in enumerate(table)]
    return lines if len(table) > 1 else []


# -- Tables --------------------------------------------------------------------------------------


def _format_tiles(tiles: Sequence[Tile], columns: int, is_full: bool) -> list[_Line]:
    rows = []
    for tile in tiles if is_full else tiles[:MAX_ROWS]:
        bound = f"{tile.bound_name} {tile.bound}" if tile.bound else ""
        finding = bound if tile.outcome is Outcome.PASSED else tile.status
        cells = [
            _mark_failure(tile.outcome),
            tile.label,
            tile.baseline,
            tile.value,
            tile.change,
            finding,
        ]
        rows.append([str(cell or "") for cell in cells])
    table_columns = [
        TextColumn(""),
        TextColumn("metric", is_flexible=True),
        TextColumn("before", is_number=True),
        TextColumn("now", is_number=True),
        TextColumn("change", is_number=True),
        TextColumn("threshold"),
    ]
    return _add_rows(format_table(table_columns, rows, columns), 5)


def _mark_failure(outcome: Outcome) -> str:
    # Only what did not pass has a mark, so it is seen at once.
    return MARKS[outcome] if outcome is not Outcome.PASSED else ""


def _format_suites(suites: Sequence[SuiteView], columns: int, is_full: bool) -> list[_Line]:
    shown = suites if is_full else suites[: 2 * MAX_ROWS]
    has_retrievers = len({suite.retriever for suite in suites}) > 1
    rows = []
    for suite in shown:
        tile = suite.primary
        values = [tile.metric, tile.baseline, tile.value, tile.change] if tile else [""] * 4
        retriever = suite.retriever if has_retrievers else ""
        line = render_plain(suite.line)
        cells = [_mark_failure(suite.outcome), suite.name, retriever, *values, line]
        rows.append([str(cell or "") for cell in cells])
    table_columns = [
        TextColumn(""),
        TextColumn("suite", is_flexible=True),
        TextColumn("retriever", is_flexible=True),
        TextColumn("metric", rank=1),
        TextColumn("before", is_number=True),
        TextColumn("now", is_number=True),
        TextColumn("change", is_number=True),
        TextColumn("queries", is_flexible=True),
    ]
    lines = _add_rows(format_table(table_columns, rows, columns), 2)
    if len(suites) > len(shown):
        lines.append(_Line(f"  and {len(suites) - len(shown)} more suites with -v", rank=5))
    return lines


def _format_queries(view: View, columns: int, is_full: bool) -> list[_Line]:
    """Format the queries that got worse and better. Both have the same room."""
    groups = [view.worse, view.better, view.changed]
    shown: list[QueryRow] = []
    ranks = [2]
    for group in groups:
        part = group if is_full else group[:MAX_ROWS]
        shown += part
        ranks += [2 + number for number in range(len(part))]
    if not shown:
        return []
    table_columns = [TextColumn("")]
    for column in QUERY_COLUMNS:
        is_flexible = not column.is_number
        table_columns.append(TextColumn(column.heading, column.is_number, is_flexible, column.rank))
    rows = []
    for row in shown:
        cells = [_render_cell(column.read(row), is_full) for column in QUERY_COLUMNS]
        rows.append([ARROWS[row.direction], *cells])
    table = format_table(table_columns, rows, columns)
    return [_Line(text, rank) for text, rank in zip(table, ranks, strict=True)]


def _render_cell(cell: Cell, is_full: bool) -> str:
    if isinstance(cell, Text):
        return render_plain(cell, max_title=MAX_TITLE if is_full else MAX_CELL_TITLE)
    return str(cell or "")


def _format_base_checks(view: View, columns: int, is_full: bool) -> list[_Line]:
    """Format the checks of the base branch that fail, with their values and the edits."""
    lines: list[_Line] = []
    shown = view.base_checks if is_full else view.base_checks[:MAX_ROWS]
    for number, check in enumerate(shown):
        text = write("✗ ", check.subject, " ", check.label, ": ", check.text)
        lines += _format_message(text, 1 + number, columns, is_full)
    edits: dict[str, Text] = {}
    for edit in view.edits:
        for text in edit.texts:
            edits.setdefault(str(text), write(edit.subject, ": ", text))
    for number, text in enumerate(edits.values()):
        if is_full or number < MAX_ROWS:
            lines += _format_message(text, 2 + number, columns, is_full)
    return lines


def _format_checks(checks: Sequence[CheckRow], columns: int) -> list[_Line]:
    lines = []
    for check in checks:
        if check.outcome is not Outcome.PASSED or check.known_issue or check.is_warning:
            mark = MARKS[check.outcome]
            issue = f" (known issue {check.known_issue})" if check.known_issue else ""
            text = f"{mark} {check.subject}: {render_plain(check.text)}{issue}"
            lines += [_Line(line) for line in wrap(text, columns)]
    return lines


# -- Failures of items ---------------------------------------------------------------------------


def format_failure(results: Sequence[CheckResult], evaluation: Evaluation) -> str:
    """Format why an item failed: a short line, then the ranks of the documents.

    Args:
        results: The results of the item that did not pass.
        evaluation: The evaluation of the suite.
    """
    first, *others = results
    lines = [render_plain(first.text)]
    lines += [render_plain(result.text) for result in others]
    query_ids = {query_id for result in results for query_id in result.query_ids}
    rows = {row.query.id: row for row in build_query_rows(evaluation)}
    if len(query_ids) == 1:
        row = rows.get(next(iter(query_ids)))
        if row is not None:
            if row.query.why:
                lines.append(f"  why: {render_plain(write(row.query.why))}")
            lines += _format_documents(row)
    else:
        lines += _format_worst_queries(list(rows.values()), query_ids)
    location = first.location
    if location.path:
        lines.append(f"  at {location}")
    return "\n".join(lines)


def _format_documents(row: QueryRow) -> list[str]:
    """Format the current ranking, then the expected documents that it lacks."""
    ranked = [doc for doc in row.documents if doc.rank_now is not None]
    ranked.sort(key=lambda doc: doc.rank_now or 0)
    missing = [doc for doc in row.documents if doc.rank_now is None and doc.is_relevant]
    rows = []
    for doc in (*ranked[:MAX_FAILURE_DOCS], *missing[:MAX_FAILURE_DOCS]):
        rows.append(
            [
                str(doc.rank_now or "–"),
                str(doc.rank_before or ""),
                render_plain(write(DocPart(doc.doc_id, doc.title))),
                _format_grade(doc),
                render_plain(doc.finding) if doc.finding else "",
            ]
        )
    if not rows:
        return ["  no results"]
    columns = [
        TextColumn("rank", is_number=True),
        TextColumn("before", is_number=True),
        TextColumn("document", is_flexible=True),
        TextColumn("grade", is_number=True),
        TextColumn("finding", is_flexible=True),
    ]
    return [f"  {line}" for line in format_table(columns, rows, TERMINAL_COLUMNS - 2)]


def _format_grade(doc: DocChange) -> str:
    if doc.grade is None:
        return "unjudged"
    return f"{doc.grade:g}"


def _format_worst_queries(rows: Sequence[QueryRow], query_ids: set[str]) -> list[str]:
    """Format the queries that a failed check over a suite is about, worst first."""
    relevant = [row for row in rows if not query_ids or row.query.id in query_ids]
    worse = [row for row in relevant if row.direction is Direction.WORSE]
    worse.sort(key=lambda row: row.gain)
    if not worse:
        worse = sorted(
            (row for row in relevant if row.now is not None),
            key=lambda row: row.now.value if row.now else 0.0,
        )
    if not worse:
        return []
    columns = [
        TextColumn("query", is_flexible=True),
        TextColumn("before", is_number=True),
        TextColumn("now", is_number=True),
        TextColumn("documents that moved", is_flexible=True),
    ]
    cells = []
    for row in worse[:MAX_FAILURE_QUERIES]:
        values: list[Number | None] = [row.before, row.now]
        texts = [str(value or "") for value in values]
        moves = render_plain(row.moves_text, max_title=MAX_TITLE)
        cells.append([render_plain(write(row.part)), *texts, moves])
    return [f"  {line}" for line in format_table(columns, cells, TERMINAL_COLUMNS - 2)]
