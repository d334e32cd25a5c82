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
            csv_cell(query.text),
            csv_cell(document.id),
            "",
            document.rank,
            csv_cell(document.title),
        )
        for one in pools
        for query in one.queries
        for document in query.documents
        if not document.judges
    }
    writer.writerows(rows.values())
    return text.getvalue()
