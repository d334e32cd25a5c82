"""Plain text in lines of limited width: wrapping, shortening and aligned tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category, combining, east_asian_width

from pytest_irquality.io.escaping import make_printable
from pytest_irquality.io.text import CodePart, DocPart, Part, Text

ELLIPSIS = "…"
GAP = "  "
MIN_COLUMN_WIDTH = 12
MAX_TITLE = 40
MIN_TITLE = 8


@dataclass(frozen=True)
class TextColumn:
    """A column of a table in plain text.

    Attributes:
        is_flexible: Whether cells may be shortened.
        rank: Columns with the highest rank are left out first if a line is too narrow.
        width: The width at which a flexible column is readable. Others are left out for it.
    """

    heading: str
    is_number: bool = False
    is_flexible: bool = False
    rank: int = 0
    width: int = 24


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
            return make_printable(part.code)
        if isinstance(part, DocPart) and max_title is not None:
            return fit(make_printable(part.title or part.doc_id), max_title)
        # An error in a file can have a line for each mistake.
        return make_printable(str(part).strip().replace("\n", "; "))

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
    for row in rows:
        lines.append(_format_row(row, columns, widths))
    return lines


def _fit_columns(
    columns: Sequence[TextColumn],
    rows: Sequence[Sequence[str | Text]],
    used: Sequence[int],
    width: int,
) -> dict[int, int]:
    """Return the width of each column that fits."""
    widths = {}
    for index in used:
        widths[index] = measure_width(columns[index].heading)
        for row in rows:
            natural = measure_width(fit_cell(row[index], width))
            widths[index] = max(widths[index], natural)

    def measure_readable() -> int:
        total = len(GAP) * (len(widths) - 1)
        for index, natural in widths.items():
            column = columns[index]
            total += min(natural, column.width) if column.is_flexible else natural
        return total

    for index in sorted(used, key=lambda index: -columns[index].rank):
        if columns[index].rank and measure_readable() > width:
            del widths[index]
    flexible = [index for index in widths if columns[index].is_flexible]
    excess = sum(widths.values()) + len(GAP) * (len(widths) - 1) - width
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
