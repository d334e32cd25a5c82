"""The HTML report: one file that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_irquality.evaluation.results import Outcome
from pytest_irquality.io.files import OUTPUT_MARKER
from pytest_irquality.io.text import format_count
from pytest_irquality.reports.page_data import build_page_data
from pytest_irquality.reports.query_rows import QUERY_COLUMNS, Direction, QueryRow
from pytest_irquality.reports.templating import (
    create_html_environment,
    load_asset,
    pack_script_data,
)
from pytest_irquality.reports.tiles import Tile
from pytest_irquality.reports.view_model import (
    MARKS,
    CheckRow,
    HistoryPoint,
    Message,
    SuiteView,
    View,
)

MAX_OPEN_SUITES = 8
MAX_CARD_ROWS = 5
MAX_STATIC_ROWS = 200
MAX_BARS = 140
BAR_SPAN = 280
BAR_HEIGHT = 56
CHANGES = frozenset({Direction.WORSE, Direction.BETTER, Direction.CHANGED})
HEAT_STEPS = (0.005, 0.02, 0.05, 0.1)

CHART_LEFT, CHART_RIGHT = 48.0, 632.0
CHART_TOP, CHART_BOTTOM = 16.0, 164.0
MAX_CHART_TICKS = 5


def render_html(view: View) -> str:
    """Render the report as one HTML file."""
    failed = sum(row.outcome >= Outcome.FAILED for suite in view.suites for row in suite.rows)
    positions = {
        id(row): (suite_index, row_index)
        for suite_index, suite in enumerate(view.suites)
        for row_index, row in enumerate(suite.rows)
    }
    static_rows = _select_static_rows(view)
    row_count = sum(len(suite.rows) for suite in view.suites)
    loud_suites, quiet_suites = _split_suites(view.suites)
    charts = [_build_chart(suite) for suite in view.suites if suite.history]
    template = create_html_environment().get_template("report.html")
    return template.render(
        view=view,
        marker=OUTPUT_MARKER,
        style=load_asset("tokens.css", "report.css"),
        script=load_asset("shared.js", "report.js"),
        data=pack_script_data(build_page_data(view)),
        marks=MARKS,
        facts=_list_facts(view),
        tabs=list(_list_tabs(view, failed, has_history=bool(charts))),
        columns=QUERY_COLUMNS,
        loud_suites=loud_suites,
        quiet_suites=quiet_suites,
        several=len(view.suites) > 1,
        has_retrievers=len({suite.retriever for suite in view.suites}) > 1,
        has_tags=any(suite.tags for suite in view.suites),
        tag_metrics=[_list_tag_metrics(suite) for suite in view.suites if suite.tags],
        groups=list(_group_rows(view)),
        limit=MAX_CARD_ROWS,
        positions=lambda row: positions[id(row)],
        static_rows=static_rows,
        hidden_count=row_count - len(static_rows),
        bars=_build_bars(view),
        heat=_get_heat,
        checks=list(_group_checks(view.checks)),
        notices=list(_group_notices(view.notices)),
        grading_link=view.settings.grading_link,
        charts=charts,
    )


def _list_facts(view: View) -> list[str]:
    header = view.header
    facts = []
    if header.branch or header.commit:
        facts.append(" ".join(filter(None, (header.branch, header.commit))))
    if header.compared_with:
        facts.append(f"compared with {header.compared_with}")
    facts.append(str(view.coverage_line))
    if header.date:
        facts.append(header.date)
    return facts


def _list_tabs(view: View, failed: int, *, has_history: bool) -> Iterator[dict[str, Any]]:
    """Yield the tabs with their counts, which are red only if something failed."""
    yield {"key": "overview", "title": "Overview", "count": "", "is_bad": False}
    rows = sum(len(suite.rows) for suite in view.suites)
    count = f"{failed:,} failed" if failed else f"{rows:,}"
    yield {"key": "queries", "title": "Queries", "count": count, "is_bad": failed}
    failures = sum(check.outcome >= Outcome.FAILED for check in view.checks)
    count = f"{failures:,} failed" if failures else f"{len(view.checks):,}"
    yield {"key": "checks", "title": "Checks", "count": count, "is_bad": failures}
    tags = sum(len(suite.tags) for suite in view.suites)
    if tags:
        yield {"key": "tags", "title": "Tags", "count": f"{tags:,}", "is_bad": False}
    if has_history:
        yield {"key": "history", "title": "History", "count": "", "is_bad": False}


def _group_rows(view: View) -> Iterator[tuple[str, str, Sequence[QueryRow], str]]:
    """Yield the cards of the overview: identifier, title, rows, and the filter of the table."""
    if view.worse:
        yield "worse", "What got worse", view.worse, "worse"
    if view.better:
        yield "better", "What got better", view.better, "better"
    if view.changed:
        yield "changed", "What changed at the top", view.changed, "changed"


def _split_suites(suites: Sequence[SuiteView]) -> tuple[list[SuiteView], list[SuiteView]]:
    """Split many suites into those to look at and those that passed without any change."""
    loud: list[SuiteView] = []
    quiet: list[SuiteView] = []
    for suite in suites:
        has_changes = any(row.direction in CHANGES for row in suite.rows)
        is_loud = has_changes or suite.outcome is not Outcome.PASSED
        (loud if is_loud else quiet).append(suite)
    if len(suites) <= MAX_OPEN_SUITES or not loud:
        return list(suites), []
    return loud, quiet


def _select_static_rows(view: View) -> list[QueryRow]:
    """Select the rows for readers without scripts, those that changed or failed first."""
    rows = [row for suite in view.suites for row in suite.rows]
    is_quiet = {Direction.UNCHANGED, Direction.NONE}
    rows.sort(key=lambda row: (-row.outcome, row.direction in is_quiet, row.gain))
    return rows[:MAX_STATIC_ROWS]


def _group_checks(checks: Sequence[CheckRow]) -> Iterator[tuple[str, list[CheckRow], bool]]:
    """Yield the checks by outcome: title, checks, and whether the table is open."""
    known_issues = [check for check in checks if check.known_issue]
    for outcome in sorted(Outcome, reverse=True):
        group = [check for check in checks if check.outcome is outcome and not check.known_issue]
        if not group:
            continue
        if outcome is Outcome.PASSED:
            could_fail = [check for check in group if check.was_evaluated]
            others = [check for check in group if not check.was_evaluated]
            if could_fail:
                yield f"{format_count(len(could_fail), 'check')} passed", could_fail, False
            if others:
                yield f"{format_count(len(others), 'check')} could not fail", others, False
        else:
            yield f"{format_count(len(group), 'check')}: {outcome.name}", group, True
    if known_issues:
        yield f"{format_count(len(known_issues), 'known issue')}", known_issues, True


def _group_notices(notices: Sequence[Message]) -> Iterator[tuple[str, list[Message], bool]]:
    """Yield the notices by severity: title, notices, and whether they are open."""
    for outcome in sorted(Outcome, reverse=True):
        group = [message for message in notices if message.outcome is outcome]
        if group and outcome is Outcome.PASSED:
            yield format_count(len(group), "notice"), group, len(group) <= 2
        elif group:
            yield f"{format_count(len(group), 'notice')}: {outcome.name}", group, True


def _list_tag_metrics(suite: SuiteView) -> list[str]:
    metrics: dict[str, None] = {}
    for tag in suite.tags:
        metrics.update(dict.fromkeys(tile.metric for tile in tag.tiles))
    return list(metrics)


def _get_heat(tile: Tile) -> str:
    """Return the class of a cell of the table of tags, by the size of its change."""
    level = sum(abs(tile.gain) >= step for step in HEAT_STEPS)
    if not level:
        return ""
    return f"{'better' if tile.gain > 0 else 'worse'} heat-{level}"


# -- Charts --------------------------------------------------------------------------------------


def _build_bars(view: View) -> dict[str, Any] | None:
    """Build the chart of every query's change, worst first."""
    rows = [row for suite in view.suites for row in suite.rows if row.change is not None]
    worse, better = len(view.worse), len(view.better)
    if len(rows) < 2 or not worse + better:
        return None
    gains = sorted(row.gain for row in rows)
    # Of very many queries each bar shows one of several neighbours, which are nearly equal.
    step = max(1.0, len(gains) / MAX_BARS)
    shown = [gains[int(index * step)] for index in range(int(len(gains) / step))]
    shown[-1] = gains[-1]
    scale = BAR_HEIGHT / max(abs(gains[0]), abs(gains[-1]))
    span = BAR_SPAN / len(shown)
    bars = []
    for index, gain in enumerate(shown):
        height = max(abs(gain) * scale, 1.0) if gain else 0.0
        if height:
            bars.append(
                {
                    "direction": "better" if gain > 0 else "worse",
                    "x": f"{index * span:.1f}",
                    "y": f"{60 - height if gain > 0 else 60:.1f}",
                    "height": f"{height:.1f}",
                }
            )
    same = len(rows) - worse - better
    label = f"{worse:,} worse, {same:,} unchanged, {better:,} better"
    return {"bars": bars, "width": f"{max(span - 1, span * 0.75):.1f}", "label": label}


