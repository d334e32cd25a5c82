"""Plain text: an item's explanation, and the summary at the end of the session, fitted to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_irquality.edges.printable import terminal
from pytest_irquality.verdict.facts import Finding
from pytest_irquality.verdict.limits import margin
from pytest_irquality.verdict.result import (
    Mean,
    QueryResult,
    ShownDocument,
    SuiteResult,
    Verdict,
)
from pytest_irquality.verdict.side_by_side import Side, SideBySide, side_by_side
from pytest_irquality.wording.accepted import accepted
from pytest_irquality.wording.answers import answers_lines
from pytest_irquality.wording.audit import audit_of
from pytest_irquality.wording.caveats import MARKS as CAVEATS
from pytest_irquality.wording.caveats import whole, with_urgent
from pytest_irquality.wording.moves import LEFT_INDEX, name
from pytest_irquality.wording.numbers import (
    counted,
    digits_apart,
    figure,
    probability,
    signed,
)
from pytest_irquality.wording.sentences import demand, otherwise, reason, sentence, warnings
from pytest_irquality.wording.story import Story, Worse, caveats_of, worst_first
from pytest_irquality.wording.words import ON_CHANGE, bound, cells, fit, one_line, quoted, wrapped

MARKS = {
    "passed": "✓", "failed": "✗", "error": "✗ ERROR", "known": "known issue", "accepted": "accepted", "fixed": "✗ FIXED",
    "not evaluated": "✗ not evaluated",
}  # fmt: skip
WORST = 5
FINDINGS = 20
IN_FULL = 3
"""Failures of a suite that the terminal tells in full."""
LINES, LINES_EACH, FEWEST = 56, 112, 5
"""How long the summary of one suite may be, those of several together, and the least that one of several is told in."""


# -- one failure -----------------------------------------------------------------------------------


def explain(result: SuiteResult, verdict: Verdict) -> str:
    """Everything about one check that ended badly: what was demanded, what was seen, why it matters, where it stands."""
    story = Story(result)
    lines = [_title(story, verdict)]
    if verdict.query is not None:
        lines += _query_lines(result, verdict)
    else:
        for finding in verdict.broken[:FINDINGS]:
            if len(verdict.broken) > 1:  # a single one is the title
                lines.append(f"  {_mark(finding)} {sentence(result, verdict, finding)}")
            lines += _reasons(result, finding)
        if len(verdict.broken) > FINDINGS:
            lines.append(f"  and {len(verdict.broken) - FINDINGS} more, all in the report")
        lines += _change_lines(story, verdict)
        lines += _lowest(result, verdict)
    if verdict.known_issue:
        lines.append(f"  known issue: {verdict.known_issue}")
    if judges := otherwise(verdict):
        lines.append(f"  {judges}")
    return "\n".join(map(terminal, [*lines, f"  at {result.place(verdict)}"]))


def laid_out(result: SuiteResult, verdict: Verdict, width: int) -> str:
    """The explanation as a terminal shows it: the most damaged in full, of the others three lines, nothing wrapped."""
    if verdict not in told_in_full(result):
        return "\n".join(_brief(result, verdict, width))
    lines = explain(result, verdict).split("\n")
    return "\n".join(line if _uncut(line) else _fitted(line, width) for line in lines)


def told_in_full(result: SuiteResult) -> Sequence[Verdict]:
    """The failures that a terminal tells in full: queries, whose rankings no table holds, before limits."""
    damage = Story(result).damage
    return [*damage.failed_queries, *damage.failed_limits][:IN_FULL]


def _brief(result: SuiteResult, verdict: Verdict, width: int) -> Iterator[str]:
    title = _title(Story(result), verdict)
    yield _fitted(terminal(title), width)
    why = short_reason(result, verdict)
    if why != title:
        yield _fitted(terminal(f"  ✗ {why}"), width)
    yield terminal(f"  at {result.place(verdict)}")


def short_reason(result: SuiteResult, verdict: Verdict) -> str:
    """Why a check failed, for where its name stands beside it."""
    why = reason(result, verdict)
    if verdict.query is None or verdict.query not in result.by_id:
        return why
    return why.removeprefix(f"{quoted(result.query(verdict.query).text)}: ")


def _title(story: Story, verdict: Verdict) -> str:
    """A query with its text and what it lost; why a limit failed."""
    query = story.result.by_id.get(verdict.query or "")
    if query is None:
        return reason(story.result, verdict)
    sides = story.damage.sides(query)
    if sides is None or not story.damage.gain(query):
        return quoted(query.text)
    worse = story.worsened(query)
    return f"{quoted(query.text)}  {story.damage.measure} {worse.values}, {worse.lost}"


def _uncut(line: str) -> bool:
    """Whether a line is a place or a command, which must stay whole."""
    return line.startswith(("  at ", "    pytest "))


def _fitted(line: str, width: int) -> str:
    """A line in so many columns, with the space it begins with and between its columns."""
    if cells(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    columns = line.strip().split("  ")
    last = fit(columns[-1], max(12, width - cells(line) + cells(columns[-1])))
    kept = indent + "  ".join([*columns[:-1], last])
    return kept if cells(kept) <= width else indent + fit(line, width - len(indent))


def _mark(finding: Finding) -> str:
    if finding.ok:
        return "✓"
    return "✗" if finding.fails else "!"


# -- one query -------------------------------------------------------------------------------------


def _query_lines(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    query = result.query(verdict.query or "")
    if not verdict.findings:
        yield f"  {reason(result, verdict)}"
    yield from (f"  {_mark(finding)} {demand(result, finding)}" for finding in verdict.findings)
    yield ""
    yield from ranking_lines(query)
    yield from _remarks(query.remarks, "  ")


def ranking_lines(query: QueryResult) -> Iterator[str]:
    """The top of a ranking with grades and old ranks, then the documents that should be in it, or
    were.
    """
    compared = query.before is not None
    if query.ranking:
        yield "  rank  was  grade  document" if compared else "  rank  grade  document"
        yield from (_document(document, compared) for document in query.ranking)
    else:
        yield "  nothing was returned"
    above = {document.id for document in query.ranking}
    if query.missing:
        yield "  expected, but not above:"
        yield from (_document(document, compared) for document in query.missing)
    expected = {document.id for document in query.missing}
    gone = [d for d in query.ranking_before if d.id not in above and d.id not in expected]
    if gone:
        yield "  above before, but not now:"
        yield from (_document(document, compared) for document in gone)


def _document(document: ShownDocument, compared: bool) -> str:
    was = f"{_rank(document.before):>3}  " if compared else ""
    grade = "–" if document.grade is None else f"{document.grade:g}"
    return f"  {_rank(document.rank):>4}  {was}{grade:>5}  {_titled(document)}{_why(document)}"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _titled(document: ShownDocument) -> str:
    if not document.title or document.title == document.id:
        return document.id
    return f"{document.id}  {one_line(document.title)}"


def _why(document: ShownDocument) -> str:
    """What the retriever itself says of a document."""
    gone = LEFT_INDEX if document.gone else ""
    words = "; ".join(filter(None, (gone, one_line(document.explanation or "", 300))))
    return f"  ← {words}" if words else ""


# -- one limit -------------------------------------------------------------------------------------


def _reasons(result: SuiteResult, finding: Finding) -> Iterator[str]:
    """What the retriever says of the documents that a guard names, and why the query matters."""
    if not finding.ranked or finding.subject not in result.by_id:
        return
    query = result.query(finding.subject)
    named = {document.id for document in finding.ranked}
    documents = {d.id: d for d in (*query.ranking_before, *query.ranking, *query.missing)}
    for document in documents.values():
        if document.id in named and (why := _why(document)):
            yield f"      {_titled(document)}{why}"
    yield from _remarks(query.remarks, "      ")


def _remarks(remarks: Mapping[str, str], indent: str) -> Iterator[str]:
    """What the suite wants shown, such as why a query matters."""
    for key, text in remarks.items():
        yield f"{indent}{key}: {text}"


def _change_lines(story: Story, verdict: Verdict) -> Iterator[str]:
    """The size of a drop, how sure it is, and the tags and queries that lost most."""
    finding = next((f for f in verdict.broken if f.kind in ON_CHANGE and f.change), None)
    if finding is None or finding.change is None or verdict.scope == "each_query":
        return
    change, unit = finding.change, story.result.unit(finding.measure)
    sure = []
    if change.low is not None and change.high is not None:
        sure.append(f"90 % interval {signed(change.low, unit)} to {signed(change.high, unit)}")
    if change.p is not None:
        sure.append(probability(change.p))
    beside = f" ({', '.join(sure)})" if sure else ""
    counts = f"{change.worse} worse, {change.better} better, {change.equal} equal"
    yield f"  change {signed(change.difference, unit)}{beside}; {counts}"
    if not finding.subject and finding.measure == story.damage.measure and story.tags:
        yield f"  tags that lost most: {story.tags}"
    if finding.measure == story.damage.measure:
        tagged = [
            query
            for query in story.damage.worse
            if not finding.subject or finding.subject in query.tags
        ]
        if tagged:
            yield f"  queries that lost most in {finding.measure}:"
        for query in tagged[:WORST]:
            worse = story.worsened(query)
            moved = f"  {worse.moves}" if worse.moves else ""
            yield f"    {worse.values}  {one_line(query.text)} ({story.result.place(query)}){moved}"
        if len(tagged) > WORST:
            yield f"    and {len(tagged) - WORST} more"


def _lowest(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries that pulled a mean below its floor, worst first."""
    below = (f for f in verdict.broken if f.measure in result.measures and f.kind == "min")
    finding = next(below, None)
    if finding is None or finding.limit is None or verdict.scope == "each_query":
        return
    if any(other.kind in ON_CHANGE for other in verdict.broken):  # those that lost most were told
        return
    column, tag = result.measures.index(finding.measure), finding.subject
    scored = [
        (query.values[column] or 0.0, query)
        for query in result.queries
        if query.values[column] is not None and (not tag or tag in query.tags)
    ]
    low = sorted((pair for pair in scored if pair[0] < finding.limit), key=lambda pair: pair[0])
    if low:
        yield f"  lowest {finding.measure}{f' of {tag}' if tag else ''}:"
    for value, query in low[:WORST]:
        missed = [document for document in query.missing if document.relevant]
        rest = " …" if len(missed) > 2 else ""
        lost = f"  without {', '.join(map(name, missed[:2]))}{rest}" if missed else ""
        yield f"    {figure(value)}  {one_line(query.text)} ({result.place(query)}){lost}"


