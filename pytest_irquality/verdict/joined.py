"""One result of those that several processes gave for the same suite and retriever."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import zip_longest

from pytest_irquality.verdict.facts import Disputed, Fact
from pytest_irquality.verdict.result import Outcome, QueryResult, SuiteResult, Verdict

WORSE: tuple[Outcome, ...] = (
    "passed",
    "known",
    "accepted",
    "not evaluated",
    "error",
    "fixed",
    "failed",
)


def joined(results: Sequence[SuiteResult]) -> tuple[SuiteResult, tuple[Verdict, ...]]:
    """The worst of them, whatever their order, and those of its verdicts that not all of them
    share.

    Every process has asked all queries and judged all checks, so equal answers make equal results
    but for times. Where they differ, the figures are those of the result with most to complain of,
    the worse verdict on each check stands, and a fact says so.
    """
    ordered = sorted(results, key=_badness)
    worst = ordered[-1]
    by_check: dict[str, list[Verdict]] = {}
    for verdict in (verdict for result in ordered for verdict in result.verdicts):
        by_check.setdefault(verdict.check, []).append(verdict)
    verdicts = tuple(
        max(some, key=lambda verdict: WORSE.index(verdict.outcome)) for some in by_check.values()
    )
    disputed = tuple(v for v in verdicts if len({other.outcome for other in by_check[v.check]}) > 1)
    answers = [[_answer(query) for query in result.queries] for result in results]
    differ = sum(len(set(some)) > 1 for some in zip_longest(*answers))
    facts: list[Fact] = list(worst.facts)
    if differ or disputed:
        facts.insert(0, Disputed(differ, tuple(verdict.label for verdict in disputed)))
    written = dict.fromkeys(line for result in results for line in result.written)
    return replace(worst, verdicts=verdicts, facts=tuple(facts), written=tuple(written)), disputed


def _badness(result: SuiteResult) -> tuple[list[int], str]:
    counts = [
        sum(verdict.outcome == outcome for verdict in result.verdicts)
        for outcome in reversed(WORSE)
    ]
    return counts, repr([_answer(query) for query in result.queries])


def _answer(query: QueryResult) -> Hashable:
    return (
        query.id,
        query.returned,
        query.fault is None,
        tuple(document.id for document in query.ranking),
    )
