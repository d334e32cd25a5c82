"""Tables as lines of a terminal and as Markdown. What has too little room goes by its rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.edges.printable import markdown, markdown_sentence, terminal
from pytest_irquality.wording.block import Table
from pytest_irquality.wording.words import cells, cut, fit, fitted

NARROWEST = 16
CELL = 200


def text_table(table: Table, width: int) -> Iterator[str]:
    """Aligned lines in the width there is, without columns that are empty.

    Where that is not enough, those of the highest rank go, and then the first is cut.
    """
    if not table.rows:
        return
    table = table.without_empty()
    rows = [[column.name for column in table.columns]]
    rows += [[" ".join(str(cell).split()) for cell in row.cells] for row in table.rows]
    widths = _fitting(table, rows, width)
    numbers = [column.number for column in table.columns]
    for row in rows:
        line = "  ".join(_aligned(row[n], room, numbers[n]) for n, room in widths.items())
        yield fitted(terminal(f"  {line}".rstrip()), width)
    if table.left:
        yield f"  {table.left}"


def _fitting(table: Table, rows: Sequence[Sequence[str]], width: int) -> Mapping[int, int]:
    """The width of each column that there is room for."""
    widths = {n: max(map(cells, column)) for n, column in enumerate(zip(*rows, strict=True))}
    for n in sorted(widths, key=lambda n: -table.columns[n].rank):
        if _wide(widths) > width and table.columns[n].rank:
            del widths[n]
    if (over := _wide(widths) - width) > 0:
        widths[0] = max(NARROWEST, widths[0] - over)
    return widths


def _wide(widths: Mapping[int, int]) -> int:
    return sum(width + 2 for width in widths.values())


def _aligned(text: str, width: int, number: bool) -> str:
    """A cell in so many columns; numbers are aligned to the right."""
    text = fit(text, width) if text else ""
    space = " " * (width - cells(text))
    return f"{space}{text}" if number else f"{text}{space}"


def markdown_table(table: Table, most: int, rank: int | None = None) -> str:
    """A table in Markdown of so many rows, with what there is to say of each."""
    table = table.most(most, rank)
    told = [[*map(str, row.cells), "; ".join(row.notes)] for row in table.rows]
    head = [*(column.name for column in table.columns), "what was seen"]
    made = markdown_rows(head, told)
    return f"{made}\n{markdown(table.left)}\n" if table.left else made


def markdown_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows in Markdown; columns that are empty below their head are left out."""
    made = [[markdown_sentence(cut(cell, CELL)) for cell in row] for row in rows]
    kept = [at for at in range(len(head)) if any(row[at] for row in made)]
    ruled = (list(map(markdown, head)), ["---"] * len(head), *made)
    lines = [[row[at] for at in kept] for row in ruled]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), ""]) if made else ""
