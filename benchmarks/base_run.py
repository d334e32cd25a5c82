"""The cost of `--ir-baseline=run:main` compared with running the code of both branches by hand.

The current code and that of the base branch answer 500 queries each, in a git repository of two
commits. By hand, that is one run on each branch.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import (
    Figure,
    Options,
    compute_ratio,
    make_pytest_command,
    run_benchmark,
    run_in_turns,
)

QUERIES, SHORT_QUERIES = 500, 200

CONFTEST = """\
import pytest

FIRST = {first}

@pytest.fixture(scope="session")
def retriever():
    return lambda query, k: [f"d{{number}}" for number in range(FIRST, FIRST + k)]
"""


def run_git(folder: Path, *args: str) -> None:
    identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)


def write_repository(folder: Path, queries: int) -> None:
    """Write a repository in which a branch changes the search."""
    lines = ["queries:\n"]
    for number in range(queries):
        lines.append(f"  - query: words {number}\n    relevant: [d{number % 8}, e1]\n")
    (folder / "s.ir.yaml").write_text("".join(lines))
    (folder / "conftest.py").write_text(CONFTEST.format(first=1))
    (folder / ".gitignore").write_text("output.txt\n__pycache__/\n")
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "Add the search")
    run_git(folder, "checkout", "-q", "-b", "change")
    (folder / "conftest.py").write_text(CONFTEST.format(first=0))
    run_git(folder, "commit", "-q", "-a", "-m", "Change the search")


def measure(options: Options) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_repository(folder, SHORT_QUERIES if options.short else QUERIES)
        plain = make_pytest_command("--ir-suite", "--ir-report=none")
        commands = {"plain": (plain, folder), "base": ([*plain, "--ir-baseline=run:main"], folder)}
        usages = run_in_turns(commands, options.rounds)
    both = [2 * usage.cpu for usage in usages["plain"]]
    base = [usage.cpu for usage in usages["base"]]
    return [
        Figure(
            "base-run",
            f"`--ir-baseline=run:main`, {QUERIES} queries",
            "a run on each branch",
            compute_ratio(base, both),
            target=1.5,
            seconds=median(base),
        )
    ]


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=3)
