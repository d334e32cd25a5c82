"""How true the audit is about the gate: each interval, with builds as the unit.

Run it with `python benchmarks/gauge.py` (`pip install -e '.[bench]'`); it takes ten seconds. It
prints the tables of `docs/why/statistics.md`: of projects that differ in how their builds waver,
the share whose interval holds the truth.

A build is a number here, how good it came out, and the gate is red where the mean of today's builds
is too far below that of the baseline's. `normal` builds differ a little; of the others so many are
`rotten`, and all else are alike, which is the hardest for an interval: one bad build spoils every
judging that it is in. An interval of a change is over queries: these differ here in many ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from pytest_irquality.verdict.gauge import SPLITS, share_interval
from pytest_irquality.verdict.statistics import EQUAL, SMALLEST_SHOWN, interval, sign_flip
from pytest_irquality.verdict.wavering import drop_noise

PROJECTS, TRUE, SEED = 1000, 200_000, 7
BUILDS, A_SIDE = (6, 10, 20), (1, 3, 5)
ROTTEN = -10.0
Draws = np.random.Generator


@dataclass(frozen=True)
class World:
    """How good builds come out, and how far a mean may fall: of ``rotten`` so many are bad."""

    rotten: float | None
    limit: float

    def draw(self, draw: Draws, *shape: int) -> np.ndarray:
        if self.rotten is None:
            return draw.normal(size=shape)
        return np.where(draw.random(shape) < self.rotten, ROTTEN, 0.0)


WORLDS: Mapping[str, World] = {
    **{f"normal, {limit:g} apart": World(None, limit) for limit in (0.3, 1.0, 2.0, 3.0)},
    **{f"{share:.0%} rotten": World(share, 1.0) for share in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)},
}


def anew(draw: Draws, world: World, side: int, builds: int) -> float:
    """The share of projects whose interval holds the rate with a new baseline each time."""
    drawn = world.draw(draw, TRUE, 2 * side)
    true = (drawn[:, side:].mean(axis=1) - drawn[:, :side].mean(axis=1) < -world.limit).mean()
    held = 0
    for kept in world.draw(draw, PROJECTS, builds):
        if side == 1:
            share = (kept[None, :] - kept[:, None] < -world.limit).sum() / (builds * (builds - 1))
        else:
            places = draw.permuted(np.tile(np.arange(builds), (SPLITS, 1)), axis=1)
            some = kept[places[:, : 2 * side]]
            fell = some[:, side:].mean(axis=1) - some[:, :side].mean(axis=1)
            share = (fell < -world.limit).mean()
        low, high = share_interval(float(share), builds / side)
        held += low <= true <= high
    return 100 * held / PROJECTS


def beyond_noise(draw: Draws, world: World, side: int) -> float:
    """How often unchanged builds differ by more than the noise that is told."""
    found = 0
    for some in world.draw(draw, PROJECTS, 2 * side):
        noise = drop_noise([*some[:side]], [*some[side:]])
        found += noise is not None and some[:side].mean() - some[side:].mean() > noise + EQUAL
    return 100 * found / PROJECTS


# -- intervals over queries ------------------------------------------------------------------------

Differences = Callable[[Draws, int], np.ndarray]
CHANGES: Mapping[str, Differences] = {
    "normal": lambda draw, n: draw.normal(-0.02, 0.2, n),
    "half unchanged": lambda draw, n: draw.normal(-0.02, 0.2, n) * (draw.random(n) < 0.5),
    "nine of ten unchanged": lambda draw, n: draw.normal(-0.1, 0.3, n) * (draw.random(n) < 0.1),
    "one of ten loses half": lambda draw, n: -0.5 * (draw.random(n) < 0.1),
    "skewed": lambda draw, n: 0.1 - draw.exponential(0.12, n),
}
QUERIES = (10, 20, 50, 200)


def of_change(draw: Draws, differ: Differences, queries: int) -> tuple[float, float]:
    """The share of intervals that hold the true change, and of suites that have an interval."""
    true, held, told = float(differ(draw, 1_000_000).mean()), 0, 0
    for _ in range(PROJECTS):
        if ends := interval([*map(float, differ(draw, queries))]):
            told += 1
            held += ends[0] <= true <= ends[1]
    return 100 * held / max(told, 1), 100 * told / PROJECTS


def shown(draw: Draws, queries: int) -> float:
    """How often a drop is found that so many queries are said to show four times in five."""
    drop = SMALLEST_SHOWN / sqrt(queries)
    return 100 * float(
        np.mean([sign_flip([*draw.normal(-drop, 1, queries)]) < 0.05 for _ in range(200)])
    )


# -- tables ----------------------------------------------------------------------------------------


def table(first: str, columns: Sequence[str], rows: Iterator[tuple[str, Iterator[str]]]) -> None:
    print(f"\n| {first} | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for name, cells in rows:
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    draw = np.random.default_rng(SEED)
    cells = [(side, n) for side in A_SIDE for n in BUILDS if 2 * side <= n]
    names = [f"{side} a side of {n}" for side, n in cells]
    rows = (
        (name, (f"{anew(draw, world, *cell):.1f}" for cell in cells))
        for name, world in WORLDS.items()
    )
    table("a new baseline each time", names, rows)
    rows = (
        (name, (f"{beyond_noise(draw, world, side):.1f}" for side in (2, 3, 5, 10)))
        for name, world in WORLDS.items()
        if world.limit == 1.0
    )
    table("beyond the noise", [f"{side} : {side}" for side in (2, 3, 5, 10)], rows)
    rows = (
        (name, ("{:.1f} ({:.0f})".format(*of_change(draw, differ, n)) for n in QUERIES))
        for name, differ in CHANGES.items()
    )
    table("interval of a change (told)", [f"{n} queries" for n in QUERIES], rows)
    found = iter([("normal", (f"{shown(draw, n):.0f}" for n in QUERIES))])
    table("a drop that is shown", [f"{n} queries" for n in QUERIES], found)


if __name__ == "__main__":
    main()