# -- the summary -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Some lines of the summary; where it gets too long, the least weighty (the largest ``rank``) go first."""

    rank: int
    lines: tuple[str, ...]


def summary(
    results: Sequence[SuiteResult], width: int, written: Sequence[str] = ()
) -> Iterator[str]:
    """The story of every suite, the worst one and the headline last, where a terminal is read first.

    ``written`` are lines on the files that were written.
    """
    stories = worst_first(results)
    alone = len(stories) == 1
    beside_each_other = [list(beside(table)) for table in side_by_side(results)]
    room = LINES_EACH - sum(map(len, beside_each_other)) - len(written)
    budget = LINES if alone else max(FEWEST, room // max(len(stories), 1) - 2)
    for lines in beside_each_other:
        yield from (_fitted(line, width) for line in lines)
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
        yield from (_fitted(line, width) for line in audit)
        yield ""
    yield from written
    if alone:
        yield from _headline(stories[0], width, alone)
    elif stories:
        yield from _wrapped_headline(overall(stories), width)


def quiet(results: Iterable[SuiteResult]) -> Iterator[str]:
    """One line a suite: the headline and what the first measure did."""
    for result in results:
        story = Story(result)
        mean = result.whole.get(story.damage.measure)
        figures = [
            f"{result.path}{f' [{result.retriever}]' if result.retriever else ''}: {_word(story)}: {story.headline}"
        ]
        if mean:
            change = mean.change
            now = figure(mean.value, mean.unit)
            was = f"{figure(change.before, mean.unit)} → " if change else ""
            figures.append(f"{mean.measure} {was}{now}")
        if story.tally:
            figures.append(story.tally)
        yield "; ".join(figures)
        yield from (line for line in result.written if not line.startswith(" "))


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
        yield Block(0, (terminal(_fitted(f"{story.name} ({result.path})", width)),))
    told = accepted(result)
    if told:
        yield Block(
            0, tuple(line for n, text in enumerate(told) for line in lines(text, "  " if n else ""))
        )
    for remark in _remarks(result.remarks, ""):
        yield Block(25, lines(remark))
    if story.tally:
        yield Block(2, lines("; ".join(filter(None, (story.tally, story.balance)))))
    yield from listed(10, story.causes, 6)
    if worst:
        yield Block(3, tuple(_worst_lines(story, worst, width)))
    if story.tags and story.state == "failed":
        yield Block(14, lines(f"tags that lost most: {story.tags}"))
    yield Block(4, tuple(_table(list(_rows(story)), width)))
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
    answers = [_fitted(terminal(f"  {line}"), width) for line in answers_lines(result)]
    if answers:
        yield Block(16, tuple(answers[:12]))
    written = [terminal(f"  {line}") for line in result.written]
    yield Block(
        5,
        tuple(
            line if not line.startswith("   ") else _fitted(line, width) for line in written[:12]
        ),
    )
    yield Block(13, lines(story.compared_with))
    for step in story.steps if alone else ():
        command = (f"    {step.command}",) if step.command else ()
        yield Block(9, (f"  {step.words}:", *command))


def _headline(story: Story, width: int, alone: bool) -> Iterator[str]:
    """The verdict, in the last lines of a suite."""
    mark = {"failed": "✗", "partial": "!", "passed": "✓"}[story.state]
    if story.state == "passed" and any(verdict.caveat for verdict in story.result.verdicts):
        mark = "!"
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
    """How many suites failed, and which is the worst."""
    failed = [story for story in stories if story.state == "failed"]
    many, caveats = counted(len(stories), "suite"), caveats_of(stories)
    if not failed:
        return with_urgent(f"✓ {many} passed", False, caveats)
    worst = f"✗ FAILED  {len(failed)} of {many}, the worst is {failed[0].name}"
    return with_urgent(worst, True, caveats)


def _worst_lines(story: Story, worst: Sequence[Worse], width: int) -> Iterator[str]:
    """The queries that lost most with the documents that moved, one line each."""
    yield _fitted(f"  lost most {story.damage.measure}:", width)
    texts = [fit(worse.query.text, max(16, min(36, width // 3))) for worse in worst]
    column = max(map(cells, texts))
    for text, worse in zip(texts, worst, strict=True):
        space = " " * (column - cells(text))
        line = f"    {worse.lost:>7}  {terminal(text)}{space}  {worse.values}"
        moved = terminal(worse.moves)
        room = width - cells(line) - 2
        yield f"{line}  {fit(moved, room)}".rstrip() if moved and room > 12 else line
    more = len(story.damage.worse) - len(worst)
    if more > 0:
        yield f"    and {more} more"


# -- the table -------------------------------------------------------------------------------------

Row = tuple[str, str, str, str, str, str, str, str]
HEAD: Row = ("measure", "before", "now", "change", "worse/better", "limit", "", "queries")
DISPENSABLE = (7, 4)
"""Columns that go where a terminal is too narrow for all."""
MOST_ROWS = 12


def _rows(story: Story) -> Iterator[Row]:
    """The measures shown, and every limit that has no plain tick, most damage first; what holds is counted elsewhere."""
    result = story.result
    yield HEAD
    limits = {verdict.label: verdict for verdict in result.verdicts if verdict.scope == "suite"}
    bad = [v for v in story.damage.failed_limits if v.outcome != "not evaluated"]
    bad += [v for v in result.verdicts if v.caveat and v.query is None]
    shown = [
        m
        for m in result.whole.values()
        if m.measure in result.shown or limits.get(m.measure) in bad
    ]
    for mean in shown:
        verdict = limits.get(mean.measure)
        limit = ", ".join(map(bound, verdict.findings)) if verdict else ""
        yield _row(mean.measure, mean, limit, verdict)
    others = [v for v in bad if v.scope != "suite"]
    for verdict in others[:MOST_ROWS]:
        yield _limit_row(result, verdict)
    if len(others) > MOST_ROWS:
        yield (f"and {len(others) - MOST_ROWS} more", "", "", "", "", "", "✗", "")


def _limit_row(result: SuiteResult, verdict: Verdict) -> Row:
    """A limit on tags or queries: the one that broke worst, and how many did."""
    findings = verdict.broken or verdict.findings
    known = [finding for finding in findings if finding.value is not None]
    worst = min(known or findings, key=margin, default=None)
    limit = bound(worst) if worst else ""
    means = {(mean.measure, mean.tag): mean for mean in result.means}
    mean = means.get((worst.measure, worst.subject)) if worst else None
    several = f"{len(verdict.broken)} broken" if len(verdict.broken) > 1 else ""
    if mean and verdict.scope in ("tag", "each_tag"):
        on = f"worst: {worst.subject}" if worst and verdict.scope == "each_tag" else ""
        return _row(verdict.label, mean, limit, verdict, on)
    value, change = _extreme(worst)
    return (verdict.label, "", value, change, "", limit, _outcome(verdict), several)


def _extreme(finding: Finding | None) -> tuple[str, str]:
    """The value or else the change that is furthest beyond a limit on every query."""
    if finding is None or finding.value is None:
        return "", ""
    if finding.kind not in ON_CHANGE:
        return figure(finding.value, finding.unit), ""
    rise = finding.value if finding.kind == "max_rise" else -finding.value
    return "", signed(rise, finding.unit)


def _outcome(verdict: Verdict) -> str:
    """A verdict's mark; one that passed although something it demands is not so gets that of a warning."""
    warned = verdict.outcome == "passed" and not all(finding.ok for finding in verdict.findings)
    if verdict.caveat:
        return CAVEATS[verdict.caveat]
    return "!" if warned else MARKS[verdict.outcome]


def _row(label: str, mean: Mean, limit: str, verdict: Verdict | None, on: str = "") -> Row:
    """A measure over the suite or a tag, with the digits that tell its figures from the limits they break.

    Where other queries are compared than are shown, both counts stand.
    """
    change = mean.change
    broken = [f for f in verdict.broken if f.subject == (mean.tag or "")] if verdict else []
    n = f"{mean.queries}"
    if mean.undefined:
        n = f"{n} ({mean.undefined} without a value)"
    before = moved = counts = ""
    if change:
        digits = _digits(broken, mean, on_change=True)
        before = figure(change.before, mean.unit)
        moved = signed(change.difference, mean.unit, digits)
        counts = f"{change.worse}/{change.better}"
        if change.queries != mean.queries:
            n = f"{n}, {change.queries} compared"
    value, on_change = mean.value, False
    if change:
        value, on_change = change.now, not whole(mean)
    now = figure(value, mean.unit, _digits(broken, mean, on_change=on_change))
    n = "; ".join(filter(None, (n, whole(mean))))
    mark = _outcome(verdict) if verdict else ""
    return (label, before, now, moved, counts, limit, mark, ", ".join(filter(None, (n, on))))


def _digits(broken: Sequence[Finding], mean: Mean, on_change: bool) -> int:
    pairs = [
        (finding.value, finding.limit)
        for finding in broken
        if finding.value is not None
        and finding.limit is not None
        and finding.unit == mean.unit
        and (finding.kind in ON_CHANGE) == on_change
    ]
    return max((digits_apart(value, limit, mean.unit) for value, limit in pairs), default=3)


def _table(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Aligned columns in the width there is: without those that are empty, then without what is dispensable."""
    kept = [n for n in range(len(HEAD)) if n in (0, 2) or any(row[n] for row in rows[1:])]
    for column in DISPENSABLE:
        if _wide(rows, kept) > width and column in kept:
            kept.remove(column)
    widths = [max(cells(row[n]) for row in rows) for n in kept]
    over = _wide(rows, kept) - width
    if over > 0:
        widths[0] = max(16, widths[0] - over)
    for row in rows:
        line = "  ".join(
            _aligned(row[n], column, right=0 < n < 5)
            for n, column in zip(kept, widths, strict=True)
        )
        yield _fitted(terminal(f"  {line}".rstrip()), width)


def _wide(rows: Sequence[Row], kept: Sequence[int]) -> int:
    return sum(max(cells(row[n]) for row in rows) + 2 for n in kept)


def _aligned(text: str, width: int, *, right: bool) -> str:
    text = fit(text, width) if text else ""
    space = " " * (width - cells(text))
    return f"{space}{text}" if right else f"{text}{space}"


# -- retrievers ------------------------------------------------------------------------------------


def beside(table: SideBySide) -> Iterator[str]:
    """The retrievers of a suite in columns: the best marked, the others with what sets them apart
    from it.
    """
    tested = any(side.p is not None for row in table.rows for side in row.sides)
    two_sided = ", p two-sided" if tested else ""
    yield f"{table.suite} ({table.path})  retrievers side by side, ★ the best{two_sided}"
    rows = [("measure", *table.retrievers)]
    for row in table.rows:
        alike = len({side.queries for side in row.sides}) == 1
        rows.append((row.measure, *(_side(side, row.unit, alike) for side in row.sides)))
    widths = [max(cells(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row_ in rows:
        aligned = (
            _aligned(cell, column, right=False) for cell, column in zip(row_, widths, strict=True)
        )
        yield f"  {'  '.join(aligned)}".rstrip()


def _side(side: Side, unit: str, alike: bool) -> str:
    """A value; where retrievers answered different queries, over how many."""
    value = figure(side.value, unit) + ("" if alike else f" over {side.queries}")
    if side.best:
        return f"{value} ★"
    if side.p is None:
        return value
    return f"{value} ({side.worse} worse, {side.better} better, {probability(side.p)})"


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
