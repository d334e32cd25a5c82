"""The default checks that need one suite only: lost queries, and rankings without judgments.

``shared_checks`` makes those that need all suites of a build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from statistics import fmean

from pytest_irquality.evaluation.comparison import Comparison
from pytest_irquality.evaluation.constants import (
    MAX_NEW_FIRST_HITS_FRACTION,
    MAX_NEWLY_EMPTY_FRACTION,
    MAX_UNRELATED_FRACTION,
    MIN_MEAN_OVERLAP,
    MIN_NEWLY_EMPTY_QUERIES,
    MIN_UNJUDGED_QUERIES,
    MIN_UNRELATED_QUERIES,
    ROUNDING_ERROR,
)
from pytest_irquality.evaluation.query_changes import QueryChange
from pytest_irquality.evaluation.requirement_checks import is_expired
from pytest_irquality.evaluation.results import CheckResult, DefaultCheck, Outcome
from pytest_irquality.io.text import DocPart, QueryPart, Text, format_count, list_some, write
from pytest_irquality.suite.model import ItemKind, LostQueriesMode, Suite


def check_defaults(comparison: Comparison, today: date | None) -> Iterator[CheckResult]:
    """Make the default checks of a suite that has a baseline."""
    suite = comparison.suite
    # Another retriever may return other documents, and a probe has one document of many like it.
    if suite.baseline_retriever or suite.is_probe_suite or not comparison.changes:
        return
    if suite.lost_queries.mode is not LostQueriesMode.IGNORE:
        yield _check_lost_queries(comparison, today)
    yield _check_recognizable(comparison)


def _find_item_name(suite: Suite) -> str:
    for item in suite.items:
        if item.kind is ItemKind.DEFAULT_CHECKS:
            return item.name
    return ""


# -- Check 1 ---------------------------------------------------------------------------------------


def count_lost_and_gained(
    changes: Iterable[QueryChange], today: date | None = None
) -> tuple[int, int]:
    """Count the queries that lost all their relevant documents, and those that gained the first.

    Queries with a known issue do not count.
    """
    lost = 0
    gained = 0
    for change in changes:
        if not change.is_unchanged and not _has_known_issue(change, today):
            lost += bool(change.lost_doc_ids)
            gained += bool(change.gained_doc_ids)
    return lost, gained


def _has_known_issue(change: QueryChange, today: date | None) -> bool:
    issue = change.query.known_issue
    return issue is not None and not is_expired(issue, today)


def _check_lost_queries(comparison: Comparison, today: date | None) -> CheckResult:
    """Weigh lost queries against gained ones.

    By default the queries from files are left out, because ``shared_checks`` tests them.
    """
    setting = comparison.suite.lost_queries
    changes: list[QueryChange] = []
    for change in comparison.changes:
        is_counted = setting.mode is not LostQueriesMode.NET or not change.query.is_sampled
        if is_counted and not _has_known_issue(change, today):
            changes.append(change)
    lost, gained = count_lost_and_gained(changes, today)
    bound = {LostQueriesMode.NET: gained, LostQueriesMode.MAX: setting.maximum}.get(setting.mode, 0)
    outcome = Outcome.FAILED if lost > bound else Outcome.PASSED
    is_warning = setting.mode is LostQueriesMode.WARN and lost > 0
    if is_warning:
        outcome = Outcome.PASSED
    elif setting.mode is LostQueriesMode.NET and 0 < lost <= gained:
        # Gains excuse the failure, but somebody has to know which queries paid for them.
        outcome = Outcome.REVIEW
    text = write("No query lost all relevant documents")
    if lost:
        text = write(format_count(lost, "query", "queries"), " lost all relevant documents")
        if setting.mode is LostQueriesMode.MAX:
            text += f", and 'lost_all_relevant' allows {setting.maximum}"
        else:
            text += f", and {gained} gained one"
    lost_changes = [change for change in changes if change.lost_doc_ids]
    return CheckResult(
        check=DefaultCheck.LOST_QUERIES,
        subject=comparison.suite.name,
        outcome=outcome,
        text=text,
        label=DefaultCheck.LOST_QUERIES.value,
        item=_find_item_name(comparison.suite),
        value=lost,
        bound=bound,
        query_ids=tuple(change.query.id for change in lost_changes),
        doc_ids=tuple(doc_id for change in lost_changes for doc_id in change.lost_doc_ids),
        is_warning=is_warning,
        was_evaluated=any(change.can_lose for change in changes),
    )


# -- Check 4 ---------------------------------------------------------------------------------------


def list_unjudged_changes(comparison: Comparison) -> list[QueryChange]:
    """Return the changes of queries without judgments, of which only similarity can be checked."""
    changes = []
    for change in comparison.changes:
        query = change.query
        if not query.judgments.grades and query.probe is None and not query.expects_no_results:
            changes.append(change)
    return changes


def _check_recognizable(comparison: Comparison) -> CheckResult:
    """Check that the rankings of queries without judgments resemble the baseline."""
    changes = list_unjudged_changes(comparison)
    total = len(changes)
    is_able = total >= MIN_UNJUDGED_QUERIES
    new_first = [change for change in changes if change.is_first_hit_new]
    findings = _find_differences(changes, len(new_first)) if is_able else []
    text = write(DefaultCheck.UNRECOGNIZABLE.value)
    if findings:
        text = list_some(findings, limit=len(findings))
    elif new_first:
        text = write(_describe_first_hits(len(new_first), total))
    return CheckResult(
        check=DefaultCheck.UNRECOGNIZABLE,
        subject=comparison.suite.name,
        outcome=Outcome.FAILED if findings else Outcome.PASSED,
        text=text + _name_common_first_hit(new_first, comparison),
        label=DefaultCheck.UNRECOGNIZABLE.value,
        item=_find_item_name(comparison.suite),
        value=len(new_first),
        query_ids=tuple(change.query.id for change in new_first) if findings else (),
        was_evaluated=is_able,
    )


def _find_differences(changes: Sequence[QueryChange], new_first_count: int) -> list[Text]:
    """Say in which ways the rankings differ beyond recognition."""
    total = len(changes)
    overlaps = [change.overlap for change in changes]
    unrelated = overlaps.count(0)
    empty = [change.query for change in changes if change.is_newly_empty]
    findings = []
    if fmean(overlaps) < MIN_MEAN_OVERLAP - ROUNDING_ERROR:
        overlap = f"the mean overlap@10 with the baseline is only {fmean(overlaps):.2f}"
        findings.append(write(overlap))
    if _exceeds(new_first_count, total, MAX_NEW_FIRST_HITS_FRACTION):
        findings.append(write(_describe_first_hits(new_first_count, total)))
    if unrelated >= MIN_UNRELATED_QUERIES and _exceeds(unrelated, total, MAX_UNRELATED_FRACTION):
        findings.append(write(f"{unrelated} of {total} rankings share no result with the baseline"))
    if len(empty) >= MIN_NEWLY_EMPTY_QUERIES and _exceeds(
        len(empty), total, MAX_NEWLY_EMPTY_FRACTION
    ):
        names = list_some([QueryPart(query.id, query.text) for query in empty])
        findings.append(write(f"{len(empty)} of {total} queries return nothing now: ", names))
    return findings


def _describe_first_hits(new_first_count: int, total: int) -> str:
    return f"the first result changed for {new_first_count} of {total} queries"


def _exceeds(count: int, total: int, fraction: float) -> bool:
    return count > total * fraction + ROUNDING_ERROR


def _name_common_first_hit(new_first: Sequence[QueryChange], comparison: Comparison) -> Text:
    """Name the document that is first for most of these queries now, if there is one."""
    counts: Counter[str] = Counter()
    for change in new_first:
        counts.update(change.now[0].doc_ids[:1])
    for doc_id, count in counts.most_common(1):
        if count > 1 and 2 * count > len(new_first):
            doc = DocPart(doc_id, comparison.titles.get(doc_id, ""))
            return write(f", and {count} of them now begin with ", doc)
    return Text()
