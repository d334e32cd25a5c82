"""How true the audit is about the gate: its intervals, with builds as the unit.

Run it with `python benchmarks/gauge.py` (`pip install -e '.[bench]'`). It prints the first table of
`docs/why/red-for-nothing.md`: of projects that differ in how their builds waver, each of which
keeps 6, 10 or 20 of them, the share whose interval holds the true rate.

A build is a number here, how good it came out, and the gate is red where the mean of today's builds
is too far below that of the baseline's. `normal` builds differ a little; of the others so many are
`rotten`, and all else are alike, which is the hardest for an interval: one bad build spoils every
judging that it is in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pytest_irquality.verdict.gauge import SPLITS, wilson

PROJECTS, TRUE, SEED = 1000, 200_000, 7
BUILDS, A_SIDE = (6, 10, 20), (1, 3, 5)
Draw = Callable[[np.random.Generator, int], np.ndarray]


def normal(draw: np.random.Generator, builds: int) -> np.ndarray:
    return draw.normal(size=builds)


def rotten(share: float) -> Draw:
    return lambda draw, builds: np.where(draw.random(builds) < share, -10.0, 0.0)


WORLDS: dict[str, tuple[Draw, float]] = {
    **{f"normal, {limit:g} apart": (normal, limit) for limit in (0.3, 1.0, 2.0, 3.0)},
    **{f"{share:.0%} rotten": (rotten(share), 1.0) for share in (0.05, 0.1, 0.2, 0.3, 0.5)},
}


def red(qualities: np.ndarray, limit: float) -> np.ndarray:
    """Whether each judging is red: a row has the builds of the baseline, and as many of today."""
    side = qualities.shape[1] // 2
    is_red: np.ndarray = (
        qualities[:, side:].mean(axis=1) - qualities[:, :side].mean(axis=1) < -limit
    )
    return is_red


def covered(draw: np.random.Generator, world: Draw, limit: float, side: int, builds: int) -> float:
    """The share of projects whose interval holds the true rate."""
    true = red(world(draw, TRUE * 2 * side).reshape(TRUE, 2 * side), limit).mean()
    held = 0
    for _ in range(PROJECTS):
        kept = world(draw, builds)
        if side == 1:
            share = (kept[None, :] - kept[:, None] < -limit).sum() / (builds * (builds - 1))
        else:
            places = draw.permuted(np.tile(np.arange(builds), (SPLITS, 1)), axis=1)
            share = red(kept[places[:, : 2 * side]], limit).mean()
        low, high = wilson(float(share), builds / side)
        held += low <= true <= high
    return 100 * held / PROJECTS


def main() -> None:
    """Print the table."""
    draw = np.random.default_rng(SEED)
    cells = [(side, builds) for side in A_SIDE for builds in BUILDS if 2 * side <= builds]
    print("| builds that are | " + " | ".join(f"{side} a side of {n}" for side, n in cells) + " |")
    print("|---|" + "---:|" * len(cells))
    for name, (world, limit) in WORLDS.items():
        row = (f"{covered(draw, world, limit, side, n):.1f}" for side, n in cells)
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
