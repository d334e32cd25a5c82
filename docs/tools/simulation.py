"""Write the tables of error rates from ``benchmarks/simulation.txt``.

That file is the output of ``python -m benchmarks.simulation FOLDER``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from docs.tools import ROOT

PAGE = ROOT / "docs/why/simulation.md"
OUTPUT = ROOT / "benchmarks/simulation.txt"
SIZES = (5, 10, 20, 50, 100, 225)

# The table of the output that each table of the page has rows of, and the names of these rows.
TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "false positives": (
        "False alarms of exchangeable retrievers",
        {
            "cranfield: osmem-opensearch or not": "Cranfield, another engine",
            "cranfield: fts5-nostem or not": "Cranfield, with or without stemming",
        },
    ),
    "losses": (
        "Power",
        {
            "cranfield: fts5-nostem": "no stemming: ndcg@10 −0.019",
            "cranfield: fts5-titleonly": "titles only: −0.10",
            "cranfield: a fifth loses three results": "a fifth of queries lose three results",
            "cranfield: a tenth sinks by a rank": "a tenth (min. 5) sink one rank",
        },
    ),
}


def generate() -> Iterator[tuple[Path, str]]:
    """Yield the page with the current tables."""
    page = PAGE.read_text("utf-8")
    for name in TABLES:
        table = re.compile(rf"(<!-- generated: {name} -->\n\n)(?:\|.*\n)*")
        head, tail = table.split(page)[0], table.split(page)[2]
        page = f"{head}<!-- generated: {name} -->\n\n{render_table(name)}{tail}"
    yield PAGE, page


def render_table(name: str) -> str:
    """Render one table of the page: the percentage of builds that fail, by number of queries."""
    title, labels = TABLES[name]
    rows = read_rows(title)
    lines = [f"|queries in the suite|{'|'.join(map(str, SIZES))}|", f"|---|{'---:|' * len(SIZES)}"]
    for label, shown in labels.items():
        rates = []
        for size in SIZES:
            rates.append(f"{float(rows[label, size][0]):.{'1' if name != 'losses' else '0'}f}")
        lines.append(f"|{shown}|{'|'.join(rates)}|")
    return "\n".join(lines) + "\n"


def read_rows(title: str) -> dict[tuple[str, int], list[str]]:
    """Return the cells of a table of the output, by the label and the number of queries.

    The first four cells are the rates of the tests of means, with the queries in 1, 2, 3 and 5
    suites. The last cell has those of lost queries.
    """
    (text,) = re.findall(
        rf"^{re.escape(title)}.*\n\n((?:\|.*\n)+)", OUTPUT.read_text("utf-8"), re.M
    )
    rows = {}
    for line in text.splitlines()[2:]:
        label, size, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[label, int(size)] = cells
    return rows
