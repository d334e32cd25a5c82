"""The view: everything that a report says, in the order in which it says it.

One view is built from the decision on a build. The terminal, Markdown, HTML and JSON render it and
word nothing themselves, so all of them say the same. Texts are sequences of parts, which each
report escapes in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

from pytest_irquality.baselines.history import select_series
from pytest_irquality.evaluation.decide import Decision
from pytest_irquality.evaluation.evaluate import BranchEvaluation, Evaluation, SuiteKey
from pytest_irquality.evaluation.results import (
    CheckResult,
    Notice,
    NoticeCode,
    Outcome,
    find_worst_outcome,
)
from pytest_irquality.io import dataclass, replace
from pytest_irquality.io.escaping import quote_command
from pytest_irquality.io.text import DataPart, Text, format_count, write
from pytest_irquality.reports import query_rows, sentences
from pytest_irquality.reports.sentences import Headline
from pytest_irquality.reports.tiles import build_tile, build_tiles
from pytest_irquality.reports.view_model import (
    Header,
    HistoryPoint,
    SuiteView,
    TagRow,
    View,
    ViewSettings,
    find_label,
)
from pytest_irquality.suite.model import RetrieverId, Suite

COMMIT_LENGTH = 10
# The base checks, the edits and the last paragraph say what these say.
REPEATED_NOTICES = frozenset(
    {NoticeCode.BASE_FAILS, NoticeCode.SUITES_EDITED, NoticeCode.STALE_BASELINE}
)


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
    notices = _list_notices(decision)
    causes = _find_causes(decision, notices)
    headline = sentences.write_headline(decision, suites, causes)
    rows = sentences.collect_rows(suites)
    results = decision.current.results
    coverage_line = decision.coverage.describe()
    others = [notice for notice in notices if notice not in causes]
    others.sort(key=lambda notice: -notice.outcome)
    return View(
        outcome=decision.outcome,
        exit_status=decision.exit_status,
        header=_build_header(suites, settings),
        headline=headline.text,
        summary=sentences.write_summary(decision, suites, headline),
        reasons=sentences.write_reasons(decision, suites, headline),
        causes=tuple(_show_causes(causes, decision, suites, headline)),
        suites=suites,
        worse=_list_rows(rows, query_rows.Direction.WORSE),
        better=_list_rows(rows, query_rows.Direction.BETTER),
        changed=_list_rows(rows, query_rows.Direction.CHANGED),
        baseline_only=tuple(row for row in rows if row.only_found_by == "before"),
        # Checks with a value, such as thresholds, come before rules of single queries.
        checks=tuple(sorted(results, key=lambda check: (-check.outcome, check.value is None))),
        base_checks=tuple(sentences.sort_base_failures(decision)),
        edits=decision.edits,
        notices=tuple(_name_suite(notice, suites) for notice in others),
        next_steps=sentences.suggest_next_steps(decision, suites, causes, settings),
        coverage=decision.coverage,
        coverage_line=coverage_line,
        last_paragraph=sentences.write_last_paragraph(decision, suites, headline, coverage_line),
        quiet_line=sentences.write_quiet_line(decision, suites, headline, coverage_line),
        settings=settings,
    )


# -- Suites ----------------------------------------------------------------------------------------


def _build_suites(decision: Decision, settings: ViewSettings) -> tuple[SuiteView, ...]:
    """Build the suites that a report shows, worst first.

    If only the base branch's checks fail, its suites are shown in place of the current ones, which
    may have lost the queries that got worse, or may be gone.
    """
    base_keys = set()
    suites = []
    evaluations = [*decision.current.evaluations]
    if decision.base:
        evaluations += decision.base.evaluations
    labels = _label_suites([evaluation.suite for evaluation in evaluations])
    if decision.base and decision.outcome is Outcome.REVIEW:
        for evaluation in decision.base.evaluations:
            suite = _build_suite(evaluation, decision.base, settings, labels, is_base=True)
            if suite.outcome is Outcome.REVIEW:
                suites.append(suite)
                base_keys.add((evaluation.suite.path, evaluation.suite.retriever))
    for evaluation in decision.current.evaluations:
        if (evaluation.suite.path, evaluation.suite.retriever) not in base_keys:
            suites.append(_build_suite(evaluation, decision.current, settings, labels))
    # The worst outcome is first, then the largest drop of the primary metric.
    suites.sort(key=lambda suite: suite.primary.improvement if suite.primary else 0.0)
    return tuple(sorted(suites, key=lambda suite: -suite.outcome))


def _label_suites(suites: Sequence[Suite]) -> dict[SuiteKey, str]:
    """Return what to call each suite: by its retriever if all have one name, or by both."""
    retrievers: dict[str, set[RetrieverId]] = {}
    for suite in suites:
        retrievers.setdefault(suite.name, set()).add(suite.retriever)
    labels = {}
    for suite in suites:
        label = suite.name
        if len(retrievers[suite.name]) > 1:
            fixtures = {retriever.fixture for retriever in retrievers[suite.name]}
            is_one_fixture = len(fixtures) == 1 and suite.retriever.parameter
            retriever = suite.retriever.parameter if is_one_fixture else str(suite.retriever)
            label = retriever if len(retrievers) == 1 else f"{suite.name} · {retriever}"
        labels[SuiteKey(suite.path, suite.retriever)] = label
    return labels


def _build_suite(
    evaluation: Evaluation,
    side: BranchEvaluation,
    settings: ViewSettings,
    labels: Mapping[SuiteKey, str],
    *,
    is_base: bool = False,
) -> SuiteView:
    suite = evaluation.suite
    rows = query_rows.build_query_rows(evaluation)
    shared_results = _list_shared_results(evaluation, side, rows)
    outcome = find_worst_outcome([*evaluation.results, *shared_results], evaluation.notices)
    primary = build_tile(evaluation, suite.primary_metric)
    retriever, metric = str(suite.retriever), str(suite.primary_metric)
    series = select_series(settings.history, suite.path, retriever, metric)
    return SuiteView(
        name=suite.name,
        path=suite.path,
        retriever=retriever,
        label=labels[SuiteKey(suite.path, suite.retriever)],
        outcome=min(outcome, Outcome.REVIEW) if is_base else outcome,
        line=sentences.write_suite_line(rows),
        metric=metric,
        primary=primary if primary.value is not None else None,
        tiles=build_tiles(evaluation, [*evaluation.results, *shared_results]),
        rows=rows,
        tags=_build_tags(evaluation, rows),
        history=tuple(HistoryPoint(value, entry.date, entry.commit) for entry, value in series),
        is_base=is_base,
        evaluation=evaluation,
    )


def _list_shared_results(
    evaluation: Evaluation, side: BranchEvaluation, rows: Sequence[query_rows.QueryRow]
) -> list[CheckResult]:
    """Return the results of shared checks that concern a suite."""
    suite = evaluation.suite
    has_drops = any(row.direction is query_rows.Direction.WORSE for row in rows)
    results = []
    for result in side.shared_results:
        # A check over several suites concerns those in which something got worse.
        is_about_suite = result.suite_path == suite.path or (not result.suite_path and has_drops)
        if is_about_suite and result.retriever in (None, suite.retriever):
            results.append(result)
    return results


def _build_tags(evaluation: Evaluation, rows: Sequence[query_rows.QueryRow]) -> tuple[TagRow, ...]:
    suite = evaluation.suite
    directions = {row.query.id: row.direction for row in rows}
    metrics = list(dict.fromkeys([suite.primary_metric, *suite.metrics]))
    tags = []
    for tag, queries in suite.queries_by_tag.items():
        every_tile = [build_tile(evaluation, metric, tag) for metric in metrics]
        tiles = [tile for tile in every_tile if tile.value is not None]
        worse = sum(directions[query.id] is query_rows.Direction.WORSE for query in queries)
        better = sum(directions[query.id] is query_rows.Direction.BETTER for query in queries)
        tags.append(TagRow(tag, len(queries), worse, better, tuple(tiles)))
    return tuple(sorted(tags, key=lambda tag: tag.improvement))


def _list_rows(
    rows: Sequence[query_rows.QueryRow], direction: query_rows.Direction
) -> tuple[query_rows.QueryRow, ...]:
    """Return the rows with a direction, largest change first."""
    selected = [row for row in rows if row.direction is direction]
    if direction is query_rows.Direction.CHANGED:
        return tuple(sorted(selected, key=lambda row: not row.is_first_hit_new))
    return tuple(sorted(selected, key=lambda row: -abs(row.improvement)))


# -- Header, messages and checks -------------------------------------------------------------------


def _build_header(suites: Sequence[SuiteView], settings: ViewSettings) -> Header:
    names = list(dict.fromkeys(suite.name for suite in suites))
    commit, dash, state = settings.commit.partition("-")
    compared_with = settings.compared_with
    if compared_with and settings.compared_commit:
        compared_with += f" ({settings.compared_commit[:COMMIT_LENGTH]})"
    search_names = query_rows.choose_names(suite.evaluation for suite in suites)
    if not search_names.is_one_search:
        compared_with = search_names.before
    return Header(
        suite=names[0] if len(names) == 1 else format_count(len(names), "suite"),
        path=suites[0].path if len(names) == 1 else "",
        branch=settings.branch,
        commit=f"{commit[:COMMIT_LENGTH]}{dash}{state}",
        compared_with=compared_with,
        date=settings.now.strftime("%d %b %Y, %H:%M") if settings.now else "",
    )


def _list_notices(decision: Decision) -> list[Notice]:
    """Return all notices but those that other parts of the view, or other retrievers, repeat."""
    notices: dict[tuple[str, Text], Notice] = {}
    for notice in (*decision.notices, *decision.current.notices):
        key = (notice.subject, notice.text)
        if notice.code in REPEATED_NOTICES:
            continue
        if key in notices and notices[key].retriever != notice.retriever:
            notice = replace(notice, retriever=None)  # noqa: PLW2901
        notices[key] = notice
    return list(notices.values())


def _find_causes(decision: Decision, notices: Sequence[Notice]) -> list[Notice]:
    """Return the notices that explain the outcome: errors first, then causes, then by severity."""
    explained = {Outcome.ERROR, Outcome.INCOMPLETE, Outcome.REVIEW} & {decision.outcome}
    causes = [notice for notice in notices if notice.is_cause or notice.outcome in explained]
    return sorted(
        causes,
        key=lambda each: (each.outcome is not Outcome.ERROR, not each.is_cause, -each.outcome),
    )


def _show_causes(
    causes: Sequence[Notice], decision: Decision, suites: Sequence[SuiteView], headline: Headline
) -> Iterator[Notice]:
    """Yield the causes as reports show them, without what the headline says."""
    for cause in causes:
        # The headline says that there are no answers.
        is_known = cause.code == NoticeCode.LARGE_GAP and not decision.coverage.compared
        is_known |= cause.code == NoticeCode.NOTHING_EVALUATED or cause.text == headline.sentence
        if not is_known:
            yield _name_suite(cause, suites)


def _name_suite(notice: Notice, suites: Sequence[SuiteView]) -> Notice:
    """Return a notice whose text begins with its suite, if there are several."""
    label = find_label(suites, notice)
    return replace(notice, text=write(DataPart(label), ": ", notice.text)) if label else notice


# -- Details of queries ----------------------------------------------------------------------------


@dataclass(frozen=True)
class QueryDetails:
    """What is known about one query besides its row and its documents.

    Attributes:
        values: Every metric shown, and those of the query's thresholds.
        results: The results of the checks that name the query.
        rerun: A command that runs the query again.
        acceptance: A command that accepts the current ranking of this query alone, if it changed.
    """

    values: tuple[query_rows.MetricValue, ...] = ()
    results: tuple[CheckResult, ...] = ()
    rerun: str = ""
    acceptance: str = ""


def build_query_details(suite_view: SuiteView, settings: ViewSettings) -> Iterator[QueryDetails]:
    """Build the details of every query of a suite, in the order of its rows."""
    evaluation, retriever = suite_view.evaluation, suite_view.retriever
    suite, comparison = evaluation.suite, evaluation.comparison
    metrics = list(dict.fromkeys([suite.primary_metric, *suite.metrics]))
    results = query_rows.group_results(evaluation.results)
    items = {item.query_id: item.name for item in suite.items if item.query_id}
    # Queries from a file have no item, and so one command in common.
    create_node = cache(partial(sentences.create_node_id, settings, suite.path, retriever))
    quote_rerun = cache(lambda node: quote_command(settings.command, [node]))
    queries = [row.query for row in suite_view.rows]
    columns = [query_rows.list_query_values(comparison, metric, queries) for metric in metrics]
    for row, *values in zip(suite_view.rows, *columns, strict=True):
        query_id = row.query.id
        item = items.get(query_id, "")
        node = create_node(item)
        acceptance = ""
        if row.direction.is_change and not comparison.compared_search:
            # An update of one query touches one line of the baseline. A query from a file has no
            # item, so the option names it.
            words = list(settings.update_command)
            if not item:
                words[words.index("--ir-update-baseline")] += f"={query_id}"
            acceptance = quote_command(words, [node])
        own_results = tuple(results.get(query_id, ()))
        yield QueryDetails(tuple(values), own_results, quote_rerun(node), acceptance)
