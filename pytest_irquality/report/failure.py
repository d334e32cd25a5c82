"""One failure as plain text: in full, and as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_irquality.edges.printable import terminal
from pytest_irquality.report.layout import text_table
from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.result import QueryResult, ShownDocument, SuiteResult, Verdict
from pytest_irquality.wording.answers import broken_by, interval, kind_name, lost_by
from pytest_irquality.wording.losers import worsened
from pytest_irquality.wording.losses import in_brackets
from pytest_irquality.wording.moves import name
from pytest_irquality.wording.numbers import figure, grouped, judged, signed
from pytest_irquality.wording.pair import pair_of, top_grade
from pytest_irquality.wording.reasons import reason
from pytest_irquality.wording.sentences import demand, otherwise, sentence
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import hanging, one_line, quoted

WORST = 5
FINDINGS = 20
BY_DEFAULT = "by default: write another limit under 'thresholds'"
IN_FULL = 3
"""Failures of a suite that the terminal tells in full."""


def explain(result: SuiteResult, verdict: Verdict) -> str:
    """Everything about one check that ended badly.

    It says what was demanded, what was seen, why it matters, and where it stands.
    """
    story = Story(result)
    lines = [_title(story, verdict)]
    if verdict.query is not None:
        lines += _query_lines(result, verdict)
    else:
        for finding in story.damage.broken(verdict)[:FINDINGS]:
            if len(verdict.broken) > 1:  # a single one is the title
                said = sentence(result, verdict, finding)
                if verdict.over.each or not lines[0].startswith(said):  # the title says it
                    lines.append(f"  {_mark(finding)} {said}")
            lines += _reasons(result, finding)
        if len(verdict.broken) > FINDINGS:
            lines.append(f"  and {grouped(len(verdict.broken) - FINDINGS)} more, all in the report")
        lines += _change_lines(story, verdict)
        lines += _lowest(result, verdict)
    lines += _texts(result, verdict)
    if verdict.by_default:
        lines.append(f"  {BY_DEFAULT}")
    if verdict.known_issue:
        lines.append(f"  known issue: {verdict.known_issue}")
    if judges := otherwise(verdict):
        lines.append(f"  {judges}")
    return "\n".join(map(terminal, [*lines, _at(story, verdict)]))


def laid_out(result: SuiteResult, verdict: Verdict, width: int, full: Sequence[Verdict]) -> str:
    """The explanation as a terminal shows it, wrapped where it is too wide, nothing of it cut.

    Those in ``full`` are told so, the others with their first reason.
    """
    lines = explain(result, verdict).split("\n") if verdict in full else _brief(result, verdict)
    return "\n".join(
        part for line in lines for part in ([line] if _is_whole(line) else hanging(line, width))
    )


def within(text: str, width: int) -> str:
    """The reason that something has no verdict, then the place."""
    said, *rest = text.split("\n")
    return "\n".join([*hanging(said, width), *rest])


def told_in_full(result: SuiteResult) -> Sequence[Verdict]:
    """The failures that a terminal tells in full.

    Queries, whose rankings no table holds, come before limits.
    """
    damage = Story(result).damage
    return [*damage.failed_queries, *damage.failed_limits][:IN_FULL]


def _brief(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """A failure in short: a query with its rule, a limit with its reason, and the place."""
    story = Story(result)
    title, why = _title(story, verdict), short_reason(result, verdict)
    first, *rest = [title, f"✗ {why}"] if why != title else _limit_lines(result, verdict)
    yield terminal(first)
    yield from (terminal(f"  {line}") for line in rest)
    yield terminal(_at(story, verdict))


def _limit_lines(result: SuiteResult, verdict: Verdict) -> list[str]:
    """Both demands of a limit that breaks two, or the variants that break it, else the reason."""
    if len(verdict.broken) == 2 and verdict.over.means and not verdict.over.each:
        return [sentence(result, verdict, finding) for finding in verdict.broken]
    why = short_reason(result, verdict)
    for finding in verdict.broken[:1]:
        if texts := broken_by(finding, result.unit(finding.measure)):
            return [why, texts.removeprefix(": ")]
    return [why]


def _at(story: Story, verdict: Verdict) -> str:
    path, line = story.damage.place(verdict)
    return f"  at {path}:{line}"


def summary_reason(result: SuiteResult, verdict: Verdict) -> str:
    """The reason for pytest's short summary, which has one line for it.

    Documents go without their titles.
    """
    findings = (
        replace(finding, ranked=tuple(replace(d, title=None) for d in finding.ranked))
        for finding in verdict.findings
    )
    return short_reason(result, replace(verdict, findings=tuple(findings)))


def short_reason(result: SuiteResult, verdict: Verdict) -> str:
    """The reason why a check failed, for a place where its name stands beside it."""
    why = reason(result, verdict)
    if verdict.query is None or verdict.query not in result.by_id:
        return why
    return why.removeprefix(f"{quoted(result.query(verdict.query).text)}: ")


def _title(story: Story, verdict: Verdict) -> str:
    """A query with its text and what it lost; why a limit failed."""
    query = story.result.by_id.get(verdict.query or "")
    if query is None:
        return reason(story.result, verdict)
    if not story.damage.gain(query):
        return quoted(query.text)
    worse = worsened(story.damage, query)
    return f"{quoted(query.text)}  {story.damage.measure} {worse.values}, {worse.lost}"


def _is_whole(line: str) -> bool:
    """Tell whether a line is a place or a command, which stays on one line."""
    return line.startswith(("  at ", "    pytest "))


def _mark(finding: Finding) -> str:
    if finding.ok:
        return "✓"
    return "✗" if finding.fails else "!"


# -- one query -------------------------------------------------------------------------------------


def _query_lines(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    query = result.query(verdict.query or "")
    if not verdict.findings or verdict.outcome == "fixed":
        yield f"  {reason(result, verdict)}"
    demands = sorted(verdict.findings, key=lambda finding: finding.ok)[:FINDINGS]
    shown = verdict.findings if len(verdict.findings) <= FINDINGS else demands
    yield from (f"  {_mark(finding)} {demand(result, finding)}" for finding in shown)
    if len(shown) < len(verdict.findings):
        yield f"  and {grouped(len(verdict.findings) - len(shown))} more, all in the report"
    yield ""
    yield from _ranking_lines(result, query)
    yield from remarks_lines(query.remarks, "  ")


def _ranking_lines(result: SuiteResult, query: QueryResult) -> Iterator[str]:
    """Today's ranking with old ranks, then documents that should be in it, or were."""
    pair = pair_of(result, query, frozenset(), top_grade(result))
    if not query.ranking:
        yield "  nothing was returned"
    yield from text_table(pair.as_table(FINDINGS))


