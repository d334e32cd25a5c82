"""The sections that a page has of a suite: what every report has, and what takes its room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.wording.block import (
    STATES,
    Cell,
    ChangeBar,
    Changes,
    Column,
    Part,
    Row,
    Section,
    Table,
    loudness,
)
from pytest_irquality.wording.examined import in_full
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.mean_tables import coloured
from pytest_irquality.wording.numbers import counted, figure, signed
from pytest_irquality.wording.query_table import Queries
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import PAGE, broken_limits, told
from pytest_irquality.wording.words import cut, revision

WORST, FAILURES = 5, 6
BARS, NAMED = 120, 3
"""The bars of the row of all changes, and how many queries of each are named."""


def workbench(story: Story, queries: Queries, largest: float) -> Sequence[Section]:
    """All sections; ``largest`` is the change of the tallest bar on the page."""
    result, damage = story.result, story.damage
    filters = queries.table.filters
    counts = {key: filters[key][1] for key in ("failed", "worse") if key in filters}
    note = next((f"{many} {key}" for key, many in counts.items() if many), "")
    sections = (
        _section("", broken_limits(Limits(result, damage))),
        *_drawn(queries, largest),
        Section("Queries, worst first", (Part(PAGE, queries.listed()),), "Queries", note=note),
        *told(story, most=WORST),
        _section("What else failed", _failures(story)),
        *(
            Section("The base's suite", (Part(PAGE, said), Part(PAGE, differences)), "Base")
            for said, differences in map(in_full, result.exams)
        ),
        Section("", (Part(PAGE, " · ".join(_facts(result))),), small=True),
    )
    return [section for section in sections if section.parts]


def _section(title: str, table: Table, tab: str = "Overview") -> Section:
    return Section(title, (Part(PAGE, table),) if table.rows else (), tab)


def _facts(result: SuiteResult) -> Iterator[str]:
    """The origin of the figures."""
    yield f"suite {result.path}"
    if named := " ".join(filter(None, (result.retriever, result.version))):
        yield f"retriever {named}" if result.retriever else f"retriever version {named}"
    if result.commit:
        yield f"commit {revision(result.commit)}"
    if result.baseline:
        yield "both sides scored with today's judgments"
    yield f"{figure(result.seconds, 'seconds')} retrieving"


# -- what failed beside limits and the worst queries -----------------------------------------------


def _failures(story: Story) -> Table:
    """A few failures of every kind, so that no kind crowds out another."""
    limits = Limits(story.result, story.damage)
    shown = {worse.query.id for worse in story.worst(WORST)}
    kinds: dict[tuple[int, bool], list[tuple[Verdict, str]]] = {}
    for verdict, why in story.failures():
        of_query = verdict.query is not None
        if verdict.query not in shown and (of_query or verdict.outcome != "failed"):
            kinds.setdefault((loudness(verdict.outcome), of_query), []).append((verdict, why))
    rows = [
        _failure(limits, verdict, why)._replace(rank=turn)
        for kind in sorted(kinds)
        for turn, (verdict, why) in enumerate(kinds[kind])
    ]
    head = Column("", about="outcome"), Column("", about="what failed")
    return Table(head, tuple(rows)).most(FAILURES)


def _failure(limits: Limits, verdict: Verdict, why: str) -> Row:
    known = verdict.query in limits.result.by_id
    row = limits.name(verdict) if verdict.query is None else ""
    leading = Cell(cut(why), query=verdict.query or "" if known else "", row=row)
    return Row((Cell("", state=STATES[verdict.outcome]), leading))


# -- what moved ------------------------------------------------------------------------------------


def largest_changes(stories: Sequence[Story]) -> Mapping[str, float]:
    """The largest change of each measure over all suites, for one scale."""
    found: dict[str, float] = {}
    for story in stories:
        most = max(map(abs, story.damage.gains), default=0.0)
        found[story.damage.measure] = max(most, found.get(story.damage.measure, 0.0))
    return found


def _drawn(queries: Queries, largest: float) -> Iterator[Section]:
    """Every query's change as bars; nothing where nothing is compared, or nothing changed."""
    damage, unit = queries.damage, queries.result.unit(queries.damage.measure)
    worse, better = sum(gain < 0 for gain in damage.gains), sum(gain > 0 for gain in damage.gains)
    if not worse and not better:
        return
    said = f"{worse} worse, {better} better of {counted(len(damage.gains), 'query', 'queries')}"
    bars = tuple(_bars(queries, largest))
    drawn = Changes(damage.measure, said, figure(largest, unit), bars)
    yield Section(f"Every query's change in {damage.measure}", (Part(PAGE, drawn),), beside=True)


def _bars(queries: Queries, largest: float) -> Iterator[ChangeBar]:
    """A bar for each query, from the worst change to the best.

    Neighbours share one where there are more than there is room.
    """
    measure, sign, column = queries.damage.measure, queries.damage.sign, queries.damage.column
    changes = [(by, q) for q in queries.ordered if (by := q.change(column)) is not None]
    changes.sort(key=lambda one: sign * one[0])
    each = ceil(len(changes) / BARS)
    for group in (changes[at : at + each] for at in range(0, len(changes), each)):
        mean = sum(by for by, _ in group) / len(group)
        low, high = sorted((group[0][0], group[-1][0]))
        named = ", ".join(cut(query.text, 40) for _, query in group[:NAMED])
        yield ChangeBar(
            coloured(queries.result, measure, mean) or "quiet",
            sign * mean / largest,
            f"{named}: {signed(mean, queries.result.unit(measure))}",
            f"change:{low:.6g}..{high:.6g}",
        )
