"""The report as Markdown, for a pull request's summary: the story first, everything else folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.edges.printable import html, markdown, markdown_code, markdown_sentence
from pytest_irquality.report.layout import (
    CELL,
    bullets,
    folded,
    markdown_section,
    markdown_step,
    markdown_table,
    narrow,
)
from pytest_irquality.verdict.result import QueryResult, SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.block import LEVELS, Opened, Part, Section, Space, Table, within
from pytest_irquality.wording.examined import in_full
from pytest_irquality.wording.mean_tables import retrievers, suites
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.query_table import Queries
from pytest_irquality.wording.stories import overall, steps_of, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import told, worst_of
from pytest_irquality.wording.words import cut

LONGEST = 65_000
WORST, SUITES, NOTES, QUERIES, DIFFERENCES = 5, 100, 20, 10, 5
ROOM_OF_SECTIONS = Space(parts=NOTES, rows=40, rank_of_rows=2)
ROOM, LINE, SPACE, ROW, WIDE, IN_A_ROW = 420, 21, 16, 34, 105, 66
"""Pixels that are seen of a comment below its headline, those of a line of so many characters, of
the space below a paragraph, and of a row of one line, with the characters it has at the most."""
IN_SHORT = ("What happened", "What this rests on")
ELSEWHERE = "The rest is in the HTML report."


def markdown_report(
    results: Sequence[SuiteResult],
    *,
    not_evaluated: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> str:
    """The verdict, why, the five worst queries, and the rest folded: under 65,000 characters."""
    text = ""
    for block in filter(None, _blocks(worst_first(results), not_evaluated, left_out)):
        if len(text) + len(block) + len(ELSEWHERE) + 100 > LONGEST:
            open_folds = text.count("<details>") - text.count("</details>")
            return f"{text}{ELSEWHERE}\n" + "\n</details>\n" * open_folds
        text += f"{block}\n"
    return text


def _blocks(
    stories: Sequence[Story],
    not_evaluated: Sequence[str],
    left_out: Sequence[str],
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
        yield from map(markdown_section, _seen(stories[0]))
    else:
        yield markdown_table(suites(stories).most(SUITES))
        yield bullets(_fates(stories))
        failed = [story for story in stories if story.state == "failed"]
        yield markdown_table(worst_of(failed or stories, WORST))
        yield bullets(map(markdown_step, steps_of(stories)))
    yield from _retrievers(stories)
    for story in stories:
        yield from _rest(story, alone=alone)


def _exams(stories: Sequence[Story]) -> Iterator[str]:
    """The suites of the base: how many of their checks pass, and how today's differ from them."""
    for exam in [exam for story in stories for exam in story.result.exams]:
        said, differences = in_full(exam)
        shown = markdown_table(differences.most(DIFFERENCES))
        yield f"### The base's suite\n\n{markdown_sentence(said)}\n\n{shown}"


def _without_result(mark: str, names: Sequence[str]) -> str:
    return bullets(f"{mark} not evaluated: {markdown(name)}" for name in names[:NOTES])


def _fates(stories: Sequence[Story]) -> Iterator[str]:
    """The places at which passages were lost, of each suite that has any."""
    for story in stories:
        if story.fates:
            yield f"{markdown(story.name)}: {markdown(story.fates)}"


def _headline(
    stories: Sequence[Story], not_evaluated: Sequence[str], left_out: Sequence[str]
) -> str:
    headline = overall(stories, left_out, not_evaluated)
    symbol = LEVELS[headline.level]
    if len(stories) + len(left_out) > 1:
        return f"## {symbol} {markdown(headline.line)}\n"
    return f"## {symbol} {markdown(headline.verdict)}\n\n{markdown(headline.beside)}\n"


def _told(story: Story, *, brief: bool = False) -> Sequence[Section]:
    return [one.within(ROOM_OF_SECTIONS) for one in told(story, brief=brief, most=WORST)]


