"""One check that ended badly, as a section: what was demanded, what was seen, why it matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_irquality.verdict.findings import Change, Finding
from pytest_irquality.verdict.result import QueryResult, SuiteResult, Verdict
from pytest_irquality.wording.answers import interval
from pytest_irquality.wording.block import Part, Section
from pytest_irquality.wording.losers import worsened
from pytest_irquality.wording.numbers import grouped, judged
from pytest_irquality.wording.pair import pair_of, top_grade
from pytest_irquality.wording.reasons import reason, short_reason
from pytest_irquality.wording.sentences import demand, otherwise, sentence
from pytest_irquality.wording.story import Story
from pytest_irquality.wording.told import worst_of
from pytest_irquality.wording.words import quoted

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


def _one_of(story: Story, verdict: Verdict, finding: Finding, rank: int) -> Iterator[Part]:
    """One of several demands that a limit breaks, unless the title says it."""
    said = sentence(story.result, verdict, finding)
    if verdict.over.each or not _title(story, verdict).startswith(said):
        yield Part(rank, f"{_mark(finding)} {said}")


def _of_mean(story: Story, finding: Finding) -> Iterator[Part]:
    """The certainty of a change, and the queries that did most of it."""
    if finding.change and finding.demand.on_change:
        sure = _sure(finding.change, story.result.unit(finding.measure))
        yield from _all(IN_FULL, [sure])
    worst = worst_of([story], WORST, finding.subject)
    if worst.rows:
        yield Part(IN_FULL, worst)


def _sure(change: Change, unit: str) -> str:
    """The interval that a change lies in, and its p-value; "" where it is not known."""
    between = interval(change, unit)
    return f"90 % interval {between}, {judged(change)}" if between else ""


def _on_means(verdict: Verdict, finding: Finding) -> bool:
    """Tell whether it is the mean over queries that breaks a limit, so that some did most of it."""
    counts = finding.demand.floor or (finding.demand.on_change and finding.change)
    return bool(counts) and not finding.variants and not verdict.over.queries
