"""Kill runs at random moments: no file may be torn, and nothing may be left behind.

A suite of 100 queries is run with everything that writes: an update of the baseline, saved runs, a
history, the page, the grading page, JSON and Markdown. The retriever says when the last query is
answered, since nothing is written before. The run is killed after a random part of the time from
there to its end. Then every file must be complete, either as it was before or as this run writes
it. At the end, a run that is not killed must remove the temporary files, once they are old.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from benchmarks.timing import Figure, Options, run_benchmark

KILLS, SHORT_KILLS = 200, 30
SEED = 1
FORK = multiprocessing.get_context("fork")
QUERIES, DEPTH = 100, 50
TURN, ANSWERED_FD = "BENCHMARK_TURN", "BENCHMARK_ANSWERED"

SUITE = f"depth: {DEPTH}\nqueries: queries.jsonl\nthresholds: {{mrr: 0.9}}\n"
# The ids of all documents but the first name the run that returned them.
CONFTEST = f"""\
import os

import pytest

@pytest.fixture
def retriever():
    turn = os.environ["{TURN}"]

    def search(query, k):
        if query == "q{QUERIES - 1}":
            os.write(int(os.environ["{ANSWERED_FD}"]), b".")
        return ["d" + query[1:], *(f"{{turn}}-{{number}}" for number in range(k - 1))]

    return search
"""
OPTIONS = (
    "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:xdist", "--ir-suite",
    "--ir-update-baseline", "--ir-report=report.html", "--ir-json=report.json",
    "--ir-markdown=report.md", "--ir-grade=grade.html", "--ir-history=history.jsonl",
    "--ir-save-runs=runs",
)  # fmt: skip
SUFFIXES = (".html", ".json", ".jsonl", ".md")
# Some runs must reach their end, to say how long a run takes now.
MAX_FRACTION = 1.1


class Project:
    """A project, and what happened to the runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.draw = random.Random(SEED)
        self.turn = 0
        self.counts: Counter[str] = Counter()
        self.durations: deque[float] = deque(maxlen=9)
        (folder / "shop.ir.yaml").write_text(SUITE)
        lines = [f'{{"query": "q{n}", "relevant": ["d{n}"]}}\n' for n in range(QUERIES)]
        (folder / "queries.jsonl").write_text("".join(lines))
        (folder / "conftest.py").write_text(CONFTEST)

    def run(self, *, is_killed: bool) -> None:
        """Run pytest in a forked process, and kill it if asked to."""
        reader, writer = os.pipe()
        process = FORK.Process(target=self._run_pytest_in_child, args=(writer,))
        process.start()
        os.close(writer)
        if os.read(reader, 1) != b".":
            raise SystemExit("A run ended before its last query was answered")
        os.close(reader)
        start = time.monotonic()
        timeout = None
        if is_killed:
            timeout = self.draw.uniform(0, MAX_FRACTION * median(self.durations))
        process.join(timeout)
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            self.counts["killed"] += 1
        else:
            self.durations.append(time.monotonic() - start)
            self.counts["finished"] += 1
        self.turn += 1

    def import_everything(self) -> None:
        """Run once in this process, so that forked processes have nothing to import."""
        copies = os.dup(1), os.dup(2)
        self._run_pytest(os.open(os.devnull, os.O_WRONLY))
        for descriptor, copy in enumerate(copies, start=1):
            os.dup2(copy, descriptor)

    def _run_pytest_in_child(self, answered: int) -> None:
        raise SystemExit(self._run_pytest(answered))

    def _run_pytest(self, answered: int) -> int:
        os.chdir(self.folder)
        os.environ |= {TURN: f"t{self.turn}", ANSWERED_FD: str(answered)}
        os.environ.pop("GITHUB_STEP_SUMMARY", None)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        return pytest.main([*OPTIONS])

    def check_files(self) -> None:
        """Read every file that was written, and count those that are torn."""
        for path in self.folder.rglob("*"):
            if path.name.endswith(".tmp"):
                self.counts["temporary files seen"] += 1
            elif path.is_file() and path.suffix in SUFFIXES and path.name != "queries.jsonl":
                self.counts["complete files"] += 1
                for problem in find_problems(path):
                    self.counts["torn files"] += 1
                    print(f"run {self.turn}: {path.relative_to(self.folder)}: {problem}")

    def make_temporary_files_old(self) -> None:
        """Let temporary files seem so old that no process can be writing them."""
        for path in self.folder.rglob("*.tmp"):
            os.utime(path, (0, 0))

    def list_temporary_files(self) -> list[str]:
        return [path.name for path in self.folder.rglob("*.tmp")]


def find_problems(path: Path) -> Iterator[str]:
    """Yield what shows that a file is not as one run writes it."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            json.loads(text)
        if path.suffix == ".jsonl":
            for line in text.splitlines():
                if line:
                    json.loads(line)
    except ValueError as error:
        yield f"torn: {error}"
        return
    if path.suffix == ".html" and not text.rstrip().lower().endswith("</html>"):
        yield "torn: the end is missing"
    if path.suffix == ".jsonl" and path.name != "history.jsonl":
        turns = set()
        for word in text.replace('"', " ").split():
            turn, dash, number = word.partition("-")
            if dash and turn[:1] == "t" and turn[1:].isdigit() and number.isdigit():
                turns.add(turn)
        if len(turns) != 1:
            yield f"a mixture of the runs {sorted(turns)}"


def measure(options: Options) -> list[Figure]:
    kills = SHORT_KILLS if options.short else KILLS
    with tempfile.TemporaryDirectory() as name:
        project = Project(Path(name))
        project.import_everything()
        project.run(is_killed=False)
        while project.counts["killed"] < kills:
            project.run(is_killed=True)
            project.check_files()
        project.make_temporary_files_old()
        project.run(is_killed=False)
        project.check_files()
        left = project.list_temporary_files()
    if left:
        print(f"left: {left}")
    print(", ".join(f"{what}: {count:,}" for what, count in sorted(project.counts.items())))
    torn = project.counts["torn files"]
    return [
        Figure("kills", f"files torn by {kills} kills at random moments", "", torn, 0, "files"),
        Figure("kills-left", "temporary files left by these kills", "", len(left), 0, "files"),
    ]


if __name__ == "__main__":
    run_benchmark(__doc__, measure)
