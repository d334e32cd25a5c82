"""The speed of reading suites and judgment files, beside the least that anybody could do.

    python benchmarks/reading.py [repeats]

A suite of 10,000 inline queries of 10 judgments, against ``yaml.load(..., CSafeLoader)``; TREC and
BEIR qrels of a million lines and a TREC run of 6.98 million, against a loop that splits the lines
of the same file. Times are medians of runs in turns, ratios the medians of each turn's. Peak memory
is that of a process of its own, over one that only imports.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import yaml

from pytest_irquality import load_suite
from pytest_irquality.storage.trec import read_trec
from pytest_irquality.suite.files.judgment_files import read_judgments
from pytest_irquality.suite.files.source import Source

FOLDER = Path(tempfile.gettempdir()) / "irquality-reading"
QUERIES, EACH, LINES, JUDGED = 10_000, 10, 1_000_000, 7_000
RANKED, RANKS, DOCUMENTS = 6_980, 1000, 8_841_823


def make() -> None:
    dice = random.Random(1)
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "inline.ir.yaml").open("w", encoding="utf-8") as file:
        file.write("thresholds: {ndcg@10: 0.5}\nqueries:\n")
        for n in range(QUERIES):
            grades = ", ".join(
                f"sku-{dice.randrange(10**6)}{i}: {dice.randrange(4)}" for i in range(EACH)
            )
            file.write(
                f"  - query: some words of query {n}\n    tags: [head, t{n % 7}]\n    relevant:"
                f" {{{grades}}}\n"
            )
    each = LINES // JUDGED + 1
    pairs = [
        (n, f"doc{dice.randrange(10**6)}{i}", dice.randrange(4))
        for n in range(JUDGED)
        for i in range(each)
    ][:LINES]
    (FOLDER / "qrels.trec").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, d, g in pairs), encoding="utf-8"
    )
    with (FOLDER / "kept.run").open("w", encoding="utf-8") as file:
        for n in range(RANKED):
            ranking = enumerate(dice.sample(range(DOCUMENTS), RANKS), 1)
            file.writelines(f"{n} Q0 {d} {rank} {50 - rank / 70:.4f} bm25\n" for rank, d in ranking)
    header = "query-id\tcorpus-id\tscore\n"
    (FOLDER / "qrels.tsv").write_text(
        header + "".join(f"{q}\t{d}\t{g}\n" for q, d, g in pairs), encoding="utf-8"
    )
    (FOLDER / "topics.tsv").write_text(
        "".join(f"{n}\tsome words {n}\n" for n in range(JUDGED)), encoding="utf-8"
    )
    (FOLDER / "files.ir.yaml").write_text(
        "queries: topics.tsv\njudgments: qrels.trec\n", encoding="utf-8"
    )


def split(name: str) -> None:
    with (FOLDER / name).open(encoding="utf-8") as lines:
        for line in lines:
            line.split()


def plain_yaml() -> object:
    with (FOLDER / "inline.ir.yaml").open(encoding="utf-8") as file:
        return yaml.load(file, yaml.CSafeLoader)


RUNS: dict[str, Callable[[], object]] = {
    "yaml.load(CSafeLoader)": plain_yaml,
    "load_suite, inline": lambda: load_suite(FOLDER / "inline.ir.yaml"),
    "split TREC lines": lambda: split("qrels.trec"),
    "TREC qrels": lambda: read_judgments(Source(FOLDER / "qrels.trec", "qrels.trec"), {}),
    "split BEIR lines": lambda: split("qrels.tsv"),
    "BEIR qrels": lambda: read_judgments(Source(FOLDER / "qrels.tsv", "qrels.tsv"), {}),
    "split lines of a run": lambda: split("kept.run"),
    "TREC run": lambda: read_trec(FOLDER / "kept.run"),
    "load_suite, files": lambda: load_suite(FOLDER / "files.ir.yaml"),
}
AGAINST = {
    "load_suite, inline": "yaml.load(CSafeLoader)",
    "TREC qrels": "split TREC lines",
    "BEIR qrels": "split BEIR lines",
    "TREC run": "split lines of a run",
    "load_suite, files": "split TREC lines",
}


def child(*args: str) -> str:
    return subprocess.run(
        [sys.executable, __file__, *args], capture_output=True, text=True, check=True
    ).stdout


def main(repeats: int) -> None:
    child("--make")
    peaks = {
        name: float(child("--one", name)) for name in ("", *RUNS)
    }  # while this process is small: they inherit its peak
    times: dict[str, list[float]] = {name: [] for name in RUNS}
    for _ in range(repeats):
        for name, run in RUNS.items():
            start = process_time()
            made = run()
            times[name].append(process_time() - start)
            del made
    print(f"{'':24} {'seconds':>8} {'ratio':>7} {'peak MB':>8}")
    for name in RUNS:
        seconds = median(times[name])
        pairs = zip(times[name], times[AGAINST[name]], strict=True) if name in AGAINST else ()
        ratios = [
            one / other for one, other in pairs
        ]  # of each turn: what else the machine does weighs on both
        ratio = f"{median(ratios):7.2f}" if ratios else " " * 7
        print(f"{name:24} {seconds:8.3f} {ratio} {peaks[name] - peaks['']:8.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        made = RUNS.get(sys.argv[2], lambda: None)()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    elif sys.argv[1:] == ["--make"]:
        make()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
