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

from pytest_irquality.retrieval.run import Answer
from pytest_irquality.verdict.audit_facts import Rate
from pytest_irquality.verdict.broken_builds import broken_builds
from pytest_irquality.verdict.build_gate import Gate, Unit, Units

FEWEST = 6  # builds from which a rate is told
A_SIDE = (1, 3, 5)  # builds, where there are enough for two sides
SPLITS, LARGE, LEAST = 200, 200_000, 50  # judged of each: fewer where so many queries are
Z = 1.645  # of a normal variable: an interval that is true nine times in ten
SEED = 0

Pair = tuple[Units, Units]


def sound_builds(gate: Gate) -> Units:
    """Today's builds but for broken ones: unchanged code does not make such."""
    builds, broken = builds_of(gate.run.answers), broken_builds(gate.suite, gate.run, "today")
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


def rates(gate: Gate, builds: Units) -> Iterator[Rate]:
    """The rates at which unchanged code is red, with a new baseline each time."""
    for side in A_SIDE if len(builds) >= FEWEST else ():
        if 2 * side <= len(builds):
            splits = min(SPLITS, max(LEAST, LARGE // max(1, len(gate.queries))))
            yield _rate(gate, _drawn(builds, side, splits), side, len(builds))


def _drawn(builds: Units, side: int, splits: int) -> Sequence[Pair]:
    """Builds against others of them: every way, or as many as are judged."""
    if side == 1:
        pairs = [((one,), (other,)) for one, other in permutations(builds, 2)]
        return pairs if len(pairs) <= splits else Random(SEED).sample(pairs, splits)
    draw = Random(SEED)
    samples = (draw.sample(builds, 2 * side) for _ in range(splits))
    return [(sample[:side], sample[side:]) for sample in samples]


def _rate(gate: Gate, judgings: Sequence[Pair], side: int, builds: int) -> Rate:
    reds = [gate.red(before, now) for before, now in judgings]
    share = sum(map(bool, reds)) / len(judgings)
    labels = {check.name: check.label for check in gate.checks}
    failed = Counter(name for red in reds for name in red)
    often = ((labels[name], times / len(judgings)) for name, times in failed.most_common())
    return Rate(side, builds, share, *share_interval(share, builds / side), tuple(often))


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
