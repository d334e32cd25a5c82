"""The report as Markdown, for a pull request's summary: the story first, everything else folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.edges.printable import html, markdown, markdown_code
from pytest_irquality.report.layout import (
    CELL,
    bullets,
    folded,
    markdown_section,
    markdown_step,
    markdown_table,
)
from pytest_irquality.verdict.result import QueryResult, SuiteResult
from pytest_irquality.wording.acceptance import accepted
from pytest_irquality.wording.block import LEVELS, Opened, Section, Space
from pytest_irquality.wording.mean_tables import retrievers, suites
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.query_table import Queries
from pytest_irquality.wording.stories import overall, steps_of, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import told, worst_of
from pytest_irquality.wording.words import cut

LONGEST = 65_000
WORST, SUITES, NOTES, QUERIES = 4, 100, 20, 10
SEEN = Space(rank=6, rows=40, rank_of_rows=2)
FOLDED = Space(parts=NOTES, rows=40, rank_of_rows=2)
"""The room before the fold and in it."""
ELSEWHERE = "The rest is in the HTML report."


def markdown_report(
    results: Sequence[SuiteResult],
    *,
    not_evaluated: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> str:
    """The verdict, why, the worst queries, and the rest folded: under 65,000 characters."""
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
    yield bullets(f"⚠ {markdown(line)}" for story in stories for line in accepted(story.result))
    yield _headline(stories, not_evaluated, left_out)
    yield _without_result("✗", not_evaluated)
    yield _without_result("⚠", left_out)
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


def _seen(story: Story) -> Sequence[Section]:
    """The sections before the fold."""
    return [one.within(SEEN) for one in told(story, WORST) if one.tab == "Overview"]


def _only(sections: Sequence[Section], others: Sequence[Section]) -> Iterator[Section]:
    """The sections without the parts that others have."""
    seen = [part for section in others for part in section.parts]
    for one in sections:
        yield one._replace(parts=tuple(part for part in one.parts if part not in seen))


def _retrievers(stories: Sequence[Story]) -> Iterator[str]:
    for title, table in retrievers([story.result for story in stories]):
        yield f"{markdown(title)}\n\n{markdown_table(table)}"


def _rest(story: Story, *, alone: bool) -> Iterator[str]:
    """All of a suite that is not seen, in one fold: limits, notes, queries and tags."""
    title = "Limits, queries, tags and notes" if alone else story.name
    yield f"<details><summary>{html(title)}</summary>\n"
    every = [section.within(FOLDED) for section in told(story, WORST)]
    yield from map(markdown_section, _only(every, _seen(story) if alone else ()))
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
    rules = (f"{state.symbol} {markdown(cut(text, CELL))}" for state, text in told.rules)
    remarks = (f"{markdown(name)}: {markdown(cut(text, CELL))}\n\n" for name, text in told.remarks)
    fault = f"{markdown(cut(told.fault, 2 * CELL))}\n\n" if told.fault else ""
    ranked = told.pair.as_table(NOTES)
    moved = any(row.rank == 0 for row in ranked.rows)
    documents = markdown_table(ranked.most(NOTES, rank=0 if moved else None))
    again = f" · {markdown_code(told.again)}" if told.again else ""
    listed = f"{bullets([*rules][:NOTES])}\n{documents}"
    return f"{''.join(remarks)}{fault}{listed}\n{markdown(told.at)}{again}\n"
