"""``--ir-unjudged``: what was returned and never judged, as Quepid CSV to be filled in, what
matters most first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from pytest_irquality.edges.printable import TO_GRADE_COLUMNS, csv_cell
from pytest_irquality.verdict.pool import Pool


def unjudged_csv(pools: Iterable[Pool]) -> str:
    """One row a query and document, the rating left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TO_GRADE_COLUMNS)
    rows = {
        (query.text, document.id): (
            _cell(query.text),
            _cell(document.id),
            "",
            document.rank,
            _cell(document.title),
        )
        for one in pools
        for query in one.queries
        for document in query.documents
        if not document.judges
    }
    writer.writerows(rows.values())
    return text.getvalue()


def _cell(text: str) -> str:
    """A cell without NUL, which the csv module of Python 3.10 can neither write nor read."""
    return csv_cell(text).replace("\0", "\u2400")
