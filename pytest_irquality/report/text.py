"""The summary at the end of the session, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from pytest_irquality.edges.printable import terminal
from pytest_irquality.report.layout import text_table
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.answer_tables import wordings
from pytest_irquality.wording.answers import noise_said, wordings_said
from pytest_irquality.wording.audit_lines import audit_of
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.mean_tables import retrievers
from pytest_irquality.wording.numbers import counted, grouped
from pytest_irquality.wording.sentences import warnings
from pytest_irquality.wording.stories import known_issues, overall, steps_of, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cells, columns, fit, fitted, hanging, wrapped

WORST, ROWS, KINDS = 5, 16, 6
LINES, LINES_EACH, FEWEST = 56, 112, 5
"""How long the summary of one suite may be, those of several, and the least of one of these."""
BRIEF, WORST_IN_BRIEF, ROWS_IN_BRIEF = 15, 3, 4
"""How long it may be in brief, with its headline, and how many queries and limits it then has."""


class Block(NamedTuple):
    """Some lines of the summary.

    Where it gets too long, the least weighty (the largest ``rank``) go first.
    """

    rank: int
    lines: tuple[str, ...]


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
    steps = [*chain(*(_step(*step, width) for step in steps_of(stories)))]
    yield from _several(stories, width, room - sum(map(len, tables)) - len(steps))
    yield from steps


def _last(stories: Sequence[Story], width: int, left_out: Sequence[str]) -> Iterator[str]:
    """The last lines: the verdict over everything."""
    if len(stories) == 1 and not left_out:
        yield from _headline(stories[0], width, alone=True)
    elif stories:
        yield from _wrapped_headline(overall(stories, left_out), width)


def _in_brief(
    stories: Sequence[Story], width: int, room: int, tables: Sequence[Sequence[str]]
) -> Iterator[str]:
    """The worst suite, the others in a line each, and the next step, where there is room."""
    if not stories:
        return
    worst, *others = stories
    steps = [Block(4 if step.command else 8, _step(*step, width)) for step in steps_of(stories)]
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
            f"{result.path}{variant}: {_word(story)}: {story.headline}",
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
    kept, room = set(), budget - 1
    for block in sorted(blocks, key=lambda block: block.rank):
        if len(block.lines) <= room:
            kept.add(id(block))
            room -= len(block.lines)
    for block in blocks:
        if id(block) in kept:
            yield from block.lines
    left = sum(len(block.lines) for block in blocks if id(block) not in kept)
    if left:
        yield f"  … {counted(left, 'more line')} {where}"


def _blocks(story: Story, width: int, alone: bool, brief: bool = False) -> Iterator[Block]:
    yield from _first(story, width, alone)
    yield Block(1, _lines(story.fates, width))
    yield Block(2, _lines(story.compared_in_brief if brief else story.compared, width))
    yield from _listed(10, story.causes, 6, width)
    most = WORST if alone and not brief else WORST_IN_BRIEF
    yield Block(3, tuple(_worst_lines(story, most, width)))
    if story.tags and story.state == "failed":
        yield Block(14, _lines(f"tags that lost most: {story.tags}", width))
    yield from _limits(story, width, brief)
    yield Block(12, _lines(story.held, width))
    yield from _listed(6, story.rests_on, 5, width)
    yield from _beside_story(story, width, brief)
    if alone and not brief:
        yield from (Block(9, _step(*step, width)) for step in story.steps)


def _first(story: Story, width: int, alone: bool) -> Iterator[Block]:
    """The name of one suite of several, what is accepted, and what the suite wants shown."""
    result = story.result
    if not alone:
        yield Block(0, (terminal(fitted(f"{story.name} ({result.path})", width)),))
    for n, text in enumerate(accepted(result)):
        yield Block(min(n, 1), _lines(text, width, "  " if n else ""))
    for name, text in result.remarks.items():
        yield Block(25, _lines(f"{name}: {text}", width))


def _limits(story: Story, width: int, brief: bool) -> Iterator[Block]:
    """The measures and limits; in brief the limits that are broken, if any are, one by one."""
    table = Limits(story.result, story.damage).table.most(ROWS, rank=0)
    broken = [[*map(str, row.cells)] for row in table.rows if str(row.cells[7])[:1] == "✗"]
    if not (brief and broken):
        yield Block(4, tuple(text_table(table, width)))
        return
    short = [
        (
            f"✗ {measure}{of and f', {of}'}",
            " → ".join(filter(None, (before, now))) or change,
            limit,
        )
        for measure, of, before, now, change, _, limit, *_ in broken[:ROWS_IN_BRIEF]
    ]
    lines = [*columns(short)]
    if more := len(broken) - len(short):
        lines[-1] += f"  (and {counted(more, 'more limit')})"
    yield from (Block(5, (fitted(terminal(line), width),)) for line in lines)


def _step(words: str, command: str, width: int) -> tuple[str, ...]:
    """A thing to do next, with its command, which stays whole."""
    return (*_lines(f"{words}:", width), f"    {command}") if command else _lines(words, width)


def _beside_story(story: Story, width: int, brief: bool) -> Iterator[Block]:
    """Known issues, warnings, notes, and what was written and compared."""
    result = story.result
    yield from _listed(20, [fit(text, width - 4) for text in known_issues(result)], 3, width)
    yield from _listed(15, [fit(text, width - 6) for text in warnings(result)], 3, width, "! ")
    yield from _listed(30, story.notes, 8, width)
    yield Block(16, tuple(text_table(wordings(result).most(KINDS), width)))
    yield from _listed(16, [*wordings_said(result), *noise_said(result)], KINDS, width)
    written = [] if brief else [terminal(f"  {line}") for line in result.written[:12]]
    yield Block(5, tuple(fitted(n, width) if n.startswith("   ") else n for n in written))
    rank = 6 if brief and story.state == "failed" else 1
    yield Block(rank, _lines(f"{story.compared_with}; {story.ledger}", width))


def _lines(text: str, width: int, indent: str = "  ") -> tuple[str, ...]:
    """A sentence over as many lines as it takes, those after the first one further in."""
    if not text:
        return ()
    first, *rest = wrapped(text, width - len(indent) - 2)
    return tuple(map(terminal, [indent + first, *(f"{indent}  {line}" for line in rest)]))


def _listed(
    rank: int, texts: Sequence[str], most: int, width: int, mark: str = ""
) -> Iterator[Block]:
    """The first of some texts, each less weighty than the one before."""
    for place, text in enumerate(texts[:most]):
        yield Block(rank + place, _lines(f"{mark}{text}", width))
    if len(texts) > most:
        yield Block(rank + most, (f"  {mark}and {len(texts) - most} more, all in the report",))


def _headline(story: Story, width: int, alone: bool) -> Iterator[str]:
    """The verdict, in the last lines of a suite."""
    mark = {"bad": "✗", "warn": "!", "good": "✓"}[story.level]
    where = f"{story.name} ({story.result.path}): " if alone else ""
    yield from _wrapped_headline(f"{mark} {_word(story)}  {where}{story.headline}", width)


def _word(story: Story) -> str:
    """The end of a suite, in the one word that a log is searched for."""
    passed = "ACCEPTED" if story.accepts else "passed"
    return {"failed": "FAILED", "partial": "PARTIAL", "passed": passed}[story.state]


def _wrapped_headline(text: str, width: int) -> Iterator[str]:
    first, *rest = wrapped(text, width - 2)
    yield terminal(first)
    yield from (terminal(f"  {line}") for line in rest)


def _worst_lines(story: Story, most: int, width: int) -> Iterator[str]:
    """The queries that lost most with the documents that moved, one line each."""
    worst = story.worst(most)
    if not worst:
        return
    what = "lowest" if story.lowest else "lost most"
    more = story.more_than(len(worst))
    of = f", {len(worst)} of {grouped(len(worst) + more)}" if more else ""
    yield fitted(f"  {what} {story.damage.measure}{of}:", width)
    texts = [fit(worse.query.text, max(16, min(36, width // 3))) for worse in worst]
    column = max(map(cells, texts))
    for text, worse in zip(texts, worst, strict=True):
        space = " " * (column - cells(text))
        columns = (f"{worse.lost:>7}", f"{terminal(text)}{space}", worse.values)
        line = f"    {'  '.join(filter(None, columns))}"
        room = width - cells(line) - 2
        moved = terminal(worse.moves if cells(worse.moves) <= room else worse.moves_of_ids)
        yield f"{line}  {fit(moved, room)}".rstrip() if moved and room > 12 else line


def audits(results: Sequence[SuiteResult]) -> Iterator[list[str]]:
    """A table for each suite: what was looked at, and what was found."""
    for path, found in audit_of(results).items():
        width = max(len(told.heading) for told in found)
        lines = [f"audit of {path}"]
        for told in found:
            mark = " " if told.fine else "!"
            heads = [f"{mark} {told.heading:{width}}", *[f"  {'':{width}}"] * len(told.lines)]
            lines += (f"{head}  {line}" for head, line in zip(heads, told.lines, strict=False))
        yield lines
