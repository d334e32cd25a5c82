"""The table of queries: one row for each query of a suite, and the columns that reports show.

To add a column, add it to ``QUERY_COLUMNS``. Every report reads its columns from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property, lru_cache, partial
from math import log2

from pytest_irquality.evaluation.comparison import (
    Comparison,
    QueryChange,
    QueryStatus,
    RankingVersion,
)
from pytest_irquality.evaluation.documents import DocChange, list_documents
from pytest_irquality.evaluation.evaluate import Evaluation
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Outcome, Requirement
from pytest_irquality.io import dataclass, field, replace
from pytest_irquality.io.text import DataPart, DocPart, QueryPart, Text, join, list_some, write
from pytest_irquality.metrics import Metric
from pytest_irquality.reports.tiles import Number, format_change, format_value
from pytest_irquality.suite.model import Query

MAX_MOVES = 2
UNRANKED = 1_000_000  # greater than any rank, so documents without a rank are sorted last

# A drop over the suite names every query that got worse, but no query fails because of it.
SUITE_CHECKS = frozenset({DefaultCheck.SIGNIFICANT_DROP, DefaultCheck.FEW_DROPS})
QUERY_FINDINGS: Mapping[object, str] = {
    DefaultCheck.LOST_QUERIES: "lost all its relevant documents",
    Requirement.ANSWERS: "has no answer",
}


class Direction(Enum):
    """How the answer to a query changed, in the primary metric of its suite.

    Attributes:
        CHANGED: The ranking changed, and no judgments tell whether it is better or worse.
        NONE: The query was not compared.
    """

    WORSE = "worse"
    BETTER = "better"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NONE = "not compared"

    @property
    def is_change(self) -> bool:
        """Return whether the answer changed in any direction."""
        return self not in (Direction.UNCHANGED, Direction.NONE)


@dataclass(frozen=True)
class SearchNames:
    """What reports call the searches that are compared: an earlier state and now, or two searches.

    Attributes:
        is_one_search: Whether the baseline is an earlier state of the search, and not another one.
        before: The heading of the baseline's values: ``before``, or the search compared with.
        now: The heading of the current values: ``now``, or the retriever.
    """

    is_one_search: bool = True
    before: str = "before"
    now: str = "now"
    change: str = "change"
    moved: str = "documents that moved"

    @property
    def columns(self) -> list[Column]:
        """Return the columns of the table of queries with headings that fit."""
        columns = []
        for column in QUERY_COLUMNS:
            # A field named like a column's key replaces its heading.
            columns.append(replace(column, heading=getattr(self, column.key, column.heading)))
        return columns


def choose_names(items: Iterable[QueryRow | Evaluation]) -> SearchNames:
    """Return the headings for the searches that these queries or suites compare."""
    comparisons = {id(item.comparison): item.comparison for item in items}.values()
    before = {comparison.compared_search for comparison in comparisons}
    now = {comparison.current_search for comparison in comparisons}
    if not any(before):
        return SearchNames()
    before_name = before.pop() if len(before) == 1 else "the baseline"
    now_name = now.pop() if len(now) == 1 else "this search"
    return SearchNames(False, before_name, now_name, "difference", "documents at other ranks")


@dataclass(frozen=True)
class QueryRow:
    """A query in the table of queries.

    Attributes:
        suite: The name of the suite.
        outcome: The worst outcome of the query's own checks, or ``FAILED`` without an answer.
        metric: The primary metric of the suite, of which ``before`` and ``now`` are values.
        improvement: The change for the better, negative for the worse, or 0.
        finding: What breaks the query's own checks, worded to follow its text.
        known_issue_id: The known issue that covers a failure of the query.
        error: Why the query has no answer.
        overlap: The fraction of the first ten results of the baseline that are still returned.
    """

    query: Query
    suite: str
    suite_path: str
    retriever: str
    status: QueryStatus
    direction: Direction
    outcome: Outcome
    metric: str
    comparison: Comparison = field(repr=False, compare=False)
    before: Number | None = None
    now: Number | None = None
    change: Number | None = None
    improvement: float = 0.0
    finding: Text = field(default=Text())
    known_issue_id: str = ""
    error: str = ""
    overlap: float = 1.0
    is_first_hit_new: bool = False
    is_newly_empty: bool = False

    @property
    def tags(self) -> Text:
        """Return the tags in one text."""
        return join([DataPart(tag) for tag in self.query.tags])

    @cached_property
    def documents(self) -> tuple[DocChange, ...]:
        """Return the documents of both rankings, and keep them for what changed queries show."""
        return self.find_documents()

    def find_documents(self) -> tuple[DocChange, ...]:
        """Return the documents and do not keep them, because thousands take much memory."""
        if self.status not in (QueryStatus.COMPARED, QueryStatus.NEW):
            return ()
        return list_documents(self.comparison, self.query.id)

    @cached_property
    def moves(self) -> tuple[DocChange, ...]:
        """Return the documents whose moves explain the change, most important first."""
        if not self.direction.is_change:
            return ()
        moved = [doc for doc in self.documents if doc.rank_before != doc.rank_now]
        is_worse = self.direction is Direction.WORSE
        explaining = [doc for doc in moved if doc.is_relevant and _is_loss(doc) == is_worse]
        if self.direction is Direction.CHANGED:
            # Without judgments, readers care about the results that users saw, above all the first.
            last_rank = 1 if self.is_first_hit_new else UNRANKED
            explaining = [doc for doc in moved if (doc.rank_before or UNRANKED) <= last_rank]
        return tuple(sorted(explaining, key=_get_importance))

    def describe_ranks(self, doc: DocChange) -> Text:
        """Return both ranks of a document: ``1 → 3``."""
        if doc.rank_before is None:
            where = "only here at" if self.comparison.compared_search else "new at"
            return write(f"{where} {doc.rank_now}")
        return write(doc.rank_before, " → ", doc.rank_now or doc.finding or "not retrieved")

    @property
    def has_ungraded_first_hit(self) -> bool:
        """Return whether the query got worse with a new first result that nobody has graded."""
        if self.direction is not Direction.WORSE:
            return False
        first = [doc for doc in self.documents if doc.rank_now == 1]
        return any(doc.grade is None and doc.rank_before is None for doc in first)

    @property
    def only_found_by(self) -> str:
        """Return which of two searches alone finds relevant documents: ``before`` or ``now``.

        If there is one search, the query is lost or gained, which checks and notices say.
        """
        change = self.comparison.changes_by_id.get(self.query.id)
        if change is None or not self.comparison.compared_search:
            return ""
        if change.lost_doc_ids:
            return "before"
        return "now" if change.gained_doc_ids else ""

    def describe_moves(self, limit: int = MAX_MOVES) -> Text:
        """Return the most important moves and how many others there are, or the error."""
        if self.error:
            return write(DataPart(self.error))
        moves = [write(_name_doc(doc), " ", self.describe_ranks(doc)) for doc in self.moves]
        return list_some(moves, limit)

    @property
    def best_rank_text(self) -> Text:
        """Return where the best relevant document is, and what is first instead."""
        ranked = [doc for doc in self.documents if doc.rank_now]
        if not ranked:
            return write("nothing is returned")
        ranked.sort(key=lambda doc: doc.rank_now or UNRANKED)
        best = next((doc for doc in ranked if doc.is_relevant), None)
        if best is ranked[0]:
            return write(_name_doc(best), " is first")
        where = write("no relevant document is returned")
        if best:
            where = write(_name_doc(best), f" is at {best.rank_now}")
        return write(where, " · first: ", _name_doc(ranked[0]))

    @cached_property
    def replacement(self) -> Text:
        """Return what came instead of the document that moved most: ``now first: …``."""
        if not self.direction.is_change:
            return Text()
        if not any(doc.rank_now for doc in self.documents):
            return write("nothing is returned")
        is_better = self.direction is Direction.BETTER
        word = "was" if is_better else "now"
        if self.comparison.compared_search:
            word = "there" if is_better else "here"
        rank = 1 if self.is_first_hit_new else None
        if self.moves:
            rank = self.moves[0].rank_now if is_better else self.moves[0].rank_before
        elif len(self.comparison.answers[self.query.id]) > 1:
            return write("its answers differ from one another")
        for doc in self.documents:
            if rank is not None and rank == (doc.rank_before if is_better else doc.rank_now):
                place = "first" if rank == 1 else f"at {rank}"
                return write(f"{word} {place}: ", _name_doc(doc))
        return Text()


_NO_TEXT = Text()
Cell = Text | Number | None


@dataclass(frozen=True)
class TextColumn:
    """A column of a table in plain text.

    Attributes:
        is_number: Whether cells are numbers, which are aligned to the right.
        width: The width at which the column is readable if its cells are shortened, or 0 if they
            never are. Other columns are left out for it.
        rank: Columns with the highest rank are left out first if a line is too narrow.
    """

    heading: str
    is_number: bool = False
    width: int = 0
    rank: int = 0


@dataclass(frozen=True, kw_only=True)
class Column(TextColumn):
    """A column of the table of queries.

    Attributes:
        key: The name in the JSON report.
        read: Returns the cell of a row.
    """

    key: str
    read: Callable[[QueryRow], Cell]


QUERY_COLUMNS: tuple[Column, ...] = (
    Column("query", width=24, key="query", read=lambda row: write(DataPart(row.query.text))),
    Column("tags", width=24, rank=2, key="tags", read=lambda row: row.tags),
    Column("before", is_number=True, key="before", read=lambda row: row.before),
    Column("now", is_number=True, key="now", read=lambda row: row.now),
    Column("change", is_number=True, key="change", read=lambda row: row.change),
    Column("documents that moved", width=36, key="moved", read=lambda row: row.describe_moves()),
    Column("in its place", width=24, rank=1, key="replacement", read=lambda row: row.replacement),
)


def build_query_rows(evaluation: Evaluation) -> tuple[QueryRow, ...]:
    """Build the rows of a suite, in the order of the suite."""
    suite, comparison = evaluation.suite, evaluation.comparison
    metric = suite.primary_metric
    own_results = group_results(evaluation.results)
    undecided = {change.query.id for change in comparison.list_decided_by_tie(metric)}
    improvements = comparison.collect_improvements(metric)
    # One text for all rows, of which there may be thousands.
    metric_name, retriever = str(metric), str(suite.retriever)
    rows = []
    all_values = list_query_values(comparison, metric, suite.queries)
    for query, values in zip(suite.queries, all_values, strict=True):
        status = comparison.statuses[query.id]
        change = comparison.changes_by_id.get(query.id)
        improvement = improvements.get(query.id)
        direction = _find_direction(change, improvement, query.id in undecided)
        error = evaluation.run.errors.get(query.request)
        results = own_results.get(query.id, ())
        worst = max(results, key=lambda result: result.outcome, default=None)
        rows.append(
            QueryRow(
                query=query,
                suite=suite.name,
                suite_path=suite.path,
                retriever=retriever,
                status=status,
                direction=direction,
                outcome=worst.outcome if worst else Outcome.PASSED,
                metric=metric_name,
                before=values.before,
                now=values.now,
                change=values.change,
                improvement=improvement or 0.0,
                finding=drop_query(worst.text) if worst and worst.outcome else _NO_TEXT,
                known_issue_id=next(filter(None, (each.known_issue_id for each in results)), ""),
                error=error.message if error and status is QueryStatus.NO_ANSWER else "",
                overlap=change.overlap if change and improvement is None else 1.0,
                is_first_hit_new=change.is_first_hit_new if change else False,
                is_newly_empty=change.is_newly_empty if change else False,
                comparison=comparison,
            )
        )
    return tuple(rows)


@dataclass(frozen=True)
class MetricValue:
    """A metric of one query before and now."""

    metric: str
    before: Number | None = None
    now: Number | None = None
    change: Number | None = None


def list_query_values(
    comparison: Comparison, metric: Metric, queries: Iterable[Query]
) -> Iterator[MetricValue]:
    """Yield the values of each query as its row and its details show them.

    If it has a change, ``now`` has ties in the baseline's order, because their order is no change.
    """
    values_before = comparison.get_values(metric, RankingVersion.BEFORE)
    values_aligned = comparison.get_values(metric, RankingVersion.ALIGNED)
    current_values = comparison.get_current_values(metric)
    name = str(metric)
    # Most queries have one of a few values, which share their texts.
    format_number = lru_cache(None, typed=True)(partial(format_value, metric))
    format_difference = lru_cache(None, typed=True)(partial(format_change, metric))
    for query in queries:
        before, now = values_before.get(query.id), values_aligned.get(query.id)
        if before is None or now is None:
            before, now = None, current_values.get(query.id)
        change = format_difference(before, now)
        yield MetricValue(name, format_number(before), format_number(now), change)


def _find_direction(
    change: QueryChange | None, improvement: float | None, is_undecided: bool
) -> Direction:
    if change is None:
        return Direction.NONE
    if is_undecided:
        return Direction.UNCHANGED
    if improvement is None:
        return Direction.CHANGED if change.is_reordered else Direction.UNCHANGED
    if improvement == 0:
        return Direction.UNCHANGED
    return Direction.BETTER if improvement > 0 else Direction.WORSE


def group_results(results: Sequence[CheckResult]) -> Mapping[str, Sequence[CheckResult]]:
    """Return the results that name each query. A drop over the suite fails no single query.

    A finding about several queries is worded for one of them.
    """
    grouped: dict[str, list[CheckResult]] = {}
    for result in results:
        finding = QUERY_FINDINGS.get(result.check)
        if finding and result.outcome:
            result = replace(result, text=write(finding))  # noqa: PLW2901
        if result.check not in SUITE_CHECKS:
            for query_id in result.query_ids:
                grouped.setdefault(query_id, []).append(result)
    return grouped


def drop_query(text: Text) -> Text:
    """Return a finding without the query that it begins with, because the row names it."""
    parts = text.parts
    if len(parts) > 1 and isinstance(parts[0], QueryPart) and isinstance(parts[1], str):
        return Text((parts[1].lstrip(": "), *parts[2:]))
    return text


def _name_doc(doc: DocChange) -> DocPart:
    return DocPart(doc.doc_id, doc.title)


def _is_loss(doc: DocChange) -> bool:
    return (doc.rank_now or UNRANKED) > (doc.rank_before or UNRANKED)


def _get_importance(doc: DocChange) -> float:
    """Return a sort key: the change of nDCG that the document causes, largest first."""
    before, now = [1 / log2(1 + rank) if rank else 0.0 for rank in (doc.rank_before, doc.rank_now)]
    return -(doc.grade or 1.0) * abs(before - now)