# -- one limit -------------------------------------------------------------------------------------


def _reasons(result: SuiteResult, finding: Finding) -> Iterator[str]:
    """The remarks on the query that a guard names: why it matters."""
    if finding.ranked and finding.subject in result.by_id:
        yield from remarks_lines(result.query(finding.subject).remarks, "      ")


def remarks_lines(remarks: Mapping[str, str], indent: str) -> Iterator[str]:
    """The remarks that the suite wants shown, such as why a query matters."""
    for key, text in remarks.items():
        yield f"{indent}{key}: {text}"


def _change_lines(story: Story, verdict: Verdict) -> Iterator[str]:
    """The size of a drop, how sure it is, and the tags and queries that lost most."""
    drops = (f for f in verdict.broken if f.demand.on_change and f.change and not f.variants)
    finding = None if verdict.over.queries else next(drops, None)
    if finding is None or finding.change is None:
        return
    yield f"  change {_size(finding.change, story.result.unit(finding.measure))}"
    if finding.measure == story.damage.measure:
        yield from _losers(story, finding.subject)


def _losers(story: Story, tag: str) -> Iterator[str]:
    """The tags that lost most, and the queries; those of a tag alone where there is one."""
    if not tag and story.tags:
        yield f"  tags that lost most: {story.tags}"
    queries = list(_of_tag(story.damage.worse, tag))
    if queries:
        yield f"  queries that lost most in {story.damage.measure}:"
    for query in queries[:WORST]:
        worse = worsened(story.damage, query)
        moved = f"  {worse.moves}" if worse.moves else ""
        yield f"    {worse.values}  {one_line(query.text)} ({story.result.place(query)}){moved}"
    if len(queries) > WORST:
        yield f"    and {grouped(len(queries) - WORST)} more"


