"""The report as Markdown, for a pull request's summary: the story first, everything else folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from pytest_irquality.edges.printable import (
    NAMED_COMMAND,
    html,
    markdown,
    markdown_code,
    markdown_sentence,
)
from pytest_irquality.report.layout import markdown_rows, markdown_table
from pytest_irquality.report.markdown_details import details
from pytest_irquality.report.markdown_parts import (
    NOTES,
    bullets,
)
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.block import LEVELS
from pytest_irquality.wording.examined import in_full
from pytest_irquality.wording.losers import Worse
from pytest_irquality.wording.mean_tables import retrievers, suites
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.stories import overall, steps_of, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut, provenance

LONGEST = 65_000
WORST, BROKEN, SUITES = 5, 5, 100
SHORT, MOVED = 32, 40
"""Characters of a query, and of what moved, that stand on one line of a pull request's table."""
DIFFERENCES = 5
POINTS, STEPS, POINT = 2, 2, 105
"""How many causes and caveats, and steps, are seen before the fold; how long a cause may be."""
LOST, LOWEST = (
    ("Worst queries", "lost", "{}", "what moved"),
    ("Lowest queries", "{}", "", "what moved or is missing"),
)
"""The heads of the table of queries that got worse, and of those with the lowest value."""
ELSEWHERE = "The rest is in the HTML report."


def markdown_report(
    results: Sequence[SuiteResult],
    *,
    not_evaluated: Sequence[str] = (),
    left_out: Sequence[str] = (),
    now: datetime | None = None,
) -> str:
    """The verdict, why, the five worst queries, and the rest folded: under 65,000 characters."""
    text = ""
    told = worst_first(results), not_evaluated, left_out
    blocks = _blocks(*told, now or datetime.now(timezone.utc))
    for block in filter(None, blocks):
        if len(text) + len(block) + len(ELSEWHERE) + 100 > LONGEST:
            open_folds = text.count("<details>") - text.count("</details>")
            return f"{text}{ELSEWHERE}\n" + "\n</details>\n" * open_folds
        text += f"{block}\n"
    return text


def _blocks(
    stories: Sequence[Story],
    not_evaluated: Sequence[str],
    left_out: Sequence[str],
    now: datetime,
) -> Iterator[str]:
    """Whole pieces, the weightiest first, so that a report that must be cut is cut between them."""
    alone = len(stories) == 1
    yield bullets(
        f"⚠ {markdown_sentence(line)}" for story in stories for line in accepted(story.result)
    )
    yield _headline(stories, not_evaluated, left_out)
    yield _without_result("✗", not_evaluated)
    yield _without_result("⚠", left_out)
    yield from _exams(stories)
    if alone:
        yield from _first_screen(stories[0], now)
    else:
        yield markdown_table(suites(stories), SUITES)
        yield bullets(_fates(stories))
        yield _worst([story for story in stories if story.state == "failed"] or stories)
        yield bullets(_step(*step) for step in steps_of(stories))
    yield from _retrievers(stories)
    for story in stories:
        yield from _rest(story, now, alone=alone)


def _exams(stories: Sequence[Story]) -> Iterator[str]:
    """The suites of the base: how many of their checks pass, and how today's differ from them."""
    for exam in [exam for story in stories for exam in story.result.exams]:
        said, differences = in_full(exam)
        shown = markdown_table(differences, DIFFERENCES)
        yield f"### The base's suite\n\n{markdown_sentence(said)}\n\n{shown}"


def _without_result(mark: str, names: Sequence[str]) -> str:
    return bullets(f"{mark} not evaluated: {markdown(name)}" for name in names[:NOTES])


def _fates(stories: Sequence[Story]) -> Iterator[str]:
    """The places at which passages were lost, of each suite that has any."""
    for story in stories:
        if told := story.fates:
            yield f"{markdown(story.name)}: {markdown(told)}"


def _headline(
    stories: Sequence[Story], not_evaluated: Sequence[str], left_out: Sequence[str]
) -> str:
    if not stories:
        return "## ⚠ Nothing was judged\n"
    if len(stories) > 1 or left_out:
        missing = f", {counted(len(not_evaluated), 'suite')} not evaluated" if not_evaluated else ""
        return f"## {markdown(overall(stories, left_out) + missing)}\n"
    story = stories[0]
    symbol, verdict = LEVELS[story.level], story.verdict
    if not_evaluated and story.state == "passed":
        symbol, verdict = "✗", "Not everything was evaluated"
    return f"## {symbol} {markdown(verdict)}\n\n{markdown(story.counted)}\n"


