"""The audit of a suite: what of it is no longer true, and what guards nothing.

Facts only; nothing here asks or opens anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from math import ceil, floor, inf

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.demands import Bound
from pytest_irquality.suite.judges import THE_QUERY
from pytest_irquality.suite.model import Check, Limits, Query, Suite, VariantLimits
from pytest_irquality.verdict.audit_facts import (
    Audit,
    Dead,
    NeverMet,
    Resolution,
    Skipped,
    WeakLimit,
)
from pytest_irquality.verdict.checks import CheckJudge
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.gauge import gauged
from pytest_irquality.verdict.planted import LOSES_ALL
from pytest_irquality.verdict.result import SuiteResult, Verdict
from pytest_irquality.verdict.scoring import ScoredSides, counts_zero, defined_for
from pytest_irquality.verdict.sides import Sides
from pytest_irquality.verdict.statistics import detectable
from pytest_irquality.verdict.unseen import could_fail

LOST_SHARE = 10  # one query in so many loses everything
SMALL_DROP = 0.02  # what a team would like to see


def audit(
    now: Comparison,
    result: SuiteResult,
    *,
    exists: Mapping[str, bool] | None = None,
    no_answer: str = "",
) -> Audit:
    """Audit a suite by what a run and its baseline returned.

    ``exists`` says of every judged document whether it is still there; None where nobody can say.
    """
    suite = now.suite
    weak = tuple(weak_limits(now, result))
    toothless = {one.check for one in weak if one.toothless}
    return Audit(
        judged=sum(len(query.judgments.grades) for query in suite.queries),
        asked=len(exists or ()),
        dead=None if exists is None else tuple(dead(now, exists)),
        never_met=tuple(never_met(now)),
        unprotected=tuple(query.text for query in unprotected(now, toothless)),
        weak=weak,
        resolution=tuple(resolution(now)),
        skipped=tuple(
            Skipped(query.text, judge, reason)
            for query in suite.queries
            for judge, reason in query.notes.get(THE_QUERY, {}).items()
        ),
        no_answer=no_answer,
        gauge=gauged(now),
    )


# -- judgments -------------------------------------------------------------------------------------


def judged_documents(suite: Suite) -> list[str]:
    """Every document that somebody graded or a rule demands, once.

    No passages, which have no ids.
    """
    documents = (
        document
        for query in suite.queries
        if not suite.by_text(query)
        for document in (*query.judgments.grades, *_demanded(query))
        if document not in query.passages
    )
    return list(dict.fromkeys(documents))


def _demanded(query: Query) -> Iterator[str]:
    for rule in query.rules:
        yield from rule.relied_on


def dead(now: Comparison, exists: Mapping[str, bool]) -> Iterator[Dead]:
    """Judged documents that no longer exist, the ones that decide most queries first.

    What a query returned today exists, whatever is said of it.
    """
    returned = {document for ids in now.sides.rankings.values() for document in ids}
    found = []
    for document, is_there in exists.items():
        if not is_there and document not in returned:
            decided = [
                query.text
                for query in now.suite.queries
                if document in query.judgments.relevant or document in _demanded(query)
            ]
            found.append(Dead(document, now.titles.get(document, ""), tuple(decided)))
    yield from sorted(found, key=lambda one: (-len(one.queries), one.document))


def never_met(now: Comparison) -> Iterator[NeverMet]:
    """Judged pairs that neither the run nor the baseline holds at any depth.

    They are of queries that were answered; relevant ones come first.
    """
    found = []
    for query in now.suite.queries:
        if query.id in now.sides.rankings and not now.suite.reads_texts(query):
            met, relevant = _met(now, query.id), query.judgments.relevant
            never = (document for document in query.judgments.grades if document not in met)
            found += [NeverMet(query.text, one, one in relevant) for one in never]
    yield from sorted(found, key=lambda one: not one.relevant)


def _met(now: Comparison, query: str) -> Set[str]:
    """All that any answer of both sides to a query holds."""
    sides = (side.answers for side in (now.sides.run, now.sides.baseline_run) if side)
    rankings = (answer.rankings.get(query) for answer in chain.from_iterable(sides))
    return {id for ranking in rankings if ranking for id in ranking.ids}


# -- what protects what ----------------------------------------------------------------------------


def unprotected(now: Comparison, toothless: Set[str]) -> Iterator[Query]:
    """The queries on which no rule, limit or guard could fail."""
    suite = now.suite
    of_many = [check for check in suite.checks if not check.query and check.name not in toothless]
    for query in suite.queries:
        if not query.can_fail and not any(could_fail(now, check, query) for check in of_many):
            yield query


# -- limits that could not tell --------------------------------------------------------------------


def weak_limits(now: Comparison, result: SuiteResult) -> Iterator[WeakLimit]:
    """The limits that hold whichever query in ten loses every relevant document.

    Those lose them whose loss costs the measure most. Only limits that hold today can be weak.
    """
    passed = {verdict.check for verdict in result.verdicts if verdict.outcome == "passed"}
    for check in now.suite.checks:
        if check.limits and check.name in passed and not isinstance(check.limits, VariantLimits):
            yield from _weak(now, check, check.limits)


def _weak(now: Comparison, check: Check, limits: Limits) -> Iterator[WeakLimit]:
    """One entry for each floor that would hold, or one where no bound would break."""
    measure = limits.measure
    staged, tells_losses = (
        now.scores.stage_of(measure),
        measure.needs_relevant or counts_zero(measure),
    )
    if staged is None or not tells_losses or not limits.can_fail:
        return
    seen = _seen_by(check, measure, staged.sides)
    if not seen:
        return
    losing = _losing(staged, measure, seen, check)
    sides = _without(staged.sides, measure, losing)
    if measure.stage:
        run = replace(now.sides.run, stages={measure.stage: sides.run})
        sides = replace(now.sides, run=run)
    then = CheckJudge(replace(now, sides=sides), False).verdict(check)
    weak = WeakLimit(
        check.name,
        check.label,
        check.place.line,
        str(measure),
        toothless=not then.broken,
        queries=len(seen),
        losing=len(losing),
    )
    floor = next((bound for bound in limits.bounds if bound.floor), None)
    if floor and check.over.means and not check.over.each:
        value = now.scores.aggregate(measure, now.suite.needed(check)).value
        yield from _loose(weak, floor, value, then)
    elif weak.toothless:
        yield weak


def _loose(
    weak: WeakLimit, floor: Bound, value: float | None, then: Verdict
) -> Iterator[WeakLimit]:
    """The entry of a floor that held after the loss."""
    held = (finding for finding in then.findings if finding.demand.floor and finding.ok)
    lost = next((finding.value for finding in held), None)
    if lost is not None and value is not None and not floor.share:
        write = floor_between(lost, value)
        yield replace(weak, floor=floor.value, value=value, lost=lost, write=write)


def _seen_by(check: Check, measure: Measure, staged: Sides) -> Sequence[Query]:
    """The queries that a limit reads: those that were answered and define its measure."""
    suite = staged.suite
    queries = [query for query in suite.needed(check) if query.id in staged.rankings]
    if check.over.each_tag:
        queries = [query for query in queries if query.tags]
    return [query for query in queries if defined_for(suite, measure, query)]


def _losing(
    scored: ScoredSides, measure: Measure, seen: Sequence[Query], check: Check
) -> Collection[str]:
    """A tenth of these queries (ids), those whose loss costs most.

    Where each tag is held to the limit, a tenth of each.
    """
    suite = scored.sides.suite
    place = suite.column_of[measure]

    def worth(query: Query) -> float:
        value = scored.now.values[query.id][place]
        if value is None or counts_zero(measure):
            return 0.0 if scored.sides.rankings[query.id] else -inf
        return measure.sign * value * query.weight

    groups: list[Sequence[Query]] = [seen]
    if check.over.each_tag:
        known = {query.id for query in seen}
        groups = [
            [query for query in tagged if query.id in known] for tagged in suite.tags.values()
        ]
    losing: set[str] = set()
    for group in groups:
        most_worth_first = sorted(group, key=worth, reverse=True)
        losing.update(query.id for query in most_worth_first[: ceil(len(group) / LOST_SHARE)])
    return losing


def _without(sides: Sides, measure: Measure, losing: Collection[str]) -> Sides:
    """Both sides, where these queries find nothing relevant today."""
    answers = []
    for answer in sides.run.answers:
        rankings = dict(answer.rankings)
        for id in losing & rankings.keys():
            query, found = sides.suite.by_id[id], rankings[id]
            left = () if counts_zero(measure) else LOSES_ALL(sides.suite, query, found)
            rankings[id] = found.at(left)
        answers.append(replace(answer, rankings=rankings))
    return replace(sides, run=replace(sides.run, answers=tuple(answers), variants=None))


def floor_between(lost: float, value: float) -> float | None:
    """The plainest number about half way from what is left after a loss up to today's value."""
    middle = (lost + value) / 2
    for digits in (1, 2, 3, 4):
        number = floor(middle * 10**digits + 1e-9) / 10**digits
        if lost + (value - lost) / 4 <= number <= value:
            return number
    return None


