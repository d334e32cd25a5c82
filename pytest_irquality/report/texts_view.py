"""The whole texts of results, as the page's script draws them, each once.

Places of passages are in the units that the script counts in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_irquality.edges.printable import visible
from pytest_irquality.report.views import DocumentRow
from pytest_irquality.verdict.result import Mark, SuiteResult

KEPT = "run kept: "


def chunks(
    ranking: Iterable[DocumentRow],
    texts: Sequence[str],
    numbers: dict[Any, int],
    ids: dict[Any, int],
) -> list[Any]:
    """A row for each document that has a text, 0 for one without; nothing where none has one.

    A row holds the number of its text, that of its own id, and three numbers a mark (first, behind
    its last, whether it is a whole passage). ``numbers`` and ``ids`` give what is new its number.
    """
    rows: list[Any] = []
    if not texts:
        return rows
    for document in ranking:
        chunk = document.chunk
        if chunk is None:
            rows.append(0)
            continue
        text = texts[chunk.text]
        places = (number for mark in chunk.marks for number in _place(text, mark))
        rows.append([numbers[text], ids[chunk.id], *places])
    return rows if any(rows) else []


def _place(text: str, mark: Mark) -> tuple[int, int, int]:
    return _units(text[: mark.start]), _units(text[: mark.end]), int(mark.whole)


def _units(text: str) -> int:
    """The length of a text on the page, in UTF-16, by which scripts count."""
    return len(visible(text).encode("utf-16-le", "surrogatepass")) // 2


def elsewhere(result: SuiteResult) -> str:
    """The place of the texts that the page does not hold."""
    files = [line.removeprefix(KEPT) for line in result.written if line.startswith(KEPT)]
    if files:
        return f"Texts are shown for the queries that lost most; this one's are in {files[0]}."
    return (
        "Texts are shown for the queries that lost most; --ir-save-runs=DIR keeps those of all"
        " queries in a file."
    )
