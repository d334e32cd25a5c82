"""How cost grows with the work: twice as much along one axis, again and again.

    python benchmarks/growth.py [--axis queries] [--doublings 4] [--rounds 3] [--most 2.2]

Each size is a process of its own, which writes a suite, keeps a baseline, changes a third of the
rankings, and then measures the whole path: the suite is read and asked, the baseline read, the run
judged, the page and the terminal's text made. The sizes take turns, in several rounds. The exponent
is fitted over the medians of all sizes: 1 is linear. "×" is what the last doubling cost, the median
of the rounds; above ``--most`` the script fails. Seconds are those of the processor, the less of
two in a process; memory is the peak of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from math import log
from pathlib import Path
from statistics import linear_regression, median
from typing import NamedTuple

from beside import MB, UNIT

from pytest_irquality import check

Retriever = Callable[[str, int], list[object]]
Rankings = Mapping[str, list[object]]
HEAD = "metrics: [ndcg@10, recall@100]\nthresholds: {ndcg@10: {max_drop: 0.9}}\n"


def inline(texts: Iterable[str], relevant: int = 5, more: str = "") -> str:
    """A suite of queries written in it; each has as many relevant documents."""
    ids = ", ".join(f"d{n}" for n in range(relevant))
    lines = (f"  - query: {json.dumps(text)}\n    relevant: [{ids}]\n{more}" for text in texts)
    return HEAD + "queries:\n" + "".join(lines)


def found(texts: Iterable[str], results: int = 20) -> Rankings:
    """A ranking for each of some queries."""
    return {
        text: [f"d{(7 * place + n) % (results + 3)}" for place in range(results)]
        for n, text in enumerate(texts)
    }


def words(count: int) -> list[str]:
    """The texts of some queries."""
    return [f"words of query {n}" for n in range(count)]


def queries(folder: Path, size: int) -> Rankings:
    (folder / "s.ir.yaml").write_text(inline(words(size)))
    return found(words(size))


def one_slug(folder: Path, size: int) -> Rankings:
    texts = [f"shoe{'!' * (n % 50)}{'?' * (n // 50)}" for n in range(size)]
    (folder / "s.ir.yaml").write_text(inline(texts))
    return found(texts)


def results(folder: Path, size: int) -> Rankings:
    (folder / "s.ir.yaml").write_text(f"depth: {size}\n" + inline(words(20)))
    return found(words(20), size)


def judgments(folder: Path, size: int) -> Rankings:
    texts = words(1000)
    (folder / "topics.tsv").write_text("".join(f"{n}\t{text}\n" for n, text in enumerate(texts)))
    lines = (f"{n % 1000} 0 d{n // 1000} {n % 3}\n" for n in range(size))
    (folder / "qrels.txt").write_text("".join(sorted(lines)))
    (folder / "s.ir.yaml").write_text(HEAD + "queries: topics.tsv\njudgments: qrels.txt\n")
    return found(texts)


def relevant(folder: Path, size: int) -> Rankings:
    (folder / "s.ir.yaml").write_text(HEAD + "queries: topics.tsv\njudgments: qrels.txt\n")
    (folder / "topics.tsv").write_text("0\tone query\n")
    (folder / "qrels.txt").write_text("".join(f"0 0 d{n} 1\n" for n in range(size)))
    return found(["one query"], 100)


def tags(folder: Path, size: int) -> Rankings:
    (folder / "s.ir.yaml").write_text(
        "each_tag: {recall@10: {max_drop: 0.9}}\n"
        + HEAD
        + "queries:\n"
        + "".join(
            f"  - query: words {n}\n    tags: [t{n}, u{n}]\n    relevant: [d1, e{n}]\n"
            for n in range(size)
        )
    )
    return found([f"words {n}" for n in range(size)])


def limits(folder: Path, size: int) -> Rankings:
    lines = "".join(f"  recall@{n}: {{max_drop: 0.9}}\n" for n in range(1, size + 1))
    text = inline(words(100)).replace("thresholds: {ndcg@10: {max_drop: 0.9}}\n", "")
    (folder / "s.ir.yaml").write_text("thresholds:\n" + lines + text)
    return found(words(100))


def retrievers(folder: Path, size: int) -> Rankings:
    (folder / "s.ir.yaml").write_text(inline(words(50)))
    (folder / "retrievers").write_text(str(size))
    return found(words(50))


def text_length(folder: Path, size: int) -> Rankings:
    (folder / "s.ir.yaml").write_text(
        "match: text\n"
        + HEAD
        + "".join(
            ["queries:\n"]
            + [
                f"  - query: {text}\n    relevant: [the middle of it {n}]\n"
                for n, text in enumerate(words(20))
            ]
        )
    )
    half = "many other words " * size
    return {
        text: [
            {"text": f"{half} {'the middle of it' if place else ''} {n} {half}"}
            for place in range(5)
        ]
        for n, text in enumerate(words(20))
    }


AXES: Mapping[str, tuple[Callable[[Path, int], Rankings], int]] = {
    "queries": (queries, 500),
    "one slug": (one_slug, 1_000),
    "results": (results, 500),
    "judgments": (judgments, 250_000),
    "relevant ids of one query": (relevant, 62_500),
    "tags": (tags, 250),
    "limits": (limits, 25),
    "retrievers": (retrievers, 4),
    "text length": (text_length, 100),
}
"""What makes the suite of a size, and the first size."""


def measured(axis: str, size: int) -> None:
    """Print the seconds and the peak memory of one size."""
    make, _ = AXES[axis]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        now = make(folder, size)
        then = {
            text: ids[2:] + ids[:2] if n % 3 else ids for n, (text, ids) in enumerate(now.items())
        }
        many = folder / "retrievers"
        names = [f"r{n}" for n in range(int(many.read_text()) if many.exists() else 1)]

        def judged(rankings: Rankings, update: bool) -> str:
            def ask(query: str, k: int) -> list[object]:
                return rankings[query][:k]

            asked = dict.fromkeys(names, ask)
            result = check("s.ir.yaml", retrievers=asked, update_baseline=update)
            return "" if update else result.to_html() + str(result)

        judged(then, True)
        took = []
        for _ in range(2):
            start = time.process_time()
            judged(now, False)
            took.append(time.process_time() - start)
    print(min(took), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / MB)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axis", help="one axis: " + ", ".join(AXES))
    parser.add_argument("--doublings", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=float, default=2.2, help="what a doubling may cost")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        measured(chosen.one[0], int(chosen.one[1]))
        return
    steep = []
    print("| axis | sizes | seconds | exponent | × | peak, MB |\n|---|---|---|---:|---:|---:|")
    for axis in [chosen.axis] if chosen.axis else AXES:
        sizes = [AXES[axis][1] * 2**n for n in range(chosen.doublings + 1)]
        rounds = [[child(axis, size) for size in sizes] for _ in range(chosen.rounds)]
        taken = [median(cost.seconds for cost in column) for column in zip(*rounds, strict=True)]
        exponent = linear_regression(list(map(log, sizes)), list(map(log, taken))).slope
        last = median(largest.seconds / half.seconds for *_, half, largest in rounds)
        steep += [axis] if last > chosen.most else []
        shown = " ".join(f"{seconds:.2f}" for seconds in taken)
        print(
            f"| {axis} | {sizes[0]:,} to {sizes[-1]:,} | {shown} | {exponent:.2f} | {last:.2f} |"
            f" {rounds[-1][-1].peak:,.0f} |",
            flush=True,
        )
    sys.exit(f"steeper than {chosen.most}: {', '.join(steep)}" if steep else 0)


class Cost(NamedTuple):
    """Of one size: seconds, and megabytes at the peak."""

    seconds: float
    peak: float


def child(axis: str, size: int) -> Cost:
    """What one size takes in a process of its own."""
    command = [sys.executable, __file__, "--one", axis, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return Cost(*map(float, done.stdout.split()[-2:]))


if __name__ == "__main__":
    main()
