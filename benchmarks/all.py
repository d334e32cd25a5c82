"""Run every benchmark in turns, and keep the medians in ``results.json``.

    python -m benchmarks.all

Three rounds go over all benchmarks that compare this package with something else, so each round
meets the same state of the machine. What takes minutes and has no peer is measured in the first
round only. This takes a quarter of an hour on two idle cores, and needs the group ``bench``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from statistics import median

from benchmarks.timing import ROOT, Figure, read_figures, save_figures

ROUNDS = 3
# How often each benchmark measures, in each of the rounds.
IN_ROUNDS = {
    "startup": 5,
    "example": 3,
    "items": 1,
    "evaluation": 2,
    "results": 5,
    "reading": 3,
    "complete_job": 1,
    "base_run": 1,
}
# And in the first round only.
ONCE = {"growth": 3, "shards": 1, "probes": 1, "kills": 1}
BENCHMARKS = (*IN_ROUNDS, *ONCE)


class BenchmarkError(Exception):
    """A benchmark failed."""


def run(name: str, *options: str) -> list[Figure]:
    """Run a benchmark in a process of its own, and return its figures."""
    start = time.monotonic()
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{name} failed: {done.stderr[-1000:]}{done.stdout[-1000:]}")
    print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return read_figures(done.stdout)


def combine(figures: list[Figure]) -> Figure:
    """Return the median of the rounds."""
    seconds = [figure.seconds for figure in figures if figure.seconds is not None]
    return replace(
        figures[-1],
        value=median(figure.value for figure in figures),
        seconds=median(seconds) if seconds else None,
    )


def main() -> None:
    by_key: dict[str, list[Figure]] = {}
    failures: list[str] = []
    for number in range(ROUNDS):
        for name, rounds in {**IN_ROUNDS, **(ONCE if number == 0 else {})}.items():
            try:
                measured = run(name, f"--rounds={rounds}")
            except BenchmarkError as error:
                failures.append(str(error))
                continue
            for figure in measured:
                by_key.setdefault(figure.key, []).append(figure)
    figures = [combine(measured) for measured in by_key.values()]
    # What a failed benchmark measured before stays.
    save_figures(figures, replaces_all=not failures)
    missed = [figure for figure in figures if figure.misses_target]
    for figure in missed:
        print(f"Target missed: {figure.format_row()}")
    print(f"{len(figures)} figures are kept, of which {len(missed)} miss their target.")
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