def resolution(now: Comparison) -> Iterator[Resolution]:
    """For each limit on a mean over the suite or a tag, what its queries can show."""
    subjects: dict[tuple[str, str | None], tuple[Check, Measure]] = {}
    for check in now.suite.checks:
        if check.limits and check.over.means and not check.over.each and check.limits.can_fail:
            measure = check.limits.measure
            if measure.needs_relevant and measure.aggregate == "mean" and not measure.unit:
                subjects.setdefault((str(measure), check.tag), (check, measure))
    yield from filter(None, (_resolution(now, *subject) for subject in subjects.values()))


def _resolution(now: Comparison, check: Check, measure: Measure) -> Resolution | None:
    """From how far the changes of its queries spread; where none changed, the values."""
    place = now.suite.column_of[measure]
    queries = [query for query in now.suite.needed(check) if query.id in now.sides.rankings]
    values = [now.scores.now.values[query.id][place] for query in queries]
    differences = [pair.now - pair.before for pair in now.pairs(measure, queries)]
    for spread, assumed in ((differences, False), (values, True)):
        known = [value for value in spread if value is not None]
        shows = detectable(known)
        if shows is not None:
            needed = ceil(len(known) * (shows / SMALL_DROP) ** 2 - 1e-9)
            return Resolution(check.label, str(measure), len(known), shows, needed, assumed)
    return None
