"""Tables of means: tag by tag, suite by suite, and retriever beside retriever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import inf

from pytest_irquality.verdict.result import Mean, SuiteResult
from pytest_irquality.verdict.side_by_side import Side, SideBySide, side_by_side
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.block import LEVELS, Bar, Cell, Column, Row, State, Table
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.numbers import counted, figure, probability, signed
from pytest_irquality.wording.story import End, Story

ENDS: Mapping[End, str] = {"failed": "fail", "partial": "partial", "passed": "pass"}
OF_TAGS = Column("tag"), Column("n", number=True, about="queries")
HEATS = (0.005, 0.02, 0.05, 0.1)
"""The changes from which on a cell is a shade darker; of times and counts, parts of what was."""


def coloured(result: SuiteResult, measure: str, change: float) -> str:
    """The colour of a change: good, bad, or none where it is nothing or no side is better."""
    better = result.higher_is_better(measure)
    if abs(change) <= EQUAL or better is None:
        return ""
    return "good" if (change > 0) == better else "bad"


def mean_cell(
    result: SuiteResult, mean: Mean | None, queries: int | None, limits: Limits | None = None
) -> Cell:
    """A mean with its change; of how many queries, where its row is over others.

    With ``limits`` it is marked where one on it is broken, and drawn.
    """
    if mean is None:
        return Cell(figure(None))
    change = mean.change.difference if mean.change else 0.0
    over = f"of {mean.queries}" if mean.queries != queries else ""
    of = mean.tag or "", mean.measure
    state = limits.broken.get(of) if limits else None
    drawn = mean.measure == result.shown[0]
    return Cell(
        figure(mean.now, mean.unit),
        signed(change, mean.unit) if abs(change) > EQUAL else "",
        "; ".join(filter(None, (over, whole(mean)))),
        f"{coloured(result, mean.measure, change)}{_heat(mean)}",
        state,
        _bar(mean, state, limits.held_to.get(of)) if drawn and limits else None,
    )


def _heat(mean: Mean) -> int:
    """The shade of a change."""
    if mean.change is None:
        return 0
    by = abs(mean.change.difference) / (abs(mean.change.before) or 1 if mean.unit else 1)
    return sum(by >= step for step in HEATS)


def _bar(mean: Mean, state: State | None, limit: float | None) -> Bar | None:
    """A mean drawn on [0, 1]; None where it is beyond."""
    if mean.now is None or not 0 <= mean.now <= 1:
        return None
    tick = limit if limit is not None and 0 <= limit <= 1 else None
    return Bar(
        state.css if state else "quiet", mean.now, tick, mean.change.before if mean.change else None
    )


def tags(result: SuiteResult, limits: Limits) -> Table:
    """The means of all queries and of each tag, most damaged first.

    Those of a tag that is unchanged may be folded away: something is compared, nothing changed and
    nothing is broken.
    """
    asked = Counter(tag for query in result.queries for tag in query.tags)
    listed = sorted(filter(None, {mean.tag for mean in result.means}), key=partial(_damage, limits))
    rows = [_means(result, tag, asked[tag], limits) for tag in listed]
    same = sum(row.holds for row in rows)
    if same == len(rows):
        rows, same = [row._replace(holds=False) for row in rows], 0
    total = _means(result, None, len(result.queries), limits)
    columns = (*OF_TAGS, *(Column(measure, number=True) for measure in result.shown))
    return Table(columns, (total, *rows), fold=f"{counted(same, 'tag')} unchanged")


def _means(result: SuiteResult, tag: str | None, asked: int, limits: Limits) -> Row:
    means = [result.mean(measure, tag) for measure in result.shown]
    first = means[0].queries if means and means[0] else asked
    of = str(asked) if first == asked else f"{first}/{asked}"
    name = Cell("all queries") if tag is None else Cell(tag, find=f'tag:"{tag}"')
    cells = (mean_cell(result, mean, first, limits) for mean in means)
    return Row((name, of, *cells), holds=tag is not None and _is_unchanged(limits, tag, means))


def _is_unchanged(limits: Limits, tag: str, means: Sequence[Mean | None]) -> bool:
    """Tell whether a tag is compared, nothing of it changed, and nothing is broken."""
    changes = [mean.change.difference for mean in means if mean and mean.change]
    same = all(abs(change) <= EQUAL for change in changes)
    return same and limits.result.baseline is not None and not _is_broken(limits, tag)


def _is_broken(limits: Limits, tag: str) -> bool:
    return any((tag, measure) in limits.broken for measure in limits.result.measures)


def _damage(limits: Limits, tag: str) -> tuple[bool, float, float, str]:
    """Broken limits, then the largest loss, then the lowest value."""
    damage = limits.damage
    mean = limits.result.mean(damage.measure, tag)
    change = mean.change.difference if mean and mean.change else 0.0
    value = inf if mean is None or mean.value is None else mean.value
    return not _is_broken(limits, tag), damage.sign * change, damage.sign * value, tag


# -- several suites and retrievers -----------------------------------------------------------------


def mark(story: Story) -> State:
    """The end of a run with its symbol."""
    return State(story.level, LEVELS[story.level], ENDS[story.state])


def suites(stories: Sequence[Story]) -> Table:
    """A row a suite and retriever, in their order."""
    measures = dict.fromkeys(m for story in stories for m in story.result.shown)
    rows = []
    for place, story in enumerate(stories, 1):
        result = story.result
        means = [result.mean(m) if m in result.shown else None for m in measures]
        asked = len(result.queries)
        cells = (
            Cell(story.title, section=place),
            Cell(story.headline, state=mark(story)),
            str(len(story.damage.failures) or ""),
            story.tally,
            str(asked),
            *(mean_cell(result, mean, asked) if mean else "" for mean in means),
            _latency(result),
        )
        rows.append(Row(cells))
    columns = (
        Column("suite"),
        Column("verdict"),
        Column("failures", number=True),
        Column("worse and better"),
        Column("queries", number=True, rank=2),
        *(Column(measure, number=True, rank=n) for n, measure in enumerate(measures)),
        Column("latency", number=True, rank=3),
    )
    return Table(columns, tuple(rows)).without_empty()


def _latency(result: SuiteResult) -> str:
    """The median time of a call."""
    times = sorted(q.seconds for q in result.queries if q.seconds is not None)
    return figure(times[len(times) // 2], "seconds") if times else ""


def retrievers(results: Sequence[SuiteResult]) -> Iterator[tuple[str, Table]]:
    """A table for each suite that several retrievers answered, with its title."""
    for of in side_by_side(results):
        yield f"{of.suite} ({of.path})  {_title(of)}", _beside(of)


def _title(of: SideBySide) -> str:
    """The title of a table of retrievers. A star is explained where one stands."""
    sides = [side for row in of.rows for side in row.sides]
    stars = ", ★ the best" if any(side.best for side in sides) else ""
    tested = ", p two-sided" if any(side.p is not None for side in sides) else ""
    return f"retrievers side by side{stars}{tested}"


def _beside(of: SideBySide) -> Table:
    rows = []
    for row in of.rows:
        alike = len({side.queries for side in row.sides}) == 1
        rows.append(Row((row.measure, *(_side(side, row.unit, alike) for side in row.sides))))
    return Table((Column("measure"), *map(Column, of.retrievers)), tuple(rows))


def _side(side: Side, unit: str, alike: bool) -> str:
    """A value beside the best; where retrievers answered different queries, over how many."""
    value = figure(side.value, unit) + ("" if alike else f" over {side.queries}")
    if side.best:
        return f"{value} ★"
    if side.p is None:
        return value
    return f"{value} ({side.worse} worse, {side.better} better, {probability(side.p)})"
