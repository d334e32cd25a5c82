"""``--ir-unjudged``: what was returned and never judged, as Quepid CSV to be filled in, what matters
most first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from pytest_irquality.verdict.pool import Pool

COLUMNS = ("query", "docid", "rating", "rank", "title")


def unjudged_csv(pools: Iterable[Pool]) -> str:
    """One row a query and document, the rating left empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = {
        (query.text, document.id): (query.text, document.id, "", document.rank, document.title)
        for one in pools
        for query in one.queries
        for document in query.documents
        if not document.judges
    }
    writer.writerows(rows.values())
    return text.getvalue()
