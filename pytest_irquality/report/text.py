"""The summary at the end of the session, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from pytest_irquality.edges.printable import terminal
from pytest_irquality.report.layout import text_lines, text_part, text_table
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.audit_lines import audit_of
from pytest_irquality.wording.block import Part, Section, Space, Table, within
from pytest_irquality.wording.mean_tables import retrievers
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.stories import Headline, overall, steps_of, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import PAGE, told
from pytest_irquality.wording.words import fitted, hanging, wrapped

KINDS, ROWS = 6, 16
MOST = {"What this rests on": 5, "Known issues": 3, "Warnings": 3, "Notes": 8, "Files": 12}
"""How many sentences a section has at the most."""
WORST, FEWER = 5, 3
"""How many of the worst queries are named of one suite, and of several or in brief."""
LINES, LINES_EACH, FEWEST = 56, 112, 5
"""How long the summary of one suite may be, those of several, and the least of one of these."""
HEAD = 2
"""The lines at the top of a table that stay together; of the others there may be fewer."""
BRIEF = 15
"""How long it may be in brief, with its headline."""


class Block(NamedTuple):
    """Some lines of the summary.

    Where it gets too long, the least weighty (the largest ``rank``) go first.
    """

    rank: int
    lines: Sequence[str]


def summary(
    results: Sequence[SuiteResult],
    width: int,
    written: Sequence[str] = (),
    left_out: Sequence[str] = (),
    *,
    brief: bool = False,
) -> Iterator[str]:
    """The story of every suite, the worst and the headline last, where a terminal is read first.

    ``written`` are lines on the files that were written, ``left_out`` the suites of which nothing
    was judged. In ``brief`` it has what one reads first, in fifteen lines.
    """
    stories, tables = worst_first(results), _beside(results, width)
    if brief:
        room = BRIEF - len(written) - len([*_last(stories, width, left_out)])
        yield from _in_brief(stories, width, room, tables)
    else:
        yield from _in_full(stories, width, LINES_EACH - len(written), tables)
    for lines in audits(results):
        yield from chain.from_iterable(hanging(line, width) for line in lines)
        yield ""
    yield from written
    yield from _last(stories, width, left_out)


def _in_full(
    stories: Sequence[Story], width: int, room: int, tables: Sequence[Sequence[str]]
) -> Iterator[str]:
    """All there is room for in a screen or two."""
    for lines in tables:
        yield from (*lines, "")
    if len(stories) == 1:
        yield from _within(list(_blocks(stories[0], width, alone=True)), LINES)
        return
    steps = [*chain(*(text_part(Part(0, step), width) for step in steps_of(stories)))]
    yield from _several(stories, width, room - sum(map(len, tables)) - len(steps))
    yield from steps


def _last(stories: Sequence[Story], width: int, left_out: Sequence[str]) -> Iterator[str]:
    """The last lines: the verdict over everything."""
    if len(stories) == 1 and not left_out:
        yield from _headline(stories[0], width, alone=True)
    elif stories:
        yield from _verdict(overall(stories, left_out), "", width)


def _in_brief(
    stories: Sequence[Story], width: int, room: int, tables: Sequence[Sequence[str]]
) -> Iterator[str]:
    """The worst suite, the others in a line each, and the next step, where there is room."""
    if not stories:
        return
    worst, *others = stories
    next_ = [Part(4 if step.command else 8, step) for step in steps_of(stories)]
    steps = [Block(part.rank, text_part(part, width)) for part in next_]
    named = [*_named(others, max(1, room // 3), width)]
    yield from named
    room -= len(named)
    blocks = [Block(2, tuple(table)) for table in tables]
    blocks += _blocks(worst, width, alone=not others, brief=True)
    lines = [line for story in stories for line in story.result.written if line[:3] != "   "]
    files = [Block("NOT " not in line, (terminal(f"  {line}"),)) for line in lines]
    yield from _within([*blocks, *files, *steps], room, "with -v, or in the report")


def _beside(results: Sequence[SuiteResult], width: int) -> Sequence[Sequence[str]]:
    """A table for each suite that several retrievers answered, under its title."""
    tables = retrievers(results)
    return [[fitted(title, width), *text_table(table, width)] for title, table in tables]


def _named(stories: Sequence[Story], most: int, width: int) -> Iterator[str]:
    """Some suites by a line each, the worst last, and how many more there are."""
    if len(stories) > most:
        yield f"  and {counted(len(stories) - most, 'more suite')}: see -v"
    for story in reversed(stories[:most]):
        yield fitted(next(_headline(story, width, alone=True)), width)


def _several(stories: Sequence[Story], width: int, room: int) -> Iterator[str]:
    """Several suites, the worst one last: as many as there is room for, of the others a line."""
    told = max(1, room // (FEWEST + 2))
    budget = max(FEWEST, room // max(len(stories), 1) - 2)
    for story in reversed(stories[told:]):
        yield from _headline(story, width, alone=True)
    for story in reversed(stories[:told]):
        yield from _within(list(_blocks(story, width, alone=False)), budget)
        yield from _headline(story, width, alone=False)
        yield ""


def quiet(results: Iterable[SuiteResult]) -> Iterator[str]:
    """One line a suite: the headline, the worst failure, and what the first measure did."""
    for result in results:
        story = Story(result)
        variant = f" [{result.retriever}]" if result.retriever else ""
        said = [
            f"{result.path}{variant}: {overall([story]).word}: {story.headline}",
            story.fates,
            *_worst_failure(story),
            story.first_mean,
            story.tally,
        ]
        yield "; ".join(filter(None, said))
        yield from (line for line in result.written if not line.startswith(" "))


def _worst_failure(story: Story) -> Iterator[str]:
    """The failure that did most damage, and how many more there are."""
    reasons = [why for _, why in story.failures()]
    if reasons:
        yield reasons[0]
    if len(reasons) > 1:
        yield counted(len(reasons) - 1, "more failure")


def _within(blocks: Sequence[Block], budget: int, where: str = "in the report") -> Iterator[str]:
    """The lines of as many blocks as there is room for, in their order."""
    kept = within([(b.rank, b) for b in blocks], budget - 1, lambda block: len(block.lines))
    for block in kept:
        yield from block.lines
    left = sum(len(block.lines) for block in blocks) - sum(len(block.lines) for block in kept)
    if left:
        yield f"  … {counted(left, 'more line')} {where}"


def _blocks(story: Story, width: int, alone: bool, brief: bool = False) -> Iterator[Block]:
    if not alone:
        yield Block(0, (terminal(fitted(f"{story.name} ({story.result.path})", width)),))
    for n, text in enumerate(accepted(story.result)):
        yield Block(min(n, 1), text_lines(text, width, "  " if n else ""))
    apart = ("Next", "Files") if brief else () if alone else ("Next",)
    for section in told(story, brief=brief, most=WORST if alone and not brief else FEWER):
        if section.title not in apart:
            yield from _section(section, width)


def _section(section: Section, width: int) -> Iterator[Block]:
    mark = "! " if section.warns else ""
    space = Space(MOST.get(section.title, KINDS), ROWS, PAGE - 1, rank_of_rows=0)
    for part in section.within(space).parts:
        lines = text_part(part, width, mark)
        whole = HEAD if isinstance(part.block, Table) else len(lines)
        yield Block(part.rank, lines[:whole])
        yield from (Block(part.rank, [line]) for line in lines[whole:])


def _headline(story: Story, width: int, alone: bool) -> Iterator[str]:
    """The verdict, in the last lines of a suite."""
    where = f"{story.name} ({story.result.path}): " if alone else ""
    yield from _verdict(overall([story]), where, width)


def _verdict(headline: Headline, where: str, width: int) -> Iterator[str]:
    mark = {"bad": "✗", "warn": "!", "good": "✓"}[headline.level]
    word = f"{headline.word}  " if headline.word else ""
    first, *rest = wrapped(f"{mark} {word}{where}{headline.line}", width - 2)
    yield terminal(first)
    yield from (terminal(f"  {line}") for line in rest)


def audits(results: Sequence[SuiteResult]) -> Iterator[list[str]]:
    """A table for each suite: what was looked at, and what was found."""
    for path, found in audit_of(results).items():
        width = max(len(section.title) for section in found)
        lines = [f"audit of {path}"]
        for section in found:
            said = (part.block for part in section.parts if isinstance(part.block, str))
            rows = "\n".join(said).split("\n")
            heads = [f"{'!' if section.warns else ' '} {section.title:{width}}"]
            heads += [f"  {'':{width}}"] * len(rows)
            lines += (f"{head}  {line}" for head, line in zip(heads, rows, strict=False))
        yield lines
