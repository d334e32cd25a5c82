"""The report of a suite as sections, the same for every medium.

Sentences, lists, tables and steps stand in the order in which they are read, each with a rank by
which it goes where there is too little room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_irquality.verdict.result import QueryResult, SuiteResult
from pytest_irquality.wording.answers import noise_said, wordings_said
from pytest_irquality.wording.block import Cell, Column, Part, Row, Section, Table
from pytest_irquality.wording.causes import known_causes, risen
from pytest_irquality.wording.examined import in_full
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.losers import Worse
from pytest_irquality.wording.mean_tables import tags
from pytest_irquality.wording.numbers import counted, figure, grouped
from pytest_irquality.wording.sentences import warnings
from pytest_irquality.wording.stories import known_issues, steps_of
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.trails import over_time
from pytest_irquality.wording.words import cut, revision

BROKEN_IN_BRIEF, LONGEST = 4, 80
PAGE = 99
"""The rank of what stands on the page alone."""


def told(story: Story, most: int = 5) -> Sequence[Section]:
    """The sections of a suite with so many of its worst queries."""
    result, limits = story.result, Limits(story.result, story.damage)
    worst = worst_of([story], most)
    sections = (
        Section("", (*_listed(25, map(": ".join, result.remarks.items())), *_sums(story))),
        Section(worst.columns[0].about, (*_table(3, worst), *_listed(7, _lost(story)))),
        Section(
            "What happened", (*_listed(6, known_causes(result)), *_listed(8, risen(story.damage)))
        ),
        *_measures(limits),
        Section(
            f"Tags, {'most damaged' if result.baseline else 'lowest'} first",
            _table(PAGE, tags(result, limits)),
            "Slices",
            note=str(len({mean.tag for mean in result.means} - {None}) or ""),
        ),
        Section("What this rests on", _listed(7, story.rests_on), warns=story.shaky, beside=True),
        Section("Known issues", _listed(20, known_issues(result)), small=True),
        Section("Warnings", _listed(15, warnings(result)), warns=True, small=True),
        Section("Notes", _listed(30, story.notes), small=True),
        Section(
            "Other wordings",
            _listed(16, wordings_said(result)),
            "Wordings",
        ),
        Section(
            "What unchanged code does",
            _listed(16, noise_said(result)),
            "Unchanged code",
        ),
        Section("Over the last changes", _history(result), "History"),
        *(
            Section("The base's suite", (Part(PAGE, said), Part(PAGE, differences)), "Base")
            for said, differences in map(in_full, result.exams)
        ),
        Section("Files", tuple(Part(5, line) for line in result.written), small=True),
        Section(
            "",
            _compared(story),
            small=True,
        ),
        Section(
            "Next",
            tuple(Part(5 if step.command else 6, step) for step in steps_of([story])),
            beside=True,
        ),
    )
    return [section for section in sections if section.parts]


def _compared(story: Story) -> tuple[Part, ...]:
    """Tell what was compared: the sums that a tick rests on come first where nothing failed."""
    said = "; ".join(filter(None, (story.compared_with, story.ledger)))
    return _listed(7 if story.state == "failed" else 1, [said])


def _lost(story: Story) -> Iterator[str]:
    if story.tags and story.state == "failed":
        yield f"tags that lost most: {story.tags}"


def _listed(rank: int, texts: Iterable[str]) -> tuple[Part, ...]:
    """Sentences, each less weighty than the one before."""
    return tuple(Part(rank + at, text) for at, text in enumerate(filter(None, texts)))


def _history(result: SuiteResult) -> tuple[Part, ...]:
    drawn = tuple(Part(PAGE, line) for line in over_time(result))
    each = _listed(PAGE, ["each value is over the queries and grades of its change"])
    return (*drawn, *_table(PAGE, _past(result)), *(each if drawn else ()))


def _past(result: SuiteResult) -> Table:
    """The measures shown, a row for each of the last changes."""
    rows = (
        Row((revision(one.commit), *_figures(result, one.values))) for one in reversed(result.past)
    )
    measures = (Column(measure, number=True) for measure in result.shown)
    return Table((Column("change"), *measures), tuple(rows)).without_empty()


def _figures(result: SuiteResult, values: Mapping[str, float]) -> Iterator[str]:
    for measure in result.shown:
        yield figure(values[measure], result.unit(measure)) if measure in values else ""


def _table(rank: int, table: Table) -> tuple[Part, ...]:
    return (Part(rank, table),) if table.rows else ()


def _sums(story: Story) -> Iterator[Part]:
    """The places where passages were lost, and how many queries got worse and better."""
    yield from _listed(1, [story.fates])
    if story.tally:
        yield Part(2, story.mean, story.tally)


# -- limits ---------------------------------------------------------------------------------------


NO_LIMIT = "This suite sets no limit on a measure."


def _measures(limits: Limits) -> Iterator[Section]:
    """The limits that are broken, and all measures and limits."""
    broken, many = broken_limits(limits), len(limits.damage.failed_limits)
    yield Section("", _table(5, broken))
    parts = _table(PAGE - 1 if broken.rows else 4, limits.table)
    parts += () if limits.verdicts else (Part(PAGE, NO_LIMIT),)
    yield Section("Measures and limits", parts, "Limits", note=f"{many} broken" if many else "")


def broken_limits(limits: Limits) -> Table:
    """Broken limits in short: of what, both values or else the change, and the bound."""
    short = []
    for row in limits.table.rows:
        measure, of, before, now, change, limit, state, *_ = map(str, row.cells)
        if row.rank or state[:1] != "✗":
            continue
        values = " → ".join(filter(None, (before, now))) or change
        named = f"✗ {measure}{of and f', {of}'}"
        short.append(Row((named, values, limit)))
    more = len(short) - BROKEN_IN_BRIEF
    left = f"and {counted(more, 'more limit')}" if more > 0 else ""
    return Table((Column(""),) * 3, tuple(short[:BROKEN_IN_BRIEF]), left)


# -- the worst queries -----------------------------------------------------------------------------


def worst_of(stories: Sequence[Story], most: int, tag: str = "") -> Table:
    """The worst queries of some suites, or of a tag alone, with what moved.

    They are those that lost most, or where none lost anything those of the lowest value.
    """
    lowest = all(story.lowest for story in stories)
    every = _losers([story for story in stories if story.lowest == lowest], tag)
    worst = [(story, story.in_words(query)) for story, query in every[:most]]
    measures = ", ".join(dict.fromkeys(story.damage.measure for story, _ in every))
    rest = f"{measures}, the worst of {grouped(len(every))}" if len(every) > most else measures
    title = f"{'Lowest' if lowest else 'Lost most'} {rest}"
    return _under(title, lowest, _rows(worst, several=len(stories) > 1))


def _losers(stories: Sequence[Story], tag: str) -> Sequence[tuple[Story, QueryResult]]:
    every = ((story, query) for story in stories for query in story.losers)
    tagged = [(story, query) for story, query in every if not tag or tag in query.tags]
    return sorted(tagged, key=lambda pair: -pair[0].damage.loss(pair[1]))


def _under(title: str, lowest: bool, rows: Sequence[Row]) -> Table:
    """The worst queries under their title, which stands above the first or in the head."""
    lost, moved = ("value", "what moved or is missing") if lowest else ("lost", "what moved")
    columns = (
        Column("", about=title, room=36),
        Column("", number=True, about=lost),
        Column("", about="values"),
        Column("", about=moved, room=40),
    )
    first = [row._replace(over=f"{title}:") for row in rows[:1]]
    return Table(columns, (*first, *rows[1:]))


def _rows(worst: Sequence[tuple[Story, Worse]], *, several: bool) -> Sequence[Row]:
    """A row for each query, with its suite where there are several."""
    largest = max((abs(worse.change) for _, worse in worst), default=0.0) or 1.0
    return [
        Row(
            (
                Cell(
                    cut(f"{story.name}: " * several + worse.query.text, LONGEST),
                    query=worse.query.id,
                ),
                Cell(worse.lost, css="bad", filled=abs(worse.change) / largest),
                worse.values,
                Cell(cut(worse.moves), short=cut(worse.moves_of_ids)),
            )
        )
        for story, worse in worst
    ]
