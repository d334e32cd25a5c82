"""Memory and time of a large suite: 100,000 queries with 100 results, run in four shards.

Every shard answers a quarter of the queries and saves its answers. Then all of them are evaluated
together with the page. The queries and judgments are files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from zlib import crc32

from benchmarks.timing import MB, Figure, Options, make_pytest_command, run_benchmark, run_process

QUERIES, SHORT_QUERIES, RESULTS, SHARDS = 100_000, 5_000, 100, 4

SUITE = f"""\
depth: {RESULTS}
metrics: [ndcg@10, recall@100]
thresholds: {{ndcg@10: 0.01}}
queries: topics.tsv
judgments: qrels.txt
"""
CONFTEST = """\
from zlib import crc32

import pytest

@pytest.fixture(scope="session")
def retriever():
    def search(query, k):
        start = crc32(query.encode()) % 1_000_000
        return [(f"doc-{start + number}", 20.0 - number / 7) for number in range(k)]

    return search
"""


def write_files(folder: Path, queries: int) -> None:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "s.ir.yaml").write_text(SUITE)
    topics = [f"{number}\twords of query {number}\n" for number in range(queries)]
    (folder / "topics.tsv").write_text("".join(topics))
    with (folder / "qrels.txt").open("w") as qrels:
        for number in range(queries):
            start = crc32(f"words of query {number}".encode()) % 1_000_000
            for rank in (0, 4, 30):
                qrels.write(f"{number} 0 doc-{start + rank + number % 5} {1 + rank % 3}\n")


def measure(options: Options) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, SHORT_QUERIES if options.short else QUERIES)
        command = make_pytest_command("--ir-suite")
        shards = []
        for number in range(1, SHARDS + 1):
            save = f"--ir-save-runs=runs/{number},shard={number}/{SHARDS}"
            shards.append(run_process([*command, "--ir-report=none", save], folder))
        saved = [f"--ir-runs=runs/{number}" for number in range(1, SHARDS + 1)]
        usage = run_process([*command, *saved, "--ir-report=report.html"], folder)
    work = f"evaluate {QUERIES:,} queries × {RESULTS} results from {SHARDS} shards, with the report"
    figures = [
        Figure("shards-run", "run the largest of these shards", "", max(shards).cpu, unit="s"),
        Figure("shards", work, "", usage.cpu, unit="s"),
    ]
    if not options.short:
        figures.append(
            Figure("shards-memory", f"memory to {work}", "", usage.memory / MB, 2_048, "MB")
        )
    return figures


if __name__ == "__main__":
    run_benchmark(__doc__, measure, rounds=1)
