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
from pytest_irquality.wording.words import cells, fit, fitted, hanging, wrapped

WORST, ROWS, KINDS = 5, 16, 6
LINES, LINES_EACH, FEWEST = 56, 112, 5
"""How long the summary of one suite may be, those of several, and the least of one of these."""


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
) -> Iterator[str]:
    """The story of every suite, the worst and the headline last, where a terminal is read first.

    ``written`` are lines on the files that were written, ``left_out`` the suites of which nothing
    was judged.
    """
    stories = worst_first(results)
    tables = [[title, *text_table(table, width)] for title, table in retrievers(results)]
    yield from _fitted(tables, width)
    if len(stories) == 1:
        yield from _within(list(_blocks(stories[0], width, alone=True)), LINES)
    else:
        steps = [*chain(*(_step(*step, width) for step in steps_of(stories)))]
        room = LINES_EACH - sum(map(len, tables)) - len(written) - len(steps)
        yield from _several(stories, width, room)
        yield from steps
    for lines in audits(results):
        yield from chain.from_iterable(hanging(line, width) for line in lines)
        yield ""
    yield from written
    if len(stories) == 1 and not left_out:
        yield from _headline(stories[0], width, alone=True)
    elif stories:
        yield from _wrapped_headline(overall(stories, left_out), width)


def _fitted(tables: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    """Tables in the width there is, an empty line after each."""
    for lines in tables:
        yield from (fitted(line, width) for line in lines)
        yield ""


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


def _within(blocks: Sequence[Block], budget: int) -> Iterator[str]:
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
        yield f"  … {counted(left, 'more line')}: see the report"


def _blocks(story: Story, width: int, alone: bool) -> Iterator[Block]:
    result = story.result
    if not alone:
        yield Block(0, (terminal(fitted(f"{story.name} ({result.path})", width)),))
    told = enumerate(accepted(result))
    yield Block(0, tuple(chain(*(_lines(text, width, "  " if n else "") for n, text in told))))
    for name, text in result.remarks.items():
        yield Block(25, _lines(f"{name}: {text}", width))
    yield Block(1, _lines(story.fates, width))
    yield Block(2, _lines(story.compared, width))
    yield from _listed(10, story.causes, 6, width)
    yield Block(3, tuple(_worst_lines(story, WORST if alone else 3, width)))
    if story.tags and story.state == "failed":
        yield Block(14, _lines(f"tags that lost most: {story.tags}", width))
    limits = Limits(result, story.damage).table.most(ROWS, rank=0)
    yield Block(4, tuple(text_table(limits, width)))
    yield Block(12, _lines(story.held, width))
    yield from _listed(6, story.rests_on, 5, width)
    yield from _beside_story(story, width)
    if alone:
        yield from (Block(9, _step(*step, width)) for step in story.steps)


def _step(words: str, command: str, width: int) -> tuple[str, ...]:
    """A thing to do next, with its command, which stays whole."""
    return (*_lines(f"{words}:", width), f"    {command}") if command else _lines(words, width)


def _beside_story(story: Story, width: int) -> Iterator[Block]:
    """Known issues, warnings, notes, and what was written and compared."""
    result = story.result
    yield from _listed(20, [fit(text, width - 4) for text in known_issues(result)], 3, width)
    yield from _listed(15, [fit(text, width - 6) for text in warnings(result)], 3, width, "! ")
    yield from _listed(30, story.notes, 8, width)
    yield Block(16, tuple(text_table(wordings(result).most(KINDS), width)))
    yield from _listed(16, [*wordings_said(result), *noise_said(result)], KINDS, width)
    written = [terminal(f"  {line}") for line in result.written[:12]]
    yield Block(5, tuple(fitted(n, width) if n.startswith("   ") else n for n in written))
    yield Block(1, _lines(f"{story.compared_with}; {story.ledger}", width))


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
    yield fitted(f"  {what} {story.damage.measure}:", width)
    texts = [fit(worse.query.text, max(16, min(36, width // 3))) for worse in worst]
    column = max(map(cells, texts))
    for text, worse in zip(texts, worst, strict=True):
        space = " " * (column - cells(text))
        columns = (f"{worse.lost:>7}", f"{terminal(text)}{space}", worse.values)
        line = f"    {'  '.join(filter(None, columns))}"
        room = width - cells(line) - 2
        moved = terminal(worse.moves if cells(worse.moves) <= room else worse.moves_of_ids)
        yield f"{line}  {fit(moved, room)}".rstrip() if moved and room > 12 else line
    if more := story.more_than(len(worst)):
        yield f"    and {grouped(more)} more"


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
