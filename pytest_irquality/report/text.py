"""Plain text: an item's whole explanation, and the summary at the end of the session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_irquality.edges.printable import terminal
from pytest_irquality.storage.provenance import Baseline
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
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.accepted import accepted
from pytest_irquality.wording.answers import answers_lines
from pytest_irquality.wording.audit import audit_of
from pytest_irquality.wording.caveats import MARKS as CAVEATS
from pytest_irquality.wording.caveats import urgent, whole, with_urgent
from pytest_irquality.wording.moves import move
from pytest_irquality.wording.numbers import (
    apart,
    counted,
    digits_apart,
    figure,
    probability,
    share,
    signed,
)
from pytest_irquality.wording.sentences import demand, notes, otherwise, reason, sentence, warnings
from pytest_irquality.wording.words import ON_CHANGE, bound, one_line

MARKS = {
    "passed": "✓", "failed": "✗", "error": "✗ ERROR", "known": "known issue", "accepted": "accepted", "fixed": "✗ FIXED",
    "not evaluated": "✗ not evaluated",
}  # fmt: skip
WORST = 5
WORST_IN_BULK = 10
FINDINGS = 20


def explain(result: SuiteResult, verdict: Verdict) -> str:
    """Everything about one check that ended badly: a short first line, then what was demanded and
    what was seen.
    """
    lines = [reason(result, verdict), ""]
    if verdict.query is not None:
        lines += _query_lines(result, verdict)
    else:
        for finding in verdict.broken[:FINDINGS]:
            lines += [f"  {_mark(finding)} {sentence(result, verdict, finding)}"]
            lines += _reasons(result, finding)
        if len(verdict.broken) > FINDINGS:
            lines.append(f"  and {len(verdict.broken) - FINDINGS} more, all in the report")
        lines += _change_lines(result, verdict)
        lines += _worst_queries(result, verdict)
    if verdict.known_issue:
        lines.append(f"  known issue: {verdict.known_issue}")
    if judges := otherwise(verdict):
        lines.append(f"  {judges}")
    return "\n".join(map(terminal, [*lines, f"  at {result.place(verdict)}"]))


def _outcome(verdict: Verdict) -> str:
    """A verdict's mark; one that passed although something it demands is not so gets that of a
    warning.
    """
    warned = verdict.outcome == "passed" and not all(finding.ok for finding in verdict.findings)
    if verdict.caveat:
        return CAVEATS[verdict.caveat]
    return "!" if warned else MARKS[verdict.outcome]


def _mark(finding: Finding) -> str:
    return "✓" if finding.ok else "✗" if finding.fails else "!"


# -- one query -------------------------------------------------------------------------------------


def _query_lines(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    query = result.query(verdict.query or "")
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
        yield f"  rank  {'was  ' * compared}grade  document"
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
    return (
        f"  {_rank(document.rank):>4}  {was}{_grade(document):>5} "
        f" {_words(document)}{_why(document)}"
    )


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _grade(document: ShownDocument) -> str:
    return "–" if document.grade is None else f"{document.grade:g}"


def _words(document: ShownDocument) -> str:
    title = (
        f"  {one_line(document.title)}" if document.title and document.title != document.id else ""
    )
    return f"{document.id}{title}"


def _why(document: ShownDocument) -> str:
    """What the retriever itself says of a document."""
    gone = "no longer in the index" if document.gone else ""
    said = "; ".join(part for part in (gone, one_line(document.explanation or "", 300)) if part)
    return f"  ← {said}" if said else ""


# -- one line of limits ----------------------------------------------------------------------------


def _reasons(result: SuiteResult, finding: Finding) -> Iterator[str]:
    """What the retriever says of the documents that a guard names, and why the query matters."""
    if not finding.ranked:
        return
    query = result.query(finding.subject)
    named = [
        d
        for d in (*query.ranking_before, *query.ranking, *query.missing)
        if d.id in {ranked.id for ranked in finding.ranked}
    ]
    for document in {document.id: document for document in named}.values():
        if why := _why(document):
            yield f"      {_words(document)}{why}"
    yield from _remarks(query.remarks, "      ")


def _remarks(remarks: Mapping[str, str], indent: str) -> Iterator[str]:
    """What the suite wants shown, such as why a query matters."""
    for name, text in remarks.items():
        yield f"{indent}{name}: {text}"


def _change_lines(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The size of a drop, how sure it is, and the slices and queries that lost most."""
    finding = next((f for f in verdict.broken if f.kind in ON_CHANGE and f.value is not None), None)
    if finding is None or verdict.scope == "each_query":
        return
    means = [mean for mean in result.means if mean.measure == finding.measure and mean.change]
    mean = next((mean for mean in means if mean.tag == (finding.subject or None)), None)
    if mean and mean.change:
        change = mean.change
        certain = (
            []
            if change.low is None or change.high is None
            else [_interval(change.low, change.high, mean.unit)]
        )
        certain += [] if change.p is None else [probability(change.p)]
        sure = f" ({', '.join(certain)})" if certain else ""
        counts = f"{change.worse} worse, {change.better} better, {change.equal} equal"
        yield f"  change {signed(change.difference, mean.unit)}{sure}; {counts}"
    if not finding.subject:
        tags = {tag for query in result.queries for tag in query.tags}
        slices = sorted(
            (_worsening(mean), mean.tag or "", mean) for mean in means if mean.tag in tags
        )
        lost = [(tag, mean) for worse, tag, mean in reversed(slices) if worse > EQUAL][:WORST]
        if lost:
            named = [
                f"{tag} {signed(mean.change.difference, mean.unit)}"
                for tag, mean in lost
                if mean.change
            ]
            yield f"  slices that lost most: {', '.join(named)}"
    yield from losers(result, finding.measure, finding.subject, WORST)


