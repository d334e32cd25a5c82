"""The section of the terminal, and the text of a failed item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

from pytest_irquality.evaluation.documents import DocChange, list_documents
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, Outcome
from pytest_irquality.io.escaping import escape_log_line, escape_workflow_commands
from pytest_irquality.io.text import CodePart, DataPart, DocPart, Part, Text, join, write
from pytest_irquality.reports.query_rows import Direction, SearchNames, TextColumn, choose_names
from pytest_irquality.reports.tiles import MARKS
from pytest_irquality.reports.view_model import Step, SuiteView, View, find_label

TERMINAL_COLUMNS = 80
MAX_LINES = 15
MAX_QUIET_COLUMNS = 119
MAX_QUIET_LINES = 2
MAX_ROWS = 3
MAX_SUITES = 4
MAX_MESSAGE_LINES = 2
MAX_PARAGRAPH_LINES = 5
MAX_FAILURE_DOCS = 10

ARROWS = {Direction.WORSE: "▼", Direction.BETTER: "▲", Direction.CHANGED: "≠"}
ELLIPSIS = "…"
GAP = "  "
MIN_COLUMN_WIDTH = 12
MAX_TITLE = 40
MIN_TITLE = 8


class Line(NamedTuple):
    """A line of the section. A line about a failure is red."""

    text: str
    is_red: bool = False


class _Block(NamedTuple):
    """Lines that belong together. If there are too many, the highest ranks are left out."""

    rank: int
    lines: Sequence[str]
    is_red: bool = False
    heading: Sequence[str] = ()


def render_terminal(view: View, *, verbosity: int = 0, columns: int = TERMINAL_COLUMNS) -> str:
    """Render our section of the terminal without colors. See ``render_lines``."""
    lines = render_lines(view, verbosity=verbosity, columns=columns)
    return "".join(f"{line.text}\n" for line in lines)


def render_lines(view: View, *, verbosity: int = 0, columns: int = TERMINAL_COLUMNS) -> list[Line]:
    """Render the lines of our section of the terminal.

    Args:
        view: The content.
        verbosity: As pytest counts ``-v`` and ``-q``: 0 gives at most fifteen lines, 1 everything,
            and -1 the conclusion only.
        columns: The width of tables and paragraphs.

    Returns:
        Lines that end with the last paragraph, which begins with the outcome. Its continuation
        lines are indented by two spaces.
    """
    is_failed = view.outcome >= Outcome.FAILED
    if verbosity < 0:
        quiet = _wrap_text(view.quiet_line, MAX_QUIET_COLUMNS, max_lines=MAX_QUIET_LINES)
        blocks = [_Block(0, quiet, is_failed)]
    else:
        last = _wrap_text(view.last_paragraph, columns)
        blocks = list(_compose(view, columns, is_full=verbosity > 0))
        if verbosity == 0:
            blocks = _select_blocks(blocks, MAX_LINES - len(last))
        blocks.append(_Block(0, last, is_failed))
    lines = []
    for block in blocks:
        lines += [Line(text) for text in block.heading]
        lines += [Line(text, block.is_red) for text in block.lines]
    # Wrapping may put a query's "::" at the start of a line, where GitHub reads commands.
    return [line._replace(text=escape_workflow_commands(line.text)) for line in lines]


def _select_blocks(blocks: Sequence[_Block], max_lines: int) -> list[_Block]:
    """Select the blocks with the lowest ranks until no more fit, in their order."""
    selected = []
    room = max_lines
    # A row of a table has no lower rank than its heading, so headings come first.
    for index in sorted(range(len(blocks)), key=lambda index: (blocks[index].rank, index)):
        room -= len(blocks[index].heading) + len(blocks[index].lines)
        if room < 0:
            break
        selected.append(index)
    return [blocks[index] for index in sorted(selected)]


def _compose(view: View, columns: int, *, is_full: bool) -> Iterator[_Block]:
    """Yield everything above the last paragraph, in the order in which it is read."""
    end = "" if str(view.headline).endswith((".", "?")) else "."
    opening = write(view.headline, f"{end} ", view.summary)
    yield _Block(0, _wrap_text(opening, columns, hanging=""))
    for number, message in enumerate(view.causes):
        is_error = message.outcome is Outcome.ERROR
        max_lines = MAX_PARAGRAPH_LINES if is_error else MAX_MESSAGE_LINES
        yield _format_message(message.text, 1 + number, columns, is_full, max_lines)
    yield from _format_base_checks(view, columns, is_full)
    for text in view.reasons:
        reason = render_plain(write(f"{MARKS[view.outcome]} ", text), max_title=MAX_TITLE)
        lines = wrap(reason, columns) if is_full else [fit(reason, columns)]
        yield _Block(1, lines, view.outcome >= Outcome.FAILED)
    if len(view.suites) > 1:
        yield from _format_suites(view, columns, is_full)
    for suite in view.suites:
        if len(view.suites) == 1:
            # Checks of the base branch have their values already, so queries come first.
            first_rank = 4 if view.base_checks else 1
            yield from _format_tiles(view, suite, columns, is_full, first_rank)
        elif is_full:
            title = write(DataPart(suite.label), ": ", suite.line)
            yield _Block(1, [render_plain(title)])
            yield from _format_tiles(view, suite, columns, is_full, 1)
    yield from _format_queries(view, columns, is_full)
    for check in view.checks if is_full else ():
        if check.outcome is not Outcome.PASSED or check.known_issue_id or check.is_warning:
            issue = f" (known issue {check.known_issue_id})" if check.known_issue_id else ""
            text = write(DataPart(check.subject), ": ", check.text, DataPart(issue))
            lines = wrap(f"{MARKS[check.outcome]} {render_plain(text)}", columns)
            yield _Block(1, lines, check.outcome >= Outcome.FAILED)
    for number, message in enumerate(view.notices):
        rank = (8 if message.outcome is Outcome.PASSED else 4) + number
        yield _format_message(message.text, rank, columns, is_full)
    if is_full and view.header.compared_with:
        yield _Block(1, [f"  compared with {view.header.compared_with}"])
    for number, step in enumerate(view.next_steps):
        yield _Block(1 + 4 * number, _format_step(step, columns))
    written = ", ".join(f"{kind}: {path}" for kind, path in view.settings.written.items())
    yield _Block(6, wrap(written, columns, "  "))


def _wrap_text(
    text: Text,
    columns: int,
    indent: str = "",
    hanging: str = "  ",
    max_lines: int = MAX_PARAGRAPH_LINES,
) -> list[str]:
    """Wrap a text, and say by dots if it has more lines."""
    lines = wrap(render_plain(text, max_title=MAX_TITLE), columns, indent, hanging)
    if len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], fit(lines[max_lines - 1], columns - 2) + " …"]
    return lines


def _format_message(
    text: Text, rank: int, columns: int, is_full: bool, max_lines: int = MAX_MESSAGE_LINES
) -> _Block:
    if is_full:
        return _Block(rank, wrap(render_plain(text), columns, "  "))
    return _Block(rank, _wrap_text(text, columns, "  ", max_lines=max_lines))


def _format_step(step: Step, columns: int) -> list[str]:
    text = f"> {render_plain(step.text)}"
    if step.location or step.command:
        text = text.removesuffix(".")
    if step.location:
        text += f": {step.location}"
    together = f"{text}: {step.command}"
    if not step.command:
        return wrap(text, columns)
    # A command is never wrapped, so a reader can copy it.
    if measure_width(together) <= columns:
        return [together]
    return [*wrap(f"{text}:", columns), f"    {step.command}"]


def _rank_rows(
    table: Sequence[str], ranks: Sequence[int], red_rows: Sequence[bool]
) -> Iterator[_Block]:
    """Yield a block for each row. The first one has the heading as well."""
    heading_count = len(table) - len(ranks)
    heading = table[:heading_count]
    for line, rank, is_red in zip(table[heading_count:], ranks, red_rows, strict=True):
        yield _Block(rank, [line], is_red, heading)
        heading = ()


# -- Tables ----------------------------------------------------------------------------------------


def _format_tiles(
    view: View, suite: SuiteView, columns: int, is_full: bool, first_rank: int
) -> Iterator[_Block]:
    rows = []
    ranks = []
    red_rows = []
    tiles = suite.shown_tiles
    for number, tile in enumerate(tiles if is_full else tiles[:MAX_ROWS]):
        finding = f"{tile.bound_name} {tile.bound}" if tile.bound else ""
        if tile.outcome is not Outcome.PASSED or tile.is_warning:
            finding = tile.status
        # Other queries are compared than those that the value is over.
        baseline = None if tile.note else tile.baseline
        finding = "; ".join(filter(None, (finding, tile.note)))
        values = [str(value or "") for value in (baseline, tile.value, tile.change)]
        mark = tile.mark if tile.is_warning else _mark_failure(tile.outcome)
        rows.append([mark, tile.label, *values, finding])
        is_loud = tile.outcome >= Outcome.FAILED or not number
        ranks.append(number + first_rank + (0 if is_loud else 4))
        red_rows.append(tile.outcome >= Outcome.FAILED and not tile.is_warning)
    changes = [column for column in view.names.columns if column.is_number]
    headings = (
        TextColumn(""),
        TextColumn("metric", width=24),
        *changes,
        TextColumn("threshold", width=24),
    )
    return _rank_rows(format_table(headings, rows, columns), ranks, red_rows)


def _mark_failure(outcome: Outcome) -> str:
    # Only what did not pass has a mark, so it is seen at once.
    return MARKS[outcome] if outcome is not Outcome.PASSED else ""


def _format_suites(view: View, columns: int, is_full: bool) -> Iterator[_Block]:
    suites: Sequence[SuiteView] = view.suites
    shown = suites
    if not is_full and len(suites) > MAX_SUITES + 1:
        # Suites without changes follow from those that are shown.
        changed = [suite for suite in suites if suite.has_changes or suite.outcome > 0]
        shown = (changed or suites)[:MAX_SUITES]
    rows = []
    for suite in shown:
        tile = suite.primary
        values = [tile.metric, tile.baseline, tile.value, tile.change] if tile else [""] * 4
        cells = [_mark_failure(suite.outcome), suite.label, *values, render_plain(suite.line)]
        rows.append([str(cell or "") for cell in cells])
    headings = (
        TextColumn(""),
        TextColumn("suite", width=24),
        TextColumn("metric", rank=1),
        *(column for column in view.names.columns if column.is_number),
        TextColumn("queries", width=32),
    )
    red_rows = [suite.outcome >= Outcome.FAILED for suite in shown]
    yield from _rank_rows(format_table(headings, rows, columns), [1] * len(rows), red_rows)
    if len(suites) > len(shown):
        yield _Block(1, [f"   and {len(suites) - len(shown)} more suites with -v"])


def _format_queries(view: View, columns: int, is_full: bool) -> Iterator[_Block]:
    """Format the queries that got worse and better. Both have the same room."""
    rows = []
    ranks = []
    for group in (view.worse, view.better, view.changed):
        for number, row in enumerate(group if is_full else group[:MAX_ROWS]):
            cells: list[str | Text] = [ARROWS[row.direction]]
            for column in view.names.columns:
                cell = column.read(row)
                if column.key == "moved":
                    # One move with its title says more than two that are cut.
                    cell = row.describe_moves(1)
                cells.append(cell if isinstance(cell, Text) else str(cell or ""))
            rows.append(cells)
            ranks.append(2 + number)
    headings = [TextColumn(""), *view.names.columns]
    return _rank_rows(format_table(headings, rows, columns), ranks, [False] * len(rows))


def _format_base_checks(view: View, columns: int, is_full: bool) -> Iterator[_Block]:
    """Format the checks of the base branch that fail, and the edits of suites."""
    # A suite that fails alike on several retrievers is named once.
    texts: dict[Text, None] = {}
    for check in view.base_checks:
        label = find_label(view.suites, check)
        prefix = write(DataPart(label), ": ") if label else Text()
        texts[write("✗ ", prefix, check.text)] = None
    shown = len(texts) if is_full else MAX_ROWS
    for number, text in enumerate([*texts][:shown]):
        yield _format_message(text, 1 + number, columns, is_full)._replace(is_red=True)
    if len(texts) > shown:
        yield _Block(MAX_ROWS, [f"    and {len(texts) - shown} more with -v"])
    for number, edit in enumerate(view.edits):
        if edit.texts and (is_full or number < MAX_ROWS):
            text = write(DataPart(edit.subject), ": ", join(edit.texts))
            yield _format_message(text, 2 + number, columns, is_full)


# -- Failures of items -----------------------------------------------------------------------------


def format_failure(results: Sequence[CheckResult], evaluation: Evaluation) -> str:
    """Format why an item failed: a short line, then the ranks of the documents.

    Args:
        results: The results of the item that did not pass.
        evaluation: The evaluation of the suite.
    """
    lines = [render_plain(result.text) for result in results]
    query_ids = {query_id for result in results for query_id in result.query_ids}
    if len(query_ids) == 1:
        query = evaluation.suite.queries_by_id[next(iter(query_ids))]
        if query.why:
            lines.append(f"  why: {render_plain(write(DataPart(query.why)))}")
        if query.id in evaluation.comparison.answers:
            documents = list_documents(evaluation.comparison, query.id)
            lines += _format_documents(documents, choose_names([evaluation]))
    location = results[0].location
    if location.path:
        lines.append(f"  at {location}")
    return "\n".join(lines)


def _format_documents(documents: Sequence[DocChange], names: SearchNames) -> list[str]:
    """Format the current ranking, then the expected documents that it lacks."""
    ranked = [doc for doc in documents if doc.rank_now is not None]
    ranked.sort(key=lambda doc: doc.rank_now or 0)
    missing = [doc for doc in documents if doc.rank_now is None and doc.is_relevant]
    rows = []
    for doc in (*ranked[:MAX_FAILURE_DOCS], *missing[:MAX_FAILURE_DOCS]):
        rows.append(
            [
                str(doc.rank_now or "–"),
                str(doc.rank_before or ""),
                render_plain(write(DocPart(doc.doc_id, doc.title))),
                "unjudged" if doc.grade is None else f"{doc.grade:g}",
                render_plain(doc.finding) if doc.finding else "",
            ]
        )
    if not rows:
        return ["  no results"]
    columns = (
        TextColumn("rank", is_number=True),
        TextColumn(names.before, is_number=True),
        TextColumn("document", width=24),
        TextColumn("grade", is_number=True),
        TextColumn("finding", width=24),
    )
    return [f"  {line}" for line in format_table(columns, rows, TERMINAL_COLUMNS - 2)]


# -- Lines of limited width ------------------------------------------------------------------------


def render_plain(text: Text, *, max_title: int | None = None) -> str:
    """Render a text for a terminal, without control characters and workflow commands.

    Args:
        text: The text.
        max_title: How many columns a document has. It is shown by its title only then.
    """

    def render_part(part: Part) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, CodePart):
            return escape_log_line(part.code)
        if isinstance(part, DocPart) and max_title is not None:
            return fit(escape_log_line(part.title or part.doc_id), max_title)
        # An error in a file can have a line for each mistake.
        return escape_log_line(str(part).strip().replace("\n", "; "))

    return text.render(render_part)


def measure_width(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a wide character."""
    if text.isascii():
        return len(text)
    return sum(map(_measure_character, text))


