"""The report as Markdown, for a pull request's summary: drawn from the same views as the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from types import MappingProxyType

from pytest_irquality.edges.printable import html, markdown, markdown_code
from pytest_irquality.report.page import page_view
from pytest_irquality.report.views import Document, Held, Line, Page, Query, Row, Section
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import counted
from pytest_irquality.wording.words import cut

LONGEST = 65_000
QUERIES = 10
LINES = 40
TAGS = 30
NOTES = 20
CELL = 200
NO_NUMBERS = ("", "", "—", "")
ELSEWHERE = "The rest is in the HTML report."


def markdown_report(
    results: Sequence[SuiteResult],
    *,
    not_evaluated: Sequence[str] = (),
    now: datetime | None = None,
) -> str:
    """Verdict, limits, the worst queries with the documents that moved: under 65,000 characters,
    whatever the run.
    """
    page = page_view(
        results, MappingProxyType({}), not_evaluated, "", now or datetime.now(timezone.utc)
    )
    text = ""
    for block in filter(None, _blocks(page)):
        if len(text) + len(block) + len(ELSEWHERE) + 2 > LONGEST:
            return f"{text}{ELSEWHERE}\n"
        text += f"{block}\n"
    return text


def _blocks(page: Page) -> Iterator[str]:
    """Whole pieces, the weightiest first, so that a report that must be cut is cut between them."""
    yield _list(f"⚠ {markdown(line)}" for line in page.accepted)
    yield (
        f"## {page.state.symbol}"
        f" {page.state.word}{f' — {markdown(page.headline)}' if page.headline else ''}\n"
    )
    reasons = [
        f"{reason.state.symbol}"
        f" {reason.state.word}{f' **{markdown(reason.where)}**' if reason.where else ''}"
        f" {markdown(reason.text)}"
        for reason in page.reasons
    ]
    yield _list([*reasons, *([markdown(page.more)] if page.more else [])])
    yield _list(f"✗ not evaluated: {markdown(name)}" for name in page.not_evaluated[:NOTES])
    if page.said:
        yield f"{markdown(page.said)}\n"
    if page.facts:
        yield f"{markdown(' · '.join(page.facts))}\n"
    if page.rows:
        names = [name.text for name in page.compared]
        rows = (
            [
                row.name,
                f"{row.state.symbol} {row.state.word}" if row.state else "",
                row.queries,
                *_values(row),
            ]
            for row in page.rows
        )
        yield _table(["Suite · retriever", "Verdict", "Queries", *names], rows)
    for section in page.sections:
        yield from _section(section, several=bool(page.rows))


def _section(section: Section, *, several: bool) -> Iterator[str]:
    if several:
        retriever = f" · {section.retriever}" if section.retriever else ""
        yield f"### {section.state.symbol} {markdown(section.title + retriever)}\n"
        yield f"{markdown(section.said)}\n" if section.said else ""
        yield f"{markdown(' · '.join(section.facts))}\n"
    lines = [row for line in section.lines for row in _line(line)]
    yield _table(["", "Limit", "Before", "Now", "Demanded", "n", "Seen"], lines[:LINES])
    yield f"{counted(len(lines) - LINES, 'more line')}\n" if len(lines) > LINES else ""
    yield _list(
        [
            *(f"⚠ {markdown(text)}" for text in section.warnings),
            *map(markdown, section.notes[:NOTES]),
        ]
    )
    yield from _queries(section)
    if len(section.tags) + len(section.tags_same) > 0:
        rows = [section.total, *section.tags, *section.tags_same]
        table = _table(
            ["Tag", "n", *(name.text for name in section.measures)],
            ([row.name, row.queries, *_values(row)] for row in rows[:TAGS]),
        )
        more = f"\n{counted(len(rows) - TAGS, 'more tag')}\n" if len(rows) > TAGS else ""
        yield _folded(section.tags_title, f"{table}{more}")
    yield _list(_wordings(section))
    yield f"{markdown(section.coverage)} {markdown(section.coverage_top)}".rstrip() + "\n"


def _wordings(section: Section) -> Iterator[str]:
    """Each kind of variants and measure in a line, and what unchanged code does."""
    for row in section.losses:
        said = f"{row.kind}: {row.measure} {row.own} → {row.variants} over {row.queries} queries"
        worst = f"; most: {row.worst[0].text}" if row.worst else ""
        yield markdown(f"{said}{worst}")
    if section.noise:
        yield markdown(section.noise.said)


def _line(line: Line) -> Iterator[list[str]]:
    if line.only is None and not line.spread:
        yield [
            line.state.symbol,
            line.label,
            *NO_NUMBERS,
            line.folded if line.kept else cut(line.reason, CELL),
        ]
    for held in [line.only] if line.only else line.spread:
        state = line.state if line.only else held.state
        name = line.label if line.only else f"{line.label} · {held.subject}"
        yield [state.symbol, name, *_held(held)]


def _held(held: Held) -> list[str]:
    return [
        held.before,
        held.value,
        held.limit or "—",
        held.queries,
        cut(held.text or held.note, CELL),
    ]


def _queries(section: Section) -> Iterator[str]:
    """The worst first: what failed, then what got worse. What stayed as it was is not told."""
    worst = [query for query in section.table.queries if query.kinds & {"failed", "error", "worse"}]
    if not worst:
        return
    values = section.measures[0].text if section.measures else ""
    head = ["", "Query", *([f"{values} before"] if section.compared else []), values, "Why"]
    shown = worst[:QUERIES]
    yield _table(head, (_query_row(query, section) for query in shown))
    more = len(worst) - len(shown)
    if more:
        yield f"{counted(more, 'more query', 'more queries')} failed or got worse.\n"
    for query in shown:
        yield _folded(cut(query.text, 80), _detail(query))


def _query_row(query: Query, section: Section) -> list[str]:
    value = query.values[0] if query.values else None
    before = [value.before if value else ""] if section.compared else []
    return [
        query.state.symbol,
        cut(query.text, CELL),
        *before,
        value.now if value else "",
        cut(query.said, CELL),
    ]


def _detail(query: Query) -> str:
    rules = _list(
        f"{rule.state.symbol} {markdown(cut(rule.text, CELL))}" for rule in query.rules[:NOTES]
    )
    remarks = "".join(
        f"{markdown(name)}: {markdown(cut(text, CELL))}\n\n" for name, text in query.remarks
    )
    told = _list(
        f"{markdown_code(id)}: {markdown(cut(text, CELL))}" for id, text in query.told[:NOTES]
    )
    fault = f"{markdown(cut(query.fault, 2 * CELL))}\n\n" if query.fault else ""
    moved = [d for d in query.ranking if not query.ranked_before or d.move not in ("", "=")]
    documents = _table(
        ["Rank", "Document", "Moved", "Grade"], map(_document, [*moved, *query.missing][:NOTES])
    )
    return (
        f"{remarks}{fault}{rules}\n{documents}\n{told}\n{markdown(query.place)} ·"
        f" {markdown_code(query.rerun)}\n"
    )


def _document(document: Document) -> list[str]:
    return [
        document.rank,
        cut(f"{document.id} {document.title}".strip(), CELL),
        document.move,
        document.grade,
    ]


def _values(row: Row) -> list[str]:
    return [
        f"{cell.state.symbol + ' ' if cell.state else ''}{cell.value}{f' ({cell.change})' if cell.change else ''}"
        f"{' ★' if cell.best else ''}{f' ({cell.note})' if cell.note else ''}"
        for cell in row.cells
    ]


# -- Markdown --------------------------------------------------------------------------------------


def _list(items: Iterable[str]) -> str:
    lines = [f"- {item}" for item in items]
    return "\n".join([*lines, ""]) if lines else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty below their head are left out."""
    made = [[markdown(cell) for cell in row] for row in rows]
    if not made:
        return ""
    kept = [at for at in range(len(head)) if any(row[at] for row in made)]
    lines = [
        [row[at] for at in kept] for row in (list(map(markdown, head)), ["---"] * len(head), *made)
    ]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), ""])


def _folded(title: str, body: str) -> str:
    """GitHub reads Markdown inside only after an empty line."""
    return f"<details><summary>{html(title)}</summary>\n\n{body}\n</details>\n"
