"""One check that ended badly, as a section: what was demanded, what was seen, why it matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.result import QueryResult, SuiteResult, Verdict
from pytest_irquality.wording.answers import interval, lost_by
from pytest_irquality.wording.block import Column, Part, Row, Section, Table
from pytest_irquality.wording.losers import worsened
from pytest_irquality.wording.losses import in_brackets
from pytest_irquality.wording.moves import name
from pytest_irquality.wording.numbers import figure, grouped, judged, signed
from pytest_irquality.wording.pair import pair_of, top_grade
from pytest_irquality.wording.reasons import reason, short_reason
from pytest_irquality.wording.sentences import demand, otherwise, sentence
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.words import one_line, quoted

WORST, FINDINGS = 5, 20
BY_DEFAULT = "by default: write another limit under 'thresholds'"
IN_FULL = 1
"""The rank of parts that are told where a check is told in full."""


def failure(result: SuiteResult, verdict: Verdict) -> Section:
    """A check that ended badly; what every report of it needs has the rank 0."""
    story = Story(result)
    parts = (
        _of_query(story, verdict) if verdict.query in result.by_id else _of_limit(story, verdict)
    )
    said = (
        BY_DEFAULT if verdict.by_default else "",
        f"known issue: {verdict.known_issue}" if verdict.known_issue else "",
        otherwise(verdict),
    )
    return Section(_title(story, verdict), (*parts, *_all(IN_FULL, said)))


def _all(rank: int, said: Iterable[str]) -> Iterator[Part]:
    return (Part(rank, text) for text in said if text)


def _title(story: Story, verdict: Verdict) -> str:
    """A query with its text and what it lost; why a limit failed."""
    query = story.result.by_id.get(verdict.query or "")
    if query is None:
        return reason(story.result, verdict)
    title, many = quoted(query.text), len(verdict.broken)
    if story.damage.gain(query):
        worse = worsened(story.damage, query)
        title = f"{title}  {story.damage.measure} {worse.values}, {worse.lost}"
    return f"{title}; {many} rules or limits broken" if many > 1 else title


def _mark(finding: Finding) -> str:
    if finding.ok:
        return "✓"
    return "✗" if finding.fails else "!"


def _remarks(query: QueryResult) -> Iterator[Part]:
    """The remarks that the suite wants shown, such as why a query matters."""
    yield from (Part(IN_FULL, f"{key}: {text}") for key, text in query.remarks.items())


def _of_query(story: Story, verdict: Verdict) -> Iterator[Part]:
    """Every demand on a query, its ranking, and documents that should be in it, or were."""
    result, query = story.result, story.result.query(verdict.query or "")
    if not verdict.broken or verdict.outcome == "fixed":
        yield Part(0, short_reason(result, verdict))
    findings = verdict.findings
    if len(findings) > FINDINGS:
        findings = tuple(sorted(findings, key=lambda finding: finding.ok))
    first = next(iter(verdict.broken), None)
    for finding in findings[:FINDINGS]:
        rank = 0 if finding is first else IN_FULL
        yield Part(rank, f"{_mark(finding)} {demand(result, finding)}")
    yield from _more(len(findings))
    if not query.ranking:
        yield Part(IN_FULL, "nothing was returned")
    pair = pair_of(result, query, frozenset(), top_grade(result))
    yield Part(IN_FULL, pair.as_table(FINDINGS))
    yield from _remarks(query)


def _more(findings: int) -> Iterator[Part]:
    if findings > FINDINGS:
        yield Part(IN_FULL, f"and {grouped(findings - FINDINGS)} more, all in the report")


def _of_limit(story: Story, verdict: Verdict) -> Iterator[Part]:
    """Each demand that breaks, where the title has one alone, and what did most of it."""
    broken = story.damage.broken(verdict)
    for finding in broken[:FINDINGS]:
        if len(broken) > 1:
            yield from _one_of(story, verdict, finding, IN_FULL if len(broken) > 2 else 0)
        if finding.ranked and finding.subject in story.result.by_id:
            yield from _remarks(story.result.query(finding.subject))
    yield from _more(len(broken))
    on_means = [one for one in broken if _on_means(verdict, one)]
    for finding in sorted(on_means, key=lambda one: not one.demand.on_change)[:1]:
        yield from _of_mean(story, finding)
    for finding in broken:
        yield from _table(0, _variants(story.result, finding))


def _one_of(story: Story, verdict: Verdict, finding: Finding, rank: int) -> Iterator[Part]:
    """One of several demands that a limit breaks, unless the title says it."""
    said = sentence(story.result, verdict, finding)
    if verdict.over.each or not _title(story, verdict).startswith(said):
        yield Part(rank, f"{_mark(finding)} {said}")


def _of_mean(story: Story, finding: Finding) -> Iterator[Part]:
    """The size of a change, how sure it is, and the tags and queries that did most of it."""
    if finding.change and finding.demand.on_change:
        yield Part(IN_FULL, _size(finding.change, story.result.unit(finding.measure)))
        if not finding.subject and story.tags:
            yield Part(IN_FULL, f"tags that lost most: {story.tags}")
    yield from _table(IN_FULL, _worst(story, finding))


def _size(change: Change, unit: str) -> str:
    """A change with how sure it is: ``change −0.054 (p = 0.021); 3 worse, 1 better, 6 equal``."""
    between = interval(change, unit)
    p = judged(change) if change.p is not None else ""
    sure = ", ".join(filter(None, (f"90 % interval {between}" if between else "", p)))
    counts = f"{change.worse} worse, {change.better} better, {change.equal} equal"
    return f"change {signed(change.difference, unit)}{f' ({sure})' if sure else ''}; {counts}"


def _on_means(verdict: Verdict, finding: Finding) -> bool:
    """Tell whether it is the mean over queries that breaks a limit, so that some did most of it."""
    counts = finding.demand.floor or (finding.demand.on_change and finding.change)
    return bool(counts) and not finding.variants and not verdict.over.queries


def _table(rank: int, table: Table) -> Iterator[Part]:
    if table.rows:
        yield Part(rank, table)


def _worst(story: Story, on: Finding) -> Table:
    """The queries that lost most, of a floor those below it, first those that fell."""
    result, damage = story.result, story.damage
    if not on.demand.on_change:
        queries, over = _below(result, on), " of ".join(filter(None, (on.measure, on.subject)))
        fell = [query for query in queries if _fell(query, result.measures.index(on.measure))]
        over = f"lowest {over}{', first those that fell' if 0 < len(fell) < len(queries) else ''}:"
    elif on.measure == damage.measure:
        queries, over = damage.worse, f"queries that lost most in {on.measure}:"
    else:
        return Table((), ())
    some = [query for query in queries if not on.subject or on.subject in query.tags]
    rows = [Row((_values(result, query, on), _seen(story, query, on))) for query in some]
    return Table((Column(""), Column("")), _under(over, rows)).most(WORST)


def _fell(query: QueryResult, column: int) -> bool:
    return (query.change(column) or 0.0) < 0


def _under(over: str, rows: list[Row]) -> tuple[Row, ...]:
    return tuple(row._replace(over="" if at else over) for at, row in enumerate(rows))


def _below(result: SuiteResult, floor: Finding) -> Sequence[QueryResult]:
    column = result.measures.index(floor.measure)
    scored = [(value, one) for one in result.queries if (value := one.values[column]) is not None]
    low = [(value, one) for value, one in scored if value < (floor.limit or 0.0)]
    low.sort(key=lambda pair: (not _fell(pair[1], column), pair[0]))
    return [query for _, query in low]


def _values(result: SuiteResult, query: QueryResult, on: Finding) -> str:
    column = result.measures.index(on.measure)
    sides, value = query.sides(column), query.values[column]
    if sides is None or sides[0] == sides[1]:
        return figure(value, on.unit)
    return f"{figure(sides[0], on.unit)} → {figure(sides[1], on.unit)}"


def _seen(story: Story, query: QueryResult, on: Finding) -> str:
    """A query with its place, and what moved or is missing."""
    missed = [document for document in query.missing if document.relevant]
    named = ", ".join(f"{name(one)}{in_brackets(one)}" for one in missed[:2])
    why = f"without {named}{' …' if len(missed) > 2 else ''}" if missed else ""
    if on.demand.on_change:
        why = worsened(story.damage, query).moves
    return ": ".join(filter(None, (f"{one_line(query.text)} ({story.result.place(query)})", why)))


def _variants(result: SuiteResult, finding: Finding) -> Table:
    """The variants that broke a limit, each with the query it is of."""
    if not finding.worst or finding.lacks:
        return Table((), ())
    nothing = finding.measure == "zero_results"
    what = "find nothing" if nothing else f"lost most {finding.measure}"
    rows = []
    for variant in finding.worst:
        lost = "" if nothing else lost_by(variant, result.unit(finding.measure))
        of = quoted(one_line(result.query(variant.query).text))
        rows.append(Row((lost, f"{one_line(variant.text)}  (of {of})")))
    more = finding.lost - len(rows)
    left = f"and {more} more" if more > 0 else ""
    return Table((Column(""), Column("")), _under(f"variants that {what}:", rows), left)
