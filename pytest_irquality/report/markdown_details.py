"""The folded part of a Markdown report: limits, queries with their documents, and tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.edges.printable import markdown, markdown_code, markdown_sentence
from pytest_irquality.report.layout import markdown_rows, markdown_table
from pytest_irquality.report.markdown_parts import (
    CELL,
    NOTES,
    bullets,
    folded,
    sentences,
)
from pytest_irquality.report.query_view import QueryViews
from pytest_irquality.report.views import Detail
from pytest_irquality.verdict.result import QueryResult
from pytest_irquality.wording.answer_tables import wordings
from pytest_irquality.wording.answers import noise_said, wordings_said
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.mean_tables import tags
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.sentences import warnings
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut

QUERIES, LINES, TAGS = 10, 40, 30


def details(story: Story, points: Sequence[str]) -> Iterator[str]:
    """Everything about a suite that is no first screen; ``points`` are those that it left out."""
    result = story.result
    limits = Limits(result, story.damage)
    yield markdown_table(limits.table, LINES, rank=2)
    yield sentences(points)
    yield bullets(f"⚠ {markdown_sentence(cut(text, CELL))}" for text in warnings(result)[:NOTES])
    yield markdown_table(wordings(result), NOTES)
    yield sentences([*wordings_said(result), *noise_said(result)])
    yield sentences([*story.notes, *result.written])
    yield from _queries(story)
    if len((of := tags(result, limits)).rows) > 1:
        yield markdown_table(of, TAGS)
    if story.coverage:
        yield f"{markdown(story.coverage)}\n"


def _queries(story: Story) -> Iterator[str]:
    """The queries that failed or got worse, most damage first, with their documents."""
    result, damage = story.result, story.damage
    views = QueryViews(result, "", damage)
    failed = {verdict.query for verdict in damage.failed_queries}
    failed |= {id for id, guards in views.guards.items() if any(f.breaks for _, f in guards)}

    def is_bad(query: QueryResult) -> bool:
        return query.id in failed or bool(query.fault) or (damage.gain(query) or 0) < 0

    bad = sorted(filter(is_bad, result.queries), key=damage.loss, reverse=True)
    for query in bad[:QUERIES]:
        yield folded(cut(query.text, 80), _detail(views.detail(query)))
    more = len(bad) - QUERIES
    if more > 0:
        yield f"{counted(more, 'more query', 'more queries')} failed or got worse.\n"


def _detail(told: Detail) -> str:
    rules = (
        f"{rule.state.symbol} {markdown_sentence(cut(rule.text, CELL))}" for rule in told.rules
    )
    remarks = (f"{markdown(name)}: {markdown(cut(text, CELL))}\n\n" for name, text in told.remarks)
    fault = f"{markdown(cut(told.fault, 2 * CELL))}\n\n" if told.fault else ""
    moved = [document for document in told.ranking if document.move != "="]
    documents = markdown_rows(
        ["rank", "before", "grade", "result"],
        [
            [str(one.rank), one.move, one.grade, f"{one.title} {one.id}".strip()]
            for one in [*moved, *told.missing][:NOTES]
        ],
    )
    again = f" · {markdown_code(told.rerun)}" if told.rerun else ""
    listed = f"{bullets([*rules][:NOTES])}\n{documents}"
    return f"{''.join(remarks)}{fault}{listed}\n{markdown(told.place)}{again}\n"
