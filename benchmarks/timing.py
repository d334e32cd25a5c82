"""What all benchmarks share: work measured in turns, processes measured as a unit, and figures.

Other programs run on the same machine. Therefore everything is measured in seconds of the
processor, works that are compared take turns, a ratio is computed within a turn, and the median of
the turns counts.

A benchmark is run as `python -m benchmarks.NAME [--short] [--save]`. It prints one JSON object and
one row of a Markdown table for each figure. With `--save` the figures are kept in `results.json`,
from which `python -m benchmarks.speed_page` writes the page of the documentation.
`python -m benchmarks.all` runs all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results.json"

MB = 2**20
# Linux counts the peak memory of a process in KiB, macOS in bytes.
MAX_RSS_UNIT = 1 if sys.platform == "darwin" else 1024
MAX_ERROR_OUTPUT = 3000  # characters


@dataclass(frozen=True)
class Figure:
    """One result of a benchmark, as the documentation shows it.

    Attributes:
        key: A name that is unique among all benchmarks.
        work: What was measured.
        compared_with: What the value is a ratio to, or empty if it is an absolute value.
        value: The measured value. A smaller one is better.
        target: The value that must not be exceeded.
        unit: The unit of the value: empty for a ratio, or ``s``, ``ms``, ``MB`` or ``files``.
        seconds: How long the work took.
    """

    key: str
    work: str
    compared_with: str
    value: float
    target: float | None = None
    unit: str = ""
    seconds: float | None = None

    @property
    def formatted_value(self) -> str:
        """Return the value with its unit."""
        return format_value(self.value, self.unit)

    @property
    def misses_target(self) -> bool:
        """Return whether the value exceeds its target."""
        return self.target is not None and self.value > self.target

    def format_row(self) -> str:
        """Return a row of a Markdown table."""
        target = "" if self.target is None else f"≤ {format_value(self.target, self.unit)}"
        seconds = "" if self.seconds is None else format_value(self.seconds, "s")
        cells = [self.work, self.compared_with, self.formatted_value, target, seconds]
        return f"| {' | '.join(cells)} |"


def format_value(value: float, unit: str) -> str:
    """Format a value with a unit: `2.31` for a ratio, `1,204 MB`."""
    has_decimals = unit in ("", "s") and value < 100
    number = f"{value:.2f}" if has_decimals else f"{value:,.0f}"
    return f"{number} {unit}".rstrip()


# -- Measuring -------------------------------------------------------------------------------------


class Usage(NamedTuple):
    """What a process used.

    Attributes:
        seconds: The time from its start to its end.
        cpu: The seconds of the processor, child processes included.
        memory: The peak memory in bytes.
    """

    seconds: float
    cpu: float
    memory: int


def run_process(
    command: Sequence[str], folder: Path, variables: Mapping[str, str] | None = None
) -> Usage:
    """Run a command in a folder. Its output goes to ``output.txt``, and a failure ends the script.

    The peak memory includes that of this process at the moment of the start, so start processes
    while this one is small.
    """
    output_path = folder / "output.txt"
    with output_path.open("w") as output:
        start = time.perf_counter()
        environment = {**os.environ, **(variables or {})}
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(output_path.read_text()[-MAX_ERROR_OUTPUT:])
    return Usage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAX_RSS_UNIT)


def run_in_turns(
    commands: Mapping[str, tuple[Sequence[str], Path]], rounds: int, *, warm: bool = True
) -> dict[str, list[Usage]]:
    """Run commands in their folders in turns.

    Args:
        commands: A command and its folder by name.
        rounds: How often each is measured.
        warm: Whether to run each once before, because the first run writes bytecode.
    """
    if warm:
        for command, folder in commands.values():
            run_process(command, folder)
    usages: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, folder) in commands.items():
            usages[name].append(run_process(command, folder))
    return usages


def make_pytest_command(*args: str) -> list[str]:
    """Return the command that runs pytest as a user does, without files of its own."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]


def measure_cpu(work: Callable[[], object]) -> float:
    """Return the seconds of the processor that one call takes."""
    gc.collect()
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    del result  # Freeing it is no part of the work.
    return seconds


def measure_in_turns(
    works: Mapping[str, Callable[[], float]], rounds: int
) -> dict[str, list[float]]:
    """Call works, which measure themselves, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            seconds[name].append(work())
    return seconds


def compute_ratio(numbers: Sequence[float], others: Sequence[float]) -> float:
    """Compute the median of the ratios of each turn."""
    return median(number / other for number, other in zip(numbers, others, strict=True))


# -- Running a benchmark ---------------------------------------------------------------------------


class Options(argparse.Namespace):
    """The options of every benchmark.

    Attributes:
        short: Whether to measure a smaller work in fewer rounds.
        rounds: How often everything is measured.
        save: Whether to keep the figures.
        profile: Whether to show where the time goes.
        only: A part of the names of what is measured.
    """

    short: bool
    rounds: int
    save: bool
    profile: bool
    only: str


Measure = Callable[[Options], list[Figure]]


def run_benchmark(module_docstring: str | None, measure: Measure, *, rounds: int = 5) -> None:
    """Parse the command line, measure, and print the figures.

    Args:
        module_docstring: The documentation of the benchmark.
        measure: Measures and returns the figures.
        rounds: How often everything is measured by default; three times at most with ``--short``.
    """
    parser = argparse.ArgumentParser(
        description=module_docstring, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="measure less work in fewer rounds")
    parser.add_argument("--save", action="store_true", help=f"keep the figures in {RESULTS.name}")
    parser.add_argument("--rounds", type=int, help="how often everything is measured")
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    options = parser.parse_args(namespace=Options())
    if options.rounds is None:
        options.rounds = min(rounds, 3) if options.short else rounds
    # Imports are all that a short run would measure if Python could not keep its bytecode.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    figures = measure(options)
    for figure in figures:
        print(json.dumps(asdict(figure), ensure_ascii=False))
    print("\n| work | compared with | value | target | seconds |\n|---|---|---:|---:|---:|")
    for figure in figures:
        print(figure.format_row())
    if options.save:
        save_figures(figures)


# -- Results ---------------------------------------------------------------------------------------


def read_figures(output: str) -> list[Figure]:
    """Return the figures that a benchmark printed."""
    figures = []
    for line in output.splitlines():
        if line.startswith('{"key"'):
            figures.append(Figure(**json.loads(line)))
    return figures


def read_results() -> dict[str, dict[str, Any]]:
    """Return the kept figures by key, each with the commit, the date and the machine."""
    results: dict[str, dict[str, Any]] = {}
    if RESULTS.exists():
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def save_figures(figures: Sequence[Figure], *, replaces_all: bool = False) -> None:
    """Keep figures in ``results.json``, with the commit, the date and the machine.

    Args:
        figures: The figures.
        replaces_all: Whether other figures go.
    """
    kept = {} if replaces_all else read_results()
    source = {
        "commit": read_commit(),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "machine": describe_machine(),
    }
    for figure in figures:
        kept[figure.key] = {**asdict(figure), **source}
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def read_commit() -> str:
    """Return the abbreviated commit of this checkout."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def describe_machine() -> str:
    """Return the number of processors, their kind, and the version of Python."""
    model = platform.machine()
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        for line in cpu_info.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    version = platform.python_version()
    return f"{os.cpu_count()} × {model}, {platform.system()}, Python {version}"
