"""Blocks as lines of a terminal and as Markdown. What has too little room goes by its rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_irquality.edges.printable import (
    html,
    markdown,
    markdown_code,
    terminal,
)
from pytest_irquality.wording.block import Cell, Changes, Column, Part, Section, Series, Step, Table
from pytest_irquality.wording.words import cells, cut, fit, fitted, wrapped

NARROWEST, WIDEST, LAST = 16, 36, 12
"""The least of a first column, the most of one that may be cut, and the least of the last one."""
CELL = 200
ENDLESS = 100_000


def text_part(part: Part, width: int, mark: str = "") -> Sequence[str]:
    """A part as lines of a terminal."""
    block = part.block
    if isinstance(block, Table):
        return [*text_table(block, width)]
    if isinstance(block, Changes | Series):
        return ()
    if isinstance(block, Step):
        ending = ":" if block.command else ""
        command = [f"    {block.command}"] if block.command else []
        return [*text_lines(f"{block.words}{ending}", width), *command]
    return text_lines(mark + "; ".join(filter(None, (part.lead, block))), width)


def text_lines(text: str, width: int, indent: str = "  ") -> Sequence[str]:
    """A sentence over as many lines as it takes, those after the first one further in."""
    if not text:
        return ()
    if text.startswith("   "):
        return [fitted(terminal(indent + text), width)]
    first, *rest = wrapped(text, width - len(indent) - 2)
    return [*map(terminal, [indent + first, *(f"{indent}  {line}" for line in rest)])]


def text_table(table: Table, width: int = ENDLESS) -> Iterator[str]:
    """Aligned lines in the width there is, without columns that are empty.

    Where that is not enough, columns of the highest rank go, those with room are cut, or else the
    first is.
    """
    table = table.without_empty()
    names = [column.name for column in table.columns]
    rows = [_plain(row.cells) for row in table.rows]
    widths = _fitting(table.columns, [names, *rows], width - (2 if any(names) else 4))
    if any(names) and rows:
        yield _line(names, widths, table.columns, width)
    within = ""
    for row, plain in zip(table.rows, rows, strict=True):
        if row.over:
            yield terminal(fitted(f"  {row.over}", width))
            within = "" if any(names) else "  "
        shown = _short(row.cells, plain, widths)
        yield within + _line(shown, widths, table.columns, width - len(within))
    if table.left:
        yield f"  {table.left}"


def _short(row: Sequence[Cell | str], plain: list[str], widths: Mapping[int, int]) -> list[str]:
    """A row whose last cell is in short where it does not fit."""
    last, room = row[-1], widths.get(len(row) - 1, 0)
    if isinstance(last, str) or not last.short or cells(plain[-1]) <= room:
        return plain
    return [*plain[:-1], last.short]


def _plain(row: Sequence[Cell | str]) -> list[str]:
    return [" ".join(str(cell).split()) for cell in row]


def _line(
    row: Sequence[str], widths: Mapping[int, int], columns: Sequence[Column], width: int
) -> str:
    line = "  ".join(_aligned(row[n], room, columns[n].number) for n, room in widths.items())
    return fitted(terminal(f"  {line}".rstrip()), width)


def _fitting(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int
) -> Mapping[int, int]:
    """The width of each column that there is room for."""
    widths = {n: max(map(cells, column)) for n, column in enumerate(zip(*rows, strict=True))}
    for n in sorted(widths, key=lambda n: -columns[n].rank):
        if _wide(widths) > width and columns[n].rank:
            del widths[n]
    free = [n for n in widths if columns[n].room]
    for n in free[:-1]:
        widths[n] = min(widths[n], max(NARROWEST, min(WIDEST, width // 3)))
    if (over := _wide(widths) - width) > 0:
        at, least = (free[-1], LAST) if free else (0, NARROWEST)
        widths[at] = max(least, widths[at] - over)
    return widths


def _wide(widths: Mapping[int, int]) -> int:
    return sum(width + 2 for width in widths.values()) - 2


def _aligned(text: str, width: int, number: bool) -> str:
    """A cell in so many columns; numbers are aligned to the right."""
    text = fit(text, width) if text else ""
    space = " " * (width - cells(text))
    return f"{space}{text}" if number else f"{text}{space}"


# -- Markdown --------------------------------------------------------------------------------------


def markdown_section(section: Section) -> str:
    """A section: its tables, and its sentences as a list."""
    mark = "⚠ " if section.warns else ""
    told, listed = list[str](), list[str]()
    for part in section.parts:
        if isinstance(part.block, Table):
            told.append(markdown_table(part.block))
        elif isinstance(part.block, Step):
            listed.append(markdown_step(part.block))
        elif isinstance(part.block, Changes | Series):
            told.append(f"{markdown(part.block.said)}\n")
        elif part.lead:
            beside = f"; {markdown(part.block)}" if part.block else ""
            told.append(f"**{markdown(part.lead)}**{beside}.\n")
        elif section.title:
            listed.append(mark + markdown(cut(part.block, 2 * CELL)))
        else:
            told.append(f"{markdown(cut(part.block, 2 * CELL))}.\n")
    return "\n".join(filter(None, (*told, bullets(listed))))


def markdown_step(step: Step) -> str:
    """A thing to do next, with its command."""
    command = f": {markdown_code(step.command)}" if step.command else ""
    return f"{markdown(step.words)}{command}"


def bullets(items: Iterable[str]) -> str:
    """A list, and nothing where it would be empty."""
    lines = [f"- {item}" for item in items]
    return "\n".join([*lines, ""]) if lines else ""


def folded(title: str, body: str) -> str:
    """A fold. GitHub reads Markdown inside only after an empty line."""
    return f"<details><summary>{html(title)}</summary>\n\n{body}\n</details>\n"


def markdown_table(table: Table) -> str:
    """A table with what there is to say of each row. Columns that may be cut are."""
    told = [[*map(narrow, row.cells, table.columns), "; ".join(row.notes)] for row in table.rows]
    head = [*(column.name or column.about for column in table.columns), "what was seen"]
    if not any(head[:-1]):
        items = filter(None, (*(" ".join(filter(None, row)) for row in told), table.left))
        return f"{markdown(' · '.join(items))}\n"
    made = markdown_rows(head, told)
    return f"{made}\n{markdown(table.left)}\n" if table.left else made


def narrow(cell: Cell | str, column: Column) -> str:
    """The text of a cell, cut or in short where its column has little room."""
    text = str(cell)
    if not column.room or len(text) <= column.room:
        return text
    return cut(cell.short if isinstance(cell, Cell) and cell.short else text, column.room)


def markdown_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows; columns that are empty below their head are left out."""
    made = [[markdown(cut(cell, CELL)) for cell in row] for row in rows]
    kept = [at for at in range(len(head)) if any(row[at] for row in made)]
    ruled = (list(map(markdown, head)), ["---"] * len(head), *made)
    lines = [[row[at] for at in kept] for row in ruled]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), ""]) if made else ""
