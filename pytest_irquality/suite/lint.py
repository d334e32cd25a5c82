"""Doubts about a suite, which may say and yet hardly mean something: no errors, but warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, inf

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.model import Check, Limits, Place, Query, Rule, Suite

FEW = 5
FAR = 5
"""How many times as high as any other a grade is that was hardly meant."""
NAMED = 3
SHOWN = 9


class IRQualityWarning(UserWarning):
    """A suite that can be judged, but probably not as its author thinks."""


def lint(suite: Suite) -> Iterator[tuple[Place, str]]:
    """The doubts about a suite, and where each arises: of each kind the first ones in full."""
    for doubts in (
        _nothing_expected(suite),
        _off_the_scale(suite),
        _never_satisfied(suite),
        _contradictory(suite),
        _too_high(suite),
        _of_few_queries(suite),
    ):
        yield from _first(list(doubts))


def _first(doubts: list[tuple[Place, str]]) -> Iterator[tuple[Place, str]]:
    """The first of one kind, as many as somebody reads: a suite of 400 tags may give 1,200."""
    yield from doubts[:SHOWN]
    more = len(doubts) - SHOWN
    if more > 0:
        place, text = doubts[SHOWN]
        yield place, f"{text} (and {more - 1:,} more such lines)" if more > 1 else text


def _off_the_scale(suite: Suite) -> Iterator[tuple[Place, str]]:
    """A grade above those that have words, or far above every other that the suite gives."""
    given = {grade for query in suite.queries for grade in query.judgments.grades.values()}
    highest, scale = _scale(suite, sorted(given))
    for query in suite.queries if max(given, default=0.0) > highest else ():
        for document, grade in query.judgments.grades.items():
            if grade > highest:
                yield query.place, f"{document!r} has the grade {grade:g}, and {scale}"


def _scale(suite: Suite, given: Sequence[float]) -> tuple[float, str]:
    """The highest grade that a suite seems to mean, and by what."""
    if suite.grades:
        highest = max(suite.grades.values())
        return highest, f"the words under 'grades' end at {highest:g}"
    if len(given) > 2 and given[-1] >= FAR * given[-2] > 0:
        return given[-2], f"the highest other grade is {given[-2]:g}"
    return inf, ""


def _contradictory(suite: Suite) -> Iterator[tuple[Place, str]]:
    for query in suite.queries:
        rules = [*suite.rules_of_all, *query.rules] if query.rules else []
        if why := _contradiction(rules, one_a_rank=not suite.by_text):
            yield query.place, f"the rules of {query.quoted} contradict each other: {why}"


def _too_high(suite: Suite) -> Iterator[tuple[Place, str]]:
    if suite.by_text:
        return  # a result may hold any number of passages
    for query in suite.queries:
        for limits in query.thresholds:
            yield from _out_of_reach(limits, {"this query": [query]})
    for check in suite.checks:
        if check.limits:
            yield from _out_of_reach(check.limits, _groups(suite, check))


def _of_few_queries(suite: Suite) -> Iterator[tuple[Place, str]]:
    for check in suite.checks:
        if check.limits:
            yield from _too_few(check, check.limits, _groups(suite, check))


def _nothing_expected(suite: Suite) -> Iterator[tuple[Place, str]]:
    idle = _idle(suite)
    if not idle:
        return
    if missed := unmatched(suite):
        yield idle[0].place, missed
        return
    if len(idle) == len(suite.queries):
        # Without any judgment at all a suite still guards what needs none: rankings that stay
        # alike, empty results.
        limited = [check.limits.measure for check in suite.checks if check.limits]
        if not limited or not all(measure.needs_relevant for measure in limited):
            return
    names = _named([query.quoted for query in idle])
    yield idle[0].place, f"neither judgments nor rules: {names}"


def _idle(suite: Suite) -> Sequence[Query]:
    return [query for query in suite.queries if not (query.judgments.grades or query.demands)]


def unmatched(suite: Suite) -> str:
    """The queries without judgments, where files judge others that are not asked; else ""."""
    idle = _idle(suite)
    if not (idle and suite.unasked):
        return ""
    names = _named([_with_id(query) for query in idle])
    return f"{'; '.join(suite.unasked)}; without judgments: {names}; do their ids match?"


def _with_id(query: Query) -> str:
    return query.quoted if query.id == query.text else f"{query.quoted} (id {query.id})"


def _never_satisfied(suite: Suite) -> Iterator[tuple[Place, str]]:
    never = [
        query
        for query in suite.queries
        if query.judgments.grades and not (query.judgments.relevant or query.expects_nothing)
    ]
    if not never:
        return
    means = "in no mean" if suite.undefined == "skip" else "any ranking scores 0"
    yield (
        never[0].place,
        f"graded, and nothing of it relevant ({means}): {_named([one.quoted for one in never])};"
        " grade what is right as relevant, write 'expect_no_results: true', or leave the query out",
    )


def _contradiction(rules: Sequence[Rule], one_a_rank: bool) -> str | None:
    """The reason why no ranking keeps all of these rules, or None.

    Each document has a best and a worst rank left to it. A result may hold several passages.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for rule in rules:
        rule.narrow(first, last)
    for document, worst in last.items():
        if first.get(document, 1) > worst:
            return (
                f"{document!r} must be in the top {worst}, and cannot be above rank"
                f" {first[document]}"
            )
    for place, worst in enumerate(sorted(last.values()), 1):
        if one_a_rank and place > worst:
            return f"{place} documents must be in the top {worst}"
    for rule in rules:
        if not rule.can_hold(first):
            return f"{rule.key} names only documents that other rules keep below those ranks"
    return None


