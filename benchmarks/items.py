"""What items cost: whole processes of pytest, beside as many stock parametrised tests.

    python benchmarks/items.py [--queries 5000] [--rounds 3]

First a suite of many queries, each an item, and no page. Then the example project, with and without
the page, beside as many stock tests as it has items. Seconds are those of the processor, memory is
the peak of the process. Python must be allowed to write its bytecode
(``PYTHONDONTWRITEBYTECODE`` unset), or imports are all that is measured.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from statistics import median

from beside import MB, Spent, process, pytest_command, ratio

EXAMPLE = Path(__file__).parent.parent / "example_project"
STOCK = """
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_stock(number):
    assert number >= 0
"""
CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def retriever():
    return lambda query, k: [f"d{n}" for n in range(k)]
"""
SUITE = "retriever: retriever\nqueries:\n"
JUDGE = ("--ir-suite", "--ir-report=none")


def beside(folder: Path, count: int, works: dict[str, list[str]], rounds: int) -> None:
    """Print what each of some commands in a folder takes, and as many stock tests."""
    stock = folder / "stock"
    stock.mkdir()
    (stock / "test_stock.py").write_text(STOCK.format(count=count))
    plain = [*pytest_command("-p", "no:irquality"), "test_stock.py"]
    taken: dict[str, list[Spent]] = {name: [] for name in ("stock tests", *works)}
    for number in range(rounds + 1):
        for name, some in taken.items():
            spent = process(works[name], folder) if name in works else process(plain, stock)
            if number:  # the first writes bytecode
                some.append(spent)
    first = taken["stock tests"]
    for name, some in taken.items():
        seconds = ratio([one.cpu for one in some], [one.cpu for one in first])
        memory = ratio([one.memory for one in some], [one.memory for one in first])
        print(
            f"| {name} | {median(one.cpu for one in some):.2f} | {seconds:.2f} |"
            f" {median(one.memory for one in some) / MB:.0f} | {memory:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print("| | CPU, s | × | peak, MB | × |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(CONFTEST)
        lines = (
            f"  - query: words {n}\n    relevant: [d{n % 20}, e2]\n    must_find: [d1]\n"
            for n in range(chosen.queries)
        )
        (folder / "s.ir.yaml").write_text(SUITE + "".join(lines))
        works = {f"{chosen.queries:,} queries": pytest_command(*JUDGE, "s.ir.yaml")}
        beside(folder, chosen.queries, works, chosen.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "example")
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        page = pytest_command("--ir-suite", "--ir-report=report.html")
        works = {"the example, no page": pytest_command(*JUDGE), "the example": page}
        listed = pytest_command("--ir-suite", "--collect-only")
        process(listed, folder)
        items = (folder / "output.txt").read_text().count("::")
        beside(folder, items, works, chosen.rounds)


if __name__ == "__main__":
    main()
