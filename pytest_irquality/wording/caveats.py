"""What a pass does not say: the few words that stand behind it in every headline."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_irquality.verdict import facts
from pytest_irquality.verdict.result import SuiteResult
from pytest_irquality.wording.numbers import counted

FEW_FOR_A_TEST = 5
"""Queries below which no paired test can reach p < 0.05."""


def caveats(result: SuiteResult) -> tuple[str, ...]:
    """Each in a few words, what weighs most first; none where a pass says what it seems to."""
    return tuple(_caveats(result))


def _caveats(result: SuiteResult) -> Iterator[str]:
    for fact in result.facts:
        if isinstance(fact, facts.Loud):
            yield fact.short
        if isinstance(fact, facts.Unanswered):
            yield f"{len(fact.queries)} of {counted(fact.total, 'query', 'queries')} not answered"
        if isinstance(fact, facts.ReturnedNothing) and len(fact.queries) == fact.total:
            yield "nothing was returned"
        if isinstance(fact, facts.WithoutRelevant) and 2 * fact.queries > fact.total:
            yield f"{fact.queries} of {counted(fact.total, 'query', 'queries')} without a relevant document"
    if result.skipped:
        many = len(result.skipped)
        yield f"{counted(many, 'check was', 'checks were')} skipped and not evaluated"
    yield from _comparison(result)
    ignored = sum(query.weight == 0 for query in result.queries)
    if ignored:
        yield f"{counted(ignored, 'query has', 'queries have')} weight 0"


def _comparison(result: SuiteResult) -> Iterator[str]:
    if result.queries and not any(query.before is not None for query in result.queries):
        yield "nothing was compared"
        return
    for verdict in result.verdicts:
        for finding in verdict.findings:
            change = finding.change
            few = change is not None and change.queries < FEW_FOR_A_TEST
            if finding.kind == "max_significant_drop" and few and finding.ok:
                assert change is not None
                over = counted(change.queries, "query", "queries")
                yield f"{verdict.label} over {over} cannot fail by 'max_significant_drop'"


def with_caveats(headline: str, said: tuple[str, ...]) -> str:
    """A headline, and what must be known with it."""
    return f"{headline}, but {'; '.join(said)}" if said else headline
