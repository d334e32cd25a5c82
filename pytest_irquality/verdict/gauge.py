"""The gate held against itself: builds of unchanged code are judged as a change would be.

A *build* is one index with all of its answers. Intervals count groups of builds, never judgings:
those that share a build are not independent. They were simulated (``benchmarks/gauge.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from math import sqrt
from random import Random
from statistics import fmean

from pytest_irquality.retrieval.run import Answer
from pytest_irquality.suite.by_default import first_mean, guarded
from pytest_irquality.suite.model import Suite
from pytest_irquality.verdict.broken_builds import broken_builds
from pytest_irquality.verdict.build_gate import Gate, Unit, Units
from pytest_irquality.verdict.comparison import Comparison
from pytest_irquality.verdict.gauge_facts import Gauge, Power, Rate
from pytest_irquality.verdict.planted import PAIRS, Pair, Planting

FEWEST = 6  # builds from which a rate is told
A_SIDE = (1, 3, 5)  # builds, where there are enough for two sides
SPLITS, LARGE, LEAST = 200, 200_000, 50  # judged of each: fewer where so many queries are
Z = 1.645  # of a normal variable: an interval that is true nine times in ten
SEED = 0


def gauged(now: Comparison) -> Gauge:
    """Findings on a suite's gate; builds of unchanged code are today's side."""
    sides = now.sides
    gate = Gate(guarded(now.suite), sides.run, sides.baseline_run)
    builds = _sound(now.suite, gate)
    return Gauge(
        len(builds),
        len(builds[0]),
        tuple(_rates(gate, builds)) if len(builds) >= FEWEST else (),
        _power(gate, builds, now.suite) if gate.queries else None,
    )


def _sound(suite: Suite, gate: Gate) -> Units:
    """Today's builds but for broken ones: unchanged code does not make such."""
    builds, broken = builds_of(gate.run.answers), broken_builds(suite, gate.run, "today")
    if broken is None or not broken.builds:
        return builds
    left_out = dict(broken.means)
    return [build for number, build in enumerate(builds, 1) if number not in left_out]


def builds_of(answers: Sequence[Answer]) -> Sequence[Unit]:
    """The answers of each build."""
    builds: dict[int, list[Answer]] = {}
    for answer in answers:
        builds.setdefault(answer.build, []).append(answer)
    return [tuple(unit) for unit in builds.values()]


def _rates(gate: Gate, builds: Units) -> Iterator[Rate]:
    """The rate with a new baseline each time, and that of the baseline which is there."""
    for side in A_SIDE:
        if 2 * side <= len(builds):
            splits = min(SPLITS, max(LEAST, LARGE // max(1, len(gate.queries))))
            yield _rate(gate, drawn(builds, side, side, splits), len(builds), kept=False)
    baseline = builds_of(gate.before.answers) if gate.before else ()
    others = _not_in(baseline, builds)
    for side in A_SIDE if baseline else ():
        if FEWEST * side <= len(others):
            groups = zip(*[iter(others)] * side, strict=False)
            yield _rate(gate, [(baseline, group) for group in groups], len(others), kept=True)


def _power(gate: Gate, builds: Units, suite: Suite) -> Power:
    """Harm some of these builds, and see what the gate finds, as they would be compared."""
    baseline = builds_of(gate.before.answers) if gate.before else ()
    side = max((side for side in A_SIDE if 2 * side <= len(builds)), default=1)
    if baseline:
        pairs: Sequence[Pair] = [(baseline, (one,)) for one in _not_in(baseline, builds) or builds]
    else:
        pairs = drawn(builds, side, side) if len(builds) > 1 else [(builds, builds)]
    planting = Planting(gate, Random(SEED).sample(pairs, min(PAIRS, len(pairs))))
    then, today = map(len, pairs[0])
    return Power(
        then,
        today,
        bool(baseline),
        str(first_mean(suite) or ""),
        planting.drops,
        planting.lost(),
        planting.broken_tags(),
        fmean(map(bool, planting.unharmed)),
        planting.unbroken(),
    )


def drawn(builds: Units, before: int, now: int, splits: int = SPLITS) -> Sequence[Pair]:
    """Builds against others of them: every way, or as many as are judged."""
    if before == now == 1:
        pairs = [((one,), (other,)) for one, other in permutations(builds, 2)]
        return pairs if len(pairs) <= splits else Random(SEED).sample(pairs, splits)
    draw = Random(SEED)
    samples = (draw.sample(builds, before + now) for _ in range(splits))
    return [(sample[:before], sample[before:]) for sample in samples]


def _rate(gate: Gate, judgings: Sequence[Pair], builds: int, *, kept: bool) -> Rate:
    failed = Counter[str]()
    red = 0
    for before, now in judgings:
        found = gate.red(before, now)
        red += bool(found)
        failed.update(found)
    then, today = (len(side) for side in judgings[0])
    share = red / len(judgings)
    labels = {check.name: check.label for check in gate.checks}
    often = ((labels[name], times / len(judgings)) for name, times in failed.most_common())
    groups = len(judgings) if kept else builds / max(then, today)
    return Rate(then, today, kept, builds, share, *share_interval(share, groups), tuple(often))


def share_interval(share: float, number: float) -> tuple[float, float]:
    """The 90 % interval of a share of so many independent things.

    It is Wilson's, of half a thing less and more: his own is too short where the share is small.
    """
    half = 1 / (2 * number)
    return (
        _wilson(max(0.0, share - half), number, -Z),
        _wilson(min(1.0, share + half), number, Z),
    )


def _wilson(share: float, number: float, z: float) -> float:
    middle = share + z * z / (2 * number)
    reach = z * sqrt(share * (1 - share) / number + (z / (2 * number)) ** 2)
    return min(1.0, max(0.0, (middle + reach) / (1 + z * z / number)))


def _not_in(baseline: Units, builds: Units) -> Units:
    """The builds that are not among the baseline's, as far as their answers tell.

    Where all builds answer alike nothing tells them apart, and nothing depends on it.
    """
    told = [_rankings(unit) for unit in builds]
    if all(one == told[0] for one in told):
        return builds
    known = [_rankings(unit) for unit in baseline]
    others = []
    for unit, rankings in zip(builds, told, strict=True):
        if rankings in known:
            known.remove(rankings)
        else:
            others.append(unit)
    return others


def _rankings(unit: Unit) -> Sequence[object]:
    return [{id: ranking.ids for id, ranking in answer.rankings.items()} for answer in unit]