def _first_screen(story: Story, now: datetime) -> Iterator[str]:
    yield "".join(
        f"{markdown(key)}: {markdown(text)}\n" for key, text in story.result.remarks.items()
    )
    if told := story.fates:
        yield f"{markdown(told)}.\n"
    if story.tally:
        rest = f"; {markdown(story.balance)}" if story.balance else ""
        yield f"**{markdown(story.tally)}**{rest}.\n"
    points, _ = _points(story)
    yield bullets(markdown_sentence(_point(text)) for text in points)
    before = story.result.baseline
    beside = f"compared with {markdown(provenance(before, now))}" if before else ""
    yield _worst([story], beside)
    yield f"{_broken(story)}\n"
    yield bullets(_step(*step) for step in story.steps[:STEPS])


def _step(words: str, command: str) -> str:
    """A thing to do next, with its command."""
    return f"{markdown(words)}: {markdown_code(command)}" if command else markdown(words)


def _points(story: Story) -> tuple[Sequence[str], Sequence[str]]:
    """The few causes and caveats that are seen, and the others, with those that were cut."""
    every = [*story.causes, *story.rests_on]
    first = [*story.causes[:POINTS], *story.rests_on][:POINTS]
    return first, [text for text in every if text not in first or _point(text) != text]


def _point(text: str) -> str:
    """The part that is seen before the fold.

    It has no part of a command, which is there to be copied.
    """
    command = NAMED_COMMAND.search(text)
    if command and len(text) > POINT >= command.start():
        return f"{text[: command.start()].rstrip(': ')} …"
    return cut(text, POINT)


def _broken(story: Story) -> str:
    """The broken limits by name, and how many hold."""
    broken = [f"✗ {markdown(verdict.label)}" for verdict in story.damage.failed_limits]
    parts = broken[:BROKEN]
    if len(broken) > BROKEN:
        parts.append(f"and {len(broken) - BROKEN} more")
    if story.held:
        number, _, _ = story.held.partition(";")
        parts.append(markdown(number if broken else story.held))
    return f"**Limits** {' · '.join(parts)}" if parts else ""


def _worst(stories: Sequence[Story], beside: str = "") -> str:
    """The worst queries of all suites, how many more there are, and what stands beside that."""
    lowest = all(story.lowest for story in stories)
    told = [story for story in stories if story.lowest == lowest]
    worst = _worst_of(told)
    measures = {story.damage.measure for story, _ in worst}
    rows = [_worst_row(story, worse, len(stories) > 1, len(measures) > 1) for story, worse in worst]
    head = [cell.format(", ".join(measures)) for cell in (LOWEST if lowest else LOST)]
    more = sum(len(story.damage.worse) for story in told) - len(rows)
    return "\n".join(filter(None, (markdown_rows(head, rows), _below(more if rows else 0, beside))))


def _worst_of(stories: Sequence[Story]) -> Sequence[tuple[Story, Worse]]:
    entries = [(story, worse) for story in stories for worse in story.worst(WORST)]
    return sorted(entries, key=lambda entry: -entry[0].damage.loss(entry[1].query))[:WORST]


def _below(more: int, beside: str) -> str:
    """The line below the table: how many more queries got worse, and what stands beside that."""
    worse = f"and {counted(more, 'more query', 'more queries')} got worse" if more > 0 else ""
    said = " · ".join(filter(None, (worse, beside)))
    return f"{said}\n" if said else ""


def _worst_row(story: Story, worse: Worse, several: bool, measured: bool) -> list[str]:
    """A query that got worse; with its suite and its measure where these differ."""
    text = cut(worse.query.text, SHORT)
    moved = worse.moves if len(worse.moves) <= MOVED else cut(worse.moves_of_ids, MOVED)
    values = worse.values.replace(" ", "")  # or it breaks over two lines
    return [
        f"{story.name}: {text}" if several else text,
        worse.lost,
        f"{story.damage.measure} {values}" if measured else values,
        moved,
    ]


def _retrievers(stories: Sequence[Story]) -> Iterator[str]:
    for title, table in retrievers([story.result for story in stories]):
        yield f"{markdown(title)}\n\n{markdown_table(table, SUITES)}"


def _rest(story: Story, now: datetime, *, alone: bool) -> Iterator[str]:
    """Limits, queries, tags and notes of a suite, in one fold."""
    title = "Limits, queries, tags and notes" if alone else story.name
    yield f"<details><summary>{html(title)}</summary>\n"
    if not alone:
        yield from _first_screen(story, now)
    yield f"{markdown('; '.join(filter(None, (story.ledger, story.beside_balance))))}\n"
    yield bullets(_step(*step) for step in story.steps[STEPS:])
    _, others = _points(story)
    yield from details(story, others)
    yield "</details>\n"
