"""What the other scripts share: work done in turns with its peers, and whole processes measured.

The machine does other things, too. So whatever is compared takes turns, each ratio is that of one
turn, and the median of the ratios counts.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

MB = 2**20
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


class Spent(NamedTuple):
    """What a whole process took: seconds of the clock and of the processor, and peak memory."""

    seconds: float
    cpu: float
    memory: int


def process(command: Sequence[str], folder: Path) -> Spent:
    """Run a command in a folder; its output goes to ``output.txt``. Ends the script if it fails."""
    with (folder / "output.txt").open("w") as output:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit((folder / "output.txt").read_text()[-3000:])
    return Spent(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * UNIT)


def pytest_command(*args: str) -> list[str]:
    """Pytest as a user starts it, without files of its own."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]


def seconds(work: Callable[[], object]) -> float:
    """The processor's time of one call, with nothing left over from the one before."""
    gc.collect()
    start = time.process_time()
    made = work()
    took = time.process_time() - start
    del made
    return took


def in_turns(works: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each of some works measures of itself, in ``rounds`` turns."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken[name].append(work())
    return taken


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """How many times as long one took, the median of the turns."""
    return median(a / b for a, b in zip(one, other, strict=True))
