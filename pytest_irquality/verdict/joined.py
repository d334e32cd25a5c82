"""One result of those that several processes gave for the same suite and retriever."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from pytest_irquality.verdict.facts import Disputed
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
    """The worst of some results, whatever their order, and the verdicts that differ among them.

    Every process has asked all queries and judged all checks, so equal answers make equal results
    but for times. Where they differ, the figures are those of the result with most to complain of,
    the worse verdict on each check stands, and a fact says so.
    """
    ordered = sorted(results, key=_badness)
    worst = ordered[-1]
    by_check: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in chain.from_iterable(result.verdicts for result in ordered):
        by_check[verdict.check].append(verdict)
    verdicts = tuple(max(some, key=_how_bad) for some in by_check.values())
    disputed = tuple(one for one in verdicts if len({*map(_how_bad, by_check[one.check])}) > 1)
    answers = [map(_answer, result.queries) for result in results]
    differ = sum(len(set(some)) > 1 for some in zip_longest(*answers))
    facts = worst.facts
    if differ or disputed:
        facts = (Disputed(differ, tuple(verdict.label for verdict in disputed)), *facts)
    written = dict.fromkeys(chain.from_iterable(result.written for result in results))
    return replace(worst, verdicts=verdicts, facts=facts, written=tuple(written)), disputed


def _badness(result: SuiteResult) -> tuple[list[int], str]:
    outcomes = Counter(verdict.outcome for verdict in result.verdicts)
    counts = [outcomes[outcome] for outcome in reversed(WORSE)]
    return counts, repr([*map(_answer, result.queries)])


def _how_bad(verdict: Verdict) -> int:
    return WORSE.index(verdict.outcome)


def _answer(query: QueryResult) -> Hashable:
    return (
        query.id,
        query.returned,
        query.fault is None,
        tuple(document.id for document in query.ranking),
    )
