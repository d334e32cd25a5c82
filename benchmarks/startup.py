"""The processor time that the plugin adds to the start of pytest.

One test of a project is run without the plugin, with the plugin installed and unused, and with
``--ir-suite`` on a suite of one query next to it. No page is written.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.items import CONFTEST
from benchmarks.timing import (
    Figure,
    Options,
    Usage,
    make_pytest_command,
    run_benchmark,
    run_in_turns,
)

TEST = "def test_stock():\n    pass\n"
SUITE = "queries:\n  - {query: shoes, relevant: [d1], must_find: [d1]}\n"
OTHER_PLUGINS = ("-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:random_order")


def measure(options: Options) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_stock.py").write_text(TEST)
        (folder / "conftest.py").write_text(CONFTEST)
        (folder / "one.ir.yaml").write_text(SUITE)
        pytest_command = make_pytest_command(*OTHER_PLUGINS)
        commands = {
            "without": ([*pytest_command, "-p", "no:irquality"], folder),
            "unused": (pytest_command, folder),
            "suite": ([*pytest_command, "--ir-suite", "--ir-report=none"], folder),
        }
        usages = run_in_turns(commands, options.rounds)
    unused = compute_added_ms(usages["unused"], usages["without"])
    suite = compute_added_ms(usages["suite"], usages["without"])
    peer = "added to pytest's own start"
    return [
        Figure("startup-unused", "the plugin installed and unused", peer, unused, 10, "ms"),
        Figure("startup-suite", "`--ir-suite` on a suite of one query", peer, suite, 120, "ms"),
    ]


def compute_added_ms(usages: list[Usage], others: list[Usage]) -> float:
    """Return the median of the added processor time in each turn."""
    added = median(usage.cpu - other.cpu for usage, other in zip(usages, others, strict=True))
    return 1000 * max(added, 0.0)


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=15)
