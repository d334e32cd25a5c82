"""The cost of reading files compared with a loop that only splits their lines.

Qrels of TREC and BEIR with a million judgments, a TREC run with 6.98 million lines (as many as
MS MARCO's development set has with a thousand results each), and a suite with 10,000 queries of ten
judgments, which is compared with `yaml.load`.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import yaml

from benchmarks.timing import (
    Figure,
    Options,
    compute_ratio,
    measure_cpu,
    measure_in_turns,
    run_benchmark,
)
from pytest_irquality.baselines.trec import read_trec_run
from pytest_irquality.io.decoding import pause_garbage_collection
from pytest_irquality.suite.data_files import DataFile
from pytest_irquality.suite.judgment_files import read_judgment_file
from pytest_irquality.suite.parser import load_suite

SHORT_DIVISOR = 10
SUITE_QUERIES, JUDGMENTS_PER_QUERY = 10_000, 10
JUDGED_QUERIES, JUDGMENTS = 7_000, 1_000_000
RUN_QUERIES, RUN_DEPTH = 6_980, 1_000
DOCUMENTS = 8_841_823


def write_files(folder: Path, divisor: int) -> None:
    """Write all files into a folder, so many times smaller."""
    draw = random.Random(1)
    with (folder / "inline.ir.yaml").open("w") as file:
        file.write("thresholds: {ndcg@10: 0.5}\nqueries:\n")
        for number in range(SUITE_QUERIES // divisor):
            grades = [
                f"sku-{draw.randrange(10**6)}{index}: {draw.randrange(4)}"
                for index in range(JUDGMENTS_PER_QUERY)
            ]
            file.write(
                f"  - query: some words of query {number}\n    tags: [head, t{number % 7}]\n"
            )
            file.write(f"    relevant: {{{', '.join(grades)}}}\n")

    query_count = JUDGED_QUERIES // divisor
    with (folder / "qrels.trec").open("w") as trec, (folder / "qrels.tsv").open("w") as beir:
        beir.write("query-id\tcorpus-id\tscore\n")
        for query in range(query_count):
            for index in range(JUDGMENTS // JUDGED_QUERIES + 1):
                doc_id, grade = f"doc{draw.randrange(10**6)}{index}", draw.randrange(4)
                trec.write(f"{query} 0 {doc_id} {grade}\n")
                beir.write(f"{query}\t{doc_id}\t{grade}\n")

    with (folder / "bm25.run").open("w") as run:
        for query in range(RUN_QUERIES // divisor):
            doc_ids = enumerate(draw.sample(range(DOCUMENTS), RUN_DEPTH), start=1)
            run.writelines(
                f"{query} Q0 {doc_id} {rank} {50 - rank / 70:.4f} bm25\n"
                for rank, doc_id in doc_ids
            )


def split_lines(path: Path) -> None:
    """Split the lines of a file, which is the least that a reader must do."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            line.split()


def read_qrels(path: Path) -> object:
    """Read qrels as `load_suite` does."""
    with pause_garbage_collection():
        return read_judgment_file(DataFile(path.name, path), {})


def load_yaml(path: Path) -> object:
    """Load YAML with libyaml, without asking what it means."""
    with path.open(encoding="utf-8") as file:
        return yaml.load(file, yaml.CSafeLoader)


def measure(options: Options) -> list[Figure]:
    divisor = SHORT_DIVISOR if options.short else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, divisor)
        suite, qrels, tsv, run = (
            folder / file for file in ("inline.ir.yaml", "qrels.trec", "qrels.tsv", "bm25.run")
        )
        # The work, what it is compared with, and the target.
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object], float]] = {
            "run": (lambda: read_trec_run(run), lambda: split_lines(run), 2.0),
            "qrels": (lambda: read_qrels(qrels), lambda: split_lines(qrels), 1.8),
            "beir": (lambda: read_qrels(tsv), lambda: split_lines(tsv), 1.8),
            "suite": (lambda: load_suite(suite, root=folder), lambda: load_yaml(suite), 0.5),
        }
        figures = []
        for key, (work, peer, target) in pairs.items():
            if options.only in key:
                figures.append(measure_pair(key, work, peer, target, options.rounds))
    return figures


LABELS = {
    "run": f"read a TREC run of {RUN_QUERIES * RUN_DEPTH / 10**6:.2f} million lines",
    "qrels": "read TREC qrels of a million lines",
    "beir": "read BEIR qrels of a million lines",
    "suite": f"load a suite of {SUITE_QUERIES:,} queries with {JUDGMENTS_PER_QUERY} judgments each",
}


def measure_pair(
    key: str, work: Callable[[], object], peer: Callable[[], object], target: float, rounds: int
) -> Figure:
    """Measure a work and what it is compared with in turns."""
    works = {"work": lambda: measure_cpu(work), "peer": lambda: measure_cpu(peer)}
    seconds = measure_in_turns(works, rounds)
    return Figure(
        f"reading-{key}",
        LABELS[key],
        "`yaml.load` (libyaml)" if key == "suite" else "a loop that splits the lines",
        compute_ratio(seconds["work"], seconds["peer"]),
        target=target,
        seconds=median(seconds["work"]),
    )


if __name__ == "__main__":
    run_benchmark(__doc__, measure)
