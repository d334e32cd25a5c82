"""Tables of means: tag by tag, suite by suite, and retriever beside retriever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import inf
from operator import itemgetter

from pytest_irquality.verdict.pool import NEEDS_NO_GRADE
from pytest_irquality.verdict.result import Mean, SuiteResult
from pytest_irquality.verdict.statistics import EQUAL, win_tie_loss
from pytest_irquality.wording.block import LEVELS, Cell, Column, Row, State, Table
from pytest_irquality.wording.caveats import whole
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.numbers import figure, signed
from pytest_irquality.wording.story import End, Story

ENDS: Mapping[End, str] = {"failed": "fail", "partial": "partial", "passed": "pass"}
STAR = "★"
SHADES = (0.02, 0.05, 0.1)
"""The changes from which on a cell is darker; of times and counts, parts of what was."""
OF_TAGS = Column("tag"), Column("n", number=True, about="queries")


def coloured(result: SuiteResult, measure: str, change: float) -> str:
    """The colour of a change: good, bad, or none where it is nothing."""
    if abs(change) <= EQUAL:
        return ""
    return "good" if (change > 0) == result.higher_is_better(measure) else "bad"


def mean_cell(
    result: SuiteResult, mean: Mean | None, queries: int | None, limits: Limits | None = None
) -> Cell:
    """A mean with its change; of how many queries, where its row is over others.

    With ``limits`` it is marked where one on it is broken.
    """
    if mean is None:
        return Cell(figure(None))
    change = mean.change.difference if mean.change else 0.0
    over = f"of {mean.queries}" if mean.queries != queries else ""
    state = limits.broken.get((mean.tag or "", mean.measure)) if limits else None
    return Cell(
        figure(mean.now, mean.unit),
        signed(change, mean.unit) if abs(change) > EQUAL else "",
        "; ".join(filter(None, (over, whole(mean)))),
        coloured(result, mean.measure, change),
        _shade(mean),
        state,
    )


def _shade(mean: Mean) -> int:
    """The shade of a change."""
    if mean.change is None:
        return 1
    by = abs(mean.change.difference)
    if mean.unit:
        by /= abs(mean.change.before) or 1
    return 1 + sum(by >= step for step in SHADES)


def tags(result: SuiteResult, limits: Limits) -> Table:
    """The means of all queries and of each tag, most damaged first."""
    asked = Counter(tag for query in result.queries for tag in query.tags)
    listed = sorted(filter(None, {mean.tag for mean in result.means}), key=partial(_damage, limits))
    rows = [_means(result, tag, asked[tag], limits) for tag in listed]
    total = _means(result, None, len(result.queries), limits)
    columns = (*OF_TAGS, *(Column(measure, number=True) for measure in result.shown))
    return Table(columns, (total, *rows))


def _means(result: SuiteResult, tag: str | None, asked: int, limits: Limits) -> Row:
    means = [result.mean(measure, tag) for measure in result.shown]
    first = means[0].queries if means and means[0] else asked
    of = str(asked) if first == asked else f"{first}/{asked}"
    name = Cell("all queries") if tag is None else Cell(tag, find=_of_tag(tag))
    cells = (mean_cell(result, mean, first, limits) for mean in means)
    return Row((name, of, *cells))


def _of_tag(tag: str) -> str:
    """The search for a tag's queries; one that holds a quote stands without any around it."""
    return f"tag:{tag}" if '"' in tag else f'tag:"{tag}"'


def _damage(limits: Limits, tag: str) -> tuple[bool, float, float, str]:
    """Broken limits, then the largest loss, then the lowest value."""
    damage = limits.damage
    mean = limits.result.mean(damage.measure, tag)
    change = mean.change.difference if mean and mean.change else 0.0
    value = inf if mean is None or mean.value is None else mean.value
    broken = any((tag, measure) in limits.broken for measure in limits.result.measures)
    return not broken, damage.sign * change, damage.sign * value, tag


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
            Cell(story.name, section=place),
            Cell(story.headline, state=mark(story)),
            story.tally,
            *(mean_cell(result, mean, asked) if mean else "" for mean in means),
        )
        rows.append(Row(cells))
    columns = (
        Column("suite"),
        Column("verdict"),
        Column("worse and better"),
        *(Column(measure, number=True, rank=n) for n, measure in enumerate(measures)),
    )
    return Table(columns, tuple(rows)).without_empty()


def retrievers(results: Sequence[SuiteResult]) -> Iterator[tuple[str, Table]]:
    """A table for each suite that several retrievers answered, with its title."""
    suites: dict[str, list[SuiteResult]] = {}
    for result in results:
        suites.setdefault(result.path, []).append(result)
    for some in suites.values():
        if len(some) > 1:
            yield _beside(some)


def _beside(results: Sequence[SuiteResult]) -> tuple[str, Table]:
    """The table of a suite's retrievers. A star is explained where one stands."""
    first = results[0]
    rows = [Row((measure, *_values(measure, results))) for measure in first.shown]
    starred = any(str(cell).endswith(STAR) for row in rows for cell in row.cells)
    title = f"retrievers side by side{f', {STAR} the best' if starred else ''}"
    columns = (Column("measure"), *(Column(result.retriever) for result in results))
    return f"{first.suite} ({first.path})  {title}", Table(columns, tuple(rows))


def _values(measure: str, results: Sequence[SuiteResult]) -> Iterator[str]:
    """A measure of each retriever, the best with a star, the others held against it.

    Where retrievers answered different queries, it is said over how many.
    """
    means = [mean for result in results if (mean := result.mean(measure))]
    best = _best(means)
    alike = len({mean.queries for mean in means}) == 1
    for result, mean in zip(results, means, strict=True):
        value = figure(mean.value, mean.unit) + ("" if alike else f" over {mean.queries}")
        if best is None or mean.value is None:
            yield value
        elif abs(mean.value - (means[best].value or 0.0)) <= EQUAL:
            yield f"{value} {STAR}"
        else:
            yield f"{value}{_against(results[best], result, measure)}"


def _best(means: Sequence[Mean]) -> int | None:
    """The place of the best value; None where nothing is compared."""
    known = [(mean.value, place) for place, mean in enumerate(means) if mean.value is not None]
    if means[0].measure.startswith(NEEDS_NO_GRADE):
        return None
    if len(known) < 2:
        return None
    return (max if means[0].higher_is_better else min)(known, key=itemgetter(0))[1]


def _against(best: SuiteResult, other: SuiteResult, measure: str) -> str:
    """The queries that another retriever than the best answers worse, and better."""
    if best.unit(measure) == "seconds":
        return ""
    column = best.measures.index(measure)
    sign = 1 if best.higher_is_better(measure) else -1
    pairs = (
        (query.values[column], best.by_id[query.id].values[column])
        for query in other.queries
        if query.id in best.by_id
    )
    gains = [sign * (own - its) for own, its in pairs if own is not None and its is not None]
    better, _, worse = win_tie_loss(gains)
    return f" ({worse} worse, {better} better)"
