"""The summary at the end of the session, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from pytest_irquality.edges.printable import terminal
from pytest_irquality.report.layout import ENDLESS, text_lines, text_part, text_table
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
MOST = {"What this rests on": 5, "Known issues": 3, "Warnings": 3, "Notes": 8}
"""How many sentences a section has at the most."""
WORST, FEWER = 5, 3
"""How many of the worst queries are named of one suite, and of several or in brief."""
BRIEF, LINES, LINES_EACH, FEWEST = 15, 56, 112, 7
"""How long it may be in brief, of one suite and of several, and the least of one of these."""
HEAD = 2
"""The lines at the top of a table that stay together; of the others there may be fewer."""


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
    """The story of the suites, the worst and the headline last, where a terminal is read first.

    ``written`` are lines on the files that were written, ``left_out`` the suites of which nothing
    was judged. In ``brief`` it tells the worst suite alone, and all in fifteen lines.
    """
    stories = worst_first(results)
    last = [*_last(stories, width, left_out)]
    room = BRIEF if brief else LINES if len(stories) == 1 else LINES_EACH
    if stories:
        beside = [*chain(*_beside(results, width))]
        yield from beside
        room -= len(beside) + len(written) + len(last)
        yield from _suites(stories, width, room, brief)
    for lines in audits(results):
        yield from chain.from_iterable(hanging(line, width) for line in lines)
        yield ""
    yield from written
    yield from last


def _suites(stories: Sequence[Story], width: int, room: int, brief: bool) -> Iterator[str]:
    """The suites that there is room for, a line of the others, and what is of all at the end."""
    many = 1 if brief else max(1, min(len(stories), room // FEWEST))
    others = [*_named(stories[many:], max(1, room // 3), width)]
    yield from others
    each = (room - len(others)) // many
    for story in reversed(stories[1:many]):
        yield from _within([*_blocks(story, width, False, brief)], each - 2, brief)
        yield from _headline(story, width, alone=False)
        yield ""
    worst = _blocks(stories[0], width, len(stories) == 1, brief)
    yield from _within([*worst, *_at_the_end(stories, width)], each, brief)


def _beside(results: Sequence[SuiteResult], width: int) -> Iterator[Sequence[str]]:
    """The retrievers of each suite side by side."""
    for title, table in retrievers(results):
        yield fitted(title, width), *text_table(table.most(KINDS), width)


def _at_the_end(stories: Sequence[Story], width: int) -> Iterator[Block]:
    """Files and the next steps."""
    for line in sorted(chain(*(story.result.written for story in stories))):
        if not line.startswith("   "):
            yield Block("NOT " not in line, (terminal(f"  {line}"),))
    for step in steps_of(stories):
        yield Block(4 if step.command else 8, text_part(Part(0, step), width))


def _last(stories: Sequence[Story], width: int, left_out: Sequence[str]) -> Iterator[str]:
    """The last lines: the verdict over everything."""
    if len(stories) == 1 and not left_out:
        yield from _headline(stories[0], width, alone=True)
    elif stories:
        yield from _verdict(overall(stories, left_out), "", width)


def _named(stories: Sequence[Story], most: int, width: int) -> Iterator[str]:
    """Some suites by a line each, the worst last, and how many more there are."""
    if len(stories) > most:
        yield f"  and {counted(len(stories) - most, 'more suite')}: see -v"
    for story in reversed(stories[:most]):
        yield fitted(next(_headline(story, width, alone=True)), width)


def quiet(results: Sequence[SuiteResult]) -> Iterator[str]:
    """One line a suite, the verdict and the change, and the files that it wrote."""
    for story in map(Story, results):
        said = (*_headline(story, ENDLESS, alone=True), story.fates, story.compared)
        yield "; ".join(filter(None, said))
        yield from (line for line in story.result.written if not line.startswith(" "))


def _within(blocks: Sequence[Block], room: int, brief: bool) -> Iterator[str]:
    """The lines of as many blocks as there is room for, in their order."""
    kept = within([(b.rank, b) for b in blocks], room - 1, lambda block: len(block.lines))
    for block in kept:
        yield from block.lines
    left = sum(len(block.lines) for block in blocks) - sum(len(block.lines) for block in kept)
    if left:
        where = "with -v, or in the report" if brief else "in the report"
        yield f"  … {counted(left, 'more line')} {where}"


def _blocks(story: Story, width: int, alone: bool, brief: bool) -> Iterator[Block]:
    """A suite without its files and steps, which stand at the end."""
    if not alone:
        yield Block(0, (terminal(fitted(f"{story.name} ({story.result.path})", width)),))
    for n, text in enumerate(accepted(story.result)):
        yield Block(min(n, 1), text_lines(text, width, "  " if n else ""))
    for section in told(story, WORST if alone and not brief else FEWER):
        if section.title not in ("Next", "Files"):
            yield from _section(section, width)


def _section(section: Section, width: int) -> Iterator[Block]:
    mark = "! " if section.warns else ""
    space = Space(MOST.get(section.title, KINDS), ROWS, PAGE - 1, rank_of_rows=0)
    for part in section.within(space).parts:
        lines = text_part(part, width, mark)
        whole = len(lines)
        if isinstance(part.block, Table):
            whole = HEAD if part.block.columns[0].name else 1
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
