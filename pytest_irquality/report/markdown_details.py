"""The folded part of a Markdown report: limits, queries with their documents, and tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.edges.printable import markdown, markdown_code, markdown_sentence
from pytest_irquality.report.markdown_parts import (
    CELL,
    NOTES,
    bullets,
    folded,
    mean_value,
    sentences,
    table,
    value_now,
)
from pytest_irquality.report.views import state_in
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict
from pytest_irquality.wording.answers import in_one_line_each
from pytest_irquality.wording.caveats import MARKS as CAVEATS
from pytest_irquality.wording.demand_words import bound
from pytest_irquality.wording.moves import in_answers, rank
from pytest_irquality.wording.numbers import counted, figure
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand, sentence, warnings
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut, rerun

QUERIES = 10
LINES = 40
TAGS = 30


def details(story: Story, points: Sequence[str]) -> Iterator[str]:
    """Everything about a suite that is no first screen; ``points`` are those that it left out."""
    result = story.result
    lines = [row for verdict in _limits(story) for row in _limit_rows(result, verdict)]
    yield table(["", "Limit", "before", "now", "limit", "what was seen"], lines[:LINES])
    yield f"{counted(len(lines) - LINES, 'more line')}\n" if len(lines) > LINES else ""
    yield sentences(points)
    yield bullets(f"⚠ {markdown_sentence(cut(text, CELL))}" for text in warnings(result)[:NOTES])
    answers = (markdown(cut(text, 2 * CELL)) for text in in_one_line_each(result))
    yield bullets([*answers][:NOTES])
    yield sentences([*story.notes, *result.written])
    yield from _queries(story)
    yield _tags(result)
    if story.coverage:
        yield f"{markdown(story.coverage)}\n"


def _limits(story: Story) -> Sequence[Verdict]:
    """The limits, the broken ones first."""
    broken = list(story.damage.failed_limits)
    limits = [verdict for verdict in story.result.verdicts if verdict.query is None]
    return [*broken, *(verdict for verdict in limits if verdict not in broken)]


def _limit_rows(result: SuiteResult, verdict: Verdict) -> Iterator[list[str]]:
    """A row for each broken demand of a limit; one for a limit that holds."""
    symbol = state_in(result, "warned" if verdict.warned else verdict.outcome).symbol
    if verdict.caveat:
        symbol = CAVEATS[verdict.caveat]
    if verdict.outcome not in ("failed", "known", "accepted") or not verdict.broken:
        held = verdict.findings[0] if len(verdict.findings) == 1 else None
        limit = ", ".join(dict.fromkeys(map(bound, verdict.findings[:3])))
        before, now = _sides(result, verdict, held) if held else ("", "")
        yield [symbol, verdict.label, before, now, limit, cut(reason(result, verdict), CELL)]
        return
    worst = sorted(verdict.broken, key=lambda finding: finding.kind)[:LINES]
    for finding in worst:
        before, now = _sides(result, verdict, finding)
        seen = cut(sentence(result, verdict, finding), CELL)
        yield [symbol, verdict.label, before, now, bound(finding), seen]


def _sides(result: SuiteResult, verdict: Verdict, finding: Finding) -> tuple[str, str]:
    """The mean that a demand is about, before and now."""
    if verdict.over.queries or finding.variants:
        return "", ""
    mean = result.mean(finding.measure, finding.subject)
    if mean is None:
        return "", ""
    return (figure(mean.change.before, mean.unit) if mean.change else ""), value_now(mean)


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
    documents = table(
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
    title = f"{document.id} {document.title or ''}".strip()
    grade = "not judged" if document.grade is None else f"{document.grade:g}"
    was = "" if document.before is None else str(document.before)
    return [where, was, grade, cut(title, CELL)]


def _tags(result: SuiteResult) -> str:
    tags = [*dict.fromkeys(mean.tag for mean in result.means if mean.tag is not None)]
    if not tags:
        return ""
    rows = [
        [tag, *(mean_value(result.mean(measure, tag)) for measure in result.shown)]
        for tag in tags[:TAGS]
    ]
    more = f"\n{counted(len(tags) - TAGS, 'more tag')}\n" if len(tags) > TAGS else ""
    return f"{table(['Tag', *result.shown], rows)}{more}"
