"""Tables of plain text: measures with their limits, and retrievers beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.edges.printable import terminal
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.limits import margin
from pytest_irquality.verdict.result import Mean, SuiteResult, Verdict
from pytest_irquality.verdict.side_by_side import Side, SideBySide, side_by_side
from pytest_irquality.wording.caveats import MARKS as CAVEATS, whole
from pytest_irquality.wording.demand_words import bound
from pytest_irquality.wording.numbers import digits_apart, figure, grouped, probability, signed
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cells, columns, fit, fitted

MARKS = {
    "passed": "✓",
    "failed": "✗",
    "error": "✗ ERROR",
    "known": "known issue",
    "accepted": "accepted",
    "fixed": "✗ FIXED",
    "not evaluated": "✗ not evaluated",
}
Cells = tuple[str, str, str, str, str, str, str, str]
HEAD: Cells = ("measure", "before", "now", "change", "worse/better", "limit", "", "queries")
DISPENSABLE = (7, 4)
"""Columns that go where a terminal is too narrow for all."""
MOST_ROWS = 12


def rows_of(story: Story) -> Iterator[Cells]:
    """The measures shown, and every limit that has no plain tick, most damage first.

    Limits that hold are counted elsewhere.
    """
    result = story.result
    yield HEAD
    bad = [v for v in story.damage.failed_limits if v.outcome != "not evaluated"]
    bad += [v for v in result.verdicts if v.caveat and v.query is None]
    yield from _suite_rows(result, bad)
    others = [verdict for verdict in bad if _has_its_row(result, verdict)]
    for verdict in others[:MOST_ROWS]:
        yield _limit_row(result, verdict)
    if len(others) > MOST_ROWS:
        yield (f"and {grouped(len(others) - MOST_ROWS)} more", "", "", "", "", "", "✗", "")


def _has_its_row(result: SuiteResult, verdict: Verdict) -> bool:
    """Tell whether a limit stands in a row of its own, and not in that of its measure's mean.

    A default limit does where its measure has a written one.
    """
    if verdict.by_default and verdict.findings:
        return any(one.label == verdict.findings[0].measure for one in result.verdicts)
    return not verdict.over.suite


def _suite_rows(result: SuiteResult, bad: Sequence[Verdict]) -> Iterator[Cells]:
    """The measures shown, and those whose limit on the whole suite is bad."""
    limits = _limits_of_means(result)
    for mean in result.means:
        verdict = limits.get(mean.measure)
        if mean.tag is None and (mean.measure in result.shown or verdict in bad):
            limit = _limit(verdict) if verdict else ""
            yield _row(result, mean, verdict, mean.measure, limit)


def _limits_of_means(result: SuiteResult) -> Mapping[str, Verdict]:
    """The limits on the suite's means by measure, where a written one goes before the default."""
    limits = {verdict.label: verdict for verdict in result.verdicts if verdict.over.suite}
    defaults = [v for v in result.verdicts if v.by_default and v.findings]
    return {verdict.findings[0].measure: verdict for verdict in defaults} | limits


def _limit(verdict: Verdict) -> str:
    default = " by default" if verdict.by_default else ""
    return f"{', '.join(map(bound, verdict.findings))}{default}"


def _limit_row(result: SuiteResult, verdict: Verdict) -> Cells:
    """A limit on tags or queries: the one that broke worst, and how many did."""
    findings = verdict.broken or verdict.findings
    if not findings:
        return (verdict.label, "", "", "", "", "", _outcome(result, verdict), "")
    known = [finding for finding in findings if finding.value is not None]
    worst = min(known or findings, key=margin)
    limit = bound(worst)
    if len(verdict.broken) > 1:
        limit = ", ".join(filter(None, (limit, f"{grouped(len(verdict.broken))} broken")))
    mean = result.mean(worst.measure, worst.subject)
    if mean and worst.subject and verdict.over.tags:
        on = f"worst: {worst.subject}" if verdict.over.each else ""
        return _row(result, mean, verdict, verdict.label, limit, on=on)
    value, change = _extreme(worst)
    return (verdict.label, "", value, change, "", limit, _outcome(result, verdict), "")


def _extreme(finding: Finding) -> tuple[str, str]:
    """The value or else the change that is furthest beyond a limit on every query."""
    if finding.value is None:
        return "", ""
    if not finding.demand.on_change:
        return figure(finding.value, finding.unit), ""
    rise = -finding.value if finding.demand.falls else finding.value
    return "", signed(rise, finding.unit)