def _seen(story: Story) -> Sequence[Section]:
    """The sections before the fold: what weighs most, as far as there is room.

    Of what happened and what that rests on a line each is here, and all of it is in the fold.
    """
    here = [one for one in _told(story, brief=True) if one.tab in ("Overview", "Limits")]
    here = [_on_a_line(one) if one.title in IN_SHORT else one for one in here]
    parts = [(part.rank, part) for section in here for part in section.parts]
    return _only(here, within(parts, ROOM, _height))


def _on_a_line(section: Section) -> Section:
    parts = (
        p._replace(block=cut(p.block, WIDE)) for p in section.parts if isinstance(p.block, str)
    )
    return section._replace(parts=tuple(parts))


def _only(
    sections: Sequence[Section], parts: Sequence[Part], kept: bool = True
) -> Sequence[Section]:
    """The sections with some of their parts alone, or with the others."""
    of = (
        one._replace(parts=tuple(part for part in one.parts if (part in parts) == kept))
        for one in sections
    )
    return [section for section in of if section.parts]


def _height(part: Part) -> int:
    """The pixels that a part takes in a comment."""
    if isinstance(part.block, Table) and any(column.about for column in part.block.columns):
        told = (map(narrow, row.cells, part.block.columns) for row in part.block.rows)
        rows = [sum(map(len, row)) for row in told]
        return ROW * (len(rows) + 1) + LINE * sum(of // IN_A_ROW for of in rows) + SPACE
    if isinstance(part.block, Table):
        return LINE * (1 + len(part.block.rows) // 2) + SPACE
    text = " ".join((part.lead, *part.block)) if isinstance(part.block, tuple) else part.block
    return LINE * (1 + len(text) // WIDE) + (SPACE if part.lead else 0)


def _retrievers(stories: Sequence[Story]) -> Iterator[str]:
    for title, table in retrievers([story.result for story in stories]):
        yield f"{markdown(title)}\n\n{markdown_table(table)}"


def _rest(story: Story, *, alone: bool) -> Iterator[str]:
    """All of a suite that is not seen, in one fold: limits, notes, queries and tags."""
    title = "Limits, queries, tags and notes" if alone else story.name
    yield f"<details><summary>{html(title)}</summary>\n"
    seen = [part for section in _seen(story) for part in section.parts] if alone else []
    yield from map(markdown_section, _only(_told(story), seen, kept=False))
    yield from _queries(story)
    yield "</details>\n"


def _queries(story: Story) -> Iterator[str]:
    """The queries that failed or got worse, most damage first, with their documents."""
    queries, damage = Queries(story.result, story.damage), story.damage
    failed = {verdict.query for verdict in damage.failed_queries}
    failed |= {id for id, guards in queries.guards.items() if any(f.breaks for _, f in guards)}

    def is_bad(query: QueryResult) -> bool:
        return query.id in failed or bool(query.fault) or (damage.gain(query) or 0) < 0

    bad = sorted(filter(is_bad, story.result.queries), key=damage.loss, reverse=True)
    for query in bad[:QUERIES]:
        yield folded(cut(query.text, 80), _opened(queries.opened(query)))
    more = len(bad) - QUERIES
    if more > 0:
        yield f"{counted(more, 'more query', 'more queries')} failed or got worse.\n"


def _opened(told: Opened) -> str:
    rules = (f"{state.symbol} {markdown_sentence(cut(text, CELL))}" for state, text in told.rules)
    remarks = (f"{markdown(name)}: {markdown(cut(text, CELL))}\n\n" for name, text in told.remarks)
    fault = f"{markdown(cut(told.fault, 2 * CELL))}\n\n" if told.fault else ""
    ranked = told.pair.as_table(NOTES)
    moved = any(row.rank == 0 for row in ranked.rows)
    documents = markdown_table(ranked.most(NOTES, rank=0 if moved else None))
    again = f" · {markdown_code(told.again)}" if told.again else ""
    listed = f"{bullets([*rules][:NOTES])}\n{documents}"
    return f"{''.join(remarks)}{fault}{listed}\n{markdown(told.at)}{again}\n"
