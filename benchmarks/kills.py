"""Kills at random moments: no torn file of any kind, and nothing left over after the next write.

    python benchmarks/kills.py [kills] [seed]

A small suite of 200 queries is run with everything that writes: an update of the baseline, kept
runs as JSONL and TREC, HTML, JSON, Markdown and CSV. Each run is killed after a random part of the
time that one takes; then every file must be the old one or the new one, whole. After the last kill
one run to its end must leave no other file behind.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SUITE = "depth: 50\nqueries:\n" + "".join(
    f"  - {{query: q{n}, relevant: [d{n}], must_find: [d{n}]}}\n" for n in range(200)
)
CONFTEST = """\
import os, pytest
@pytest.fixture
def retriever():
    turn = os.environ["TURN"]
    return lambda query, k: ["d" + query[1:], *(f"{turn}-{n}" for n in range(k - 1))]
"""
FILES = {
    "report.html": ("<!doctype html>", "</html>"),
    "report.md": ("## ", "\n"),
    "todo.csv": ("query,docid,rating,rank,title\n", "\n"),
}
OPTIONS = (
    "--ir-update-baseline", "--ir-report=report.html", "--ir-json=report.json",
    "--ir-markdown=report.md", "--ir-unjudged=todo.csv",
)  # fmt: skip


def command(kept: str) -> list[str]:
    """A run that writes everything."""
    plugins = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:xdist")
    return [sys.executable, "-m", "pytest", "-q", *plugins, *OPTIONS, f"--ir-save-runs={kept}"]


def turn_of(path: Path) -> str:
    """Which turn wrote a file, after it was read to its end; ``ValueError`` for a torn one."""
    text = path.read_text(encoding="utf-8")
    if path.name in FILES:
        start, end = FILES[path.name]
        if not (text.lower().startswith(start) and text.lower().endswith(end)):
            raise ValueError("torn")
    elif path.suffix == ".json":
        json.loads(text)
    elif path.suffix == ".jsonl":
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        if sum("query" in line for line in lines) != 200:
            raise ValueError("torn")
    elif len(text.splitlines()) != 200 * 50:
        raise ValueError("torn")
    turns = {word.split("-")[0] for word in text.replace('"', " ").split() if word[:1] == "t"}
    mixed = {turn for turn in turns if turn[1:].isdigit()}
    if path.suffix in (".jsonl", ".run") and len(mixed) != 1:
        raise ValueError(f"a mixture of {mixed}")
    return mixed.pop() if len(mixed) == 1 else ""


def main() -> int:
    """Kill, look, and in the end say what was seen."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop.ir.yaml").write_text(SUITE)
        (folder / "conftest.py").write_text(CONFTEST)
        whole = 0.0
        for turn in range(kills + 2):
            kept = ("runs", "run.run")[turn % 2]
            environment = {**os.environ, "TURN": f"t{turn}"}
            start = time.monotonic()
            process = subprocess.Popen(
                command(kept), cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            if 1 < turn < kills:
                # Most files are written in the last third.
                moment = whole * (0.5 + 0.6 * dice.random())
                try:
                    process.wait(moment)
                    seen["ended before"] += 1
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    seen["killed"] += 1
            process.wait()
            if turn < 2:
                whole = time.monotonic() - start
            for path in sorted(folder.rglob("*")):
                written = path.suffix in (".html", ".json", ".jsonl", ".md", ".csv", ".run")
                if path.name.endswith(".tmp"):
                    seen["temporary files seen"] += 1
                elif path.is_file() and written:
                    try:
                        turn_of(path)
                        seen["whole"] += 1
                    except ValueError as error:
                        seen["TORN"] += 1
                        print(f"turn {turn}: {path.relative_to(folder)}: {error}")
        left = [path.name for path in folder.rglob("*.tmp")]
    print(", ".join(f"{what}: {many:,}" for what, many in sorted(seen.items())))
    print(f"left after the last writes: {left or 'nothing'}")
    return int(bool(seen["TORN"] or left))


if __name__ == "__main__":
    sys.exit(main())