def _groups(suite: Suite, check: Check) -> Mapping[str, Sequence[Query]]:
    """The queries a line of limits is held against, by what to call them."""
    if check.over.each_query:
        return {query.quoted: [query] for query in suite.queries}
    if check.over.each_tag:
        return {f"tag {tag}": queries for tag, queries in suite.tags.items()}
    group = "this suite" if check.tag is None else f"tag {check.tag}"
    return {group: suite.needed(check)}


def _out_of_reach(
    limits: Limits, groups: Mapping[str, Sequence[Query]]
) -> Iterator[tuple[Place, str]]:
    """Floors on recall at k that are out of reach, however good the ranking.

    They are where more than k documents are relevant.
    """
    measure, k = limits.measure, limits.measure.k
    floor = next((bound.value for bound in limits.bounds if bound.floor), 0.0)
    if measure.definition.name != "recall" or measure.weighted or k is None:
        return
    best = {name: _best_recall(measure, k, queries) for name, queries in groups.items()}
    worst = {name: mean for name, mean in best.items() if mean < floor - 1e-9}
    if worst:
        name, best_mean = min(worst.items(), key=lambda pair: pair[1])
        more = f" (and {len(worst) - 1} more)" if len(worst) > 1 else ""
        yield (
            limits.place,
            f"{measure} cannot reach {floor:g}: more than {k} documents are relevant, so"
            f" {name}{more} can have at most {best_mean:.3g}",
        )


def _best_recall(measure: Measure, k: int, queries: Sequence[Query]) -> float:
    """The mean recall at k of perfect rankings; 1 where no query has a relevant document."""
    relevant = [measure.judged_at(query.judgments).relevant_count for query in queries]
    best = [min(1.0, k / count) for count in relevant if count]
    return fsum(best) / len(best) if best else 1.0


def _too_few(
    check: Check, limits: Limits, groups: Mapping[str, Sequence[Query]]
) -> Iterator[tuple[Place, str]]:
    """A floor on a slice of a few queries, and a test over a few, say little."""
    few = _small(groups)
    if not few or check.over.each_query:
        return
    named = _named(few)
    tested = [bound for bound in limits.bounds if bound.tested]
    if tested:
        yield (
            limits.place,
            f"{tested[0].key} of {limits.measure}: under {FEW} queries, too few to test: {named}",
        )
    elif not check.over.suite and any(bound.falls and bound.fails for bound in limits.bounds):
        yield (
            limits.place,
            f"{limits.measure}: under {FEW} queries, where one query moves it a lot: {named}",
        )


def _small(groups: Mapping[str, Sequence[Query]]) -> list[str]:
    """The groups of few queries, each with their number."""
    counted = {
        name: sum(not query.expects_nothing for query in queries)
        for name, queries in groups.items()
    }
    return [f"{name} ({count})" for name, count in counted.items() if count < FEW]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
