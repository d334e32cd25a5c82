"""The cost of the example project compared with as many stock tests, with and without the page.

The example searches a catalog of products with SQLite, so this is a complete run of a small suite:
the import of the plugin, the search, the evaluation and the report.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.items import compute_ratios, write_stock_tests
from benchmarks.timing import (
    ROOT,
    Figure,
    Options,
    make_pytest_command,
    run_benchmark,
    run_in_turns,
    run_process,
)

EXAMPLE = ROOT / "example_project"


def measure(options: Options) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder, stock_folder = Path(name, "example"), Path(name, "stock")
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        run_process(make_pytest_command("--ir-suite", "--collect-only"), folder)
        item_count = (folder / "output.txt").read_text().count("::")
        commands = {
            "stock": (write_stock_tests(stock_folder, item_count), stock_folder),
            "page": (make_pytest_command("--ir-suite", "--ir-report=report.html"), folder),
            "no page": (make_pytest_command("--ir-suite", "--ir-report=none"), folder),
        }
        usages = run_in_turns(commands, options.rounds)
    figures = []
    for key, label, target in (("no page", "", 1.4), ("page", " with the report", 1.5)):
        cpu, _ = compute_ratios(usages[key], usages["stock"])
        figures.append(
            Figure(
                f"example-{key.replace(' ', '-')}",
                f"the example project ({item_count} tests){label}",
                "as many plain tests",
                cpu,
                target=target,
                seconds=median(usage.cpu for usage in usages[key]),
            )
        )
    return figures


if __name__ == "__main__":
    run_benchmark(__doc__, measure)
