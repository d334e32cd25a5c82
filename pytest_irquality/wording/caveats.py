"""Caveats: the few words that stand behind a pass in every headline."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.broken_builds import BrokenBuilds
from pytest_irquality.verdict.damage import Damage
from pytest_irquality.verdict.guards import BlindGuard
from pytest_irquality.verdict.result import Mean, SuiteResult, tells_nothing
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.wording.answers import blind, broken
from pytest_irquality.wording.examined import of_the_base
from pytest_irquality.wording.numbers import apart, counted, few
from pytest_irquality.wording.words import queries, relevant

MOST = 0.8  # the share of a limit's queries that is to be compared, or else every headline says so


def whole(mean: Mean) -> str:
    """Today's value, where it is another than the one that is compared; else "".

    It is over more queries, or in another order.
    """
    change = mean.change
    if change is None or mean.value is None or abs(mean.value - change.now) <= EQUAL:
        return ""
    _, value = apart(change.now, mean.value, mean.unit)
    if mean.queries != change.queries:
        return f"{value} over all {mean.queries}"
    return f"{value} as returned"


def caveats(result: SuiteResult) -> tuple[str, ...]:
    """Each in a few words, what weighs most first; none where a pass says what it seems to."""
    return tuple(_caveats(result))


def _caveats(result: SuiteResult) -> Iterator[str]:
    yield from of_the_base(result)
    yield from filter(None, map(_of_builds, result.facts))
    yield from filter(None, (_of_fact(fact, result) for fact in result.facts))
    yield from _tied(result)
    yield from _partly(result)
    new = sum(verdict.caveat == "new" for verdict in result.verdicts)
    if new:
        yield f"{counted(new, 'limit')} new"
    yield from _comparison(result)
    yield from _covered(result)
    ignored = sum(query.weight == 0 for query in result.queries)
    if ignored:
        yield f"{counted(ignored, 'query has', 'queries have')} weight 0"


def _of_builds(fact: facts.Fact) -> str:
    if isinstance(fact, BrokenBuilds):
        return broken(fact)
    return blind(fact) if isinstance(fact, BlindGuard) else ""


def _of_fact(fact: facts.Fact, result: SuiteResult) -> str:
    """The few words of a fact, "" for one that needs none."""
    match fact:
        case facts.Loud():
            return fact.short
        case facts.ReturnedNothing() if len(fact.queries) == fact.total:
            return "nothing was returned"
        case facts.ReturnedNothing() if fact.newly:
            more = counted(len(fact.newly), "more query returns", "more queries return")
            return f"{more} nothing: {queries(result, fact.newly)}"
        case facts.WithoutRelevant():
            return _without_relevant(fact, result)
        case facts.Unsettled():
            named = queries(result, [id for id, _ in fact.queries])
            return f"equal scores at the cut leave open what was lost: {named}"
        case facts.Replacing() if worse := len(Damage(result).worse):
            return f"the new baseline accepts what {counted(worse, 'query', 'queries')} lost"
        case facts.NothingExpected():
            return "nothing is graded: grade one query to tell worse from different"
    return ""


def _without_relevant(fact: facts.WithoutRelevant, result: SuiteResult) -> str:
    if fact.graded:
        if fact.score_0:
            return ""
        named = queries(result, fact.queries)
        return f"graded without any {relevant(result, 1)}, so in no mean: {named}"
    of = counted(fact.total, "query", "queries")
    without = f"{len(fact.queries)} of {of} without a {relevant(result, 1)}"
    if fact.changed:
        return f"{without}, {fact.changed} of them with other results"
    return without if 2 * len(fact.queries) > fact.total else ""


def _comparison(result: SuiteResult) -> Iterator[str]:
    if result.queries and all(query.before is None for query in result.queries):
        yield "nothing was compared"
        return
    for verdict, finding in result.findings:
        if finding.change and tells_nothing(finding):
            over = counted(finding.change.queries, "query", "queries")
            yield f"{verdict.label} over {over} cannot fail by {finding.kind!r}"


def _covered(result: SuiteResult) -> Iterator[str]:
    """The drops that a known issue excuses, however large they are."""
    for verdict in result.verdicts:
        if verdict.outcome == "known" and any(one.demand.on_change for one in verdict.broken):
            issue = f"known issue {verdict.known_issue}"
            yield f"{issue} excuses a drop of any size in {verdict.label}"


def _tied(result: SuiteResult) -> Iterator[str]:
    found = [verdict.label for verdict in result.verdicts if verdict.caveat == "tied"]
    if found:
        yield f"held in the order of equal scores only: {few(found)}"


def _partly(result: SuiteResult) -> Iterator[str]:
    """Limits of which fewer than four in five queries could be compared, each share once."""
    found: dict[tuple[int, int], str] = {}
    for verdict, finding in result.findings:
        if 0 < finding.queries < MOST * finding.of:
            of_tag = f" of {finding.subject}" if verdict.over.tags else ""
            found.setdefault((finding.queries, finding.of), of_tag)
    if found:
        worst, of = min(found, key=lambda share: share[0] / share[1])
        yield f"only {worst} of {counted(of, 'query', 'queries')}{found[worst, of]} compared"


def with_caveats(headline: str, failed: bool, said: tuple[str, ...]) -> str:
    """A headline, and what must be known with it."""
    return f"{headline}{'; ' if failed else ', but '}{'; '.join(said)}" if said else headline