def _worsening(mean: Mean) -> float:
    if mean.change is None:
        return 0.0
    return mean.change.difference if mean.higher_is_better is False else -mean.change.difference


def _interval(low: float, high: float, unit: str) -> str:
    return f"90 % interval {signed(low, unit)} to {signed(high, unit)}"


def losers(result: SuiteResult, measure: str, tag: str, most: int) -> Iterator[str]:
    """The queries whose value worsened most, with the relevant documents that moved down."""
    column = result.measures.index(measure)
    mean = next(mean for mean in result.means if mean.measure == measure)
    sign = -1.0 if mean.higher_is_better is False else 1.0
    lost = []
    for query in result.queries:
        if query.before and query.compared and (not tag or tag in query.tags):
            before, now = query.before[column], query.compared[column]
            if before is not None and now is not None and sign * (before - now) > EQUAL:
                lost.append((sign * (now - before), query, before, now))
    lost.sort(key=lambda entry: entry[0])
    if lost:
        yield f"  queries that lost most in {measure}{f' of {tag}' if tag else ''}:"
    for _, query, before, now in lost[:most]:
        was, is_now = apart(before, now, mean.unit)
        place = f"({result.place(query)})"
        yield f"    {was} → {is_now}  {one_line(query.text)} {place}{_moves(query)}"
    if len(lost) > most:
        yield f"    and {len(lost) - most} more"


def _moves(query: QueryResult) -> str:
    """The relevant documents that sank, worst first."""
    shown_documents = {
        d.id: d for d in (*query.ranking_before, *query.missing, *query.ranking) if d.relevant
    }
    sunk = [
        d
        for d in shown_documents.values()
        if d.before is not None and (d.rank is None or d.rank > d.before)
    ]
    sunk.sort(key=lambda d: (d.rank is not None, d.before or 0))
    said = list(map(move, sunk[:2]))
    return f"  {', '.join(said)}{' …' if len(sunk) > 2 else ''}" if said else ""


