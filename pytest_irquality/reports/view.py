"""The view: everything that a report says, in the order in which it says it.

One view is built from the decision on a build. The terminal, Markdown, HTML and JSON render it and
word nothing themselves, so all of them say the same. Texts are sequences of parts, which each
report escapes in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_irquality.baselines.history import select_series
from pytest_irquality.evaluation.comparison import QueryStatus, Side
from pytest_irquality.evaluation.decide import Coverage, Decision
from pytest_irquality.evaluation.evaluate import BranchEvaluation, Evaluation
from pytest_irquality.evaluation.results import (
    CheckResult,
    DefaultCheck,
    Notice,
    Outcome,
    Requirement,
)
from pytest_irquality.io.text import DataPart, Text, format_count, write
from pytest_irquality.reports.headlines import (
    STALE_BASELINE,
    collect_rows,
    create_acceptance_command,
    create_command,
    create_node_id,
    suggest_next_steps,
    write_headline,
    write_last_paragraph,
    write_quiet_line,
    write_suite_line,
    write_summary,
)
from pytest_irquality.reports.numbers import (
    Number,
    build_tile,
    build_tiles,
    format_bound,
    format_change,
    format_p_value,
    format_value,
)
from pytest_irquality.reports.query_rows import SUITE_CHECKS, Direction, QueryRow, build_query_rows
from pytest_irquality.reports.view_model import (
    CheckRow,
    Header,
    HistoryPoint,
    Step,
    SuiteView,
    TagRow,
    View,
    ViewSettings,
)
from pytest_irquality.suite.model import Threshold

__all__ = ["HistoryPoint", "Step", "View", "ViewSettings", "build_check_row", "build_view"]

COMMIT_LENGTH = 10
# The base checks, the edits and the last paragraph say what these say.
REPEATED_NOTICES = frozenset({"base-fails", "suites-edited", STALE_BASELINE})


def build_view(
    decision: Decision,
    settings: ViewSettings = ViewSettings(),  # noqa: B008 - frozen
) -> View:
    """Build the view of a decision.

    Args:
        decision: The decision on the build.
        settings: What else is known about the session.

    Returns:
        The view that all reports render.
    """
    suites = _build_suites(decision, settings)
    causes = _find_causes(decision)
    rows = collect_rows(suites)
    headline = write_headline(decision, suites, causes)
    coverage_line = decision.coverage.describe()
    notices = sorted(_list_notices(decision), key=lambda notice: -notice.outcome)
    others = [notice for notice in notices if notice not in causes]
    # The headline of a cause says all of it, so the cause is not repeated below.
    shown_causes = [notice for notice in causes if notice.text != headline.sentence]
    if len(suites) != 1:
        others, shown_causes = _name_suites(others), _name_suites(shown_causes)
    return View(
        outcome=decision.outcome,
        exit_status=decision.exit_status,
        header=_build_header(suites, settings),
        # The title of a report on one suite names it.
        headline=_capitalize(headline.sentence) if len(suites) == 1 else headline.text,
        summary=write_summary(decision, suites, headline),
        causes=tuple(shown_causes),
        suites=suites,
        worse=_list_rows(rows, Direction.WORSE),
        better=_list_rows(rows, Direction.BETTER),
        changed=_list_rows(rows, Direction.CHANGED),
        checks=_build_checks(decision.current),
        base_checks=_build_base_checks(decision),
        edits=decision.edits,
        notices=tuple(others),
        next_steps=suggest_next_steps(decision, causes, settings),
        coverage=decision.coverage,
        coverage_line=coverage_line,
        last_paragraph=write_last_paragraph(decision, suites, headline, coverage_line),
        quiet_line=write_quiet_line(decision, suites, headline, coverage_line),
        settings=settings,
    )


# -- Suites --------------------------------------------------------------------------------------


def _build_suites(decision: Decision, settings: ViewSettings) -> tuple[SuiteView, ...]:
    """Build the suites that a report shows, worst first.

    If only the base branch's checks fail, its suites are shown in place of the current ones, which
    may have lost the queries that got worse, or may be gone.
    """
    base_keys = set()
    suites = []
    if decision.base and decision.outcome is Outcome.REVIEW:
        for evaluation in decision.base.evaluations:
            suite = _build_suite(evaluation, decision.base, settings, is_base=True)
            if suite.outcome is Outcome.REVIEW:
                suites.append(suite)
                base_keys.add((evaluation.suite.path, evaluation.suite.retriever))
    for evaluation in decision.current.evaluations:
        if (evaluation.suite.path, evaluation.suite.retriever) not in base_keys:
            suites.append(_build_suite(evaluation, decision.current, settings))
    return tuple(sorted(suites, key=_get_severity))


def _get_severity(suite: SuiteView) -> tuple[int, float]:
    """Return a sort key: worst outcome first, then the largest drop of the primary metric."""
    return -suite.outcome, suite.primary.gain if suite.primary else 0.0


def _build_suite(
    evaluation: Evaluation,
    branch: BranchEvaluation,
    settings: ViewSettings,
    *,
    is_base: bool = False,
) -> SuiteView:
    suite = evaluation.suite
    rows = build_query_rows(evaluation)
    coverage = _count_coverage(rows)
    outcome = _find_suite_outcome(evaluation, branch, rows)
    primary = build_tile(evaluation, suite.primary_metric)
    return SuiteView(
        name=suite.name,
        path=suite.path,
        retriever=str(suite.retriever),
        outcome=min(outcome, Outcome.REVIEW) if is_base else outcome,
        line=write_suite_line(rows, coverage),
        metric=str(suite.primary_metric),
        primary=primary if primary.value is not None else None,
        tiles=build_tiles(evaluation),
        rows=rows,
        tags=_build_tags(evaluation, rows),
        coverage=coverage,
        history=_select_history(evaluation, settings),
        is_base=is_base,
        evaluation=evaluation,
    )


def _select_history(evaluation: Evaluation, settings: ViewSettings) -> tuple[HistoryPoint, ...]:
    suite = evaluation.suite
    metric = str(suite.primary_metric)
    series = select_series(settings.history, suite.path, str(suite.retriever), metric)
    return tuple(HistoryPoint(value, entry.date, entry.commit) for entry, value in series)


def _find_suite_outcome(
    evaluation: Evaluation, branch: BranchEvaluation, rows: Sequence[QueryRow]
) -> Outcome:
    """Return the worst outcome of the suite, with the checks that it shares with others."""
    suite = evaluation.suite
    outcome = evaluation.outcome
    has_drops = any(row.direction is Direction.WORSE for row in rows)
    for result in branch.shared_results:
        if result.retriever not in (None, suite.retriever):
            continue
        # A check over several suites concerns those in which something got worse.
        if result.suite_path == suite.path or (not result.suite_path and has_drops):
            outcome = max(outcome, result.outcome)
    return outcome


def _count_coverage(rows: Sequence[QueryRow]) -> Coverage:
    counts = dict.fromkeys(QueryStatus, 0)
    for row in rows:
        counts[row.status] += 1
    return Coverage(
        compared=counts[QueryStatus.COMPARED],
        new=counts[QueryStatus.NEW],
        no_answer=counts[QueryStatus.NO_ANSWER],
        not_run=counts[QueryStatus.NOT_RUN],
    )


def _build_tags(evaluation: Evaluation, rows: Sequence[QueryRow]) -> tuple[TagRow, ...]:
    suite = evaluation.suite
    directions = {row.query.id: row.direction for row in rows}
    metrics = list(dict.fromkeys([suite.primary_metric, *suite.metrics]))
    tags = []
    for tag, queries in suite.queries_by_tag.items():
        tiles = []
        for metric in metrics:
            tile = build_tile(evaluation, metric, tag)
            if tile.value is not None:
                tiles.append(tile)
        worse = sum(directions[query.id] is Direction.WORSE for query in queries)
        better = sum(directions[query.id] is Direction.BETTER for query in queries)
        tags.append(TagRow(tag, len(queries), worse, better, tuple(tiles)))
    return tuple(sorted(tags, key=lambda tag: tag.primary.gain if tag.primary else 0.0))


def _list_rows(rows: Sequence[QueryRow], direction: Direction) -> tuple[QueryRow, ...]:
    """Return the rows with a direction, largest change first."""
    selected = [row for row in rows if row.direction is direction]
    if direction is Direction.CHANGED:
        return tuple(sorted(selected, key=lambda row: not row.is_first_hit_new))
    return tuple(sorted(selected, key=lambda row: -abs(row.gain)))


# -- Header, messages and checks -----------------------------------------------------------------


def _build_header(suites: Sequence[SuiteView], settings: ViewSettings) -> Header:
    names = list(dict.fromkeys(suite.name for suite in suites))
    compared_with = settings.compared_with
    if compared_with and settings.compared_commit:
        compared_with += f" ({settings.compared_commit[:COMMIT_LENGTH]})"
    sources = []
    for suite in suites:
        retriever = suite.evaluation.suite.baseline_retriever if suite.evaluation else ""
        sources.append(f"retriever {retriever}" if retriever else compared_with)
    return Header(
        suite=names[0] if len(names) == 1 else format_count(len(names), "suite"),
        path=suites[0].path if len(names) == 1 else "",
        branch=settings.branch,
        commit=settings.commit[:COMMIT_LENGTH],
        compared_with=", ".join(dict.fromkeys(sources or [compared_with])),
        date=settings.now.strftime("%d %b %Y, %H:%M") if settings.now else "",
    )


def _capitalize(text: Text) -> Text:
    first, *others = text.parts
    return Text((first[:1].upper() + first[1:], *others)) if isinstance(first, str) else text


def _find_causes(decision: Decision) -> list[Notice]:
    """Return the notices that explain the outcome, most severe first."""
    notices = _list_notices(decision)
    causes = [notice for notice in notices if notice.is_cause]
    if decision.outcome in (Outcome.ERROR, Outcome.INCOMPLETE, Outcome.REVIEW):
        for notice in notices:
            if notice.outcome is decision.outcome and not notice.is_cause:
                causes.append(notice)
    return sorted(causes, key=lambda notice: (not notice.is_cause, -notice.outcome))


def _list_notices(decision: Decision) -> list[Notice]:
    """Return all notices but those that other parts of the view, or other retrievers, repeat."""
    notices: dict[tuple[str, Text], Notice] = {}
    for notice in (*decision.notices, *decision.current.notices):
        if notice.code not in REPEATED_NOTICES:
            notices.setdefault((notice.subject, notice.text), notice)
    return list(notices.values())


def _name_suites(notices: Sequence[Notice]) -> list[Notice]:
    """Return notices whose texts begin with their suite."""
    named = []
    for notice in notices:
        if notice.subject:
            text = write(DataPart(notice.subject), ": ", notice.text)
            notice = replace(notice, text=text)  # noqa: PLW2901
        named.append(notice)
    return named


def _build_checks(branch: BranchEvaluation) -> tuple[CheckRow, ...]:
    rows = [build_check_row(result) for result in branch.results]
    # A threshold says more than one of the queries that break it.
    return tuple(sorted(rows, key=lambda row: (-row.outcome, row.value is None)))


def _build_base_checks(decision: Decision) -> tuple[CheckRow, ...]:
    rows = []
    for failure in decision.base_failures:
        edits: list[Text] = []
        for edit in failure.edits:
            edits += edit.texts
        rows.append(build_check_row(failure.result, tuple(edits)))
    return tuple(rows)


def build_check_row(result: CheckResult, edits: tuple[Text, ...] = ()) -> CheckRow:
    """Build the row of a check in the table of checks."""
    check = result.check
    value: Number | None = None
    baseline_value: Number | None = None
    bound: Number | None = None
    if isinstance(check, Threshold):
        value = format_value(check.metric, result.value)
        baseline_value = format_value(check.metric, result.baseline_value)
        if result.bound is not None:
            text = format_bound(check.metric, result.bound, result.bound_text)
            bound = Number(result.bound, text)
    elif check is DefaultCheck.SIGNIFICANT_DROP and result.value is not None:
        value = Number(result.value, format_p_value(result.value))
        bound = Number(result.bound, f"{result.bound:g}") if result.bound is not None else None
    elif result.value is not None:
        value = Number(result.value, f"{result.value:.4g}")
        bound = Number(result.bound, f"{result.bound:.4g}") if result.bound is not None else None
    kind = check.value if isinstance(check, DefaultCheck | Requirement) else type(check).__name__
    return CheckRow(
        label=result.label or kind,
        subject=result.subject,
        outcome=result.outcome,
        text=result.text,
        value=value,
        baseline_value=baseline_value,
        bound=bound,
        tag=result.tag,
        query_ids=result.query_ids,
        suite_path=result.suite_path,
        retriever=str(result.retriever or ""),
        is_warning=result.is_warning,
        known_issue=result.known_issue,
        was_evaluated=result.was_evaluated,
        is_default=isinstance(check, DefaultCheck),
        location=result.location,
        edits=edits,
    )


# -- Details of queries ----------------------------------------------------------------------------


@dataclass(frozen=True)
class MetricValue:
    """A metric of one query on both sides."""

    metric: str
    before: Number | None = None
    now: Number | None = None
    change: Number | None = None


@dataclass(frozen=True)
class QueryDetails:
    """What is known about one query besides its row and its documents.

    Attributes:
        values: Every metric shown, and those of the query's thresholds.
        results: The results of the checks that name the query.
        rerun: A command that runs the query again.
        acceptance: A command that accepts the current ranking of this query alone, if it changed.
    """

    values: tuple[MetricValue, ...] = ()
    results: tuple[CheckResult, ...] = ()
    rerun: str = ""
    acceptance: str = ""


def build_query_details(suite_view: SuiteView, settings: ViewSettings) -> Iterator[QueryDetails]:
    """Build the details of every query of a suite, in the order of its rows."""
    evaluation = suite_view.evaluation
    if evaluation is None:
        return
    suite = evaluation.suite
    metrics = list(dict.fromkeys([suite.primary_metric, *suite.metrics]))
    values_before = {}
    values_now = {}
    for metric in metrics:
        values_before[metric] = evaluation.comparison.values(metric, Side.BEFORE)
        values_now[metric] = evaluation.comparison.values(metric, Side.RETURNED)
    results = _group_results(evaluation)
    items = {item.query_id: item.name for item in suite.items if item.query_id}
    # Queries from a file have no item, and so one command in common.
    reruns: dict[str, str] = {}
    for row in suite_view.rows:
        query_id = row.query.id
        values = []
        for metric in metrics:
            before, now = values_before[metric].get(query_id), values_now[metric].get(query_id)
            change = format_change(metric, before, now)
            texts = (format_value(metric, before), format_value(metric, now))
            values.append(MetricValue(str(metric), *texts, change))
        item = items.get(query_id, "")
        if item not in reruns:
            node = create_node_id(settings, suite.path, row.retriever, item)
            reruns[item] = create_command(settings, [node])
        acceptance = ""
        if row.direction not in (Direction.UNCHANGED, Direction.NONE):
            acceptance = create_acceptance_command(settings, row, suite.path, item)
        yield QueryDetails(
            tuple(values), tuple(results.get(query_id, ())), reruns[item], acceptance
        )


def _group_results(evaluation: Evaluation) -> Mapping[str, list[CheckResult]]:
    grouped: dict[str, list[CheckResult]] = {}
    for result in evaluation.results:
        if result.check in SUITE_CHECKS:
            continue
        for query_id in result.query_ids:
            grouped.setdefault(query_id, []).append(result)
    return grouped
