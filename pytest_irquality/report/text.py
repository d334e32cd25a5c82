"""The summary at the end of the session, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_irquality.edges.printable import terminal
from pytest_irquality.report.answers_text import unchanged_code, wordings
from pytest_irquality.report.failure import remarks_lines
from pytest_irquality.report.tables import aligned, beside, rows_of
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.verdict.side_by_side import side_by_side
from pytest_irquality.wording.accepted import accepted
from pytest_irquality.wording.audit import audit_of
from pytest_irquality.wording.caveats import whole, with_urgent
from pytest_irquality.wording.numbers import apart, counted, few, figure, grouped
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import warnings
from pytest_irquality.wording.story import Story, Worse, called, caveats_of, worst_first
from pytest_irquality.wording.words import cells, fit, fitted, wrapped

WORST = 5
LINES, LINES_EACH, FEWEST = 56, 112, 5
"""How long the summary of one suite may be, those of several, and the least of one of these."""


class Block(NamedTuple):
    """Some lines of the summary; where it gets too long, the least weighty (the largest ``rank``)
    go first.
    """

    rank: int
    lines: tuple[str, ...]


def summary(
    results: Sequence[SuiteResult], width: int, written: Sequence[str] = ()
) -> Iterator[str]:
    """The story of every suite, the worst one and the headline last, where a terminal is read
    first.

    ``written`` are lines on the files that were written.
    """
    stories = worst_first(results)
    alone = len(stories) == 1
    beside_each_other = [list(beside(table)) for table in side_by_side(results)]
    room = LINES_EACH - sum(map(len, beside_each_other)) - len(written)
    budget = LINES if alone else max(FEWEST, room // max(len(stories), 1) - 2)
    for lines in beside_each_other:
        yield from (fitted(line, width) for line in lines)
        yield ""
    told = stories if alone else stories[: max(1, room // (FEWEST + 2))]
    for story in reversed(stories):
        if story not in told:
            yield from _headline(story, width, alone=True)
    for story in reversed(told):
        yield from _within(list(_blocks(story, width, alone)), budget)
        if not alone:
            yield from _headline(story, width, alone)
            yield ""
    for audit in audits(results):
        yield from (fitted(line, width) for line in audit)
        yield ""
    yield from written
    if alone:
        yield from _headline(stories[0], width, alone)
    elif stories:
        yield from _wrapped_headline(overall(stories), width)


def quiet(results: Iterable[SuiteResult]) -> Iterator[str]:
    """One line a suite: the headline, the worst failure, and what the first measure did."""
    for result in results:
        story = Story(result)
        variant = f" [{result.retriever}]" if result.retriever else ""
        said = [
            f"{result.path}{variant}: {_word(story)}: {story.headline}",
            *_worst_failure(story),
            *_first_mean(story),
            story.tally,
        ]
        yield "; ".join(filter(None, said))
        yield from (line for line in result.written if not line.startswith(" "))


def _worst_failure(story: Story) -> Iterator[str]:
    """What did most damage of all that failed, and by how much."""
    reasons = [why for _, why in story.failures()]
    if reasons:
        yield reasons[0]
    if len(reasons) > 1:
        yield counted(len(reasons) - 1, "more failure")


def _first_mean(story: Story) -> Iterator[str]:
    """The first measure over the queries that are compared; beside it the value over all, where
    that is another.
    """
    mean = story.result.mean(story.damage.measure)
    if mean is None or mean.value is None:
        return
    if mean.change is None:
        yield f"{mean.measure} {figure(mean.value, mean.unit)}"
        return
    before, now = apart(mean.change.before, mean.change.now, mean.unit)
    other = whole(mean)
    yield f"{mean.measure} {before} → {now}{f' ({other})' if other else ''}"


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
    result, worst = story.result, story.worst(WORST if alone else 3)

    def lines(text: str, indent: str = "  ") -> tuple[str, ...]:
        """A sentence over as many lines as it takes, those after the first one further in."""
        first, *rest = wrapped(text, width - len(indent) - 2)
        return tuple(terminal(line) for line in [indent + first, *(f"{indent}  {r}" for r in rest)])

    def listed(rank: int, texts: Sequence[str], most: int, mark: str = "") -> Iterator[Block]:
        for place, text in enumerate(texts[:most]):
            yield Block(rank + place, lines(f"{mark}{text}"))
        if len(texts) > most:
            yield Block(rank + most, (f"  {mark}and {len(texts) - most} more, all in the report",))

    if not alone:
        yield Block(0, (terminal(fitted(f"{story.name} ({result.path})", width)),))
    told = accepted(result)
    if told:
        yield Block(
            0, tuple(line for n, text in enumerate(told) for line in lines(text, "  " if n else ""))
        )
    for remark in remarks_lines(result.remarks, ""):
        yield Block(25, lines(remark))
    if story.tally:
        yield Block(2, lines("; ".join(filter(None, (story.tally, story.balance)))))
    yield from listed(10, story.causes, 6)
    if worst:
        yield Block(3, tuple(_worst_lines(story, worst, width)))
    if story.tags and story.state == "failed":
        yield Block(14, lines(f"tags that lost most: {story.tags}"))
    yield Block(4, tuple(aligned(list(rows_of(story)), width)))
    if story.held:
        yield Block(12, lines(story.held))
    yield from listed(6, story.rests_on, 5)
    known = [
        f"known issue {verdict.known_issue}: {reason(result, verdict)}"
        for verdict in result.verdicts
        if verdict.outcome == "known"
    ]
    yield from listed(20, [fit(text, width - 4) for text in known], 3)
    yield from listed(15, [fit(text, width - 6) for text in warnings(result)], 3, "! ")
    yield from listed(30, story.notes, 8)
    for rank, made in ((16, wordings(result, width)), (17, unchanged_code(result, width))):
        if made_lines := tuple(made):
            yield Block(rank, made_lines)
    written = [terminal(f"  {line}") for line in result.written]
    yield Block(
        5,
        tuple(line if not line.startswith("   ") else fitted(line, width) for line in written[:12]),
    )
    yield Block(13, lines(story.compared_with))
    for step in story.steps if alone else ():
        command = (f"    {step.command}",) if step.command else ()
        yield Block(9, (f"  {step.words}:", *command))


def _headline(story: Story, width: int, alone: bool) -> Iterator[str]:
    """The verdict, in the last lines of a suite."""
    mark = {"bad": "✗", "warn": "!", "good": "✓"}[story.level]
    where = f"{story.name} ({story.result.path}): " if alone else ""
    yield from _wrapped_headline(f"{mark} {_word(story)}  {where}{story.headline}", width)


def _word(story: Story) -> str:
    """How a suite ended, in the one word that a log is searched for."""
    return {"failed": "FAILED", "partial": "PARTIAL", "passed": "passed"}[story.state]


def _wrapped_headline(text: str, width: int) -> Iterator[str]:
    first, *rest = wrapped(text, width - 2)
    yield terminal(first)
    yield from (terminal(f"  {line}") for line in rest)


def overall(stories: Sequence[Story]) -> str:
    """How many suites failed, and which is the worst; or which of them no tick can stand for."""
    of_all = counted(len(stories), called(stories))
    failed = [story for story in stories if story.state == "failed"]
    partial = [story.name for story in stories if story.state == "partial"]
    caveats = caveats_of(stories)
    if failed:
        worst = f"✗ FAILED  {len(failed)} of {of_all}, the worst is {failed[0].name}"
        return with_urgent(worst, True, caveats)
    if partial:
        interrupted = f"! PARTIAL  {len(partial)} of {of_all} interrupted: {few(partial)}"
        return with_urgent(interrupted, True, caveats)
    mark = "!" if any(story.level == "warn" for story in stories) else "✓"
    return with_urgent(f"{mark} {of_all} passed", False, caveats)


def _worst_lines(story: Story, worst: Sequence[Worse], width: int) -> Iterator[str]:
    """The queries that lost most with the documents that moved, one line each."""
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
