"""The cost of pytest items: a suite of 5,000 queries compared with as many stock tests.

Every query is an item with judgments and a rule, and its answers come from memory. The stock tests
are a parametrized function in a run without this plugin. No page is written.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import (
    MB,
    Figure,
    Options,
    Usage,
    compute_ratio,
    make_pytest_command,
    run_benchmark,
    run_in_turns,
)

QUERIES, SHORT_QUERIES = 5_000, 1_000

STOCK_TESTS = """\
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_stock(number):
    assert number >= 0
"""
CONFTEST = """\
import pytest

@pytest.fixture(scope="session")
def retriever():
    return lambda query, k: [f"d{number}" for number in range(k)]
"""


def write_stock_tests(folder: Path, count: int) -> list[str]:
    """Write stock tests into a folder, and return the command that runs them."""
    folder.mkdir()
    (folder / "test_stock.py").write_text(STOCK_TESTS.format(count=count))
    return make_pytest_command("-p", "no:irquality", "test_stock.py")


def write_suite(folder: Path, count: int) -> list[str]:
    """Write a suite into a folder, and return the command that runs it."""
    folder.mkdir()
    (folder / "conftest.py").write_text(CONFTEST)
    lines = ["queries:\n"]
    for number in range(count):
        lines.append(f"  - query: words {number}\n")
        lines.append(f"    relevant: [d{number % 20}, e2]\n    must_find: [d1]\n")
    (folder / "large.ir.yaml").write_text("".join(lines))
    return make_pytest_command("--ir-suite", "--ir-report=none", "large.ir.yaml")


def compute_ratios(usages: list[Usage], others: list[Usage]) -> tuple[float, float]:
    """Return the ratios of processor time and of memory."""
    cpu = compute_ratio([usage.cpu for usage in usages], [usage.cpu for usage in others])
    memory = compute_ratio([usage.memory for usage in usages], [usage.memory for usage in others])
    return cpu, memory


def measure(options: Options) -> list[Figure]:
    count = SHORT_QUERIES if options.short else QUERIES
    with tempfile.TemporaryDirectory() as name:
        stock_folder, suite_folder = Path(name, "stock"), Path(name, "suite")
        commands = {
            "stock": (write_stock_tests(stock_folder, count), stock_folder),
            "suite": (write_suite(suite_folder, count), suite_folder),
        }
        usages = run_in_turns(commands, options.rounds)
    cpu, memory = compute_ratios(usages["suite"], usages["stock"])
    seconds = median(usage.cpu for usage in usages["suite"])
    peak = median(usage.memory for usage in usages["suite"]) / MB
    work, peer = f"{QUERIES:,} queries, each of which is a test", "as many plain tests"
    return [
        Figure("items", work, peer, cpu, target=1.15, seconds=seconds),
        Figure("items-memory", f"memory of {work} ({peak:.0f} MB)", peer, memory, target=1.3),
    ]


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=3)
