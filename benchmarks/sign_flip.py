"""How fast the sign-flip test is, beside scipy's, which needs numpy.

Run it with `python benchmarks/sign_flip.py`, after `pip install -e .[bench]`.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from pytest_irquality.verdict.statistics import sign_flip

stats: Any = import_module("scipy.stats")

SEED = 20240229
ROUNDS = 9
PROMISES = {200: 0.015, 7_000: 0.5}  # seconds, by the number of queries


def differences(queries: int) -> list[float]:
    """Changes of average precision, say: every query differs, and no two sums are alike."""
    draw = random.Random(SEED)
    return [draw.gauss(-0.3 / queries**0.5, 0.2) for _ in range(queries)]


def scipys(values: list[float]) -> float:
    """The same test with as many patterns, or all of them where there are fewer."""
    result = stats.permutation_test(
        (values,),
        sum_of,
        permutation_type="samples",
        vectorized=True,
        n_resamples=9_999,
        alternative="less",
        batch=500,
    )
    return float(result.pvalue)


def sum_of(values: Any, axis: int) -> Any:
    return values.sum(axis=axis)


def seconds(work: Callable[[list[float]], float], values: list[float]) -> float:
    gc.collect()
    start = time.perf_counter()
    work(values)
    return time.perf_counter() - start


def main() -> None:
    print("| queries | p | scipy's p | median, ms | scipy, ms | promised, ms |")
    print("|---:|---:|---:|---:|---:|---:|")
    for queries in (10, 25, 50, 200, 1_000, 7_000):
        values = differences(queries)
        taken = [(seconds(sign_flip, values), seconds(scipys, values)) for _ in range(ROUNDS)]
        ours, theirs = (1000 * statistics.median(times) for times in zip(*taken, strict=True))
        promised = f"{1000 * PROMISES[queries]:g}" if queries in PROMISES else ""
        row = (
            f"{queries:,}",
            f"{sign_flip(values):.4f}",
            f"{scipys(values):.4f}",
            f"{ours:,.2f}",
            f"{theirs:,.2f}",
        )
        print(f"| {' | '.join(row)} | {promised} |")


if __name__ == "__main__":
    main()
