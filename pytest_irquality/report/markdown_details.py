"""The folded part of a Markdown report: limits, queries with their documents, and tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.edges.printable import markdown, markdown_code, markdown_sentence
from pytest_irquality.report.layout import markdown_rows, markdown_table
from pytest_irquality.report.markdown_parts import (
    CELL,
    NOTES,
    bullets,
    folded,
    sentences,
)
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult
from pytest_irquality.wording.answer_tables import wordings
from pytest_irquality.wording.answers import noise_said, wordings_said
from pytest_irquality.wording.limit_table import Limits
from pytest_irquality.wording.mean_tables import tags
from pytest_irquality.wording.moves import in_answers, rank
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.sentences import demand, warnings
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut, rerun

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
    own = {verdict.query: verdict for verdict in damage.failed_queries}
    broken = _broken_by_query(result)

    def is_bad(query: QueryResult) -> bool:
        failed = query.id in own or query.id in broken or query.fault
        return bool(failed) or (damage.gain(query) or 0) < 0

    bad = sorted(filter(is_bad, result.queries), key=damage.loss, reverse=True)
    for query in bad[:QUERIES]:
        verdict = own.get(query.id)
        demands = [*(verdict.findings if verdict else ()), *broken.get(query.id, ())]
        yield folded(cut(query.text, 80), _detail(result, query, demands))
    more = len(bad) - QUERIES
    if more > 0:
        yield f"{counted(more, 'more query', 'more queries')} failed or got worse.\n"


def _broken_by_query(result: SuiteResult) -> Mapping[str, Sequence[Finding]]:
    """The findings that limits, rules and guards on each query broke, by the query's id."""
    broken: dict[str, list[Finding]] = {}
    for verdict in result.verdicts:
        if verdict.over.each_query:
            for finding in verdict.broken:
                broken.setdefault(finding.subject, []).append(finding)
    return broken


def _detail(result: SuiteResult, query: QueryResult, demands: Sequence[Finding]) -> str:
    rules = bullets(
        f"{'✓' if finding.ok else '✗'} {markdown_sentence(cut(demand(result, finding), CELL))}"
        for finding in demands[:NOTES]
    )
    remarks = "".join(
        f"{markdown(key.capitalize())}: {markdown(cut(text, CELL))}\n\n"
        for key, text in query.remarks.items()
    )
    fault = f"{markdown(cut(query.fault, 2 * CELL))}\n\n" if query.fault else ""
    moved = [d for d in query.ranking if query.before is None or d.rank != d.before]
    documents = markdown_rows(
        ["rank", "was", "grade", "document"],
        [_document(document, query) for document in [*moved, *query.missing][:NOTES]],
    )
    explanations = bullets(_explanations(query))
    place = markdown(result.place(query))
    again = rerun(result, query.check)
    place += f" · {markdown_code(again)}" if again else ""
    return f"{remarks}{fault}{rules}\n{documents}\n{explanations}\n{place}\n"


def _explanations(query: QueryResult) -> Iterator[str]:
    """The retriever's own words on documents, once each."""
    explained = {d.id: d.explanation for d in (*query.missing, *query.ranking) if d.explanation}
    for id, text in explained.items():
        yield f"{markdown(id)}: {markdown(cut(text, CELL))}"


def _document(document: ShownDocument, query: QueryResult) -> list[str]:
    where = ", ".join(filter(None, (rank(document), in_answers(document, query))))
    title = f"{document.title or ''} {document.id}".strip()
    grade = "not judged" if document.grade is None else f"{document.grade:g}"
    was = "" if document.before is None else str(document.before)
    return [where, was, grade, cut(title, CELL)]
