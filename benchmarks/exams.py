"""The cost of holding a change to the base's suite beside judging it by its own.

    python benchmarks/exams.py [--queries 7000] [--judged 20] [--rounds 5]

It judges one run in a git repository: by today's suite alone, with a base whose suite is the same,
with one that has another limit, and with one whose judgments differ. Every judging reads both
suites anew. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from beside import in_turns, ratio, seconds

from pytest_irquality import load_suite
from pytest_irquality.edges.project import Project
from pytest_irquality.pipeline.exams import Exams
from pytest_irquality.pipeline.judged import Asking, judged
from pytest_irquality.pipeline.plan import Plan
from pytest_irquality.storage.commits import AtCommit
from pytest_irquality.storage.target import Target

ALONE, ALIKE, LIMIT, GRADES = (
    "today's suite alone", "the base's is the same", "it has another limit", "it has other grades",
)  # fmt: skip
SUITE = """queries: queries.jsonl
judgments: qrels.txt
thresholds: {ndcg@10: {min: LEAST}}
"""


def git(folder: Path, *arguments: str) -> None:
    """Run git as somebody."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)


def make(folder: Path, queries: int, judged: int) -> None:
    """Commit a suite, its queries and its judgments to a base."""
    names = range(queries)
    lines = (f'{{"id": "q{n}", "query": "query number {n}"}}\n' for n in names)
    (folder / "queries.jsonl").write_text("".join(lines))
    qrels = (f"q{n} 0 d{n}-{m} {m % 3}\n" for n in names for m in range(judged))
    (folder / "qrels.txt").write_text("".join(qrels))
    (folder / "large.ir.yaml").write_text(SUITE.replace("LEAST", "0.1"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "base")
    git(folder, "branch", "base")


def work(folder: Path, *, examined: bool) -> None:
    """Judge the suite that lies there, as a session does."""
    file = folder / "large.ir.yaml"
    project = Project(folder, folder, named=[folder])
    at = AtCommit(project, "git:base")
    plan = Plan(project, exams=Exams(at, project) if examined else None)
    suite = load_suite(file, shown="large.ir.yaml", allowed=project.allowed(file))
    plan.will_judge([Target(suite, file, "")])
    target = Target(plan.guarded(suite, file), file, "")

    def search(query: str) -> list[str]:
        number = query.rpartition(" ")[2]
        return [f"d{number}-{rank}" for rank in range(9, -1, -1)]

    result, _, _ = judged(plan, target, target.suite.checks, Asking(search))
    assert not any(exam.unread for exam in result.exams)


def changed(folder: Path, name: str) -> float:
    """The seconds of one judging, after a change of the suite."""
    least, grades = ("0.2" if name == LIMIT else "0.1"), folder / "qrels.txt"
    (folder / "large.ir.yaml").write_text(SUITE.replace("LEAST", least))
    before = grades.read_text()
    if name == GRADES:
        grades.write_text(before.replace("-0 0\n", "-0 1\n"))
    try:
        return seconds(partial(work, folder, examined=name != ALONE))
    finally:
        grades.write_text(before)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=7000)
    parser.add_argument("--judged", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        make(folder, chosen.queries, chosen.judged)
        works: Mapping[str, Callable[[], float]] = {
            case: partial(changed, folder, case) for case in (ALONE, ALIKE, LIMIT, GRADES)
        }
        taken = in_turns(works, chosen.rounds)
    print(f"### {chosen.queries:,} queries, {chosen.judged} judgments each\n")
    print("| | median, s | ÷ today's alone |\n|---|---:|---:|")
    for case, times in taken.items():
        print(f"| {case} | {median(times):.2f} | {ratio(times, taken[ALONE]):.2f} |")


if __name__ == "__main__":
    main()