def fit(text: str, width: int) -> str:
    """Shorten a text to so many columns."""
    if measure_width(text) <= width:
        return text
    return _take(text, width - 1).rstrip(f" {ELLIPSIS}") + ELLIPSIS


def fit_cell(cell: str | Text, width: int) -> str:
    """Shorten a cell. In a text, titles are shortened first, because ranks follow them."""
    if isinstance(cell, str):
        return fit(cell, width)
    for max_title in range(MAX_TITLE, MIN_TITLE, -1):
        text = render_plain(cell, max_title=max_title)
        if measure_width(text) <= width:
            return text
    return fit(render_plain(cell, max_title=MIN_TITLE), width)


def wrap(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """Wrap a text between words. Lines after the first are indented by ``hanging`` as well."""
    lines = []
    line = indent
    for word in text.split():
        longer = f"{line} {word}" if line.strip() else line + word
        if line.strip() and measure_width(longer) > width:
            lines.append(line)
            longer = indent + hanging + word
        # A word longer than a line, such as a URL or a text without spaces, is broken.
        while measure_width(longer) > width:
            head = _take(longer, width)
            lines.append(head)
            longer = indent + hanging + longer[len(head) :]
        line = longer
    return [*lines, line] if line.strip() else lines


def format_table(
    columns: Sequence[TextColumn], rows: Sequence[Sequence[str | Text]], width: int
) -> list[str]:
    """Format a heading and rows, aligned, without columns that are empty in every row.

    Args:
        columns: The columns.
        rows: One list of cells for each row.
        width: The width of a line. Columns are left out or shortened to fit.

    Returns:
        The heading, unless all headings are empty, and one line for each row.
    """
    used = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    widths = _fit_columns(columns, rows, used, width)
    lines = []
    if any(columns[index].heading for index in widths):
        lines.append(_format_row([column.heading for column in columns], columns, widths))
    return lines + [_format_row(row, columns, widths) for row in rows]


def _fit_columns(
    columns: Sequence[TextColumn],
    rows: Sequence[Sequence[str | Text]],
    used: Sequence[int],
    width: int,
) -> dict[int, int]:
    """Return the width of each column that fits."""
    widths = {}
    for index in used:
        cells = [fit_cell(row[index], width) for row in rows]
        widths[index] = max(map(measure_width, (columns[index].heading, *cells)))
    # Columns are left out until those that can be shortened are readable.
    for index in sorted(used, key=lambda index: -columns[index].rank):
        excess = len(GAP) * (len(widths) - 1) - width
        for other, natural in widths.items():
            excess += min(natural, columns[other].width or natural)
        if columns[index].rank and excess > 0:
            del widths[index]
    excess = len(GAP) * (len(widths) - 1) + sum(widths.values()) - width
    flexible = [index for index in widths if columns[index].width]
    while excess > 0 and flexible:
        # Shorten the widest first, so a short column keeps its text.
        widest = max(flexible, key=lambda index: widths[index])
        if widths[widest] <= MIN_COLUMN_WIDTH:
            break
        widths[widest] -= 1
        excess -= 1
    return widths


def _format_row(
    row: Sequence[str | Text], columns: Sequence[TextColumn], widths: dict[int, int]
) -> str:
    cells = []
    for index, width in widths.items():
        text = fit_cell(row[index], width)
        space = " " * (width - measure_width(text))
        cells.append(space + text if columns[index].is_number else text + space)
    return GAP.join(cells).rstrip()


def _take(text: str, width: int) -> str:
    """Return the longest beginning of a text that fits, at least one character."""
    for index, character in enumerate(text):
        width -= _measure_character(character)
        if width < 0:
            return text[: max(index, 1)]
    return text


@lru_cache(4096)
def _measure_character(character: str) -> int:
    if combining(character) or category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
