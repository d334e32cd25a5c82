"""The report as Markdown, for a pull request's summary: the story first, everything else folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone

from pytest_irquality.edges.printable import (
    NAMED_COMMAND,
    html,
    markdown,
    markdown_code,
    markdown_sentence,
)
from pytest_irquality.report.tables import one_side
from pytest_irquality.report.views import LEVELS, STATES
from pytest_irquality.verdict.findings import Finding
from pytest_irquality.verdict.result import Mean, QueryResult, ShownDocument, SuiteResult, Verdict
from pytest_irquality.verdict.side_by_side import SideBySide, side_by_side
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.accepted import accepted
from pytest_irquality.wording.answers import in_one_line_each
from pytest_irquality.wording.caveats import MARKS as CAVEATS, whole
from pytest_irquality.wording.demands import bound
from pytest_irquality.wording.losers import Worse
from pytest_irquality.wording.moves import in_answers, rank
from pytest_irquality.wording.numbers import counted, figure, signed
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand, sentence, warnings
from pytest_irquality.wording.stories import overall, worst_first
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import cut, provenance, rerun

LONGEST = 65_000
WORST = 5
QUERIES = 10
LINES = 40
TAGS = 30
NOTES = 20
BROKEN = 5
CELL = 200
SHORT, MOVED = 32, 40
"""Characters of a query, and of what moved, that stand on one line of a pull request's table."""
POINTS, POINT = 3, 105
"""How many causes and caveats are seen before the fold, and how long one may be."""
ELSEWHERE = "The rest is in the HTML report."


def markdown_report(
    results: Sequence[SuiteResult],
    *,
    not_evaluated: Sequence[str] = (),
    now: datetime | None = None,
) -> str:
    """The verdict, why, the five worst queries, and the rest folded: under 65,000 characters."""
    text = ""
    blocks = _blocks(worst_first(results), not_evaluated, now or datetime.now(timezone.utc))
    for block in filter(None, blocks):
        if len(text) + len(block) + len(ELSEWHERE) + 100 > LONGEST:
            open_folds = text.count("<details>") - text.count("</details>")
            return f"{text}{ELSEWHERE}\n" + "\n</details>\n" * open_folds
        text += f"{block}\n"
    return text


def _blocks(stories: Sequence[Story], not_evaluated: Sequence[str], now: datetime) -> Iterator[str]:
    """Whole pieces, the weightiest first, so that a report that must be cut is cut between them."""
    alone = len(stories) == 1
    yield _list(
        f"⚠ {markdown_sentence(line)}" for story in stories for line in accepted(story.result)
    )
    yield _headline(stories, not_evaluated)
    yield _list(f"✗ not evaluated: {markdown(name)}" for name in not_evaluated[:NOTES])
    if alone:
        yield from _first_screen(stories[0], now)
    else:
        yield _suites(stories)
        yield _worst([story for story in stories if story.state == "failed"] or stories)
    yield from map(_retrievers, side_by_side([story.result for story in stories]))
    for story in stories:
        yield from _rest(story, now, alone=alone)


def _headline(stories: Sequence[Story], not_evaluated: Sequence[str]) -> str:
    if not stories:
        return "## ⚠ Nothing was judged\n"
    if len(stories) > 1:
        missing = f", {counted(len(not_evaluated), 'suite')} not evaluated" if not_evaluated else ""
        return f"## {markdown(overall(stories) + missing)}\n"
    story = stories[0]
    symbol, verdict = LEVELS[story.level], story.verdict
    if not_evaluated and story.state == "passed":
        symbol, verdict = "✗", "Not everything was evaluated"
    return f"## {symbol} {markdown(verdict)}\n\n{markdown(story.counted)}\n"


def _first_screen(story: Story, now: datetime) -> Iterator[str]:
    yield "".join(
        f"{markdown(key)}: {markdown(text)}\n" for key, text in story.result.remarks.items()
    )
    if story.tally:
        rest = f"; {markdown(story.balance)}" if story.balance else ""
        yield f"**{markdown(story.tally)}**{rest}.\n"
    points, _ = _points(story)
    yield _list(markdown_sentence(_point(text)) for text in points)
    before = story.result.baseline
    beside = f"compared with {markdown(provenance(before, now))}" if before else ""
    yield _worst([story], beside)
    yield f"{_broken(story)}\n"
    yield _list(
        f"{markdown(step.words)}: {markdown_code(step.command)}"
        for step in story.steps
        if step.command
    )


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


def _suites(stories: Sequence[Story]) -> str:
    """A line a suite, the worst first."""
    rows = []
    for story in stories:
        mean = story.result.mean(story.damage.measure)
        verdict = f"{LEVELS[story.level]} {story.headline}"
        rows.append([story.name, verdict, _value(mean, named=True), story.tally])
    return _table(["Suite", "Verdict", "First measure", "Queries"], rows)


def _worst(stories: Sequence[Story], beside: str = "") -> str:
    """The worst queries of all suites, how many more there are, and what stands beside that."""
    entries = [(story, worse) for story in stories for worse in story.worst(WORST)]
    entries.sort(key=lambda entry: -entry[0].damage.loss(entry[1].query))
    worst = entries[:WORST]
    measures = {story.damage.measure for story, _ in worst}
    rows = [_worst_row(story, worse, len(stories) > 1, len(measures) > 1) for story, worse in worst]
    head = ["Worst queries", "lost", ", ".join(measures), "what moved"]
    more = sum(len(story.damage.worse) for story in stories) - len(rows)
    below = [beside] if beside else []
    if rows and more > 0:
        below.insert(0, f"and {counted(more, 'more query', 'more queries')} got worse")
    text = f"{' · '.join(below)}\n" if below else ""
    return "\n".join(filter(None, (_table(head, rows), text)))


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