def _outcome(result: SuiteResult, verdict: Verdict) -> str:
    """A verdict's mark: that of a warning for one that passed although not all is so.

    Where the suite was judged in part nothing has a tick.
    """
    if verdict.caveat:
        return CAVEATS[verdict.caveat]
    if verdict.warned:
        return "!"
    in_part = result.partial and verdict.outcome == "passed"
    return "holds" if in_part else MARKS[verdict.outcome]


def _row(
    result: SuiteResult,
    mean: Mean,
    verdict: Verdict | None,
    label: str,
    limit: str,
    *,
    on: str = "",
) -> Cells:
    """A measure over the suite or a tag, with digits that tell its figures from broken limits.

    Where other queries are compared than are shown, both counts stand.
    """
    change = mean.change
    broken = [f for f in verdict.broken if f.subject == (mean.tag or "")] if verdict else []
    n = f"{mean.queries}"
    if mean.undefined:
        n = f"{n} ({mean.undefined} without a value)"
    before = moved = counts = ""
    if change:
        digits = _digits(broken, mean, on_change=True)
        before = figure(change.before, mean.unit)
        moved = signed(change.difference, mean.unit, digits)
        counts = f"{change.worse}/{change.better}"
        if change.queries != mean.queries:
            n = f"{n}, {change.queries} compared"
    on_change = change is not None and not whole(mean)
    now = figure(mean.now, mean.unit, _digits(broken, mean, on_change=on_change))
    n = "; ".join(filter(None, (n, whole(mean))))
    mark = _outcome(result, verdict) if verdict else ""
    return (label, before, now, moved, counts, limit, mark, ", ".join(filter(None, (n, on))))


def _digits(broken: Sequence[Finding], mean: Mean, on_change: bool) -> int:
    pairs = [
        (finding.value, finding.limit)
        for finding in broken
        if finding.value is not None
        and finding.limit is not None
        and finding.unit == mean.unit
        and finding.demand.on_change == on_change
    ]
    return max((digits_apart(value, limit, mean.unit) for value, limit in pairs), default=3)


def aligned(rows: Sequence[Cells], width: int) -> Iterator[str]:
    """Aligned columns in the width there is, without those that are empty.

    Where that is not enough, those that are dispensable go.
    """
    every = enumerate(zip(*rows, strict=True))
    widths = {n: max(map(cells, column)) for n, column in every if n in (0, 2) or any(column[1:])}
    for column in DISPENSABLE:
        if _wide(widths) > width:
            widths.pop(column, None)
    if (over := _wide(widths) - width) > 0:
        widths[0] = max(16, widths[0] - over)
    for row in rows:
        line = "  ".join(_aligned(row[n], n, column) for n, column in widths.items())
        yield fitted(terminal(f"  {line}".rstrip()), width)


def _wide(widths: Mapping[int, int]) -> int:
    return sum(column + 2 for column in widths.values())


def _aligned(text: str, at: int, width: int) -> str:
    """A cell in so many columns; the numbers are aligned to the right."""
    text = fit(text, width) if text else ""
    space = " " * (width - cells(text))
    return f"{space}{text}" if 0 < at < 5 else f"{text}{space}"


# -- retrievers -----------------------------------------------------------------------------------


def retrievers(results: Sequence[SuiteResult]) -> list[list[str]]:
    """A table for each suite that several retrievers answered."""
    return [list(_beside(table)) for table in side_by_side(results)]


def _beside(table: SideBySide) -> Iterator[str]:
    """The retrievers of a suite in columns: the best marked, the others with their distance."""
    tested = any(side.p is not None for row in table.rows for side in row.sides)
    two_sided = ", p two-sided" if tested else ""
    yield f"{table.suite} ({table.path})  {beside(table)}{two_sided}"
    rows = [("measure", *table.retrievers)]
    for row in table.rows:
        alike = len({side.queries for side in row.sides}) == 1
        rows.append((row.measure, *(one_side(side, row.unit, alike) for side in row.sides)))
    yield from columns(rows)


def beside(table: SideBySide) -> str:
    """The title of a table of retrievers. A star is explained where one stands."""
    stars = any(side.best for row in table.rows for side in row.sides)
    return "retrievers side by side" + (", ★ the best" if stars else "")


def one_side(side: Side, unit: str, alike: bool = True) -> str:
    """A value beside the best; where retrievers answered different queries, over how many."""
    value = figure(side.value, unit) + ("" if alike else f" over {side.queries}")
    if side.best:
        return f"{value} ★"
    if side.p is None:
        return value
    return f"{value} ({side.worse} worse, {side.better} better, {probability(side.p)})"
