"""The report of a suite as sections, the same for every medium.

Sentences, lists, tables and steps stand in the order in which they are read, each with a rank by
which it goes where there is too little room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.answer_tables import wavering, wordings
from pytest_irquality.wording.answers import noise_said, wordings_said
from pytest_irquality.wording.block import Bar, Cell, Column, Part, Row, Section, Table
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.losers import Worse
from pytest_irquality.wording.mean_tables import tags
from pytest_irquality.wording.numbers import counted, grouped
from pytest_irquality.wording.sentences import warnings
from pytest_irquality.wording.stories import known_issues, steps_of
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.trails import over_time
from pytest_irquality.wording.words import cut

BROKEN_IN_BRIEF, LONGEST = 4, 80
PAGE = 99
"""The rank of what stands on the page alone."""


def told(story: Story, *, brief: bool = False, most: int = 5) -> Sequence[Section]:
    """The sections of a suite with so many of its worst queries, in ``brief`` with fewer limits."""
    result = story.result
    worst = worst_of([story], most)
    sections = (
        Section("", (*_listed(25, map(": ".join, result.remarks.items())), *_sums(story, brief))),
        Section(worst.columns[0].about, (*_table(3, worst), *_listed(14, _lost(story)))),
        Section("What happened", _listed(6, story.causes)),
        Section(
            "Measures and limits",
            tuple(_limits(story, brief)),
            "Limits",
            note=_broken(story),
        ),
        Section(
            f"Tags, {'most damaged' if result.baseline else 'lowest'} first",
            (*_table(PAGE, _tags(story)), *_listed(PAGE, [story.coverage])),
            "Slices",
            note=str(len({mean.tag for mean in result.means if mean.tag}) or ""),
        ),
        Section("What this rests on", _listed(7, story.rests_on), warns=story.shaky, beside=True),
        Section("Known issues", _listed(20, known_issues(result)), small=True),
        Section("Warnings", _listed(15, warnings(result)), warns=True, small=True),
        Section("Notes", _listed(30, story.notes), small=True),
        Section(
            "Other wordings",
            (*_table(16, wordings(result)), *_listed(16, wordings_said(result))),
            "Wordings",
        ),
        Section(
            "What unchanged code does",
            (*_listed(16, noise_said(result)), *_table(PAGE, wavering(result))),
            "Unchanged code",
        ),
        Section("Over the last changes", _lines(result), "History"),
        Section("Files", tuple(Part(5, line) for line in result.written), small=True),
        Section(
            "",
            _listed(
                _least(story, brief), ["; ".join(filter(None, (story.compared_with, story.ledger)))]
            ),
            small=True,
        ),
        Section(
            "Next",
            tuple(Part(5 if step.command else 8, step) for step in steps_of([story])),
            beside=True,
        ),
    )
    return [section for section in sections if section.parts]


def _broken(story: Story) -> str:
    many = len(story.damage.failed_limits)
    return f"{many} broken" if many else ""


def _lost(story: Story) -> Iterator[str]:
    if story.tags and story.state == "failed":
        yield f"tags that lost most: {story.tags}"


def _least(story: Story, brief: bool) -> int:
    return 6 if brief and story.state == "failed" else 1


def _listed(rank: int, texts: Iterable[str]) -> tuple[Part, ...]:
    """Sentences, each less weighty than the one before."""
    return tuple(Part(rank + at, text) for at, text in enumerate(filter(None, texts)))


def _lines(result: SuiteResult) -> tuple[Part, ...]:
    lines = (over_time(trail, result.unit(trail.measure)) for trail in result.trails)
    return tuple(Part(PAGE, line) for line in lines)


def _table(rank: int, table: Table) -> tuple[Part, ...]:
    return (Part(rank, table),) if table.rows else ()


def _sums(story: Story, brief: bool) -> Iterator[Part]:
    """The places where passages were lost, and how many queries got worse and better."""
    yield from _listed(1, [story.fates])
    if story.tally:
        yield Part(2, story.mean if brief else story.balance, story.tally)


# -- limits and tags -------------------------------------------------------------------------------


def _tags(story: Story) -> Table:
    return tags(story.result, Limits(story.result, story.damage))


def _limits(story: Story, brief: bool) -> Iterator[Part]:
    """The measures and limits; in brief the limits that are broken, if any are."""
    limits = Limits(story.result, story.damage)
    broken = broken_limits(limits) if brief else None
    yield from _table(5, broken) if broken and broken.rows else _table(4, limits.table)
    if not limits.verdicts:
        yield Part(PAGE, NO_LIMIT)


NO_LIMIT = "This suite sets no limit on a measure."


def broken_limits(limits: Limits) -> Table:
    """Broken limits in short: of what, both values or else the change, and the bound."""
    short = []
    for row in limits.table.rows:
        measure, of, before, now, change, _, limit, state, *_ = map(str, row.cells)
        if row.rank or state[:1] != "✗":
            continue
        values = " → ".join(filter(None, (before, now))) or change
        named = Cell(f"✗ {measure}{of and f', {of}'}", row=row.name)
        short.append(Row((named, values, limit)))
    more = len(short) - BROKEN_IN_BRIEF
    left = f"and {counted(more, 'more limit')}" if more > 0 else ""
    return Table((Column(""),) * 3, tuple(short[:BROKEN_IN_BRIEF]), left)


# -- the worst queries -----------------------------------------------------------------------------


def worst_of(stories: Sequence[Story], most: int) -> Table:
    """The worst queries of some suites, with what moved.

    They are those that lost most, or where none lost anything those of the lowest value.
    """
    lowest = all(story.lowest for story in stories)
    of = [story for story in stories if story.lowest == lowest]
    worst = _foremost(of, most)
    named = ", ".join(dict.fromkeys(story.damage.measure for story, _ in worst))
    many = sum(len(story.damage.worse) for story in of)
    shown = f", {len(worst)} of {grouped(many)}" if many > len(worst) else ""
    over = f"{'lowest' if lowest else 'lost most'} {named}{_the_worst_of(many, len(worst))}:"
    rows = _rows(worst, several=len(stories) > 1)
    rows = [row._replace(over="" if at else over) for at, row in enumerate(rows)]
    return Table(_columns(lowest, named, shown), tuple(rows))


def _the_worst_of(many: int, shown: int) -> str:
    """Of how many rows a heading is; how many stand below it, the room decides."""
    return f", the worst of {grouped(many)}" if many > shown else ""


def _rows(worst: Sequence[tuple[Story, Worse]], *, several: bool) -> Sequence[Row]:
    """A row for each query that got worse; with its suite and its measure where these differ."""
    largest = max((abs(worse.change) for _, worse in worst), default=0.0) or 1.0
    measured = len({story.damage.measure for story, _ in worst}) > 1
    return [
        _row(
            f"{story.name}: {worse.query.text}" if several else worse.query.text,
            worse,
            abs(worse.change) / largest,
            f"{story.damage.measure} {worse.values}" if measured else worse.values,
        )
        for story, worse in worst
    ]


def _foremost(stories: Sequence[Story], most: int) -> Sequence[tuple[Story, Worse]]:
    every = [(story, worse) for story in stories for worse in story.worst(most)]
    return sorted(every, key=lambda pair: -pair[0].damage.loss(pair[1].query))[:most]


def _columns(lowest: bool, measures: str, shown: str) -> tuple[Column, ...]:
    return (
        Column("", about=f"{'Lowest' if lowest else 'Worst'} queries{shown}", room=36),
        Column("", number=True, about=measures if lowest else f"lost {measures}"),
        Column("", about="values"),
        Column("", about="what moved or is missing" if lowest else "what moved", room=40),
    )


def _row(text: str, worse: Worse, filled: float, values: str) -> Row:
    return Row(
        (
            Cell(cut(text, LONGEST), query=worse.query.id),
            Cell(worse.lost, css="bad0", bar=Bar("bad", filled)),
            values,
            Cell(cut(worse.moves), short=cut(worse.moves_of_ids)),
        )
    )
