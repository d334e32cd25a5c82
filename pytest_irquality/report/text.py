"""Plain text: an item's whole explanation, and the summary at the end of the session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_irquality.verdict.numbers import share, shown
from pytest_irquality.verdict.result import BAD, Finding, QueryResult, ShownDocument, SuiteResult, Verdict

MARKS = {
    "passed": "✓", "failed": "✗", "error": "✗ ERROR", "known": "known issue", "fixed": "✗ FIXED",
    "not evaluated": "✗ not evaluated",
}  # fmt: skip
SIGNS = {"min": "≥", "max": "≤", "warn_below": "warn <", "warn_above": "warn >"}
WORST = 5


def explain(result: SuiteResult, verdict: Verdict) -> str:
    """Everything about one check that ended badly: a short first line, then what was demanded and what was seen."""
    where = f"{result.path}:{verdict.line}"
    lines = [verdict.reason, ""]
    if verdict.query is not None:
        lines += _query_lines(result, verdict)
    else:
        lines += [f"  {_mark(finding)} {finding.text}" for finding in verdict.broken[:20]]
        if len(verdict.broken) > 20:
            lines.append(f"  and {len(verdict.broken) - 20} more, all in the report")
        lines += _worst_queries(result, verdict)
    if verdict.known_issue:
        lines.append(f"  known issue: {verdict.known_issue}")
    return "\n".join([*lines, f"  at {where}"])


def _mark(finding: Finding) -> str:
    return "✓" if finding.ok else "✗" if finding.fails else "!"


def _query_lines(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    query = result.query(verdict.query or "")
    yield from (f"  {_mark(finding)} {finding.text}" for finding in verdict.findings)
    yield ""
    yield from ranking_lines(query)
    if query.why:
        yield f"  why: {query.why}"


def ranking_lines(query: QueryResult) -> Iterator[str]:
    """The top of a ranking with grades, then the relevant documents that are not in it."""
    if query.ranking:
        yield "  rank  grade  document"
        for document in query.ranking:
            yield f"  {document.rank:>4}  {_grade(document):>5}  {_words(document)}"
    else:
        yield "  nothing was returned"
    if query.missing:
        yield "  expected, but not above:"
        for document in query.missing:
            rank = "–" if document.rank is None else str(document.rank)
            yield f"  {rank:>4}  {_grade(document):>5}  {_words(document)}"


def _grade(document: ShownDocument) -> str:
    return "–" if document.grade is None else f"{document.grade:g}"


def _words(document: ShownDocument) -> str:
    title = f"  {document.title}" if document.title and document.title != document.id else ""
    return f"{document.id}{title}"


def _worst_queries(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries that pulled a mean below its floor, worst first."""
    finding = next((f for f in verdict.broken if f.measure in result.measures and f.kind == "min"), None)
    if finding is None or finding.limit is None or verdict.scope == "each_query":
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
        lost = f"  without {', '.join(map(_words, missed[:2]))}{' …' if len(missed) > 2 else ''}" if missed else ""
        yield f"    {shown(value)}  {query.text} ({result.path}:{query.line}){lost}"


def headline(result: SuiteResult) -> str:
    """The verdict in words: ``FAILED: 2 of 9 limits, 1 of 44 queries``."""
    bad = [verdict for verdict in result.verdicts if verdict.outcome in BAD]
    known = sum(verdict.outcome == "known" for verdict in result.verdicts)
    limits = [verdict for verdict in result.verdicts if verdict.query is None]
    queries = [verdict for verdict in result.verdicts if verdict.query is not None]
    parts = [
        f"{sum(verdict in some for verdict in bad)} of {len(some)} {what}"
        for some, what in ((limits, "limits"), (queries, "queries"))
        if any(verdict in some for verdict in bad)
    ]
    said = f"FAILED: {', '.join(parts)}" if bad else f"passed: {len(queries)} queries, {len(limits)} limits"
    partial = "PARTIAL, " if result.interrupted else ""
    return f"{partial}{said}{f', {known} known issue' + 's' * (known > 1) if known else ''}"


def summary(result: SuiteResult) -> Iterator[str]:
    """The table of a suite: each measure, its value, its limits, how many queries it rests on."""
    name = f"{result.suite} [{result.retriever}]" if result.retriever else result.suite
    yield f"{name} ({result.path})  {headline(result)}"
    rows = [("measure", "now", "limit", "", "queries")]
    limits = {verdict.label: verdict for verdict in result.verdicts if verdict.scope == "suite"}
    for mean in result.means:
        if mean.tag is None and (mean.measure in result.shown or mean.measure in limits):
            verdict = limits.get(mean.measure)
            rest = f"{mean.queries}" + (f" (+{mean.undefined} undefined)" if mean.undefined else "")
            limit = ", ".join(map(_limit, verdict.findings)) if verdict else ""
            value = shown(mean.value, mean.unit)
            rows.append((mean.measure, value, limit, MARKS[verdict.outcome] if verdict else "", rest))
    for verdict in result.verdicts:
        if verdict.scope not in ("suite", "query"):
            worst = _worst(verdict)
            value = shown(worst[0].value, worst[0].unit) if worst and worst[0].value is not None else ""
            limit = _limit(worst[0]) if worst else ""
            on = f"lowest: {worst[0].subject}" if worst and verdict.scope == "each_tag" else ""
            rows.append((verdict.label, value, limit, MARKS[verdict.outcome], on))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for label, value, limit, mark, rest in rows:
        cells = (label.ljust(widths[0]), value.rjust(widths[1]), limit.ljust(widths[2]), mark.ljust(widths[3]), rest)
        yield ("  " + "  ".join(cells)).rstrip()
    for verdict in result.verdicts:
        if verdict.outcome == "known":
            yield f"  known issue {verdict.known_issue}: {verdict.reason}"
    for warning in result.warnings:
        yield f"  ! {warning}"
    for note in result.notes:
        yield f"  {note}"
    if result.returned:
        unjudged = share(result.returned - result.judged, result.returned)
        yield f"  {unjudged} results in the top {result.top_k} are unjudged"
    yield from (f"  {line}" for line in result.written)


def _limit(finding: Finding) -> str:
    if finding.limit is None:
        return finding.kind
    return f"{SIGNS[finding.kind]} {_exact(finding.limit, finding.unit)}" if finding.kind in SIGNS else finding.kind


def _worst(verdict: Verdict) -> list[Finding]:
    """The demand that is nearest to its limit or furthest beyond it, as the one to show of many; none where none is."""
    findings = verdict.broken or verdict.findings
    known = [finding for finding in findings if finding.value is not None]
    sign = -1 if known and known[0].kind in ("max", "warn_above") else 1
    return sorted(known, key=lambda finding: sign * (finding.value or 0.0))[:1] or list(findings[:1])


def _exact(limit: float, unit: str) -> str:
    return {"share": f"{100 * limit:g} %", "seconds": f"{1000 * limit:g} ms"}.get(unit, f"{limit:g}")


def summaries(results: Sequence[SuiteResult]) -> Iterator[str]:
    """Every suite's summary, an empty line between them."""
    for index, result in enumerate(results):
        if index:
            yield ""
        yield from summary(result)