def _worst_queries(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries that pulled a mean below its floor, worst first."""
    finding = next(
        (f for f in verdict.broken if f.measure in result.measures and f.kind == "min"), None
    )
    if finding is None or finding.limit is None or verdict.scope == "each_query":
        return
    if any(other.kind in ON_CHANGE for other in verdict.broken):  # those that lost most were told
        return
    column = result.measures.index(finding.measure)
    tag = finding.subject
    scored = [
        (value, query)
        for query in result.queries
        if (value := query.values[column]) is not None and (not tag or tag in query.tags)
    ]
    scored = sorted((pair for pair in scored if pair[0] < finding.limit), key=lambda pair: pair[0])
    if scored:
        yield f"  lowest {finding.measure}{f' of {tag}' if tag else ''}:"
    for value, query in scored[:WORST]:
        missed = [document for document in query.missing if document.relevant]
        lost = (
            f"  without {', '.join(map(_words, missed[:2]))}{' …' if len(missed) > 2 else ''}"
            if missed
            else ""
        )
        yield f"    {figure(value)}  {one_line(query.text)} ({result.place(query)}){lost}"


# -- the summary -----------------------------------------------------------------------------------


def headline(result: SuiteResult) -> str:
    """The verdict in words, with what must be known first."""
    return with_urgent(verdict_words(result), result.failed, tuple(urgent(result)))


def verdict_words(result: SuiteResult) -> str:
    """The verdict alone: ``FAILED: 2 of 9 limits, 1 of 44 queries``."""
    limits = [verdict.outcome for verdict in result.verdicts if verdict.query is None]
    queries = [verdict.outcome for verdict in result.verdicts if verdict.query is not None]

    def told(number: int, one: str, many: str) -> str:
        return counted(number, one, many) if number else ""

    def of(outcomes: Sequence[str], one: str, many: str) -> str:
        failed = outcomes.count("failed") + outcomes.count("fixed")
        return f"{failed} of {counted(len(outcomes), one, many)}" if failed else ""

    bad = [
        of(limits, "limit", "limits"),
        of(queries, "query", "queries"),
        told(queries.count("error"), "query unanswered", "queries unanswered"),
        told(limits.count("error"), "limit undecided", "limits undecided"),
        told(
            [*limits, *queries].count("not evaluated"),
            "check not evaluated",
            "checks not evaluated",
        ),
    ]
    said = ", ".join(filter(None, bad))
    if not said:
        plain = len(limits) - sum(bool(verdict.caveat) for verdict in result.verdicts)
        said = (
            f"passed: {counted(len(result.queries), 'query', 'queries')},"
            f" {counted(plain, 'limit', 'limits')}"
        )
        said += "" if result.gated else ", nothing gated"
    else:
        said = f"FAILED: {said}"
    known = told([*limits, *queries].count("known"), *KNOWN)
    drops = told([*limits, *queries].count("accepted"), "accepted drop", "accepted drops")
    return ", ".join(filter(None, ["PARTIAL" if result.interrupted else "", said, drops, known]))


KNOWN = ("known issue", "known issues")


def name_of(result: SuiteResult) -> str:
    """A suite with its retriever."""
    return f"{result.suite} [{result.retriever}]" if result.retriever else result.suite


def provenance(baseline: Baseline) -> str:
    """What was compared with: ``.ir-baseline/shop.jsonl (commit 9e01b77, 2026-11-19)``."""
    facts = (
        ("commit ", baseline.commit),
        ("", (baseline.time or "")[:10]),
        ("version ", baseline.version),
    )
    known = ", ".join(f"{what}{fact}" for what, fact in facts if fact)
    return f"{baseline.source} ({known})" if known else baseline.source


def summary(result: SuiteResult) -> Iterator[str]:
    """The table of a suite: each measure, what it was and is, its limits, how many queries it rests
    on.
    """
    for number, line in enumerate(accepted(result)):
        yield f"  {line}" if number else line
    yield f"{name_of(result)} ({result.path})  {headline(result)}"
    yield from _remarks(result.remarks, "  ")
    if result.baseline:
        yield f"  baseline: {provenance(result.baseline)}"
    yield from _table(list(_rows(result)))
    yield from _bulk(result)
    for verdict in result.verdicts:
        if verdict.outcome == "known":
            yield f"  known issue {verdict.known_issue}: {one_line(reason(result, verdict), 160)}"
    warned = warnings(result)
    for warning in warned[:FINDINGS]:
        yield f"  ! {warning}"
    if len(warned) > FINDINGS:
        more = counted(len(warned) - FINDINGS, "more warning")
        yield f"  ! and {more}, all in the report"
    for note in notes(result):
        yield f"  {note}"
    yield from (f"  {line}" for line in answers_lines(result))
    if result.returned:
        unjudged = share(result.returned - result.judged, result.returned)
        before = result.baseline
        was = (
            f"; {share(before.returned - before.judged, before.returned)} in the baseline"
            if before
            else ""
        )
        yield (
            f"  {unjudged} results in the top {result.top_k} are"
            f" unjudged{was if before and before.returned else ''}"
        )
    yield from (f"  {line}" for line in result.written)


Row = tuple[str, str, str, str, str, str, str, str]


def _rows(result: SuiteResult) -> Iterator[Row]:
    yield ("measure", "baseline", "now", "change", "worse/better", "limit", "", "queries")
    limits = {verdict.label: verdict for verdict in result.verdicts if verdict.scope == "suite"}
    for mean in result.means:
        if mean.tag is None and (mean.measure in result.shown or mean.measure in limits):
            verdict = limits.get(mean.measure)
            limit = ", ".join(map(bound, verdict.findings)) if verdict else ""
            yield _row(mean.measure, mean, limit, verdict)
    means = {(mean.measure, mean.tag): mean for mean in result.means}
    for verdict in result.verdicts:
        if verdict.scope in ("suite", "query"):
            continue
        worst = _worst(verdict)
        on = (
            f"worst: {one_line(worst.subject, 60)}" if worst and verdict.scope == "each_tag" else ""
        )
        subject = (
            means.get((worst.measure, worst.subject))
            if worst and verdict.scope in ("tag", "each_tag")
            else None
        )
        limit = bound(worst) if worst else ""
        if subject:
            yield _row(verdict.label, subject, limit, verdict, on)
        else:
            yield (verdict.label, "", *_extreme(worst), "", limit, _outcome(verdict), on)


def _extreme(finding: Finding | None) -> tuple[str, str]:
    """The value or else the change that came nearest to a limit on every query."""
    if finding is None or finding.value is None:
        return "", ""
    if finding.kind not in ON_CHANGE:
        return figure(finding.value, finding.unit), ""
    return "", signed(finding.value if finding.kind == "max_rise" else -finding.value, finding.unit)


def _row(label: str, mean: Mean, limit: str, verdict: Verdict | None, on: str = "") -> Row:
    """A measure over the suite or a slice, with the digits that tell its figures from the limits
    they break.

    Where other queries are compared than are shown, both counts stand.
    """
    change = mean.change
    mark = _outcome(verdict) if verdict else ""
    broken = (
        [finding for finding in verdict.broken if finding.subject == (mean.tag or "")]
        if verdict
        else []
    )
    n = f"{mean.queries}" + (f" (+{mean.undefined} undefined)" if mean.undefined else "")
    before = moved = counts = ""
    if change:
        digits = _digits(broken, mean, on_change=True)
        before, moved = (
            figure(change.before, mean.unit),
            signed(change.difference, mean.unit, digits),
        )
        counts = f"{change.worse}/{change.better}"
        n += f", {change.queries} compared" if change.queries != mean.queries else ""
    now = figure(
        change.now if change else mean.value,
        mean.unit,
        _digits(broken, mean, on_change=change is not None and not whole(mean)),
    )
    n = "; ".join(filter(None, (n, whole(mean))))
    return (label, before, now, moved, counts, limit, mark, ", ".join(filter(None, (n, on))))


def _digits(broken: Sequence[Finding], mean: Mean, on_change: bool) -> int:
    pairs = [
        (f.value, f.limit)
        for f in broken
        if f.value is not None
        and f.limit is not None
        and f.unit == mean.unit
        and (f.kind in ON_CHANGE) == on_change
    ]
    return max((digits_apart(value, limit, mean.unit) for value, limit in pairs), default=3)


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Aligned columns; those that are empty but for their head are left out."""
    kept = [n for n in range(len(rows[0])) if n in (0, 2) or any(row[n] for row in rows[1:])]
    widths = [max(len(row[n]) for row in rows) for n in kept]
    for row in rows:
        cells = [
            row[n].rjust(width) if 0 < n < 5 else row[n].ljust(width)
            for n, width in zip(kept, widths, strict=True)
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _bulk(result: SuiteResult) -> Iterator[str]:
    """Queries from files have no item of their own, so the worst of them are told here."""
    if result.shown and all(query.check is not None for query in result.queries):
        return
    first = next(
        (mean.measure for mean in result.means if mean.change and mean.measure in result.shown),
        None,
    )
    if first:
        yield from losers(result, first, "", WORST_IN_BULK)


def _worst(verdict: Verdict) -> Finding | None:
    """The demand that is nearest to its limit or furthest beyond it, as the one to show of many;
    none where none is.
    """
    findings = verdict.broken or verdict.findings
    known = [finding for finding in findings if finding.value is not None]
    return min(known or findings, key=margin, default=None)


def beside(table: SideBySide) -> Iterator[str]:
    """The retrievers of a suite in columns: the best marked, the others with what sets them apart
    from it.
    """
    tested = any(side.p is not None for row in table.rows for side in row.sides)
    yield (
        f"{table.suite} ({table.path})  retrievers side by side, ★ the"
        f" best{', p two-sided' if tested else ''}"
    )
    rows = [("measure", *table.retrievers)]
    for row in table.rows:
        alike = len({side.queries for side in row.sides}) == 1
        rows.append((row.measure, *(_side(side, row.unit, alike) for side in row.sides)))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for cells in rows:
        yield (
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        ).rstrip()


def _side(side: Side, unit: str, alike: bool) -> str:
    """A value; where retrievers answered different queries, over how many."""
    value = figure(side.value, unit) + ("" if alike else f" over {side.queries}")
    if side.best:
        return f"{value} ★"
    return (
        value
        if side.p is None
        else f"{value} ({side.worse} worse, {side.better} better, {probability(side.p)})"
    )


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


def summaries(results: Sequence[SuiteResult]) -> Iterator[str]:
    """Every suite's summary and every comparison of retrievers, an empty line between them."""
    parts = [*map(summary, results), *map(beside, side_by_side(results)), *audits(results)]
    for index, part in enumerate(parts):
        if index:
            yield ""
        yield from part