def _retrievers(table: SideBySide) -> str:
    head = ["measure", *table.retrievers]
    rows = [[row.measure, *(one_side(side, row.unit) for side in row.sides)] for row in table.rows]
    return (
        f"**{markdown(table.suite)}**: retrievers side by side, ★ the best\n\n{_table(head, rows)}"
    )


# -- folded ----------------------------------------------------------------------------------------


def _rest(story: Story, now: datetime, *, alone: bool) -> Iterator[str]:
    """Limits, queries, tags and notes of a suite, in one fold."""
    result = story.result
    title = "Limits, queries, tags and notes" if alone else story.name
    yield f"<details><summary>{html(title)}</summary>\n"
    if not alone:
        yield from _first_screen(story, now)
    lines = [row for verdict in _limits(story) for row in _limit_rows(result, verdict)]
    yield _table(["", "Limit", "before", "now", "limit", "what was seen"], lines[:LINES])
    yield f"{counted(len(lines) - LINES, 'more line')}\n" if len(lines) > LINES else ""
    _, others = _points(story)
    yield _sentences(others)
    yield _list(f"⚠ {markdown_sentence(cut(text, CELL))}" for text in warnings(result)[:NOTES])
    answers = (markdown(cut(text, 2 * CELL)) for text in in_one_line_each(result))
    yield _list([*answers][:NOTES])
    yield _sentences([*story.notes, *result.written])
    yield from _queries(story)
    yield _tags(result)
    if story.coverage:
        yield f"{markdown(story.coverage)}\n"
    yield "</details>\n"


def _limits(story: Story) -> Sequence[Verdict]:
    """The limits, the broken ones first."""
    broken = list(story.damage.failed_limits)
    limits = [verdict for verdict in story.result.verdicts if verdict.query is None]
    return [*broken, *(verdict for verdict in limits if verdict not in broken)]


def _limit_rows(result: SuiteResult, verdict: Verdict) -> Iterator[list[str]]:
    """A row for each broken demand of a limit; one for a limit that holds."""
    symbol = STATES["warned" if verdict.warned else verdict.outcome].symbol
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
    return (figure(mean.change.before, mean.unit) if mean.change else ""), _now(mean)


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
        yield _folded(cut(query.text, 80), _detail(result, query, demands))
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
    rules = _list(
        f"{'✓' if finding.ok else '✗'} {markdown_sentence(cut(demand(result, finding), CELL))}"
        for finding in demands[:NOTES]
    )
    remarks = "".join(
        f"{markdown(key.capitalize())}: {markdown(cut(text, CELL))}\n\n"
        for key, text in query.remarks.items()
    )
    fault = f"{markdown(cut(query.fault, 2 * CELL))}\n\n" if query.fault else ""
    moved = [d for d in query.ranking if query.before is None or d.rank != d.before]
    documents = _table(
        ["rank", "was", "grade", "document"],
        [_document(document, query) for document in [*moved, *query.missing][:NOTES]],
    )
    explanations = _list(_explanations(query))
    place = markdown(result.place(query))
    again = markdown_code(rerun(result, query.check))
    return f"{remarks}{fault}{rules}\n{documents}\n{explanations}\n{place} · {again}\n"


def _explanations(query: QueryResult) -> Iterator[str]:
    """The retriever's own words on documents, once each."""
    explained = {d.id: d.explanation for d in (*query.missing, *query.ranking) if d.explanation}
    for id, text in explained.items():
        yield f"{markdown_code(id)}: {markdown(cut(text, CELL))}"


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
        [tag, *(_value(result.mean(measure, tag)) for measure in result.shown)]
        for tag in tags[:TAGS]
    ]
    more = f"\n{counted(len(tags) - TAGS, 'more tag')}\n" if len(tags) > TAGS else ""
    return f"{_table(['Tag', *result.shown], rows)}{more}"


def _value(mean: Mean | None, *, named: bool = False) -> str:
    if mean is None:
        return ""
    change, measure = mean.change, f"{mean.measure} " if named else ""
    if change is None or abs(change.difference) <= EQUAL:
        return f"{measure}{_now(mean)}"
    return f"{measure}{_now(mean, f' ({signed(change.difference, mean.unit)})')}"


def _now(mean: Mean, moved: str = "") -> str:
    """Today's value over what is compared, and by how much it ``moved``.

    The value over all stands apart, where that is another.
    """
    return "; ".join(filter(None, (f"{figure(mean.now, mean.unit)}{moved}", whole(mean))))


# -- Markdown --------------------------------------------------------------------------------------


def _list(items: Iterable[str]) -> str:
    lines = [f"- {item}" for item in items]
    return "\n".join([*lines, ""]) if lines else ""


def _sentences(texts: Sequence[str]) -> str:
    return _list(markdown_sentence(cut(text, 2 * CELL)) for text in texts[:NOTES])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty below their head are left out."""
    made = [[markdown_sentence(cell) for cell in row] for row in rows]
    if not made:
        return ""
    kept = [at for at in range(len(head)) if any(row[at] for row in made)]
    ruled = (list(map(markdown, head)), ["---"] * len(head), *made)
    lines = [[row[at] for at in kept] for row in ruled]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), ""])


def _folded(title: str, body: str) -> str:
    """GitHub reads Markdown inside only after an empty line."""
    return f"<details><summary>{html(title)}</summary>\n\n{body}\n</details>\n"
