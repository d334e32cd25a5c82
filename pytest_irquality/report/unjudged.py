"""``--ir-unjudged``: the documents that were returned and that nobody judged, as Quepid CSV to be filled in.

First come those whose grade could move a verdict most. A document at rank r adds at most 1 / log2(r + 1) to a query's
score, and that over n to a mean of n queries; of the distance between each value and its limit that is a share, at most
all of it, and the shares of all limits that see the query add up.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2

from pytest_irquality.edges.printable import OUR_COLUMNS, csv_cell
from pytest_irquality.verdict.result import SuiteResult

NEEDS_NO_GRADE = ("rbo", "overlap")
NEAREST = 1e-9


@dataclass
class _Row:
    rank: int
    title: str
    weight: float = 0.0


def unjudged_csv(results: Sequence[SuiteResult]) -> str:
    """One row a query and document, the rating left empty; suites that match by text have none to judge."""
    rows: dict[tuple[str, str], _Row] = {}
    for result in results:
        if not result.returned:
            continue
        distances = _distances(result)
        for query in result.queries:
            for document in query.ranking:
                if document.grade is not None or document.rank is None or query.expects_nothing:
                    continue
                row = rows.setdefault(
                    (query.text, document.id), _Row(document.rank, document.title or "")
                )
                row.rank = min(row.rank, document.rank)
                gain = 1 / log2(document.rank + 1)
                row.weight += sum(
                    min(1.0, gain / n / distance) for n, distance in distances.get(query.id, ())
                )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(OUR_COLUMNS)
    for (query_text, id), row in sorted(
        rows.items(), key=lambda pair: (-pair[1].weight, pair[1].rank)
    ):
        writer.writerow((csv_cell(query_text), csv_cell(id), "", row.rank, csv_cell(row.title)))
    return text.getvalue()


def _distances(result: SuiteResult) -> Mapping[str, Sequence[tuple[int, float]]]:
    """For each query the limits that see it: over how many queries, and how far from the value."""
    found: dict[str, list[tuple[int, float]]] = {}
    for queries, n, distance in _limits(result):
        for id in queries:
            found.setdefault(id, []).append((n, distance))
    return found


def _limits(result: SuiteResult) -> Iterator[tuple[Sequence[str], int, float]]:
    everyone = [query.id for query in result.queries]
    tagged: dict[str, list[str]] = {}
    for query in result.queries:
        for tag in query.tags:
            tagged.setdefault(tag, []).append(query.id)
    for verdict in result.verdicts:
        for finding in verdict.findings:
            grades_count = (
                finding.measure
                and finding.unit == ""
                and not finding.measure.startswith(NEEDS_NO_GRADE)
            )
            if not grades_count or finding.value is None or finding.limit is None:
                continue
            if verdict.scope in ("query", "each_query"):
                queries: Sequence[str] = [finding.subject]
            else:
                queries = tagged.get(finding.subject, ()) if finding.subject else everyone
            yield queries, max(finding.queries, 1), max(abs(finding.value - finding.limit), NEAREST)