def _build_chart(suite: SuiteView) -> dict[str, Any]:
    """Build the line of a suite's primary metric over earlier builds and this one."""
    points = list(suite.history)
    if suite.primary and suite.primary.value:
        points.append(HistoryPoint(suite.primary.value.value, "now"))
    values = [point.value for point in points]
    low, high = min(values), max(values)
    # A flat line is drawn in the middle, and small changes are not blown up to full height.
    margin = max(0.02 - (high - low), 0.0) / 2 + 0.1 * (high - low)
    low, high = low - margin, high + margin

    def place_y(value: float) -> float:
        return CHART_BOTTOM - (value - low) / (high - low) * (CHART_BOTTOM - CHART_TOP)

    width = CHART_RIGHT - CHART_LEFT - 8
    dots = []
    for index, point in enumerate(points):
        x = CHART_LEFT + 8 + width * index / max(len(points) - 1, 1)
        title = " ".join(filter(None, (f"{point.value:.3f}", point.date, point.commit)))
        dots.append({"x": f"{x:.1f}", "y": f"{place_y(point.value):.1f}", "title": title})
    step = max(1, -(-(len(points) - 1) // (MAX_CHART_TICKS - 1)))
    ticks = []
    for index in {*range(0, len(points), step), len(points) - 1}:
        anchor = "end" if index == len(points) - 1 else "start" if index == 0 else "middle"
        ticks.append({"x": dots[index]["x"], "text": points[index].date[:10], "anchor": anchor})
    lines = []
    for fraction in (0.0, 0.5, 1.0):
        value = low + fraction * (high - low)
        lines.append({"y": round(place_y(value), 1), "text": f"{value:.3f}"})
    label = f"{suite.metric} of {suite.name}: {values[0]:.3f} to {values[-1]:.3f}"
    return {
        "title": f"{suite.name} · {suite.metric} over {format_count(len(points), 'build')}",
        "label": label,
        "points": " ".join(f"{dot['x']},{dot['y']}" for dot in dots),
        "dots": dots,
        "ticks": ticks,
        "lines": lines,
    }
