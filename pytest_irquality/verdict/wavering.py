"""Several answers to a query: what each unit of a side scores and finds, and what of it may be wavering.

A unit is a build of the index or, where a side has one build, an answer; the rules are in ``noise.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.model import Query, Rule
from pytest_irquality.verdict.facts import Finding, RankedDocument
from pytest_irquality.verdict.measured import Measured
from pytest_irquality.verdict.noise import exceeds_wavering
from pytest_irquality.verdict.rules import Title, check_rule

Units = Sequence[Sequence[Measured]]

BREAKS_IN_ANY = ("must_not_find", "expect_no_results")
"""Rules on what may never be shown: one answer that shows it is one too many."""


def units_now(measured: Measured) -> Units:
    """Today's answers, unit by unit."""
    return _units(measured.answers)


def units_before(measured: Measured) -> Units:
    """The baseline's."""
    return _units(measured.answers_before)


def _units(answers: Sequence[Measured]) -> Units:
    builds: dict[int, list[Measured]] = {}
    for answer in answers:
        builds.setdefault(answer.run.build, []).append(answer)
    return list(builds.values()) if len(builds) > 1 else [[answer] for answer in answers]


def unit_means(units: Units, measure: Measure, weights: Mapping[str, float]) -> list[float]:
    """What each unit scores over some queries, each with its weight; ties in the baseline's order."""
    total = 1.0 if measure.aggregate == "sum" else fsum(weights.values())
    means = []
    for unit in units:
        column = unit[0].suite.measures.index(measure)
        weighed = (
            weight * (answer.scores_compared.values[id][column] or 0.0)
            for answer in unit
            for id, weight in weights.items()
        )
        means.append(fsum(weighed) / total / len(unit))
    return means


# -- guards ----------------------------------------------------------------------------------------------------------

Finds = Callable[[Measured, Query], bool]
"""Whether an answer has what a guard watches over."""


@dataclass(frozen=True)
class Lost:
    """The queries that were found in every unit of the baseline and in none of today's.

    ``wavering`` others were found in as many units as the baseline has, scattered over both sides.
    ``beyond_chance`` is False where as many losses may be wavering alone.
    """

    queries: tuple[Query, ...]
    wavering: int
    beyond_chance: bool


def lost(measured: Measured, finds: Finds) -> Lost:
    """What a guard sees over all units of both sides."""
    now, before = units_now(measured), units_before(measured)
    gone, wavering = [], 0
    for query in measured.suite.queries:
        if query.id not in measured.before or query.expects_nothing:
            continue
        then = [any(finds(answer, query) for answer in unit) for unit in before]
        today = [any(finds(answer, query) for answer in unit) for unit in now]
        found = sum(then) + sum(today)
        if all(then) and not any(today):
            gone.append(query)
        elif found == len(before) and any(then):  # one that flipped wholly upwards tells nothing
            wavering += 1
    beyond = exceeds_wavering(len(gone), wavering, len(before), len(now))
    return Lost(tuple(gone), wavering, beyond)


# -- rules -----------------------------------------------------------------------------------------------------------


def check_rule_in_answers(rule: Rule, query: Query, measured: Measured) -> Iterator[Finding]:
    """The findings of a rule over all answers to its query.

    What must be found fails where every answer lacks it, and warns where some do; what must not be
    shown fails where any answer shows it. ``broken_in`` counts the answers.
    """
    answers = [
        list(check_rule(rule, query, answer.ranks(query), measured.title))
        for answer in measured.answers
    ]
    if rule.kind == "in_order":
        answers = [[_worst(findings)] for findings in answers]
    for alike in zip(*answers, strict=True):
        broken = [finding for finding in alike if not finding.ok]
        if not broken:
            yield replace(alike[0], ranked=_medians(alike))
            continue
        fails = rule.kind in BREAKS_IN_ANY or len(broken) == len(alike)
        yield replace(
            broken[0],
            fails=fails,
            ranked=_medians(broken),
            broken_in=len(broken),
            answers=len(alike),
        )


def _worst(findings: Sequence[Finding]) -> Finding:
    return next((finding for finding in findings if not finding.ok), findings[0])


def _medians(findings: Iterable[Finding]) -> tuple[RankedDocument, ...]:
    """The documents of the first finding, each at the median of its ranks."""
    findings = list(findings)
    return tuple(
        replace(document, rank=median_rank([_rank(finding, document.id) for finding in findings]))
        for document in findings[0].ranked
    )


def _rank(finding: Finding, document: str) -> int | None:
    return next((known.rank for known in finding.ranked if known.id == document), None)


def median_rank(ranks: Sequence[int | None]) -> int | None:
    """The middle rank, the better of two; a document that was not returned ranks last."""
    ordered = sorted(ranks, key=lambda rank: (rank is None, rank or 0))
    return ordered[(len(ordered) - 1) // 2] if ordered else None
