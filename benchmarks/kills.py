"""Kills at random moments: no torn file of any kind, and nothing left over after the next write.

    python benchmarks/kills.py [kills] [seed]

A small suite of 100 queries is run with everything that writes: an update of the baseline, kept
runs as JSONL and TREC, a history, HTML, the page to grade in, JSON, Markdown and CSV. The run says
when its last query was answered, since nothing is written before that; it is killed after a random
part of the time from there to its end, as the last runs that reached it took. Then every file must
be the old one or the new one, whole. It goes on until so many processes were really killed. After
that two runs to their end must leave no other file behind.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import pytest

FORK = multiprocessing.get_context("fork")
QUERIES, DEPTH = 100, 50
SUITE = f"depth: {DEPTH}\nqueries: queries.jsonl\nthresholds: {{mrr: 0.9}}\n"
LINES = "".join(f'{{"query": "q{n}", "relevant": ["d{n}"]}}\n' for n in range(QUERIES))
CONFTEST = f"""\
import os, pytest
@pytest.fixture
def retriever():
    turn = os.environ["TURN"]
    def ask(query, k):
        if query == "q{QUERIES - 1}":
            os.write(int(os.environ["ANSWERED"]), b".")
        return ["d" + query[1:], *(f"{{turn}}-{{n}}" for n in range(k - 1))]
    return ask
"""
FILES = {
    "report.html": ("<!doctype html>", "</html>"),
    "grade.html": ("<!doctype html>", "</html>"),
    "report.md": ("## ", "\n"),
}
SUFFIXES = (".html", ".json", ".jsonl", ".md", ".csv", ".run")
OPTIONS = (
    "--ir-update-baseline", "--ir-report=report.html", "--ir-json=report.json",
    "--ir-markdown=report.md", "--ir-judge=grade.html",
    "--ir-history=history.jsonl",
)  # fmt: skip
KEPT = ("runs", "run.run")
MORE = 1.1
"""Of the time that a run takes to its end: some are to get there, and say how long it is today."""


class Project:
    """The folder, and what became of the runs in it."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.folder, self.dice = folder, dice
        self.turn = 0
        self.seen: Counter[str] = Counter()
        self.lasted: deque[float] = deque(maxlen=9)
        (folder / "shop.ir.yaml").write_text(SUITE)
        (folder / "queries.jsonl").write_text(LINES)
        (folder / "conftest.py").write_text(CONFTEST)

    def run(self, kill: bool) -> None:
        """One run, which is killed or not."""
        answered, says = os.pipe()
        process = FORK.Process(target=self._killed, args=(says,))
        process.start()
        os.close(says)
        if os.read(answered, 1) != b".":
            raise SystemExit("a run ended before its last query was answered")
        os.close(answered)
        start = time.monotonic()
        process.join(self.dice.uniform(0, MORE * statistics.median(self.lasted)) if kill else None)
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            self.seen["killed"] += 1
        else:
            self.lasted.append(time.monotonic() - start)
            self.seen["ended by themselves"] += 1
        self.turn += 1

    def warm(self) -> None:
        """One run in this process: those that are about to be killed import nothing then."""
        copy = os.dup(1)
        self._pytest(os.open(os.devnull, os.O_WRONLY))
        os.dup2(copy, 1)
        os.dup2(copy, 2)

    def _killed(self, says: int) -> None:
        raise SystemExit(self._pytest(says))

    def _pytest(self, says: int) -> int:
        os.chdir(self.folder)
        os.environ |= {"TURN": f"t{self.turn}", "ANSWERED": str(says)}
        os.environ.pop("GITHUB_STEP_SUMMARY", None)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        plugins = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:xdist")
        kept = f"--ir-save-runs={KEPT[self.turn % 2]}"
        return pytest.main(["-q", *plugins, *OPTIONS, kept])

    def look(self) -> None:
        """Read every file to its end."""
        for path in self.folder.rglob("*"):
            if path.name.endswith(".tmp"):
                self.seen["temporary files seen"] += 1
            elif path.is_file() and path.suffix in SUFFIXES:
                for what in self.wrong(path):
                    self.seen["TORN"] += 1
                    print(f"turn {self.turn}: {path.relative_to(self.folder)}: {what}")
                self.seen["files whole"] += 1

    def wrong(self, path: Path) -> Iterator[str]:
        """What shows that a file is not as one run wrote it."""
        try:
            text = path.read_text(encoding="utf-8")
            lines = text.splitlines()
            if path.suffix == ".json":
                json.loads(text)
            read = [json.loads(line) for line in lines if line and path.suffix == ".jsonl"]
        except ValueError as error:
            yield f"torn: {error}"
            return
        if path.name in FILES:
            start, end = FILES[path.name]
            if not (text.lower().startswith(start) and text.lower().endswith(end)):
                yield "torn"
        elif path.name in ("history.jsonl", "queries.jsonl"):
            return
        elif path.suffix == ".jsonl" and sum("query" in line for line in read) != QUERIES:
            yield f"{len(read)} lines"
        elif path.suffix == ".run" and len(lines) != QUERIES * DEPTH:
            yield f"{len(lines)} lines"
        if path.suffix in (".jsonl", ".run"):
            words = text.replace('"', " ").split()
            turns = {word.partition("-")[0] for word in words if word[:1] == "t" and "-" in word}
            if len({turn for turn in turns if turn[1:].isdigit()}) != 1:
                yield f"a mixture of {turns}"


def main() -> int:
    """Kill, look, and in the end say what was seen."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    with tempfile.TemporaryDirectory() as name:
        project = Project(Path(name), dice)
        project.warm()
        for _ in KEPT:
            project.run(kill=False)
        while project.seen["killed"] < kills:
            project.run(kill=True)
            project.look()
        for _ in KEPT:
            project.run(kill=False)
        project.look()
        left = [path.name for path in project.folder.rglob("*.tmp")]
    print(", ".join(f"{what}: {many:,}" for what, many in sorted(project.seen.items())))
    print(f"left after the last writes: {left or 'nothing'}")
    return int(bool(project.seen["TORN"] or left))


if __name__ == "__main__":
    sys.exit(main())
