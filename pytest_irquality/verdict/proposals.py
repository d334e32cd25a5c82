"""Limits that builds of unchanged code hold, each judged against the others.

Of ``b`` builds and one more each is as likely to be the worst. So a limit at the worst of ``b`` is
broken by the next about once in ``b + 1``, on average over teams, and no limit promises less. It is
one promise for all limits together: each stands as many standard deviations away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from math import ceil, floor
from random import Random
from statistics import pstdev

from pytest_irquality.metrics import Measure
from pytest_irquality.suite.by_default import default_drop, means_of_relevance
from pytest_irquality.suite.demands import MaxDrop, MaxSignificantDrop
from pytest_irquality.suite.model import Check, Guard, Limits, Place
from pytest_irquality.verdict.build_gate import Gate, Units
from pytest_irquality.verdict.gauge_facts import Proposal, ProposedLimit
from pytest_irquality.verdict.planted import PAIRS, SEED, TOLD, Pair, Planting
from pytest_irquality.verdict.scoring import defined_for
from pytest_irquality.verdict.statistics import EQUAL
from pytest_irquality.verdict.together import SMALL

MORE = 2  # the worst of b builds is allowed as much again, times this over b
DIGITS = 1000  # of a limit: it is rounded up to thousandths


def proposed(gate: Gate, builds: Units) -> Proposal:
    """Limits in place of those that nobody wrote; what is written stays as it is."""
    pairs = _each_against_others(builds)
    then, limits = limited(gate, builds)
    now, still = ([_labels(one, *pair) for pair in pairs] for one in (gate, then))
    sides = Random(SEED).sample(pairs, min(PAIRS, len(pairs)))
    return Proposal(
        len(builds),
        tuple(limits),
        sum(map(bool, now)),
        sum(map(bool, still)),
        tuple(sorted(set[str]().union(*still))),
        Planting(then, sides).drop(TOLD),
    )


def limited(gate: Gate, builds: Units) -> tuple[Gate, Sequence[ProposedLimit]]:
    """The gate with limits that these builds hold, and the limits."""
    pairs = _each_against_others(builds)
    did = {**_drops(gate, pairs), **_losses(gate, pairs)}
    strict = _with(gate, _checks(gate, dict.fromkeys(did, 0.0)))
    checks = _checks(gate, _reach(did, [_labels(strict, *pair) for pair in pairs]))
    return _with(gate, checks), [_limit(check, max(did[check.label])) for check in checks]


def _each_against_others(builds: Units) -> Sequence[Pair]:
    return [([*builds[:at], *builds[at + 1 :]], [build]) for at, build in enumerate(builds)]


def _with(gate: Gate, checks: Sequence[Check]) -> Gate:
    """The gate with some limits in place of those of their names, and of what nobody wrote."""
    named = {check.label for check in checks}
    on_means = any(check.limits for check in checks)
    kept = [
        one
        for one in gate.suite.checks
        if one.label not in named and not (one.by_default and on_means)
    ]
    return replace(gate, suite=replace(gate.suite, checks=(*kept, *checks)))


def _labels(gate: Gate, before: Units, now: Units) -> Set[str]:
    names = gate.red(before, now)
    return {check.label for check in gate.checks if check.name in names}


def _drops(gate: Gate, pairs: Sequence[Pair]) -> Mapping[str, Sequence[float]]:
    """By measure the drop that each pair shows, where nobody wrote how far it may drop."""
    if not any(check.by_default for check in gate.suite.checks):
        return {}
    found = {}
    for measure in means_of_relevance(gate.suite):
        written = _written(gate, measure)
        drops = [gate.drop(measure, *pair) for pair in pairs]
        known = [drop for drop in drops if drop is not None]
        if known and not (written and written.known_issue):
            found[str(measure)] = known
    return found


def _written(gate: Gate, measure: Measure) -> Limits | None:
    """The line that holds a measure over the suite."""
    lines = (check.limits for check in gate.suite.checks if check.over.suite and check.limits)
    return next((line for line in lines if line.written and line.measure == measure), None)


def _losses(gate: Gate, pairs: Sequence[Pair]) -> Mapping[str, Sequence[float]]:
    """By guard the queries that each pair lost, where nobody wrote how many may be."""
    unwritten = (check for check, guard in _guards_of(gate) if not guard.written)
    return {check.label: [gate.lost(check, *pair) for pair in pairs] for check in unwritten}


def _guards_of(gate: Gate) -> Sequence[tuple[Check, Guard]]:
    return [(check, check.demand) for check in gate.checks if isinstance(check.demand, Guard)]


def _reach(did: Mapping[str, Sequence[float]], failed: Sequence[Set[str]]) -> Mapping[str, float]:
    """The most of each that builds do which would fail.

    It is as many standard deviations of each as the worst one did, and a little more, as few builds
    tell how far each spreads: so that all together hold their promise (``benchmarks/gauge.py``).
    """
    bad = {
        label: [
            value if label in labels else 0.0 for value, labels in zip(all, failed, strict=True)
        ]
        for label, all in did.items()
    }
    spread = {label: pstdev(of_each) for label, of_each in bad.items()}
    wide = [label for label in bad if spread[label] > EQUAL]
    most = max((max(bad[label]) / spread[label] for label in wide), default=0.0)
    more = 1 + MORE / len(failed)
    return {label: most * more * spread[label] for label in did}


def _checks(gate: Gate, reach: Mapping[str, float]) -> Sequence[Check]:
    """The limits: a drop that counts, and more lost queries where the guard allows too few."""
    return [*_limits(gate, reach), *_guards(gate, reach)]


def _limits(gate: Gate, reach: Mapping[str, float]) -> Iterator[Check]:
    for measure in means_of_relevance(gate.suite):
        if (label := str(measure)) in reach:
            drop = max(SMALL, ceil(reach[label] * DIGITS - EQUAL) / DIGITS)
            most = max(drop, default_drop(_defining(gate, measure)))
            bounds = MaxSignificantDrop(drop, text=f"{drop:g}"), MaxDrop(most, text=f"{most:.3g}")
            written = _written(gate, measure)
            limits = Limits(measure, (*(written.bounds if written else ()), *bounds))
            yield Check(label, label, Place(1), limits)


def _defining(gate: Gate, measure: Measure) -> int:
    return sum(defined_for(gate.suite, measure, query) for query in gate.queries)


def _guards(gate: Gate, reach: Mapping[str, float]) -> Iterator[Check]:
    for check, guard in _guards_of(gate):
        most_lost = floor(reach.get(check.label, 0.0) + EQUAL)
        if guard.refuses(most_lost):
            yield check._replace(demand=replace(guard, most=most_lost))


def _limit(check: Check, worst: float) -> ProposedLimit:
    if isinstance(check.demand, Guard):
        return ProposedLimit(
            "each_query", check.demand.key, (("max", str(check.demand.most)),), worst
        )
    bounds = check.limits.bounds if check.limits else ()
    written = tuple((bound.key, bound.text or f"{bound.value:g}") for bound in bounds)
    return ProposedLimit("thresholds", check.label, written, worst)