def _size(change: Change, unit: str) -> str:
    """A change with how sure it is: ``−0.054 (p = 0.021); 3 worse, 1 better, 6 equal``."""
    low_to_high = interval(change, unit)
    sure = [f"90 % interval {low_to_high}"] if low_to_high else []
    if change.p is not None:
        sure.append(judged(change))
    beside = f" ({', '.join(sure)})" if sure else ""
    counts = f"{change.worse} worse, {change.better} better, {change.equal} equal"
    return f"{signed(change.difference, unit)}{beside}; {counts}"


def _of_tag(queries: Iterable[QueryResult], tag: str) -> Iterator[QueryResult]:
    """Those of a tag; all where there is none."""
    return (query for query in queries if not tag or tag in query.tags)


def _texts(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The variants that broke a limit, each with the query it is of."""
    for finding in verdict.broken:
        if finding.worst and not finding.lacks:
            nothing = finding.measure == "zero_results"
            what = "find nothing" if nothing else f"lost most {finding.measure}"
            yield f"  {kind_name(finding.variants)} that {what}:"
            for variant in finding.worst:
                lost = "" if nothing else f"{lost_by(variant, result.unit(finding.measure))}  "
                of = one_line(result.query(variant.query).text)
                yield f"    {lost}{one_line(variant.text)}  (of {quoted(of)})"
            if finding.lost > len(finding.worst):
                yield f"    and {finding.lost - len(finding.worst)} more"


def _named(document: ShownDocument) -> str:
    return f"{name(document)}{in_brackets(document)}"


def _lowest(result: SuiteResult, verdict: Verdict) -> Iterator[str]:
    """The queries that pulled a mean below its floor, worst first."""
    floors = (f for f in Story(result).damage.broken(verdict) if f.demand.floor and not f.variants)
    floor = next(floors, None)
    losers_are_told = any(other.demand.on_change for other in verdict.broken)
    if floor is None or losers_are_told or verdict.over.queries:
        return
    yield from _lowest_of(result, floor)


def _lowest_of(result: SuiteResult, floor: Finding) -> Iterator[str]:
    column = result.measures.index(floor.measure)
    low = _below(result, floor, column)
    fell = [query for _, query in low if (query.change(column) or 0.0) < 0]
    first = ", those that fell first" if 0 < len(fell) < len(low) else ""
    if low:
        yield f"  lowest {' of '.join(filter(None, (floor.measure, floor.subject)))}{first}:"
    for value, query in sorted(low, key=lambda pair: pair[1] not in fell)[:WORST]:
        yield _low(result, query, value, query.sides(column) if query in fell else None)


def _low(
    result: SuiteResult, query: QueryResult, value: float, fell: tuple[float, float] | None
) -> str:
    """A query with its value, what that fell from, and what it misses."""
    was = f" (was {figure(fell[0])})" if fell else ""
    where = f"{one_line(query.text)} ({result.place(query)})"
    return f"    {figure(value)}{was}  {where}{_without(query)}"


def _below(result: SuiteResult, floor: Finding, column: int) -> Sequence[tuple[float, QueryResult]]:
    """The queries below a floor, the lowest first."""
    queries = _of_tag(result.queries, floor.subject)
    scored = [(value, query) for query in queries if (value := query.values[column]) is not None]
    below = [pair for pair in scored if pair[0] < (floor.limit or 0.0)]
    return sorted(below, key=lambda pair: pair[0])


def _without(query: QueryResult) -> str:
    """The relevant documents that a query misses."""
    missed = [document for document in query.missing if document.relevant]
    rest = " …" if len(missed) > 2 else ""
    return f"  without {', '.join(map(_named, missed[:2]))}{rest}" if missed else ""
